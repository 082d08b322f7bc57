/* datatype.c: the records of datatypes, and the table by which calls find them. */
#include <pthread.h>
#include <stdlib.h>

#include "datatype.h"

struct tern_mpi_type *tern_mpi_types[1 << TERN_MPI_TYPE_BITS];

static pthread_mutex_t       lock = PTHREAD_MUTEX_INITIALIZER;
static struct tern_mpi_type *predefined, *unused; /* lists */
static int                   keyval = MPI_KEYVAL_INVALID;

static void remember(struct tern_mpi_type *type)
{
    /* release: the record before its place in the table. Pairs with the acquire in tern_mpi_type_of. */
    __atomic_store_n(&tern_mpi_types[tern_mpi_type_slot(type->handle)], type, __ATOMIC_RELEASE);
}

/* Drop the record of a datatype that MPI frees. */
static int drop(MPI_Datatype handle, int key, void *value, void *extra)
{
    struct tern_mpi_type *type = value, **slot = &tern_mpi_types[tern_mpi_type_slot(type->handle)];

    (void)handle;
    (void)key;
    (void)extra;
    pthread_mutex_lock(&lock);
    if (*slot == type)
        __atomic_store_n(slot, NULL, __ATOMIC_RELAXED); /* orders nothing: the record stays readable */
    type->handle = MPI_DATATYPE_NULL;
    tern_mpi_layout_free(&type->layout);
    type->next = unused;
    unused = type;
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

/* Fill the record of a datatype. */
static int fill(struct tern_mpi_type *type, MPI_Datatype handle)
{
    MPI_Aint lower, extent;
    int      error = tern_mpi_flatten(handle, &type->layout, &type->basic);

    if (error == MPI_SUCCESS &&
        (!tern_mpi_layout_fits(&type->layout) || MPI_Type_get_extent(handle, &lower, &extent) != MPI_SUCCESS))
        error = MPI_ERR_TYPE;
    if (error != MPI_SUCCESS)
        return error;
    type->handle = handle;
    type->size = type->layout.bytes;
    type->extent = extent;
    type->at = type->layout.at;
    for (unsigned i = 0; i < type->layout.dims; i++) {
        type->count[i] = type->layout.dim[i].count;
        type->stride[i] = type->layout.dim[i].stride;
    }
    type->dense = type->size == 0 ||
                  (type->layout.pieces == NULL && type->layout.dims == 0 && (ptrdiff_t)type->layout.block == extent);
    type->plain = type->dense && type->at == 0;
    return MPI_SUCCESS;
}

/* Make the record of a datatype. The caller holds the lock. */
static int make(MPI_Datatype handle, bool named, struct tern_mpi_type **out)
{
    struct tern_mpi_type *type = unused;
    int                   error;

    if (type == NULL)
        type = calloc(1, sizeof *type);
    else
        unused = type->next;
    if (type == NULL)
        return MPI_ERR_NO_MEM;
    error = fill(type, handle);
    if (error == MPI_SUCCESS && !named && MPI_Type_set_attr(handle, keyval, type) != MPI_SUCCESS)
        error = MPI_ERR_TYPE;
    if (error != MPI_SUCCESS) {
        tern_mpi_layout_free(&type->layout);
        type->handle = MPI_DATATYPE_NULL;
    }
    if (error != MPI_SUCCESS || named) {
        struct tern_mpi_type **list = error != MPI_SUCCESS ? &unused : &predefined;
        type->next = *list;
        *list = type;
    }
    *out = type;
    return error;
}

/* Find the record of a datatype, or make it. The caller holds the lock. */
static int find(MPI_Datatype handle, struct tern_mpi_type **out)
{
    int integers, addresses, types, combiner, found;

    for (struct tern_mpi_type *type = predefined; type != NULL; type = type->next) {
        if (type->handle == handle) {
            *out = type;
            return MPI_SUCCESS;
        }
    }
    if (MPI_Type_get_envelope(handle, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
        return MPI_ERR_TYPE;
    if (combiner == MPI_COMBINER_NAMED)
        return make(handle, true, out);
    if (keyval == MPI_KEYVAL_INVALID &&
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, drop, &keyval, NULL) != MPI_SUCCESS)
        return MPI_ERR_NO_MEM;
    if (MPI_Type_get_attr(handle, keyval, out, &found) != MPI_SUCCESS)
        return MPI_ERR_TYPE;
    return found ? MPI_SUCCESS : make(handle, false, out);
}

int tern_mpi_type_find(MPI_Datatype handle, const struct tern_mpi_type **out)
{
    struct tern_mpi_type *type;
    int                   error;

    if (handle == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    pthread_mutex_lock(&lock);
    error = find(handle, &type);
    if (error == MPI_SUCCESS) {
        remember(type);
        *out = type;
    }
    pthread_mutex_unlock(&lock);
    return error;
}
