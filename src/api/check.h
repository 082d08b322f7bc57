/* check.h: the checks that every call on a rank's part of a region begins with. */
#pragma once

#include <tern/rma.h>

#include "core/context.h"

/* Report that an argument is NULL, or that the job is not running, which explains a NULL. name is the argument. */
tern_status tern_api_null(const char *what, const char *name) __attribute__((cold, noinline));

/* Report that a rank is not in the context's team, or that the context cannot be used. */
tern_status tern_api_no_rank(const tern_ctx *ctx, int rank, const char *what) __attribute__((cold, noinline));

/* Report that bytes are not within the part of a rank of the context's team. */
tern_status tern_api_outside(const struct tern_link_part *part, int rank, uint64_t offset, uint64_t len,
                             const char *what) __attribute__((cold, noinline));

/* Report that the object, such as "the region", was freed. */
tern_status tern_api_freed(const char *what, const char *object) __attribute__((cold, noinline));

/* Report that the program has set fields of a struct that only a later version of Tern has. type is the name of the
 * struct. */
tern_status tern_api_unknown_fields(const char *what, const char *type) __attribute__((cold, noinline));

/* A struct of the program with a larger size was not initialized; no version of Tern will have larger ones. */
#define TERN_API_LARGEST 4096u

/* Report that the size with which a struct begins was not set. */
tern_status tern_api_bad_size(uint32_t given, const char *what, const char *type) __attribute__((cold, noinline));

/* Read an input struct of the program, which begins with its size. Returns the struct itself if the program was
 * compiled with the same version of it; otherwise *copy, in which fields that the program does not know are zero. NULL,
 * with the detail of the error: the size was not set, or the program has set fields that this library does not know.
 * type is the name of the struct. */
const void *tern_api_resize(const void *in, void *copy, size_t size, const char *what, const char *type)
    __attribute__((cold));

static inline const void *tern_api_sized(const void *in, void *copy, size_t size, const char *what, const char *type)
{
    return TERN_LIKELY(*(const uint32_t *)in == size) ? in : tern_api_resize(in, copy, size, what, type);
}
#define TERN_API_SIZED(type, in, copy, what) ((const type *)tern_api_sized(in, copy, sizeof(type), what, #type))

/* Find the part of a rank of the context's team. Returns an error if an argument is invalid. If the arguments are valid
 * and the context is shared, tern_api_part and tern_api_xfer return TERN_API_IS_SHARED (api/shared.h). */
tern_status tern_api_part(const tern_ctx *ctx, const tern_region *region, int rank, const char *what,
                          const struct tern_link_part **part);

/* Return whether the part belongs to a dynamic region. Such a part has no memory of its own, its offsets are addresses,
 * and tern_api_locate finds the memory. */
static inline bool tern_api_is_dynamic(const struct tern_link_part *part)
{
    return TERN_UNLIKELY(part->mem_kind == TERN_MEM_DYNAMIC);
}

/* A location in a rank's part of a dynamic region. tern_api_locate reads the address (offset) and the length, and
 * replaces part and offset by the part that is the attached memory, and the offset in this part. A location of 0 bytes
 * is not changed. The call may wait for the network. */
struct tern_api_location {
    const struct tern_link_part *part;
    uint64_t                     offset, len;
    bool                         by_network; /* find the part through which the network's own atomics reach the
                                              * memory */
};
tern_status tern_api_locate(const tern_ctx *ctx, const tern_region *region, int rank, const char *what,
                            struct tern_api_location *location) __attribute__((cold));

/* Begin a collective call that creates an object: check that ctx can be used and that out is not NULL, and claim the
 * team of the context. */
tern_status tern_api_claim(tern_ctx *ctx, const void *out, const char *what);

/* Check that the rank, which must be valid, is alive. */
tern_status tern_api_alive(const tern_ctx *ctx, int rank, const char *what);

/* Make all checks for a contiguous transfer, and fill in xfer->part. */
tern_status tern_api_xfer(const tern_ctx *ctx, const tern_region *region, int rank, struct tern_xfer *xfer,
                          const char *what);

/* Contents that a call may permit in its options, in addition to events, counters and TERN_IMMEDIATE. */
enum tern_api_allowed {
    TERN_API_NOTIFY = 1, /* TERN_NOTIFY */
    TERN_API_SIGNAL = 2,
    TERN_API_ACC = 4,
    TERN_API_ORDER = 8, /* TERN_ACQUIRE and TERN_RELEASE */
};

/* The options of a call, read and checked. */
struct tern_api_opts {
    const tern_opts *opts;
    const char      *what; /* the public call, for error texts */
    tern_opts        copy;
};

/* Read the options, which may be NULL. Check that they are valid, that the call permits them (allowed: a set of enum
 * tern_api_allowed), and, if ctx is not NULL, that their counters belong to the context. */
tern_status tern_api_opts(const tern_ctx *ctx, const tern_opts *opts, unsigned allowed, const char *what,
                          struct tern_api_opts *out);

/* Return whether the rank of the part can be notified, which requires that it is in the region's team. */
bool tern_api_notifies(const struct tern_link_part *part, int rank, const char *what);
