/* relay.c: comparing the slots and seats of this node's ranks with what was last told of them, and writing those of the
 * others.
 *
 * Of each rank the spoke keeps what it has told. A rank changes its slot and then tells; the mark `told` keeps many
 * ranks from telling at the same time. Frames come from other processes: ranks, values and lengths are checked before
 * anything is written, and nothing that they say is about ranks of this node, but their fates.
 */
#include "boot/relay.h"

#include <stdlib.h>
#include <string.h>

#include "boot/bell.h"

/* What was told of a rank of this node. */
struct said {
    uint32_t rank; /* in the job */
    uint32_t life, card, arrived, departures;
};

struct tern_relay {
    struct tern_segment *segment;
    bool                 rings; /* something was applied that sleepers may wait for */
    struct said          said[];
};

/* Where to and how a change is told. */
struct outlet {
    void (*emit)(void *arg, const struct tern_frame *frame);
    void *arg;
};

tern_status tern_boot_relay_open(struct tern_segment *segment, struct tern_relay **out)
{
    struct tern_relay *relay = calloc(1, sizeof(*relay) + segment->locals * sizeof(relay->said[0]));
    uint32_t           found = 0;

    if (relay == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to relay what %u ranks say", segment->locals);
    relay->segment = segment;
    for (uint32_t rank = 0; rank < segment->ranks && found < segment->locals; rank++)
        if (segment->slot[rank].node == segment->node)
            relay->said[found++].rank = rank;
    *out = relay;
    return TERN_OK;
}

void tern_boot_relay_close(struct tern_relay *relay)
{
    free(relay);
}

/* ---- what ranks of this node say ---- */

static void tell(const struct outlet *to, uint32_t kind, uint32_t rank, uint32_t value, const void *body, uint32_t len)
{
    to->emit(to->arg, &(struct tern_frame){ .kind = kind, .rank = rank, .value = value, .len = len, .body = body });
}

static void scan_card(struct tern_relay *relay, struct said *said, const struct outlet *to)
{
    struct tern_card *card = tern_segment_card(relay->segment, said->rank);
    /* acquire: the bytes after their number. Pairs with the release in tern_boot_publish(). */
    uint32_t          len = atomic_load_explicit(&card->len, memory_order_acquire);

    if (len == said->card || len > TERN_CARD_BYTES)
        return;
    said->card = len;
    tell(to, TERN_FRAME_CARD, said->rank, 0, card->bytes, len);
}

/* The number to tell next of a counter that has come to now: at most the last two are known. */
static uint32_t next_number(uint32_t told, uint32_t now)
{
    return now - told > 2 ? now - 1 : told + 1;
}

static void tell_arrival(struct tern_relay *relay, const struct said *said, const struct outlet *to)
{
    uint32_t number = said->arrived;
    uint32_t len = tern_segment_seat(relay->segment, said->rank)->note_len[number & 1];
    bool     has_note = relay->segment->notes != 0 && len <= TERN_SEAT_NOTE;

    tell(to, TERN_FRAME_ARRIVED, said->rank, number,
         has_note ? tern_segment_note(relay->segment, said->rank, number) : NULL, has_note ? len : 0);
}

static void scan_seat(struct tern_relay *relay, struct said *said, const struct outlet *to)
{
    struct tern_seat *seat = tern_segment_seat(relay->segment, said->rank);
    /* acquire: the notes, and the objects, after their numbers. Pairs with the rank's releases. */
    uint32_t          arrived = atomic_load_explicit(&seat->arrived, memory_order_acquire);
    uint32_t          departures = atomic_load_explicit(&seat->departures, memory_order_acquire);

    while (said->arrived != arrived) {
        said->arrived = next_number(said->arrived, arrived);
        tell_arrival(relay, said, to);
    }
    while (said->departures != departures) {
        unsigned char object[8];
        uint32_t      number = said->departures = next_number(said->departures, departures);

        tern_boot_frame_put(object, atomic_load_explicit(&seat->object[number & 1], memory_order_relaxed), 8);
        tell(to, TERN_FRAME_DEPARTED, said->rank, number, object, sizeof(object));
    }
}

static void scan_life(struct tern_relay *relay, struct said *said, const struct outlet *to)
{
    /* acquire: what the rank published and said before. Pairs with the rank's release. Read first: what is told after
     * it is at least as new. */
    uint32_t life = atomic_load_explicit(&relay->segment->slot[said->rank].life, memory_order_acquire);

    scan_card(relay, said, to); /* whoever sees a life sees the card */
    scan_seat(relay, said, to);
    if (life == said->life || life > TERN_LIFE_LEFT)
        return;
    said->life = life;
    tell(to, TERN_FRAME_LIFE, said->rank, life, NULL, 0);
}

void tern_boot_relay_scan(struct tern_relay *relay, void (*emit)(void *arg, const struct tern_frame *frame), void *arg)
{
    struct outlet to = { emit, arg };

    /* acq_rel: the mark is taken back before the looks that follow, and what its setter changed is seen by them. Pairs
     * with the exchange in tern_boot_tell(). */
    atomic_exchange_explicit(&relay->segment->told, 0, memory_order_acq_rel);
    for (uint32_t i = 0; i < relay->segment->locals; i++)
        scan_life(relay, &relay->said[i], &to);
}

/* ---- what the hub says ---- */

static bool apply_life(struct tern_slot *slot, const struct tern_frame *frame)
{
    if (frame->len != 0 || frame->value > TERN_LIFE_LEFT ||
        frame->value < atomic_load_explicit(&slot->life, memory_order_relaxed))
        return false;
    /* release: the card and the seat before the life that lets others use them. Pairs with the acquire loads of
     * ranks. */
    atomic_store_explicit(&slot->life, frame->value, memory_order_release);
    return true;
}

static bool apply_card(struct tern_card *card, const struct tern_frame *frame)
{
    if (frame->len == 0 || frame->len > TERN_CARD_BYTES || atomic_load_explicit(&card->len, memory_order_relaxed) != 0)
        return false;
    memcpy(card->bytes, frame->body, frame->len);
    /* release: the bytes before their number. Pairs with the acquire in tern_boot_card(). */
    atomic_store_explicit(&card->len, frame->len, memory_order_release);
    return true;
}

static bool apply_arrived(struct tern_segment *segment, const struct tern_frame *frame)
{
    struct tern_seat *seat = tern_segment_seat(segment, frame->rank);

    if (frame->len > (segment->notes != 0 ? TERN_SEAT_NOTE : 0))
        return false;
    if (frame->len > 0)
        memcpy(tern_segment_note(segment, frame->rank, frame->value), frame->body, frame->len);
    seat->note_len[frame->value & 1] = frame->len;
    /* release: the note before the number. Pairs with the acquire loads of ranks. */
    atomic_store_explicit(&seat->arrived, frame->value, memory_order_release);
    return true;
}

static bool apply_departed(struct tern_seat *seat, const struct tern_frame *frame)
{
    if (frame->len != 8)
        return false;
    atomic_store_explicit(&seat->object[frame->value & 1], tern_boot_frame_get(frame->body, 8), memory_order_relaxed);
    /* release: the object before the number. Pairs with the acquire loads of ranks. */
    atomic_store_explicit(&seat->departures, frame->value, memory_order_release);
    return true;
}

static bool apply_fate(struct tern_segment *segment, const struct tern_frame *frame)
{
    if (frame->value != TERN_FATE_ENDED && frame->value != TERN_FATE_LOST)
        return false;
    if (atomic_load_explicit(&segment->slot[frame->rank].fate, memory_order_relaxed) != TERN_FATE_RUNNING)
        return false;
    tern_boot_relay_fate(segment, frame->rank, frame->value == TERN_FATE_LOST);
    return true;
}

bool tern_boot_relay_apply(struct tern_relay *relay, const struct tern_frame *frame)
{
    struct tern_segment *segment = relay->segment;
    bool                 good;

    if (frame->rank >= segment->ranks)
        return false;
    if (frame->kind == TERN_FRAME_FATE)
        return apply_fate(segment, frame);
    if (segment->slot[frame->rank].node == segment->node)
        return false; /* its own writer is here */
    switch (frame->kind) {
    case TERN_FRAME_LIFE: good = apply_life(&segment->slot[frame->rank], frame); break;
    case TERN_FRAME_CARD: good = apply_card(tern_segment_card(segment, frame->rank), frame); break;
    case TERN_FRAME_ARRIVED: good = apply_arrived(segment, frame); break;
    case TERN_FRAME_DEPARTED: good = apply_departed(tern_segment_seat(segment, frame->rank), frame); break;
    default: good = false; break;
    }
    relay->rings |= good;
    return good;
}

void tern_boot_relay_ring(struct tern_relay *relay)
{
    if (!relay->rings)
        return;
    relay->rings = false;
    for (uint32_t i = 0; i < relay->segment->locals; i++) {
        struct tern_slot *slot = &relay->segment->slot[relay->said[i].rank];

        tern_boot_bell_ring(&slot->bell, &slot->sleepers);
    }
}

void tern_boot_relay_fate(struct tern_segment *segment, uint32_t rank, bool lost)
{
    /* release: nothing of ours before it matters, but losses must not be seen before it. Pairs with the ranks' acquire
     * loads of losses. */
    atomic_store_explicit(&segment->slot[rank].fate, lost ? TERN_FATE_LOST : TERN_FATE_ENDED, memory_order_release);
    if (lost)
        atomic_fetch_add_explicit(&segment->losses, 1, memory_order_release); /* after fate, as said above */
    for (uint32_t r = 0; r < segment->ranks; r++) {
        struct tern_slot *slot = &segment->slot[r];

        if (slot->node != segment->node || atomic_load_explicit(&slot->life, memory_order_acquire) == TERN_LIFE_LEFT)
            continue; /* not here, or sleeps no more, for good */
        tern_boot_bell_wake(&slot->bell);
        tern_boot_bell_wake(&slot->service_bell);
    }
}
