/* cma_job.c: registered memory where the kernel refuses cross-memory attach, and on every path puts and gets that
 * complete while the target computes.
 *
 *   cma_job data REFUSAL RANKS    put and get with right data; REFUSAL is made by a seccomp filter before tern_init:
 *                                   none, eperm, enosys, writev (that call only); RANKS: all, or a rank that has it
 *   cma_job compute PATH          the targets compute and call nothing while rank 0 puts and gets; then rank 0 tells
 *                                   them to stop by a put. PATH: shm cma bounce, and is checked
 *   cma_job unmap PATH            the target unmaps its registered memory; both ranks must survive
 *   cma_job remap PATH            the target unmaps and maps it repeatedly, while rank 0 puts and gets
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fault/fault_job.h"

static int me, size;

/* Refuse the system calls from now on. */
static void refuse(int error, int reading_too)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, reading_too ? SYS_process_vm_readv : SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        fprintf(stderr, "cma_job: no seccomp here: %s\n", strerror(errno));
        _exit(77);
    }
    errno = 0;
    if (syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0) != -1 || errno != error)
        _exit(8); /* the filter does not work: the test would prove nothing */
}

/* Returns whether this rank refuses. */
static int refuse_by_name(const char *refusal, const char *who)
{
    if (strcmp(refusal, "none") == 0 || (strcmp(who, "all") != 0 && atoi(who) != fault_rank()))
        return 0;
    refuse(strcmp(refusal, "enosys") == 0 ? ENOSYS : EPERM, strcmp(refusal, "writev") != 0);
    return 1;
}

static void fill(unsigned char *data, size_t len, int from, int to, unsigned round)
{
    uint32_t x = (uint32_t)(from * 131 + to * 17) + round * 7919 + 1;

    for (size_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        data[i] = (unsigned char)(x >> 24);
    }
}

/* Each rank owns a slice of each part, and moves it in and out in many lengths. */
static void move_data(tern_region *region, unsigned char *memory, size_t piece)
{
    static const size_t lens[] = { 1, 7, 64, 4095, 65535, 65536, 65537, 262144, 1000003 };
    unsigned char      *out = malloc(piece), *back = malloc(piece);
    unsigned            round = 0;

    for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
        size_t len = lens[l] < piece ? lens[l] : piece;

        for (int to = 0; to < size; to++) {
            tern_event event;

            fill(out, len, me, to, ++round);
            OK(tern_put_nb(TERN_WORLD, region, to, (uint64_t)me * piece, out, len, &event));
            OK(tern_event_wait(&event, tern_deadline_in(30)));
            memset(back, 0, len);
            OK(tern_get(TERN_WORLD, region, to, (uint64_t)me * piece, back, len));
            CHECK(memcmp(out, back, len) == 0);
        }
        OK(tern_barrier(TERN_WORLD));
        for (int from = 0; from < size; from++) { /* and what the target itself reads */
            fill(out, len, from, me, (unsigned)(l * (size_t)size + (size_t)me) + 1);
            CHECK(job_differ(memory + (size_t)from * piece, out, len) == 0);
        }
        OK(tern_barrier(TERN_WORLD));
    }
    free(out);
    free(back);
}

static void run_data(const char *refusal, const char *who)
{
    int            refuses = refuse_by_name(refusal, who);
    size_t         piece = 1 << 20;
    unsigned char *memory;
    tern_region   *region;

    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    memory = malloc(piece * (size_t)size);
    OK(tern_region_register(TERN_WORLD, memory, piece * (size_t)size, &region));
    for (int rank = 0; rank < size; rank++)
        if (rank != me)
            CHECK(strcmp(tern_region_path(region, rank), refuses ? "bounce" : "cma") == 0);
    move_data(region, memory, piece);
    OK(tern_region_free(region));
    free(memory);
}

/* The target reads a plain variable and makes no calls; rank 0 sets the variable by a put when it is done. */
static void run_compute(const char *path)
{
    size_t             bytes = 3 << 20;
    unsigned char     *memory, *data = malloc(bytes), *back = malloc(bytes);
    tern_region       *flag, *region;
    volatile uint64_t *stop;
    uint64_t           spins = 0;

    if (strcmp(path, "bounce") == 0)
        refuse(EPERM, 1);
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    memory = malloc(bytes);
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &flag));
    if (strcmp(path, "shm") == 0)
        OK(tern_region_create(TERN_WORLD, bytes, NULL, &region));
    else
        OK(tern_region_register(TERN_WORLD, memory, bytes, &region));
    stop = tern_region_ptr(flag, me);
    OK(tern_barrier(TERN_WORLD));
    if (me != 0) {
        while (*stop == 0)
            spins++;
        CHECK(spins > 0);
    } else {
        tern_deadline since = tern_clock();

        for (unsigned round = 0; round < 8 || tern_clock() - since < 2000000000ll; round++)
            for (int to = 1; to < size; to++) {
                CHECK(strcmp(tern_region_path(region, to), path) == 0);
                fill(data, bytes, 0, to, round);
                OK(tern_put(TERN_WORLD, region, to, 0, data, bytes));
                OK(tern_get(TERN_WORLD, region, to, 0, back, bytes));
                CHECK(memcmp(data, back, bytes) == 0);
            }
        for (int to = 1; to < size; to++)
            OK(tern_put_u64(TERN_WORLD, flag, to, 0, 1));
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    free(memory);
    free(data);
    free(back);
}

static void run_unmap(const char *path)
{
    size_t         page = 65536, bytes = 64 * page;
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *data = calloc(1, bytes), word[64] = "word";
    tern_region   *region;

    CHECK(memory != MAP_FAILED);
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    OK(tern_region_register(TERN_WORLD, memory, bytes, &region));
    OK(tern_barrier(TERN_WORLD));
    if (me == 1) { /* the second half, and a read-only page of the first */
        munmap(memory + bytes / 2, bytes / 2);
        CHECK(mprotect(memory, page, PROT_READ) == 0);
    }
    OK(tern_barrier(TERN_WORLD));
    if (me == 0) {
        tern_event event;

        CHECK(strcmp(tern_region_path(region, 1), path) == 0);
        CHECK(tern_put(TERN_WORLD, region, 1, bytes / 2, word, sizeof(word)) == TERN_ERR_LINK);
        CHECK(tern_get(TERN_WORLD, region, 1, bytes / 2, word, sizeof(word)) == TERN_ERR_LINK);
        CHECK(tern_put(TERN_WORLD, region, 1, page, data, bytes - page) == TERN_ERR_LINK); /* across the gap */
        CHECK(tern_get(TERN_WORLD, region, 1, page, data, bytes - page) == TERN_ERR_LINK);
        CHECK(strcmp(path, "cma") == 0 || tern_error_detail()[0] != '\0');
        CHECK(tern_put(TERN_WORLD, region, 1, 0, word, sizeof(word)) == TERN_ERR_LINK); /* not writable */
        OK(tern_get(TERN_WORLD, region, 1, 0, word, sizeof(word)));
        if (tern_put_nb(TERN_WORLD, region, 1, bytes / 2, data, bytes / 2, &event) == TERN_OK)
            CHECK(tern_event_wait(&event, tern_deadline_in(30)) == TERN_ERR_LINK);
        OK(tern_put(TERN_WORLD, region, 1, 2 * page, data, bytes / 4)); /* the mapped part still works */
        OK(tern_get(TERN_WORLD, region, 1, 2 * page, data, bytes / 4));
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    free(data);
}

/* Rank 1 unmaps its memory and maps it again, until rank 0 has seen both often enough, or for long enough: how often a
 * transfer hits a gap is up to chance. */
static void run_remap(const char *path)
{
    size_t             bytes = 1u << 21;
    unsigned char     *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char     *data = calloc(1, bytes);
    unsigned           went = 0, failed = 0;
    tern_region       *region, *flag;
    const _Atomic int *stop;
    const int          one = 1, gap = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    tern_deadline      end;

    CHECK(memory != MAP_FAILED);
    OK(tern_init());
    me = tern_rank();
    OK(tern_region_register(TERN_WORLD, memory, bytes, &region));
    OK(tern_region_create(TERN_WORLD, 64, NULL, &flag));
    stop = tern_region_ptr(flag, me);
    CHECK(me != 0 || strcmp(tern_region_path(region, 1), path) == 0);
    OK(tern_barrier(TERN_WORLD));
    end = tern_deadline_in(3);
    while (me == 0 && tern_clock() < end && (went < 300 || failed < 300)) {
        tern_status st = (went + failed) % 2 ? tern_get(TERN_WORLD, region, 1, 0, data, bytes)
                                             : tern_put(TERN_WORLD, region, 1, 0, data, bytes);

        CHECK(st == TERN_OK || st == TERN_ERR_LINK);
        went += st == TERN_OK;
        failed += st != TERN_OK;
    }
    if (me == 0)
        OK(tern_put(TERN_WORLD, flag, 1, 0, &one, sizeof(one)));
    while (me == 1 && atomic_load(stop) == 0) {
        CHECK(mmap(memory, bytes, PROT_NONE, gap, -1, 0) == memory);
        usleep(300);
        CHECK(mmap(memory, bytes, PROT_READ | PROT_WRITE, gap, -1, 0) == memory);
        usleep(300);
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    OK(tern_region_free(flag));
    munmap(memory, bytes);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "data") == 0)
        run_data(argv[2], argc > 3 ? argv[3] : "all");
    else if (strcmp(argv[1], "compute") == 0)
        run_compute(argv[2]);
    else if (strcmp(argv[1], "remap") == 0)
        run_remap(argv[2]);
    else
        run_unmap(argv[2]);
    OK(tern_finalize());
    return 0;
}
