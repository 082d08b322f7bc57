/* boot_relay.c: promise: the state that the ranks of one node publish reaches the segments of the other nodes, and
 * nothing else does.
 *
 * Three segments play the nodes of a job; frames go from the spoke of one node to those of the others as the hub would
 * send them.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "boot/boot.h"
#include "boot/relay.h"

#define LINK 9 /* number of a link */

#define NODES 3
#define RANKS 6

static const int32_t        node_of[RANKS] = { 0, 1, 1, 2, 0, 1 };
static struct tern_boot     rank_boot[RANKS]; /* each rank as it joined on its node */
static struct tern_relay   *spoke[NODES];
static struct tern_segment *segment[NODES];
static int                  ends[2]; /* the pipe through which ranks wake the relay */
static int                  emitted;

static int job_make(void **state)
{
    struct tern_boot_shape shape = { .ranks = RANKS, .nodes = NODES, .node_of = node_of, .cores = 1, .job = 5 };

    (void)state;
    tern_opt.on_failure = TERN_ON_FAILURE_RETURN;
    if (pipe(ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
        return -1;
    for (int n = 0; n < NODES; n++) {
        struct tern_boot boot = { .relay_fd = ends[1] };

        shape.node = n;
        if (tern_boot_arena_shape(&shape, &boot.arena, &boot.huge, &boot.segment) != TERN_OK ||
            tern_boot_relay_open(boot.segment, &spoke[n]) != TERN_OK)
            return -1;
        segment[n] = boot.segment;
        close(boot.arena);
        close(boot.huge);
        for (int r = 0; r < RANKS; r++)
            if (node_of[r] == n) {
                rank_boot[r] = boot;
                tern_boot_place(&rank_boot[r], r);
            }
    }
    return 0;
}

static int job_remove(void **state)
{
    (void)state;
    for (int n = 0; n < NODES; n++) {
        tern_boot_relay_close(spoke[n]);
        tern_boot_segment_unmap(segment[n]);
    }
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* The hub: forward a frame to all nodes but the node that sent it. */
static void pass_on(void *arg, const struct tern_frame *frame)
{
    int from = *(int *)arg;

    emitted++;
    for (int n = 0; n < NODES; n++)
        if (n != from)
            assert_true(tern_boot_relay_apply(spoke[n], frame));
}

static int relay_all(void)
{
    emitted = 0;
    for (int n = 0; n < NODES; n++)
        tern_boot_relay_scan(spoke[n], pass_on, &n);
    for (int n = 0; n < NODES; n++)
        tern_boot_relay_ring(spoke[n]);
    return emitted;
}

static void live(int rank, enum tern_life life)
{
    atomic_store(&rank_boot[rank].segment->slot[rank].life, life);
    tern_boot_tell(&rank_boot[rank]);
}

static void lives_and_addresses(void **state)
{
    size_t      len;
    const void *address;

    (void)state;
    assert_int_equal(relay_all(), 0); /* nothing was published */
    assert_int_equal(tern_boot_publish_address(&rank_boot[4], LINK, "address of 4", 12), TERN_OK);
    live(4, TERN_LIFE_JOINED);
    live(1, TERN_LIFE_JOINING);
    assert_int_equal(relay_all(), 3);
    for (int n = 0; n < NODES; n++) {
        assert_int_equal(segment[n]->slot[4].life, TERN_LIFE_JOINED);
        assert_int_equal(segment[n]->slot[1].life, TERN_LIFE_JOINING);
        assert_int_equal(segment[n]->slot[0].life, TERN_LIFE_NONE);
    }
    address = tern_boot_net_address(&rank_boot[3], LINK, 4, &len);
    assert_int_equal(len, 12);
    assert_memory_equal(address, "address of 4", 12);
    assert_null(tern_boot_net_address(&rank_boot[3], LINK, 1, &len));
    assert_int_equal(relay_all(), 0); /* each change is relayed once */
    assert_int_equal(tern_boot_publish_address(&rank_boot[4], LINK + 1, "another", 7), TERN_OK);
    assert_null(tern_boot_net_address(&rank_boot[3], LINK + 1, 4, &len));
    assert_int_equal(relay_all(), 1);
    address = tern_boot_net_address(&rank_boot[3], LINK + 1, 4, &len);
    assert_int_equal(len, 7);
    assert_memory_equal(address, "another", 7);
    assert_memory_equal(tern_boot_net_address(&rank_boot[3], LINK, 4, &len), "address of 4", 12);
    live(4, TERN_LIFE_LEFT);
    assert_int_equal(relay_all(), 1);
    assert_int_equal(segment[1]->slot[4].life, TERN_LIFE_LEFT);
}

/* Promise: every rank that has changed something wakes the relay itself, whatever other ranks have done; a rank that
 * finds the pipe full continues. */
static void tellers_wake_the_relay(void **state)
{
    char bytes[64];

    (void)state;
    live(1, TERN_LIFE_JOINING);
    live(2, TERN_LIFE_JOINING);
    live(1, TERN_LIFE_JOINED);
    assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 24);
    assert_int_equal(relay_all(), 2);
    live(2, TERN_LIFE_JOINED);
    assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 8);
    assert_int_equal(read(ends[0], bytes, sizeof(bytes)), -1);
    assert_int_equal(relay_all(), 1);
    while (write(ends[1], bytes, sizeof(bytes)) > 0)
        ;
    live(2, TERN_LIFE_LEAVING);
    assert_int_equal(relay_all(), 1);
}

static void arrive_in(int rank, uint32_t call, const char *note)
{
    struct tern_barrier_slot *seat = tern_segment_barrier_slot(rank_boot[rank].segment, (uint32_t)rank);
    uint32_t                  number = seat->arrived + 1;

    seat->contribution_len[number & 1] = (uint32_t)strlen(note);
    memcpy(tern_segment_contribution(rank_boot[rank].segment, (uint32_t)rank, number), note, strlen(note));
    atomic_store(&seat->call[number & 1], call);
    atomic_store(&seat->arrived, number);
}

static void arrive(int rank, const char *note)
{
    arrive_in(rank, 0, note);
}

static void depart(int rank, uint64_t object)
{
    struct tern_barrier_slot *seat = tern_segment_barrier_slot(rank_boot[rank].segment, (uint32_t)rank);

    atomic_store(&seat->object[(seat->departures + 1) & 1], object);
    atomic_store(&seat->departures, seat->departures + 1);
}

static void seats(void **state)
{
    struct tern_barrier_slot *seat = tern_segment_barrier_slot(segment[2], 5);

    (void)state;
    arrive(5, "first");
    assert_int_equal(relay_all(), 1);
    assert_int_equal(seat->arrived, 1);
    assert_int_equal(seat->contribution_len[1], 5);
    assert_memory_equal(tern_segment_contribution(segment[2], 5, 1), "first", 5);
    arrive(5, "");
    depart(5, 77);
    depart(5, 78);
    assert_int_equal(relay_all(), 3);
    assert_int_equal(seat->arrived, 2);
    assert_int_equal(seat->contribution_len[0], 0);
    assert_memory_equal(tern_segment_contribution(segment[2], 5, 1), "first", 5); /* the previous one is still there */
    assert_int_equal(seat->departures, 2);
    assert_true(seat->object[1] == 77 && seat->object[0] == 78);
    for (int i = 0; i < 5; i++)
        depart(5, 80 + (uint64_t)i);
    assert_int_equal(relay_all(), 2); /* only two are known */
    assert_int_equal(seat->departures, 7);
    assert_true(seat->object[1] == 84 && seat->object[0] == 83);
    arrive_in(5, 3, "third");
    arrive_in(5, 0x12345678, "fourth"); /* whatever the number is, it is relayed: the ranks check it */
    assert_int_equal(relay_all(), 2);
    assert_int_equal(seat->arrived, 4);
    assert_int_equal(seat->call[1], 3);
    assert_int_equal(seat->call[0], 0x12345678);
    assert_memory_equal(tern_segment_contribution(segment[2], 5, 3), "third", 5);
    assert_memory_equal(tern_segment_contribution(segment[2], 5, 4), "fourth", 6);
}

static void fates(void **state)
{
    struct tern_frame frame = { .kind = TERN_FRAME_FATE, .rank = 1, .value = TERN_FATE_LOST };

    (void)state;
    for (int n = 0; n < NODES; n++) {
        assert_true(tern_boot_relay_apply(spoke[n], &frame)); /* on its own node too */
        assert_int_equal(segment[n]->slot[1].fate, TERN_FATE_LOST);
        assert_int_equal(segment[n]->losses, 1);
        assert_false(tern_boot_relay_apply(spoke[n], &frame)); /* a rank dies only once */
        assert_int_equal(segment[n]->losses, 1);
    }
    frame.rank = 0;
    frame.value = TERN_FATE_ENDED;
    assert_true(tern_boot_relay_apply(spoke[2], &frame));
    assert_int_equal(segment[2]->slot[0].fate, TERN_FATE_ENDED);
    assert_int_equal(segment[2]->losses, 1);
}

/* A rank of the first node writes into a seat what a rank that has entered a barrier of a team writes. */
static struct tern_seat *sit(int rank, uint32_t number, uint32_t team, uint32_t barrier, const char *text)
{
    struct tern_seat *seat = tern_segment_seat(segment[node_of[rank]], (uint32_t)rank, number);

    if (atomic_load(&seat->slot.team) != team) {
        atomic_store(&seat->slot.arrived, 0);
        atomic_store(&seat->slot.regroups, 0);
        atomic_store(&seat->slot.gave_up, 0);
        atomic_store(&seat->slot.team, team);
    }
    if (text) {
        strcpy((char *)seat->contribution[barrier & 1], text);
        seat->slot.contribution_len[barrier & 1] = (uint32_t)strlen(text) + 1;
    }
    atomic_store(&seat->slot.arrived, barrier);
    atomic_fetch_add(&segment[node_of[rank]]->slot[rank].seat_changes, 1);
    return seat;
}

/* Promise: what a rank publishes in its seats reaches all nodes, with the contributions of the last two barriers; a
 * seat that another team gets begins anew. */
static void seats_of_teams(void **state)
{
    struct tern_seat *seen = tern_segment_seat(segment[1], 4, 3);

    (void)state;
    sit(4, 3, 77, 1, "one");
    assert_int_equal(relay_all(), 1);
    assert_int_equal(relay_all(), 0);
    assert_int_equal(seen->slot.team, 77);
    assert_int_equal(seen->slot.arrived, 1);
    assert_string_equal((char *)seen->contribution[1], "one");
    sit(4, 3, 77, 2, "two");
    sit(4, 3, 77, 3, "three"); /* between two scans */
    assert_int_equal(relay_all(), 1);
    assert_int_equal(seen->slot.arrived, 3);
    assert_string_equal((char *)seen->contribution[0], "two");
    assert_string_equal((char *)seen->contribution[1], "three");
    atomic_store(&sit(4, 3, 77, 3, NULL)->slot.regroups, 1);
    atomic_store(&sit(4, 5, 12, 1, NULL)->slot.regroup_id[1], 99);
    assert_int_equal(relay_all(), 2);
    assert_int_equal(seen->slot.regroups, 1);
    assert_int_equal(tern_segment_seat(segment[1], 4, 5)->slot.regroup_id[1], 99);
    atomic_store(&sit(4, 3, 77, 4, NULL)->slot.gave_up, 1);
    assert_int_equal(relay_all(), 1);
    assert_true(seen->slot.arrived == 4 && seen->slot.gave_up == 1);
    assert_int_equal(segment[1]->quits, 1);
    assert_int_equal(relay_all(), 0);
    sit(4, 3, 78, 0, NULL);
    assert_int_equal(relay_all(), 1);
    assert_int_equal(seen->slot.team, 78);
    assert_int_equal(seen->slot.arrived, 0);
    assert_int_equal(seen->slot.regroups, 0);
    assert_int_equal(seen->slot.gave_up, 0);
    assert_int_equal(segment[1]->quits, 1);
}

/* Promise: malformed frames change nothing. */
/* Pass the changes of a node on, and expect this word in all segments. */
static void ends_with(int node, uint32_t word)
{
    tern_boot_relay_scan(spoke[node], pass_on, &node);
    for (int n = 0; n < NODES; n++)
        assert_int_equal(segment[n]->ending, word);
}

/* tern_exit on one node reaches the others once. A node whose rank has called tern_exit keeps its status. */
static void exits(void **state)
{
    struct tern_frame frame = { .kind = TERN_FRAME_EXIT, .rank = 0, .value = TERN_ENDING | 9 };

    (void)state;
    for (uint32_t wrong = 0; wrong < 0x300; wrong += 0x200) {
        frame.value = wrong;
        assert_false(tern_boot_relay_apply(spoke[1], &frame));
    }
    frame.value = TERN_ENDING | 9;
    frame.len = 1;
    assert_false(tern_boot_relay_apply(spoke[1], &frame));
    ends_with(0, 0);
    segment[1]->ending = TERN_ENDING | 7;
    emitted = 0;
    ends_with(1, TERN_ENDING | 7);
    assert_int_equal(emitted, 1);
    ends_with(1, TERN_ENDING | 7);
    ends_with(0, TERN_ENDING | 7);
    assert_int_equal(emitted, 1); /* not sent again, and not sent back */
    frame.len = 0;
    assert_true(tern_boot_relay_apply(spoke[1], &frame));
    assert_int_equal(segment[1]->ending, TERN_ENDING | 7);
}

static void hostile_frames_are_refused(void **state)
{
    static unsigned char    body[TERN_FRAME_BODY], seat[61];
    size_t                  bytes = tern_segment_bytes(RANKS, true);
    unsigned char          *before = malloc(bytes);
    const struct tern_frame bad[] = {
        { TERN_FRAME_LIFE, RANKS, TERN_LIFE_JOINED, 0, body },
        { TERN_FRAME_LIFE, UINT32_MAX, TERN_LIFE_JOINED, 0, body },
        { TERN_FRAME_LIFE, 0, TERN_LIFE_LEFT + 1, 0, body },
        { TERN_FRAME_LIFE, 0, UINT32_MAX, 0, body },
        { TERN_FRAME_LIFE, 0, TERN_LIFE_JOINED, 1, body },
        { TERN_FRAME_LIFE, 1, TERN_LIFE_JOINED, 0, body }, /* of this node */
        { TERN_FRAME_LIFE, 4, TERN_LIFE_NONE, 0, body },   /* backwards */
        { TERN_FRAME_ADDRESS, 0, 0, 0, body },
        { TERN_FRAME_ADDRESS, 0, 0, TERN_NET_ADDRESS_BYTES + 1, body },
        { TERN_FRAME_ADDRESS, 4, 0, 8, body },  /* would overwrite the first */
        { TERN_FRAME_ADDRESS, 4, 17, 8, body }, /* would leave a gap */
        { TERN_FRAME_ADDRESS, 4, 16, TERN_NET_ADDRESS_BYTES - 15, body },
        { TERN_FRAME_ADDRESS, 2, 0, 8, body },
        { TERN_FRAME_ADDRESS, RANKS, 0, 8, body },
        { TERN_FRAME_ARRIVED, 0, 1, TERN_FRAME_CALL + TERN_CONTRIBUTION_BYTES + 1, body },
        { TERN_FRAME_ARRIVED, 0, 1, TERN_FRAME_CALL - 1, body },
        { TERN_FRAME_ARRIVED, 0, 1, 0, body },
        { TERN_FRAME_ARRIVED, 5, 1, 4, body },
        { TERN_FRAME_ARRIVED, 77, 1, 4, body },
        { TERN_FRAME_DEPARTED, 0, 1, 7, body },
        { TERN_FRAME_DEPARTED, 0, 1, 9, body },
        { TERN_FRAME_DEPARTED, 5, 1, 8, body },
        { TERN_FRAME_ARRIVED, 4, 0, 4, body }, /* not the successor of the last */
        { TERN_FRAME_DEPARTED, 4, UINT32_MAX, 8, body },
        { TERN_FRAME_SEAT, 4, 1, 59, body },
        { TERN_FRAME_SEAT, 4, 1, 60, body }, /* says that it is longer */
        { TERN_FRAME_SEAT, 1, 1, 60, seat }, /* of this node */
        { TERN_FRAME_SEAT, 4, 128, 60, seat },
        { TERN_FRAME_SEAT, 4, UINT32_MAX, 60, seat },
        { TERN_FRAME_SEAT, 4, 1, 61, seat },
        { TERN_FRAME_SEAT, RANKS, 1, 60, seat },
        { TERN_FRAME_FATE, RANKS, TERN_FATE_LOST, 0, body },
        { TERN_FRAME_FATE, 0, TERN_FATE_RUNNING, 0, body },
        { TERN_FRAME_FATE, 0, 3, 0, body },
        { TERN_FRAME_HELLO, 0, 0, 0, body },
        { TERN_FRAME_START, 0, 0, 0, body },
        { TERN_FRAME_OUTPUT, 0, 1, 8, body },
    };

    (void)state;
    memset(body, 0x5a, sizeof(body));
    assert_int_equal(tern_boot_publish_address(&rank_boot[4], LINK, "address of 4", 12), TERN_OK);
    live(4, TERN_LIFE_JOINED);
    relay_all();
    memcpy(before, segment[1], bytes);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(tern_boot_relay_apply(spoke[1], &bad[i]));
    assert_memory_equal(segment[1], before, bytes);
    free(before);
}

/* Promise: the damaged slot of a rank is not relayed. */
static void damaged_slots_stay_here(void **state)
{
    (void)state;
    atomic_store(&segment[0]->slot[0].life, 99);
    atomic_store(&tern_segment_net_address(segment[0], 0)->len, 100000);
    assert_int_equal(relay_all(), 0);
    assert_int_equal(tern_boot_publish_address(&rank_boot[4], LINK, "address of 4", 12), TERN_OK);
    live(4, TERN_LIFE_JOINED);
    arrive(4, "note");
    depart(4, 7);
    assert_int_equal(relay_all(), 4);
    live(4, TERN_LIFE_JOINING);
    atomic_store(&tern_segment_net_address(segment[0], 4)->len, 8);
    atomic_store(&tern_segment_barrier_slot(segment[0], 4)->arrived, 0);
    atomic_store(&tern_segment_barrier_slot(segment[0], 4)->departures, 0);
    assert_int_equal(relay_all(), 0);
    live(4, TERN_LIFE_LEFT);
    assert_int_equal(relay_all(), 1);
}

/* Promise: ranks that damage the head of the segment cannot lead the relay out of the segment. */
static void damaged_heads_do_no_harm(void **state)
{
    struct tern_segment head = *segment[0];

    (void)state;
    memset(segment[0], 0x5a, offsetof(struct tern_segment, losses));
    for (int r = 0; r < RANKS; r++)
        segment[0]->slot[r].node = 0x5a5a5a5a;
    live(4, TERN_LIFE_JOINED);
    live(1, TERN_LIFE_JOINED);
    assert_int_equal(relay_all(), 2);
    assert_int_equal(segment[0]->slot[1].life, TERN_LIFE_JOINED);
    assert_int_equal(segment[1]->slot[4].life, TERN_LIFE_JOINED);
    assert_true(tern_boot_relay_apply(spoke[0], &(struct tern_frame){ TERN_FRAME_FATE, 1, TERN_FATE_LOST, 0, NULL }));
    memcpy(segment[0], &head, offsetof(struct tern_segment, losses)); /* to be unmapped */
}

/* Promise: a hub that checks the frames of a node forwards nothing that another node would refuse. */
static void states_follow(void **state)
{
    static const unsigned char body[TERN_FRAME_CALL + TERN_CONTRIBUTION_BYTES + 1];
    const struct {
        struct tern_frame frame;
        bool              notes, good;
    } said[] = {
        { { TERN_FRAME_LIFE, 0, TERN_LIFE_JOINED, 0, body }, true, true },
        { { TERN_FRAME_LIFE, 0, TERN_LIFE_JOINING, 0, body }, true, false },
        { { TERN_FRAME_LIFE, 0, TERN_LIFE_JOINED, 0, body }, true, false },
        { { TERN_FRAME_LIFE, 0, TERN_LIFE_LEFT + 1, 0, body }, true, false },
        { { TERN_FRAME_LIFE, 0, TERN_LIFE_LEFT, 1, body }, true, false },
        { { TERN_FRAME_ADDRESS, 0, 0, 0, body }, true, false },
        { { TERN_FRAME_ADDRESS, 0, 0, TERN_NET_ADDRESS_BYTES + 1, body }, true, false },
        { { TERN_FRAME_ADDRESS, 0, 8, 8, body }, true, false },
        { { TERN_FRAME_ADDRESS, 0, 0, 8, body }, true, true },
        { { TERN_FRAME_ADDRESS, 0, 0, 8, body }, true, false },
        { { TERN_FRAME_ADDRESS, 0, 8, TERN_NET_ADDRESS_BYTES - 7, body }, true, false },
        { { TERN_FRAME_ADDRESS, 0, 8, TERN_NET_ADDRESS_BYTES - 8, body }, true, true },
        { { TERN_FRAME_ADDRESS, 0, TERN_NET_ADDRESS_BYTES, 1, body }, true, false },
        { { TERN_FRAME_ARRIVED, 0, 1, TERN_FRAME_CALL + TERN_CONTRIBUTION_BYTES + 1, body }, true, false },
        { { TERN_FRAME_ARRIVED, 0, 1, TERN_FRAME_CALL - 1, body }, true, false },
        { { TERN_FRAME_ARRIVED, 0, 1, TERN_FRAME_CALL + TERN_CONTRIBUTION_BYTES, body }, true, true },
        { { TERN_FRAME_ARRIVED, 0, 1, TERN_FRAME_CALL, body }, true, false },
        { { TERN_FRAME_ARRIVED, 0, 9, TERN_FRAME_CALL + 1, body }, false, false },
        { { TERN_FRAME_ARRIVED, 0, 9, TERN_FRAME_CALL, body }, false, true },
        { { TERN_FRAME_ARRIVED, 0, 8, TERN_FRAME_CALL, body }, false, false },
        { { TERN_FRAME_DEPARTED, 0, 3, 7, body }, true, false },
        { { TERN_FRAME_DEPARTED, 0, 3, 8, body }, true, true },
        { { TERN_FRAME_DEPARTED, 0, 2, 8, body }, true, false },
        { { TERN_FRAME_SEAT, 0, 3, 59, body }, true, false },
        { { TERN_FRAME_SEAT, 0, 3, 60, body }, true, true },
        { { TERN_FRAME_SEAT, 0, 3, 61, body }, true, false },
        { { TERN_FRAME_SEAT, 0, 3, 60, body }, false, false },
        { { TERN_FRAME_FATE, 0, TERN_FATE_LOST, 0, body }, true, false },
        { { TERN_FRAME_OUTPUT, 0, 1, 8, body }, true, false },
    };
    struct tern_relay_state last = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
        assert_int_equal(tern_boot_relay_follows(&last, &said[i].frame, said[i].notes), said[i].good);
}

/* Where deaths end the job there are arrivals and departures, but no contributions. */
static void without_notes(void **state)
{
    struct tern_boot_shape shape = { .ranks = RANKS, .nodes = NODES, .node = 1, .node_of = node_of };
    struct tern_segment   *plain;
    struct tern_relay     *relay;
    int                    arena, huge;

    (void)state;
    tern_opt.on_failure = TERN_ON_FAILURE_ABORT;
    assert_int_equal(tern_boot_arena_shape(&shape, &arena, &huge, &plain), TERN_OK);
    assert_int_equal(plain->contributions, 0);
    assert_int_equal(tern_boot_relay_open(plain, &relay), TERN_OK);
    assert_true(tern_boot_relay_apply(
        relay, &(struct tern_frame){ TERN_FRAME_ARRIVED, 0, 1, 4, (const unsigned char *)"\3\0\0" }));
    assert_int_equal(tern_segment_barrier_slot(plain, 0)->call[1], 3);
    assert_false(tern_boot_relay_apply(
        relay, &(struct tern_frame){ TERN_FRAME_ARRIVED, 0, 2, 5, (const unsigned char *)"\3\0\0\0x" }));
    assert_true(tern_boot_relay_apply(
        relay, &(struct tern_frame){ TERN_FRAME_DEPARTED, 0, 1, 8, (const unsigned char *)"12345678" }));
    tern_boot_relay_close(relay);
    tern_boot_segment_unmap(plain);
    close(arena);
    close(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lives_and_addresses, job_make, job_remove),
        cmocka_unit_test_setup_teardown(tellers_wake_the_relay, job_make, job_remove),
        cmocka_unit_test_setup_teardown(seats, job_make, job_remove),
        cmocka_unit_test_setup_teardown(seats_of_teams, job_make, job_remove),
        cmocka_unit_test_setup_teardown(fates, job_make, job_remove),
        cmocka_unit_test_setup_teardown(exits, job_make, job_remove),
        cmocka_unit_test_setup_teardown(hostile_frames_are_refused, job_make, job_remove),
        cmocka_unit_test_setup_teardown(damaged_slots_stay_here, job_make, job_remove),
        cmocka_unit_test_setup_teardown(damaged_heads_do_no_harm, job_make, job_remove),
        cmocka_unit_test(states_follow),
        cmocka_unit_test_setup_teardown(without_notes, job_make, job_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
