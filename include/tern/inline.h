/* inline.h: declarations for the inlined calls of the other headers. NOT PART OF THE INTERFACE: programs do not use the
 * names in this file, which may change in any version. The layouts here are stable within a major version, so that
 * programs that were compiled with an older minor version keep working.
 */
#ifndef TERN_INLINE_H
#define TERN_INLINE_H

#include <stddef.h>
#include <stdint.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

struct tern_ctx;
struct tern_event;
struct tern_region;

/* The beginning of a context. The first member is 0 if the ranks of the team are not those of the job, and the second
 * one if they are. Both are 0 while operations must go through the library to keep the order of the context. */
struct tern_ctx_head {
    uint32_t       direct_ranks; /* ranks 0 to direct_ranks - 1 may take the inlined path */
    uint32_t       mapped_ranks; /* ranks 0 to mapped_ranks - 1 may take it after a translation by world_rank */
    const int32_t *world_rank;   /* [mapped_ranks] rank in the job of each rank of the team */
};

/* One part of a region. */
struct tern_part {
    unsigned char *base;  /* address of the part in this process */
    uint64_t       reach; /* number of bytes at base that loads and stores may access; 0: call the library */
    uint32_t      *waits; /* not 0: a thread of the rank may sleep until the part changes. Undefined if reach is 0 */
};

/* Offset, in bytes from the address in a tern_region pointer, of an array of tern_size() struct tern_part, indexed by
 * the rank in the job. */
#define TERN_REGION_PARTS 256

/* Whether the compiler has complex types. C++ has none that are compatible with those of C. */
#if !defined(__cplusplus) && !defined(__STDC_NO_COMPLEX__)
#define TERN_INLINE_COMPLEX
#endif

#define TERN_ATOMIC_TYPES 12 /* entries of tables that are indexed by type; complex types have no atomic operations */

/* The beginning of an atomic domain. */
struct tern_atomic_head {
    uint32_t direct[TERN_ATOMIC_TYPES]; /* by type: operations that loads and stores may execute */
};

/* Copies longer than TERN_COPY_PIECE and not longer than TERN_COPY_WHOLE bytes are made in pieces of TERN_COPY_PIECE
 * bytes. For such lengths, C libraries switch to a string instruction, whose start-up time exceeds the time of copying
 * the same bytes with vector moves while they fit into the first-level cache (docs/measuring.md). */
#define TERN_COPY_PIECE 2048u
#define TERN_COPY_WHOLE 16384u

/* A block of any alignment. */
typedef uint8_t tern_any_block __attribute__((vector_size(16), may_alias, aligned(1)));

/* Memory that contains a value, whatever its type in the program. */
typedef uint8_t  tern_atomic_word8 __attribute__((may_alias));
typedef uint16_t tern_atomic_word16 __attribute__((may_alias));
typedef uint32_t tern_atomic_word32 __attribute__((may_alias));
typedef uint64_t tern_atomic_word64 __attribute__((may_alias));

/* The out-of-line parts of tern_put and tern_get, and of the calls that put or get a value; call is the name of the
 * public call, for error texts. */
TERN_API tern_status tern_inline_put(struct tern_ctx *ctx, struct tern_region *region, int rank, uint64_t offset,
                                     const void *src, size_t len, const char *call);
TERN_API tern_status tern_inline_get(struct tern_ctx *ctx, struct tern_region *region, int rank, uint64_t offset,
                                     void *dst, size_t len, const char *call);

/* The out-of-line part of the calls that get a value of at most 8 bytes. The value is returned in a register, because
 * the program's variable could not stay in one if a call took its address. */
struct tern_inline_got {
    uint64_t    bits; /* the value, in the first bytes in memory */
    tern_status status;
};
TERN_API struct tern_inline_got tern_inline_get_word(struct tern_ctx *ctx, struct tern_region *region, int rank,
                                                     uint64_t offset, size_t len, const char *call);

/* The out-of-line part of tern_copy, for lengths between TERN_COPY_PIECE and TERN_COPY_WHOLE. */
TERN_API void tern_inline_copy(void *to, const void *from, size_t len);

/* Find the part that contains bytes of a rank that loads and stores reach. NULL: call the library. The number of
 * branches bounds the time of a put: conditions are combined where that saves one. */
TERN_INLINE const struct tern_part *tern_inline_part(const struct tern_ctx *ctx, const struct tern_region *region,
                                                     int rank, uint64_t offset, uint64_t len)
{
    const struct tern_ctx_head *c = (const struct tern_ctx_head *)(const void *)ctx;
    const struct tern_part     *part;
    uint64_t                    last = offset + len - 1, highest = (offset | len) & ((uint64_t)1 << 63);

    if (TERN_UNLIKELY((c == NULL) | (region == NULL)))
        return NULL;
    part = (const struct tern_part *)(const void *)((const char *)region + TERN_REGION_PARTS);
    if (TERN_LIKELY((uint32_t)rank < __atomic_load_n(&c->direct_ranks, __ATOMIC_RELAXED))) /* threads may share c */
        part += rank;
    else if ((uint32_t)rank < __atomic_load_n(&c->mapped_ranks, __ATOMIC_RELAXED))
        part += c->world_rank[rank];
    else
        return NULL;
    /* The sum cannot have wrapped around if the highest bit of neither operand is set. Another thread sets reach to 0
     * when the rank dies. */
    if (TERN_UNLIKELY((last | highest) >= __atomic_load_n(&part->reach, __ATOMIC_RELAXED)))
        return NULL;
    return part;
}

/* Wake the rank of a part. */
TERN_API void tern_inline_wake(const struct tern_part *part);

/* Wake the threads of a part's rank that wait for a change of the part, after writing to it. There is no fence: these
 * threads run a membarrier, or do not rely on being woken. */
TERN_INLINE void tern_inline_written(const struct tern_part *part)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (TERN_UNLIKELY(__atomic_load_n(part->waits, __ATOMIC_RELAXED) != 0))
        tern_inline_wake(part);
}

/* The out-of-line part of tern_event_test, for events that are not known to be complete. */
TERN_API tern_status tern_inline_event_test(struct tern_event *event);

/* Fences that gcc accepts with -fsanitize=thread. The thread sanitizer does not model fences, and gcc says so with a
 * warning; Tern's own synchronization does not depend on the sanitizer seeing these fences. */
#if defined(__SANITIZE_THREAD__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#define TERN_INLINE_FENCES_POP
#endif
TERN_INLINE void tern_inline_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

TERN_INLINE void tern_inline_acquire(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
#ifdef TERN_INLINE_FENCES_POP
#pragma GCC diagnostic pop
#undef TERN_INLINE_FENCES_POP
#endif

TERN_END_DECLS

/* TERN_SIZED(type): a value of an input struct, with its size set and everything else zero. */
#ifdef __cplusplus
template <typename T> inline T tern_inline_sized()
{
    T value = T();
    value.size = sizeof(T);
    return value;
}
#define TERN_SIZED(type) tern_inline_sized<type>()
#else
#define TERN_SIZED(type) ((type){ .size = sizeof(type) })
#endif

#endif
