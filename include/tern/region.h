/* region.h: memory that other ranks may read and write, addressed as (region, rank, byte offset).
 *
 * Each rank of the region's team owns one part. Parts that tern_region_alloc made are shared memory on a node: every
 * rank there reaches them by plain loads and stores. Parts that tern_region_register opened are the program's own
 * memory, reached through the kernel (cross-memory attach) or, where that is forbidden, through a bounce buffer.
 */
#ifndef TERN_REGION_H
#define TERN_REGION_H

#include <stdint.h>
#include <tern/context.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

typedef struct tern_region tern_region;

/* What the memory of a region is made of. */
typedef enum tern_memory {
    TERN_MEMORY_HOST = 0, /* ordinary pages */
    TERN_MEMORY_HUGE = 1, /* huge pages; ordinary ones, with a note, where the system has too few */
    TERN_MEMORY_FILE = 2  /* a file per rank, which outlives the job */
} tern_memory;

typedef struct tern_region_opts {
    tern_memory memory;
    const char *path; /* TERN_MEMORY_FILE: rank r's part is the file "path.r", made (with mode 0600) or extended as
                         needed; its old content is kept. A file that was there before has to belong to the user of the
                         job, and neither its group nor others may write it; a symbolic link is refused. NULL
                         otherwise */
} tern_region_opts;

/* One rank's part as the inlined fast paths see it. This layout is stable within a major version. */
struct tern_part {
    unsigned char *base;  /* where the part is mapped in this process */
    uint64_t       reach; /* bytes from base on that loads and stores may touch; 0: go through the library */
};

/* Where in a region its parts are: an array of tern_size() struct tern_part by rank in the job, this many bytes behind
 * the address that a tern_region pointer holds. This layout is stable within a major version. */
#define TERN_REGION_PARTS 256

/* Make a region with size bytes on each rank of the context's team, zeroed unless a file gave it content. Collective
 * over the team; all ranks pass the same size and opts. The space is reserved before the call returns: using it never
 * fails later. opts NULL: TERN_MEMORY_HOST.
 * Returns  TERN_OK and the region in *out, on all ranks. On all ranks the same error otherwise, and nothing is left:
 *          TERN_ERR_ARG: a pointer is NULL, size is 0 or differs between ranks, opts is not valid. TERN_ERR_NOMEM: the
 *          space is not there. TERN_ERR_SYSTEM: the file cannot be used. TERN_ERR_PEER: a rank died. TERN_ERR_TIMEOUT:
 *          a rank did not come in time; the team can make no more collective calls but tern_region_free.
 *          TERN_ERR_STATE: not initialized, another thread is in a collective call on the team, or an earlier one timed
 *          out.
 * Remote   returns when every rank can use the region.
 * Threads  the one that uses ctx; one collective call per team at a time. */
TERN_API tern_status tern_region_alloc(tern_ctx *ctx, uint64_t size, const tern_region_opts *opts, tern_region **out);

/* Open memory that the program has already. Collective over the context's team; each rank passes its own memory, of
 * any length, also none (addr NULL, len 0). The memory stays the program's, and must stay mapped until
 * tern_region_free. If a rank unmaps it earlier, contiguous puts and gets of the missing bytes fail with
 * TERN_ERR_LINK and harm nobody. Atomic operations, accumulates, signals, and puts and gets of many pieces are carried
 * out by loads and stores of a thread in the owner's process; they fail with TERN_ERR_LINK too if the memory is missing
 * when they begin, but memory that is unmapped in that very moment ends the owner's process by a signal.
 * Returns  as tern_region_alloc. TERN_ERR_ARG: addr is NULL and len is not 0, or the memory wraps around the end of
 *          the address space.
 * Remote   returns when every rank can use the region.
 * Threads  the one that uses ctx; one collective call per team at a time. */
TERN_API tern_status tern_region_register(tern_ctx *ctx, void *addr, uint64_t len, tern_region **out);

/* Close a region and release what tern_region_alloc reserved. Collective over its team. Operations on it must be
 * complete. It belongs to no context, and makes progress for none: sends that another rank receives before it makes
 * this call are to be waited for first. The call also waits until a handler of an active message in which another
 * thread of this process is has returned.
 * Returns  TERN_OK. TERN_ERR_ARG: region is NULL. TERN_ERR_TIMEOUT: the others did not come within TERN_TIMEOUT; the
 *          region stays, and the call is to be made again before another region of the team is freed. TERN_ERR_ARG on
 *          all ranks: they passed different regions. TERN_ERR_STATE: not initialized, or another thread is in a
 *          collective call on the team.
 * Remote   returns when no rank uses the region any more.
 * Threads  any; one collective call per team at a time. */
TERN_API tern_status tern_region_free(tern_region *region);

/* A plain pointer to the part of a rank, counted in the region's team.
 * Returns  the pointer; NULL where the part cannot be reached by loads and stores from here, is empty, its rank is
 *          gone, or there is no such rank.
 * Remote   none. What the program does through the pointer is ordinary shared memory access.
 * Threads  any. */
TERN_API void *tern_region_ptr(const tern_region *region, int rank);

/* The length of a rank's part, counted in the region's team.
 * Returns  bytes; 0 when there is no such rank.
 * Remote   none.
 * Threads  any. */
TERN_API uint64_t tern_region_size(const tern_region *region, int rank);

/* How this process reaches the part of a rank, counted in the region's team.
 * Returns  a static name: "self", "shm" (loads and stores), "cma" (through the kernel), "bounce" (through a buffer and
 *          the target's service thread), "ofi" (over the network); "none" when there is no such part.
 * Remote   none.
 * Threads  any. */
TERN_API const char *tern_region_path(const tern_region *region, int rank);

/* Find the region that holds an address of another rank's address space. Regions that tern_region_alloc made have an
 * address on each rank: the one that tern_region_ptr gives to that rank itself. Where regions overlap, any of them may
 * be found.
 * Returns  TERN_OK, the region in *region and the offset in *offset. TERN_ERR_RANGE: no region holds it, or there is no
 *          such rank. TERN_ERR_ARG: a pointer is NULL.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_region_find(tern_ctx *ctx, int rank, const void *addr, tern_region **region,
                                      uint64_t *offset);

TERN_END_DECLS

#endif
