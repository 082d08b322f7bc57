/* adopt.c: memory of the program that becomes shared memory in place.
 *
 * Promise: static variables and memory of malloc and mmap keep addresses and contents; ranks on the node reach them by
 * loads and stores; bytes in the same pages that are not in the region keep working; a child that fork creates shares
 * nothing with its parent; memory that cannot be adopted is refused with a reason, on all ranks, and stays as it was;
 * freeing the region gives private memory back with its contents. Programs are linked with the static library, so that
 * the variables of Tern itself are in the pages that are moved.
 *
 * The thread sanitizer has a thread of its own, with which no memory can be adopted.
 *
 * builds: release debug asan
 * env: TERN_TEST=apart=1
 * env: TERN_ON_FAILURE=return
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "job_test.h"

extern char __data_start[], _end[]; /* of the linker: the variables of the program */

static unsigned char before[] = "before"; /* .data */
static uint64_t      words[1000] = { 1, 2, 3 };
static unsigned char zeroed[50001]; /* .bss */

static bool is_shared(const void *addr)
{
    FILE         *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end, at = (unsigned long)(uintptr_t)addr;
    char          line[512], mode[5] = "";
    bool          shared = false;

    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %4s", &start, &end, mode) == 3 && start <= at && at < end)
            shared = mode[3] == 's';
    fclose(maps);
    return shared;
}

/* Use memory of len bytes, which all ranks adopt. */
static void use(unsigned char *memory, size_t len)
{
    int            me = tern_rank(), size = tern_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    tern_region   *region, *found;
    unsigned char *bytes = job_new(len), *theirs;
    uint64_t       offset, old = 0;

    job_fill(memory, len, (unsigned)me, 1);
    OK(tern_region_adopt(TERN_WORLD, memory, len, &region));
    CHECK(is_shared(memory));
    CHECK(tern_region_ptr(region, me) == memory);
    SAME(tern_region_size(region, right), len);
    HOLDS(memory, len, (unsigned)me, 1);
    OK(tern_region_find(TERN_WORLD, me, memory + len - 1, &found, &offset));
    CHECK(found == region && offset == len - 1);
    OK(tern_barrier(TERN_WORLD));
    if (!job_far(right) && right != me)
        CHECK(strcmp(tern_region_path(region, right), "shm") == 0);
    if ((theirs = tern_region_ptr(region, right)))
        HOLDS(theirs, len, (unsigned)right, 1);
    OK(tern_get(TERN_WORLD, region, right, 0, bytes, len));
    HOLDS(bytes, len, (unsigned)right, 1);
    OK(tern_barrier(TERN_WORLD));
    job_fill(bytes, len, (unsigned)me, 2);
    OK(tern_put(TERN_WORLD, region, right, 0, bytes, len));
    OK(tern_barrier(TERN_WORLD));
    CHECK(job_put_holds(memory, len, (unsigned)left, 2));
    OK(tern_barrier(TERN_WORLD));
    offset = (8 - (uintptr_t)memory % 8) % 8; /* the memory has the same alignment on all ranks */
    if (offset + 8 <= len) {
        OK(tern_put_u64(TERN_WORLD, region, right, offset, 40));
        OK(tern_fadd(TERN_WORLD, region, right, offset, (uint64_t)2, &old));
        SAME(old, 40);
        OK(tern_barrier(TERN_WORLD));
    }
    job_fill(memory, len, (unsigned)me, 3);
    OK(tern_region_free(region));
    CHECK(!is_shared(memory));
    HOLDS(memory, len, (unsigned)me, 3);
    free(bytes);
}

/* The child's writes do not reach the parent, and the parent's later ones not the child. */
static void forks(void)
{
    tern_region *region;
    int          status = 0, go[2];
    char         byte = 1;
    pid_t        child;

    CHECK(pipe(go) == 0);
    for (size_t i = 0; i < sizeof(zeroed); i++)
        zeroed[i] = 5;
    OK(tern_region_adopt(TERN_WORLD, zeroed, sizeof(zeroed), &region));
    OK(tern_barrier(TERN_WORLD));
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int wrong;

        if (read(go[0], &byte, 1) != 1)
            _exit(3);
        wrong = zeroed[0] != 5 || zeroed[sizeof(zeroed) - 1] != 5 || is_shared(zeroed) ? 1 : 0;
        memset(zeroed, 9, sizeof(zeroed));
        before[0] = 'c';
        wrong |= tern_put_u8(TERN_WORLD, region, 0, 0, 1) == TERN_ERR_STATE ? 0 : 2;
        _exit(wrong);
    }
    memset(zeroed, 6, sizeof(zeroed)); /* after fork */
    CHECK(write(go[1], &byte, 1) == 1);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ALL_ARE(zeroed, sizeof(zeroed), 6);
    CHECK(before[0] == 'b');
    CHECK(system("exit 0") == 0); /* a child without handlers of fork */
    ALL_ARE(zeroed, sizeof(zeroed), 6);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    ALL_ARE(zeroed, sizeof(zeroed), 6);
    close(go[0]);
    close(go[1]);
}

static void *idle(void *go)
{
    char byte;

    return read(*(int *)go, &byte, 1) == 1 ? NULL : go;
}

/* Memory that one rank cannot adopt. fixed has two pages, of which the second is gone afterwards. */
static void refused_memory(unsigned char *fixed, size_t page)
{
    int            me = tern_rank(), last = tern_size() - 1;
    tern_region   *none = NULL;
    void          *stack = __builtin_frame_address(0); /* not a variable: a sanitizer may keep that elsewhere */
    unsigned char *shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    CHECK(shared != MAP_FAILED);
    RETURNS(TERN_ERR_ARG, tern_region_adopt(NULL, words, 8, &none));
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, words, 8, NULL));
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, NULL, 8, &none));
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, words, UINT64_MAX, &none));
    /* one rank's memory cannot be adopted */
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, me == last ? stack : fixed, 64, &none));
    SAYS("stack");
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, me == last ? shared : fixed, page, &none));
    SAYS("shared");
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, me == last ? (void *)(uintptr_t) "constant" : fixed, 4, &none));
    SAYS("cannot be written");
    CHECK(mprotect(fixed + page, page, PROT_NONE) == 0);
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, fixed, me == last ? page + 1 : page, &none));
    CHECK(munmap(fixed + page, page) == 0);
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, fixed, me == last ? page + 1 : page, &none));
    CHECK(!is_shared(fixed) && fixed[0] == 8);
    CHECK(none == NULL);
    munmap(shared, page);
}

/* Memory of another region cannot be adopted. */
static void refused_regions(unsigned char *fixed, size_t page)
{
    tern_region *none = NULL, *region;

    OK(tern_region_register(TERN_WORLD, fixed, page, &region));
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, fixed + 8, 8, &none));
    SAYS("another region");
    OK(tern_region_free(region));
    OK(tern_region_register(TERN_WORLD, fixed, 8, &region));
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, fixed + 100, 8, &none)); /* in the same page */
    SAYS("another region");
    OK(tern_region_free(region));
    OK(tern_region_adopt(TERN_WORLD, fixed, 100, &region));
    RETURNS(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, fixed + 200, 8, &none)); /* in the same page */
    RETURNS(TERN_ERR_ARG, tern_region_grow(region, 200));
    OK(tern_region_free(region));
    CHECK(none == NULL);
}

static void refusals(void)
{
    int            me = tern_rank(), last = tern_size() - 1, go[2];
    size_t         page = (size_t)sysconf(_SC_PAGESIZE);
    tern_region   *none = NULL, *region;
    unsigned char *fixed = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t      thread;

    CHECK(fixed != MAP_FAILED && pipe(go) == 0);
    fixed[0] = 8;
    refused_memory(fixed, page);
    refused_regions(fixed, page);
    if (me == last)
        CHECK(pthread_create(&thread, NULL, idle, go) == 0);
    OK(tern_barrier(TERN_WORLD));
    RETURNS(TERN_ERR_STATE, tern_region_adopt(TERN_WORLD, fixed, page, &none));
    SAYS("threads");
    CHECK(!is_shared(fixed));
    if (me == last) {
        CHECK(write(go[1], "x", 1) == 1);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    OK(tern_region_adopt(TERN_WORLD, fixed, page, &region));
    if (me == last) { /* freed while another thread runs: the memory works, also in a child */
        CHECK(pthread_create(&thread, NULL, idle, go) == 0);
    }
    OK(tern_region_free(region));
    CHECK(fixed[0] == 8);
    if (me == last) {
        CHECK(write(go[1], "x", 1) == 1);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    CHECK(none == NULL);
    munmap(fixed, page);
    close(go[0]);
    close(go[1]);
}

/* Different lengths, also none. */
static void lengths(void)
{
    int            me = tern_rank(), right = (me + 1) % tern_size();
    tern_region   *region;
    unsigned char *memory = me % 2 == 0 ? job_new(70000) : NULL;

    OK(tern_region_adopt(TERN_WORLD, memory, memory ? 70000 : 0, &region));
    SAME(tern_region_size(region, right), right % 2 == 0 ? 70000 : 0);
    if (right % 2 == 0)
        OK(tern_put_u8(TERN_WORLD, region, right, 69999, (uint8_t)(me + 1)));
    else
        RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, right, 0, 1));
    OK(tern_barrier(TERN_WORLD));
    if (memory)
        CHECK(*(volatile unsigned char *)&memory[69999] == (unsigned char)(1 + (me + tern_size() - 1) % tern_size()));
    OK(tern_region_free(region));
    free(memory);
}

/* All variables of the program, those of Tern among them. */
static void all_variables(void)
{
    int          me = tern_rank(), size = tern_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    char        *from = __data_start; /* the pages before are read-only */
    tern_region *region;
    uint64_t     at = (uint64_t)((char *)words - from) + 8;

    if (JOB_ASAN || JOB_TSAN) /* the variables of the sanitizer, which has threads and handlers of its own */
        return;
    CHECK((char *)words >= from && (char *)&words[1000] <= _end);
    words[0] = 77;
    OK(tern_region_adopt(TERN_WORLD, from, (uint64_t)(_end - from), &region));
    CHECK(is_shared(words));
    OK(tern_put_u64(TERN_WORLD, region, right, at, 1000 + (uint64_t)me));
    OK(tern_barrier(TERN_WORLD));
    SAME(*(volatile uint64_t *)&words[1], 1000 + (uint64_t)left);
    SAME(words[0], 77);
    free(job_new(100000)); /* malloc works */
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    SAME(words[1], 1000 + (uint64_t)left);
    words[1] = 2;
}

int main(void)
{
    unsigned char *block, *mapped;

    OK(tern_init());
    use((unsigned char *)words, sizeof(words));
    use(zeroed + 1, sizeof(zeroed) - 2);
    use(zeroed + 11, 3);
    CHECK(memcmp(before, "before", sizeof(before)) == 0);
    block = job_new(1000);
    use(block, 1000);
    free(block);
    block = job_new(300000);
    use(block + 5, 299990);
    free(block);
    mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    use(mapped, 1 << 20);
    munmap(mapped, 1 << 20);
    lengths();
    forks();
    refusals();
    all_variables();
    OK(tern_finalize());
    return 0;
}
