/* relay.c: comparing the slots and seats of this node's ranks with what was last told of them, and writing those of the
 * others.
 *
 * Of each rank the spoke keeps what it has told or heard. A rank changes its slot and then writes to the descriptor on
 * which the owner of the spoke sleeps. The owner reads that descriptor before it scans, so the kernel's lock on the
 * descriptor orders the change before the scan. Frames come from other processes: ranks, values and lengths are checked
 * before anything is written, and nothing that they say is about ranks of this node, but their fates. The spoke keeps
 * the shape of the job and the states of the ranks in memory of its own: ranks can damage the segment, and must not be
 * able to lead the spoke out of it.
 */
#include "boot/relay.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "boot/bell.h"

/* A rank of the job. */
struct member {
    bool                    is_here; /* on this node */
    struct tern_relay_state last;    /* what was told of it, or heard */
};

struct tern_relay {
    struct tern_segment      *segment;
    uint32_t                  ranks;
    struct tern_net_address  *card;     /* [ranks] in the segment */
    struct tern_barrier_slot *seat;     /* [ranks] in the segment */
    unsigned char            *note;     /* in the segment; NULL: seats have none */
    bool                      rings;    /* something was applied that sleepers may wait for */
    struct member             member[]; /* [ranks] */
};

/* Where to and how a change is told. */
struct outlet {
    void (*emit)(void *arg, const struct tern_frame *frame);
    void *arg;
};

tern_status tern_boot_relay_open(struct tern_segment *segment, struct tern_relay **out)
{
    uint32_t           ranks = segment->ranks;
    struct tern_relay *relay = calloc(1, sizeof(*relay) + ranks * sizeof(relay->member[0]));

    if (relay == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to relay what %u ranks say", ranks);
    relay->segment = segment;
    relay->ranks = ranks;
    relay->card = tern_segment_net_address(segment, 0);
    relay->seat = tern_segment_barrier_slot(segment, 0);
    relay->note = segment->contributions != 0 ? tern_segment_contribution(segment, 0, 0) : NULL;
    for (uint32_t rank = 0; rank < ranks; rank++)
        relay->member[rank].is_here = segment->slot[rank].node == segment->node;
    *out = relay;
    return TERN_OK;
}

void tern_boot_relay_close(struct tern_relay *relay)
{
    free(relay);
}

/* The place of a rank's note for a barrier, as tern_segment_contribution(); NULL where there are none. */
static unsigned char *note_of(const struct tern_relay *relay, uint32_t rank, uint32_t barrier)
{
    return relay->note == NULL ? NULL : relay->note + (2 * (size_t)rank + (barrier & 1)) * TERN_CONTRIBUTION_BYTES;
}

/* ---- what ranks of this node say ---- */

static void tell(const struct outlet *to, uint32_t kind, uint32_t rank, uint32_t value, const void *body, uint32_t len)
{
    to->emit(to->arg, &(struct tern_frame){ .kind = kind, .rank = rank, .value = value, .len = len, .body = body });
}

static void scan_card(struct tern_relay *relay, uint32_t rank, const struct outlet *to)
{
    struct tern_net_address *card = &relay->card[rank];
    /* acquire: the bytes after their number. Pairs with the release in tern_boot_publish_address(). */
    uint32_t                 len = atomic_load_explicit(&card->len, memory_order_acquire);

    if (relay->member[rank].last.address_len != 0 || len == 0 || len > TERN_NET_ADDRESS_BYTES)
        return;
    relay->member[rank].last.address_len = len;
    tell(to, TERN_FRAME_ADDRESS, rank, 0, card->bytes, len);
}

/* The number to tell next of a counter that has come to now: at most the last two are known. */
static uint32_t next_number(uint32_t told, uint32_t now)
{
    return now - told > 2 ? now - 1 : told + 1;
}

static void tell_arrival(struct tern_relay *relay, uint32_t rank, uint32_t number, const struct outlet *to)
{
    uint32_t len = relay->seat[rank].contribution_len[number & 1];
    bool     has_note = relay->note != NULL && len <= TERN_CONTRIBUTION_BYTES;

    tell(to, TERN_FRAME_ARRIVED, rank, number, has_note ? note_of(relay, rank, number) : NULL, has_note ? len : 0);
}

static void scan_seat(struct tern_relay *relay, uint32_t rank, const struct outlet *to)
{
    struct tern_relay_state  *last = &relay->member[rank].last;
    struct tern_barrier_slot *seat = &relay->seat[rank];
    /* acquire: the notes, and the objects, after their numbers. Pairs with the rank's releases. */
    uint32_t                  arrived = atomic_load_explicit(&seat->arrived, memory_order_acquire);
    uint32_t                  departures = atomic_load_explicit(&seat->departures, memory_order_acquire);

    while (tern_base_seq_after(arrived, last->arrived)) {
        last->arrived = next_number(last->arrived, arrived);
        tell_arrival(relay, rank, last->arrived, to);
    }
    while (tern_base_seq_after(departures, last->departures)) {
        unsigned char object[8];
        uint32_t      number = last->departures = next_number(last->departures, departures);

        tern_boot_frame_put(object, atomic_load_explicit(&seat->object[number & 1], memory_order_relaxed), 8);
        tell(to, TERN_FRAME_DEPARTED, rank, number, object, sizeof(object));
    }
}

static void scan_life(struct tern_relay *relay, uint32_t rank, const struct outlet *to)
{
    /* acquire: what the rank published and said before. Pairs with the rank's release. Read first: what is told after
     * it is at least as new. */
    uint32_t life = atomic_load_explicit(&relay->segment->slot[rank].life, memory_order_acquire);

    scan_card(relay, rank, to); /* whoever sees a life sees the card */
    scan_seat(relay, rank, to);
    if (life <= relay->member[rank].last.life || life > TERN_LIFE_LEFT)
        return;
    relay->member[rank].last.life = life;
    tell(to, TERN_FRAME_LIFE, rank, life, NULL, 0);
}

void tern_boot_relay_scan(struct tern_relay *relay, void (*emit)(void *arg, const struct tern_frame *frame), void *arg)
{
    struct outlet to = { emit, arg };

    for (uint32_t rank = 0; rank < relay->ranks; rank++)
        if (relay->member[rank].is_here)
            scan_life(relay, rank, &to);
}

/* ---- what the hub says ---- */

bool tern_boot_relay_follows(struct tern_relay_state *state, const struct tern_frame *frame, bool notes)
{
    switch (frame->kind) {
    case TERN_FRAME_LIFE:
        if (frame->len != 0 || frame->value > TERN_LIFE_LEFT || frame->value <= state->life)
            return false;
        state->life = frame->value;
        return true;
    case TERN_FRAME_ADDRESS:
        if (frame->len == 0 || frame->len > TERN_NET_ADDRESS_BYTES || state->address_len != 0)
            return false;
        state->address_len = frame->len;
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

static void apply_life(struct tern_slot *slot, const struct tern_frame *frame)
{
    /* release: the card and the seat before the life that lets others use them. Pairs with the acquire loads of
     * ranks. */
    atomic_store_explicit(&slot->life, frame->value, memory_order_release);
}

static void apply_card(struct tern_net_address *card, const struct tern_frame *frame)
{
    memcpy(card->bytes, frame->body, frame->len);
    /* release: the bytes before their number. Pairs with the acquire in tern_boot_net_address(). */
    atomic_store_explicit(&card->len, frame->len, memory_order_release);
}

static void apply_arrived(struct tern_relay *relay, const struct tern_frame *frame)
{
    struct tern_barrier_slot *seat = &relay->seat[frame->rank];

    if (frame->len > 0)
        memcpy(note_of(relay, frame->rank, frame->value), frame->body, frame->len);
    seat->contribution_len[frame->value & 1] = frame->len;
    /* release: the note before the number. Pairs with the acquire loads of ranks. */
    atomic_store_explicit(&seat->arrived, frame->value, memory_order_release);
}

static void apply_departed(struct tern_barrier_slot *seat, const struct tern_frame *frame)
{
    atomic_store_explicit(&seat->object[frame->value & 1], tern_boot_frame_get(frame->body, 8), memory_order_relaxed);
    /* release: the object before the number. Pairs with the acquire loads of ranks. */
    atomic_store_explicit(&seat->departures, frame->value, memory_order_release);
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
    struct member *member = frame->rank < relay->ranks ? &relay->member[frame->rank] : NULL;

    if (member == NULL)
        return false;
    if (frame->kind == TERN_FRAME_FATE)
        return apply_fate(relay, frame);
    if (member->is_here || !tern_boot_relay_follows(&member->last, frame, relay->note != NULL))
        return false; /* its own writer is here, or it makes no sense */
    switch (frame->kind) {
    case TERN_FRAME_LIFE: apply_life(&relay->segment->slot[frame->rank], frame); break;
    case TERN_FRAME_ADDRESS: apply_card(&relay->card[frame->rank], frame); break;
    case TERN_FRAME_ARRIVED: apply_arrived(relay, frame); break;
    default: apply_departed(&relay->seat[frame->rank], frame); break;
    }
    relay->rings = true;
    return true;
}

void tern_boot_relay_ring(struct tern_relay *relay)
{
    if (!relay->rings)
        return;
    relay->rings = false;
    for (uint32_t rank = 0; rank < relay->ranks; rank++) {
        struct tern_slot *slot = &relay->segment->slot[rank];

        if (relay->member[rank].is_here)
            tern_boot_bell_ring(&slot->bell, &slot->sleepers);
    }
}

void tern_boot_relay_fate(struct tern_segment *segment, uint32_t ranks, uint32_t rank, bool lost)
{
    /* release: nothing of ours before it matters, but losses must not be seen before it. Pairs with the ranks' acquire
     * loads of losses. */
    atomic_store_explicit(&segment->slot[rank].fate, lost ? TERN_FATE_LOST : TERN_FATE_ENDED, memory_order_release);
    if (lost)
        atomic_fetch_add_explicit(&segment->losses, 1, memory_order_release); /* after fate, as said above */
    for (uint32_t r = 0; r < ranks; r++) {
        struct tern_slot *slot = &segment->slot[r];

        if (slot->node != segment->node || atomic_load_explicit(&slot->life, memory_order_acquire) == TERN_LIFE_LEFT)
            continue; /* not here, or sleeps no more, for good */
        tern_boot_bell_wake(&slot->bell);
        tern_boot_bell_wake(&slot->service_bell);
    }
}
