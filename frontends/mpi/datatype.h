/* datatype.h: MPI datatypes as Tern needs them: the layout of the data, and the basic elements for accumulates.
 *
 * tern_mpi_type finds the record of a datatype. Records of derived datatypes hang on the datatype as an attribute and
 * are dropped when MPI frees the datatype, so that a new datatype with the same handle is never mistaken for an old
 * one. A small table by handle, which is searched before the attributes, makes the usual case cheap: a multiplication,
 * a load and a comparison. The memory of records is never returned, so that several threads may look up datatypes at
 * the same time.
 */
#ifndef TERN_MPI_DATATYPE_H
#define TERN_MPI_DATATYPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <tern.h>

#include "layout.h"

/* The classes of elements, by the operations that accumulates have for them. */
enum tern_mpi_class {
    TERN_MPI_NONE,     /* no element: the datatype is empty */
    TERN_MPI_SIGNED,   /* integers: arithmetic, bits and logic */
    TERN_MPI_UNSIGNED, /* the same */
    TERN_MPI_FLOATING, /* float and double: arithmetic */
    TERN_MPI_COMPLEX,  /* sum and product */
    TERN_MPI_BITS,     /* bytes: bits */
    TERN_MPI_LOGICAL,  /* logical values: logic */
    TERN_MPI_PAIR,     /* pairs of a number and an index: MPI_MINLOC and MPI_MAXLOC. From here on, Tern can only copy */
    TERN_MPI_LONG,     /* long double: arithmetic */
    TERN_MPI_LONG_COMPLEX, /* sum and product */
    TERN_MPI_OPAQUE,       /* other elements, which only MPI can combine */
    TERN_MPI_MIXED         /* basic elements of several types: no accumulates */
};

/* The basic elements of a datatype. */
struct tern_mpi_basic {
    enum tern_mpi_class class;
    unsigned     size;    /* size of an element, in bytes; 0 if the datatype is empty or mixed */
    MPI_Datatype element; /* a predefined datatype with this class and size; valid if size is not 0 */
};

/* Return whether accumulates can combine elements of two datatypes. */
static inline bool tern_mpi_basic_same(struct tern_mpi_basic a, struct tern_mpi_basic b)
{
    return a.class == b.class && a.size == b.size && (a.class < TERN_MPI_PAIR || a.element == b.element);
}

/* A datatype. */
struct tern_mpi_type {
    MPI_Datatype           handle;
    bool                   dense;  /* any number of elements is contiguous, and begins at displacement at */
    bool                   plain;  /* it is dense, and at is 0 */
    ptrdiff_t              at;     /* displacement of a dense datatype */
    size_t                 size;   /* bytes of data in one element */
    ptrdiff_t              extent; /* from one element to the next */
    struct tern_mpi_basic  basic;
    struct tern_mpi_layout layout;               /* layout of one element */
    size_t                 count[TERN_MPI_DIMS]; /* a box: the counts of the loops, for Tern */
    ptrdiff_t              stride[TERN_MPI_DIMS];
    struct tern_mpi_type  *next; /* list of predefined datatypes, or of records for reuse */
};

#define TERN_MPI_TYPE_BITS 6
extern struct tern_mpi_type *tern_mpi_types[1 << TERN_MPI_TYPE_BITS] __attribute__((visibility("hidden")));

/* Find the record of a datatype that is not in the table. Returns MPI_SUCCESS, or the class of the error: MPI_ERR_TYPE
 * if the handle is no datatype or the datatype cannot be taken apart, MPI_ERR_NO_MEM. */
int tern_mpi_type_find(MPI_Datatype handle, const struct tern_mpi_type **out);

static inline unsigned tern_mpi_type_slot(MPI_Datatype handle)
{
    return (unsigned)(((uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u) >> (64 - TERN_MPI_TYPE_BITS));
}

/* Find the record of a datatype, which is valid until the datatype is freed. Returns MPI_SUCCESS, or the class of the
 * error: MPI_ERR_TYPE or MPI_ERR_NO_MEM. */
static inline int tern_mpi_type_of(MPI_Datatype handle, const struct tern_mpi_type **out)
{
    /* acquire: the record behind the pointer. Pairs with the release in datatype.c. */
    const struct tern_mpi_type *type = __atomic_load_n(&tern_mpi_types[tern_mpi_type_slot(handle)], __ATOMIC_ACQUIRE);

    if (TERN_LIKELY(type != NULL && type->handle == handle)) {
        *out = type;
        return MPI_SUCCESS;
    }
    return tern_mpi_type_find(handle, out);
}

/* Find the layout and the basic elements of a datatype by taking the datatype apart. Returns MPI_SUCCESS, MPI_ERR_TYPE
 * or MPI_ERR_NO_MEM. The caller frees the layout. (flatten.c) */
int tern_mpi_flatten(MPI_Datatype handle, struct tern_mpi_layout *layout, struct tern_mpi_basic *basic);

/* Repeat the layout of an element to the part of a distributed array that belongs to a process
 * (MPI_Type_create_darray). integers are the integers of MPI_Type_get_contents, and extent is the extent of an element.
 * Returns false if there is no memory. (darray.c) */
bool tern_mpi_darray(struct tern_mpi_layout *layout, const int *integers, ptrdiff_t extent);

/* Find the basic elements of a predefined datatype. Returns false if accumulates do not know the datatype. (basic.c) */
bool tern_mpi_basic_of(MPI_Datatype handle, struct tern_mpi_basic *basic);

#endif
