/* relay.c: reports changes in the slots of this node's ranks, and writes the state of other nodes' ranks into the
 * segment.
 *
 * For each rank, the spoke keeps the state that it has last sent or received. A rank changes its slot and then writes
 * to the descriptor on which the owner of the spoke sleeps. The owner reads that descriptor before it scans, so the
 * kernel's lock on the descriptor orders the change before the scan.
 *
 * Frames come from other processes. Their ranks, values and lengths are checked before anything is written, and a frame
 * about a rank of this node is rejected unless it reports that rank's fate. The spoke keeps the shape of the job and
 * the states of the ranks in its private memory, because a rank can damage the segment and must not be able to make the
 * spoke access memory outside it.
 */
#include "boot/relay.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "boot/bell.h"

/* A rank of the job. */
struct member {
    bool                    is_here;      /* on this node */
    struct tern_relay_state last;         /* state last sent (rank of this node) or received (other node) */
    uint32_t                seat_changes; /* value of tern_slot.seat_changes at the last scan */
};

/* The counters of a seat that were sent last. */
struct seat_state {
    uint32_t team, arrived, departures, regroups, gave_up;
};

struct tern_relay {
    struct tern_segment      *segment;
    uint32_t                  ranks;
    struct tern_net_address  *address;      /* [ranks], in the segment */
    struct tern_barrier_slot *barrier_slot; /* [ranks], in the segment */
    unsigned char            *contribution; /* in the segment; NULL if the segment has no contributions */
    bool                      is_ending;    /* the end of the job (tern_exit) was sent or received */
    struct tern_seat         *seat;         /* [ranks][seats] in the segment; NULL if it has no contributions */
    struct seat_state        *seat_state;   /* [ranks][seats]; NULL if the segment has no seats */
    uint32_t                  seats;        /* number of seats of a rank */
    bool                      rings;        /* a frame was applied that a sleeping rank may be waiting for */
    void (*emit)(void *arg, const struct tern_frame *frame); /* receives the frames of the current scan */
    void         *arg;
    struct member member[]; /* [ranks] */
};

tern_status tern_boot_relay_open(struct tern_segment *segment, struct tern_relay **out)
{
    uint32_t           ranks = segment->ranks;
    struct tern_relay *relay = calloc(1, sizeof(*relay) + ranks * sizeof(relay->member[0]));

    if (relay == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to relay the state of %u ranks", ranks);
    relay->segment = segment;
    relay->ranks = ranks;
    relay->address = tern_segment_net_address(segment, 0);
    relay->barrier_slot = tern_segment_barrier_slot(segment, 0);
    relay->seats = tern_segment_seats(ranks);
    if (segment->contributions != 0) {
        relay->contribution = tern_segment_contribution(segment, 0, 0);
        relay->seat = tern_segment_seat(segment, 0, 0);
        relay->seat_state = calloc((size_t)ranks * relay->seats, sizeof(*relay->seat_state));
        if (relay->seat_state == NULL) {
            free(relay);
            return tern_base_fail(TERN_ERR_NOMEM, "no memory to relay the seats of %u ranks", ranks);
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        relay->member[rank].is_here = segment->slot[rank].node == segment->node;
    *out = relay;
    return TERN_OK;
}

void tern_boot_relay_close(struct tern_relay *relay)
{
    if (relay != NULL)
        free(relay->seat_state);
    free(relay);
}

/* Return the address of a rank's contribution to a barrier, like tern_segment_contribution(). */
static unsigned char *contribution_of(const struct tern_relay *relay, uint32_t rank, uint32_t barrier)
{
    return relay->contribution + (2 * (size_t)rank + (barrier & 1)) * TERN_CONTRIBUTION_BYTES;
}

/* ---- scanning the ranks of this node ---- */

static void emit_frame(const struct tern_relay *relay, uint32_t kind, uint32_t rank, uint32_t value, const void *body,
                       uint32_t len)
{
    relay->emit(relay->arg,
                &(struct tern_frame){ .kind = kind, .rank = rank, .value = value, .len = len, .body = body });
}

static void scan_address(struct tern_relay *relay, uint32_t rank)
{
    struct tern_net_address *address = &relay->address[rank];
    /* acquire: reads the length before the bytes. Pairs with the release in tern_boot_publish_address(). */
    uint32_t                 len = atomic_load_explicit(&address->len, memory_order_acquire);

    uint32_t told = relay->member[rank].last.address_len;

    if (len <= told || len > TERN_NET_ADDRESS_BYTES)
        return;
    relay->member[rank].last.address_len = len;
    emit_frame(relay, TERN_FRAME_ADDRESS, rank, told, address->bytes + told, len - told);
}

/* Return the next value to report of a counter whose last reported value is told and whose current value is now. The
 * segment keeps the data of the last two values only, so older values are skipped. */
static uint32_t next_number(uint32_t told, uint32_t now)
{
    return now - told > 2 ? now - 1 : told + 1;
}

/* Report that the rank has entered the barrier with the number. */
static void emit_arrived(const struct tern_relay *relay, uint32_t rank, uint32_t number)
{
    const struct tern_barrier_slot *barrier_slot = &relay->barrier_slot[rank];
    unsigned char                   body[TERN_FRAME_CALL + TERN_CONTRIBUTION_BYTES];
    uint32_t                        len = barrier_slot->contribution_len[number & 1];

    if (relay->contribution == NULL || len > TERN_CONTRIBUTION_BYTES)
        len = 0;
    /* relaxed: after the number, which scan_barrier_slot() has read */
    tern_base_put_le(body, atomic_load_explicit(&barrier_slot->call[number & 1], memory_order_relaxed),
                     TERN_FRAME_CALL);
    if (len > 0)
        memcpy(body + TERN_FRAME_CALL, contribution_of(relay, rank, number), len);
    emit_frame(relay, TERN_FRAME_ARRIVED, rank, number, body, TERN_FRAME_CALL + len);
}

static void scan_barrier_slot(struct tern_relay *relay, uint32_t rank)
{
    struct tern_relay_state  *last = &relay->member[rank].last;
    struct tern_barrier_slot *barrier_slot = &relay->barrier_slot[rank];
    /* acquire: reads the counters before the contributions and objects. Pairs with the rank's releases. */
    uint32_t                  arrived = atomic_load_explicit(&barrier_slot->arrived, memory_order_acquire);
    uint32_t                  departures = atomic_load_explicit(&barrier_slot->departures, memory_order_acquire);

    while (tern_base_seq_after(arrived, last->arrived))
        emit_arrived(relay, rank, last->arrived = next_number(last->arrived, arrived));
    while (tern_base_seq_after(departures, last->departures)) {
        unsigned char object[8];
        uint32_t      number = last->departures = next_number(last->departures, departures);

        tern_base_put_le(object, atomic_load_explicit(&barrier_slot->object[number & 1], memory_order_relaxed), 8);
        emit_frame(relay, TERN_FRAME_DEPARTED, rank, number, object, sizeof(object));
    }
}

/* The body of SEAT: the fields of the barrier slot, then the contributions, each as long as its length says. */
enum {
    SEAT_TEAM = 0,
    SEAT_ARRIVED = 4,
    SEAT_DEPARTURES = 8,
    SEAT_REGROUPS = 12,
    SEAT_GAVE_UP = 16,
    SEAT_PAIRS = 20,
    SEAT_PAIR = 20
};
#define SEAT_FIXED (SEAT_PAIRS + 2 * SEAT_PAIR)
#define SEAT_LONGEST (SEAT_FIXED + 2 * TERN_SEAT_CONTRIBUTION)

/* Offsets, within a pair, of the fields of which a slot has two. */
enum { PAIR_OBJECT = 0, PAIR_LEN = 8, PAIR_CALL = 12, PAIR_REGROUP = 16 };

/* Write the contents of a seat to body. The rank may be changing the data of its next barrier meanwhile; no rank reads
 * that data before a later frame announces it. Returns the number of bytes. */
static uint32_t write_seat(const struct tern_seat *seat, const struct seat_state *now, unsigned char *body)
{
    uint32_t at = SEAT_FIXED;

    tern_base_put_le(body + SEAT_TEAM, now->team, 4);
    tern_base_put_le(body + SEAT_ARRIVED, now->arrived, 4);
    tern_base_put_le(body + SEAT_DEPARTURES, now->departures, 4);
    tern_base_put_le(body + SEAT_REGROUPS, now->regroups, 4);
    tern_base_put_le(body + SEAT_GAVE_UP, now->gave_up, 4);
    for (unsigned i = 0; i < 2; i++) {
        unsigned char *pair = body + SEAT_PAIRS + (size_t)i * SEAT_PAIR;
        uint32_t       len = seat->slot.contribution_len[i];

        len = len <= TERN_SEAT_CONTRIBUTION ? len : 0;
        /* relaxed: after the counters, which scan_seat() has read */
        tern_base_put_le(pair + PAIR_OBJECT, atomic_load_explicit(&seat->slot.object[i], memory_order_relaxed), 8);
        tern_base_put_le(pair + PAIR_LEN, len, 4);
        tern_base_put_le(pair + PAIR_CALL, atomic_load_explicit(&seat->slot.call[i], memory_order_relaxed), 4);
        tern_base_put_le(pair + PAIR_REGROUP, atomic_load_explicit(&seat->slot.regroup_id[i], memory_order_relaxed), 4);
        memcpy(body + at, seat->contribution[i], len);
        at += len;
    }
    return at;
}

static void scan_seat(const struct tern_relay *relay, uint32_t rank, uint32_t number)
{
    const struct tern_seat *seat = &relay->seat[(size_t)rank * relay->seats + number];
    struct seat_state      *last = &relay->seat_state[(size_t)rank * relay->seats + number];
    unsigned char           body[SEAT_LONGEST];
    /* acquire: the team before the counters, and the counters before the contributions. Pairs with the rank's
     * releases. */
    struct seat_state       now = { .team = atomic_load_explicit(&seat->slot.team, memory_order_acquire) };
    uint32_t                len;

    now.gave_up = atomic_load_explicit(&seat->slot.gave_up, memory_order_acquire) != 0; /* acquire: the last arrival */
    now.arrived = atomic_load_explicit(&seat->slot.arrived, memory_order_acquire);
    now.departures = atomic_load_explicit(&seat->slot.departures, memory_order_acquire);
    now.regroups = atomic_load_explicit(&seat->slot.regroups, memory_order_acquire);
    if (memcmp(&now, last, sizeof(now)) == 0)
        return;
    len = write_seat(seat, &now, body);
    /* acquire: everything above before this load. Pairs with the fence in seat_give() of core/group_segment.c, so that
     * a seat that changes hands meanwhile is recognized; the rank wakes the relay again. */
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&seat->slot.team, memory_order_relaxed) != now.team)
        return;
    *last = now;
    emit_frame(relay, TERN_FRAME_SEAT, rank, number, body, len);
}

static void scan_seats(struct tern_relay *relay, uint32_t rank)
{
    /* acquire: the changes before their number. Pairs with the rank's release. */
    uint32_t changes = atomic_load_explicit(&relay->segment->slot[rank].seat_changes, memory_order_acquire);

    if (relay->seat == NULL || changes == relay->member[rank].seat_changes)
        return;
    relay->member[rank].seat_changes = changes;
    for (uint32_t number = 0; number < relay->seats; number++)
        scan_seat(relay, rank, number);
}

static void scan_life(struct tern_relay *relay, uint32_t rank)
{
    /* acquire: makes visible what the rank published before it changed its life. Pairs with the rank's release. The
     * life is read first, so the address and barrier state that are sent before it are at least as new. */
    uint32_t life = atomic_load_explicit(&relay->segment->slot[rank].life, memory_order_acquire);

    scan_address(relay, rank); /* sent before the life, so a rank that sees the life also sees the address */
    scan_barrier_slot(relay, rank);
    scan_seats(relay, rank);
    if (life <= relay->member[rank].last.life || life > TERN_LIFE_LEFT)
        return;
    relay->member[rank].last.life = life;
    emit_frame(relay, TERN_FRAME_LIFE, rank, life, NULL, 0);
}

/* Report that a rank of this node has called tern_exit. */
static void scan_ending(struct tern_relay *relay)
{
    /* relaxed: the word announces no other data. */
    uint32_t ending = atomic_load_explicit(&relay->segment->ending, memory_order_relaxed), rank = 0;

    if (ending == 0 || relay->is_ending)
        return;
    relay->is_ending = true;
    while (!relay->member[rank].is_here)
        rank++;
    emit_frame(relay, TERN_FRAME_EXIT, rank, TERN_ENDING | (ending & 0xff), NULL, 0);
}

void tern_boot_relay_scan(struct tern_relay *relay, void (*emit)(void *arg, const struct tern_frame *frame), void *arg)
{
    relay->emit = emit;
    relay->arg = arg;
    for (uint32_t rank = 0; rank < relay->ranks; rank++)
        if (relay->member[rank].is_here)
            scan_life(relay, rank);
    scan_ending(relay);
}

/* ---- applying frames from the hub ---- */

/* Return whether the body of SEAT is well-formed. */
static bool is_seat(const struct tern_frame *frame)
{
    uint64_t len = SEAT_FIXED;

    if (frame->len < SEAT_FIXED)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t part = tern_base_get_le(frame->body + SEAT_PAIRS + (size_t)i * SEAT_PAIR + PAIR_LEN, 4);

        if (part > TERN_SEAT_CONTRIBUTION)
            return false;
        len += part;
    }
    return frame->len == len;
}

bool tern_boot_relay_follows(struct tern_relay_state *state, const struct tern_frame *frame, bool contributes)
{
    switch (frame->kind) {
    case TERN_FRAME_LIFE:
        if (frame->len != 0 || frame->value > TERN_LIFE_LEFT || frame->value <= state->life)
            return false;
        state->life = frame->value;
        return true;
    case TERN_FRAME_ADDRESS:
        if (frame->len == 0 || frame->value != state->address_len ||
            frame->len > TERN_NET_ADDRESS_BYTES - state->address_len)
            return false;
        state->address_len += frame->len;
        return true;
    case TERN_FRAME_ARRIVED:
        if (frame->len < TERN_FRAME_CALL ||
            frame->len - TERN_FRAME_CALL > (contributes ? TERN_CONTRIBUTION_BYTES : 0) ||
            !tern_base_seq_after(frame->value, state->arrived))
            return false;
        state->arrived = frame->value;
        return true;
    case TERN_FRAME_DEPARTED:
        if (frame->len != 8 || !tern_base_seq_after(frame->value, state->departures))
            return false;
        state->departures = frame->value;
        return true;
    case TERN_FRAME_SEAT: return contributes && is_seat(frame);
    default: return false;
    }
}

static bool apply_fate(struct tern_relay *relay, const struct tern_frame *frame)
{
    struct tern_segment *segment = relay->segment;

    if (frame->value != TERN_FATE_ENDED && frame->value != TERN_FATE_LOST)
        return false;
    if (atomic_load_explicit(&segment->slot[frame->rank].fate, memory_order_relaxed) != TERN_FATE_RUNNING)
        return false;
    tern_boot_relay_fate(segment, frame->rank, frame->value == TERN_FATE_LOST);
    tern_boot_relay_wake(segment, relay->ranks);
    return true;
}

static bool apply_exit(struct tern_relay *relay, const struct tern_frame *frame)
{
    uint32_t none = 0;

    if (!tern_boot_relay_ends(frame))
        return false;
    /* relaxed: the word announces no other data. If a rank of this node was first, its status stays. */
    atomic_compare_exchange_strong_explicit(&relay->segment->ending, &none, frame->value, memory_order_relaxed,
                                            memory_order_relaxed);
    relay->is_ending = relay->rings = true;
    return true;
}

/* Write the contents of a seat into the segment. The stores have the same order as those of a rank: see struct
 * tern_seat. */
static void apply_seat(struct tern_relay *relay, struct tern_seat *seat, const unsigned char *body)
{
    struct tern_barrier_slot *slot = &seat->slot;
    uint32_t                  team = (uint32_t)tern_base_get_le(body + SEAT_TEAM, 4), at = SEAT_FIXED;

    if (atomic_load_explicit(&slot->team, memory_order_relaxed) != team) { /* only this thread writes it */
        atomic_store_explicit(&slot->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->departures, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->regroups, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->gave_up, 0, memory_order_relaxed);
        /* release: the counters are reset before the team changes. Pairs with the acquires of the ranks. */
        atomic_store_explicit(&slot->team, team, memory_order_release);
        /* release: the team before the new counters. Pairs with the fence of a rank that has read the counters. */
        atomic_thread_fence(memory_order_release);
    }
    for (unsigned i = 0; i < 2; i++) {
        const unsigned char *pair = body + SEAT_PAIRS + (size_t)i * SEAT_PAIR;
        uint32_t             len = (uint32_t)tern_base_get_le(pair + PAIR_LEN, 4);

        /* relaxed: published by the counters below */
        atomic_store_explicit(&slot->object[i], tern_base_get_le(pair + PAIR_OBJECT, 8), memory_order_relaxed);
        atomic_store_explicit(&slot->call[i], (uint32_t)tern_base_get_le(pair + PAIR_CALL, 4), memory_order_relaxed);
        atomic_store_explicit(&slot->regroup_id[i], (uint32_t)tern_base_get_le(pair + PAIR_REGROUP, 4),
                              memory_order_relaxed);
        slot->contribution_len[i] = len;
        memcpy(seat->contribution[i], body + at, len);
        at += len;
    }
    /* release: the data before the counters that announce them. Pairs with the acquires of the ranks. */
    atomic_store_explicit(&slot->arrived, (uint32_t)tern_base_get_le(body + SEAT_ARRIVED, 4), memory_order_release);
    atomic_store_explicit(&slot->departures, (uint32_t)tern_base_get_le(body + SEAT_DEPARTURES, 4),
                          memory_order_release);
    atomic_store_explicit(&slot->regroups, (uint32_t)tern_base_get_le(body + SEAT_REGROUPS, 4), memory_order_release);
    if (tern_base_get_le(body + SEAT_GAVE_UP, 4) == 0 ||
        atomic_load_explicit(&slot->gave_up, memory_order_relaxed) != 0)
        return;
    /* release: the last arrival before gave_up, and gave_up before it is counted. Pairs with the acquires of the
     * ranks. */
    atomic_store_explicit(&slot->gave_up, 1, memory_order_release);
    atomic_fetch_add_explicit(&relay->segment->quits, 1, memory_order_release);
}

bool tern_boot_relay_apply(struct tern_relay *relay, const struct tern_frame *frame)
{
    uint32_t                  value = frame->value, rank = frame->rank;
    struct tern_net_address  *address;
    struct tern_barrier_slot *barrier_slot;

    if (rank >= relay->ranks)
        return false;
    if (frame->kind == TERN_FRAME_FATE)
        return apply_fate(relay, frame);
    if (frame->kind == TERN_FRAME_EXIT)
        return apply_exit(relay, frame);
    if (relay->member[rank].is_here ||
        !tern_boot_relay_follows(&relay->member[rank].last, frame, relay->contribution != NULL))
        return false; /* a rank of this node writes its own state, or the frame does not follow the last state */
    if (frame->kind == TERN_FRAME_SEAT) {
        if (value >= relay->seats)
            return false;
        apply_seat(relay, &relay->seat[(size_t)rank * relay->seats + value], frame->body);
        relay->rings = true;
        return true;
    }
    address = &relay->address[rank];
    barrier_slot = &relay->barrier_slot[rank];
    /* release, in each case: publishes the data before the value that announces them. The life of a rank announces its
     * address and its barrier slot. Pairs with the ranks' acquire loads and with the acquire in addresses_len() of
     * boot.c. */
    switch (frame->kind) {
    case TERN_FRAME_LIFE: atomic_store_explicit(&relay->segment->slot[rank].life, value, memory_order_release); break;
    case TERN_FRAME_ADDRESS:
        memcpy(address->bytes + value, frame->body, frame->len);
        atomic_store_explicit(&address->len, value + frame->len, memory_order_release);
        break;
    case TERN_FRAME_ARRIVED:
        if (frame->len > TERN_FRAME_CALL)
            memcpy(contribution_of(relay, rank, value), frame->body + TERN_FRAME_CALL, frame->len - TERN_FRAME_CALL);
        barrier_slot->contribution_len[value & 1] = frame->len - TERN_FRAME_CALL;
        atomic_store_explicit(&barrier_slot->call[value & 1], (uint32_t)tern_base_get_le(frame->body, TERN_FRAME_CALL),
                              memory_order_relaxed);
        atomic_store_explicit(&barrier_slot->arrived, value, memory_order_release);
        break;
    default: /* TERN_FRAME_DEPARTED */
        atomic_store_explicit(&barrier_slot->object[value & 1], tern_base_get_le(frame->body, 8), memory_order_relaxed);
        atomic_store_explicit(&barrier_slot->departures, value, memory_order_release);
        break;
    }
    relay->rings = true;
    return true;
}

void tern_boot_relay_ring(struct tern_relay *relay)
{
    if (!relay->rings)
        return;
    relay->rings = false;
    for (uint32_t rank = 0; rank < relay->ranks; rank++)
        if (relay->member[rank].is_here)
            tern_boot_wake(&relay->segment->slot[rank]);
}

void tern_boot_relay_fate(struct tern_segment *segment, uint32_t rank, bool lost)
{
    /* release: this thread has no earlier writes to publish, but losses must not become visible before the fate. Pairs
     * with the ranks' acquire loads of losses. */
    atomic_store_explicit(&segment->slot[rank].fate, lost ? TERN_FATE_LOST : TERN_FATE_ENDED, memory_order_release);
    if (lost)
        atomic_fetch_add_explicit(&segment->losses, 1, memory_order_release); /* release: after the fate, see above */
}

void tern_boot_relay_wake(struct tern_segment *segment, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++) {
        struct tern_slot *slot = &segment->slot[r];

        /* relaxed: nothing that depends on the fate is read. */
        if (slot->node != segment->node || atomic_load_explicit(&slot->life, memory_order_acquire) == TERN_LIFE_LEFT ||
            atomic_load_explicit(&slot->fate, memory_order_relaxed) == TERN_FATE_ENDED)
            continue; /* on another node, or has left and never sleeps again, or has ended */
        tern_boot_bell_wake(&slot->bell);
        tern_boot_bell_wake(&slot->service_bell);
    }
}
