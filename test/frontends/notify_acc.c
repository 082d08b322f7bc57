/* notify_acc.c: notified accumulates have all operations of MPI on all elements for which MPI defines them, in windows
 * of all communicators, and those that docs/mpi-notify.md calls atomic with each other are.
 *
 * MPI_Reduce_local is the model. What MPI does not define is refused, and nothing changes then. With the argument
 * "even" or "odd", the cases are one half of a sample: the two halves together have every operation on every datatype,
 * and each half has every datatype and every operation in every communicator. Otherwise the cases are the product.
 */
#include <time.h>

#include "notify_test.h"

enum { ELEMENTS = 5, SLOT = 32 * (ELEMENTS + 1), TURNS = 300, SWAPS = 300 };

/* A window, its communicator, and the neighbours in it. */
static struct place {
    MPI_Comm       comm;
    MPI_Win        win;
    unsigned char *memory;
    int            rank, left, right;
} places[COMMS];

/* The present place. */
static MPI_Comm       comm;
static MPI_Win        win;
static unsigned char *memory;
static int            me, left, right;

/* A predefined datatype. The kind says which operations it has: integer (i: of C, j: of Fortran), byte, floating-point,
 * complex, logical, character (w), pair (p: the index is an int, P: the index has the type of the value). An element
 * consists of integers (i) or floating-point numbers (f) of so many bytes. */
static const struct {
    const char  *name;
    MPI_Datatype type;
    char         kind, part;
    int          bytes;
} types[] = {
#define TYPE(name, kind, part, bytes)  \
    {                                  \
#name, name, kind, part, bytes \
    }
    TYPE(MPI_CHAR, 'i', 'i', 1),
    TYPE(MPI_SHORT, 'i', 'i', 2),
    TYPE(MPI_INT, 'i', 'i', 4),
    TYPE(MPI_LONG, 'i', 'i', 8),
    TYPE(MPI_LONG_LONG, 'i', 'i', 8),
    TYPE(MPI_SIGNED_CHAR, 'i', 'i', 1),
    TYPE(MPI_UNSIGNED_CHAR, 'i', 'i', 1),
    TYPE(MPI_UNSIGNED_SHORT, 'i', 'i', 2),
    TYPE(MPI_UNSIGNED, 'i', 'i', 4),
    TYPE(MPI_UNSIGNED_LONG, 'i', 'i', 8),
    TYPE(MPI_UNSIGNED_LONG_LONG, 'i', 'i', 8),
    TYPE(MPI_INT8_T, 'i', 'i', 1),
    TYPE(MPI_INT16_T, 'i', 'i', 2),
    TYPE(MPI_INT32_T, 'i', 'i', 4),
    TYPE(MPI_INT64_T, 'i', 'i', 8),
    TYPE(MPI_UINT8_T, 'i', 'i', 1),
    TYPE(MPI_UINT16_T, 'i', 'i', 2),
    TYPE(MPI_UINT32_T, 'i', 'i', 4),
    TYPE(MPI_UINT64_T, 'i', 'i', 8),
    TYPE(MPI_AINT, 'i', 'i', 8),
    TYPE(MPI_OFFSET, 'i', 'i', 8),
    TYPE(MPI_COUNT, 'i', 'i', 8),
    TYPE(MPI_WCHAR, 'w', 'i', 4),
    TYPE(MPI_BYTE, 'b', 'i', 1),
    TYPE(MPI_FLOAT, 'f', 'f', 4),
    TYPE(MPI_DOUBLE, 'f', 'f', 8),
    TYPE(MPI_LONG_DOUBLE, 'f', 'f', 16),
    TYPE(MPI_C_BOOL, 'l', 'i', 1),
    TYPE(MPI_CXX_BOOL, 'l', 'i', 1),
    TYPE(MPI_LOGICAL, 'l', 'i', 4),
    TYPE(MPI_C_FLOAT_COMPLEX, 'c', 'f', 4),
    TYPE(MPI_C_DOUBLE_COMPLEX, 'c', 'f', 8),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, 'c', 'f', 16),
    TYPE(MPI_CXX_FLOAT_COMPLEX, 'c', 'f', 4),
    TYPE(MPI_CXX_DOUBLE_COMPLEX, 'c', 'f', 8),
    TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, 'c', 'f', 16),
    TYPE(MPI_FLOAT_INT, 'p', 'f', 4),
    TYPE(MPI_DOUBLE_INT, 'p', 'f', 8),
    TYPE(MPI_LONG_INT, 'p', 'i', 8),
    TYPE(MPI_2INT, 'p', 'i', 4),
    TYPE(MPI_SHORT_INT, 'p', 'i', 2),
    TYPE(MPI_LONG_DOUBLE_INT, 'p', 'f', 16),
    TYPE(MPI_INTEGER, 'j', 'i', 4),
    TYPE(MPI_INTEGER1, 'j', 'i', 1),
    TYPE(MPI_INTEGER2, 'j', 'i', 2),
    TYPE(MPI_INTEGER4, 'j', 'i', 4),
    TYPE(MPI_INTEGER8, 'j', 'i', 8),
    TYPE(MPI_REAL, 'f', 'f', 4),
    TYPE(MPI_REAL4, 'f', 'f', 4),
    TYPE(MPI_REAL8, 'f', 'f', 8),
    TYPE(MPI_DOUBLE_PRECISION, 'f', 'f', 8),
    TYPE(MPI_COMPLEX, 'c', 'f', 4),
    TYPE(MPI_COMPLEX8, 'c', 'f', 4),
    TYPE(MPI_COMPLEX16, 'c', 'f', 8),
    TYPE(MPI_DOUBLE_COMPLEX, 'c', 'f', 8),
    TYPE(MPI_2REAL, 'P', 'f', 4),
    TYPE(MPI_2DOUBLE_PRECISION, 'P', 'f', 8),
    TYPE(MPI_2INTEGER, 'P', 'i', 4),
};
enum { TYPES = sizeof types / sizeof *types };

/* An operation, and the kinds of elements for which MPI defines it. Some MPIs have more operations of characters and of
 * integers of Fortran than MPI defines, so these are not tested. */
static const struct {
    const char *name;
    MPI_Op      op;
    const char *kinds, *untested;
} ops[] = {
#define OP(name, kinds, untested)    \
    {                                \
#name, name, kinds, untested \
    }
    OP(MPI_SUM, "ijfc", "w"),         OP(MPI_PROD, "ijfc", "w"),      OP(MPI_MAX, "ijf", "w"),
    OP(MPI_MIN, "ijf", "w"),          OP(MPI_LAND, "il", "wj"),       OP(MPI_LOR, "il", "wj"),
    OP(MPI_LXOR, "il", "wj"),         OP(MPI_BAND, "ijb", "w"),       OP(MPI_BOR, "ijb", "w"),
    OP(MPI_BXOR, "ijb", "w"),         OP(MPI_MAXLOC, "pP", ""),       OP(MPI_MINLOC, "pP", ""),
    OP(MPI_REPLACE, "ijbfclwpP", ""), OP(MPI_NO_OP, "ijbfclwpP", ""),
};
enum { OPS = sizeof ops / sizeof *ops, SLOTS = OPS + 1 }; /* the last slot is for compare-and-swap */

/* Whose values a buffer has. */
enum { TARGET, OPERAND, SECOND };

static void set_number(unsigned char *to, char part, int bytes, int value)
{
    const unsigned char repeated[8] = { (unsigned char)value, (unsigned char)value, (unsigned char)value,
                                        (unsigned char)value, (unsigned char)value, (unsigned char)value,
                                        (unsigned char)value, (unsigned char)value };
    const float         single = (float)value;
    const double        exact = value;
    const long double   extended = value;

    if (part == 'i')
        memcpy(to, repeated, (size_t)bytes);
    else if (bytes == sizeof single)
        memcpy(to, &single, sizeof single);
    else if (bytes == sizeof exact)
        memcpy(to, &exact, sizeof exact);
    else
        memcpy(to, &extended, sizeof extended);
}

/* Where the second number of an element is. */
static int after(int t)
{
    return types[t].kind == 'p' && types[t].bytes < 4 ? 4 : types[t].bytes;
}

/* Fill elements with the numbers 0 to 3, which every type can represent; those of more bytes repeat them. */
static void fill(unsigned char *to, int t, int rank, int slot, int whose)
{
    int      bytes = types[t].bytes;
    MPI_Aint lower, extent;

    memset(to, 0, SLOT);
    MPI(MPI_Type_get_extent(types[t].type, &lower, &extent));
    for (int i = 0; i < ELEMENTS + 1; i++) {
        unsigned number = (unsigned)(((rank * SLOTS + slot) * 3 + whose) * 64 + i * 2) * 2654435761u;
        int      value = (int)(number >> 30), other = (int)(number >> 28 & 3);

        if (types[t].kind == 'l') {
            memset(to + i * extent, 0, (size_t)bytes);
            to[i * extent] = value & 1;
            continue;
        }
        set_number(to + i * extent, types[t].part, bytes, value);
        if (types[t].kind == 'p')
            memcpy(to + i * extent + after(t), &other, sizeof other);
        else if (types[t].kind == 'P' || types[t].kind == 'c')
            set_number(to + i * extent + after(t), types[t].part, bytes, other);
    }
}

/* Combine as MPI does. */
static void model(const void *in, void *inout, int n, MPI_Datatype type, MPI_Op op)
{
    unsigned char packed[SLOT];
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

/* Whether two numbers are equal. Numbers may have padding. */
static int equal(const unsigned char *a, const unsigned char *b, char part, int bytes)
{
    long double x, y;

    if (part == 'i' || bytes < (int)sizeof x)
        return memcmp(a, b, (size_t)bytes) == 0;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y;
}

/* Whether two buffers have the same elements. Gaps do not matter. */
static int same(const unsigned char *a, const unsigned char *b, int t)
{
    int      bytes = types[t].bytes, two = strchr("cP", types[t].kind) != NULL, equals = 1;
    MPI_Aint lower, extent;

    MPI(MPI_Type_get_extent(types[t].type, &lower, &extent));
    for (int i = 0; i < ELEMENTS + 1; i++, a += extent, b += extent) {
        equals = equals && equal(a, b, types[t].part, bytes);
        if (types[t].kind == 'p')
            equals = equals && memcmp(a + after(t), b + after(t), sizeof(int)) == 0;
        else if (two)
            equals = equals && equal(a + after(t), b + after(t), types[t].part, bytes);
    }
    return equals;
}

static void name_case(int t, int o, const char *call)
{
    static char name[128];
    int         size;

    MPI(MPI_Comm_size(comm, &size));
    snprintf(name, sizeof name, "%s, %s of %s, rank %d of %d", call, ops[o].name, types[t].name, me, size);
    notify_case = name;
}

/* Whether MPI defines an operation for the elements of a datatype. */
static int defined(int t, int o)
{
    return strchr(ops[o].kinds, types[t].kind) != NULL;
}

/* Accumulate an array into a slot of the right neighbour, or be refused. */
static void start_accumulate(int t, int o)
{
    MPI_Datatype  type = types[t].type;
    MPI_Op        op = ops[o].op;
    unsigned char mine[SLOT], result[SLOT];
    int class, code;

    name_case(t, o, "accumulate");
    fill(mine, t, me, o, OPERAND);
    code = MPIX_Accumulate_notify(mine, ELEMENTS, type, right, o * SLOT, ELEMENTS, type, op, win, o);
    CHECK((code == MPI_SUCCESS) == defined(t, o));
    if (code == MPI_SUCCESS)
        return;
    MPI(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_OP);
    CHECK(MPIX_Fetch_and_op_notify(mine, result, type, right, o * SLOT, op, win, o) != MPI_SUCCESS);
}

/* Compute what the slot of a rank contains when its left neighbour has accumulated. */
static void expect(unsigned char *expected, int t, int o, int rank, int before)
{
    unsigned char theirs[SLOT];

    fill(expected, t, rank, o, TARGET);
    fill(theirs, t, before, o, OPERAND);
    if (defined(t, o))
        model(theirs, expected, ELEMENTS, types[t].type, ops[o].op);
}

/* Accumulate a single element, whose previous value is fetched. */
static void fetch(int t, int o)
{
    MPI_Datatype  type = types[t].type;
    unsigned char mine[SLOT], old[SLOT], first[SLOT] = { 0 }, result[SLOT] = { 0 };

    name_case(t, o, "fetch and op");
    fill(mine, t, me, o, SECOND);
    MPI(MPIX_Fetch_and_op_notify(mine, result, type, right, o * SLOT, ops[o].op, win, o));
    expect(old, t, o, right, me);
    model(old, first, 1, type, MPI_REPLACE);
    CHECK(same(result, first, t));
}

/* Swap an element of the right neighbour twice: the first value is the one that is compared, the second is not. */
static void swap(int t)
{
    MPI_Datatype  type = types[t].type;
    unsigned char mine[SLOT], other[SLOT], old[SLOT], result[SLOT] = { 0 }, first[SLOT] = { 0 };

    name_case(t, OPS - 1, "compare and swap");
    fill(mine, t, me, OPS, OPERAND);
    fill(other, t, me, OPS, SECOND);
    fill(old, t, right, OPS, TARGET);
    MPI(MPIX_Compare_and_swap_notify(mine, old, result, type, right, OPS * SLOT, win, OPS));
    model(old, first, 1, type, MPI_REPLACE);
    CHECK(same(result, first, t));
    memcpy(old, mine, sizeof old);
    old[types[t].bytes - 1] ^= 1;
    MPI(MPIX_Compare_and_swap_notify(other, old, result, type, right, OPS * SLOT, win, OPS));
    model(mine, first, 1, type, MPI_REPLACE);
    CHECK(same(result, first, t));
}

/* Whether MPI defines compare-and-swap for a datatype. */
static int swaps(int t)
{
    return strchr("ijbl", types[t].kind) != NULL;
}

/* Operations on a datatype, each in its own slot: a bit of the mask for each. */
static void combine(int t, unsigned mask)
{
    unsigned char expected[SLOT], theirs[SLOT];

    for (int o = 0; o < SLOTS; o++)
        fill(memory + o * SLOT, t, me, o, TARGET);
    MPI(MPI_Barrier(comm));
    for (int o = 0; o < OPS; o++) {
        if (mask >> o & 1)
            start_accumulate(t, o);
    }
    for (int o = 0; o < OPS; o++) {
        name_case(t, o, "the result of accumulate");
        if ((mask >> o & 1) && defined(t, o))
            await_left(o);
        fill(expected, t, me, o, TARGET);
        if (mask >> o & 1)
            expect(expected, t, o, me, left);
        CHECK(same(memory + o * SLOT, expected, t));
    }
    MPI(MPI_Barrier(comm));
    for (int o = 0; o < OPS; o++) {
        if ((mask >> o & 1) && defined(t, o))
            fetch(t, o);
    }
    if (swaps(t))
        swap(t);
    for (int o = 0; o < OPS; o++) {
        if (!(mask >> o & 1) || !defined(t, o))
            continue;
        name_case(t, o, "the result of fetch and op");
        await_left(o);
        expect(expected, t, o, me, left);
        fill(theirs, t, left, o, SECOND);
        model(theirs, expected, 1, types[t].type, ops[o].op);
        CHECK(same(memory + o * SLOT, expected, t));
    }
    if (swaps(t)) {
        name_case(t, OPS - 1, "the result of compare and swap");
        await_left(OPS);
        await_left(OPS);
        fill(expected, t, me, OPS, TARGET);
        fill(theirs, t, left, OPS, OPERAND);
        model(theirs, expected, 1, types[t].type, MPI_REPLACE);
        CHECK(same(memory + OPS * SLOT, expected, t));
    }
}

static void enter(int which)
{
    comm = places[which].comm;
    win = places[which].win;
    memory = places[which].memory;
    me = places[which].rank;
    left = places[which].left;
    right = places[which].right;
}

/* half: 0 or 1, or -1 for the product. */
static void test_operations(int half)
{
    for (int t = 0; t < TYPES; t++) {
        if (types[t].type == MPI_DATATYPE_NULL) /* this MPI has no such datatype */
            continue;
        for (int c = 0; c < COMMS; c++) {
            unsigned mask = 0;

            for (int o = 0; o < OPS; o++) {
                if (strchr(ops[o].untested, types[t].kind) == NULL &&
                    (half < 0 || ((t + o) % 2 == half && (t + o / 2) % COMMS == c)))
                    mask |= 1u << o;
            }
            enter(c);
            combine(t, mask);
        }
    }
}

/* Take the lock. Each attempt notifies rank 0, which may be in MPI_Barrier and receive nothing; the pauses keep the
 * number of attempts far below TERN_NOTIFY_QUEUE, even if the process that has the lock gets no core for a second. */
static void take_lock(long own)
{
    const long      none = 0;
    long            seen;
    struct timespec pause = { 0, 10000 };

    for (;;) {
        MPI(MPIX_Compare_and_swap_notify(&own, &none, &seen, MPI_LONG, 0, 0, win, 1));
        if (seen == 0)
            return;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
}

/* A lock of compare-and-swap and MPI_REPLACE, as the MPI standard has it, protects a word. */
static void test_lock(void)
{
    const long none = 0, own = notify_rank + 1;
    long       seen, value;

    notify_case = "lock";
    memset(memory, 0, SLOTS * SLOT);
    MPI(MPI_Barrier(comm));
    for (int i = 0; i < TURNS / 10; i++) {
        take_lock(own);
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

/* Compare-and-swaps count, and swaps take what has been counted: nothing is lost. Each failure is due to the success of
 * another process, so that the number of notifications is limited. */
static void test_swaps(void)
{
    const long zero = 0;
    long       seen = 0, next, value, taken = 0, all;

    notify_case = "swaps";
    memset(memory, 0, SLOTS * SLOT);
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
    memset(memory, 0, SLOTS * SLOT);
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

static void open_place(struct place *p)
{
    int size;

    MPI(MPI_Comm_rank(p->comm, &p->rank));
    MPI(MPI_Comm_size(p->comm, &size));
    p->left = (p->rank + size - 1) % size;
    p->right = (p->rank + 1) % size;
    MPI(MPIX_Win_allocate_notify(SLOTS * SLOT, 1, MPI_INFO_NULL, p->comm, &p->memory, &p->win));
    MPI(MPI_Win_set_errhandler(p->win, MPI_ERRORS_RETURN));
}

/* Communicators that have no process in common make their windows one after the other: Open MPI 4 lets them disturb
 * each other, which is not the topic of this test. */
static void open_in_turn(struct place *p, int which)
{
    int turns = which == SPLIT ? 2 : which == ALONE ? notify_size : 1;

    p->comm = make_comm(which);
    for (int turn = 0; turn < turns; turn++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (turns == 1 || notify_rank % turns == turn)
            open_place(p);
    }
}

int main(int argc, char **argv)
{
    notify_begin(&argc, &argv);
    MPI(MPIX_Notify_start());
    for (int i = 0; i < COMMS; i++)
        open_in_turn(&places[i], i);
    test_operations(argc < 2 ? -1 : strcmp(argv[1], "odd") == 0);
    enter(WORLD);
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Barrier(comm));
    test_shapes();
    test_lock();
    test_swaps();
    test_sums();
    notify_case = "end";
    for (int i = 0; i < COMMS; i++) {
        MPI(MPIX_Win_free(&places[i].win));
        MPI(MPI_Comm_free(&places[i].comm));
    }
    MPI(MPI_Finalize());
    return 0;
}
