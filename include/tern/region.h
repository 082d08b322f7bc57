/* region.h: memory that other ranks may read and write.
 *
 * A region is created collectively by the ranks of a team. Each rank of the team owns one part of the region, and
 * remote memory is addressed as (region, rank, byte offset in the part of that rank). tern_region_create allocates the
 * parts; tern_region_register uses memory that the program already has, and tern_region_adopt makes such memory shared
 * memory in place. A region of tern_region_open is dynamic: each rank attaches memory to the region on its own, and
 * remote memory is addressed as (region, rank, address). The path by which a process reaches a part depends on the
 * location of the part. tern_region_path returns the path:
 *
 *   "self"     the caller's own part
 *   "shm"      allocated or adopted memory of a rank on the same node: loads and stores of the initiator
 *   "cma"      registered memory of a rank on the same node: the kernel copies (cross-memory attach)
 *   "bounce"   registered memory of a rank on the same node, where the kernel forbids cross-memory attach: the helper
 *              thread of the target copies
 *   "ofi"      any memory of a rank on another node: the network copies, through libfabric
 *   "tcp"      any memory of a rank on another node: the progress thread of the target copies, over TCP sockets
 */
#ifndef TERN_REGION_H
#define TERN_REGION_H

#include <stdint.h>
#include <tern/context.h>
#include <tern/inline.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Memory that other ranks may read and write. tern_region_create, tern_region_register, tern_region_adopt and
 * tern_region_open make a region. */
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
    uint32_t    size;    /* sizeof(tern_region_opts), so that later versions can add fields */
    tern_memory memory;  /* kind of the memory; 0 is TERN_MEMORY_HOST */
    const char *path;    /* for TERN_MEMORY_FILE; NULL otherwise */
    uint64_t    reserve; /* bytes to which tern_region_grow can let this rank's part grow; 0: the part cannot grow */
    uint32_t    each;    /* 1: each rank chooses size and reserve for its own part. 0: they are equal on all ranks */
    uint32_t    unused;  /* must be 0 */
} tern_region_opts;

#define TERN_REGION_OPTS_INIT TERN_SIZED(tern_region_opts)
#ifndef __cplusplus
#define TERN_REGION_OPTS(...) ((tern_region_opts){ .size = sizeof(tern_region_opts), __VA_ARGS__ })
#endif

/* Allocate a region, with a part at each rank of a team. Each rank of the context's team gets a part of size bytes. The
 * call is collective over the team, and all ranks pass the same size and the same options. With opts->each, every rank
 * chooses the size of its own part, which may be 0. If opts is NULL, the memory is TERN_MEMORY_HOST. The memory is
 * zeroed, except that files keep their content. The call reserves the memory, so that using the memory later cannot
 * fail. With opts->reserve, the part can grow by tern_region_grow: the call takes address space for that many bytes,
 * but memory only for size bytes, and size may be 0.
 * Returns  TERN_OK: *out is the region. All ranks return TERN_OK.
 *          TERN_ERR_ARG: a pointer is NULL, size is 0 without opts->each and opts->reserve, or opts is invalid; or,
 *            on all ranks, ranks passed different sizes or options, or made different collective calls.
 *          TERN_ERR_NOMEM: there is not enough memory. tern_error_detail says how much is missing and what limits it.
 *          TERN_ERR_SYSTEM: the operating system refused the memory or the file.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
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
 * memory is unmapped while the thread accesses it, a signal kills the owner. Over a network whose data the owner's
 * processor copies, such as TCP, a signal may kill the owner after any access to missing bytes.
 * Returns  TERN_OK: *out is the region. All ranks return TERN_OK.
 *          TERN_ERR_ARG: ctx or out is NULL, addr is NULL and len is not 0, or the memory wraps around the end of the
 *            address space; or, on all ranks, ranks made different collective calls.
 *          TERN_ERR_NOMEM: there is no memory for the tables of the region.
 *          TERN_ERR_SYSTEM: the operating system refused a thread that serves the region.
 *          TERN_ERR_LINK: the network cannot register the memory.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks.
 * Remote   When the call returns, every rank of the team can use the region.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_region_register(tern_ctx *ctx, void *addr, uint64_t len, tern_region **out);

/* Make memory of the program shared memory, in place. The call creates a region from it. Afterwards, the ranks on
 * the same node access the memory as fast as memory of tern_region_create; ranks on other nodes access it as memory of
 * tern_region_register. The memory may be static variables (.data and .bss), memory of malloc, or private memory of
 * mmap. Its addresses and contents stay, and it remains the program's: it must not be freed, unmapped or passed to
 * realloc before tern_region_free returns. The call is collective over the context's team. Each rank passes its own
 * memory; the lengths may differ, and a rank without memory passes NULL and 0.
 *
 * addr and len need not be multiples of the page size: the call moves the whole pages that contain the memory. Bytes in
 * the first and the last page that are not part of the region keep working, but no other region may adopt them at the
 * same time. A child that fork creates gets private copies of the pages; the parent waits in fork until they are made.
 * This does not hold for children that are created by the clone system call directly; vfork, posix_spawn and exec are
 * not affected. tern_region_free makes the pages private memory again; if other threads of the process run then, or
 * there is no memory, it leaves them in shared memory that no other process uses.
 * Returns  TERN_OK: *out is the region. All ranks return TERN_OK.
 *          TERN_ERR_ARG: a pointer is NULL, or the memory wraps around the end of the address space; or, on all ranks,
 *            ranks made different collective calls, or the pages of a rank's memory contain memory that is not mapped,
 *            not writable, executable, shared, a stack, or in another region.
 *          TERN_ERR_STATE: Tern is not initialized, the process has other threads than the caller and those of Tern
 *            (they could write to the memory while it is moved; libpmix has such a thread, so that the call always
 *            fails under launchers with PMIx), an active message handler made the call, another thread of this rank is
 *            in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
 *          TERN_ERR_NOMEM: there is not enough memory. tern_error_detail says how much is missing and what limits it.
 *          TERN_ERR_SYSTEM: the operating system refused to move the pages.
 *          TERN_ERR_LINK: the network cannot register the memory.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          If the call fails on one rank after it has begun, it fails on all ranks, and the memory of all ranks is as
 *          it was before.
 * Remote   When the call returns, every rank of the team can use the region.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_region_adopt(tern_ctx *ctx, void *addr, uint64_t len, tern_region **out);

/* Create a dynamic region. Each rank attaches memory to the region at any time, without the other ranks. The call is
 * collective over the context's team; tern_region_attach and tern_region_detach are not. In all calls with a dynamic
 * region, the offset is the address of the memory in the address space of its rank, which the ranks tell each other by
 * their own means. All bytes of one call must lie in one attached range, including the bytes of all pieces of a list.
 * Lists contain addresses in place of offsets. Notifications, signals, atomic operations and accumulates work as with
 * registered memory (tern_region_register). Only long active messages do not access dynamic regions, and
 * tern_signal_wait waits for words of other regions (tern_word_wait waits for any word); tern_region_ptr returns NULL,
 * tern_region_size 0, tern_region_path "none", and tern_region_find does not find dynamic regions.
 *
 * Every operation begins with a check that the memory is attached: on the node by reading the table of the rank, and
 * over a network by fetching a word, so that even a call with TERN_IMMEDIATE waits for the network.
 * Returns  TERN_OK: *out is the region. All ranks return TERN_OK.
 *          TERN_ERR_ARG: ctx or out is NULL; or, on all ranks, ranks made different collective calls.
 *          TERN_ERR_NOMEM: there is not enough memory. tern_error_detail says how much is missing and what limits it.
 *          TERN_ERR_SYSTEM: the operating system refused memory, or a thread that serves the region.
 *          TERN_ERR_LINK: the network cannot register memory.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks.
 * Remote   When the call returns, every rank of the team can use the region.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_region_open(tern_ctx *ctx, tern_region **out);

/* Attach memory of this rank to a dynamic region. Afterwards, other ranks access the memory by its address. The memory
 * remains the program's, and must stay mapped until tern_region_detach or tern_region_free returns. If the memory is
 * unmapped earlier, operations on the missing bytes fail with TERN_ERR_LINK; but if it is unmapped while a thread of
 * this process executes an atomic operation, an accumulate, a signal, or a put or get of many pieces on it, a signal
 * kills this process. Over a network whose data the processor copies, such as TCP, a signal may kill this process after
 * any access to missing bytes. A rank can attach 4096 ranges at the same time.
 * Returns  TERN_OK: the memory is attached.
 *          TERN_ERR_ARG: region is NULL or not dynamic, addr is NULL, len is 0, the memory wraps around the end of the
 *            address space, or it overlaps memory that is attached to the region.
 *          TERN_ERR_NOMEM: there is no memory for tables, or 4096 ranges are attached.
 *          TERN_ERR_LINK: the network cannot register the memory.
 *          TERN_ERR_STATE: Tern is not initialized, or the region is freed.
 * Remote   When the call returns, every rank of the team can access the memory.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_region_attach(tern_region *region, void *addr, uint64_t len);

/* Detach memory from a dynamic region. addr is the beginning of a range that this rank has attached. Operations of
 * other ranks on the memory must be complete. An operation that is outstanding fails, or still accesses the memory. An
 * operation that begins after the call has returned fails with TERN_ERR_RANGE.
 * Returns  TERN_OK: the memory is detached.
 *          TERN_ERR_ARG: region is NULL or not dynamic, or no attached memory begins at addr.
 *          TERN_ERR_STATE: Tern is not initialized, or the region is freed.
 * Remote   When the call returns, no rank can begin to access the memory.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_region_detach(tern_region *region, void *addr);

/* Let the parts of a region grow. Afterwards, this rank's part has size bytes, and the parts of the other ranks have
 * the sizes that these ranks passed; a rank passes its present size if its part is not to grow. The region was created
 * with a reserve, which limits the size. Addresses and contents stay, and the new bytes are zeroed, except that a file
 * keeps its content. The call is collective over the region's team. Operations on the region may be outstanding during
 * the call, and other threads may use the region.
 * Returns  TERN_OK: all parts have grown. All ranks return TERN_OK.
 *          TERN_ERR_ARG: region is NULL; or, on all ranks, a rank passed less than its present size, ranks passed
 *            different regions or made different collective calls, or the memory of the region is the program's.
 *          TERN_ERR_RANGE: a rank passed more than its reserve.
 *          TERN_ERR_NOMEM: there is not enough memory. tern_error_detail says how much is missing and what limits it.
 *          TERN_ERR_SYSTEM: the operating system refused the memory.
 *          TERN_ERR_LINK: the network cannot register the memory.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call within the time that the option TERN_TIMEOUT sets. Afterwards, the
 *            team can make no collective calls but tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, the region is freed, an active message handler made the call,
 *            another thread of this rank is in a collective call on the team, a barrier on the team timed out and was
 *            not repeated, or another collective call on the team timed out.
 *          If the call fails on one rank, it fails on all ranks, and the region is unchanged. Only after TERN_ERR_PEER
 *          and TERN_ERR_TIMEOUT, other ranks may have seen the parts grow; their operations work.
 * Remote   When the call returns, every rank of the team can use the new bytes.
 * Threads  Any thread may call this function. A rank may make one collective call per team at a time. */
TERN_API tern_status tern_region_grow(tern_region *region, uint64_t size);

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

/* Get a pointer to a rank's part of a region. The program may load and store through the pointer. rank is a rank of the
 * region's team.
 * Returns  The address of the part in this process. NULL: this process cannot load from and store to the part, the part
 *            is empty and cannot grow, the rank has died, or the region's team has no such rank.
 * Remote   None. Accesses through the pointer are ordinary accesses to shared memory.
 * Threads  Any thread may call this function. */
TERN_API void *tern_region_ptr(const tern_region *region, int rank);

/* Get the length of the part of a rank. rank is a rank of the region's team.
 * Returns  The length in bytes; 0 if the region's team has no such rank.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API uint64_t tern_region_size(const tern_region *region, int rank);

/* Get the name of the path to a part of a region. The path is the way in which this process reaches the part of the
 * rank. rank is a rank of the region's team. See region.h for the paths.
 * Returns  A static string: "self", "shm" (loads and stores), "cma" (the kernel copies), "bounce" (the helper thread of
 *            the target copies through a buffer), "ofi" or "tcp" (the network), or "none" if there is no such
 *            part.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API const char *tern_region_path(const tern_region *region, int rank);

/* Find the region and the offset of an address at a rank. The call finds the region that contains the address in the
 * address space of the rank, and the offset of the address in the part of that rank. rank is a rank of the team of ctx.
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
