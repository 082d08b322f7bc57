/* reduce.c: ARMCI's reductions, and exchanges of addresses, which are sums. */
#include <string.h>

#include "message_in.h"

/* The operations; those from FIRST_OF_INTEGERS on exist only for integers. */
enum op { SUM, PRODUCT, LEAST, GREATEST, LEAST_ABS, GREATEST_ABS, OR, AND, EITHER, BOTH };
#define FIRST_OF_INTEGERS OR

/* The names of the operations. Blanks may follow a name in a string of Fortran, so only the length of the name is
 * compared. A name therefore precedes all names that are its beginning. */
static const struct {
    const char *name;
    enum op     op;
} names[] = {
    { "+", SUM },     { "*", PRODUCT }, { "min", LEAST }, { "max", GREATEST }, { "absmin", LEAST_ABS },
    { "or", OR },     { "bor", OR },    { "band", AND },  { "lor", EITHER },   { "absmax", GREATEST_ABS },
    { "||", EITHER }, { "|", OR },      { "land", BOTH }, { "&&", BOTH },      { "&", AND },
};
#define NAMES (sizeof names / sizeof names[0])

/* The operation and the type of a reduction. */
struct reduction {
    enum op op;
    int     type;
};

static const size_t type_bytes[] = { sizeof(int), sizeof(long), sizeof(long long), sizeof(float), sizeof(double) };

#define ABS(a) ((a) < 0 ? -(a) : (a))

/* A loop over n values of a type; result is an expression in a, the value of this rank, and b, the value of another
 * rank. */
#define LOOP(type, result)                                 \
    for (size_t i = 0; i < len / sizeof(type); i++) {      \
        type a = ((type *)x)[i], b = ((const type *)y)[i]; \
        ((type *)x)[i] = (type)(result);                   \
    }                                                      \
    break

/* A function that combines values of a type. INTEGER_CASES are the cases that exist only for integers; it is empty for
 * other types. */
#define COMBINE(name, type, INTEGER_CASES)                                              \
    static void name(void *x, const void *y, size_t len, enum op op)                    \
    {                                                                                   \
        switch (op) {                                                                   \
        case SUM: LOOP(type, a + b);                                                    \
        case PRODUCT: LOOP(type, a *b);                                                 \
        case LEAST: LOOP(type, b < a ? b : a);                                          \
        case GREATEST: LOOP(type, b > a ? b : a);                                       \
        case LEAST_ABS: LOOP(type, ABS(b) < ABS(a) ? ABS(b) : ABS(a));                  \
        case GREATEST_ABS: LOOP(type, ABS(b) > ABS(a) ? ABS(b) : ABS(a)); INTEGER_CASES \
        default: break;                                                                 \
        }                                                                               \
    }
#define OF_INTEGERS(type)            \
    case OR: LOOP(type, a | b);      \
    case AND: LOOP(type, a &b);      \
    case EITHER: LOOP(type, a || b); \
    case BOTH: LOOP(type, a &&b);

COMBINE(combine_int, int, OF_INTEGERS(int))
COMBINE(combine_long, long, OF_INTEGERS(long))
COMBINE(combine_long_long, long long, OF_INTEGERS(long long))
COMBINE(combine_float, float, )
COMBINE(combine_double, double, )

static void combine(void *x, const void *y, size_t len, const void *arg)
{
    const struct reduction *reduction = arg;

    switch (reduction->type) {
    case ARMCI_INT: combine_int(x, y, len, reduction->op); break;
    case ARMCI_LONG: combine_long(x, y, len, reduction->op); break;
    case ARMCI_LONG_LONG: combine_long_long(x, y, len, reduction->op); break;
    case ARMCI_FLOAT: combine_float(x, y, len, reduction->op); break;
    default: combine_double(x, y, len, reduction->op); break;
    }
}

static struct reduction reduction_of(const char *call, const char *op, int type)
{
    size_t at = 0;

    if (type < ARMCI_INT || type > ARMCI_DOUBLE)
        tern_front_die(call, "there is no type %d; the types are ARMCI_INT to ARMCI_DOUBLE", type);
    while (at < NAMES && (op == NULL || strncmp(op, names[at].name, strlen(names[at].name)) != 0))
        at++;
    if (at == NAMES || (names[at].op >= FIRST_OF_INTEGERS && type >= ARMCI_FLOAT))
        tern_front_die(
            call,
            "there is no operation \"%s\" for type %d; use +, *, min, max, absmin or absmax, and for integers "
            "also or, band, && or ||",
            op != NULL ? op : "NULL", type);
    return (struct reduction){ names[at].op, type };
}

/* Reduce n values of all ranks of a scope; every rank gets the result. Absolute and logical values are also computed if
 * the scope has only one rank. */
static void reduce(const char *call, int scope, void *x, int n, const char *op, int type, const ARMCI_Group *group)
{
    struct reduction        reduction = reduction_of(call, op, type);
    struct tern_armci_scope ranks = tern_armci_scope_of(call, scope, group);
    size_t                  bytes = type_bytes[type];

    if (n < 0 || (x == NULL && n > 0))
        tern_front_die(call, "%d values at %p: the array is invalid", n, x);
    if (reduction.op == LEAST_ABS || reduction.op == GREATEST_ABS || reduction.op >= EITHER)
        combine(x, x, (size_t)n * bytes, &reduction);
    tern_armci_fold(call, &ranks, x, (size_t)n * bytes, bytes, combine, &reduction);
}

ARMCI_EXPORT void armci_msg_reduce(void *x, int n, char *op, int type)
{
    reduce("armci_msg_reduce", SCOPE_ALL, x, n, op, type, &tern_armci.world);
}

ARMCI_EXPORT void armci_msg_reduce_scope(int scope, void *x, int n, char *op, int type)
{
    reduce("armci_msg_reduce_scope", scope, x, n, op, type, &tern_armci.world);
}

ARMCI_EXPORT void armci_msg_gop_scope(int scope, void *x, int n, char *op, int type)
{
    reduce("armci_msg_gop_scope", scope, x, n, op, type, &tern_armci.world);
}

ARMCI_EXPORT void armci_msg_group_gop_scope(int scope, void *x, int n, char *op, int type, ARMCI_Group *group)
{
    reduce("armci_msg_group_gop_scope", scope, x, n, op, type, group);
}

/* The calls for one type: over all ranks, over those of this node, and over a group. */
#define TYPED_CALLS(letter, type, name)                                                           \
    ARMCI_EXPORT void armci_msg_##letter##gop(type *x, int n, char *op)                           \
    {                                                                                             \
        reduce("armci_msg_" #letter "gop", SCOPE_ALL, x, n, op, name, &tern_armci.world);         \
    }                                                                                             \
    ARMCI_EXPORT void armci_msg_clus_##letter##gop(type *x, int n, char *op)                      \
    {                                                                                             \
        reduce("armci_msg_clus_" #letter "gop", SCOPE_NODE, x, n, op, name, &tern_armci.world);   \
    }                                                                                             \
    ARMCI_EXPORT void armci_msg_group_##letter##gop(type *x, int n, char *op, ARMCI_Group *group) \
    {                                                                                             \
        reduce("armci_msg_group_" #letter "gop", SCOPE_ALL, x, n, op, name, group);               \
    }

TYPED_CALLS(i, int, ARMCI_INT)
TYPED_CALLS(l, long, ARMCI_LONG)
TYPED_CALLS(ll, long long, ARMCI_LONG_LONG)
TYPED_CALLS(f, float, ARMCI_FLOAT)
TYPED_CALLS(d, double, ARMCI_DOUBLE)

/* Exchange addresses. One rank has set each of the n entries, which is NULL at all others, so that the sum is the
 * address. */
static void exchange(const char *call, void **pointers, int n, const ARMCI_Group *group)
{
    _Static_assert(sizeof *pointers == sizeof(long), "an address is summed as a long");
    reduce(call, SCOPE_ALL, pointers, n, "+", ARMCI_LONG, group);
}

ARMCI_EXPORT void armci_exchange_address(void *ptr_ar[], int n)
{
    exchange("armci_exchange_address", ptr_ar, n, &tern_armci.world);
}

ARMCI_EXPORT void armci_exchange_address_grp(void *ptr_arr[], int n, ARMCI_Group *group)
{
    exchange("armci_exchange_address_grp", ptr_arr, n, group);
}
