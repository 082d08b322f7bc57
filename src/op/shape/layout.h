/* layout.h: one side of a transfer that is not contiguous, as a stream of bytes.
 *
 * Whatever its shape, a side is a sequence of runs: contiguous bytes at some place of a memory. The two sides of a
 * transfer are streams of the same length, and byte n of one belongs to byte n of the other. So a transfer can be cut
 * anywhere, and each side can be packed and unpacked by itself: here by who started the transfer, there by its target.
 *
 * Places are counted from the beginning of a memory: a part of a region, or (from NULL on) this process.
 */
#ifndef TERN_OP_SHAPE_LAYOUT_H
#define TERN_OP_SHAPE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op/shape/stride.h"

enum tern_layout_kind { TERN_LAYOUT_STRIDED, TERN_LAYOUT_VECTOR, TERN_LAYOUT_INDEXED, TERN_LAYOUT_KINDS };

struct tern_layout_dim {
    uint64_t count; /* at least 1 */
    int64_t  step;  /* bytes */
};

/* An entry of a vector's list: as tern_piece and tern_extent. */
struct tern_layout_extent {
    uint64_t at, len;
} __attribute__((may_alias));
typedef uint64_t tern_layout_offset __attribute__((may_alias)); /* the same of an indexed list */

struct tern_layout {
    enum tern_layout_kind         kind;
    unsigned                      dims;  /* STRIDED */
    uint64_t                      total; /* bytes */
    uint64_t                      run;   /* STRIDED: bytes of a run. INDEXED: of an entry */
    uint64_t                      first; /* STRIDED: where the first run is */
    uint64_t                      count; /* lists: entries */
    const struct tern_layout_dim *dim;   /* STRIDED: [dims], the innermost first */
    const void *list; /* VECTOR: struct tern_layout_extent. INDEXED: tern_layout_offset; of any alignment */
};

/* Somewhere in the stream. All zero is its beginning. */
struct tern_cursor {
    uint64_t at;            /* bytes before it */
    uint64_t index, within; /* lists: the entry that it is in, and how many bytes of that lie before it */
};

/* Memory that a side lies in. */
struct tern_layout_memory {
    unsigned char *base;
    uint64_t       size; /* entries of lists that go beyond it are refused where they are met */
};

/* Bytes of the list that describes a side. */
static inline size_t tern_op_layout_list_bytes(const struct tern_layout *side)
{
    switch (side->kind) {
    case TERN_LAYOUT_VECTOR: return side->count * sizeof(struct tern_layout_extent);
    case TERN_LAYOUT_INDEXED: return side->count * sizeof(tern_layout_offset);
    default: return 0;
    }
}

/* One side of an optimised stride, its dimensions folded once more where this side permits it; first is where the input
 * has its first point. dim is room for as many dimensions as the stride has. */
void tern_op_layout_local(struct tern_layout *side, const struct tern_stride *stride, uint64_t first,
                          struct tern_layout_dim *dim);
void tern_op_layout_remote(struct tern_layout *side, const struct tern_stride *stride, uint64_t first,
                           struct tern_layout_dim *dim);

/* Whether a strided side that came from outside makes sense: its bytes are total, and all of them lie in size. */
bool tern_op_layout_valid(const struct tern_layout *side, uint64_t size);

/* The run at the mark: where it begins, and its bytes; 0: a list has no more. The mark is not at the end of a strided
 * side. */
uint64_t tern_op_layout_run(const struct tern_layout *side, const struct tern_cursor *mark, uint64_t *where);

/* Move the mark on by len bytes. */
void tern_op_layout_skip(const struct tern_layout *side, struct tern_cursor *mark, uint64_t len);

/* Copy len bytes of the stream between the side's memory and a buffer, and move the mark on. False: an entry does not
 * lie in the memory; what was before it has been copied. */
bool tern_op_layout_pack(const struct tern_layout *side, const struct tern_layout_memory *memory,
                         struct tern_cursor *mark, uint64_t len, unsigned char *buffer);
bool tern_op_layout_unpack(const struct tern_layout *side, const struct tern_layout_memory *memory,
                           struct tern_cursor *mark, uint64_t len, const unsigned char *buffer);

#endif
