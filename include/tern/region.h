/* region.h: memory that other ranks may read and write.
 *
 * A region is created collectively by the ranks of a team. Each rank of the team owns one part of the region, and
 * remote memory is addressed as (region, rank, byte offset in the part of that rank). tern_region_create allocates the
 * parts; tern_region_register uses memory that the program already has. How a process reaches a part depends on where
 * the part is, and tern_region_path tells which path Tern uses:
 *
 *   "self"     the caller's own part
 *   "shm"      allocated memory of a rank on the same node: loads and stores of the initiator
 *   "cma"      registered memory of a rank on the same node: the kernel copies (cross-memory attach)
 *   "bounce"   registered memory of a rank on the same node, where the kernel forbids cross-memory attach: the helper
 *              thread of the target copies
 *   "ofi"      any memory of a rank on another node: the network copies, through libfabric
 */
#ifndef TERN_REGION_H
#define TERN_REGION_H

#include <stdint.h>
#include <tern/context.h>
#include <tern/inline.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Memory that other ranks may read and write. tern_region_create and tern_region_register make one. */
typedef struct tern_region tern_region;

/* The kind of memory that tern_region_create allocates. */
typedef enum tern_memory {
    TERN_MEMORY_HOST = 0, /* ordinary pages */
    TERN_MEMORY_HUGE = 1, /* huge pages; if the system has too few of them, ordinary pages and a log message */
    TERN_MEMORY_FILE = 2  /* a file for each rank, which remains when the job ends */
} tern_memory;

/* Options of tern_region_create. Create them with TERN_REGION_OPTS or TERN_REGION_OPTS_INIT, which set size. For
 * TERN_MEMORY_FILE, the part of rank r is the file "path.r". Tern creates the file (with mode 0600) or extends it as
 * needed, and keeps its content. An existing file must belong to the user of the job and must not be writable by its
 * group or by others; a symbolic link is refused. */
typedef struct tern_region_opts {
    uint32_t    size;   /* sizeof(tern_region_opts), so that later versions can add fields */
    tern_memory memory; /* kind of the memory; 0 is TERN_MEMORY_HOST */
    const char *path;   /* for TERN_MEMORY_FILE; NULL otherwise */
} tern_region_opts;

#define TERN_REGION_OPTS_INIT TERN_SIZED(tern_region_opts)
#ifndef __cplusplus
#define TERN_REGION_OPTS(...) ((tern_region_opts){ .size = sizeof(tern_region_opts), __VA_ARGS__ })
#endif

/* Allocate a region, with a part at each rank of a team. Each rank of the context's team gets a part of size bytes. The
 * call is collective over the team, and all ranks pass the same size and the same options. If opts is NULL, the memory
 * is TERN_MEMORY_HOST. The memory is zeroed, except that files keep their content. The call reserves the memory, so
 * that using the memory later cannot fail.
 * Returns  TERN_OK: *out is the region. All ranks return TERN_OK.
 *          TERN_ERR_ARG: a pointer is NULL, size is 0, opts is invalid, or ranks passed different sizes or options.
 *          TERN_ERR_NOMEM: there is not enough memory. tern_error_detail says how much is missing and what limits it.
 *          TERN_ERR_SYSTEM: the operating system refused the memory or the file.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, or an earlier collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks, and nothing remains allocated.
 * Remote   When the call returns, every rank of the team can use the region.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_region_create(tern_ctx *ctx, uint64_t size, const tern_region_opts *opts, tern_region **out);

/* Create a region from memory that the program already has. The call is collective over the context's team. Each rank
 * passes its own memory; the lengths may differ, and a rank without memory passes NULL and 0. The memory remains the
 * program's, and must stay mapped until tern_region_free returns.
 *
 * If a rank unmaps the memory earlier, contiguous puts and gets to the missing bytes fail with TERN_ERR_LINK and do no
 * other harm. Atomic operations, accumulates, signals, and puts and gets of many pieces are carried out by a thread in
 * the process of the owner. They also fail with TERN_ERR_LINK if the memory is missing when they begin; but if the
 * memory is unmapped while the thread accesses it, a signal kills the owner.
 * Returns  TERN_OK: *out is the region. All ranks return TERN_OK.
 *          TERN_ERR_ARG: ctx or out is NULL, addr is NULL and len is not 0, or the memory wraps around the end of the
 *            address space.
 *          TERN_ERR_NOMEM: there is no memory for the tables of the region.
 *          TERN_ERR_SYSTEM: the operating system refused a thread that serves the region.
 *          TERN_ERR_LINK: the network cannot register the memory.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, or an earlier collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks.
 * Remote   When the call returns, every rank of the team can use the region.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_region_register(tern_ctx *ctx, void *addr, uint64_t len, tern_region **out);

/* Free a region. The call releases the memory that tern_region_create reserved. The call is collective over the
 * region's team; all ranks free the regions of a team in the same order. All operations of this rank on the region must
 * be complete. While some are outstanding, or wait for a counter, the call fails on this rank and changes nothing; the
 * other ranks wait until this rank has completed the operations and has called tern_region_free again. The call makes
 * progress for no context: complete sends first if another rank has to receive them before it calls tern_region_free.
 * If another thread of this process runs an active message handler, the call also waits until the handler returns.
 * Calls with a freed region return TERN_ERR_STATE, until about 64 other regions have been freed.
 * Returns  TERN_OK: the region is freed.
 *          TERN_ERR_ARG: region is NULL, or (on all ranks) ranks passed different regions.
 *          TERN_ERR_TIMEOUT: a rank did not call within the time that the option TERN_TIMEOUT sets. The region remains;
 *            call tern_region_free again for this region before any other region of the team.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a call for another region timed out and was not repeated, the
 *            region is already freed, or operations of this rank on the region are outstanding: tern_error_detail says
 *            how many, and of which context.
 * Remote   When the call returns, no rank uses the region any more.
 * Threads  Any thread may call this function. A rank may make one collective call per team at a time. */
TERN_API tern_status tern_region_free(tern_region *region);

/* Get a pointer to a rank's part of a region. The program may load and store through the pointer. rank counts in the
 * region's team.
 * Returns  The address of the part in this process. NULL: this process cannot load from and store to the part, the part
 *            is empty, the rank has died, or the region's team has no such rank.
 * Remote   None. Accesses through the pointer are ordinary accesses to shared memory.
 * Threads  Any thread may call this function. */
TERN_API void *tern_region_ptr(const tern_region *region, int rank);

/* Get the length of the part of a rank. rank counts in the region's team.
 * Returns  The length in bytes; 0 if the region's team has no such rank.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API uint64_t tern_region_size(const tern_region *region, int rank);

/* Get the name of the path to a part of a region. The path is the way on which this process reaches the part of the
 * rank. rank counts in the region's team. See region.h for the paths.
 * Returns  A static string: "self", "shm" (loads and stores), "cma" (the kernel copies), "bounce" (the helper thread of
 *            the target copies through a buffer), "ofi" (the network), or "none" if there is no such part.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API const char *tern_region_path(const tern_region *region, int rank);

/* Find the region and the offset of an address at a rank. The call finds the region that contains the address in the
 * address space of the rank, and the offset of the address in the part of that rank. rank counts in the team of ctx.
 * The address of allocated memory is the address that tern_region_ptr returns for a rank's own part on that rank. If
 * several regions contain the address, the call returns any of them.
 * Returns  TERN_OK: the region is in *region, and the offset is in *offset.
 *          TERN_ERR_RANGE: no region contains the address, or rank is not in the context's team.
 *          TERN_ERR_ARG: ctx, region or offset is NULL.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_region_find(tern_ctx *ctx, int rank, const void *addr, tern_region **region,
                                      uint64_t *offset);

TERN_END_DECLS

#endif
