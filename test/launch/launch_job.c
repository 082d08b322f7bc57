/* launch_job.c: a program that the scripts of this directory start with foreign launchers.
 *
 *   launch_job ring             put to the right neighbour, check the value from the left neighbour, and print "ring
 *                               RANK of SIZE on NODES cores CORES"
 *   launch_job end HOW NUMBER   rank 1 ends by HOW: exit, _exit, abort (tern_abort) or signal, with this number, while
 *                               the others wait in a barrier
 *   launch_job early NUMBER     rank 1 calls tern_abort before tern_init, while the others call tern_init
 *   launch_job left NUMBER      rank 1 exits with NUMBER after tern_finalize; the others print "after RANK" when rank 1
 *                               has ended
 *   launch_job absent           rank 1 never calls tern_init
 *   launch_job stay             every rank writes pid.RANK, calls tern_init and waits for a signal
 *   launch_job register         print the error of creating a region of 1 MiB on standard error
 *   launch_job join             print "STATUS: DETAIL" of tern_init, and always exit with 0
 */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>

#include "core/job.h"
#include "fault/fault_job.h"

static void ring(void)
{
    tern_region *region;
    uint64_t     got;
    int          me, size;

    OK(tern_init());
    me = tern_rank(), size = tern_size();
    CHECK(me == fault_rank());
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    OK(tern_put_u64(TERN_WORLD, region, (me + 1) % size, 0, 100 + (uint64_t)me));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_get_u64(TERN_WORLD, region, me, 0, &got));
    CHECK(got == 100 + (uint64_t)((me + size - 1) % size));
    printf("ring %d of %d on %d cores %u\n", me, size, tern_job.boot.nodes, tern_job.boot.segment->cores);
    OK(tern_region_free(region));
    OK(tern_finalize());
}

static void end(const char *how, int number)
{
    OK(tern_init());
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 1) {
        if (strcmp(how, "exit") == 0)
            exit(number);
        if (strcmp(how, "_exit") == 0)
            _exit(number);
        if (strcmp(how, "abort") == 0)
            tern_abort(number, "on purpose");
        signal(number, SIG_DFL); /* sanitizers install handlers */
        raise(number);
    }
    tern_barrier(TERN_WORLD);
    job_fail(__FILE__, __LINE__, "a rank of a job that was to end", "goes on");
}

/* A rank whose tern_init has failed does not end by itself, so that the status of the job is that of rank 1: the
 * launcher ends it. MPICH's mpiexec sometimes ends without doing so, with any program, even before this rank has asked
 * for its parent. */
static void early(int number)
{
    pid_t launcher = getppid();

    if (fault_rank() == 1)
        tern_abort(number, "on purpose");
    if (tern_init() == TERN_OK)
        job_fail(__FILE__, __LINE__, "a rank of a job that was to end", "goes on");
    for (int i = 0; i < 500 && getppid() == launcher; i++)
        poll(NULL, 0, 10);
}

static void left(int number)
{
    struct pollfd process = { .events = POLLIN };
    tern_region  *region;
    uint64_t      pid = (uint64_t)getpid();
    int           me;

    OK(tern_init());
    me = tern_rank();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    if (me == 1)
        for (int rank = 0; rank < tern_size(); rank++)
            OK(tern_put_u64(TERN_WORLD, region, rank, 0, pid));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_get_u64(TERN_WORLD, region, me, 0, &pid));
    OK(tern_finalize());
    if (me == 1)
        exit(number);
    process.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    CHECK(process.fd >= 0 ? poll(&process, 1, -1) == 1 : errno == ESRCH);
    printf("after %d\n", me);
}

static void absent(void)
{
    tern_status st;

    if (fault_rank() == 1)
        for (;;)
            pause();
    st = tern_init();
    fprintf(stderr, "%s: %s\n", tern_strerror(st), tern_error_detail());
    exit(3);
}

static void stay(void)
{
    fault_tell("pid");
    if (tern_init() != TERN_OK)
        exit(3);
    for (;;)
        pause();
}

static void fail_to_register(void)
{
    tern_region *region;

    OK(tern_init());
    CHECK(tern_region_create(TERN_WORLD, 1 << 20, NULL, &region) == TERN_ERR_NOMEM);
    fprintf(stderr, "%s\n", tern_error_detail());
    OK(tern_finalize());
}

/* tern_init after the last tern_finalize. */
static void again(void)
{
    OK(tern_init());
    OK(tern_init());
    OK(tern_finalize());
    OK(tern_barrier(TERN_WORLD));
    OK(tern_finalize());
    CHECK(tern_init() == TERN_ERR_STATE);
    printf("again: %s\n", tern_error_detail());
}

static void join(void)
{
    tern_status st = tern_init();

    printf("%s: %s\n",
           st == TERN_OK         ? "TERN_OK"
           : st == TERN_ERR_BOOT ? "TERN_ERR_BOOT"
                                 : tern_strerror(st),
           st < 0 ? tern_error_detail() : "");
    if (st == TERN_OK)
        OK(tern_finalize());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "ring") == 0)
        ring();
    else if (strcmp(what, "end") == 0 && argc == 4)
        end(argv[2], atoi(argv[3]));
    else if (strcmp(what, "early") == 0 && argc == 3)
        early(atoi(argv[2]));
    else if (strcmp(what, "left") == 0 && argc == 3)
        left(atoi(argv[2]));
    else if (strcmp(what, "absent") == 0)
        absent();
    else if (strcmp(what, "stay") == 0)
        stay();
    else if (strcmp(what, "register") == 0)
        fail_to_register();
    else if (strcmp(what, "join") == 0)
        join();
    else if (strcmp(what, "again") == 0)
        again();
    else
        job_fail(__FILE__, __LINE__, what, "is no argument that means something");
    return 0;
}
