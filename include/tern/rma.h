/* rma.h: put and get, contiguous.
 *
 * tern_put and tern_get return when the transfer is complete at both ends. The _nb forms return an event; the _nbi
 * forms are completed by the next tern_quiet on the context. The _with forms take options: never wait for resources,
 * report separately that the source may be reused. Offsets are in bytes; ranks count in the context's team.
 *
 * On a node the inlined path is a bounds check, one address computation and the copy. The copy may overlap its source.
 *
 * "Visible" means: a rank that learns that the call has returned, by any later access of the caller that it observes,
 * sees the data. Two ranks that each put and then read what the other put need a tern_quiet in between, as with
 * ordinary memory (docs/semantics.md, "Visibility").
 */
#ifndef TERN_RMA_H
#define TERN_RMA_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/region.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Between these lengths a copy is made in pieces of the first: C libraries turn to a string instruction there, which
 * takes longer to start than the same bytes take by vector moves while they fit into the first cache
 * (docs/benchmarks.md). */
#define TERN_COPY_PIECE 2048u
#define TERN_COPY_WHOLE 16384u

#define TERN_IMMEDIATE 0x1u    /* return TERN_AGAIN, with nothing started, rather than wait for resources */
#define TERN_WANT_EVENT 0x2u   /* event must not be NULL */
#define TERN_NOTIFY 0x10u      /* the target is notified when the operation has ended: see notify.h */
#define TERN_COUNT_BYTES 0x20u /* counter counts the bytes of the operation: see counter.h */

struct tern_counter;

typedef struct tern_opts {
    uint32_t    flags; /* TERN_IMMEDIATE, TERN_WANT_EVENT, TERN_NOTIFY, TERN_COUNT_BYTES */
    tern_event *local; /* if not NULL, filled with the event that the source may be overwritten (put) */
    tern_event *event; /* filled with the event of completion; NULL: the next tern_quiet completes the operation */
    uint32_t    tag;   /* TERN_NOTIFY: what the notification says */
    struct tern_counter *counter; /* counts the completion of the operation; NULL: none does. See counter.h */
    struct tern_counter *when;    /* the operation starts when this one reaches the threshold; NULL: now */
    uint64_t             threshold;
} tern_opts;

/* Values of any alignment; on the machines that Tern runs on, an aligned one is stored and loaded in one piece. */
typedef uint8_t  tern_any_u8 __attribute__((may_alias));
typedef uint16_t tern_any_u16 __attribute__((may_alias, aligned(1)));
typedef uint32_t tern_any_u32 __attribute__((may_alias, aligned(1)));
typedef uint64_t tern_any_u64 __attribute__((may_alias, aligned(1)));
typedef uint8_t  tern_any_block __attribute__((vector_size(16), may_alias, aligned(1)));

/* Say that len bytes of memory at addr, which were source or destination of transfers, are about to be given back to
 * the system. Needed only where the option TERN_OFI_CACHE lets Tern keep such memory registered with the network; does
 * nothing otherwise, and nothing to memory of regions.
 * Returns  TERN_OK. TERN_ERR_STATE: outside tern_init and tern_finalize.
 * Remote   none.
 * Threads  any. No transfer from or to the memory may be under way. */
TERN_API tern_status tern_forget(const void *addr, size_t len);

/* The part of tern_put that is not inlined. Use tern_put.
 * Returns  as tern_put.
 * Remote   as tern_put.
 * Threads  as tern_put. */
TERN_API tern_status tern_put_far(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                  size_t len);

/* The part of tern_get that is not inlined. Use tern_get.
 * Returns  as tern_get.
 * Remote   as tern_get.
 * Threads  as tern_get. */
TERN_API tern_status tern_get_far(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len);

/* Start to copy len bytes from src to byte offset of rank's part of region, with options; opts NULL: as tern_put_nbi.
 * Returns  TERN_OK: started, perhaps done. TERN_AGAIN: TERN_IMMEDIATE was given and there is no room; nothing was
 *          started. TERN_ERR_RANGE: no such rank, offset or length. TERN_ERR_PEER: rank is gone. TERN_ERR_ARG: a
 *          pointer is NULL, a flag unknown, or a counter of another context. TERN_ERR_TIMEOUT: no room within the
 *          context's time limit. TERN_ERR_NOMEM: no memory for one more operation under way. TERN_ERR_SYSTEM: the
 *          thread of triggered operations cannot be started. After TERN_AGAIN and after an error nothing was written
 *          and no event was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                   size_t len, const tern_opts *opts);

/* Start to copy len bytes from byte offset of rank's part of region to dst, with options; opts NULL: as tern_get_nbi.
 * For a get, local completion and completion are the same.
 * Returns  as tern_put_with; nothing was read after TERN_AGAIN and after an error.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len,
                                   const tern_opts *opts);

/* Where loads and stores of this process reach len bytes at byte offset of rank's part of region. An empty part and a
 * lost rank have a reach of 0, so that offset < reach fails for them.
 * Returns  the address; NULL: the library has to do it, or to say what is wrong.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_INLINE unsigned char *tern_direct(const tern_ctx *ctx, const tern_region *region, int rank, uint64_t offset,
                                       uint64_t len)
{
    const struct tern_ctx_head *c = (const struct tern_ctx_head *)(const void *)ctx;
    const struct tern_part     *part;
    uint64_t                    reach;

    if (TERN_UNLIKELY(c == NULL || region == NULL || (uint32_t)rank >= c->direct_ranks))
        return NULL;
    part = (const struct tern_part *)(const void *)((const char *)region + TERN_REGION_PARTS);
    part += TERN_LIKELY(c->world_rank == NULL) ? rank : c->world_rank[rank];
    reach = __atomic_load_n(&part->reach, __ATOMIC_RELAXED);    /* set to 0 by another thread when the rank is lost */
    if (TERN_UNLIKELY(offset >= reach || len > reach - offset)) /* cannot wrap */
        return NULL;
    return part->base + offset;
}

/* The part of tern_copy for lengths between TERN_COPY_PIECE and TERN_COPY_WHOLE. Use tern_copy.
 * Returns  nothing.
 * Remote   none of its own.
 * Threads  any, also before tern_init. */
TERN_API void tern_copy_pieces(void *to, const void *from, size_t len);

/* Copy len bytes, which may overlap. A constant length of up to 64 bytes becomes a few moves between registers and
 * memory, which compilers do not make of memmove by themselves above 16 bytes.
 * Returns  nothing.
 * Remote   none of its own.
 * Threads  any, also before tern_init. */
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
        tern_copy_pieces(to, from, len);
    } else {
        __builtin_memmove(to, from, len);
    }
}

/* Copy len bytes from src to byte offset of rank's part of region.
 * Returns  TERN_OK when the data is visible at rank. TERN_ERR_RANGE: no such rank, offset or length; nothing was
 *          written. TERN_ERR_PEER: rank is gone. TERN_ERR_ARG: a pointer is NULL. TERN_ERR_TIMEOUT: the context's time
 *          limit passed; part of the data may have been written, tern_quiet waits for the rest of the traffic, and
 *          until it has returned src may still be read.
 *          TERN_ERR_LINK: the memory that rank registered is not mapped there any more. TERN_ERR_NOMEM: no memory for
 *          one more operation under way.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_INLINE tern_status tern_put(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                 size_t len)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(to == NULL || src == NULL))
        return tern_put_far(ctx, region, rank, offset, src, len);
    /* release: what this thread wrote before is visible before the data. Pairs with the acquire after a get, or any
     * acquire of a rank that reads the data. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tern_copy(to, src, len);
    /* release: the data is visible before anything that this thread writes next. Same partners. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return TERN_OK;
}

/* Copy len bytes from byte offset of rank's part of region to dst.
 * Returns  TERN_OK when the data is in dst. Otherwise as tern_put; dst is then unchanged, or undefined after
 *          TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call. After TERN_ERR_TIMEOUT it may change
 *          until tern_quiet has returned.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_INLINE tern_status tern_get(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(from == NULL || dst == NULL))
        return tern_get_far(ctx, region, rank, offset, dst, len);
    tern_copy(dst, from, len);
    /* acquire: the data is read before anything that this thread reads or writes next. Pairs with the release fences
     * of tern_put. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return TERN_OK;
}

/* Start to copy len bytes from src to byte offset of rank's part of region. src stays unchanged until the event is
 * done.
 * Returns  as tern_put_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                    size_t len, tern_event *event)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(to == NULL || src == NULL || event == NULL)) {
        tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };
        return tern_put_with(ctx, region, rank, offset, src, len, &opts);
    }
    /* As in tern_put: the event is done on return. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tern_copy(to, src, len);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    event->pending = NULL;
    return TERN_OK;
}

/* Start to copy len bytes from byte offset of rank's part of region to dst. dst is undefined until the event is done.
 * Returns  as tern_get_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                    size_t len, tern_event *event)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(from == NULL || dst == NULL || event == NULL)) {
        tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };
        return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
    }
    tern_copy(dst, from, len);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* as in tern_get: the event is done on return */
    event->pending = NULL;
    return TERN_OK;
}

/* Start to copy len bytes from src to byte offset of rank's part of region. src stays unchanged until tern_quiet.
 * Returns  as tern_put_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(to == NULL || src == NULL))
        return tern_put_with(ctx, region, rank, offset, src, len, NULL);
    /* release: earlier puts of a strict context before this one. tern_quiet orders the end. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tern_copy(to, src, len);
    return TERN_OK;
}

/* Start to copy len bytes from byte offset of rank's part of region to dst. dst is undefined until tern_quiet.
 * Returns  as tern_get_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                     size_t len)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, len);

    if (TERN_UNLIKELY(from == NULL || dst == NULL))
        return tern_get_with(ctx, region, rank, offset, dst, len, NULL);
    tern_copy(dst, from, len);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* earlier gets of a strict context before later ones */
    return TERN_OK;
}

/* Store one value of 1 byte at byte offset of rank's part of region. A value at a multiple of its size is never seen in
 * pieces by ranks on the same node.
 * Returns  as tern_put.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_u8(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint8_t value)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(to == NULL)) {
        uint8_t copy = value; /* so that value itself stays in a register */
        return tern_put_far(ctx, region, rank, offset, &copy, sizeof(copy));
    }
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    *(volatile tern_any_u8 *)(void *)to = value;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    return TERN_OK;
}

/* Load one value of 1 byte from byte offset of rank's part of region into *value. A value at a multiple of its size is
 * never seen in pieces where ranks on the same node store it.
 * Returns  as tern_get.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_u8(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint8_t *value)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, sizeof(*value));

    if (TERN_UNLIKELY(from == NULL || value == NULL))
        return tern_get_far(ctx, region, rank, offset, value, sizeof(*value));
    *value = *(const volatile tern_any_u8 *)(const void *)from;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* as in tern_get */
    return TERN_OK;
}

/* Store one value of 2 bytes at byte offset of rank's part of region. A value at a multiple of its size is never seen
 * in pieces by ranks on the same node.
 * Returns  as tern_put.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_u16(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint16_t value)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(to == NULL)) {
        uint16_t copy = value; /* so that value itself stays in a register */
        return tern_put_far(ctx, region, rank, offset, &copy, sizeof(copy));
    }
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    *(volatile tern_any_u16 *)(void *)to = value;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    return TERN_OK;
}

/* Load one value of 2 bytes from byte offset of rank's part of region into *value. A value at a multiple of its size is
 * never seen in pieces where ranks on the same node store it.
 * Returns  as tern_get.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_u16(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint16_t *value)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, sizeof(*value));

    if (TERN_UNLIKELY(from == NULL || value == NULL))
        return tern_get_far(ctx, region, rank, offset, value, sizeof(*value));
    *value = *(const volatile tern_any_u16 *)(const void *)from;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* as in tern_get */
    return TERN_OK;
}

/* Store one value of 4 bytes at byte offset of rank's part of region. A value at a multiple of its size is never seen
 * in pieces by ranks on the same node.
 * Returns  as tern_put.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t value)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(to == NULL)) {
        uint32_t copy = value; /* so that value itself stays in a register */
        return tern_put_far(ctx, region, rank, offset, &copy, sizeof(copy));
    }
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    *(volatile tern_any_u32 *)(void *)to = value;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    return TERN_OK;
}

/* Load one value of 4 bytes from byte offset of rank's part of region into *value. A value at a multiple of its size is
 * never seen in pieces where ranks on the same node store it.
 * Returns  as tern_get.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t *value)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, sizeof(*value));

    if (TERN_UNLIKELY(from == NULL || value == NULL))
        return tern_get_far(ctx, region, rank, offset, value, sizeof(*value));
    *value = *(const volatile tern_any_u32 *)(const void *)from;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* as in tern_get */
    return TERN_OK;
}

/* Store one value of 8 bytes at byte offset of rank's part of region. A value at a multiple of its size is never seen
 * in pieces by ranks on the same node.
 * Returns  as tern_put.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t value)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(to == NULL)) {
        uint64_t copy = value; /* so that value itself stays in a register */
        return tern_put_far(ctx, region, rank, offset, &copy, sizeof(copy));
    }
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    *(volatile tern_any_u64 *)(void *)to = value;
    __atomic_thread_fence(__ATOMIC_RELEASE); /* as in tern_put */
    return TERN_OK;
}

/* Load one value of 8 bytes from byte offset of rank's part of region into *value. A value at a multiple of its size is
 * never seen in pieces where ranks on the same node store it.
 * Returns  as tern_get.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t *value)
{
    const unsigned char *from = tern_direct(ctx, region, rank, offset, sizeof(*value));

    if (TERN_UNLIKELY(from == NULL || value == NULL))
        return tern_get_far(ctx, region, rank, offset, value, sizeof(*value));
    *value = *(const volatile tern_any_u64 *)(const void *)from;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* as in tern_get */
    return TERN_OK;
}

TERN_END_DECLS

#endif
