/* spsc_ring.h: a single-producer single-consumer (SPSC) ring of messages in memory that both sides map.
 *
 * A message occupies one cell, a cache line with 48 bytes of payload. A longer message also occupies a contiguous run
 * of bytes in the data area behind the cells. The mark of a cell is the number of the lap in which the cell was
 * published, so the consumer polls the same line that delivers the message, and cells never need clearing: a short
 * message costs one cache miss. Data never wraps: a run that does not fit before the end of the data area starts at its
 * beginning.
 *
 * Several messages may be reserved and not yet published at the same time; the consumer sees messages in the order of
 * their reservation. Neither side ever blocks. The producer and consumer structs are private to their sides; only
 * struct tern_ring is shared.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/biased_lock.h"
#include "base/simd.h"

#define TERN_RING_LINE 64
#define TERN_RING_HEAD 48 /* bytes of a message that its cell contains */

struct tern_ring_cell {
    _Alignas(TERN_RING_LINE) union {
        _Atomic uint64_t mark_len; /* mark and len, to be written with one store */
        struct {
            _Atomic uint32_t mark; /* lap in which the cell was published, counted from 1 */
            uint32_t         len;  /* bytes of data, or TERN_RING_SKIP or TERN_RING_NONE */
        };
    };
    uint32_t      at;   /* offset of the data in the data area. at and span are not written if len is 0 */
    uint32_t      span; /* bytes of the data area that become free with this cell */
    unsigned char head[TERN_RING_HEAD];
};
_Static_assert(sizeof(struct tern_ring_cell) == TERN_RING_LINE, "one cell is one cache line");

#define TERN_RING_SKIP UINT32_MAX       /* the consumer must skip this cell */
#define TERN_RING_NONE (UINT32_MAX - 1) /* no data, but span bytes of the data area become free */

struct tern_ring {
    _Alignas(TERN_RING_LINE) _Atomic uint64_t cells_done; /* number of consumed cells. Writer: the consumer */
    _Atomic uint64_t      data_done;                      /* sum of their spans. Writer: the consumer */
    _Atomic uint32_t      producer_waits; /* 1: the producer found the ring full (base/wake_request.h). Writers: both */
    struct tern_ring_cell cell[];         /* followed by the data area. Writer: the producer */
};

/* How the memory of a ring is divided. Both sides compute the same shape from the size of the memory. */
struct tern_ring_shape {
    uint32_t cells; /* a power of two; 0: the memory is too small */
    uint32_t shift; /* log2 of cells */
    uint32_t data;  /* bytes of the data area, a multiple of a line */
    uint32_t step;  /* distance between the cells of successive messages; odd */
};

struct tern_ring_producer {
    struct tern_ring      *ring;
    struct tern_ring_shape shape;
    unsigned char         *data;
    uint64_t               next;                  /* position of the next cell to reserve */
    uint64_t               taken;                 /* sum of the spans of all reserved cells */
    uint32_t               at;                    /* offset where the next run of data may start */
    uint64_t               cells_done, data_done; /* as last read from the ring */
};

struct tern_ring_consumer {
    struct tern_ring      *ring;
    struct tern_ring_shape shape;
    unsigned char         *data;
    uint64_t               next; /* position of the next cell to consume */
    uint64_t               data_done;
};

/* Compute the shape of a ring with a data area in memory of this size. */
struct tern_ring_shape tern_base_ring_shape(size_t bytes);

/* Compute the shape of a ring with a data area and more cells than fit into an L1 cache, if the memory is large enough:
 * for a consumer that does not run for a while, because it shares its core with the producer. */
struct tern_ring_shape tern_base_ring_shape_long(size_t bytes);

/* Compute the shape of a ring without a data area: all of the memory is used for cells. */
struct tern_ring_shape tern_base_ring_shape_cells(size_t bytes);

/* Return the size of a ring without a data area that has at least this many cells. */
size_t tern_base_ring_cells_bytes(size_t cells);

/* Return the shape with successive messages spread out, so that they are not in adjacent lines. Otherwise the hardware
 * prefetcher of the consumer's core pulls the following lines out of the producer's cache before they are written. */
struct tern_ring_shape tern_base_ring_spread(struct tern_ring_shape shape);

/* Return the largest amount of data for which a reservation always succeeds eventually. */
size_t tern_base_ring_max_data(struct tern_ring_shape shape);

/* Initialize the private struct of one side. The memory must be zero and aligned to a line. */
void tern_base_ring_producer_init(struct tern_ring_producer *p, void *memory, struct tern_ring_shape shape);
void tern_base_ring_consumer_init(struct tern_ring_consumer *c, void *memory, struct tern_ring_shape shape);

/* Return the bytes of data of a cell, which must be published, not a TERN_RING_SKIP cell, and in memory that no other
 * process writes. */
static inline uint32_t tern_base_ring_cell_len(const struct tern_ring_cell *cell)
{
    return cell->len == TERN_RING_NONE ? 0 : cell->len;
}

/* Return the bytes of the data area that become free with a published cell. */
static inline uint32_t tern_base_ring_cell_span(const struct tern_ring_cell *cell)
{
    return cell->len == 0 ? 0 : cell->span;
}

/* A reserved cell, and the values that publishing writes into it. The producer does not write the cell's line before it
 * publishes the cell: the consumer polls that line, and a store to it delays all later stores until the line has been
 * transferred. */
struct tern_ring_claim {
    struct tern_ring_cell *cell;
    uint32_t               at, span, lap;
};

/* Space reserved for a message. */
struct tern_ring_reservation {
    struct tern_ring_claim claim;
    unsigned char         *data; /* NULL if no data was requested */
    size_t                 len;  /* capacity of data in bytes */
};

/* Reserve a cell and, if max is not 0, between min and max bytes of the data area. Returns false if the ring is full;
 * the consumer is then asked to wake the producer. */
bool tern_base_ring_reserve(struct tern_ring_producer *p, size_t min, size_t max, struct tern_ring_reservation *out);

/* Publish a message with len bytes of data, at most as many as were reserved. */
static inline void tern_base_ring_publish(const struct tern_ring_claim *claim, size_t len)
{
    struct tern_ring_cell *cell = claim->cell;

    cell->len = len == 0 && claim->span > 0 ? TERN_RING_NONE : (uint32_t)len;
    cell->at = claim->at;
    cell->span = claim->span;
    /* release: the message before its mark. Pairs with the acquire in tern_base_ring_peek(). */
    atomic_store_explicit(&cell->mark, claim->lap, memory_order_release);
}

/* Publish a reserved cell as one that the consumer skips. */
static inline void tern_base_ring_skip(const struct tern_ring_claim *claim)
{
    tern_base_ring_publish(claim, TERN_RING_SKIP);
}

/* Update the producer's view of the consumer's progress. Returns whether there is a free cell; if there is none, the
 * consumer is asked to wake the producer. */
bool tern_base_ring_refresh(struct tern_ring_producer *p);

/* Return the cell of the message at a position. */
static inline struct tern_ring_cell *tern_base_ring_cell(struct tern_ring *ring, uint64_t position,
                                                         struct tern_ring_shape shape)
{
    return &ring->cell[position * shape.step & (shape.cells - 1)];
}

#define TERN_RING_PREFETCH_DISTANCE 4 /* messages */

/* Prefetch the line of a later message. This is a hint for a consumer that knows that the message has been sent. */
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

/* Return the value of mark_len for a mark and a len of 0. */
static inline uint64_t tern_base_ring_mark_without_data(uint32_t mark)
{
    const uint32_t both[2] = { mark, 0 };
    uint64_t       word;

    memcpy(&word, both, sizeof(word));
    return word;
}

/* Copy a few bytes without a function call, in units of words where possible: the source is written, and the copy is
 * read, in words. */
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

/* Return the cell of the next message, which the caller knows to be free (tern_base_ring_has_cell). The caller writes a
 * message without data into its head and calls tern_base_ring_push_written(). */
static inline struct tern_ring_cell *tern_base_ring_next_cell(const struct tern_ring_producer *p)
{
    return tern_base_ring_cell(p->ring, p->next, p->shape);
}

/* Publish the message that was written into the next cell. The producer's own record is updated afterwards, because a
 * store before the publishing one delays the message. */
static inline void tern_base_ring_push_written(struct tern_ring_producer *p, struct tern_ring_cell *cell)
{
    uint64_t next = p->next;
    uint64_t mark = tern_base_ring_mark_without_data(tern_base_ring_lap(next, p->shape));

    /* release: the message before its mark. Pairs with the acquire in tern_base_ring_peek(). */
    atomic_store_explicit(&cell->mark_len, mark, memory_order_release);
    p->next = next + 1;
}

/* Reserve a cell, write a message of one 64-bit word and count 32-bit words into it, and publish it. Returns false if
 * there is no free cell. pairs tells that the caller wrote rest in units of 64 bits. A load must not be wider than the
 * store that wrote its data, because store forwarding fails then. */
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

/* Reserve a cell, write a message of two 64-bit words and len bytes into it, and publish it. The caller must know that
 * there is a free cell (tern_base_ring_has_cell). The function uses few stores: the store buffer of a core is limited,
 * and the more messages fit into it, the more line transfers overlap. */
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

/* A producer that several threads of a process share. The lock guards producer. */
struct tern_ring_mp_producer {
    struct tern_biased_lock   lock;
    struct tern_ring_producer producer;
};

/* A message as the consumer sees it. data, len and span are validated copies: the producer can change the cell at any
 * time. */
struct tern_ring_item {
    const unsigned char *head;
    const unsigned char *data; /* NULL if len is 0 */
    uint32_t             len, span;
};

/* Remove the message that peek returned from the ring. span is the one that peek returned. */
static inline void tern_base_ring_consume(struct tern_ring_consumer *c, uint32_t span)
{
    uint64_t next = ++c->next;

    /* release: the consumer's reads of data and cell before the producer overwrites them. Pairs with the acquires in
     * refresh(). */
    if (span > 0) {
        c->data_done += span;
        atomic_store_explicit(&c->ring->data_done, c->data_done, memory_order_release);
    }
    atomic_store_explicit(&c->ring->cells_done, next, memory_order_release);
}

/* The out-of-line part of tern_base_ring_peek(), for a message that has data or is to be skipped. Returns the same
 * values. */
int tern_base_ring_peek_data(struct tern_ring_consumer *c, struct tern_ring_item *out);

/* Peek at the oldest message without removing it. Returns 1 and fills *out if there is a message, 0 if the ring is
 * empty, and -1 if the shared memory is corrupt. */
static inline int tern_base_ring_peek(struct tern_ring_consumer *c, struct tern_ring_item *out)
{
    const struct tern_ring_cell *cell = tern_base_ring_cell(c->ring, c->next, c->shape);
    uint32_t                     lap = tern_base_ring_lap(c->next, c->shape);
    /* acquire: the message after its mark. Pairs with the releases in tern_base_ring_publish(), tern_base_ring_push(),
     * tern_base_ring_push_short() and tern_base_ring_push_written(). */
    uint32_t                     mark = atomic_load_explicit(&cell->mark, memory_order_acquire);

    if (mark != lap)
        return mark == lap - 1 ? 0 : -1;
    if (TERN_UNLIKELY(*(const volatile uint32_t *)&cell->len != 0))
        return tern_base_ring_peek_data(c, out);
    *out = (struct tern_ring_item){ cell->head, NULL, 0, 0 };
    return 1;
}

/* Return the address of the mark that the message at a position will change, and set *idle to its value until then. */
static inline const _Atomic uint32_t *tern_base_ring_mark(const struct tern_ring_consumer *c, uint64_t position,
                                                          uint32_t *idle)
{
    *idle = tern_base_ring_lap(position, c->shape) - 1;
    return &tern_base_ring_cell(c->ring, position, c->shape)->mark;
}
