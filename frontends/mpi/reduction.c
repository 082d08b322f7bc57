/* reduction.c: the operations of MPI's accumulates in Tern's terms. */
#include "reduction.h"

static const struct {
    MPI_Op         op;
    tern_reduction reduction;
    unsigned       classes; /* a bit for each class of elements that has the operation */
} list[] = {
#define NUMBERS (1u << TERN_MPI_SIGNED | 1u << TERN_MPI_UNSIGNED)
    { MPI_SUM, TERN_SUM, NUMBERS | 1u << TERN_MPI_FLOATING | 1u << TERN_MPI_COMPLEX },
    { MPI_PROD, TERN_PROD, NUMBERS | 1u << TERN_MPI_FLOATING | 1u << TERN_MPI_COMPLEX },
    { MPI_MIN, TERN_MIN, NUMBERS | 1u << TERN_MPI_FLOATING },
    { MPI_MAX, TERN_MAX, NUMBERS | 1u << TERN_MPI_FLOATING },
    { MPI_BAND, TERN_AND, NUMBERS },
    { MPI_BOR, TERN_OR, NUMBERS },
    { MPI_BXOR, TERN_XOR, NUMBERS },
    { MPI_REPLACE, TERN_REPLACE, ~0u },
#undef NUMBERS
};

/* Tern's types of 1, 2, 4, 8 and 16 bytes by class; -1: there is none. */
static const int types[][5] = {
    [TERN_MPI_SIGNED] = { TERN_INT8, TERN_INT16, TERN_INT32, TERN_INT64, -1 },
    [TERN_MPI_UNSIGNED] = { TERN_UINT8, TERN_UINT16, TERN_UINT32, TERN_UINT64, -1 },
    [TERN_MPI_FLOATING] = { -1, -1, TERN_FLOAT, TERN_DOUBLE, -1 },
    [TERN_MPI_COMPLEX] = { -1, -1, -1, TERN_COMPLEX_FLOAT, TERN_COMPLEX_DOUBLE },
    [TERN_MPI_OPAQUE] = { TERN_UINT8, TERN_UINT16, TERN_UINT32, TERN_UINT64, TERN_COMPLEX_DOUBLE },
};

bool tern_mpi_element(struct tern_mpi_basic basic, tern_type *type)
{
    int found = -1;

    if (basic.class != TERN_MPI_NONE && basic.class != TERN_MPI_MIXED && basic.size != 0 && basic.size <= 16 &&
        (basic.size & (basic.size - 1)) == 0)
        found = types[basic.class][__builtin_ctz(basic.size)];
    if (found >= 0)
        *type = (tern_type)found;
    return found >= 0;
}

int tern_mpi_reduction(MPI_Op op, struct tern_mpi_basic basic, tern_acc_args *args, const char **why)
{
    *args = TERN_ACC_ARGS_INIT;
    if (basic.class == TERN_MPI_NONE)
        basic = (struct tern_mpi_basic){ TERN_MPI_SIGNED, 1 }; /* nothing to combine: any type will do */
    if (!tern_mpi_element(basic, &args->type)) {
        *why = basic.class == TERN_MPI_MIXED ? "an accumulate needs a datatype whose basic elements all have one type"
                                             : "Tern has no accumulates for elements of this type";
        return MPI_ERR_TYPE;
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i].op != op)
            continue;
        args->op = list[i].reduction;
        *why = "the elements of this datatype do not have the operation";
        return list[i].classes >> basic.class & 1 ? MPI_SUCCESS : MPI_ERR_OP;
    }
    *why = "accumulates have the operations MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, "
           "MPI_REPLACE and MPI_NO_OP";
    return MPI_ERR_OP;
}
