/* death_watch.c: who watches whom, what a death means, and who is told.
 *
 * The kernel tells the end of a process through a descriptor (pidfd), also to those who are not its parent; it does not
 * tell them how it ended. So a rank has failed when its process is gone and its life in the segment does not say LEFT.
 * The launcher knows more (the signal, the status) and gets a moment to end the job in its own words; not all do.
 *
 * A watcher that takes over after a death finds ranks that died long ago, whose process numbers may belong to other
 * processes by now. Ranks whose end is known are passed over, and of any other the start of the process has to be that
 * in the slot: else the rank is gone.
 */
#define _GNU_SOURCE 1
#include "boot/death_watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "boot/bell.h"
#include "boot/pmi_join.h"
#include "boot/relay_thread.h"

#define LAUNCHER_MS 5000 /* the launcher's moment */

static struct {
    bool             running;
    pthread_t        thread;
    struct tern_boot boot;
    struct tern_pmi *pmi;
    int              stop;     /* eventfd */
    int              host;     /* pidfd of the rank that relays for this node; -1: none does, or this one */
    bool             compares; /* starts of processes as this process sees them are as the host wrote them */
} watch;

enum news { NEWS_NONE, NEWS_STOP, NEWS_RANK };

static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

uint64_t tern_boot_process_start_time(pid_t pid)
{
    unsigned long long started = 0;
    char               path[32], text[1024];
    const char        *after;
    size_t             len;
    FILE              *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if ((file = fopen(path, "re")) == NULL)
        return 0;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    after = strrchr(text, ')'); /* the name in front may have any characters; then come the fields from the third on */
    if (after == NULL ||
        sscanf(after + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &started) != 1)
        return 0;
    return started;
}

/* A descriptor of the rank's process. -1 and ESRCH: the process is gone, and another one may have its number. */
static int open_rank(int rank)
{
    const struct tern_slot *slot = &watch.boot.segment->slot[rank];
    /* acquire: pairs with the release in tern_boot_claim(). */
    pid_t                   pid = atomic_load_explicit(&slot->pid, memory_order_acquire);
    int                     fd = open_process(pid);

    /* The start is read after the process was opened: if the process ends between the two, the start is none, or that
     * of another one, and the rank is gone either way. */
    if (fd >= 0 && watch.compares && slot->started != 0 && tern_boot_process_start_time(pid) != slot->started) {
        close(fd);
        errno = ESRCH;
        return -1;
    }
    return fd;
}

/* Whether the rank needs no watching: its end is known, or its departure, after which nobody waits for it. */
static bool is_settled(int rank)
{
    const struct tern_slot *slot = &watch.boot.segment->slot[rank];

    /* relaxed: whoever wrote these has told the others, or tells them without this thread. */
    return atomic_load_explicit(&slot->fate, memory_order_relaxed) != TERN_FATE_RUNNING ||
           atomic_load_explicit(&slot->ended, memory_order_relaxed) != TERN_FATE_RUNNING ||
           atomic_load_explicit(&slot->life, memory_order_relaxed) == TERN_LIFE_LEFT;
}

/* The launcher is gone, and with it whoever could end this job. */
static _Noreturn void end_with_launcher(void)
{
    tern_base_log(TERN_LOG_ERROR, "the launcher is gone; this rank ends with it");
    _exit(EXIT_FAILURE);
}

/* The rank that relays for this node is gone: so is the rest of the job for this one, unless all is over. */
static void host_gone(void)
{
    close(watch.host);
    watch.host = -1;
    if (tern_boot_relay_thread_done(watch.boot.segment, -1))
        return;
    if (watch.boot.segment->on_failure == TERN_ON_FAILURE_ABORT)
        return; /* the one who watches it ends the job */
    tern_base_log(TERN_LOG_ERROR, "the rank that connects this node to the others is gone; this rank ends");
    _exit(EXIT_FAILURE);
}

/* Sleep until the process behind rank (a pidfd, or -1) ends or the thread is to stop, at most ms (-1: no limit). */
static enum news wait_for(int rank, int ms)
{
    for (;;) {
        struct pollfd fds[] = {
            { watch.stop, POLLIN, 0 }, { watch.pmi->gone, POLLIN, 0 }, { rank, POLLIN, 0 }, { watch.host, POLLIN, 0 }
        };
        int ready = poll(fds, sizeof(fds) / sizeof(fds[0]), ms);

        if (ready < 0 && errno == EINTR)
            continue;
        if (fds[0].revents != 0)
            return NEWS_STOP;
        if (fds[1].revents != 0)
            end_with_launcher();
        if (fds[3].revents != 0)
            host_gone(); /* is not looked at again */
        if (fds[2].revents != 0)
            return NEWS_RANK;
        if (ready == 0)
            return NEWS_NONE;
    }
}

/* The next rank of this node after rank, round and round. */
static int next_local(int rank)
{
    do
        rank = (rank + 1) % watch.boot.ranks;
    while (!tern_boot_same_node(&watch.boot, rank));
    return rank;
}

/* Make the number of losses what the fates say. Those who see the same death may be several, one after the other, and
 * any of them may die over it: so nobody adds one, everybody counts. */
static void count_losses(struct tern_segment *segment)
{
    uint32_t lost = 0, seen = atomic_load_explicit(&segment->losses, memory_order_relaxed);

    for (uint32_t r = 0; r < segment->ranks; r++)
        /* acquire: the fate that another watcher wrote. Pairs with the release in publish(). */
        lost += atomic_load_explicit(&segment->slot[r].fate, memory_order_acquire) == TERN_FATE_LOST;
    /* release: the fates before their number. Pairs with the acquire loads of losses by the ranks. */
    while (seen < lost && !atomic_compare_exchange_weak_explicit(&segment->losses, &seen, lost, memory_order_release,
                                                                 memory_order_relaxed))
        ;
}

/* Write the fate of a rank, and wake everyone. Where the job has one node. */
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

/* The process of a rank is gone. Returns whether it failed. */
static bool report(int rank)
{
    struct tern_slot *slot = &watch.boot.segment->slot[rank];
    /* acquire: what the rank did before it changed its life; its end has made that final. */
    bool              lost = atomic_load_explicit(&slot->life, memory_order_acquire) != TERN_LIFE_LEFT;
    uint32_t          fate = lost ? TERN_FATE_LOST : TERN_FATE_ENDED;

    if (watch.boot.nodes == 1) {
        publish(watch.boot.segment, slot, fate);
    } else {
        /* release: pairs with the relay's exchange. */
        atomic_store_explicit(&slot->ended, fate, memory_order_release);
        tern_boot_tell(&watch.boot);
    }
    return lost;
}

/* A rank failed where that ends the job. Returns whether the thread is to stop. */
static bool end_job(int rank)
{
    int pid = atomic_load_explicit(&watch.boot.segment->slot[rank].pid, memory_order_relaxed);

    if (wait_for(-1, LAUNCHER_MS) == NEWS_STOP)
        return true;
    tern_base_log(TERN_LOG_ERROR, "rank %d (pid %d) ended without tern_finalize; ending the job", rank, pid);
    tern_boot_pmi_abort(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

/* Watch one rank until it is gone. Returns whether the thread is to stop. */
static bool watch_rank(int rank)
{
    int  fd = open_rank(rank);
    bool stop = fd >= 0 && wait_for(fd, -1) == NEWS_STOP;

    if (fd >= 0)
        close(fd);
    else if (errno != ESRCH) /* it is there, and there is no descriptor for it */
        stop = (tern_base_log(TERN_LOG_WARN, "cannot watch rank %d any more: %s", rank, strerror(errno)), true);
    if (stop)
        return true;
    return report(rank) && watch.boot.segment->on_failure == TERN_ON_FAILURE_ABORT && end_job(rank);
}

static void *watch_run(void *arg)
{
    (void)arg;
    for (int rank = next_local(watch.boot.rank); rank != watch.boot.rank; rank = next_local(rank))
        if (!is_settled(rank) && watch_rank(rank))
            return NULL;
    wait_for(-1, -1); /* nobody is left but the launcher */
    return NULL;
}

static tern_status start_thread(void)
{
    sigset_t all, before;
    int      error;

    watch.stop = eventfd(0, EFD_CLOEXEC);
    if (watch.stop < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot make an eventfd: %s", strerror(errno));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&watch.thread, NULL, watch_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        close(watch.stop);
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot start the thread that watches other ranks: %s", strerror(error));
    }
    pthread_setname_np(watch.thread, "tern-watch");
    watch.running = true;
    return TERN_OK;
}

tern_status tern_boot_death_watch_start(const struct tern_boot *boot, struct tern_pmi *pmi, int host)
{
    int self = open_process(getpid());

    if (self < 0 && boot->segment->on_failure == TERN_ON_FAILURE_RETURN)
        return tern_base_fail(TERN_ERR_SYSTEM,
                              "this system does not let processes watch each other (pidfd_open: %s), so a job of this "
                              "launcher cannot survive a death; use ternrun or TERN_ON_FAILURE=abort",
                              strerror(errno));
    if (self < 0)
        return TERN_OK; /* the launcher ends the job */
    close(self);
    watch.boot = *boot;
    watch.pmi = pmi;
    watch.host = -1;
    watch.compares = tern_boot_process_start_time(getpid()) == boot->segment->slot[boot->rank].started; /* same clock */
    if (boot->nodes > 1 && boot->local != 0 && (watch.host = open_rank(host)) < 0 && errno == ESRCH)
        return tern_base_fail(
            TERN_ERR_BOOT, "rank %d, which connects this node to the others, is gone; its own message says why", host);
    pmi->watched = boot->locals > 1;
    return boot->locals > 1 || pmi->gone >= 0 ? start_thread() : TERN_OK;
}

void tern_boot_death_watch_stop(void)
{
    if (!watch.running)
        return;
    eventfd_write(watch.stop, 1);
    pthread_join(watch.thread, NULL);
    close(watch.stop);
    if (watch.host >= 0)
        close(watch.host);
    watch.running = false;
}
