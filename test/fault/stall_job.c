/* stall_job.c: programs whose ranks wait for a rank that does not arrive; for stall.sh.
 *
 *   stall_job late CALL SECONDS   rank 1 comes SECONDS later than the others. CALL: init barrier gather alloc register
 *                                 free finalize
 *   stall_job limit CALL          the same, but never within TERN_TIMEOUT: the others print what they got
 *   stall_job stopped SECONDS     rank 1 is stopped while rank 0 puts to it by the bounce path, continued SECONDS later
 *   stall_job absent STATUS       rank 1 exits with STATUS and never calls tern_init
 *   stall_job nested PROGRAM      the last rank starts a Tern program, by system(3)
 *   stall_job signals SECONDS     timers interrupt everything each millisecond; with FAULT_EINTR set, fallocate(2) does
 *                                 nothing when it is asked for more than 1 MiB, as where the kernel undoes all of it
 *   stall_job handlers            Tern leaves signal handlers and masks alone
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "fault/fault_job.h"

#define BYTES (1u << 20)

static int           me = -1, size;
static unsigned char memory[BYTES];

static void init(void)
{
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
}

static void sleep_for(double seconds)
{
    struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

    while (nanosleep(&left, &left) != 0)
        ;
}

static tern_status call(const char *name, tern_region *region)
{
    tern_region *other;
    int32_t      all[64];

    if (strcmp(name, "barrier") == 0)
        return tern_barrier(TERN_WORLD);
    if (strcmp(name, "gather") == 0)
        return tern_allgather(TERN_WORLD, &me, sizeof(me), all);
    if (strcmp(name, "alloc") == 0)
        return tern_region_create(TERN_WORLD, 4096, NULL, &other);
    if (strcmp(name, "register") == 0)
        return tern_region_register(TERN_WORLD, memory, sizeof(memory), &other);
    if (strcmp(name, "free") == 0)
        return tern_region_free(region);
    return tern_finalize();
}

static void run_late(const char *name, double seconds)
{
    tern_region *region;

    if (strcmp(name, "init") == 0) {
        if (fault_rank() == 1)
            sleep_for(seconds);
        init();
    } else {
        init();
        OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
        if (me == 1)
            sleep_for(seconds);
        OK(call(name, region));
        if (strcmp(name, "finalize") == 0)
            return;
    }
    OK(tern_finalize());
}

/* Rank 1 waits until every other rank has given up, which each shows by a file in $FAULT_DIR. */
static void come_last(int others)
{
    char path[512];

    for (int i = 0; i < 3000; i++) {
        int seen = 0;
        for (int rank = 0; rank < 64; rank++) {
            snprintf(path, sizeof(path), "%s/gave-up.%d", getenv("FAULT_DIR"), rank);
            seen += access(path, F_OK) == 0;
        }
        if (seen >= others)
            return;
        usleep(10000);
    }
    _exit(8);
}

static void give_up(const char *name, tern_status st)
{
    char  path[512];
    FILE *file;

    printf("%s: %s: %s\n", name, st == TERN_ERR_TIMEOUT ? "timeout" : tern_strerror(st), tern_error_detail());
    fflush(stdout);
    snprintf(path, sizeof(path), "%s/gave-up.%d", getenv("FAULT_DIR"), fault_rank());
    if ((file = fopen(path, "w")) != NULL)
        fclose(file);
}

/* Each rank prints its result; then all exit without tern_finalize (the launcher is told to expect that). */
static void run_limit(const char *name)
{
    tern_region *region = NULL;

    if (strcmp(name, "init") == 0) {
        if (fault_rank() == 1) {
            come_last(2);
            exit(0);
        }
        give_up(name, tern_init());
        exit(0);
    }
    init();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    if (me == 1)
        come_last(size - 1);
    else
        give_up(name, call(name, region));
    if (me == 1 || strcmp(name, "finalize") != 0)
        tern_finalize(); /* works whatever timed out before: it uses another barrier */
    exit(0);
}

static void run_stopped(double seconds)
{
    static unsigned char data[BYTES - 77];
    tern_region         *region;
    int32_t              pid = (int32_t)getpid(), pids[64];
    pid_t                helper;

    init();
    OK(tern_region_register(TERN_WORLD, memory, sizeof(memory), &region));
    CHECK(me == 1 || strcmp(tern_region_path(region, 1), "bounce") == 0);
    OK(tern_allgather(TERN_WORLD, &pid, sizeof(pid), pids));
    memset(data, 0x5a, sizeof(data));
    if (me == 0) {
        fault_stop(pids[1]);
        if ((helper = fork()) == 0) {
            sleep_for(seconds);
            kill(pids[1], SIGCONT);
            _exit(0);
        }
        OK(tern_put(TERN_WORLD, region, 1, 77, data, sizeof(data)));
        waitpid(helper, NULL, 0);
    }
    OK(tern_barrier(TERN_WORLD));
    CHECK(me != 1 || job_differ(memory + 77, data, sizeof(data)) == 0);
    OK(tern_finalize());
}

static void run_absent(int status)
{
    tern_status st;

    if (fault_rank() == 1)
        exit(status);
    st = tern_init();
    printf("init: %s: %s\n", st == TERN_ERR_PEER ? "peer" : tern_strerror(st), tern_error_detail());
    exit(st == TERN_ERR_PEER ? 0 : 9);
}

static void run_nested(const char *program)
{
    int status = 0;

    init();
    if (me == size - 1)
        status = system(program);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_finalize());
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
}

/* Replaces the C library's function: some kernels cannot reserve much memory between two signals. */
int fallocate(int file, int mode, off_t offset, off_t len)
{
    static int few = -1;

    if (few < 0)
        few = getenv("FAULT_EINTR") != NULL;
    if (few && mode == 0 && len > 1 << 20) {
        errno = EINTR;
        return -1;
    }
    return (int)syscall(SYS_fallocate, file, mode, offset, len);
}

static volatile sig_atomic_t rings;

static void ring(int signal)
{
    (void)signal;
    rings++;
}

static void timers(void)
{
    struct sigaction action = { .sa_handler = ring }; /* no SA_RESTART: every call is interrupted */
    struct itimerval each = { { 0, 1000 }, { 0, 1000 } };

    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    setitimer(ITIMER_PROF, &each, NULL);
}

static void run_signals(double seconds)
{
    static unsigned char back[BYTES];
    int                  right;
    tern_region         *big, *own;
    tern_deadline        until;

    timers();
    init();
    right = (me + 1) % size;
    OK(tern_region_create(TERN_WORLD, 512ull << 20, NULL, &big));
    OK(tern_region_register(TERN_WORLD, memory, sizeof(memory), &own));
    until = tern_deadline_in(seconds);
    for (int i = 1, more = 1; more; i++) {
        int go = tern_clock() < until || rings <= 50, all[64]; /* a busy machine delivers few signals */

        memset(back, i, sizeof(back));
        OK(tern_put(TERN_WORLD, big, right, (uint64_t)(i % 500) << 20, back, sizeof(back)));
        OK(tern_put(TERN_WORLD, own, right, 0, back, sizeof(back)));
        OK(tern_barrier(TERN_WORLD));
        CHECK(job_differ(memory, back, sizeof(back)) == 0);
        OK(tern_get(TERN_WORLD, big, me, (uint64_t)(i % 500) << 20, back, sizeof(back)));
        CHECK(back[0] == (unsigned char)i && memcmp(back, back + 1, sizeof(back) - 1) == 0);
        OK(tern_allgather(TERN_WORLD, &go, sizeof(go), all));
        more = 0;
        for (int rank = 0; rank < size; rank++)
            more |= all[rank];
    }
    OK(tern_region_free(big));
    OK(tern_region_free(own));
    OK(tern_finalize());
}

struct signals {
    struct sigaction action[65];
    sigset_t         mask;
};

static void signals_read(struct signals *s)
{
    memset(s, 0, sizeof(*s));
    for (int i = 1; i < 65; i++)
        sigaction(i, NULL, &s->action[i]);
    pthread_sigmask(SIG_BLOCK, NULL, &s->mask);
}

static void signals_same(const struct signals *a, const struct signals *b)
{
    for (int i = 1; i < 65; i++) {
        CHECK(a->action[i].sa_handler == b->action[i].sa_handler && a->action[i].sa_flags == b->action[i].sa_flags);
        CHECK(sigismember(&a->mask, i) == sigismember(&b->mask, i));
    }
}

static void run_handlers(void)
{
    struct signals before, after;
    tern_region   *big, *own;

    signals_read(&before);
    init();
    OK(tern_region_create(TERN_WORLD, BYTES, NULL, &big));
    OK(tern_region_register(TERN_WORLD, memory, sizeof(memory), &own));
    OK(tern_put(TERN_WORLD, own, (me + 1) % size, 0, "x", 1));
    OK(tern_barrier(TERN_WORLD));
    signals_read(&after);
    signals_same(&before, &after);
    OK(tern_finalize());
    signals_read(&after);
    signals_same(&before, &after);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "handlers", *arg = argc > 2 ? argv[2] : "1";

    if (strcmp(mode, "late") == 0)
        run_late(arg, argc > 3 ? atof(argv[3]) : 1);
    else if (strcmp(mode, "limit") == 0)
        run_limit(arg);
    else if (strcmp(mode, "stopped") == 0)
        run_stopped(atof(arg));
    else if (strcmp(mode, "absent") == 0)
        run_absent(atoi(arg));
    else if (strcmp(mode, "nested") == 0)
        run_nested(arg);
    else if (strcmp(mode, "signals") == 0)
        run_signals(atof(arg));
    else
        run_handlers();
    return 0;
}
