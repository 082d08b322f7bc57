/* notify_acc.c: notified accumulates have all operations of MPI on all elements for which MPI defines them, and those
 * that docs/mpi-notify.md calls atomic with each other are.
 *
 * MPI_Reduce_local is the model. What MPI does not define is refused, and nothing changes then.
 */
#include "notify_test.h"

enum { ELEMENTS = 5, GAP = 64, BYTES = 1024, TURNS = 300, SWAPS = 1000 };

static MPI_Win        win;
static unsigned char *memory;
static int            left, right;
static MPI_Comm       comm;

/* A predefined datatype: integer, byte, floating-point, complex, logical, pair. */
static const struct {
    const char  *name;
    MPI_Datatype type;
    char         kind;
} types[] = {
#define TYPE(name, kind)  \
    {                     \
#name, name, kind \
    }
    TYPE(MPI_CHAR, 'i'),
    TYPE(MPI_SHORT, 'i'),
    TYPE(MPI_INT, 'i'),
    TYPE(MPI_LONG, 'i'),
    TYPE(MPI_LONG_LONG, 'i'),
    TYPE(MPI_SIGNED_CHAR, 'i'),
    TYPE(MPI_UNSIGNED_CHAR, 'i'),
    TYPE(MPI_UNSIGNED_SHORT, 'i'),
    TYPE(MPI_UNSIGNED, 'i'),
    TYPE(MPI_UNSIGNED_LONG, 'i'),
    TYPE(MPI_UNSIGNED_LONG_LONG, 'i'),
    TYPE(MPI_INT8_T, 'i'),
    TYPE(MPI_INT64_T, 'i'),
    TYPE(MPI_UINT16_T, 'i'),
    TYPE(MPI_UINT32_T, 'i'),
    TYPE(MPI_AINT, 'i'),
    TYPE(MPI_OFFSET, 'i'),
    TYPE(MPI_COUNT, 'i'),
    TYPE(MPI_BYTE, 'b'),
    TYPE(MPI_FLOAT, 'f'),
    TYPE(MPI_DOUBLE, 'f'),
    TYPE(MPI_LONG_DOUBLE, 'f'),
    TYPE(MPI_C_BOOL, 'l'),
    TYPE(MPI_C_FLOAT_COMPLEX, 'c'),
    TYPE(MPI_C_DOUBLE_COMPLEX, 'c'),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, 'c'),
    TYPE(MPI_FLOAT_INT, 'p'),
    TYPE(MPI_DOUBLE_INT, 'p'),
    TYPE(MPI_LONG_INT, 'p'),
    TYPE(MPI_2INT, 'p'),
    TYPE(MPI_SHORT_INT, 'p'),
    TYPE(MPI_LONG_DOUBLE_INT, 'p'),
};
enum { TYPES = sizeof types / sizeof *types };

/* An operation, and the kinds of elements for which MPI defines it. */
static const struct {
    const char *name;
    MPI_Op      op;
    const char *kinds;
} ops[] = {
#define OP(name, kinds)    \
    {                      \
#name, name, kinds \
    }
    OP(MPI_SUM, "ifc"),  OP(MPI_PROD, "ifc"), OP(MPI_MAX, "if"),         OP(MPI_MIN, "if"),       OP(MPI_LAND, "il"),
    OP(MPI_LOR, "il"),   OP(MPI_LXOR, "il"),  OP(MPI_BAND, "ib"),        OP(MPI_BOR, "ib"),       OP(MPI_BXOR, "ib"),
    OP(MPI_MAXLOC, "p"), OP(MPI_MINLOC, "p"), OP(MPI_REPLACE, "ibfclp"), OP(MPI_NO_OP, "ibfclp"),
};
enum { OPS = sizeof ops / sizeof *ops };

/* Fill elements with small numbers, which every type can represent: bytes and pairs are made of integers. */
static void fill(unsigned char *to, MPI_Datatype type, int seed)
{
    memset(to, 0, BYTES);
    for (int i = 0; i < ELEMENTS + 1; i++) {
        int value = (i * 3 + seed * 5) % 4;

        if (type == MPI_FLOAT || type == MPI_C_FLOAT_COMPLEX)
            ((float *)to)[2 * i] = ((float *)to)[2 * i + 1] = (float)value;
        else if (type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX)
            ((double *)to)[2 * i] = ((double *)to)[2 * i + 1] = value;
        else if (type == MPI_LONG_DOUBLE || type == MPI_C_LONG_DOUBLE_COMPLEX)
            ((long double *)to)[2 * i] = ((long double *)to)[2 * i + 1] = value;
        else if (type == MPI_FLOAT_INT)
            ((float *)to)[2 * i] = (float)value;
        else if (type == MPI_DOUBLE_INT)
            ((double *)to)[2 * i] = value;
        else if (type == MPI_LONG_DOUBLE_INT)
            ((long double *)to)[2 * i] = value;
        else
            for (int j = 0; j < 16; j++)
                to[16 * i + j] = type == MPI_C_BOOL ? value & 1 : (unsigned char)(value + (j & 1));
    }
}

/* Combine as MPI does. */
static void model(const void *in, void *inout, int n, MPI_Datatype type, MPI_Op op)
{
    unsigned char packed[BYTES];
    int           length = 0, at = 0;

    if (op == MPI_REPLACE) {
        MPI(MPI_Pack(in, n, type, packed, sizeof packed, &length, MPI_COMM_SELF));
        MPI(MPI_Unpack(packed, length, &at, inout, n, type, MPI_COMM_SELF));
    } else if (op != MPI_NO_OP) {
        MPI(MPI_Reduce_local(in, inout, n, type, op));
    }
}

/* Wait for the notification of the left neighbour. */
static void await_left(int tag)
{
    MPI_Request request;

    MPI(MPIX_Notify_init(win, left, tag, 1, &request));
    MPI(MPIX_Start(&request));
    MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPIX_Request_free(&request));
}

/* Whether two buffers have the same elements. Gaps do not matter. */
static int same(const void *a, const void *b, MPI_Datatype type)
{
    unsigned char x[BYTES] = { 0 }, y[BYTES] = { 0 };
    int           i = 0, j = 0;

    MPI(MPI_Pack(a, ELEMENTS + 1, type, x, BYTES, &i, MPI_COMM_SELF));
    MPI(MPI_Pack(b, ELEMENTS + 1, type, y, BYTES, &j, MPI_COMM_SELF));
    return memcmp(x, y, sizeof x) == 0;
}

/* An operation on a datatype: an array, and a single element whose previous value is fetched. */
static void combine(int t, int o)
{
    MPI_Datatype  type = types[t].type;
    MPI_Op        op = ops[o].op;
    unsigned char mine[BYTES], theirs[BYTES], expected[BYTES], old[BYTES], result[BYTES] = { 0 };
    int           defined = strchr(ops[o].kinds, types[t].kind) != NULL, tag = t * OPS + o, class, code;

    fill(memory, type, notify_rank);
    fill(mine, type, notify_rank + 1);
    fill(expected, type, notify_rank);
    fill(theirs, type, left + 1);
    fill(old, type, right);
    if (defined) {
        model(theirs, expected, ELEMENTS, type, op);
        model(mine, old, ELEMENTS, type, op);
    }
    MPI(MPI_Barrier(comm));
    code = MPIX_Accumulate_notify(mine, ELEMENTS, type, right, 0, ELEMENTS, type, op, win, tag);
    CHECK((code == MPI_SUCCESS) == defined);
    if (!defined) {
        MPI(MPI_Error_class(code, &class));
        CHECK(class == MPI_ERR_OP);
        CHECK(MPIX_Fetch_and_op_notify(mine, result, type, right, 0, op, win, tag) != MPI_SUCCESS);
        MPI(MPI_Barrier(comm));
        fill(expected, type, notify_rank);
        CHECK(same(memory, expected, type));
        return;
    }
    await_left(tag);
    CHECK(same(memory, expected, type));
    MPI(MPI_Barrier(comm));
    MPI(MPIX_Fetch_and_op_notify(mine, result, type, right, 0, op, win, tag));
    await_left(tag);
    model(theirs, expected, 1, type, op);
    CHECK(same(memory, expected, type));
    memset(mine, 0, sizeof mine);
    model(old, mine, 1, type, MPI_REPLACE);
    CHECK(same(result, mine, type));
}

static void test_operations(int sample)
{
    char name[128];

    for (int t = 0; t < TYPES; t++) {
        for (int o = 0; o < OPS; o++) {
            if (sample && (t + o) % 2)
                continue;
            snprintf(name, sizeof name, "%s of %s", ops[o].name, types[t].name);
            notify_case = name;
            combine(t, o);
        }
    }
}

/* A lock of compare-and-swap and MPI_REPLACE, as the MPI standard has it, protects a word. */
static void test_lock(void)
{
    const long none = 0, own = notify_rank + 1;
    long       seen, value;

    notify_case = "lock";
    memset(memory, 0, BYTES);
    MPI(MPI_Barrier(comm));
    for (int i = 0; i < TURNS / 10; i++) {
        do
            MPI(MPIX_Compare_and_swap_notify(&own, &none, &seen, MPI_LONG, 0, 0, win, 1));
        while (seen != 0);
        MPI(MPIX_Fetch_and_op_notify(&none, &value, MPI_LONG, 0, 8, MPI_NO_OP, win, 1));
        value++;
        MPI(MPIX_Accumulate_notify(&value, 1, MPI_LONG, 0, 8, 1, MPI_LONG, MPI_REPLACE, win, 1));
        MPI(MPIX_Fetch_and_op_notify(&none, &seen, MPI_LONG, 0, 0, MPI_REPLACE, win, 1));
        CHECK(seen == own);
    }
    MPI(MPI_Barrier(comm));
    CHECK(notify_rank != 0 || ((long *)memory)[1] == (long)notify_size * (TURNS / 10));
    MPI(MPI_Barrier(comm));
}

/* Compare-and-swaps count, and swaps take what has been counted: nothing is lost. */
static void test_swaps(void)
{
    const long zero = 0;
    long       seen = 0, next, value, taken = 0, all;

    notify_case = "swaps";
    memset(memory, 0, BYTES);
    MPI(MPI_Barrier(comm));
    for (int i = 0; i < SWAPS; i++) {
        for (;; seen = value) {
            next = seen + 1;
            MPI(MPIX_Compare_and_swap_notify(&next, &seen, &value, MPI_LONG, 0, 16, win, 1));
            if (value == seen)
                break;
        }
        MPI(MPIX_Fetch_and_op_notify(&zero, &value, MPI_LONG, 0, 16, MPI_REPLACE, win, 1));
        taken += value;
        seen = 0;
    }
    MPI(MPI_Allreduce(&taken, &all, 1, MPI_LONG, MPI_SUM, comm));
    CHECK(all == (long)notify_size * SWAPS);
}

/* Sums, whether Tern or MPI computes them: none is lost, and a fetched value is never half of one. */
static void test_sums(void)
{
    const double      one[2] = { 1, 1 };
    const long double also_one = 1;
    double            seen[2];
    long double       old;

    notify_case = "sums";
    memset(memory, 0, BYTES);
    MPI(MPI_Barrier(comm));
    for (int i = 0; i < TURNS; i++) {
        MPI(MPIX_Accumulate_notify(one, 1, MPI_C_DOUBLE_COMPLEX, 0, 8, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, win, 1));
        MPI(MPIX_Fetch_and_op_notify(NULL, seen, MPI_C_DOUBLE_COMPLEX, 0, 8, MPI_NO_OP, win, 1));
        CHECK(seen[0] == seen[1] && seen[0] >= i + 1);
        if (i % 10 == 0)
            MPI(MPIX_Fetch_and_op_notify(&also_one, &old, MPI_LONG_DOUBLE, 0, 64, MPI_SUM, win, 1));
    }
    MPI(MPI_Barrier(comm));
    if (notify_rank == 0) {
        CHECK(((double *)memory)[1] == (double)notify_size * TURNS);
        CHECK(*(long double *)(void *)(memory + 64) == (long double)notify_size * (TURNS / 10));
    }
    MPI(MPI_Barrier(comm));
}

/* Elements of one derived datatype, and empty accumulates, which notify, too. */
static void test_shapes(void)
{
    MPI_Datatype column, user;
    int          values[6] = { 0, 1, 0, 1, 1, 0 }, *ints = (int *)(void *)memory;

    notify_case = "shapes";
    MPI(MPI_Type_vector(3, 1, 2, MPI_INT, &column));
    MPI(MPI_Type_create_resized(column, 0, 2, &user)); /* the column is larger */
    MPI(MPI_Type_commit(&column));
    MPI(MPI_Type_commit(&user));
    for (int i = 0; i < 6; i++)
        ints[i] = i % 3;
    MPI(MPI_Barrier(comm));
    MPI(MPIX_Accumulate_notify(values, 3, MPI_INT, right, 0, 1, user, MPI_LXOR, win, 5));
    await_left(5);
    for (int i = 0; i < 6; i++)
        CHECK(ints[i] == (i % 2 ? i % 3 : (i % 3 != 0) != values[i / 2]));
    MPI(MPIX_Accumulate_notify(values, 0, MPI_INT, right, 0, 0, MPI_INT, MPI_LAND, win, 6));
    await_left(6);
    MPI(MPIX_Accumulate_notify(values, 0, MPI_2INT, right, 0, 0, MPI_2INT, MPI_MAXLOC, win, 7));
    await_left(7);
    MPI(MPIX_Accumulate_notify(values, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, MPI_LOR, win, 8));
    MPI(MPI_Type_free(&column));
    MPI(MPI_Type_free(&user));
}

int main(int argc, char **argv)
{
    notify_begin(&argc, &argv);
    left = (notify_rank + notify_size - 1) % notify_size;
    right = (notify_rank + 1) % notify_size;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPIX_Win_allocate_notify(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    test_operations(argc < 2);
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
    test_shapes();
    test_lock();
    test_swaps();
    test_sums();
    notify_case = "end";
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Finalize());
    return 0;
}
