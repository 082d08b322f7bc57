/* basic.c: the predefined datatypes on whose elements accumulates are possible. */
#include "datatype.h"

static const struct {
    MPI_Datatype handle;
    enum tern_mpi_class class;
} list[] = {
    { MPI_CHAR, TERN_MPI_SIGNED },
    { MPI_SIGNED_CHAR, TERN_MPI_SIGNED },
    { MPI_SHORT, TERN_MPI_SIGNED },
    { MPI_INT, TERN_MPI_SIGNED },
    { MPI_LONG, TERN_MPI_SIGNED },
    { MPI_LONG_LONG_INT, TERN_MPI_SIGNED },
    { MPI_INT8_T, TERN_MPI_SIGNED },
    { MPI_INT16_T, TERN_MPI_SIGNED },
    { MPI_INT32_T, TERN_MPI_SIGNED },
    { MPI_INT64_T, TERN_MPI_SIGNED },
    { MPI_AINT, TERN_MPI_SIGNED },
    { MPI_OFFSET, TERN_MPI_SIGNED },
    { MPI_COUNT, TERN_MPI_SIGNED },
    { MPI_WCHAR, TERN_MPI_SIGNED },
    { MPI_BYTE, TERN_MPI_BITS },
    { MPI_UNSIGNED_CHAR, TERN_MPI_UNSIGNED },
    { MPI_UNSIGNED_SHORT, TERN_MPI_UNSIGNED },
    { MPI_UNSIGNED, TERN_MPI_UNSIGNED },
    { MPI_UNSIGNED_LONG, TERN_MPI_UNSIGNED },
    { MPI_UNSIGNED_LONG_LONG, TERN_MPI_UNSIGNED },
    { MPI_UINT8_T, TERN_MPI_UNSIGNED },
    { MPI_UINT16_T, TERN_MPI_UNSIGNED },
    { MPI_UINT32_T, TERN_MPI_UNSIGNED },
    { MPI_UINT64_T, TERN_MPI_UNSIGNED },
    { MPI_FLOAT, TERN_MPI_FLOATING },
    { MPI_DOUBLE, TERN_MPI_FLOATING },
    { MPI_C_FLOAT_COMPLEX, TERN_MPI_COMPLEX },
    { MPI_C_DOUBLE_COMPLEX, TERN_MPI_COMPLEX },
    { MPI_CXX_FLOAT_COMPLEX, TERN_MPI_COMPLEX },
    { MPI_CXX_DOUBLE_COMPLEX, TERN_MPI_COMPLEX },
    { MPI_C_BOOL, TERN_MPI_LOGICAL },
    { MPI_CXX_BOOL, TERN_MPI_LOGICAL },
    { MPI_LOGICAL, TERN_MPI_LOGICAL },
    { MPI_FLOAT_INT, TERN_MPI_PAIR },
    { MPI_DOUBLE_INT, TERN_MPI_PAIR },
    { MPI_LONG_INT, TERN_MPI_PAIR },
    { MPI_2INT, TERN_MPI_PAIR },
    { MPI_SHORT_INT, TERN_MPI_PAIR },
    { MPI_LONG_DOUBLE_INT, TERN_MPI_PAIR },
    { MPI_2REAL, TERN_MPI_PAIR },
    { MPI_2DOUBLE_PRECISION, TERN_MPI_PAIR },
    { MPI_2INTEGER, TERN_MPI_PAIR },
    { MPI_LONG_DOUBLE, TERN_MPI_LONG },
    { MPI_C_LONG_DOUBLE_COMPLEX, TERN_MPI_LONG_COMPLEX },
    { MPI_CXX_LONG_DOUBLE_COMPLEX, TERN_MPI_LONG_COMPLEX },
    { MPI_INTEGER, TERN_MPI_SIGNED },
    { MPI_INTEGER1, TERN_MPI_SIGNED },
    { MPI_INTEGER2, TERN_MPI_SIGNED },
    { MPI_INTEGER4, TERN_MPI_SIGNED },
    { MPI_INTEGER8, TERN_MPI_SIGNED },
    { MPI_REAL, TERN_MPI_FLOATING },
    { MPI_REAL4, TERN_MPI_FLOATING },
    { MPI_REAL8, TERN_MPI_FLOATING },
    { MPI_DOUBLE_PRECISION, TERN_MPI_FLOATING },
    { MPI_COMPLEX, TERN_MPI_COMPLEX },
    { MPI_COMPLEX8, TERN_MPI_COMPLEX },
    { MPI_COMPLEX16, TERN_MPI_COMPLEX },
    { MPI_DOUBLE_COMPLEX, TERN_MPI_COMPLEX },
};

bool tern_mpi_basic_of(MPI_Datatype handle, struct tern_mpi_basic *basic)
{
    int size;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i].handle == handle && MPI_Type_size(handle, &size) == MPI_SUCCESS) {
            *basic = (struct tern_mpi_basic){ list[i].class, (unsigned)size, handle };
            return true;
        }
    }
    return false;
}
