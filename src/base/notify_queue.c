/* notify_queue.c: the choice between primary and overflow cells, and how the producer copies inline payloads that the
 * consumer has not copied. See notify_queue.h. */
#include "base/notify_queue.h"

#include "base/membarrier.h"
#include "base/sanitize.h"
#include "base/wake_request.h"

/* ---- both sides ---- */

size_t tern_base_nq_bytes(uint32_t primary)
{
    return sizeof(struct tern_nq) + primary * sizeof(struct tern_nq_cell);
}

uint32_t tern_base_nq_primary_cells(size_t bytes)
{
    for (uint32_t primary = TERN_NQ_MIN_CELLS; primary <= TERN_NQ_PRIMARY_MAX; primary *= 2)
        if (bytes == tern_base_nq_bytes(primary))
            return primary;
    return 0;
}

void tern_base_nq_producer_init(struct tern_nq_producer *p, void *memory, uint32_t primary,
                                struct tern_nq_payload *load)
{
    *p = (struct tern_nq_producer){ .shared = memory };
    p->row[TERN_NQ_PRIMARY] = (struct tern_nq_row){ .cell = p->shared->primary, .load = load, .mask = primary - 1 };
}

void tern_base_nq_consumer_init(struct tern_nq_consumer *c, void *memory, uint32_t primary)
{
    *c = (struct tern_nq_consumer){ .shared = memory, .number = 1 };
    c->row[TERN_NQ_PRIMARY].cell = c->shared->primary;
    c->row[TERN_NQ_PRIMARY].mask = primary - 1;
}

void tern_base_nq_add_overflow(struct tern_nq_producer *p, void *memory, uint32_t overflow,
                               struct tern_nq_payload *load)
{
    p->row[TERN_NQ_OVERFLOW] = (struct tern_nq_row){ .cell = memory, .load = load, .mask = overflow - 1 };
}

void tern_base_nq_map_overflow(struct tern_nq_consumer *c, void *memory, uint32_t overflow)
{
    c->row[TERN_NQ_OVERFLOW].cell = memory;
    c->row[TERN_NQ_OVERFLOW].mask = overflow - 1;
}

/* ---- free cells ---- */

/* Return the number of the last message in the cell that is `ahead` cells after the next one of a row. */
static uint64_t occupant(const struct tern_nq_producer *p, unsigned at, uint32_t ahead)
{
    const struct tern_nq_row *row = &p->row[at];

    return row->load[(row->next + ahead) & row->mask].number;
}

/* Return whether the producer knows that this cell is free. The cells before it are then free, too. */
static bool is_free(const struct tern_nq_producer *p, unsigned at, uint32_t ahead)
{
    return occupant(p, at, ahead) <= p->done;
}

/* Update the producer's view of the consumer's progress. acquire: the consumer's reads before the producer overwrites
 * the cells. Pairs with the release in tern_base_nq_consume(). */
static void refresh(struct tern_nq_producer *p)
{
    p->done = atomic_load_explicit(&p->shared->done, memory_order_acquire);
}

/* The producer knows no free primary cell for the next message: switch to the overflow cells if necessary. If no cell
 * is free in either row, choose the row whose next cell has the older message, because that cell becomes free first.
 * Returns the flags for the stamp of the current message. */
static unsigned leave_primary(struct tern_nq_producer *p)
{
    struct tern_nq_row *overflow = &p->row[TERN_NQ_OVERFLOW];

    refresh(p);
    if (is_free(p, TERN_NQ_PRIMARY, 0) || (!overflow->cell && !(p->grow && p->grow(p))))
        return 0;
    if (overflow->last <= p->done) {
        overflow->next = 0; /* all overflow cells are free, and the first ones may be cached */
        p->at = TERN_NQ_OVERFLOW;
        return TERN_NQ_SWITCH | TERN_NQ_RESTART;
    }
    if (occupant(p, TERN_NQ_PRIMARY, 0) < occupant(p, TERN_NQ_OVERFLOW, 0))
        return 0;
    p->at = TERN_NQ_OVERFLOW;
    return TERN_NQ_SWITCH;
}

/* Switch back to the primary cells if half of them are free, or if no overflow cell is free and a primary cell becomes
 * free first. Called every TERN_NQ_RUN overflow cells, or when no overflow cell is known to be free. Returns the flags
 * for the stamp of the current message. */
static unsigned leave_overflow(struct tern_nq_producer *p)
{
    refresh(p);
    if (!is_free(p, TERN_NQ_PRIMARY, p->row[TERN_NQ_PRIMARY].mask / 2) &&
        (is_free(p, TERN_NQ_OVERFLOW, 0) || occupant(p, TERN_NQ_OVERFLOW, 0) < occupant(p, TERN_NQ_PRIMARY, 0)))
        return 0;
    p->at = TERN_NQ_PRIMARY;
    return TERN_NQ_SWITCH;
}

/* Choose the row of the next message. Returns the flags for the stamp of the current message, which already has its
 * cell. */
static unsigned choose_next(struct tern_nq_producer *p)
{
    if (p->at == TERN_NQ_PRIMARY)
        return is_free(p, TERN_NQ_PRIMARY, 0) ? 0 : leave_primary(p);
    return p->row[TERN_NQ_OVERFLOW].next % TERN_NQ_RUN > 0 && is_free(p, TERN_NQ_OVERFLOW, 0) ? 0 : leave_overflow(p);
}

bool tern_base_nq_reserve(struct tern_nq_producer *p, struct tern_nq_claim *out)
{
    struct tern_nq_row     *row = &p->row[p->at];
    struct tern_nq_payload *load = &row->load[row->next & row->mask];
    uint64_t                position = row->next;

    if (load->number > p->done)
        refresh(p);
    if (load->number > p->done) {
        tern_base_wake_request(&p->shared->producer_waits);
        return false;
    }
    out->cell = &row->cell[row->next & row->mask];
#ifdef TERN_BASE_TSAN
    /* A message that another thread of this process published in the cell is ordered before the one that replaces it.
     * That order goes through the consumer, and TSan does not see it if the consumer is another process. TSan does see
     * the stamp. */
    (void)atomic_load_explicit(&out->cell->stamp, memory_order_acquire);
#endif
    row->next++;
    row->last = ++p->number;
    *load = (struct tern_nq_payload){ .number = p->number };
    out->stamp = tern_base_nq_stamp(position, choose_next(p));
    return true;
}

/* ---- inline payload ---- */

bool tern_base_nq_push_inline(struct tern_nq_producer *p, const uint64_t word[TERN_NQ_WORDS], void *to, const void *src,
                              size_t len)
{
    struct tern_nq_row     *row = &p->row[p->at];
    struct tern_nq_payload *load = &row->load[row->next & row->mask];
    struct tern_nq_claim    claim;

    if (!tern_base_nq_reserve(p, &claim))
        return false;
    memcpy(claim.cell->head, word, TERN_NQ_WORDS * sizeof(*word));
    tern_base_nq_copy(claim.cell->head + TERN_NQ_WORDS * sizeof(*word), src, len);
    tern_base_nq_publish(&claim, TERN_NQ_INLINE);
    load->to = to;
    load->len = len;
    p->last_inline = load->number;
    return true;
}

/* Advance *at to the first message of a row whose number is greater than number, and return its record; NULL if there
 * is none. */
static const struct tern_nq_payload *load_behind(const struct tern_nq_row *row, uint64_t *at, uint64_t number)
{
    for (; *at != row->next; ++*at)
        if (row->load[*at & row->mask].number > number)
            return &row->load[*at & row->mask];
    return NULL;
}

/* Copy the payloads of all messages after a number, in order, because two of them may have the same destination. */
static void copy_payloads(const struct tern_nq_producer *p, uint64_t number)
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
    /* acquire: the payloads that the consumer copied, before everything that follows. Pairs with the release in
     * tern_base_nq_consume(). */
    uint64_t        done = atomic_load_explicit(&shared->done, memory_order_acquire);
    uint64_t copied = atomic_load_explicit(&shared->copied, memory_order_relaxed); /* only the producer writes it */

    if (copied >= p->last_inline || done >= p->last_inline)
        return true;
    if (!help)
        return false;
    if (atomic_load_explicit(&shared->claimed, memory_order_relaxed) < p->last_inline) {
        atomic_store_explicit(&shared->claimed, p->last_inline, memory_order_relaxed); /* ordered by the barrier */
        tern_base_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); /* now the consumer is sure to see the claim */
    }
    done = atomic_load_explicit(&shared->done, memory_order_acquire); /* as the first load of done */
    if (atomic_load_explicit(&shared->begun, memory_order_relaxed) > done) {
        tern_base_wake_request(
            &shared->producer_waits); /* the consumer is copying, or about to decide; it will wake this rank */
        return false;
    }
    if (done < p->last_inline)
        copy_payloads(p, done > copied ? done : copied);
    /* release: the payloads before copied. Pairs with the acquire in tern_base_nq_claim_payload(). */
    atomic_store_explicit(&shared->copied, p->last_inline, memory_order_release);
    return true;
}
