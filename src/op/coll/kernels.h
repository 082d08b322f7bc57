/* kernels.h: the arithmetic of collective reductions: combine two arrays element by element.
 *
 * The elements of one array belong to lower ranks than those of the other. The order matters for functions of the
 * program, and for min and max of equal values and NaNs, so that all ranks compute the same bits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <tern/coll.h>

/* Combine count elements. The result is stored in out, or replaces one of the operands. Different arrays do not
 * overlap. */
typedef void tern_coll_loop(void *out, const void *lower, const void *upper, size_t count);
struct tern_coll_kernel {
    tern_coll_loop *apart, *into_lower, *into_upper;
};

/* A reduction as the program has described it, and the properties that follow from the description. */
struct tern_coll_how {
    const struct tern_coll_kernel *kernel; /* NULL: the function of the program */
    tern_reduce_fn                 fn;
    void                          *user;
    size_t                         elem;     /* bytes of an element */
    uint16_t                       kind;     /* a number of 10 bits for type, reduction and flags */
    bool                           commutes; /* ranks may be combined in any order */
    bool                           fold;     /* ranks must be combined one after the other */
};

/* Return the kernel of a reduction that is not TERN_USER; NULL: the type does not have the reduction, or one of the two
 * is unknown. wide: the machine has wide vectors (tern_base_simd_wide()). */
const struct tern_coll_kernel *tern_op_coll_kernel(unsigned op, unsigned type, bool wide);

/* Find the kernel, element and kind of a reduction. For TERN_USER only the kind is found. Returns false if the type
 * does not have the reduction, or one of the two is unknown. */
bool tern_op_coll_find(unsigned op, unsigned type, unsigned flags, struct tern_coll_how *how);

/* Write the name of a type or of a reduction, or the number if it is not that of a constant. */
void tern_op_coll_type_text(unsigned type, char *text, size_t size);
void tern_op_coll_op_text(unsigned op, char *text, size_t size);

/* Write the names of the constants that such a number represents. Any number is permitted. */
void tern_op_coll_kind_text(unsigned kind, char *text, size_t size);

/* Combine `bytes` bytes of elements. out may be equal to lower or to upper. Returns false if there is no memory, which
 * only large elements of the program need. */
bool tern_op_coll_combine(const struct tern_coll_how *how, void *out, const void *lower, const void *upper,
                          size_t bytes);
