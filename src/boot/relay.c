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
    bool                    is_here; /* on this node */
    struct tern_relay_state last;    /* state last sent (rank of this node) or received (other node) */
};

struct tern_relay {
    struct tern_segment      *segment;
    uint32_t                  ranks;
    struct tern_net_address  *address;      /* [ranks], in the segment */
    struct tern_barrier_slot *barrier_slot; /* [ranks], in the segment */
    unsigned char            *contribution; /* in the segment; NULL if the segment has no contributions */
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
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to relay what %u ranks say", ranks);
    relay->segment = segment;
    relay->ranks = ranks;
    relay->address = tern_segment_net_address(segment, 0);
    relay->barrier_slot = tern_segment_barrier_slot(segment, 0);
    relay->contribution = segment->contributions != 0 ? tern_segment_contribution(segment, 0, 0) : NULL;
    for (uint32_t rank = 0; rank < ranks; rank++)
        relay->member[rank].is_here = segment->slot[rank].node == segment->node;
    *out = relay;
    return TERN_OK;
}

void tern_boot_relay_close(struct tern_relay *relay)
{
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

static void scan_barrier_slot(struct tern_relay *relay, uint32_t rank)
{
    struct tern_relay_state  *last = &relay->member[rank].last;
    struct tern_barrier_slot *barrier_slot = &relay->barrier_slot[rank];
    /* acquire: reads the counters before the contributions and objects. Pairs with the rank's releases. */
    uint32_t                  arrived = atomic_load_explicit(&barrier_slot->arrived, memory_order_acquire);
    uint32_t                  departures = atomic_load_explicit(&barrier_slot->departures, memory_order_acquire);

    while (tern_base_seq_after(arrived, last->arrived)) {
        uint32_t number = last->arrived = next_number(last->arrived, arrived);
        uint32_t len = barrier_slot->contribution_len[number & 1];
        bool     has_contribution = relay->contribution != NULL && len <= TERN_CONTRIBUTION_BYTES;

        emit_frame(relay, TERN_FRAME_ARRIVED, rank, number,
                   has_contribution ? contribution_of(relay, rank, number) : NULL, has_contribution ? len : 0);
    }
    while (tern_base_seq_after(departures, last->departures)) {
        unsigned char object[8];
        uint32_t      number = last->departures = next_number(last->departures, departures);

        tern_base_put_le(object, atomic_load_explicit(&barrier_slot->object[number & 1], memory_order_relaxed), 8);
        emit_frame(relay, TERN_FRAME_DEPARTED, rank, number, object, sizeof(object));
    }
}

static void scan_life(struct tern_relay *relay, uint32_t rank)
{
    /* acquire: makes visible what the rank published before it changed its life. Pairs with the rank's release. The
     * life is read first, so the address and barrier state that are sent before it are at least as new. */
    uint32_t life = atomic_load_explicit(&relay->segment->slot[rank].life, memory_order_acquire);

    scan_address(relay, rank); /* sent before the life, so a rank that sees the life also sees the address */
    scan_barrier_slot(relay, rank);
    if (life <= relay->member[rank].last.life || life > TERN_LIFE_LEFT)
        return;
    relay->member[rank].last.life = life;
    emit_frame(relay, TERN_FRAME_LIFE, rank, life, NULL, 0);
}

void tern_boot_relay_scan(struct tern_relay *relay, void (*emit)(void *arg, const struct tern_frame *frame), void *arg)
{
    relay->emit = emit;
    relay->arg = arg;
    for (uint32_t rank = 0; rank < relay->ranks; rank++)
        if (relay->member[rank].is_here)
            scan_life(relay, rank);
}

/* ---- applying frames from the hub ---- */

bool tern_boot_relay_follows(struct tern_relay_state *state, const struct tern_frame *frame, bool notes)
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
        if (frame->len > (notes ? TERN_CONTRIBUTION_BYTES : 0) || !tern_base_seq_after(frame->value, state->arrived))
            return false;
        state->arrived = frame->value;
        return true;
    case TERN_FRAME_DEPARTED:
        if (frame->len != 8 || !tern_base_seq_after(frame->value, state->departures))
            return false;
        state->departures = frame->value;
        return true;
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
    tern_boot_relay_fate(segment, relay->ranks, frame->rank, frame->value == TERN_FATE_LOST);
    return true;
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
    if (relay->member[rank].is_here ||
        !tern_boot_relay_follows(&relay->member[rank].last, frame, relay->contribution != NULL))
        return false; /* a rank of this node writes its own state, or the frame does not follow the last state */
    address = &relay->address[rank];
    barrier_slot = &relay->barrier_slot[rank];
    /* release, in each case: publishes the data before the value that announces them. The life of a rank announces its
     * address and its barrier slot. Pairs with the ranks' acquire loads and with that in addresses_len() of boot.c. */
    switch (frame->kind) {
    case TERN_FRAME_LIFE: atomic_store_explicit(&relay->segment->slot[rank].life, value, memory_order_release); break;
    case TERN_FRAME_ADDRESS:
        memcpy(address->bytes + value, frame->body, frame->len);
        atomic_store_explicit(&address->len, value + frame->len, memory_order_release);
        break;
    case TERN_FRAME_ARRIVED:
        if (frame->len > 0)
            memcpy(contribution_of(relay, rank, value), frame->body, frame->len);
        barrier_slot->contribution_len[value & 1] = frame->len;
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

void tern_boot_relay_fate(struct tern_segment *segment, uint32_t ranks, uint32_t rank, bool lost)
{
    /* release: this thread has no earlier writes to publish, but losses must not become visible before the fate. Pairs
     * with the ranks' acquire loads of losses. */
    atomic_store_explicit(&segment->slot[rank].fate, lost ? TERN_FATE_LOST : TERN_FATE_ENDED, memory_order_release);
    if (lost)
        atomic_fetch_add_explicit(&segment->losses, 1, memory_order_release); /* release: after the fate, see above */
    for (uint32_t r = 0; r < ranks; r++) {
        struct tern_slot *slot = &segment->slot[r];

        if (slot->node != segment->node || atomic_load_explicit(&slot->life, memory_order_acquire) == TERN_LIFE_LEFT)
            continue; /* on another node, or has left and never sleeps again */
        tern_boot_bell_wake(&slot->bell);
        tern_boot_bell_wake(&slot->service_bell);
    }
}
