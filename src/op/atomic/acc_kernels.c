/* acc_kernels.c: see acc_kernels.h. The compiler vectorizes these loops: the build enables that for this file, and
 * disables contraction of multiply and add, so that every build and machine gives the same result. Each loop exists
 * twice, for baseline and for wide vectors. Signed integers wrap around like unsigned ones. */
#include "op/atomic/acc_kernels.h"

#include <string.h>

#include "base/simd.h"

/* Number types without alignment requirement. */
typedef uint32_t any_u32 __attribute__((may_alias, aligned(1)));
typedef uint64_t any_u64 __attribute__((may_alias, aligned(1)));
typedef float    any_float __attribute__((may_alias, aligned(1)));
typedef double   any_double __attribute__((may_alias, aligned(1)));

/* The loops of a type. */
struct loops {
    tern_acc_kernel *add, *scale, *fetch, *fetch_scaled;
};

#define SUM(name) name
#define SUM_FOR
#include "op/atomic/acc_loops.h"

#define SUM(name) wide_##name
#define SUM_FOR TERN_SIMD_WIDE
#include "op/atomic/acc_loops.h"

/* The number 1 of each type. A complex element has a second number, which is 0. */
static const unsigned char one_of[TERN_TYPES][8] = {
#define ONE_INTEGER \
    {               \
        1           \
    }
#define ONE_FLOAT        \
    {                    \
        0, 0, 0x80, 0x3f \
    }
#define ONE_DOUBLE                   \
    {                                \
        0, 0, 0, 0, 0, 0, 0xf0, 0x3f \
    }
    [TERN_INT32] = ONE_INTEGER,       [TERN_UINT32] = ONE_INTEGER,        [TERN_INT64] = ONE_INTEGER,
    [TERN_UINT64] = ONE_INTEGER,      [TERN_FLOAT] = ONE_FLOAT,           [TERN_DOUBLE] = ONE_DOUBLE,
    [TERN_COMPLEX_FLOAT] = ONE_FLOAT, [TERN_COMPLEX_DOUBLE] = ONE_DOUBLE,
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ones are written so");

void tern_op_acc_op_make(struct tern_acc_op *sum, tern_type type, const void *scale, bool fetch)
{
    unsigned char one[TERN_SUM_SCALE] = { 0 };

    memcpy(one, one_of[type], sizeof(one_of[type]));
    *sum = (struct tern_acc_op){ .type = (uint8_t)type, .fetch = fetch };
    memcpy(sum->scale, scale ? scale : one, tern_acc_op_bytes(type));
    sum->plain = memcmp(sum->scale, one, sizeof(one)) == 0;
}

tern_acc_kernel *tern_op_acc_kernel(const struct tern_acc_op *sum, bool wide)
{
    const struct loops *of = &(wide ? wide_loops : loops)[sum->type];

    if (sum->fetch)
        return sum->plain ? of->fetch : of->fetch_scaled;
    return sum->plain ? of->add : of->scale;
}
