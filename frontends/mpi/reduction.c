/* reduction.c: translation of the operations of MPI's accumulates to Tern's reductions. */
#include "reduction.h"

#define INTEGERS (1u << TERN_MPI_SIGNED | 1u << TERN_MPI_UNSIGNED)
#define REALS (INTEGERS | 1u << TERN_MPI_FLOATING | 1u << TERN_MPI_LONG)
#define NUMBERS (REALS | 1u << TERN_MPI_COMPLEX | 1u << TERN_MPI_LONG_COMPLEX)

/* The predefined operations. */
static const struct row {
    MPI_Op   op;
    int      reduction; /* of Tern's accumulates; -1: there is none */
    unsigned classes;   /* a bit for each class of elements for which MPI defines the operation */
} list[] = {
    { MPI_SUM, TERN_SUM, NUMBERS },
    { MPI_PROD, TERN_PROD, NUMBERS },
    { MPI_MIN, TERN_MIN, REALS },
    { MPI_MAX, TERN_MAX, REALS },
    { MPI_BAND, TERN_AND, INTEGERS | 1u << TERN_MPI_BITS },
    { MPI_BOR, TERN_OR, INTEGERS | 1u << TERN_MPI_BITS },
    { MPI_BXOR, TERN_XOR, INTEGERS | 1u << TERN_MPI_BITS },
    { MPI_LAND, -1, INTEGERS | 1u << TERN_MPI_LOGICAL },
    { MPI_LOR, -1, INTEGERS | 1u << TERN_MPI_LOGICAL },
    { MPI_LXOR, -1, INTEGERS | 1u << TERN_MPI_LOGICAL },
    { MPI_MINLOC, -1, 1u << TERN_MPI_PAIR },
    { MPI_MAXLOC, -1, 1u << TERN_MPI_PAIR },
    { MPI_REPLACE, TERN_REPLACE, ~0u },
    { MPI_NO_OP, -1, ~0u },
};

/* Find an operation. NULL: it is not a predefined one. */
static const struct row *find(MPI_Op op)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i].op == op)
            return &list[i];
    }
    return NULL;
}

/* Tern's types of 1, 2, 4, 8 and 16 bytes by class; -1: there is none. MPI computes with the other elements. */
static const int types[][5] = {
    [TERN_MPI_SIGNED] = { TERN_INT8, TERN_INT16, TERN_INT32, TERN_INT64, -1 },
    [TERN_MPI_UNSIGNED] = { TERN_UINT8, TERN_UINT16, TERN_UINT32, TERN_UINT64, -1 },
    [TERN_MPI_FLOATING] = { -1, -1, TERN_FLOAT, TERN_DOUBLE, -1 },
    [TERN_MPI_COMPLEX] = { -1, -1, -1, TERN_COMPLEX_FLOAT, TERN_COMPLEX_DOUBLE },
    [TERN_MPI_BITS] = { TERN_UINT8, -1, -1, -1, -1 },
    [TERN_MPI_LOGICAL] = { TERN_UINT8, TERN_UINT16, TERN_UINT32, TERN_UINT64, -1 },
};

/* Find Tern's type of an element. Returns false if Tern has none. */
static bool element_type(struct tern_mpi_basic basic, tern_type *type)
{
    int found = -1;

    if (basic.class >= TERN_MPI_SIGNED && basic.class <= TERN_MPI_LOGICAL && basic.size != 0 && basic.size <= 16 &&
        (basic.size & (basic.size - 1)) == 0)
        found = types[basic.class][__builtin_ctz(basic.size)];
    if (found >= 0)
        *type = (tern_type)found;
    return found >= 0;
}

bool tern_mpi_reduction(MPI_Op op, struct tern_mpi_basic basic, tern_acc_args *args)
{
    const struct row *row = find(op);

    *args = TERN_ACC_ARGS_INIT;
    if (row == NULL || row->reduction < 0 || !(row->classes >> basic.class & 1) || !element_type(basic, &args->type))
        return false;
    args->op = (tern_reduction)row->reduction;
    return true;
}

bool tern_mpi_predefined(MPI_Op op)
{
    return find(op) != NULL;
}

bool tern_mpi_defined(MPI_Op op, struct tern_mpi_basic basic)
{
    const struct row *row = find(op);

    return row != NULL && (basic.class == TERN_MPI_OPAQUE || row->classes >> basic.class & 1);
}
