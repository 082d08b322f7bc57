/* layout.c: layouts as streams. See layout.h.
 *
 * A range of a strided stream is a sequence of boxes: the rest of the run in which the range begins; then, going
 * outward through the dimensions, the steps that complete each dimension; as many whole steps of the outermost
 * dimension as there are; and, going inward again, the remaining steps. Each box is one call of the copy loops. The
 * buffer is contiguous.
 */
#include "op/shape/layout.h"

#include <string.h>
#include <tern/rma.h>

#include "base/bits.h"
#include "base/read_once.h"
#include "op/shape/copy.h"

static void add_dim(struct tern_layout *side, struct tern_layout_dim *dim, uint64_t count, int64_t step)
{
    struct tern_layout_dim *last = side->dims > 0 ? &dim[side->dims - 1] : NULL;

    if (!last && (uint64_t)step == side->run)
        side->run *= count;
    else if (last && (uint64_t)step == (uint64_t)last->step * last->count)
        last->count *= count;
    else
        dim[side->dims++] = (struct tern_layout_dim){ count, step };
}

void tern_op_layout_make(struct tern_layout *side, const struct tern_stride *s, bool remote, uint64_t first,
                         struct tern_layout_dim *dim)
{
    *side = (struct tern_layout){ .kind = TERN_LAYOUT_STRIDED,
                                  .total = s->total,
                                  .run = s->run,
                                  .first = first + (uint64_t)(remote ? s->remote : s->local),
                                  .dim = dim };
    for (unsigned i = 0; i < s->dims; i++)
        add_dim(side, dim, s->dim[i].count, remote ? s->dim[i].remote : s->dim[i].local);
}

bool tern_op_layout_valid(const struct tern_layout *side, uint64_t size)
{
    uint64_t bytes = side->run, behind = side->run, more;

    if (side->run == 0)
        return false;
    for (unsigned i = 0; i < side->dims; i++) {
        const struct tern_layout_dim *d = &side->dim[i];

        if (d->count == 0 || d->step < 0 || __builtin_mul_overflow(bytes, d->count, &bytes) ||
            __builtin_mul_overflow((uint64_t)d->step, d->count - 1, &more) ||
            __builtin_add_overflow(behind, more, &behind))
            return false;
    }
    return bytes == side->total && tern_base_covers(size, side->first, behind);
}

/* ---- runs ---- */

/* Read an entry. A list from a message may have any alignment. */
static struct tern_layout_extent entry(const struct tern_layout *side, uint64_t index)
{
    struct tern_layout_extent e = { 0, side->run };

    if (side->kind == TERN_LAYOUT_VECTOR)
        tern_base_copy_once(&e, (const unsigned char *)side->list + index * sizeof(e), sizeof(e));
    else
        tern_base_copy_once(&e.at, (const unsigned char *)side->list + index * sizeof(e.at), sizeof(e.at));
    e.at += side->first;
    return e;
}

static uint64_t strided_run(const struct tern_layout *side, uint64_t at, uint64_t *where)
{
    uint64_t within = at % side->run, number = at / side->run;

    *where = side->first + within;
    for (unsigned i = 0; i < side->dims && number > 0; i++) {
        *where += number % side->dim[i].count * (uint64_t)side->dim[i].step;
        number /= side->dim[i].count;
    }
    return side->run - within;
}

/* Find the entry at the cursor, and move the cursor past entries that are consumed or empty. Each entry is read once,
 * because other processes may be able to write the list. Returns false at the end of the list. */
static bool settle(const struct tern_layout *side, struct tern_cursor *cursor, struct tern_layout_extent *e)
{
    for (; cursor->index < side->count; cursor->index++) {
        *e = entry(side, cursor->index);
        if (cursor->within < e->len)
            return true;
        cursor->within -= e->len;
    }
    return false;
}

uint64_t tern_op_layout_run(const struct tern_layout *side, const struct tern_cursor *cursor, uint64_t *where)
{
    struct tern_cursor        at = *cursor;
    struct tern_layout_extent e;

    if (side->kind == TERN_LAYOUT_STRIDED)
        return strided_run(side, cursor->at, where);
    if (!settle(side, &at, &e))
        return 0;
    *where = e.at + at.within;
    return e.len - at.within;
}

void tern_op_layout_skip(const struct tern_layout *side, struct tern_cursor *cursor, uint64_t len)
{
    struct tern_layout_extent e;

    cursor->at += len;
    if (side->kind == TERN_LAYOUT_STRIDED)
        return;
    cursor->within += len;
    settle(side, cursor, &e);
}

/* ---- packing ---- */

/* The two ends of the copies: the layout's memory and the buffer. `packs` gives the direction. */
struct packing {
    const struct tern_layout        *side;
    const struct tern_layout_memory *memory;
    unsigned char                   *buffer;
    bool                             packs; /* true: copy into the buffer */
};

/* Return the address in the layout's memory at an offset. */
static unsigned char *address_of(const struct packing *p, uint64_t where)
{
    return (unsigned char *)((uintptr_t)p->memory->base + where); /* base may be NULL */
}

static void copy_run(struct packing *p, uint64_t where, uint64_t len)
{
    unsigned char *there = address_of(p, where);

    if (p->packs)
        tern_copy(p->buffer, there, len);
    else
        tern_copy(there, p->buffer, len);
    p->buffer += len;
}

/* Copy the `inner` innermost dimensions, and `count` steps of the next dimension. */
static void copy_box(struct packing *p, uint64_t where, unsigned inner, uint64_t count)
{
    struct tern_copy_dim dim[TERN_STRIDE_DIMS];
    unsigned char       *there = address_of(p, where);
    uint64_t             bytes = p->side->run;

    for (unsigned i = 0; i <= inner; i++) {
        const struct tern_layout_dim *d = &p->side->dim[i];
        uint64_t                      steps = i < inner ? d->count : count;

        dim[i].count = steps;
        dim[i].to = p->packs ? (int64_t)bytes : d->step;
        dim[i].from = p->packs ? d->step : (int64_t)bytes;
        bytes *= steps;
    }
    if (p->packs)
        tern_op_copy(p->buffer, there, p->side->run, inner + 1, dim, true);
    else
        tern_op_copy(there, p->buffer, p->side->run, inner + 1, dim, true);
    p->buffer += bytes;
}

/* Copy `runs` runs of the first `dims` dimensions at an offset, starting with run number `first`. */
static void copy_range(struct packing *p, uint64_t where, unsigned dims, uint64_t first, uint64_t runs)
{
    const struct tern_layout_dim *d;
    uint64_t                      inner = 1, part;

    if (runs == 0)
        return;
    if (dims == 0) {
        copy_run(p, where, p->side->run);
        return;
    }
    d = &p->side->dim[dims - 1];
    for (unsigned i = 0; i < dims - 1; i++)
        inner *= p->side->dim[i].count;
    where += first / inner * (uint64_t)d->step;
    if ((first %= inner) > 0) {
        part = inner - first < runs ? inner - first : runs;
        copy_range(p, where, dims - 1, first, part);
        where += (uint64_t)d->step;
        runs -= part;
    }
    if ((part = runs / inner) > 0)
        copy_box(p, where, dims - 1, part);
    copy_range(p, where + part * (uint64_t)d->step, dims - 1, 0, runs - part * inner);
}

static void copy_strided(struct packing *p, uint64_t at, uint64_t len)
{
    uint64_t where, run = p->side->run, part;

    if (at % run > 0) { /* in the middle of a run */
        part = strided_run(p->side, at, &where);
        part = part < len ? part : len;
        copy_run(p, where, part);
        at += part;
        len -= part;
    }
    copy_range(p, p->side->first, p->side->dims, at / run, len / run);
    if (len % run > 0) {
        strided_run(p->side, at + len / run * run, &where);
        copy_run(p, where, len % run);
    }
}

static bool copy_listed(struct packing *p, struct tern_cursor *cursor, uint64_t len)
{
    struct tern_layout_extent e;

    while (len > 0) {
        uint64_t part;

        if (!settle(p->side, cursor, &e) || !tern_base_covers(p->memory->size, e.at, e.len))
            return false;
        part = e.len - cursor->within < len ? e.len - cursor->within : len;
        copy_run(p, e.at + cursor->within, part);
        cursor->within += part;
        len -= part;
    }
    return true;
}

static bool copy_stream(struct packing *p, struct tern_cursor *cursor, uint64_t len)
{
    uint64_t at = cursor->at;

    cursor->at += len;
    if (p->side->kind != TERN_LAYOUT_STRIDED)
        return copy_listed(p, cursor, len);
    copy_strided(p, at, len);
    return true;
}

bool tern_op_layout_pack(const struct tern_layout *side, const struct tern_layout_memory *memory,
                         struct tern_cursor *cursor, uint64_t len, unsigned char *buffer)
{
    struct packing p = { side, memory, buffer, true };

    return copy_stream(&p, cursor, len);
}

bool tern_op_layout_unpack(const struct tern_layout *side, const struct tern_layout_memory *memory,
                           struct tern_cursor *cursor, uint64_t len, const unsigned char *buffer)
{
    struct packing p = { side, memory, (unsigned char *)(uintptr_t)buffer, false };

    return copy_stream(&p, cursor, len);
}
