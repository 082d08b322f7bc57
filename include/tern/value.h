/* value.h: put and get of one value.
 *
 * tern_put_value and tern_get_value, which need C11 or C++11, accept every arithmetic type and select the size by it:
 *
 *   double x = 0.5, y;
 *   tern_put_value(TERN_WORLD, region, rank, offset, x);
 *   tern_get_value(TERN_WORLD, region, rank, offset, &y);
 *
 * The type of the argument counts: an integer constant such as 1 is an int and has 4 bytes; write (uint64_t)1 for 8. In
 * C99 and from other languages, use tern_put_u8, tern_put_u16, tern_put_u32, tern_put_u64 and the corresponding gets.
 *
 * A value of up to 8 bytes whose address is a multiple of its size is stored and loaded as a whole: on the same node,
 * no rank sees a mixture of an old and a new value. Completion and visibility are as defined for tern_put and tern_get
 * (rma.h).
 */
#ifndef TERN_VALUE_H
#define TERN_VALUE_H

#include <tern/inline_value.h>
#include <tern/rma.h>

TERN_BEGIN_DECLS

/* Store a value of 1 byte in a rank's part of a region. The value goes to byte offset of rank's part of region.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx or region is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; nothing was
 *            written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The value may be written until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_u8(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint8_t value)
{
    return tern_inline_put_u8(ctx, region, rank, offset, value, "tern_put_u8");
}

/* Load a value of 1 byte from a rank's part of a region. The call loads the value at byte offset of rank's part of
 * region into *value.
 * Returns  TERN_OK: the value is in *value.
 *          TERN_ERR_ARG: ctx, region or value is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; *value is
 *            unchanged.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed; *value is unchanged.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_u8(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint8_t *value)
{
    return tern_inline_get_u8(ctx, region, rank, offset, value, "tern_get_u8");
}

/* Store a value of 2 bytes in a rank's part of a region. The value goes to byte offset of rank's part of region. If the
 * address is a multiple of 2, ranks on the same node see either the old or the new value, never a mixture.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx or region is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; nothing was
 *            written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The value may be written until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_u16(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint16_t value)
{
    return tern_inline_put_u16(ctx, region, rank, offset, value, "tern_put_u16");
}

/* Load a value of 2 bytes from a rank's part of a region. The call loads the value at byte offset of rank's part of
 * region into *value. If the address is a multiple of 2, and ranks on the same node store the value with tern_put_u16,
 * the call returns a value that one of them stored, never a mixture.
 * Returns  TERN_OK: the value is in *value.
 *          TERN_ERR_ARG: ctx, region or value is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; *value is
 *            unchanged.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed; *value is unchanged.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_u16(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint16_t *value)
{
    return tern_inline_get_u16(ctx, region, rank, offset, value, "tern_get_u16");
}

/* Store a value of 4 bytes in a rank's part of a region. The value goes to byte offset of rank's part of region. If the
 * address is a multiple of 4, ranks on the same node see either the old or the new value, never a mixture.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx or region is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; nothing was
 *            written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The value may be written until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t value)
{
    return tern_inline_put_u32(ctx, region, rank, offset, value, "tern_put_u32");
}

/* Load a value of 4 bytes from a rank's part of a region. The call loads the value at byte offset of rank's part of
 * region into *value. If the address is a multiple of 4, and ranks on the same node store the value with tern_put_u32,
 * the call returns a value that one of them stored, never a mixture.
 * Returns  TERN_OK: the value is in *value.
 *          TERN_ERR_ARG: ctx, region or value is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; *value is
 *            unchanged.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed; *value is unchanged.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t *value)
{
    return tern_inline_get_u32(ctx, region, rank, offset, value, "tern_get_u32");
}

/* Store a value of 8 bytes in a rank's part of a region. The value goes to byte offset of rank's part of region. If the
 * address is a multiple of 8, ranks on the same node see either the old or the new value, never a mixture.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx or region is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; nothing was
 *            written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The value may be written until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t value)
{
    return tern_inline_put_u64(ctx, region, rank, offset, value, "tern_put_u64");
}

/* Load a value of 8 bytes from a rank's part of a region. The call loads the value at byte offset of rank's part of
 * region into *value. If the address is a multiple of 8, and ranks on the same node store the value with tern_put_u64,
 * the call returns a value that one of them stored, never a mixture.
 * Returns  TERN_OK: the value is in *value.
 *          TERN_ERR_ARG: ctx, region or value is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; *value is
 *            unchanged.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed; *value is unchanged.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t *value)
{
    return tern_inline_get_u64(ctx, region, rank, offset, value, "tern_get_u64");
}

TERN_END_DECLS

/* In C++, both are overloaded functions with the same arguments. */
#ifndef __cplusplus

/* Store a value of any arithmetic type in a rank's part of a region. The value goes to byte offset of rank's part of
 * region. TYPE, the type of value, is any arithmetic type, in C also a complex type. It decides how many bytes are
 * stored: an integer constant such as 1 is an int and has 4 bytes; write (uint64_t)1 for 8. Up to 8 bytes whose address
 * is a multiple of their number are stored as a whole: ranks on the same node see either the old or the new value,
 * never a mixture. The call needs C11 or C++11.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx or region is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; nothing was
 *            written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The value may be written until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
#define tern_put_value(ctx, region, rank, offset, value)                  \
    _Generic((value), _Bool                                               \
             : tern_inline_put_u8 TERN_INLINE_TYPES(TERN_INLINE_PUT_CASE) \
                 TERN_INLINE_COMPLEX_TYPES(TERN_INLINE_PUT_CASE))(ctx, region, rank, offset, value, "tern_put_value")

/* Load a value of any arithmetic type from a rank's part of a region. The call loads the value at byte offset of rank's
 * part of region into *pointer. TYPE, the type of *pointer, is any arithmetic type, in C also a complex type, and
 * decides how many bytes are loaded. Up to 8 bytes whose address is a multiple of their number are loaded as a whole:
 * if ranks on the same node store the value as a whole, the call returns a value that one of them stored, never a
 * mixture. The call needs C11 or C++11.
 * Returns  TERN_OK: the value is in *pointer.
 *          TERN_ERR_ARG: ctx, region or pointer is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part; *pointer is
 *            unchanged.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. *pointer is unchanged if it has up to 8 bytes;
 *            otherwise it is undefined, and may change until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
#define tern_get_value(ctx, region, rank, offset, pointer)                                           \
    _Generic((pointer), _Bool *                                                                      \
             : tern_inline_get_u8 TERN_INLINE_TYPES(TERN_INLINE_GET_CASE) TERN_INLINE_COMPLEX_TYPES( \
                 TERN_INLINE_GET_CASE))(ctx, region, rank, offset, pointer, "tern_get_value")

#endif
#endif
