/* death_watch.c: which rank watches which, what a death means, and how it is reported.
 *
 * A pidfd reports the end of a process even to processes that are not its parent, but does not tell them how the
 * process ended. So a rank has failed if its process is gone and its life in the segment is not LEFT. The launcher
 * knows more (the signal, the exit status) and gets some time to end the job with its own message; not every launcher
 * does.
 *
 * A watcher that takes over after a death finds ranks that died long ago, whose pids may belong to other processes by
 * now. It skips ranks whose end is known. For any other rank, the start time of the process must equal the start time
 * in the slot; otherwise the rank is gone.
 */
#include "boot/death_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "boot/bell.h"
#include "boot/exit.h"
#include "boot/pmi_join.h"
#include "boot/process.h"
#include "boot/relay_thread.h"

#define LAUNCHER_GRACE_MS 5000 /* time that the launcher has to end the job by itself */

static struct {
    bool             running;
    pthread_t        thread;
    struct tern_boot boot;
    struct tern_pmi *pmi;
    int              stop;     /* eventfd */
    int              host;     /* pidfd of the rank that relays for this node; -1: no rank does, or this rank does */
    bool             compares; /* process start times as seen here are comparable with those that the host wrote */
    int              held;     /* copy of the connection between the launcher and the watched rank; -1: none */
} watch;

static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Return a pidfd of the rank's process, or -1 and errno. ESRCH means that the process is gone; another process may have
 * its pid. */
static int open_rank(int rank)
{
    const struct tern_slot *slot = &watch.boot.segment->slot[rank];
    /* acquire: pairs with the release in tern_boot_claim(). */
    pid_t                   pid = atomic_load_explicit(&slot->pid, memory_order_acquire);
    int                     fd = open_process(pid);

    /* The start time is read after the pidfd was opened. If the process ends in between, the start time read is 0 or
     * that of another process, and the rank is correctly found to be gone. */
    if (fd >= 0 && watch.compares && slot->started != 0 && tern_boot_process_start_time(pid) != slot->started) {
        close(fd);
        errno = ESRCH;
        return -1;
    }
    return fd;
}

/* Return whether the rank needs no watching: its end is known, or it has left and nobody waits for it any more. */
static bool is_settled(int rank)
{
    const struct tern_slot *slot = &watch.boot.segment->slot[rank];

    /* relaxed: the writer of these fields notifies the other ranks without the help of this thread. */
    return atomic_load_explicit(&slot->fate, memory_order_relaxed) != TERN_FATE_RUNNING ||
           atomic_load_explicit(&slot->ended, memory_order_relaxed) != TERN_FATE_RUNNING ||
           atomic_load_explicit(&slot->life, memory_order_relaxed) == TERN_LIFE_LEFT;
}

/* The rank that relays for this node is gone. End this rank, which has lost the other nodes, unless all ranks have
 * finished. */
static void host_gone(void)
{
    close(watch.host);
    watch.host = -1;
    if (tern_boot_relay_thread_done(watch.boot.segment, -1))
        return;
    if (watch.boot.segment->on_failure == TERN_ON_FAILURE_ABORT)
        return; /* the rank that watches the host ends the job */
    tern_base_log(TERN_LOG_ERROR, "the rank that connects this node to the others is gone; this rank ends");
    _exit(EXIT_FAILURE);
}

/* A rank has called tern_exit: end this process, whatever the program is doing. */
static void follow_exit(void)
{
    tern_boot_exit_follow(tern_boot_exit_code(watch.boot.segment), false);
}

/* Sleep until the process behind the pidfd rank (-1: none) ends or the thread is to stop, for at most ms milliseconds
 * (-1: no limit). Returns whether the thread is to stop. */
static bool wait_for(int rank, int ms)
{
    for (;;) {
        struct pollfd fds[] = {
            { watch.stop, POLLIN, 0 }, { watch.pmi->gone, POLLIN, 0 }, { rank, POLLIN, 0 }, { watch.host, POLLIN, 0 }
        };
        int ready = poll(fds, sizeof(fds) / sizeof(fds[0]), ms);

        if (ready < 0 && errno == EINTR)
            continue;
        if (fds[0].revents != 0)
            return true;
        if ((fds[1].revents != 0 || fds[2].revents != 0 || fds[3].revents != 0) &&
            tern_boot_is_ending(watch.boot.segment))
            follow_exit();         /* this is not a failure */
        if (fds[1].revents != 0) { /* nobody else could end the job */
            tern_base_log(TERN_LOG_ERROR, "the launcher is gone; this rank ends with it");
            _exit(EXIT_FAILURE);
        }
        if (fds[3].revents != 0)
            host_gone(); /* clears watch.host, which is then no longer polled */
        if (fds[2].revents != 0 || ready == 0)
            return false;
    }
}

/* Return the next rank of this node after rank, cyclically. */
static int next_local(int rank)
{
    do
        rank = (rank + 1) % watch.boot.ranks;
    while (!tern_boot_same_node(&watch.boot, rank));
    return rank;
}

/* Set the number of losses to the number of ranks with the fate LOST. Several watchers may see the same death, one
 * after the other, and any of them may die while reporting it. So nobody increments the number; every watcher
 * counts. */
static void count_losses(struct tern_segment *segment)
{
    uint32_t lost = 0, seen = atomic_load_explicit(&segment->losses, memory_order_relaxed);

    for (uint32_t r = 0; r < segment->ranks; r++)
        /* acquire: reads the fate that another watcher wrote. Pairs with the release in publish(). */
        lost += atomic_load_explicit(&segment->slot[r].fate, memory_order_acquire) == TERN_FATE_LOST;
    /* release: publishes the fates before their number. Pairs with the ranks' acquire loads of losses. */
    while (seen < lost && !atomic_compare_exchange_weak_explicit(&segment->losses, &seen, lost, memory_order_release,
                                                                 memory_order_relaxed))
        ;
}

/* Write the fate of a rank and wake all ranks. Only for jobs on one node. */
static void publish(struct tern_segment *segment, struct tern_slot *slot, uint32_t fate)
{
    uint32_t running = TERN_FATE_RUNNING;

    /* release: pairs with the acquire in count_losses(). */
    atomic_compare_exchange_strong_explicit(&slot->fate, &running, fate, memory_order_release, memory_order_relaxed);
    count_losses(segment);
    for (uint32_t r = 0; r < segment->ranks; r++) {
        tern_boot_bell_wake(&segment->slot[r].bell);
        tern_boot_bell_wake(&segment->slot[r].service_bell);
    }
}

/* Report that the process of a rank is gone. Returns whether the rank failed. */
static bool report(int rank)
{
    struct tern_slot *slot = &watch.boot.segment->slot[rank];
    /* acquire: makes visible what the rank did before it changed its life. The life is final, because the process has
     * ended. */
    bool              lost = atomic_load_explicit(&slot->life, memory_order_acquire) != TERN_LIFE_LEFT;
    uint32_t          fate = lost ? TERN_FATE_LOST : TERN_FATE_ENDED;

    if (watch.boot.nodes == 1) {
        publish(watch.boot.segment, slot, fate);
    } else {
        /* release: pairs with the relay thread's exchange. */
        atomic_store_explicit(&slot->ended, fate, memory_order_release);
        tern_boot_tell(&watch.boot);
    }
    return lost;
}

/* Keep a copy of the connection between the launcher and a rank, whose pidfd is process.
 *
 * MPICH's mpiexec takes the end of a PMI-1 connection for the end of the job, and reports success if the process ended
 * by _exit(0). It would kill this rank before this rank can say anything. With the copy, mpiexec does not act before
 * Tern has decided what to do. Without permission to copy it, mpiexec is faster. */
static void hold_connection(int rank, int process)
{
    int fd = watch.boot.segment->slot[rank].launcher_fd;

    if (process >= 0 && fd >= 0 && watch.held < 0 && watch.boot.segment->on_failure == TERN_ON_FAILURE_ABORT)
        watch.held = (int)syscall(SYS_pidfd_getfd, process, fd, 0); /* -1 on failure */
}

/* The watched rank is gone: let the launcher see the end of its connection, unless the launcher might report success
 * for a rank that failed. */
static void release_connection(int rank, bool failed)
{
    /* relaxed: the process has ended and cannot change it. */
    pid_t pid = atomic_load_explicit(&watch.boot.segment->slot[rank].pid, memory_order_relaxed);

    if (watch.held < 0 || (failed && !tern_boot_process_failed(pid)))
        return;
    close(watch.held);
    watch.held = -1;
}

/* End the job after a rank failed, unless the launcher does so within LAUNCHER_GRACE_MS. A launcher that does not see
 * the end of the rank's connection is given no time, because it would not act. If the rank has called tern_abort, the
 * rank has reported that itself, and the job ends with its exit status. Returns true if the thread is to stop. */
static bool end_job(int rank)
{
    const struct tern_slot *slot = &watch.boot.segment->slot[rank];
    uint32_t aborted = atomic_load_explicit(&slot->aborted, memory_order_relaxed); /* the process is gone */
    int      pid = atomic_load_explicit(&slot->pid, memory_order_relaxed);
    int      code = aborted ? (int)(aborted & 0xff) : EXIT_FAILURE;

    if (watch.held < 0 && wait_for(-1, LAUNCHER_GRACE_MS))
        return true;
    if (!aborted)
        tern_base_log(TERN_LOG_ERROR, "rank %d (pid %d) ended without tern_finalize; ending the job", rank, pid);
    tern_boot_pmi_abort(code);
    _exit(code);
}

/* Watch one rank until its process is gone, and report that. Returns whether the thread is to stop. */
static bool watch_rank(int rank)
{
    int  fd = open_rank(rank);
    bool stop, failed;

    hold_connection(rank, fd);
    stop = fd >= 0 && wait_for(fd, -1);
    if (fd >= 0)
        close(fd);
    else if (errno != ESRCH) /* the process exists, but no pidfd can be opened */
        stop = (tern_base_log(TERN_LOG_WARN, "cannot watch rank %d any more: %s", rank, strerror(errno)), true);
    if (stop)
        return true;
    if (tern_boot_is_ending(watch.boot.segment))
        follow_exit();
    failed = report(rank);
    release_connection(rank, failed);
    return failed && watch.boot.segment->on_failure == TERN_ON_FAILURE_ABORT && end_job(rank);
}

static void *watch_run(void *arg)
{
    (void)arg;
    for (int rank = next_local(watch.boot.rank); rank != watch.boot.rank; rank = next_local(rank))
        if (!is_settled(rank) && watch_rank(rank))
            return NULL;
    wait_for(-1, -1); /* only the launcher is left to watch */
    return NULL;
}

/* Hold the connection of the first rank that this rank watches. All ranks do so before any leaves tern_init. */
static void hold_first(void)
{
    int rank = next_local(watch.boot.rank), fd = open_rank(rank);

    hold_connection(rank, fd);
    if (fd >= 0)
        close(fd);
}

tern_status tern_boot_death_watch_start(const struct tern_boot *boot, struct tern_pmi *pmi, int host)
{
    int         self = open_process(getpid());
    tern_status st;

    if (self < 0 && boot->segment->on_failure == TERN_ON_FAILURE_RETURN)
        return tern_base_fail(TERN_ERR_SYSTEM,
                              "this system does not let processes watch each other (pidfd_open: %s), so a job of this "
                              "launcher cannot survive a death; use ternrun or TERN_ON_FAILURE=abort",
                              strerror(errno));
    if (self < 0)
        return TERN_OK; /* the launcher ends the job after a death */
    close(self);
    watch.boot = *boot;
    watch.pmi = pmi;
    watch.host = watch.held = -1;
    /* False if this process and the host have different clocks. */
    watch.compares = tern_boot_process_start_time(getpid()) == boot->segment->slot[boot->rank].started;
    if (boot->nodes > 1 && boot->local != 0 && (watch.host = open_rank(host)) < 0 && errno == ESRCH)
        return tern_base_fail(
            TERN_ERR_BOOT, "rank %d, which connects this node to the others, is gone; its own message says why", host);
    pmi->watched = boot->locals > 1;
    if (boot->locals <= 1 && pmi->gone < 0)
        return TERN_OK;
    if (boot->locals > 1)
        hold_first();
    watch.stop = eventfd(0, EFD_CLOEXEC);
    if (watch.stop < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot make an eventfd: %s", strerror(errno));
    st = tern_base_thread_start(&watch.thread, "tern-watch", watch_run, NULL);
    watch.running = st == TERN_OK;
    if (!watch.running)
        close(watch.stop);
    return st;
}

void tern_boot_death_watch_stop(void)
{
    if (!watch.running)
        return;
    eventfd_write(watch.stop, 1);
    tern_base_thread_join(watch.thread, "tern-watch");
    close(watch.stop);
    if (watch.host >= 0)
        close(watch.host);
    if (watch.held >= 0)
        close(watch.held);
    watch.running = false;
}
