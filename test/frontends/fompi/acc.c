/* acc.c: every operation of accumulates with every type that has it, atomicity, and order. */
#include "check.h"

#define ELEMENTS 5

/* The operations in foMPI's order, and MPI's. */
static const struct {
    foMPI_Op op;
    MPI_Op   mpi;
} ops[] = { { foMPI_SUM, MPI_SUM },         { foMPI_PROD, MPI_PROD },     { foMPI_MAX, MPI_MAX },
            { foMPI_MIN, MPI_MIN },         { foMPI_LAND, MPI_LAND },     { foMPI_LOR, MPI_LOR },
            { foMPI_LXOR, MPI_LXOR },       { foMPI_BAND, MPI_BAND },     { foMPI_BOR, MPI_BOR },
            { foMPI_BXOR, MPI_BXOR },       { foMPI_MAXLOC, MPI_MAXLOC }, { foMPI_MINLOC, MPI_MINLOC },
            { foMPI_REPLACE, MPI_REPLACE }, { foMPI_NO_OP, MPI_NO_OP } };

#define INTEGERS 0x33ff /* a bit for each operation */
#define FLOATS 0x300f
#define PAIRS 0x3c00
#define COMPLEX 0x3003

struct type {
    MPI_Datatype type;
    unsigned     ops;
};

/* Set element i of an array to a small number. */
static void set_element(void *array, MPI_Datatype type, int i, int value)
{
    struct {
        double value;
        int    index;
    } *pair = array;
    struct {
        float value;
        int   index;
    } *small = array;

    if (type == MPI_INT8_T || type == MPI_UINT8_T || type == MPI_SIGNED_CHAR)
        ((int8_t *)array)[i] = (int8_t)value;
    else if (type == MPI_SHORT || type == MPI_UINT16_T)
        ((int16_t *)array)[i] = (int16_t)value;
    else if (type == MPI_INT || type == MPI_UNSIGNED)
        ((int *)array)[i] = value;
    else if (type == MPI_LONG || type == MPI_UINT64_T || type == MPI_AINT)
        ((int64_t *)array)[i] = value;
    else if (type == MPI_FLOAT)
        ((float *)array)[i] = (float)value;
    else if (type == MPI_DOUBLE)
        ((double *)array)[i] = value;
    else if (type == MPI_LONG_DOUBLE)
        ((long double *)array)[i] = value;
    else if (type == MPI_C_DOUBLE_COMPLEX)
        ((double *)array)[2 * i] = value, ((double *)array)[2 * i + 1] = 1;
    else if (type == MPI_DOUBLE_INT)
        pair[i].value = value, pair[i].index = 10 - value;
    else if (type == MPI_FLOAT_INT)
        small[i].value = (float)value, small[i].index = 10 - value;
    else
        MUST(!"a known type");
}

/* Promise: each operation computes what MPI computes, and fetches the previous value. Pairs are compared without the
 * bytes between their parts. */
static void check_operation(struct window *w, struct type type, size_t o)
{
    unsigned char target[ELEMENTS * 32] = { 0 }, operand[ELEMENTS * 32] = { 0 }, result[ELEMENTS * 32] = { 0 };
    unsigned char packed[2][ELEMENTS * 32];
    int           to = (w->me + 1) % w->n, lengths[2] = { 0, 0 };

    for (int i = 0; i < ELEMENTS; i++) {
        set_element(target, type.type, i, (i * 3 + 2) % 5);
        set_element(operand, type.type, i, (i * 2 + 1) % 4);
    }
    OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, to, 0, w->win));
    OK(foMPI_Put(target, ELEMENTS, type.type, to, w->at[to], ELEMENTS, type.type, w->win));
    OK(foMPI_Win_flush(to, w->win));
    OK(foMPI_Get_accumulate(operand, ELEMENTS, type.type, result, ELEMENTS, type.type, to, w->at[to], ELEMENTS,
                            type.type, ops[o].op, w->win));
    OK(foMPI_Win_flush(to, w->win));
    MPI_Pack(result, ELEMENTS, type.type, packed[0], sizeof packed[0], &lengths[0], MPI_COMM_SELF);
    MPI_Pack(target, ELEMENTS, type.type, packed[1], sizeof packed[1], &lengths[1], MPI_COMM_SELF);
    MUST(lengths[0] == lengths[1] && memcmp(packed[0], packed[1], (size_t)lengths[0]) == 0);
    OK(foMPI_Get(result, ELEMENTS, type.type, to, w->at[to], ELEMENTS, type.type, w->win));
    OK(foMPI_Win_unlock(to, w->win));
    if (ops[o].op == foMPI_REPLACE)
        memcpy(target, operand, sizeof target);
    else if (ops[o].op != foMPI_NO_OP)
        OK(MPI_Reduce_local(operand, target, ELEMENTS, type.type, ops[o].mpi));
    lengths[0] = lengths[1] = 0;
    MPI_Pack(result, ELEMENTS, type.type, packed[0], sizeof packed[0], &lengths[0], MPI_COMM_SELF);
    MPI_Pack(target, ELEMENTS, type.type, packed[1], sizeof packed[1], &lengths[1], MPI_COMM_SELF);
    MUST(memcmp(packed[0], packed[1], (size_t)lengths[0]) == 0);
}

/* Promise: accumulates of all processes to the same elements are applied once each, whatever makes them. */
static void check_atomic(struct window *w, MPI_Comm comm)
{
    int64_t one = 1, many[4] = { 1, 1, 1, 1 }, old, odd, *memory = w->base;
    struct {
        double value;
        int    index;
    } mine = { w->me, w->me }, *best = (void *)(memory + 8);

    memset(memory, 0, 256);
    best->value = -1;
    OK(foMPI_Win_fence(0, w->win));
    for (int i = 0; i < 50; i++) {
        OK(foMPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, w->at[0], foMPI_SUM, w->win));
        OK(foMPI_Accumulate(many, 4, MPI_INT64_T, 0, w->at[0], 4, MPI_INT64_T, foMPI_SUM, w->win));
        OK(foMPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, w->at[0] + 64, 1, MPI_DOUBLE_INT, foMPI_MAXLOC, w->win));
        OK(foMPI_Accumulate(&one, 1, MPI_LONG, 0, w->at[0] + 128, 1, MPI_LONG, foMPI_LXOR, w->win));
        OK(foMPI_Accumulate(&one, 1, MPI_INT64_T, 0, w->at[0] + 163, 1, MPI_INT64_T, foMPI_SUM, w->win)); /* odd */
        OK(foMPI_Fetch_and_op(&one, &odd, MPI_INT64_T, 0, w->at[0] + 163, foMPI_SUM, w->win));
        MUST(odd >= 2 * i + 1);
    }
    OK(foMPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    if (w->me == 0) {
        MUST(memory[0] == 100 * w->n && memory[1] == 50 * w->n && memory[3] == 50 * w->n);
        MUST(best->value == w->n - 1 && best->index == w->n - 1);
        MUST(memory[16] == 0);
        memcpy(&odd, (char *)w->base + 163, sizeof odd);
        MUST(odd == 100 * w->n);
    }
    MPI_Barrier(comm);
}

/* Promise: foMPI_Compare_and_swap, foMPI_REPLACE and foMPI_NO_OP are atomic with each other: a lock of two such calls
 * excludes others. Locks are taken by compare-and-swap or by replacing 0 with 1, and released by replacing. */
static void check_spin_lock(struct window *w, MPI_Comm comm)
{
    int one = 1, zero = 0, old, count;

    memset(w->base, 0, 64);
    MPI_Barrier(comm);
    OK(foMPI_Win_lock_all(0, w->win));
    for (int i = 0; i < 20; i++) {
        do {
            if (i % 2 == 0)
                OK(foMPI_Compare_and_swap(&one, &zero, &old, MPI_INT, 0, w->at[0], w->win));
            else
                OK(foMPI_Fetch_and_op(&one, &old, MPI_INT, 0, w->at[0], foMPI_REPLACE, w->win));
            OK(foMPI_Win_flush(0, w->win));
        } while (old != 0);
        OK(foMPI_Get(&count, 1, MPI_INT, 0, w->at[0] + 8, 1, MPI_INT, w->win));
        OK(foMPI_Win_flush(0, w->win));
        count++;
        OK(foMPI_Put(&count, 1, MPI_INT, 0, w->at[0] + 8, 1, MPI_INT, w->win));
        OK(foMPI_Win_flush(0, w->win));
        OK(foMPI_Accumulate(&zero, 1, MPI_INT, 0, w->at[0], 1, MPI_INT, foMPI_REPLACE, w->win));
        OK(foMPI_Win_flush(0, w->win));
    }
    MPI_Barrier(comm);
    OK(foMPI_Fetch_and_op(NULL, &old, MPI_INT, 0, w->at[0] + 8, foMPI_NO_OP, w->win));
    OK(foMPI_Win_unlock_all(w->win));
    MUST(old == 20 * w->n);
    MPI_Barrier(comm);
}

/* Promise: accumulates of one process to one element are applied in the order of the calls, without a flush. */
static void check_order(struct window *w, MPI_Comm comm)
{
    int     to = (w->me + 1) % w->n;
    int64_t values[32], olds[32];

    memset(w->base, 0, 64);
    MPI_Barrier(comm);
    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, to, 0, w->win));
    for (int i = 0; i < 32; i++) {
        values[i] = i + 1;
        OK(foMPI_Fetch_and_op(&values[i], &olds[i], MPI_INT64_T, to, w->at[to], i % 3 == 0 ? foMPI_SUM : foMPI_REPLACE,
                              w->win));
    }
    OK(foMPI_Win_unlock(to, w->win));
    for (int64_t i = 0, value = 0; i < 32; i++) {
        MUST(olds[i] == value);
        value = i % 3 == 0 ? value + i + 1 : i + 1;
    }
    MPI_Barrier(comm);
}

void test_acc(MPI_Comm comm)
{
    const struct type types[] = {
        { MPI_INT8_T, INTEGERS },   { MPI_UINT8_T, INTEGERS },   { MPI_SHORT, INTEGERS },
        { MPI_UINT16_T, INTEGERS }, { MPI_INT, INTEGERS },       { MPI_UNSIGNED, INTEGERS },
        { MPI_LONG, INTEGERS },     { MPI_UINT64_T, INTEGERS },  { MPI_FLOAT, FLOATS },
        { MPI_DOUBLE, FLOATS },     { MPI_LONG_DOUBLE, FLOATS }, { MPI_C_DOUBLE_COMPLEX, COMPLEX },
        { MPI_DOUBLE_INT, PAIRS },  { MPI_FLOAT_INT, PAIRS },
    };

    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window((enum kind)kind, 256, comm);

        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
                if (types[t].ops >> o & 1)
                    check_operation(&w, types[t], o);
            }
        }
        MPI_Barrier(comm);
        check_atomic(&w, comm);
        check_spin_lock(&w, comm);
        check_order(&w, comm);
        close_window(&w);
    }
}
