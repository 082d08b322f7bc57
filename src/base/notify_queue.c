/* notify_queue.c: where messages go, and how the producer puts in place what the consumer does not. See
 * notify_queue.h. */
#define _GNU_SOURCE
#include "base/notify_queue.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/wake_request.h"

#define RUN 16u /* far cells after which the producer looks how far the consumer is: each look is a miss */

static bool barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool tern_base_nq_register(void)
{
    return barrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

/* ---- both ---- */

size_t tern_base_nq_bytes(uint32_t near)
{
    return sizeof(struct tern_nq) + near * sizeof(struct tern_nq_cell);
}

uint32_t tern_base_nq_primary_cells(size_t bytes)
{
    for (uint32_t near = TERN_NQ_MIN_CELLS; near <= TERN_NQ_PRIMARY_MAX; near *= 2)
        if (bytes == tern_base_nq_bytes(near))
            return near;
    return 0;
}

void tern_base_nq_producer_init(struct tern_nq_producer *p, void *memory, uint32_t near, struct tern_nq_payload *load)
{
    *p = (struct tern_nq_producer){ .shared = memory };
    p->row[TERN_NQ_PRIMARY] = (struct tern_nq_row){ .cell = p->shared->primary, .load = load, .mask = near - 1 };
}

void tern_base_nq_consumer_init(struct tern_nq_consumer *c, void *memory, uint32_t near)
{
    *c = (struct tern_nq_consumer){ .shared = memory, .number = 1 };
    c->row[TERN_NQ_PRIMARY].cell = c->shared->primary;
    c->row[TERN_NQ_PRIMARY].mask = near - 1;
}

void tern_base_nq_add_overflow(struct tern_nq_producer *p, void *memory, uint32_t far, struct tern_nq_payload *load)
{
    p->row[TERN_NQ_OVERFLOW] = (struct tern_nq_row){ .cell = memory, .load = load, .mask = far - 1 };
}

void tern_base_nq_map_overflow(struct tern_nq_consumer *c, void *memory, uint32_t far)
{
    c->row[TERN_NQ_OVERFLOW].cell = memory;
    c->row[TERN_NQ_OVERFLOW].mask = far - 1;
}

/* ---- room ---- */

/* The message in the cell so far ahead in the row, or the last that was there. */
static uint64_t occupant(const struct tern_nq_producer *p, unsigned at, uint32_t ahead)
{
    const struct tern_nq_row *row = &p->row[at];

    return row->load[(row->next + ahead) & row->mask].number;
}

/* Whether that cell is free, as far as is known; then those before it are, too. */
static bool is_free(const struct tern_nq_producer *p, unsigned at, uint32_t ahead)
{
    return occupant(p, at, ahead) <= p->done;
}

/* See how far the consumer has come. acquire: its reads before we write there again. Pairs with
 * tern_base_nq_consume(). */
static void refresh(struct tern_nq_producer *p)
{
    p->done = atomic_load_explicit(&p->shared->done, memory_order_acquire);
}

/* The consumer is to tell when there is room. */
static bool no_room(struct tern_nq_producer *p)
{
    tern_base_wake_request(&p->shared->producer_waits);
    return false;
}

/* The message after this one has no near cell, as far as is known. Where there is none in either row it goes where the
 * older message is: that cell will be free first. */
static unsigned go_far(struct tern_nq_producer *p)
{
    struct tern_nq_row *far = &p->row[TERN_NQ_OVERFLOW];

    refresh(p);
    if (is_free(p, TERN_NQ_PRIMARY, 0) || (!far->cell && !(p->grow && p->grow(p))))
        return 0;
    if (far->last <= p->done) {
        far->next = 0; /* all are free, and the first ones may be in a cache */
        p->at = TERN_NQ_OVERFLOW;
        return TERN_NQ_SWITCH | TERN_NQ_RESTART;
    }
    if (occupant(p, TERN_NQ_PRIMARY, 0) < occupant(p, TERN_NQ_OVERFLOW, 0))
        return 0;
    p->at = TERN_NQ_OVERFLOW;
    return TERN_NQ_SWITCH;
}

/* The same the other way, now and then. */
static unsigned come_back(struct tern_nq_producer *p)
{
    refresh(p);
    if (!is_free(p, TERN_NQ_PRIMARY, p->row[TERN_NQ_PRIMARY].mask / 2) &&
        (is_free(p, TERN_NQ_OVERFLOW, 0) || occupant(p, TERN_NQ_OVERFLOW, 0) < occupant(p, TERN_NQ_PRIMARY, 0)))
        return 0;
    p->at = TERN_NQ_PRIMARY;
    return TERN_NQ_SWITCH;
}

/* Choose where the message after the one that was just given its cell will lie: what that one says of it. */
static unsigned choose_next(struct tern_nq_producer *p)
{
    if (p->at == TERN_NQ_PRIMARY)
        return is_free(p, TERN_NQ_PRIMARY, 0) ? 0 : go_far(p);
    return p->row[TERN_NQ_OVERFLOW].next % RUN > 0 && is_free(p, TERN_NQ_OVERFLOW, 0) ? 0 : come_back(p);
}

bool tern_base_nq_reserve(struct tern_nq_producer *p, struct tern_nq_claim *out)
{
    struct tern_nq_row     *row = &p->row[p->at];
    struct tern_nq_payload *load = &row->load[row->next & row->mask];
    uint64_t                position = row->next;

    if (load->number > p->done) {
        refresh(p);
        if (load->number > p->done)
            return no_room(p);
    }
    out->cell = &row->cell[row->next & row->mask];
#ifdef TERN_BASE_TSAN
    /* What another thread of ours published there comes before what we write; the order goes through the consumer, and
     * where that is another process the sanitizer does not see it. It sees the stamp. */
    (void)atomic_load_explicit(&out->cell->stamp, memory_order_acquire);
#endif
    row->next++;
    row->last = ++p->number;
    *load = (struct tern_nq_payload){ .number = p->number };
    out->stamp = tern_base_nq_stamp(position, choose_next(p));
    return true;
}

/* ---- bytes that are carried ---- */

bool tern_base_nq_push_inline(struct tern_nq_producer *p, const uint64_t word[TERN_NQ_WORDS], void *to, const void *src,
                              size_t len)
{
    struct tern_nq_row     *row = &p->row[p->at];
    struct tern_nq_payload *load = &row->load[row->next & row->mask];
    struct tern_nq_claim    place;

    if (!tern_base_nq_reserve(p, &place))
        return false;
    memcpy(place.cell->head, word, TERN_NQ_WORDS * sizeof(*word));
    tern_base_nq_copy(place.cell->head + TERN_NQ_WORDS * sizeof(*word), src, len);
    tern_base_nq_publish(&place, TERN_NQ_INLINE);
    load->to = to;
    load->len = len;
    p->last_inline = load->number;
    return true;
}

/* Say that the consumer is to leave the messages alone, and be sure that it knows. */
static void claim_all(struct tern_nq *shared, uint64_t number)
{
    if (atomic_load_explicit(&shared->claimed, memory_order_relaxed) >= number) /* it is ours */
        return;
    atomic_store_explicit(&shared->claimed, number, memory_order_relaxed); /* ordered by the barrier */
    barrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);                              /* cannot fail: it was registered */
}

/* The first message of a row behind a number, from *at on. NULL: none. */
static const struct tern_nq_payload *load_behind(const struct tern_nq_row *row, uint64_t *at, uint64_t number)
{
    for (; *at != row->next; ++*at)
        if (row->load[*at & row->mask].number > number)
            return &row->load[*at & row->mask];
    return NULL;
}

/* Put in place what messages behind a number carry, in their order: two of them may go to the same place. */
static void place(const struct tern_nq_producer *p, uint64_t number)
{
    uint64_t at[TERN_NQ_ROWS];

    for (unsigned r = 0; r < TERN_NQ_ROWS; r++) {
        const struct tern_nq_row *row = &p->row[r];
        uint64_t                  all = row->cell ? (uint64_t)row->mask + 1 : 0;

        at[r] = row->next - (p->number - number < all ? p->number - number : all);
    }
    for (;;) {
        const struct tern_nq_payload *load[TERN_NQ_ROWS];
        unsigned                      r;

        for (r = 0; r < TERN_NQ_ROWS; r++)
            load[r] = load_behind(&p->row[r], &at[r], number);
        if (!load[0] && !load[1])
            return;
        r = !load[0] || (load[1] && load[1]->number < load[0]->number);
        if (load[r]->to)
            tern_base_nq_copy(load[r]->to,
                              p->row[r].cell[at[r] & p->row[r].mask].head + TERN_NQ_WORDS * sizeof(uint64_t),
                              load[r]->len);
        number = load[r]->number;
    }
}

bool tern_base_nq_flush(struct tern_nq_producer *p, bool help)
{
    struct tern_nq *shared = p->shared;
    /* acquire: what the consumer put in place, before whatever follows. Pairs with tern_base_nq_consume(). */
    uint64_t        done = atomic_load_explicit(&shared->done, memory_order_acquire);
    uint64_t        helped = atomic_load_explicit(&shared->copied, memory_order_relaxed); /* ours: in place long ago */

    if (helped >= p->last_inline || done >= p->last_inline)
        return true;
    if (!help)
        return false;
    claim_all(shared, p->last_inline);
    done = atomic_load_explicit(&shared->done, memory_order_acquire); /* as above */
    if (atomic_load_explicit(&shared->begun, memory_order_relaxed) > done) {
        tern_base_wake_request(&shared->producer_waits); /* it is at it, or looks; then it is to tell */
        return false;
    }
    if (done < p->last_inline)
        place(p, done > helped ? done : helped);
    /* release: the bytes before the word of it. Pairs with the acquire in tern_base_nq_claim_payload(). */
    atomic_store_explicit(&shared->copied, p->last_inline, memory_order_release);
    return true;
}
