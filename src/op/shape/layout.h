/* layout.h: one side of a noncontiguous transfer, as a stream of bytes.
 *
 * A layout of any kind is a sequence of runs: contiguous bytes at some offset in a memory. The two sides of a
 * transfer are streams of the same length, and byte n of one corresponds to byte n of the other. So a transfer can
 * be split anywhere, and each side can be packed and unpacked independently: the local side by the initiator, the
 * remote side by the target.
 *
 * Offsets count from the start of a memory, which is a part of a region or, starting at NULL, the address space of
 * this process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op/shape/stride.h"

enum tern_layout_kind { TERN_LAYOUT_STRIDED, TERN_LAYOUT_VECTOR, TERN_LAYOUT_INDEXED, TERN_LAYOUT_KINDS };

struct tern_layout_dim {
    uint64_t count; /* at least 1 */
    int64_t  step;  /* bytes */
};

/* An entry of a VECTOR list; same layout as tern_piece and tern_extent. */
struct tern_layout_extent {
    uint64_t at, len;
} __attribute__((may_alias));
typedef uint64_t tern_layout_offset __attribute__((may_alias)); /* an entry of an INDEXED list */

struct tern_layout {
    enum tern_layout_kind kind;
    unsigned              dims;        /* STRIDED: number of dimensions */
    uint64_t              total;       /* length of the stream in bytes */
    uint64_t              run;         /* STRIDED: bytes of a run. INDEXED: bytes of an entry */
    uint64_t              first;       /* STRIDED: offset of the first run. Lists: added to each offset, modulo 2^64 */
    uint64_t              count;       /* lists: number of entries */
    const struct tern_layout_dim *dim; /* STRIDED: [dims], innermost first */
    const void *list; /* VECTOR: struct tern_layout_extent. INDEXED: tern_layout_offset. Any alignment */
};

/* A position in the stream. All fields zero is the start of the stream. */
struct tern_cursor {
    uint64_t at;            /* bytes before the cursor */
    uint64_t index, within; /* lists: the current entry, and the bytes of this entry before the cursor */
};

/* The memory that a layout refers to. */
struct tern_layout_memory {
    unsigned char *base;
    uint64_t       size; /* a list entry beyond this size is rejected when it is reached */
};

/* Return the size in bytes of the list that describes a layout; 0 for a strided layout. */
static inline size_t tern_op_layout_list_bytes(const struct tern_layout *side)
{
    switch (side->kind) {
    case TERN_LAYOUT_VECTOR: return side->count * sizeof(struct tern_layout_extent);
    case TERN_LAYOUT_INDEXED: return side->count * sizeof(tern_layout_offset);
    default: return 0;
    }
}

/* Make the local or (remote) the remote layout of an optimized stride. Dimensions that could not be folded because of
 * the other side are folded here. `first` is the offset of the first point of the input. `dim` is storage for as many
 * dimensions as the stride has. */
void tern_op_layout_make(struct tern_layout *side, const struct tern_stride *stride, bool remote, uint64_t first,
                         struct tern_layout_dim *dim);

/* Return whether a strided layout from an untrusted source is valid: its bytes add up to total, and all of them lie
 * within size. */
bool tern_op_layout_valid(const struct tern_layout *side, uint64_t size);

/* Return the length of the rest of the run at the cursor, and its offset in *where. Returns 0 at the end of a list. The
 * cursor must not be at the end of a strided layout. */
uint64_t tern_op_layout_run(const struct tern_layout *side, const struct tern_cursor *cursor, uint64_t *where);

/* Advance the cursor by len bytes. */
void tern_op_layout_skip(const struct tern_layout *side, struct tern_cursor *cursor, uint64_t len);

/* Copy len bytes of the stream between the layout's memory and a buffer, and advance the cursor. Returns false if a
 * list entry does not lie in the memory; everything before that entry has been copied. */
bool tern_op_layout_pack(const struct tern_layout *side, const struct tern_layout_memory *memory,
                         struct tern_cursor *cursor, uint64_t len, unsigned char *buffer);
bool tern_op_layout_unpack(const struct tern_layout *side, const struct tern_layout_memory *memory,
                           struct tern_cursor *cursor, uint64_t len, const unsigned char *buffer);

/* A list and the rest of its current entry, for loops along two lists whose entries have different lengths. */
struct tern_layout_reader {
    const struct tern_layout *side;
    uint64_t                  next, at, left;
};

/* Advance to an entry that is not empty. The caller guarantees that there is one. */
static inline void tern_op_layout_read_on(struct tern_layout_reader *r)
{
    while (r->left == 0) {
        if (r->side->kind == TERN_LAYOUT_INDEXED) {
            r->at = ((const tern_layout_offset *)r->side->list)[r->next++] + r->side->first;
            r->left = r->side->run;
        } else {
            const struct tern_layout_extent *entry = (const struct tern_layout_extent *)r->side->list + r->next++;

            r->at = entry->at + r->side->first;
            r->left = entry->len;
        }
    }
}

/* Find the next bytes of two lists that are contiguous in both, and return their number; take advances past them. */
static inline uint64_t tern_op_layout_read(struct tern_layout_reader *a, struct tern_layout_reader *b)
{
    tern_op_layout_read_on(a);
    tern_op_layout_read_on(b);
    return a->left < b->left ? a->left : b->left;
}

static inline void tern_op_layout_take(struct tern_layout_reader *a, struct tern_layout_reader *b, uint64_t len)
{
    a->at += len;
    a->left -= len;
    b->at += len;
    b->left -= len;
}
