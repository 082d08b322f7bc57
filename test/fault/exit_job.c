/* exit_job.c: jobs that end with tern_exit.
 *
 *   exit_job HOW WHO CODE OTHERS
 *
 * Rank WHO ("all": every rank, with CODE plus its rank) calls tern_exit(CODE), in this way: HOW is main, handler,
 * thread, hook, leaving (a thread, while the main thread waits in tern_finalize), early (before tern_init), late (after
 * tern_finalize), locked (while another thread holds the lock of a stream), child (a child that fork created, whose
 * status is printed). Meanwhile the other ranks do this: OTHERS is barrier, asleep (a wait for a word), compute,
 * finalize, deaf (two ranks ignore SIGTERM, and call tern_init after WHO has ended) or dead (the last rank has killed
 * itself; the others are in a barrier).
 *
 * Every rank prints "here RANK" and does not flush. A function registered with atexit prints "atexit", and a rank that
 * continues prints "goes on"; both are wrong, except after HOW child.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "fault_job.h"

static int code;

static void at_exit(void)
{
    printf("atexit\n");
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static void exit_hook(void *arg)
{
    (void)arg;
    tern_exit(code);
}

static void exit_handler(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    tern_exit(code);
}

static void *exit_thread(void *arg)
{
    usleep(*(useconds_t *)arg);
    tern_exit(code);
}

static void *hold_stream(void *arg)
{
    flockfile(stdin);
    __atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
    for (;;)
        pause();
    return NULL;
}

static void start_thread(void *(*run)(void *arg), void *arg)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, run, arg) == 0);
}

/* A child that fork created ends only itself. */
static void fork_child(void)
{
    int   status;
    pid_t pid;

    fflush(stdout);
    if ((pid = fork()) == 0)
        tern_exit(code);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    printf("child %d\n", WEXITSTATUS(status));
}

static void call(const char *how)
{
    static bool       is_held;
    static useconds_t at_once, later = 100000;

    if (strcmp(how, "handler") == 0) {
        OK(tern_am_short(TERN_WORLD, tern_rank(), 7, NULL, 0));
        tern_wait_until(TERN_WORLD, never, NULL, TERN_FOREVER);
    } else if (strcmp(how, "hook") == 0) {
        OK(tern_on_idle(exit_hook, NULL));
        tern_wait_until(TERN_WORLD, never, NULL, TERN_FOREVER);
    } else if (strcmp(how, "thread") == 0) {
        start_thread(exit_thread, &at_once);
        for (;;)
            pause();
    } else if (strcmp(how, "leaving") == 0) {
        start_thread(exit_thread, &later);
        tern_finalize();
    } else if (strcmp(how, "locked") == 0) {
        start_thread(hold_stream, &is_held);
        while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
            usleep(100);
        tern_exit(code);
    } else {
        tern_exit(code);
    }
}

static void other(const char *what)
{
    uint64_t  zero = 0;
    tern_word word = TERN_WORD(&zero, TERN_EQ, 1);

    if (strcmp(what, "asleep") == 0) {
        tern_word_wait(TERN_WORLD, &word, TERN_FOREVER);
    } else if (strcmp(what, "compute") == 0) {
        for (volatile uint64_t i = 0;; i++)
            ;
    } else if (strcmp(what, "finalize") == 0) {
        tern_finalize();
    } else {
        if (strcmp(what, "dead") == 0 && tern_rank() == tern_size() - 1)
            raise(SIGKILL);
        while (tern_barrier(TERN_WORLD) != TERN_OK) /* TERN_ERR_PEER */
            usleep(1000);
    }
}

/* The ranks other than the one that ends the job: ignore SIGTERM, and let that rank know. */
static void be_deaf(void)
{
    signal(SIGTERM, SIG_IGN);
    fault_tell("in");
    usleep(200000);
}

/* Wait until a rank is deaf. */
static void await_deaf(int rank)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/in.%d", getenv("FAULT_DIR"), rank);
    while (access(path, F_OK) != 0)
        usleep(1000);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *who = argc > 2 ? argv[2] : "0";
    int         rank = fault_rank();
    bool        calls = strcmp(who, "all") == 0 || rank == atoi(who);

    code = argc > 3 ? atoi(argv[3]) : 0;
    code += strcmp(who, "all") == 0 ? rank : 0;
    atexit(at_exit);
    printf("here %d\n", rank);
    if (argc > 4 && strcmp(argv[4], "deaf") == 0) {
        if (!calls)
            be_deaf();
        for (int other = 0; other < 3 && calls; other++)
            if (other != rank)
                await_deaf(other);
    }
    if (strcmp(how, "early") == 0 && calls)
        tern_exit(code);
    OK(tern_am_register(7, exit_handler, NULL));
    OK(tern_init());
    OK(tern_barrier(TERN_WORLD));
    if (strcmp(how, "late") == 0) {
        OK(tern_finalize());
        if (calls)
            tern_exit(code);
        for (;;)
            pause();
    }
    if (strcmp(how, "child") == 0) {
        if (calls)
            fork_child();
        OK(tern_barrier(TERN_WORLD));
        OK(tern_finalize());
        return 0;
    }
    if (calls && argc > 4 && strcmp(argv[4], "dead") == 0)
        while (tern_peer_check(tern_size() - 1) == TERN_OK)
            usleep(1000);
    if (calls)
        call(how);
    else
        other(argc > 4 ? argv[4] : "barrier");
    printf("goes on\n");
    return 0;
}
