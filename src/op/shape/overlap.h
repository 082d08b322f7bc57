/* overlap.h: finding overlapping runs, for debug builds. */
#pragma once

#include "op/shape/layout.h"

/* Return whether two runs of a layout have bytes in common. *where receives the offset of such a byte. Returns false
 * without a
 * check if a layout that may overlap has more than `most` runs, or if there is no memory. */
bool tern_op_overlap_within(const struct tern_layout *side, uint64_t most, uint64_t *where);

/* Return whether two layouts have bytes in common. *where receives the offset of such a byte. `shift` is added to the
 * offsets of
 * b to make them comparable with those of a. Returns false without a check if the layouts have more than `most` runs
 * together, or if there is no memory. */
bool tern_op_overlap_between(const struct tern_layout *a, const struct tern_layout *b, uint64_t shift, uint64_t most,
                             uint64_t *where);
