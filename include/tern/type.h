/* type.h: the types of elements on which atomic operations, accumulates and collective reductions compute. */
#ifndef TERN_TYPE_H
#define TERN_TYPE_H

#include <stddef.h>
#include <tern/version.h>

TERN_BEGIN_DECLS

/* The types of elements: X(name, C type, bytes, text). */
#define TERN_TYPE_LIST(X)                                   \
    X(TERN_INT32, int32_t, 4, "int32")                      \
    X(TERN_UINT32, uint32_t, 4, "uint32")                   \
    X(TERN_INT64, int64_t, 8, "int64")                      \
    X(TERN_UINT64, uint64_t, 8, "uint64")                   \
    X(TERN_FLOAT, float, 4, "float")                        \
    X(TERN_DOUBLE, double, 8, "double")                     \
    X(TERN_COMPLEX_FLOAT, float[2], 8, "complex float")     \
    X(TERN_COMPLEX_DOUBLE, double[2], 16, "complex double") \
    X(TERN_INT8, int8_t, 1, "int8")                         \
    X(TERN_UINT8, uint8_t, 1, "uint8")                      \
    X(TERN_INT16, int16_t, 2, "int16")                      \
    X(TERN_UINT16, uint16_t, 2, "uint16")

/* The type of an element. A complex number consists of its real part followed by its imaginary part. Only collective
 * reductions (coll.h) have the types from TERN_LONG_DOUBLE on. */
#define TERN_TYPE_AS_ENUM(name, type, bytes, text) name,
typedef enum tern_type {
    TERN_TYPE_LIST(TERN_TYPE_AS_ENUM) TERN_TYPES, /* number of types of atomic operations and accumulates */
    TERN_LONG_DOUBLE = 64,
    TERN_COMPLEX_LONG_DOUBLE = 65
} tern_type;
#undef TERN_TYPE_AS_ENUM

TERN_END_DECLS

#endif
