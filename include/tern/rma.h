/* rma.h: contiguous put and get.
 *
 * A put copies local memory to a rank's part of a region; a get copies a rank's part of a region to local memory. Both
 * are one-sided: the target does not take part, and does not have to call Tern (unless the option TERN_PROGRESS_THREAD
 * is off and the target is on another node). Offsets count bytes from the start of the target's part, and rank is a
 * rank of the context's team. Each operation comes in four forms:
 *
 *   tern_put        blocking: returns when the operation is complete
 *   tern_put_nb     nonblocking: fills an event, which completes with the operation
 *   tern_put_nbi    nonblocking, with implicit completion: the next tern_quiet on the context completes the operation
 *   tern_put_with   nonblocking, with options: never wait for resources, report local completion separately, notify the
 *                   target, count the completion, or start the operation when a counter reaches a threshold
 *
 * A put is complete when its data is visible to all ranks; a get is complete when its data is in the destination.
 * "Visible" means that a rank which learns that the put is complete, through anything that the initiator does
 * afterwards (another put, a barrier, a store through tern_region_ptr), also sees the data. If two ranks each put a
 * value and then get the value that the other rank put, both may see the old value, as with ordinary stores and loads;
 * call tern_quiet between the put and the get to prevent this (docs/semantics.md, "Visibility").
 *
 * Within a node, the inlined path consists of a bounds check, an address computation and a copy. Source and destination
 * of a contiguous put or get may overlap.
 */
#ifndef TERN_RMA_H
#define TERN_RMA_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/inline.h>
#include <tern/region.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Flags in tern_opts. */
#define TERN_IMMEDIATE 0x1u    /* if resources are exhausted, return TERN_AGAIN and start nothing instead of waiting */
#define TERN_WANT_EVENT 0x2u   /* tern_opts.event must not be NULL */
#define TERN_NOTIFY 0x10u      /* notify the target, with tern_opts.tag, when the operation is complete: see notify.h */
#define TERN_COUNT_BYTES 0x20u /* tern_opts.counter counts the bytes of the operation: see counter.h */

struct tern_acc_args;
struct tern_counter;
struct tern_signal;

/* Options of the _with calls. The options qualify an operation: how it completes, what it does beside the transfer, and
 * when it starts. Create the options with TERN_OPTS or TERN_OPTS_INIT, which set size. Fields that are not used are 0
 * or NULL. */
typedef struct tern_opts {
    uint32_t    size;  /* sizeof(tern_opts), so that later versions can add fields */
    uint32_t    flags; /* TERN_IMMEDIATE, TERN_WANT_EVENT, TERN_NOTIFY, TERN_COUNT_BYTES; for atomic operations also
                          TERN_ACQUIRE and TERN_RELEASE */
    tern_event *local; /* receives the event of local completion: the source of a put may be modified. May be NULL */
    tern_event *event; /* receives the event of completion. NULL: the next tern_quiet completes the operation */
    struct tern_counter      *counter; /* counter that the operation increments on completion, or NULL: see counter.h */
    struct tern_counter      *when;    /* the operation starts when this counter reaches threshold. NULL: at once */
    uint64_t                  threshold; /* for when */
    const struct tern_signal *signal;    /* signal to update at the target behind a put, or NULL: see signal.h */
    const struct tern_acc_args *acc;     /* what an accumulate computes: see acc.h. NULL for all other operations */
    const char *call;     /* name of the call in error texts and stall reports. NULL: the name of the Tern call */
    uint32_t    tag;      /* tag of the notification that TERN_NOTIFY requests */
    uint32_t    reserved; /* 0 */
} tern_opts;

/* Options without any field set, as an initializer or in an assignment. */
#define TERN_OPTS_INIT TERN_SIZED(tern_opts)

/* Options with the given fields set, in C: &TERN_OPTS(.flags = TERN_NOTIFY, .tag = 7, .event = &event). */
#ifndef __cplusplus
#define TERN_OPTS(...) ((tern_opts){ .size = sizeof(tern_opts), __VA_ARGS__ })
#endif

/* Announce that memory used by transfers will be unmapped. The call announces that len bytes of memory at addr, which
 * transfers have used as source or destination, are about to be returned to the system. A program has to do this only
 * if the option TERN_OFI_CACHE allows Tern to keep such memory registered with the network. Otherwise the call has no
 * effect. It never affects the memory of regions.
 * Returns  TERN_OK: Tern no longer uses any registration of the memory.
 *          TERN_ERR_STATE: the call was made before tern_init or after tern_finalize.
 * Remote   None.
 * Threads  Any thread may call this function. No transfer from or to the memory may be outstanding. */
TERN_API tern_status tern_cache_invalidate(const void *addr, size_t len);

/* Start a put, with options. The call starts copying len bytes from src to byte offset of rank's part of region. If
 * opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation. Unless TERN_IMMEDIATE is set,
 * the call waits until there are resources for the operation. The caller must not modify src until opts->local or
 * opts->event completes, or until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx or region is NULL, src is NULL and len is not 0, a field of opts is
 *            invalid (see tern_opts), or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or TERN_NOTIFY is set
 *            and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   The data is visible to all ranks when opts->event completes or, without an event, when tern_quiet returns.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                   size_t len, const tern_opts *opts);

/* Start a get, with options. The call starts copying len bytes from byte offset of rank's part of region to dst. If
 * opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation. Unless TERN_IMMEDIATE is set,
 * the call waits until there are resources for the operation. The content of dst is undefined until opts->event
 * completes or tern_quiet returns. opts->local completes at the same time as opts->event.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx or region is NULL, dst is NULL and len is not 0, a field of opts is
 *            invalid (see tern_opts), or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or TERN_NOTIFY is set
 *            and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   With TERN_NOTIFY, the target receives a notification. Otherwise the target does not notice a get. In both
 *          cases the target does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len,
                                   const tern_opts *opts);

/* Find the address at which this process can access remote bytes. The call finds the address of len bytes at byte
 * offset of rank's part of region, with the checks of a put, so that a layer above Tern can access them with its
 * own instructions. Accesses through the address are ordinary accesses to shared memory, which the caller orders. The
 * address is valid until the region is freed.
 * Returns  The address. NULL: the bytes must be accessed through the library, an argument is invalid, the rank has
 *            died, or earlier operations must be delivered first, because the context is strict or was fenced.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function; on a relaxed context, any thread. */
TERN_INLINE unsigned char *tern_direct(const tern_ctx *ctx, const tern_region *region, int rank, uint64_t offset,
                                       uint64_t len)
{
    const struct tern_part *part = tern_inline_part(ctx, region, rank, offset, len);

    return TERN_LIKELY(part != NULL) ? part->base + offset : NULL;
}

/* Copy memory within this process. The call copies len bytes from from to to, either of which may be an address that
 * tern_direct returned; the two areas may overlap. If len is a constant between 17 and 64, the copy becomes a few
 * vector moves, which compilers do not generate for memmove with more than 16 bytes.
 * Returns  Nothing.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_INLINE void tern_copy(void *to, const void *from, size_t len)
{
    unsigned char       *t = (unsigned char *)to;
    const unsigned char *f = (const unsigned char *)from;

    if (__builtin_constant_p(len > 16 && len <= 32) && len > 16 && len <= 32) {
        tern_any_block a = *(const tern_any_block *)(const void *)f;
        tern_any_block b = *(const tern_any_block *)(const void *)(f + len - 16); /* may overlap a */
        *(tern_any_block *)(void *)t = a;
        *(tern_any_block *)(void *)(t + len - 16) = b;
    } else if (__builtin_constant_p(len > 32 && len <= 64) && len > 32 && len <= 64) {
        tern_any_block a = *(const tern_any_block *)(const void *)f;
        tern_any_block b = *(const tern_any_block *)(const void *)(f + 16);
        tern_any_block c = *(const tern_any_block *)(const void *)(f + len - 32);
        tern_any_block d = *(const tern_any_block *)(const void *)(f + len - 16);
        *(tern_any_block *)(void *)t = a;
        *(tern_any_block *)(void *)(t + 16) = b;
        *(tern_any_block *)(void *)(t + len - 32) = c;
        *(tern_any_block *)(void *)(t + len - 16) = d;
    } else if (TERN_UNLIKELY(len > TERN_COPY_PIECE && len <= TERN_COPY_WHOLE)) {
        tern_inline_copy(to, from, len);
    } else {
        __builtin_memmove(to, from, len);
    }
}

/* Copy local memory to a rank's part of a region. The call copies len bytes from src to byte offset of rank's part of
 * region. When the call returns, the caller may modify src.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx or region is NULL, or src is NULL and len is not 0; nothing was written.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part; nothing was
 *            written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read src until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_INLINE tern_status tern_put(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                 size_t len)
{
    const struct tern_part *part = tern_inline_part(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(part == NULL || src == NULL))
        return tern_inline_put(ctx, region, rank, offset, src, len, "tern_put");
    /* release: earlier writes of this thread are visible before the data. Pairs with the acquire fence of a get, or
     * with any other acquire of a rank that reads the data. */
    tern_inline_release();
    tern_copy(part->base + offset, src, len);
    /* release: the data is visible before later writes of this thread. Pairs with the same acquires. */
    tern_inline_release();
    tern_inline_written(part);
    return TERN_OK;
}

/* Copy a rank's part of a region to local memory. The call copies len bytes from byte offset of rank's part of region
 * to dst.
 * Returns  TERN_OK: the data is in dst.
 *          TERN_ERR_ARG: ctx or region is NULL, or dst is NULL and len is not 0; dst is unchanged.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part; nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of dst is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of dst is undefined, and Tern may still write
 *            to dst until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of dst is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_INLINE tern_status tern_get(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(from == NULL || dst == NULL))
        return tern_inline_get(ctx, region, rank, offset, dst, len, "tern_get");
    tern_copy(dst, from, len);
    /* acquire: the data is read before later reads and writes of this thread. Pairs with the release fences of
     * tern_put. */
    tern_inline_acquire();
    return TERN_OK;
}

/* Start a put, and fill an event. The call starts copying len bytes from src to byte offset of rank's part of region.
 * *event completes with the put. The call does not wait for the transfer, but waits for resources if they are
 * exhausted. The caller must not modify src until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or event is NULL, or src is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   The data is visible to all ranks when the event completes. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                    size_t len, tern_event *event)
{
    const struct tern_part *part = tern_inline_part(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(part == NULL || src == NULL || event == NULL)) {
        tern_opts opts = TERN_OPTS_INIT;

        opts.flags = TERN_WANT_EVENT;
        opts.event = event;
        opts.call = "tern_put_nb";
        return tern_put_with(ctx, region, rank, offset, src, len, &opts);
    }
    /* The fences are the same as in tern_put, because the event is complete when the call returns. */
    tern_inline_release();
    tern_copy(part->base + offset, src, len);
    tern_inline_release();
    tern_inline_written(part);
    event->pending = NULL;
    return TERN_OK;
}

/* Start a get, and fill an event. The call starts copying len bytes from byte offset of rank's part of region to dst.
 * *event completes with the get. The call does not wait for the transfer, but waits for resources if they are
 * exhausted. The content of dst is undefined until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or event is NULL, or dst is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                    size_t len, tern_event *event)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(from == NULL || dst == NULL || event == NULL)) {
        tern_opts opts = TERN_OPTS_INIT;

        opts.flags = TERN_WANT_EVENT;
        opts.event = event;
        opts.call = "tern_get_nb";
        return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
    }
    tern_copy(dst, from, len);
    tern_inline_acquire(); /* as in tern_get: the event is complete on return */
    event->pending = NULL;
    return TERN_OK;
}

/* Start a put, which the next tern_quiet completes. The call starts copying len bytes from src to byte offset of rank's
 * part of region. The next tern_quiet on ctx completes the put, and reports an error that occurs after the start. The
 * call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not modify src
 * until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx or region is NULL, or src is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   The data is visible to all ranks when tern_quiet on ctx returns. The target does not have to call Tern for
 *          the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len)
{
    const struct tern_part *part = tern_inline_part(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(part == NULL || src == NULL))
        return tern_put_with(ctx, region, rank, offset, src, len, NULL);
    /* release: orders earlier puts of a strict context before this one. tern_quiet orders the end of this put. */
    tern_inline_release();
    tern_copy(part->base + offset, src, len);
    tern_inline_written(part);
    return TERN_OK;
}

/* Start a get, which the next tern_quiet completes. The call starts copying len bytes from byte offset of rank's part
 * of region to dst. The next tern_quiet on ctx completes the get, and reports an error that occurs after the start. The
 * call does not wait for the transfer, but waits for resources if they are exhausted. The content of dst is undefined
 * until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx or region is NULL, or dst is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                     size_t len)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(from == NULL || dst == NULL))
        return tern_get_with(ctx, region, rank, offset, dst, len, NULL);
    tern_copy(dst, from, len);
    tern_inline_acquire(); /* orders earlier gets of a strict context before later ones */
    return TERN_OK;
}

TERN_END_DECLS

#endif
