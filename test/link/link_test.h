/* link_test.h: a small job below the core, for the link contract suite.
 *
 * run_link forks one process per rank. Each process fills a struct tern_boot from a shared arena, opens the link under
 * test through its table, opens the world group and one lane, and runs the body. A process that fails a check reports
 * it and exits with status 1; the parent then kills the other processes and fails the test. There is no helper thread:
 * a rank serves its peers while it waits, unless the test forbids it, so a test decides when a target makes progress.
 */
#ifndef TERN_LINK_TEST_H
#define TERN_LINK_TEST_H

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/options.h"
#include "boot/fabric.h"
#include "boot/space.h"
#include "link/chaos/chaos.h"
#include "link/link.h"
#include "sanitized.h"
#include "support/fabric.h"

#pragma weak test_fabric_impose /* NULL in a build without the network */

#define MAX_RANKS 8
#define SECONDS 100 /* a run that takes longer has hung */

/* Memory that the ranks of a run share. */
struct board {
    struct tern_mem_handle handle[MAX_RANKS];
    _Atomic uint64_t       word[MAX_RANKS][8];
    char                   path[MAX_RANKS][64]; /* of FILE parts */
};

/* One rank of a run. */
struct rank {
    const struct tern_link_ops *ops;
    struct tern_boot            boot;
    struct tern_link           *link;
    const struct tern_link_ops
        *meet_ops; /* the link whose groups the ranks use for barriers: the link under test, if it has groups */
    struct tern_link       *meet_link;
    struct tern_link_group *group;
    struct tern_lane       *lane;
    struct board           *board;
    int                     me, ranks;
    bool                    helps; /* serve while waiting */
};

typedef void link_body(struct rank *r);

/* An operation and the completions reported for it. */
struct test_op {
    struct tern_link_op op; /* first member: the link passes it back */
    unsigned            done;
    tern_status         status;
};

static int this_rank = -1;

#if JOB_ASAN
int __lsan_do_recoverable_leak_check(void);
#define LEAKS() __lsan_do_recoverable_leak_check()
#else
#define LEAKS() 0
#endif

#define EXPECT(condition) ((condition) ? (void)0 : expect_failed(__FILE__, __LINE__, #condition))
static inline void expect_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: rank %d: %s is false (%s)\n", file, line, this_rank, what, tern_base_detail());
    _exit(1);
}

static inline void count_done(struct tern_link_op *op, tern_status status)
{
    struct test_op *t = (struct test_op *)op;

    t->done++;
    t->status = status;
}

/* The watch words by which links announce messages, for all links of this process. */
static struct {
    struct tern_link_watch *watch[64];
    unsigned                count;
} watches;

static inline tern_status add_watch(struct tern_link_watch *watch)
{
    EXPECT(watches.count < 64);
    watches.watch[watches.count++] = watch;
    return TERN_OK;
}

/* The handler of messages; NULL: none are expected. */
static void (*receiver)(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len);

static inline void pass_on(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    EXPECT(receiver != NULL);
    receiver(from, channel, head, data, len);
}

/* The handler of notifications; NULL: none are expected. */
static enum tern_link_delivered (*noter)(int from, const unsigned char *head, bool copy);

static inline enum tern_link_delivered pass_note(int from, const unsigned char *head, bool copy)
{
    EXPECT(noter != NULL);
    return noter(from, head, copy);
}

/* The handler of tagged messages; NULL: none are expected. */
static enum tern_link_delivered (*tagger)(int from, const unsigned char *head, const unsigned char *data, size_t len);

static inline enum tern_link_delivered pass_tagged(int from, const unsigned char *head, const unsigned char *data,
                                                   size_t len)
{
    EXPECT(tagger != NULL);
    return tagger(from, head, data, len);
}

/* The handler of RPC requests; NULL: none are expected. Any thread may call it. */
static tern_status (*server)(const struct tern_target_mem *ground, const unsigned char *request, size_t len,
                             unsigned char *answer, size_t space, size_t *answered);

static inline tern_status serve_rpc(const struct tern_target_mem *ground, const unsigned char *request, size_t len,
                                    unsigned char *answer, size_t space, size_t *answered)
{
    EXPECT(server != NULL);
    return server(ground, request, len, answer, space, answered);
}
static const struct tern_link_up test_up = { .done = count_done,
                                             .message = pass_on,
                                             .notify = pass_note,
                                             .tagged = pass_tagged,
                                             .watch = add_watch,
                                             .serve = serve_rpc };

static inline const struct tern_link_ops *link_named(const char *name)
{
    for (unsigned i = 0; i < tern_links_count; i++)
        if (strcmp(tern_links[i]->name, name) == 0)
            return tern_links[i];
    return NULL;
}

/* Whether the link connects machines. */
static inline bool is_network(const struct rank *r)
{
    return strcmp(r->ops->name, "ofi") == 0 || strcmp(r->ops->name, "tcp") == 0;
}

/* Whether a watch announces a message on the channel. New senders are announced with replies. */
static inline bool shows(const struct tern_link_watch *watch, const struct tern_link *link, unsigned channel)
{
    bool news = channel == TERN_CHANNEL_REPLY && watch->channel == TERN_CHANNEL_DIRECTORY;

    return watch->link == link && (watch->channel == channel || news) && tern_link_watch_ready(watch);
}

static inline bool is_shown(const struct tern_link *link, unsigned channel)
{
    for (unsigned i = 0; i < watches.count; i++)
        if (shows(watches.watch[i], link, channel))
            return true;
    return false;
}

/* Deliver the messages that the channel's watch announces. */
static inline tern_status deliver(const struct tern_link *link, unsigned channel)
{
    tern_status st = TERN_OK;

    for (unsigned i = 0; i < watches.count && st == TERN_OK; i++) {
        struct tern_link_watch *watch = watches.watch[i];
        if (shows(watch, link, channel))
            st = watch->deliver(watch);
    }
    return st;
}

static inline void close_link(const struct tern_link_ops *ops, struct tern_link *link)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < watches.count; i++)
        if (watches.watch[i]->link != link)
            watches.watch[kept++] = watches.watch[i];
    watches.count = kept;
    ops->close(link);
}

/* Make progress once, as every wait does. */
static inline void turn(struct rank *r)
{
    r->ops->progress(r->lane);
    if (!r->helps || !r->ops->serve(r->link))
        sched_yield();
}

static inline void meet(struct rank *r)
{
    r->group->ops->arrive(r->group);
    while (!r->group->ops->arrived(r->group))
        turn(r);
}

static inline void finish(struct rank *r, struct test_op *op)
{
    while (op->done == 0)
        turn(r);
    EXPECT(op->done == 1);
}

/* Start a transfer, retry while there is no space, and wait for its completion. */
static inline tern_status transfer(struct rank *r, const struct tern_xfer *xfer)
{
    struct test_op op = { .done = 0 };
    tern_status    st;

    while ((st = xfer->part->path->start(r->lane, xfer, &op.op)) == TERN_AGAIN)
        turn(r);
    EXPECT(!(xfer->part->path->instant && st == TERN_PENDING));
    if (st != TERN_PENDING) {
        EXPECT(op.done == 0);
        return st;
    }
    finish(r, &op);
    for (int i = 0; i < 3; i++)
        r->ops->progress(r->lane);
    EXPECT(op.done == 1); /* exactly once */
    return op.status;
}

static inline void rank_open(struct rank *r)
{
    struct tern_link_group as = { .id = 0, .size = (uint32_t)r->ranks, .me = (uint32_t)r->me };

    atomic_store(&r->boot.segment->slot[r->me].pid, (int32_t)getpid());
    EXPECT(r->ops->open(&r->boot, &test_up, &r->link) == TERN_OK);
    r->meet_ops = r->ops->group ? r->ops : link_named("shm");
    r->meet_link = r->link;
    if (r->meet_ops != r->ops)
        EXPECT(r->meet_ops->open(&r->boot, &test_up, &r->meet_link) == TERN_OK);
    EXPECT(r->meet_ops->group->open(r->meet_link, &as, &r->group) == TERN_OK);
    EXPECT(r->ops->lane_open(r->link, &r->lane) == TERN_OK);
    meet(r);
}

static inline void rank_close(struct rank *r)
{
    meet(r);
    r->ops->lane_close(r->lane);
    r->group->ops->close(r->group);
    if (r->meet_ops != r->ops)
        close_link(r->meet_ops, r->meet_link);
    close_link(r->ops, r->link);
}

/* Restore the default signal handlers, so that the test library does not catch a crash of a child. */
static inline void signals_as_usual(void)
{
    static const int caught[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };

    for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
        signal(caught[i], SIG_DFL);
}

/* A rank that hangs reports where. */
static inline void tell_where(int signal_number)
{
    void *frame[32];

    backtrace_symbols_fd(frame, backtrace(frame, 32), STDERR_FILENO);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static inline pid_t rank_fork(struct rank *r, link_body *body)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid != 0)
        return pid;
    signal(SIGALRM, tell_where);
    alarm(SECONDS);
    signals_as_usual();
    this_rank = r->me;
    rank_open(r);
    body(r);
    rank_close(r);
    fflush(NULL);
    _exit(LEAKS() ? 1 : 0);
}

/* Wait for all processes. When one fails, kill the others. */
static inline bool reap(const pid_t *pids, int ranks)
{
    bool good = true;

    for (int left = ranks; left > 0;) {
        int   status;
        pid_t pid = waitpid(-1, &status, 0);

        if (pid < 0)
            return false;
        left--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        if (good)
            fprintf(stderr, "a rank ended with wait status 0x%x%s\n", status,
                    WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": it hung" : "");
        for (int i = 0; good && i < ranks; i++)
            if (pids[i] != pid)
                kill(pids[i], SIGKILL);
        good = false;
    }
    return good;
}

/* Run the body in a job of the given size that is told the given number of cores. */
static inline void run_link(const struct tern_link_ops *ops, int ranks, int cores, link_body *body)
{
    struct rank   r = { .ops = ops, .ranks = ranks, .helps = true };
    struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t         pids[MAX_RANKS];

    assert_true(board != MAP_FAILED);
    assert_int_equal(tern_boot_arena_make(ranks, cores, &r.boot.arena, &r.boot.huge, &r.boot.segment), TERN_OK);
    r.boot.launched = true;
    r.boot.relay_fd = -1;
    r.board = board;
    for (int i = 0; i < ranks; i++) {
        r.me = i;
        tern_boot_place(&r.boot, i);
        pids[i] = rank_fork(&r, body);
        assert_true(pids[i] > 0);
    }
    assert_true(reap(pids, ranks));
    tern_boot_leave(&r.boot);
    munmap(board, sizeof(*board));
}

/* A scene that one process plays alone. Each test defines its contents. */
struct scene;
typedef void scene_body(struct scene *s);

/* Play the scene in its own process, so that a crash or an endless list ends only that process. */
static inline void run_alone(void (*play)(scene_body *body), scene_body *body)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signals_as_usual();
        alarm(20);
        this_rank = 0;
        play(body);
        _exit(LEAKS() ? 1 : 0);
    }
    assert_true(reap(&pid, 1));
}

#define SCENE_TEST(body)                  \
    static void test_##body(void **state) \
    {                                     \
        (void)state;                      \
        run_alone(play, body);            \
    }

/* The links, alone and behind chaos, the network with every provider that any machine has, and the numbers of ranks
 * with which each is tried. Some cases run in fewer tests than others, see is_tried(). */
enum case_kind { USUAL, VARIANT, PROVIDER };
struct link_case {
    const char    *name;
    const char    *chaos;    /* as TERN_CHAOS; NULL: none */
    int            ranks[6]; /* ends with 0 */
    const char    *provider; /* as TERN_OFI_PROVIDER; NULL: the default, tcp;ofi_rxm */
    const char    *fabric;   /* the restrictions imposed on it (support/fabric.h); NULL: none */
    enum case_kind kind;
};
static const struct link_case link_cases[] = {
    { .name = "self", .ranks = { 1, 0 } },
    { .name = "shm", .ranks = { 1, 2, 3, 4, 8, 0 } },
    { .name = "self", .chaos = "seed=7", .ranks = { 1, 0 }, .kind = VARIANT },
    { .name = "shm", .chaos = "seed=7", .ranks = { 2, 3, 0 } },
    { .name = "ofi", .ranks = { 2, 3, 0 } },
    { .name = "ofi", .chaos = "seed=7", .ranks = { 2, 0 } },
    { .name = "tcp", .ranks = { 2, 3, 0 } },
    { .name = "tcp", .chaos = "seed=7", .ranks = { 2, 0 }, .kind = VARIANT },
    { .name = "ofi", .ranks = { 2, 0 }, .provider = "net", .kind = PROVIDER },
    { .name = "ofi", .ranks = { 2, 0 }, .provider = "sockets", .kind = PROVIDER },
    { .name = "ofi", .ranks = { 2, 0 }, .provider = "shm", .kind = VARIANT },
    { .name = "ofi", .ranks = { 2, 0 }, .fabric = "endpoint,local,inject=16,rma=8,mute,again=7", .kind = VARIANT },
    { .name = "ofi", .ranks = { 2, 0 }, .fabric = "nowait,inject=0,lose=6,again=8", .kind = VARIANT },
};

/* Whether chaos stands in front of the link. In that case an operation may be refused although there is space, and an
 * instant operation may be outstanding for a while. */
static inline bool is_chaotic(const struct rank *r)
{
    return r->ops != link_named(r->ops->name);
}

static inline const struct tern_link_ops *link_of(const struct link_case *c)
{
    const struct tern_link_ops *ops = link_named(c->name);
    struct tern_chaos           chaos;

    if (!ops || !c->chaos)
        return ops; /* a build may have no network */
    assert_int_equal(tern_base_chaos_parse(c->chaos, &chaos), TERN_OK);
    return tern_chaos_wrap(ops, &chaos);
}

/* Whether the provider is on this machine. A child process asks, because libfabric leaves threads behind. */
static inline bool find_provider(const char *name)
{
    int   status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct tern_fabric fabric;
        tern_opt.ofi_provider = name;
        _exit(tern_boot_fabric_choose(false, &fabric) == TERN_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

/* Whether the provider is on this machine, from a cache that asks once for each. NULL: any provider. */
static inline bool has_provider(const char *name)
{
    static struct {
        const char *name;
        bool        here;
    } known[8];
    static unsigned count;
    unsigned        i = 0;

    if (!name)
        return true;
    while (i < count && strcmp(known[i].name, name) != 0)
        i++;
    if (i == count) {
        EXPECT(count < sizeof(known) / sizeof(known[0]));
        known[count].name = name;
        known[count++].here = find_provider(name);
    }
    return known[i].here;
}

static bool needs_groups; /* the test does not apply to links without groups */

/* Whether a case is run with one of its numbers of ranks. LINK_CASES in the environment decides:
 *
 *   all       every case and number of ranks
 *   not set   all cases except some providers; the network with 2 ranks, and other links with their smallest and their
 *             largest number of ranks
 *   few       only the links alone and behind chaos, with 2 ranks
 *
 * Sanitized builds use 2 ranks, or with "all" at most 3: they are slow, and more ranks show nothing new. */
static inline bool is_tried(const struct link_case *c, const int *ranks)
{
    const char *cases = getenv("LINK_CASES");
    bool        few = cases && strcmp(cases, "few") == 0, two = *ranks == 2 || c->ranks[1] == 0;
    bool        largest = ranks[1] == 0 && strcmp(c->name, "ofi") != 0 && strcmp(c->name, "tcp") != 0;

    if (cases && !few)
        return !JOB_SANITIZED || *ranks <= 3;
    if (c->kind == PROVIDER || (few && c->kind != USUAL))
        return false;
    return few || JOB_SANITIZED ? two : ranks == c->ranks || largest;
}

static inline void run_case(const struct link_case *c, int cores, link_body *body)
{
    const struct tern_link_ops *ops = link_of(c);
    const char                 *before = tern_opt.ofi_provider;

    assert_true(ops || strcmp(c->name, "ofi") == 0);
    if (!ops || (needs_groups && !ops->group) || !has_provider(c->provider))
        return;
    tern_opt.ofi_provider = c->provider ? c->provider : before;
    if (c->fabric)
        test_fabric_impose(c->fabric);
    for (const int *ranks = c->ranks; *ranks; ranks++)
        if (is_tried(c, ranks))
            run_link(ops, *ranks, cores, body);
    if (c->fabric)
        test_fabric_impose(NULL);
    tern_opt.ofi_provider = before;
}

/* Run the body over every link and number of ranks. */
static inline void run_links(int cores, link_body *body)
{
    for (size_t i = 0; i < sizeof(link_cases) / sizeof(link_cases[0]); i++)
        run_case(&link_cases[i], cores, body);
}

/* Set every option to its default. */
static inline int default_options(void **state)
{
    char *none[] = { NULL };

    (void)state;
    return tern_base_options_load(none) == TERN_OK ? 0 : -1;
}

#endif
