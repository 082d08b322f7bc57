/* spsc_ring.h: a queue of messages from one producer to one consumer, in memory that both map.
 *
 * A message is a cell, one cache line with room for 48 bytes, and where that is too little a run of bytes in the data
 * area behind the cells. The mark of a cell is the number of the lap in which it was published, so the consumer waits
 * on the very line that brings the message, and nobody ever has to clear one: a short message is one miss. Data never
 * wraps: a run that would not fit before the end begins at the beginning again.
 *
 * Several messages may be open (taken, not yet published) at once; the consumer sees them in the order in which they
 * were taken. Neither side ever waits. The two sides' own structs are private to them; only struct tern_ring is shared.
 */
#ifndef TERN_BASE_SPSC_RING_H
#define TERN_BASE_SPSC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/biased_lock.h"
#include "base/simd.h"

#define TERN_RING_LINE 64
#define TERN_RING_HEAD 48 /* bytes of a message that lie in its cell */

struct tern_ring_cell {
    _Alignas(TERN_RING_LINE) union {
        _Atomic uint64_t mark_len; /* both, where one store is to do */
        struct {
            _Atomic uint32_t mark; /* the lap in which it was published, counted from 1 */
            uint32_t         len;  /* bytes of data; or one of those below */
        };
    };
    uint32_t      at;   /* where in the data area they begin. Of a message that has none, neither this */
    uint32_t      span; /* nor that is written: bytes of the data area that come free with this cell */
    unsigned char head[TERN_RING_HEAD];
};
_Static_assert(sizeof(struct tern_ring_cell) == TERN_RING_LINE, "one cell is one cache line");

#define TERN_RING_SKIP UINT32_MAX       /* nothing to see here */
#define TERN_RING_NONE (UINT32_MAX - 1) /* no data; but room for some comes free */

struct tern_ring {
    _Alignas(TERN_RING_LINE) _Atomic uint64_t cells_done; /* cells that the consumer has done with. Writer: it */
    _Atomic uint64_t      data_done;                      /* and the sum of their spans. Writer: it */
    _Atomic uint32_t      producer_waits; /* 1: the producer found no room: base/wake_request.h. Writers: both */
    struct tern_ring_cell cell[];         /* then the data. Writer: the producer */
};

/* How the memory of a ring is divided; both sides compute it from the number of bytes. */
struct tern_ring_shape {
    uint32_t cells; /* a power of two; 0: the memory is too small */
    uint32_t shift; /* which one */
    uint32_t data;  /* bytes, a multiple of a line */
    uint32_t step;  /* cells from one message to the next; odd */
};

struct tern_ring_producer {
    struct tern_ring      *ring;
    struct tern_ring_shape shape;
    unsigned char         *data;
    uint64_t               next;                  /* first cell not taken */
    uint64_t               taken;                 /* sum of all spans */
    uint32_t               at;                    /* where the next run of data may begin */
    uint64_t               cells_done, data_done; /* as last seen */
};

struct tern_ring_consumer {
    struct tern_ring      *ring;
    struct tern_ring_shape shape;
    unsigned char         *data;
    uint64_t               next; /* first cell not consumed */
    uint64_t               data_done;
};

struct tern_ring_shape tern_base_ring_shape(size_t bytes);

/* The same for messages that have no data: all of it is cells. And the bytes for at least so many. */
struct tern_ring_shape tern_base_ring_shape_cells(size_t bytes);
size_t                 tern_base_ring_cells_bytes(size_t cells);

/* The same shape for two cores that share the memory: messages that follow each other do not lie side by side.
 * Otherwise a core that reads one has the next lines fetched too, out of the other's cache, before they are written. */
struct tern_ring_shape tern_base_ring_spread(struct tern_ring_shape shape);

/* The longest data that always finds room in time. */
size_t tern_base_ring_max_data(struct tern_ring_shape shape);

/* Begin on memory that is zero and aligned to a line. */
void tern_base_ring_producer_init(struct tern_ring_producer *p, void *memory, struct tern_ring_shape shape);
void tern_base_ring_consumer_init(struct tern_ring_consumer *c, void *memory, struct tern_ring_shape shape);

/* Of a cell of one's own that is published and not to be skipped: bytes of data. And of any: bytes that come free. */
static inline uint32_t tern_base_ring_cell_len(const struct tern_ring_cell *cell)
{
    return cell->len == TERN_RING_NONE ? 0 : cell->len;
}

static inline uint32_t tern_base_ring_cell_span(const struct tern_ring_cell *cell)
{
    return cell->len == 0 ? 0 : cell->span;
}

/* A cell that was taken, and what it will say. Its line is not touched before it is published: it is the one that the
 * consumer looks at, and stores to it hold up those that follow until it has come over. */
struct tern_ring_claim {
    struct tern_ring_cell *cell;
    uint32_t               at, span, lap;
};

/* Room for a message. */
struct tern_ring_reservation {
    struct tern_ring_claim claim;
    unsigned char         *data; /* NULL where none was asked for */
    size_t                 len;  /* bytes that data may have */
};

/* Take a cell, and room for at least min and at most max bytes of data if max is not 0. False: there is none now. */
bool tern_base_ring_reserve(struct tern_ring_producer *p, size_t min, size_t max, struct tern_ring_reservation *out);

/* Publish a message with len bytes of data (at most its room), or as one to be skipped. */
static inline void tern_base_ring_publish(const struct tern_ring_claim *place, size_t len)
{
    struct tern_ring_cell *cell = place->cell;

    cell->len = len == 0 && place->span > 0 ? TERN_RING_NONE : (uint32_t)len;
    cell->at = place->at;
    cell->span = place->span;
    /* release: the message before its mark. Pairs with the acquire in tern_base_ring_peek(). */
    atomic_store_explicit(&cell->mark, place->lap, memory_order_release);
}

static inline void tern_base_ring_skip(const struct tern_ring_claim *place)
{
    tern_base_ring_publish(place, TERN_RING_SKIP);
}

/* Look how far the consumer has come. Whether there is a cell now. */
bool tern_base_ring_refresh(struct tern_ring_producer *p);

static inline struct tern_ring_cell *tern_base_ring_cell(struct tern_ring *ring, uint64_t position,
                                                         struct tern_ring_shape shape)
{
    return &ring->cell[position * shape.step & (shape.cells - 1)];
}

#define TERN_RING_PREFETCH_DISTANCE 4 /* messages */

/* Have the line of a message to come fetched. A hint, for who knows that it was sent already. */
static inline void tern_base_ring_prefetch(const struct tern_ring_consumer *c)
{
    __builtin_prefetch(tern_base_ring_cell(c->ring, c->next + TERN_RING_PREFETCH_DISTANCE, c->shape));
}

static inline uint32_t tern_base_ring_lap(uint64_t position, struct tern_ring_shape shape)
{
    return (uint32_t)(position >> shape.shift) + 1;
}

static inline bool tern_base_ring_has_cell(const struct tern_ring_producer *p)
{
    return p->next - p->cells_done < p->shape.cells;
}

/* A mark, and a length of 0, as they lie in a cell. */
static inline uint64_t tern_base_ring_mark_without_data(uint32_t mark)
{
    const uint32_t both[2] = { mark, 0 };
    uint64_t       word;

    memcpy(&word, both, sizeof(word));
    return word;
}

/* A few bytes, where they are written in words and read in words; without a call. */
static inline __attribute__((always_inline)) void tern_base_ring_copy_words(unsigned char       *to,
                                                                            const unsigned char *from, size_t len)
{
    for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t), to += sizeof(uint64_t), from += sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    if (TERN_LIKELY(len == 0))
        return;
    if (len & 4) {
        memcpy(to, from, 4);
        to += 4, from += 4;
    }
    if (len & 2) {
        memcpy(to, from, 2);
        to += 2, from += 2;
    }
    if (len & 1)
        *to = *from;
}

/* Take a cell, write a message of one word and count half words into it, and publish it. False: there is no cell.
 * pairs: they were written as words; what was written in pieces is read in pieces, or it has to reach memory first. */
static inline bool tern_base_ring_push(struct tern_ring_producer *p, uint64_t first, const uint32_t *rest,
                                       unsigned count, bool pairs)
{
    uint64_t               next = p->next;
    struct tern_ring_cell *cell = tern_base_ring_cell(p->ring, next, p->shape);
    uint32_t               lap = tern_base_ring_lap(next, p->shape);
    uint32_t              *to = (uint32_t *)(void *)(cell->head + sizeof(first));
    unsigned               i = 0;

    if (TERN_UNLIKELY(!tern_base_ring_has_cell(p)) && !tern_base_ring_refresh(p))
        return false;
    p->next = next + 1;
    *(uint64_t *)(void *)cell->head = first;
    for (; pairs && i + 2 <= count; i += 2)
        memcpy(to + i, rest + i, 2 * sizeof(*rest));
    for (; i < count; i++)
        to[i] = rest[i];
    /* release: the message before its mark. Pairs with the acquire in tern_base_ring_peek(). */
    atomic_store_explicit(&cell->mark_len, tern_base_ring_mark_without_data(lap), memory_order_release);
    return true;
}

/* The same for two words and up to len bytes behind them, by few stores: a core has room for so many that wait for a
 * line to come over, and the more messages these are, the more lines come at once. */
static inline __attribute__((always_inline)) void tern_base_ring_push_short(struct tern_ring_producer *p,
                                                                            uint64_t first, uint64_t second,
                                                                            const void *data, size_t len)
{
    uint64_t               next = p->next;
    struct tern_ring_cell *cell = tern_base_ring_cell(p->ring, next, p->shape);
    uint32_t               lap = tern_base_ring_lap(next, p->shape);

    p->next = next + 1;
    *(tern_v64 *)(void *)cell->head = (tern_v64){ first, second };
    tern_base_ring_copy_words(cell->head + sizeof(tern_v64), data, len);
    /* release: the message before its mark. Pairs with the acquire in tern_base_ring_peek(). */
    atomic_store_explicit(&cell->mark_len, tern_base_ring_mark_without_data(lap), memory_order_release);
}

/* What several threads of the producing process share. */
struct tern_ring_mp_producer {
    struct tern_biased_lock   lock;
    struct tern_ring_producer producer;
};

/* The oldest message. What is checked here is a copy: the producer can change its cell at any time. */
struct tern_ring_item {
    const unsigned char *head;
    const unsigned char *data; /* NULL where len is 0 */
    uint32_t             len, span;
};

/* Done with the message that peek gave. */
static inline void tern_base_ring_consume(struct tern_ring_consumer *c, uint32_t span)
{
    uint64_t next = ++c->next;

    /* release: our reads of data and cell before the producer writes them again. Pairs with refresh(). */
    if (span > 0) {
        c->data_done += span;
        atomic_store_explicit(&c->ring->data_done, c->data_done, memory_order_release);
    }
    atomic_store_explicit(&c->ring->cells_done, next, memory_order_release);
}

/* The same for a message that has data or is to be skipped: c is at its cell. */
int tern_base_ring_peek_data(struct tern_ring_consumer *c, struct tern_ring_item *out);

/* 1: *out is the oldest message. 0: none. -1: the memory makes no sense. */
static inline int tern_base_ring_peek(struct tern_ring_consumer *c, struct tern_ring_item *out)
{
    const struct tern_ring_cell *cell = tern_base_ring_cell(c->ring, c->next, c->shape);
    uint32_t                     lap = tern_base_ring_lap(c->next, c->shape);
    /* acquire: the message after its mark. Pairs with the releases in tern_base_ring_publish() and _put(). */
    uint32_t                     mark = atomic_load_explicit(&cell->mark, memory_order_acquire);

    if (mark != lap)
        return mark == lap - 1 ? 0 : -1;
    if (TERN_UNLIKELY(*(const volatile uint32_t *)&cell->len != 0))
        return tern_base_ring_peek_data(c, out);
    *out = (struct tern_ring_item){ cell->head, NULL, 0, 0 };
    return 1;
}

/* The mark that the message of a position will change, and what it is until then. */
static inline const _Atomic uint32_t *tern_base_ring_mark(const struct tern_ring_consumer *c, uint64_t position,
                                                          uint32_t *idle)
{
    *idle = tern_base_ring_lap(position, c->shape) - 1;
    return &tern_base_ring_cell(c->ring, position, c->shape)->mark;
}

/* Whether the producer has found no room since the last call: wake it. Asked after consuming. Why there is no fence
 * between: base/wake_request.h. */
static inline bool tern_base_ring_producer_waits(const struct tern_ring_consumer *c)
{
    if (TERN_LIKELY(atomic_load_explicit(&c->ring->producer_waits, memory_order_relaxed) == 0))
        return false;
    atomic_store_explicit(&c->ring->producer_waits, 0, memory_order_relaxed);
    return true;
}

#endif
