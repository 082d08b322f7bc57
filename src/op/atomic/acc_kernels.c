/* acc_kernels.c: see acc_kernels.h. The compiler vectorizes these loops: the build enables that for this file, and
 * disables contraction of multiply and add, so that every build and machine gives the same result. Each loop exists
 * twice: for the baseline instruction set and for wide vectors. Sums and products of signed integers wrap around like
 * those of unsigned integers. */
#include "op/atomic/acc_kernels.h"

#include <string.h>

#include "base/simd.h"

/* Number types without alignment requirement. */
typedef uint8_t  any_u8 __attribute__((may_alias, aligned(1)));
typedef uint16_t any_u16 __attribute__((may_alias, aligned(1)));
typedef uint32_t any_u32 __attribute__((may_alias, aligned(1)));
typedef uint64_t any_u64 __attribute__((may_alias, aligned(1)));
typedef float    any_float __attribute__((may_alias, aligned(1)));
typedef double   any_double __attribute__((may_alias, aligned(1)));
typedef int8_t   any_i8 __attribute__((may_alias, aligned(1)));
typedef int16_t  any_i16 __attribute__((may_alias, aligned(1)));
typedef int32_t  any_i32 __attribute__((may_alias, aligned(1)));
typedef int64_t  any_i64 __attribute__((may_alias, aligned(1)));

/* The loops of a reduction for a type. NULL: the type does not have the reduction. */
struct loops {
    tern_acc_kernel *apply, *fetch;
};

/* The rows of the tables: the reductions, and the sum with a scale. */
#define SCALED_SUM TERN_REDUCTIONS
#define ROWS (TERN_REDUCTIONS + 1)

/* Return 0, without the compiler's knowledge that the value is 0. The compiler would replace a loop that only copies by
 * a call of memcpy, which does not promise to store each number as a whole. */
static inline uint64_t hidden_zero(void)
{
    uint64_t zero = 0;

    __asm__("" : "+r"(zero));
    return zero;
}

#define ACC(name) name
#define ACC_FOR
#include "op/atomic/acc_loops.h"

#define ACC(name) wide_##name
#define ACC_FOR TERN_SIMD_WIDE
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
    [TERN_COMPLEX_FLOAT] = ONE_FLOAT, [TERN_COMPLEX_DOUBLE] = ONE_DOUBLE, [TERN_INT8] = ONE_INTEGER,
    [TERN_UINT8] = ONE_INTEGER,       [TERN_INT16] = ONE_INTEGER,         [TERN_UINT16] = ONE_INTEGER,
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ones are written so");

bool tern_op_acc_has(unsigned op, unsigned type)
{
    return op < TERN_REDUCTIONS && type < TERN_TYPES && loops[op][type].apply;
}

void tern_op_acc_op_make(struct tern_acc_op *op, const tern_acc_args *args, bool fetch)
{
    unsigned char one[TERN_ACC_SCALE] = { 0 };

    memcpy(one, one_of[args->type], sizeof(one_of[args->type]));
    *op = (struct tern_acc_op){ .type = (uint8_t)args->type, .reduction = (uint8_t)args->op, .fetch = fetch };
    memcpy(op->scale, args->factor ? args->factor : one, tern_acc_op_bytes(args->type));
    op->plain = memcmp(op->scale, one, sizeof(one)) == 0;
}

bool tern_op_acc_op_valid(const struct tern_acc_op *op)
{
    return tern_op_acc_has(op->reduction, op->type) && op->fetch <= 1 && op->plain <= 1 &&
           (op->plain || op->reduction == TERN_SUM);
}

tern_acc_kernel *tern_op_acc_kernel(const struct tern_acc_op *op, bool wide)
{
    const struct loops *of = &(wide ? wide_loops : loops)[op->plain ? op->reduction : SCALED_SUM][op->type];

    return op->fetch ? of->fetch : of->apply;
}
