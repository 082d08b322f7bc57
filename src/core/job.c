/* job.c: joining and leaving the job, and the detection of ranks that died.
 *
 * Ranks join and leave by means of the life words in the boot segment, not by a team's barrier: joining and leaving
 * must also work if some ranks are dead, or never arrive. */
#include "core/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/biased_lock.h"
#include "base/options.h"
#include "boot/bell.h"
#include "boot/exit.h"
#include "boot/mpi_library.h"
#include "boot/poll_deadline.h"
#include "core/context.h"
#include "core/domain.h"
#include "core/fork.h"
#include "core/group_bruck.h"
#include "core/idle_hook.h"
#include "core/links.h"
#include "core/message.h"
#include "core/region.h"
#include "core/helper.h"
#include "core/team_create.h"
#include "core/test_hooks.h"
#include "core/wait.h"

/* The launcher learns of a death within this time, which is long because the kernel takes long to release much
 * memory. */
#define NOTICE_NS 3000000000ll
#define MANY_YIELDS 100 /* a wait that yields this often before it sleeps rarely sleeps */

struct tern_job tern_job = { .lock = PTHREAD_MUTEX_INITIALIZER,
                             .contexts = TERN_LIST_INIT(tern_job.contexts),
                             .regions = TERN_LIST_INIT(tern_job.regions) };

tern_status tern_core_job_running(const char *what)
{
    static const char *const state[] = { [TERN_PHASE_BEFORE] = "Tern is not initialized; call tern_init first",
                                         [TERN_PHASE_AFTER] = "the job is over: tern_finalize was called, or tern_init "
                                                              "failed",
                                         [TERN_PHASE_CHILD] = "called in a child that fork created; only the process "
                                                              "that called tern_init may use Tern" };
    int phase = atomic_load_explicit(&tern_job.phase, memory_order_acquire); /* pairs with the stores below */

    if (TERN_LIKELY(phase == TERN_PHASE_RUNNING))
        return TERN_OK;
    return tern_base_fail(TERN_ERR_STATE, "%s: %s", what, state[phase]);
}

tern_deadline tern_core_job_deadline(void)
{
    return tern_opt.timeout > 0 ? tern_base_deadline_in(tern_opt.timeout) : TERN_FOREVER;
}

void tern_core_job_mark_dead(uint32_t losses)
{
    struct tern_segment *segment = tern_job.boot.segment;

    if (segment->on_failure != TERN_ON_FAILURE_RETURN)
        return; /* the launcher is ending the job */
    pthread_mutex_lock(&tern_job.lock);
    for (int rank = 0; rank < tern_job.boot.ranks; rank++) {
        if (atomic_load_explicit(&segment->slot[rank].fate, memory_order_relaxed) != TERN_FATE_LOST)
            continue;
        atomic_store_explicit(&tern_job.lost[rank], true, memory_order_relaxed);
        TERN_LIST_EACH(struct tern_region, region, &tern_job.regions, node)
            __atomic_store_n(&region->fast[rank].reach, 0, __ATOMIC_RELAXED); /* the inlined calls read it */
    }
    atomic_store_explicit(&tern_job.losses_seen, losses, memory_order_relaxed);
    TERN_LIST_EACH(struct tern_ctx, ctx, &tern_job.contexts, node)
        atomic_store_explicit(&ctx->attention, true,
                              memory_order_release); /* losses_seen; pairs with tern_op_tagged_advance() */
    pthread_mutex_unlock(&tern_job.lock);
}

void tern_core_job_gone(int rank)
{
    atomic_store_explicit(&tern_job.gone[rank], true, memory_order_relaxed); /* relaxed: orders nothing */
}

void tern_core_job_confirm(int rank, tern_deadline deadline)
{
    struct tern_slot *mine = tern_core_job_slot(tern_job.boot.rank);
    _Atomic uint32_t *fate = &tern_core_job_slot(rank)->fate;
    int64_t           until = tern_base_now() + NOTICE_NS, now;

    until = deadline < until ? deadline : until;
    while ((now = tern_base_now()) < until) {
        uint32_t seen = atomic_load_explicit(&mine->bell, memory_order_acquire); /* before fate: see the launcher */

        if (atomic_load_explicit(fate, memory_order_relaxed) != TERN_FATE_RUNNING)
            break;
        tern_boot_bell_wait(&mine->bell, seen, until - now); /* the launcher wakes all ranks after each end */
    }
    /* The launcher writes the fate before it counts the loss, so the number may not have changed yet. acquire: as in
     * tern_core_job_check_deaths(). */
    tern_core_job_mark_dead(atomic_load_explicit(&tern_job.boot.segment->losses, memory_order_acquire));
}

bool tern_core_job_is_gone(int rank)
{
    /* relaxed: each word concerns one rank only, and changes once. */
    bool gone = atomic_load_explicit(&tern_job.gone[rank], memory_order_relaxed) ||
                atomic_load_explicit(&tern_core_job_slot(rank)->fate, memory_order_relaxed) == TERN_FATE_LOST;

    if (gone && !tern_core_job_lost(rank))
        tern_core_job_confirm(rank, TERN_FOREVER);
    return gone || tern_core_job_lost(rank);
}

/* Return whether a living rank of this node has not reached the state. */
static bool is_awaited(uint32_t life)
{
    for (int rank = 0; rank < tern_job.boot.ranks; rank++) {
        const struct tern_slot *slot = tern_core_job_slot(rank);

        /* relaxed: the caller only decides whether to wake other ranks, which read these words themselves. */
        if (tern_boot_same_node(&tern_job.boot, rank) &&
            atomic_load_explicit(&slot->life, memory_order_relaxed) < life &&
            atomic_load_explicit(&slot->fate, memory_order_relaxed) == TERN_FATE_RUNNING)
            return true;
    }
    return false;
}

/* Publish the state of this rank, and wake the ranks that wait for it: on this node by their bells, elsewhere through
 * the relay. Ranks that are JOINED or ANSWERED wait only for all others to be so, and only the last rank of the node
 * wakes them: otherwise each of n ranks would wake up to n times. The launcher wakes them if a rank dies instead. */
static void live(uint32_t life)
{
    /* release: everything that this rank has set up or torn down. Pairs with the acquire in all_there(). */
    atomic_store_explicit(&tern_core_job_slot(tern_job.boot.rank)->life, life, memory_order_release);
    /* seq_cst: this rank's life before the lives of others. Of two ranks that arrive at the same time, at least one
     * sees the other; both execute this fence. */
    atomic_thread_fence(memory_order_seq_cst);
    if ((life != TERN_LIFE_JOINED && life != TERN_LIFE_ANSWERED) || !is_awaited(life))
        for (int rank = 0; rank < tern_job.boot.ranks; rank++)
            if (tern_boot_same_node(&tern_job.boot, rank))
                tern_boot_wake(tern_core_job_slot(rank));
    tern_boot_tell(&tern_job.boot);
}

/* A wait for all ranks of the job. */
struct roll_call {
    const char *what;
    uint32_t    life;  /* state that each rank must have reached */
    bool        needs; /* every rank is required: a rank that ended before is an error */
    int         first; /* all ranks before this one have reached the state */
};

static tern_status all_there(void *arg)
{
    struct roll_call *call = arg;

    /* Leaving: others may need replies. Joining: the program may not have registered its handlers yet. */
    if (!call->needs)
        tern_core_message_poll();
    for (; call->first < tern_job.boot.ranks; call->first++) {
        struct tern_slot *slot = tern_core_job_slot(call->first);
        uint32_t          fate = atomic_load_explicit(&slot->fate, memory_order_acquire); /* before life */

        if (atomic_load_explicit(&slot->life, memory_order_acquire) >= call->life)
            continue;
        /* A rank that ended with tern_exit has set the word before its fate, so this wait ends this process, too. */
        if (fate == TERN_FATE_RUNNING || tern_boot_is_ending(tern_job.boot.segment))
            return TERN_PENDING;
        if (call->needs)
            return tern_base_fail(TERN_ERR_PEER, "%s: rank %d ended before it called tern_init", call->what,
                                  call->first);
    }
    return TERN_OK;
}

static void roll_describe(void *arg, char *text, size_t size)
{
    struct roll_call *call = arg;

    char doing[96] = "";

    if (!call->needs && call->first < tern_job.boot.ranks)
        tern_core_team_describe(&tern_job.world, call->first, doing, sizeof(doing));
    snprintf(text, size, "%s waits for rank %d of %d, which has not called it%s", call->what, call->first,
             tern_job.boot.ranks, doing);
}

static tern_status gather_all(const char *what, uint32_t life, bool needs)
{
    struct roll_call call = { .what = what, .life = life, .needs = needs };
    struct tern_wait wait = {
        .poll = all_there, .describe = roll_describe, .arg = &call, .deadline = tern_core_job_deadline()
    };

    live(life);
    return tern_core_wait(&wait);
}

/* Log how this rank was started, and its node. */
static void introduce(void)
{
    const struct tern_boot *boot = &tern_job.boot;

    tern_base_log(TERN_LOG_INFO, "Tern %s: rank %d of %d, on node %d of %d, which has %d ranks and %u cores; %s",
                  TERN_VERSION, boot->rank, boot->ranks, boot->node, boot->nodes, boot->locals, boot->segment->cores,
                  boot->foreign    ? "started by a launcher with PMI-1 or PMIx"
                  : boot->launched ? "started by ternrun"
                                   : "started without a launcher");
    tern_base_log(TERN_LOG_INFO, "waits spin for %lld us and then yield up to %d times, because %s",
                  (long long)(tern_job.spin_ns / 1000), tern_job.yields,
                  tern_opt.spin >= 0 || tern_opt.yields >= 0     ? "TERN_SPIN or TERN_YIELDS is set"
                  : boot->segment->locals > boot->segment->cores ? "the node has fewer cores than ranks"
                                                                 : "each rank has a core");
}

static void choose_waiting(void)
{
    bool crowded, fast_bells;

    tern_job.turns = tern_boot_turns(&tern_job.boot);
    crowded = tern_job.turns > 1;
    tern_job.spin_ns = 1000 * (tern_opt.spin >= 0 ? tern_opt.spin : crowded ? 0 : 1000);
    tern_job.yields = (int)(tern_opt.yields >= 0 ? tern_opt.yields : crowded ? 1000 : 50);
    /* A rank that spins or yields for long seldom sleeps, and can afford a membarrier each time. relaxed: until other
     * ranks see the flag, they ring with a fence. */
    fast_bells = tern_boot_bell_join();
    atomic_store_explicit(&tern_core_job_slot(tern_job.boot.rank)->registered, fast_bells, memory_order_relaxed);
    if (!fast_bells)
        tern_base_log(TERN_LOG_INFO, "the kernel has no global membarrier: a fence precedes each check for sleepers");
    if (fast_bells && (tern_job.spin_ns > 0 || tern_job.yields >= MANY_YIELDS))
        atomic_store_explicit(&tern_core_job_slot(tern_job.boot.rank)->uses_membarrier, 1, memory_order_relaxed);
}

/* Open a team of some ranks of the job. */
static tern_status team_open(struct tern_team *team, uint32_t id, const int32_t *members, int size, int rank)
{
    struct tern_team_map *map = tern_core_team_map(members, size);

    if (!map)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a team of %d ranks", size);
    return tern_core_team_open(team, id, map, size, rank, 0);
}

/* Open the node's team if the job has more than one node. */
static tern_status node_open(void)
{
    int32_t    *members = calloc((size_t)tern_job.boot.locals, sizeof(*members));
    int         found = 0;
    tern_status st;

    if (!members)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a team of %d ranks", tern_job.boot.locals);
    for (int rank = 0; rank < tern_job.boot.ranks && found < tern_job.boot.locals; rank++)
        if (tern_boot_same_node(&tern_job.boot, rank))
            members[found++] = rank;
    st = team_open(&tern_job.node, TERN_TEAM_NODE, members, tern_job.boot.locals, tern_job.boot.local);
    free(members);
    return st;
}

static tern_status teams_open(void)
{
    int         size = tern_job.boot.ranks;
    int32_t     rank = tern_job.boot.rank;
    tern_status st = tern_core_team_open(&tern_job.world, 0, NULL, size, rank, 0);

    if (st == TERN_OK)
        st = tern_job.boot.nodes > 1 ? node_open()
                                     : tern_core_team_open(&tern_job.node, TERN_TEAM_NODE, NULL, size, rank, 0);
    if (st == TERN_OK)
        st = size > 1 ? team_open(&tern_job.self, TERN_TEAM_SELF, &rank, 1, 0)
                      : tern_core_team_open(&tern_job.self, TERN_TEAM_SELF, NULL, 1, 0, 0);
    return st;
}

/* Undo set_up(), as far as it has come after the links were opened. */
static void release_all(void)
{
    tern_boot_helper_stop(&tern_core_helper);
    TERN_LIST_EACH(struct tern_region, region, &tern_job.regions, node)
        tern_core_region_release(region);
    TERN_LIST_EACH(struct tern_ctx, ctx, &tern_job.contexts, node)
        tern_core_ctx_close(ctx);
    tern_core_domains_close();
    tern_core_region_index_close();
    tern_core_teams_close();
    tern_core_team_close(&tern_job.self);
    tern_core_team_close(&tern_job.node);
    tern_core_team_close(&tern_job.world);
    tern_core_links_close();
    tern_world = NULL;
}

static tern_status set_up(void)
{
    tern_status st;

    if ((st = tern_core_links_open()) < 0)
        return st;
    st = teams_open();
    if (st == TERN_OK)
        st = tern_core_ctx_open(&tern_job.world, TERN_RELAXED, &tern_world);
    if (st == TERN_OK)
        st = tern_core_ctx_open(&tern_job.world, TERN_RELAXED, &tern_job.handler_ctx);
    if (st == TERN_OK && tern_job.boot.segment->on_failure == TERN_ON_FAILURE_RETURN)
        st = tern_core_service_start();
    if (st == TERN_OK)
        st = gather_all("tern_init", TERN_LIFE_JOINED, true);
    if (st < 0)
        release_all();
    return st;
}

/* Free the tables and leave the job. */
static void leave(void)
{
    tern_boot_exit_close();
    free((void *)tern_job.lost);
    free((void *)tern_job.gone);
    free(tern_job.peer_link);
    free((void *)tern_job.pair);
    tern_core_node_map_close(&tern_job.nodes);
    tern_boot_leave(&tern_job.boot);
}

tern_status tern_core_job_open(const struct tern_link_up *up)
{
    tern_status st;
    size_t      ranks;

    if (atomic_load(&tern_job.phase) == TERN_PHASE_CHILD)
        return tern_core_job_running("tern_init");
    if (atomic_load(&tern_job.phase) != TERN_PHASE_BEFORE)
        return tern_base_fail(TERN_ERR_STATE,
                              "tern_init: this process has left its job by the last tern_finalize, or could not join "
                              "it, and a process joins a job once, because launchers and the other ranks take it for "
                              "gone; to use Tern again later, call tern_init once more before the last tern_finalize");
    if ((st = tern_core_fork_watch()) < 0)
        return st;
    tern_boot_poll_idle = tern_core_idle_hooks_poll;
    if ((st = tern_base_options_load(environ)) < 0 || (st = tern_core_test_hooks_apply(tern_opt.test)) < 0 ||
        (st = tern_op_coll_options(tern_opt.coll)) < 0 || (st = tern_boot_join(&tern_job.boot)) < 0)
        return st;
    tern_boot_exit_open(&tern_job.boot);
    tern_job.up = up;
    tern_base_bias_claim();
    tern_base_log_set_rank(tern_job.boot.launched ? tern_job.boot.rank : -1);
    if (!tern_job.boot.launched)
        tern_job.boot.segment->on_failure = (uint32_t)tern_opt.on_failure;
    choose_waiting();
    introduce();
    tern_core_helper_open();
    ranks = (size_t)tern_job.boot.ranks;
    tern_job.lost = calloc(ranks, sizeof(*tern_job.lost));
    tern_job.gone = calloc(ranks, sizeof(*tern_job.gone));
    tern_job.peer_link = calloc(ranks, sizeof(*tern_job.peer_link));
    tern_job.pair = calloc(ranks, sizeof(*tern_job.pair));
    if (!tern_job.lost || !tern_job.gone || !tern_job.peer_link || !tern_job.pair)
        st = tern_base_fail(TERN_ERR_NOMEM, "tern_init: no memory for tables of %zu ranks", ranks);
    else
        st = tern_core_node_map_open(&tern_job.nodes, tern_job.boot.segment, (int)ranks, tern_job.boot.nodes);
    if (st == TERN_OK)
        st = set_up();
    if (st < 0)
        leave();
    else
        tern_boot_mpi_check(&tern_job.boot);
    atomic_store(&tern_job.phase, st < 0 ? TERN_PHASE_AFTER : TERN_PHASE_RUNNING);
    return st;
}

static bool is_settled(void)
{
    return tern_core_links_msg_flushed() &&
           !atomic_load_explicit(&tern_core_bruck_unsent, memory_order_relaxed); /* polls send them */
}

static tern_status settle_poll(void *arg)
{
    (void)arg;
    tern_core_message_poll();
    tern_core_job_check_deaths();
    return is_settled() ? TERN_OK : TERN_PENDING;
}

static void settle_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "tern_finalize waits for active messages to be handled by ranks that make no progress");
}

/* The next life word may reach other ranks before this rank's messages do: wait until the messages have arrived. */
static tern_status settle(void)
{
    struct tern_wait wait = { .poll = settle_poll, .describe = settle_describe, .deadline = tern_core_job_deadline() };

    return is_settled() ? TERN_OK : tern_core_wait(&wait);
}

/* While ranks leave, no rank sends requests any more; each rank answers the requests that it has received, and delivers
 * messages until all ranks have answered. */
static tern_status say_goodbye(void)
{
    tern_status st = settle();

    if (st == TERN_OK)
        st = gather_all("tern_finalize", TERN_LIFE_LEAVING, false);
    tern_core_message_drain();
    if (st < 0 || (st = settle()) < 0)
        return st;
    st = gather_all("tern_finalize", TERN_LIFE_ANSWERED, false);
    tern_core_message_drain();
    return st;
}

tern_status tern_core_job_close(void)
{
    tern_status   st = TERN_OK;
    tern_deadline deadline = tern_core_job_deadline();

    tern_boot_mpi_check(&tern_job.boot); /* repeated, in case MPI was initialized after Tern */
    TERN_LIST_EACH(struct tern_ctx, ctx, &tern_job.contexts, node)
        if (tern_core_ctx_drain(ctx, deadline, "tern_finalize") < 0)
            st = TERN_ERR_TIMEOUT;
    if (say_goodbye() < 0)
        st = TERN_ERR_TIMEOUT;
    atomic_store(&tern_job.phase, TERN_PHASE_AFTER);
    release_all();
    live(TERN_LIFE_LEFT);
    leave();
    tern_base_log(TERN_LOG_INFO, "left the job");
    return st;
}
