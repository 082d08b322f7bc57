/* cma.c: put and get on a peer's private memory through the kernel (process_vm_readv and process_vm_writev), and the
 * probe that tells whether the kernel permits these calls. Containers, seccomp filters and hardened kernels may
 * forbid them. */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "link/none.h"
#include "link/shm/shm.h"

struct tern_link_probe tern_link_probe;

/* Read the peer's probe word and write a word of the same value. Returns true if both calls work and reach the
 * expected process. */
static bool probe(const struct tern_mem_handle *handle)
{
    struct tern_link_probe *there = (struct tern_link_probe *)(uintptr_t)handle->probe;
    uint64_t                word = 0;
    struct iovec            here = { &word, sizeof(word) };
    struct iovec            readable = { &there->readable, sizeof(word) };
    struct iovec            writable = { &there->writable, sizeof(word) };

    return process_vm_readv(handle->pid, &here, 1, &readable, 1, 0) == (ssize_t)sizeof(word) &&
           word == tern_link_probe.readable &&
           process_vm_writev(handle->pid, &here, 1, &writable, 1, 0) == (ssize_t)sizeof(word);
}

void tern_shm_cma_off(struct shm_link *shm, int peer)
{
    uint8_t *known = &shm->cma[shm->local_of[peer]];

    if (*known == SHM_CMA_UNKNOWN)
        tern_base_log(TERN_LOG_INFO, "no cross-memory attach to rank %d (TERN_CMA=off): using the bounce buffer", peer);
    *known = SHM_CMA_NO;
}

bool tern_shm_cma_works(struct shm_link *shm, const struct tern_mem_handle *handle, int peer)
{
    uint8_t *known = &shm->cma[shm->local_of[peer]];

    if (*known == SHM_CMA_UNKNOWN) {
        errno = 0;
        *known = probe(handle) ? SHM_CMA_YES : SHM_CMA_NO;
        if (*known == SHM_CMA_NO)
            tern_base_log(TERN_LOG_INFO, "no cross-memory attach to rank %d (%s): using the bounce buffer", peer,
                          errno ? strerror(errno) : "its process id belongs to another process");
    }
    return *known == SHM_CMA_YES;
}

static tern_status cma_status(const struct tern_lane *lane, const struct tern_link_part *part, int error)
{
    if (error == ESRCH) {
        ((const struct shm_lane *)lane)->link->up->gone(part->rank);
        return tern_base_fail(TERN_ERR_PEER, "rank %d (pid %d) is gone", part->rank, part->pid);
    }
    if (error == EFAULT)
        return tern_base_fail(TERN_ERR_LINK,
                              "memory at either end is not mapped: the source or destination here, or the "
                              "memory that rank %d registered; keep it until the region is freed",
                              part->rank);
    return tern_base_fail(TERN_ERR_LINK, "cross-memory attach to rank %d: %s", part->rank, strerror(error));
}

static tern_status cma_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    const struct tern_link_part *part = xfer->part;
    unsigned char               *local = xfer->local;
    uint64_t                     remote = part->addr + xfer->offset;
    size_t                       left = xfer->len;

    (void)op;
    /* release: this thread's earlier stores before the data. The kernel copies with ordinary stores. */
    atomic_thread_fence(memory_order_release);
    while (left > 0) { /* the kernel moves at most 2 GiB in one call */
        struct iovec here = { local, left };
        struct iovec there = { (void *)(uintptr_t)remote, left };
        ssize_t      moved = xfer->get ? process_vm_readv(part->pid, &here, 1, &there, 1, 0)
                                       : process_vm_writev(part->pid, &here, 1, &there, 1, 0);
        if (moved <= 0)
            return cma_status(lane, part, moved < 0 ? errno : EFAULT);
        local += moved;
        remote += (uint64_t)moved;
        left -= (size_t)moved;
    }
    /* acq_rel: the data before this thread's later loads and stores. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
    if (!xfer->get)
        tern_link_written(part);
    return TERN_OK;
}

/* Transfer several extents with one system call. */
static tern_status cma_start_iov(struct tern_lane *lane, const struct tern_link_part *part,
                                 const struct tern_link_iov *extent, unsigned count, bool get)
{
    struct iovec here[TERN_LINK_IOV_MAX], there[TERN_LINK_IOV_MAX];
    size_t       bytes = 0;
    ssize_t      moved;

    for (unsigned i = 0; i < count; i++) {
        here[i] = (struct iovec){ extent[i].local, extent[i].len };
        there[i] = (struct iovec){ (void *)(uintptr_t)(part->addr + extent[i].offset), extent[i].len };
        bytes += extent[i].len;
    }
    /* release, and acq_rel below: as in cma_start(). */
    atomic_thread_fence(memory_order_release);
    moved = get ? process_vm_readv(part->pid, here, count, there, count, 0)
                : process_vm_writev(part->pid, here, count, there, count, 0);
    atomic_thread_fence(memory_order_acq_rel);
    if (moved < 0 || (size_t)moved != bytes)
        return cma_status(lane, part, moved < 0 ? errno : EFAULT);
    if (!get)
        tern_link_written(part);
    return TERN_OK;
}

const struct tern_link_path tern_shm_cma_path = {
    .name = "cma",
    .instant = true,
    .rpc = true,
    .iov = true,
    .start = cma_start,
    .keeps_order = tern_link_no_order,
    .can_notify = tern_link_no_notify,
    .start_iov = cma_start_iov,
};
