/* nodes_job.c: ranks on several nodes that a foreign launcher started learn of each other, without using links.
 *
 *   nodes_job meet         publish an address, synchronize, read all addresses, synchronize again, and leave; print
 *                          "met RANK of RANKS on NODES"
 *   nodes_job die RANK     like meet, but this rank dies before the second synchronization. The others print "saw RANK"
 *                          when they learn of its death. Ranks that lose the connection to the other nodes end
 *   nodes_job mute RANK    like die, but this rank dies when it is about to wake the relay
 *   nodes_job reuse HOW    four ranks on one node: rank 2 dies, then rank 1, then rank 3, and between the first two
 *                          deaths another process gets the process number of rank 2. If HOW is "known", all ranks know
 *                          of the death of rank 2 by then. If HOW is "unknown", rank 1, which watches rank 2, is
 *                          stopped until its own death. Rank 0 prints "saw RANK" for each death
 */
#include <poll.h>
#include <sys/syscall.h>

#include "base/options.h"
#include "boot/bell.h"
#include "boot/boot.h"
#include "boot/process.h"
#include "fault/fault_job.h"

#define LINK 9 /* number of a link */

static struct tern_boot boot;
static bool             is_mute; /* this rank dies instead of waking the relay */

static struct tern_slot *slot_of(int rank)
{
    return &boot.segment->slot[rank];
}

static uint32_t fate_of(int rank)
{
    return atomic_load_explicit(&slot_of(rank)->fate, memory_order_acquire);
}

/* Replaces the function of the C library that wakes the relay. */
ssize_t write(int fd, const void *bytes, size_t len)
{
    if (is_mute && fd == boot.relay_fd)
        fault_die();
    return syscall(SYS_write, fd, bytes, len);
}

/* Sleep until the condition holds for every rank. */
static void await_all(bool (*holds)(int rank, uint32_t number), uint32_t number)
{
    for (int rank = 0; rank < boot.ranks;) {
        struct tern_slot *mine = slot_of(boot.rank);
        uint32_t          seen = tern_boot_bell_announce(&mine->bell, &mine->sleepers);

        if (holds(rank, number))
            rank++;
        else
            tern_boot_bell_wait(&mine->bell, seen, -1);
        tern_boot_bell_withdraw(&mine->sleepers);
    }
}

static bool lives(int rank, uint32_t life)
{
    return atomic_load_explicit(&slot_of(rank)->life, memory_order_acquire) >= life || fate_of(rank) == TERN_FATE_LOST;
}

static bool has_come(int rank, uint32_t number)
{
    return atomic_load_explicit(&tern_segment_barrier_slot(boot.segment, (uint32_t)rank)->arrived,
                                memory_order_acquire) >= number ||
           fate_of(rank) == TERN_FATE_LOST;
}

static void ring_node(void)
{
    for (int rank = 0; rank < boot.ranks; rank++)
        if (tern_boot_same_node(&boot, rank))
            tern_boot_bell_ring(&slot_of(rank)->bell, &slot_of(rank)->sleepers);
    tern_boot_tell(&boot);
}

static void live(uint32_t life)
{
    atomic_store_explicit(&slot_of(boot.rank)->life, life, memory_order_release);
    ring_node();
}

static void arrive(uint32_t number)
{
    struct tern_barrier_slot *seat = tern_segment_barrier_slot(boot.segment, (uint32_t)boot.rank);

    if (boot.segment->contributions) {
        seat->contribution_len[number & 1] = 4;
        memcpy(tern_segment_contribution(boot.segment, (uint32_t)boot.rank, number), &boot.rank, 4);
    }
    atomic_store_explicit(&seat->arrived, number, memory_order_release);
    ring_node();
    await_all(has_come, number);
    for (int rank = 0; rank < boot.ranks && boot.segment->contributions; rank++)
        if (fate_of(rank) != TERN_FATE_LOST)
            CHECK(memcmp(tern_segment_contribution(boot.segment, (uint32_t)rank, number), &rank, 4) == 0);
}

static void check_addresses(void)
{
    char   text[32];
    size_t len;

    for (int rank = 0; rank < boot.ranks; rank++) {
        const void *address = tern_boot_net_address(&boot, LINK, rank, &len);

        snprintf(text, sizeof(text), "address of %d", rank);
        CHECK(address != NULL && len == strlen(text) && memcmp(address, text, len) == 0);
    }
}

/* Sleep until this rank knows of the death of the other rank. */
static void await_death(int rank)
{
    struct tern_slot *mine = slot_of(boot.rank);

    while (fate_of(rank) != TERN_FATE_LOST) {
        uint32_t seen = tern_boot_bell_announce(&mine->bell, &mine->sleepers);

        if (fate_of(rank) != TERN_FATE_LOST)
            tern_boot_bell_wait(&mine->bell, seen, -1);
        tern_boot_bell_withdraw(&mine->sleepers);
    }
    printf("saw %d\n", rank);
    fflush(stdout);
}

static pid_t pid_of(int rank)
{
    return (pid_t)atomic_load_explicit(&slot_of(rank)->pid, memory_order_acquire);
}

static void kill_rank(int rank)
{
    struct pollfd process = { .fd = (int)syscall(SYS_pidfd_open, pid_of(rank), 0), .events = POLLIN };

    CHECK(process.fd >= 0 && kill(pid_of(rank), SIGKILL) == 0 && poll(&process, 1, -1) == 1);
    close(process.fd);
}

/* Rank 0 kills the others. It writes into the slot of rank 2 what a watcher would find there if the kernel had given
 * the process number to another process: the number of a living process, and its start time too if the start time must
 * not help the watcher. */
static void reuse(bool known)
{
    pid_t other = getppid();

    if (boot.rank != 0)
        for (;;)
            pause();
    if (!known) {
        CHECK(kill(pid_of(1), SIGSTOP) == 0);
        while (fault_moves(pid_of(1)))
            usleep(1000);
    }
    kill_rank(2);
    if (known) {
        await_death(2);
        slot_of(2)->started = tern_boot_process_start_time(other);
    }
    atomic_store_explicit(&slot_of(2)->pid, (int32_t)other, memory_order_release);
    kill_rank(1);
    await_death(1);
    if (!known)
        await_death(2);
    kill_rank(3);
    await_death(3);
    exit(0);
}

int main(int argc, char **argv)
{
    int  victim = argc > 2 ? atoi(argv[2]) : -1;
    char text[32];

    CHECK(tern_base_options_load(environ) == TERN_OK);
    if (tern_boot_join(&boot) != TERN_OK) {
        fprintf(stderr, "nodes_job: %s\n", tern_error_detail());
        return 1;
    }
    snprintf(text, sizeof(text), "address of %d", boot.rank);
    CHECK(tern_boot_publish_address(&boot, LINK, text, strlen(text)) == TERN_OK);
    live(TERN_LIFE_JOINED);
    await_all(lives, TERN_LIFE_JOINED);
    check_addresses();
    for (uint32_t number = 1; number <= 20; number++)
        arrive(number);
    if (argc > 2 && strcmp(argv[1], "reuse") == 0)
        reuse(strcmp(argv[2], "known") == 0);
    if (boot.rank == victim && strcmp(argv[1], "die") == 0)
        fault_die();
    is_mute = boot.rank == victim;
    if (is_mute)
        ring_node();
    if (victim >= 0) {
        arrive(21); /* completes when this rank knows that the other rank never arrives */
        await_death(victim);
    }
    live(TERN_LIFE_LEAVING);
    await_all(lives, TERN_LIFE_LEAVING);
    live(TERN_LIFE_ANSWERED);
    await_all(lives, TERN_LIFE_ANSWERED);
    live(TERN_LIFE_LEFT);
    printf("met %d of %d on %d\n", boot.rank, boot.ranks, boot.nodes);
    tern_boot_leave(&boot);
    return 0;
}
