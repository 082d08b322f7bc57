/* arena.c: creates the memory file that the launcher and the ranks share, before any rank is started.
 *
 * The file has no name in any file system, so nothing has to be removed, no matter which process is killed when. Its
 * first bytes, the segment, are reserved here, so accessing them never raises SIGBUS. The rest is a hole, in which
 * links and regions reserve the space that they need. The file can grow, and regions punch holes into it, but it is
 * sealed against shrinking: a process that truncates the inherited descriptor by mistake gets an error, and the other
 * processes keep their memory.
 */
#include "boot/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/options.h"
#include "base/siphash.h"
#include "boot/space.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* since Linux 6.3; some systems require it */
#endif

/* Create a memory file of the given size that cannot shrink and, if the kernel supports that, cannot be executed.
 * Returns -1 and sets errno on failure. */
static int memory_file(const char *name, unsigned flags, uint64_t bytes)
{
    int fd = memfd_create(name, flags | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL), error;

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, flags | MFD_ALLOW_SEALING);
    if (fd >= 0 && bytes > 0 && ftruncate(fd, (off_t)bytes) != 0) {
        error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    if (fd >= 0)
        fcntl(fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_SEAL); /* optional protection: the file is usable on kernels without seals */
    return fd;
}

/* Check that the process may create files as large as the arena. This is checked beforehand, because the kernel sends a
 * signal when a size exceeds the limit. */
static tern_status check_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < TERN_ARENA_CONTROL)
        return tern_base_fail(TERN_ERR_SYSTEM,
                              "the limit on file sizes is %llu bytes and shared memory needs at least %llu; raise it "
                              "with 'ulimit -f unlimited'",
                              (unsigned long long)limit.rlim_cur, TERN_ARENA_CONTROL);
    return TERN_OK;
}

static tern_status arena_open(int ranks, size_t bytes, int *out)
{
    tern_status status = check_file_limit();
    char        what[80];
    int         fd;

    if (status != TERN_OK)
        return status;
    fd = memory_file("tern-arena", 0, TERN_ARENA_CONTROL);
    if (fd < 0)
        return tern_base_fail(errno == ENOMEM ? TERN_ERR_NOMEM : TERN_ERR_SYSTEM,
                              "cannot make a memory file of %llu bytes for the job (memfd_create, ftruncate): %s",
                              TERN_ARENA_CONTROL, strerror(errno));
    snprintf(what, sizeof(what), "the shared memory that a job of %d ranks starts with", ranks);
    if ((status = tern_boot_space_reserve(fd, 0, bytes, what)) != TERN_OK)
        close(fd);
    else
        *out = fd;
    return status;
}

static tern_status check_shape(const struct tern_boot_shape *shape, int locals)
{
    if (shape->ranks >= 1 && shape->ranks <= TERN_MAX_RANKS && shape->nodes >= 1 && shape->node >= 0 &&
        shape->node < shape->nodes && locals >= 1 && locals <= TERN_MAX_NODE_RANKS)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_RANGE,
                          "a job of %d ranks, %d of them on node %d of %d, cannot be made; a node takes 1 to %d and a "
                          "job %d",
                          shape->ranks, locals, shape->node, shape->nodes, TERN_MAX_NODE_RANKS, TERN_MAX_RANKS);
}

static int node_of(const struct tern_boot_shape *shape, int rank)
{
    return shape->node_of == NULL ? 0 : shape->node_of[rank];
}

static int count_locals(const struct tern_boot_shape *shape)
{
    int locals = 0;

    if (shape->node_of == NULL)
        return shape->ranks;
    for (int rank = 0; rank < shape->ranks; rank++)
        locals += node_of(shape, rank) == shape->node;
    return locals;
}

/* Store the node of each rank and its number within the node. Returns false if a node number is out of range or there
 * is no memory. */
static bool number_ranks(struct tern_segment *segment, const struct tern_boot_shape *shape)
{
    uint32_t *next = calloc((size_t)shape->nodes, sizeof(*next));
    bool      good = next != NULL;

    for (int rank = 0; rank < shape->ranks && good; rank++) {
        int node = node_of(shape, rank);

        good = node >= 0 && node < shape->nodes;
        if (good) {
            segment->slot[rank].node = (uint32_t)node;
            segment->slot[rank].local = next[node]++;
        }
    }
    free(next);
    return good;
}

static tern_status fill(struct tern_segment *made, const struct tern_boot_shape *shape, int locals, bool contributions)
{
    uint64_t    job = shape->job;
    tern_status status = job != 0 ? TERN_OK : tern_base_random(&job, sizeof(job));

    if (status != TERN_OK)
        return status;
    made->magic = TERN_SEGMENT_MAGIC; /* plain stores: no rank has been started yet. The rest is already zero */
    made->layout = TERN_SEGMENT_LAYOUT;
    made->ranks = (uint32_t)shape->ranks;
    made->cores = shape->cores < 1 ? 1 : (uint32_t)shape->cores;
    made->job = job;
    made->on_failure = (uint32_t)tern_opt.on_failure;
    made->nodes = (uint32_t)shape->nodes;
    made->node = (uint32_t)shape->node;
    made->locals = (uint32_t)locals;
    made->contributions = contributions;
    atomic_init(&made->next, TERN_ARENA_CONTROL);
    return number_ranks(made, shape)
               ? TERN_OK
               : tern_base_fail(TERN_ERR_RANGE, "the ranks of a job of %d nodes cannot be numbered", shape->nodes);
}

tern_status tern_boot_arena_shape(const struct tern_boot_shape *shape, int *arena, int *huge,
                                  struct tern_segment **segment)
{
    bool                 contributions = tern_opt.on_failure == TERN_ON_FAILURE_RETURN;
    int                  locals = count_locals(shape), fd = -1;
    tern_status          status = check_shape(shape, locals);
    size_t               bytes = tern_segment_bytes((uint32_t)shape->ranks, contributions);
    struct tern_segment *made;

    if (status != TERN_OK || (status = arena_open(shape->ranks, bytes, &fd)) != TERN_OK)
        return status;
    made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (made == MAP_FAILED) {
        status = tern_base_fail(TERN_ERR_NOMEM, "cannot map the %zu bytes that a job of %d ranks starts with: %s",
                                bytes, shape->ranks, strerror(errno));
        goto err_close;
    }
    if ((status = fill(made, shape, locals, contributions)) != TERN_OK)
        goto err_unmap;
    *arena = fd;
    *huge = memory_file("tern-huge", MFD_HUGETLB, 0); /* reserves no pages yet; -1 if the kernel has no huge pages */
    *segment = made;
    return TERN_OK;
err_unmap:
    munmap(made, bytes);
err_close:
    close(fd);
    return status;
}

tern_status tern_boot_arena_make(int ranks, int cores, int *arena, int *huge, struct tern_segment **segment)
{
    struct tern_boot_shape shape = { .ranks = ranks, .nodes = 1, .cores = cores };

    return tern_boot_arena_shape(&shape, arena, huge, segment);
}

void tern_boot_segment_unmap(struct tern_segment *segment)
{
    munmap(segment, tern_segment_bytes(segment->ranks, segment->contributions != 0));
}
