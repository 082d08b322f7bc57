/* nodes_job.c: what ranks of several nodes learn of each other when a foreign launcher started them; links are not
 * used.
 *
 *   nodes_job meet         publish a card, meet, look at all cards, meet for leaving, leave; print "met RANK of RANKS
 *                          on NODES"
 *   nodes_job die RANK     the same, but that rank dies in between; the others print "saw RANK" when they know, and
 *                          those that its death leaves alone end
 */
#define _GNU_SOURCE 1
#include "base/options.h"
#include "boot/bell.h"
#include "boot/boot.h"
#include "fault/fault_job.h"

static struct tern_boot boot;

static struct tern_slot *slot_of(int rank)
{
    return &boot.segment->slot[rank];
}

static uint32_t fate_of(int rank)
{
    return atomic_load_explicit(&slot_of(rank)->fate, memory_order_acquire);
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
    return atomic_load_explicit(&tern_segment_seat(boot.segment, (uint32_t)rank)->arrived, memory_order_acquire) >=
               number ||
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
    struct tern_seat *seat = tern_segment_seat(boot.segment, (uint32_t)boot.rank);

    if (boot.segment->notes) {
        seat->note_len[number & 1] = 4;
        memcpy(tern_segment_note(boot.segment, (uint32_t)boot.rank, number), &boot.rank, 4);
    }
    atomic_store_explicit(&seat->arrived, number, memory_order_release);
    ring_node();
    await_all(has_come, number);
    for (int rank = 0; rank < boot.ranks && boot.segment->notes; rank++)
        if (fate_of(rank) != TERN_FATE_LOST)
            CHECK(memcmp(tern_segment_note(boot.segment, (uint32_t)rank, number), &rank, 4) == 0);
}

static void check_cards(void)
{
    char   text[32];
    size_t len;

    for (int rank = 0; rank < boot.ranks; rank++) {
        const void *card = tern_boot_card(&boot, rank, &len);

        snprintf(text, sizeof(text), "card of %d", rank);
        CHECK(card != NULL && len == strlen(text) && memcmp(card, text, len) == 0);
    }
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
    snprintf(text, sizeof(text), "card of %d", boot.rank);
    CHECK(tern_boot_publish(&boot, text, strlen(text)) == TERN_OK);
    live(TERN_LIFE_JOINED);
    await_all(lives, TERN_LIFE_JOINED);
    check_cards();
    for (uint32_t number = 1; number <= 20; number++)
        arrive(number);
    if (boot.rank == victim)
        fault_die();
    if (victim >= 0) {
        arrive(21); /* done when it is known that it never comes */
        CHECK(fate_of(victim) == TERN_FATE_LOST);
        printf("saw %d\n", victim);
        fflush(stdout);
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
