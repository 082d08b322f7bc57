/* spsc_ring.c: the out-of-line parts of the SPSC ring; spsc_ring.h describes the protocol. */
#include "base/spsc_ring.h"

#include "base/bits.h"
#include "base/sanitize.h"
#include "base/wake_request.h"

#define MOST_BYTES (1ull << 30)
#define HEAD_LINES (sizeof(struct tern_ring) / TERN_RING_LINE)
#define FEWEST_CELLS 4u
#define MOST_CELLS 64u        /* maximum for a ring with data: this many cells stay in the L1 caches of both sides */
#define MOST_CELLS_LONG 1024u /* maximum for a long ring */
#define STEP 37u              /* in cells; more than half a page, so that the hardware prefetcher detects no stream */

/* Divide the memory of a ring. There are at least FEWEST_CELLS cells; their number is doubled while the cells occupy at
 * most 1/share of the lines and do not exceed most. The other lines are data. least is the number of lines that a ring
 * needs. */
static struct tern_ring_shape divide(size_t bytes, uint32_t least, uint32_t share, uint32_t most)
{
    struct tern_ring_shape shape = { .step = 1 };
    uint64_t               lines = (bytes < MOST_BYTES ? bytes : MOST_BYTES) / TERN_RING_LINE;

    if (lines < HEAD_LINES + least)
        return shape;
    lines -= HEAD_LINES;
    shape.cells = FEWEST_CELLS;
    while ((uint64_t)shape.cells * 2 <= lines / share && shape.cells < most)
        shape.cells *= 2;
    shape.shift = tern_base_log2_up(shape.cells);
    shape.data = (uint32_t)(lines - shape.cells) * TERN_RING_LINE;
    return shape;
}

struct tern_ring_shape tern_base_ring_shape(size_t bytes)
{
    return divide(bytes, 3 * FEWEST_CELLS, 4, MOST_CELLS);
}

struct tern_ring_shape tern_base_ring_shape_long(size_t bytes)
{
    struct tern_ring_shape shape = divide(bytes, 3 * FEWEST_CELLS, 16, MOST_CELLS_LONG);

    return shape.cells > MOST_CELLS ? shape : tern_base_ring_shape(bytes);
}

struct tern_ring_shape tern_base_ring_shape_cells(size_t bytes)
{
    struct tern_ring_shape shape = divide(bytes, FEWEST_CELLS, 1, UINT32_MAX);

    shape.data = 0;
    return shape;
}

size_t tern_base_ring_cells_bytes(size_t cells)
{
    size_t round = FEWEST_CELLS;

    while (round < cells)
        round *= 2;
    return sizeof(struct tern_ring) + round * sizeof(struct tern_ring_cell);
}

struct tern_ring_shape tern_base_ring_spread(struct tern_ring_shape shape)
{
    shape.step = STEP;
    return shape;
}

size_t tern_base_ring_max_data(struct tern_ring_shape shape)
{
    return shape.data / 2 & ~(size_t)(TERN_RING_LINE - 1);
}

static unsigned char *data_of(struct tern_ring *ring, struct tern_ring_shape shape)
{
    return (unsigned char *)&ring->cell[shape.cells];
}

void tern_base_ring_producer_init(struct tern_ring_producer *p, void *memory, struct tern_ring_shape shape)
{
    *p = (struct tern_ring_producer){ .ring = memory, .shape = shape, .data = data_of(memory, shape) };
}

void tern_base_ring_consumer_init(struct tern_ring_consumer *c, void *memory, struct tern_ring_shape shape)
{
    *c = (struct tern_ring_consumer){ .ring = memory, .shape = shape, .data = data_of(memory, shape) };
}

/* A cell that another thread of this process published is ordered before the message that replaces it. That order goes
 * through the consumer, and TSan does not see it if the consumer is another process. TSan does see the marks. */
static void show_order(const struct tern_ring_producer *p, uint64_t done)
{
#ifdef TERN_BASE_TSAN
    for (uint32_t i = 0; i < p->shape.cells && p->cells_done + i != done; i++)
        (void)atomic_load_explicit(&tern_base_ring_cell(p->ring, p->cells_done + i, p->shape)->mark,
                                   memory_order_acquire);
#else
    (void)p, (void)done;
#endif
}

/* Update the producer's view of the consumer's progress. acquire: the consumer's reads before the producer overwrites
 * the cells and data. Pairs with the releases in tern_base_ring_consume(). */
static void refresh(struct tern_ring_producer *p)
{
    uint64_t done;

    p->data_done = atomic_load_explicit(&p->ring->data_done,
                                        memory_order_acquire); /* first, so that it covers no cell after done */
    done = atomic_load_explicit(&p->ring->cells_done, memory_order_acquire);
    show_order(p, done);
    p->cells_done = done;
}

/* Ask the consumer to wake the producer when it has consumed something. Returns false. */
static bool no_room(struct tern_ring_producer *p)
{
    tern_base_wake_request(&p->ring->producer_waits);
    return false;
}

bool tern_base_ring_refresh(struct tern_ring_producer *p)
{
    refresh(p);
    return tern_base_ring_has_cell(p) || no_room(p);
}

/* Find a free run of at least need bytes in the data area. Returns the length of the run, or 0 if there is none. Sets
 * *at to the offset of the run and *unused to the number of bytes wasted before it. */
static uint32_t find_run(const struct tern_ring_producer *p, uint64_t need, uint32_t *at, uint32_t *unused)
{
    uint64_t in_use = p->taken - p->data_done;
    uint64_t free_bytes = p->shape.data - in_use;
    uint32_t rest = p->shape.data - p->at;

    *unused = 0;
    *at = p->at;
    if (in_use > p->shape.data) /* the consumer wrote an impossible value */
        return 0;
    if (free_bytes == p->shape.data) { /* nothing is in use: start at the beginning, where the run is longest */
        *at = 0;
        return need <= free_bytes ? (uint32_t)free_bytes : 0;
    }
    if (need <= rest)
        return need <= free_bytes ? (uint32_t)(rest < free_bytes ? rest : free_bytes) : 0;
    *unused = rest;
    *at = 0;
    return rest + need <= free_bytes ? (uint32_t)(free_bytes - rest) : 0;
}

/* Reserve between min and max bytes of data in *out. Returns false if there is not enough space. */
static bool take_data(struct tern_ring_producer *p, size_t min, size_t max, struct tern_ring_reservation *out)
{
    uint64_t need = tern_base_round_up(min > 0 ? min : 1, TERN_RING_LINE);
    uint64_t wish = max < p->shape.data ? tern_base_round_up(max, TERN_RING_LINE) : p->shape.data;
    uint32_t at, unused, run;

    if (need == 0 || need > p->shape.data)
        return false;
    run = find_run(p, need, &at, &unused);
    if (run < wish) {
        refresh(p);
        run = find_run(p, need, &at, &unused);
    }
    if (run == 0)
        return no_room(p);
    run = run < wish ? run : (uint32_t)wish;
    out->data = p->data + at;
    out->len = run < max ? run : max;
    out->claim.at = at;
    out->claim.span = unused + run;
    p->taken += unused + run;
    p->at = at + run == p->shape.data ? 0 : at + run;
    return true;
}

bool tern_base_ring_reserve(struct tern_ring_producer *p, size_t min, size_t max, struct tern_ring_reservation *out)
{
    if (!tern_base_ring_has_cell(p) && !tern_base_ring_refresh(p))
        return false;
    *out = (struct tern_ring_reservation){ .claim = { .cell = tern_base_ring_cell(p->ring, p->next, p->shape),
                                                      .lap = tern_base_ring_lap(p->next, p->shape) } };
    if (max > 0 && !take_data(p, min, max, out))
        return false;
    p->next++;
    return true;
}

/* Return whether the values that the producer wrote are within the data area. */
static bool is_sound(const struct tern_ring_consumer *c, uint32_t at, uint32_t len, uint32_t span)
{
    if (len == TERN_RING_SKIP || len == TERN_RING_NONE)
        return span <= c->shape.data;
    return span <= c->shape.data && len <= span && tern_base_covers(c->shape.data, at, len);
}

int tern_base_ring_peek_data(struct tern_ring_consumer *c, struct tern_ring_item *out)
{
    for (uint32_t i = 0; i <= c->shape.cells; i++) { /* bounds the number of skipped cells */
        const struct tern_ring_cell *cell = tern_base_ring_cell(c->ring, c->next, c->shape);
        uint32_t                     lap = tern_base_ring_lap(c->next, c->shape), mark, at, len, span;

        /* acquire: the message after its mark. Pairs with tern_base_ring_publish(). */
        if ((mark = atomic_load_explicit(&cell->mark, memory_order_acquire)) != lap)
            return mark == lap - 1 ? 0 : -1;
        len = *(const volatile uint32_t *)&cell->len;
        at = len > 0 ? *(const volatile uint32_t *)&cell->at : 0;
        span = len > 0 ? *(const volatile uint32_t *)&cell->span : 0;
        if (TERN_UNLIKELY(!is_sound(c, at, len, span)))
            return -1;
        len = len == TERN_RING_NONE ? 0 : len;
        *out = (struct tern_ring_item){ cell->head, len > 0 ? c->data + at : NULL, len, span };
        if (TERN_LIKELY(len != TERN_RING_SKIP))
            return 1;
        tern_base_ring_consume(c, span);
    }
    return 0; /* a producer that publishes nothing but skipped cells must not keep the consumer here */
}
