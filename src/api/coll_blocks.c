/* coll_blocks.c: the lists of blocks that the program passes to collective calls: reading them, and whether blocks
 * overlap. A call may read memory several times, but memory that it writes must not overlap any other memory of the
 * call. */
#include <stdlib.h>

#include "api/check.h"
#include "api/coll.h"

/* ---- reading ---- */

tern_status tern_api_read_blocks(const tern_ctx *ctx, const tern_blocks *in, const char *what,
                                 struct tern_api_blocks *out)
{
    tern_blocks copy;
    int         size = ctx->team->size;

    *out = (struct tern_api_blocks){ .sum = 0 };
    if (!in)
        return tern_api_null(what, "blocks");
    if (!(in = TERN_API_SIZED(tern_blocks, in, &copy, what)))
        return TERN_ERR_ARG;
    if (!in->len)
        return tern_base_fail(TERN_ERR_ARG, "%s: the lengths of the blocks are NULL", what);
    if (!in->offset && !(out->offset = calloc((size_t)size, sizeof(size_t))))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for %d offsets", what, size);
    out->of = (struct tern_coll_blocks){ .len = in->len, .offset = in->offset ? in->offset : out->offset };
    for (int i = 0; i < size; i++) {
        size_t end;

        if (out->offset)
            out->offset[i] = out->sum;
        if (__builtin_add_overflow(out->of.offset[i], in->len[i], &end) || end > PTRDIFF_MAX ||
            __builtin_add_overflow(out->sum, in->len[i], &out->sum)) {
            tern_base_fail(TERN_ERR_RANGE, "%s: block %d of %zu bytes at offset %zu ends beyond the address space",
                           what, i, in->len[i], out->of.offset[i]);
            free(out->offset);
            return TERN_ERR_RANGE;
        }
    }
    return TERN_OK;
}

/* ---- overlaps ---- */

/* A block in memory. */
struct span {
    uintptr_t                    begin, end;
    bool                         written;
    int                          block;
    const struct tern_api_array *array;
};

/* Return whether the blocks follow each other in memory, in the order of their numbers, without overlapping. */
static bool is_ascending(const struct tern_api_array *a)
{
    size_t end = 0;

    for (int i = 0; i < a->count; i++) {
        if (a->len[i] > 0 && a->offset[i] < end)
            return false;
        end = a->len[i] > 0 ? a->offset[i] + a->len[i] : end;
    }
    return true;
}

/* The bytes from the start of the array to the end of its last block. */
static size_t bytes_of(const struct tern_api_array *a)
{
    size_t bytes = 0;

    for (int i = 0; i < a->count; i++)
        if (a->len[i] > 0 && a->offset[i] + a->len[i] > bytes)
            bytes = a->offset[i] + a->len[i];
    return bytes;
}

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Append the blocks of an array that are not empty. Returns the number of spans. */
static size_t append(struct span *span, size_t n, const struct tern_api_array *a, int written)
{
    for (int i = 0; i < a->count; i++) {
        uintptr_t begin = (uintptr_t)a->base + a->offset[i];

        if (a->len[i] > 0)
            span[n++] = (struct span){ begin, begin + a->len[i], a->written || i == written, i, a };
    }
    return n;
}

static tern_status overlap(const struct span *a, const struct span *b, const char *what)
{
    return tern_base_fail(TERN_ERR_ARG,
                          "%s: block %d of %s and block %d of %s overlap; memory that a call writes must not overlap "
                          "other memory of the call, unless the call is in place",
                          what, a->block, a->array->name, b->block, b->array->name);
}

/* Look for an overlap in the sorted blocks. */
static tern_status sweep(const struct span *span, size_t n, const char *what)
{
    const struct span *any = NULL, *written = NULL; /* the blocks that reach furthest so far */

    for (const struct span *s = span; s < span + n; s++) {
        if (written && s->begin < written->end)
            return overlap(written, s, what);
        if (s->written && any && s->begin < any->end)
            return overlap(any, s, what);
        if (!any || s->end > any->end)
            any = s;
        if (s->written)
            written = s;
    }
    return TERN_OK;
}

tern_status tern_api_blocks_apart(const struct tern_api_array *a, const struct tern_api_array *b, int same,
                                  const char *what)
{
    uintptr_t    x = (uintptr_t)a->base, y = (uintptr_t)b->base;
    size_t       a_bytes = bytes_of(a), b_bytes = bytes_of(b), n;
    struct span *span;
    tern_status  st;

    if (((!a->written && same < 0) || is_ascending(a)) && (!b->written || is_ascending(b)) &&
        (same >= 0 || a_bytes == 0 || b_bytes == 0 || x + a_bytes <= y || y + b_bytes <= x))
        return TERN_OK; /* otherwise the blocks may still be in the gaps between others */
    if (!(span = malloc(((size_t)a->count + (size_t)b->count) * sizeof(*span))))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory to compare %d blocks", what, a->count + b->count);
    n = append(span, 0, a, same);
    if (same < 0)
        n = append(span, n, b, -1);
    qsort(span, n, sizeof(*span), by_begin);
    st = sweep(span, n, what);
    free(span);
    return st;
}

tern_status tern_api_own_apart(const tern_ctx *ctx, const struct tern_coll_args *args, const void *array,
                               const struct tern_api_blocks *b)
{
    const size_t          none = 0;
    int                   me = ctx->team->rank;
    bool                  gathers = args->call == TERN_COLL_GATHERV || args->call == TERN_COLL_ALLGATHERV;
    const void           *own = gathers ? args->src : args->dst;
    const char           *many = gathers ? "the result" : "src", *single = gathers ? "src" : "the result";
    struct tern_api_array all = { array, b->of.len, b->of.offset, ctx->team->size, gathers, many };
    struct tern_api_array one = { own, &args->len, &none, 1, !gathers, single };
    bool                  same = args->len > 0 && (uintptr_t)own == (uintptr_t)array + b->of.offset[me];

    return tern_api_blocks_apart(&all, &one, same ? me : -1, args->what);
}
