/* layout.c: layouts, which are boxes or lists of pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"

struct tern_mpi_layout tern_mpi_layout_block(ptrdiff_t at, size_t len)
{
    return (struct tern_mpi_layout){ .bytes = len, .at = at, .block = len };
}

size_t tern_mpi_layout_blocks(const struct tern_mpi_layout *layout)
{
    size_t blocks = layout->bytes > 0;

    if (layout->pieces != NULL)
        return layout->count;
    for (unsigned i = 0; i < layout->dims; i++)
        blocks *= layout->dim[i].count;
    return blocks;
}

/* Return whether len bytes at a displacement are within TERN_MPI_REACH. */
static bool fits(ptrdiff_t at, size_t len)
{
    return at >= -TERN_MPI_REACH && at <= TERN_MPI_REACH && len <= (size_t)(TERN_MPI_REACH - at);
}

bool tern_mpi_layout_fits(const struct tern_mpi_layout *layout)
{
    ptrdiff_t low = layout->at, high = layout->at, way;

    for (size_t i = 0; layout->pieces != NULL && i < layout->count; i++) {
        if (!fits(layout->pieces[i].at, layout->pieces[i].len))
            return false;
    }
    if (layout->pieces != NULL || layout->bytes == 0)
        return true;
    for (unsigned i = 0; i < layout->dims; i++) {
        ptrdiff_t *end = layout->dim[i].stride < 0 ? &low : &high;

        if (__builtin_mul_overflow((ptrdiff_t)layout->dim[i].count - 1, layout->dim[i].stride, &way) ||
            __builtin_add_overflow(*end, way, end))
            return false;
    }
    return fits(low, layout->block) && fits(high, layout->block);
}

void tern_mpi_layout_free(struct tern_mpi_layout *layout)
{
    free(layout->pieces);
    *layout = (struct tern_mpi_layout){ .bytes = 0 };
}

/* Make space for more pieces. */
static bool reserve(struct tern_mpi_layout *list, size_t more)
{
    size_t                 space = list->space != 0 ? list->space : 8;
    struct tern_mpi_piece *pieces;

    if (more > SIZE_MAX / sizeof *pieces / 2 - list->count)
        return false;
    if (list->pieces != NULL && list->count + more <= list->space)
        return true;
    while (space < list->count + more)
        space *= 2;
    pieces = realloc(list->pieces, space * sizeof *pieces);
    if (pieces == NULL)
        return false;
    list->pieces = pieces;
    list->space = space;
    return true;
}

/* Add a piece, or extend the last piece. The caller guarantees that there is space. */
static void add(struct tern_mpi_layout *list, ptrdiff_t at, size_t len)
{
    struct tern_mpi_piece *last = list->pieces + list->count - (list->count > 0);

    list->bytes += len;
    if (list->count > 0 && last->at + (ptrdiff_t)last->len == at)
        last->len += len;
    else
        list->pieces[list->count++] = (struct tern_mpi_piece){ at, len };
}

/* Add all blocks of a layout to a list, which the layout may not be. */
static bool add_all(struct tern_mpi_layout *list, const struct tern_mpi_layout *more, ptrdiff_t at)
{
    struct tern_mpi_cursor cursor = tern_mpi_cursor_begin(more, 1, 0);
    struct tern_mpi_piece  piece;

    if (!reserve(list, tern_mpi_layout_blocks(more)))
        return false;
    while (tern_mpi_cursor_next(&cursor, &piece))
        add(list, at + piece.at, piece.len);
    return true;
}

bool tern_mpi_layout_copy(struct tern_mpi_layout *to, const struct tern_mpi_layout *from)
{
    *to = *from;
    if (from->pieces == NULL)
        return true;
    to->pieces = malloc(from->count * sizeof *to->pieces);
    if (to->pieces == NULL)
        return false;
    memcpy(to->pieces, from->pieces, from->count * sizeof *to->pieces);
    to->space = from->count;
    return true;
}

static bool repeat_list(struct tern_mpi_layout *layout, size_t count, ptrdiff_t stride)
{
    struct tern_mpi_layout list = { .bytes = 0 };
    size_t                 blocks = tern_mpi_layout_blocks(layout);

    if (blocks != 0 && count > SIZE_MAX / sizeof *list.pieces / blocks)
        return false;
    if (!reserve(&list, blocks * count))
        return false;
    for (size_t i = 0; i < count; i++)
        (void)add_all(&list, layout, (ptrdiff_t)i * stride); /* there is space */
    free(layout->pieces);
    *layout = list;
    tern_mpi_layout_tidy(layout);
    return true;
}

bool tern_mpi_layout_repeat(struct tern_mpi_layout *layout, size_t count, ptrdiff_t stride)
{
    struct tern_mpi_dim *outer = layout->dim + layout->dims - (layout->dims > 0);
    size_t               bytes;

    if (count == 0 || layout->bytes == 0) {
        tern_mpi_layout_free(layout);
        return true;
    }
    if (count == 1)
        return true;
    if (__builtin_mul_overflow(layout->bytes, count, &bytes) || bytes > (size_t)TERN_MPI_REACH)
        return false;
    if (layout->pieces != NULL)
        return repeat_list(layout, count, stride);
    if (layout->dims == 0 && stride == (ptrdiff_t)layout->block) {
        layout->block *= count;
    } else if (layout->dims > 0 && stride == (ptrdiff_t)outer->count * outer->stride) {
        outer->count *= count;
    } else if (layout->dims < TERN_MPI_DIMS) {
        layout->dim[layout->dims++] = (struct tern_mpi_dim){ count, stride };
    } else {
        return repeat_list(layout, count, stride);
    }
    layout->bytes = bytes;
    return true;
}

bool tern_mpi_layout_append(struct tern_mpi_layout *layout, const struct tern_mpi_layout *more, ptrdiff_t at)
{
    struct tern_mpi_layout list = { .bytes = 0 };

    if (more->bytes == 0)
        return true;
    if (layout->bytes == 0) {
        tern_mpi_layout_free(layout);
        if (more->pieces == NULL) {
            *layout = *more;
            layout->at += at;
            return true;
        }
    } else if (layout->pieces == NULL) {
        if (!add_all(&list, layout, 0)) {
            tern_mpi_layout_free(&list);
            return false;
        }
        *layout = list;
    }
    return add_all(layout, more, at);
}

void tern_mpi_layout_tidy(struct tern_mpi_layout *layout)
{
    const struct tern_mpi_piece *pieces = layout->pieces;
    struct tern_mpi_layout       box;
    ptrdiff_t                    stride;

    if (pieces == NULL)
        return;
    stride = layout->count > 1 ? pieces[1].at - pieces[0].at : 0;
    for (size_t i = 1; i < layout->count; i++) {
        if (pieces[i].len != pieces[0].len || pieces[i].at - pieces[i - 1].at != stride)
            return;
    }
    box = tern_mpi_layout_block(pieces[0].at, pieces[0].len);
    (void)tern_mpi_layout_repeat(&box, layout->count, stride); /* a box needs no memory */
    tern_mpi_layout_free(layout);
    *layout = box;
}

struct tern_mpi_cursor tern_mpi_cursor_begin(const struct tern_mpi_layout *layout, size_t times, ptrdiff_t extent)
{
    return (struct tern_mpi_cursor){ .layout = layout, .times = layout->bytes != 0 ? times : 0, .extent = extent };
}

/* Move the cursor to the next repetition. */
static void again(struct tern_mpi_cursor *cursor)
{
    cursor->times--;
    cursor->base += cursor->extent;
    cursor->piece = 0;
}

bool tern_mpi_cursor_next(struct tern_mpi_cursor *cursor, struct tern_mpi_piece *piece)
{
    const struct tern_mpi_layout *layout = cursor->layout;
    unsigned                      i;

    if (cursor->times == 0)
        return false;
    if (layout->pieces != NULL) {
        *piece = layout->pieces[cursor->piece];
        piece->at += cursor->base;
        if (++cursor->piece == layout->count)
            again(cursor);
        return true;
    }
    *piece = (struct tern_mpi_piece){ cursor->base + layout->at, layout->block };
    for (i = 0; i < layout->dims; i++)
        piece->at += (ptrdiff_t)cursor->index[i] * layout->dim[i].stride;
    for (i = 0; i < layout->dims; i++) {
        if (++cursor->index[i] < layout->dim[i].count)
            return true;
        cursor->index[i] = 0;
    }
    again(cursor);
    return true;
}
