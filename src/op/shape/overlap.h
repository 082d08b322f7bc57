/* overlap.h: finding pieces that overlap: for debug builds. */
#ifndef TERN_OP_SHAPE_OVERLAP_H
#define TERN_OP_SHAPE_OVERLAP_H

#include "op/shape/layout.h"

/* Whether two runs of a side have bytes in common, and where. Sides of more than most runs that may overlap, and those
 * for which there is no memory, are not looked at: false. */
bool tern_op_overlap_within(const struct tern_layout *side, uint64_t most, uint64_t *where);

/* Whether two sides have bytes in common, and where. The places of b are counted from shift of those of a on. */
bool tern_op_overlap_between(const struct tern_layout *a, const struct tern_layout *b, uint64_t shift, uint64_t most,
                             uint64_t *where);

#endif
