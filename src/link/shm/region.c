/* region.c: attaching a peer's part of a region. Memory that Tern allocated is mapped. Memory that the application
 * registered gets the cma path or the bounce path, depending on what the kernel permits for this peer. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "link/none.h"
#include "link/shm/shm.h"

static const struct tern_link_path mapped_path = { .name = "shm",
                                                   .instant = true,
                                                   .start = tern_link_mapped_start,
                                                   .keeps_order = tern_link_no_order,
                                                   .can_notify = tern_link_no_notify,
                                                   .start_iov = tern_link_no_iov };

static tern_status map_file(struct tern_link_part *part, int file, uint64_t offset)
{
    uint64_t    unit = tern_boot_space_unit(file), before = offset % unit; /* any number for adopted memory */
    uint64_t    reach = part->reserve > part->size ? part->reserve : part->size;
    uint64_t    bytes = reach <= UINT64_MAX - before ? tern_base_round_up(before + reach, unit) : 0;
    struct stat about;
    void       *base;

    /* The bytes between size and reserve may lie behind the end of the file until the part grows. */
    if (bytes == 0 || fstat(file, &about) != 0 ||
        (part->size > 0 && !tern_base_covers((uint64_t)about.st_size, offset, part->size)))
        return tern_base_fail(TERN_ERR_LINK,
                              "rank %d sent a memory handle for %llu bytes at offset %llu, outside of its memory file",
                              part->rank, (unsigned long long)part->size, (unsigned long long)offset);
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, (off_t)(offset - before));
    if (base == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "cannot map the %llu bytes of rank %d: %s (see ulimit -v)",
                              (unsigned long long)reach, part->rank, strerror(errno));
    part->base = (unsigned char *)base + before;
    part->mapped = bytes;
    part->path = &mapped_path;
    return TERN_OK;
}

/* Open the peer's file by name and check that it is the file that the peer opened. */
static tern_status map_named(struct tern_link_part *part, const struct tern_mem_handle *handle, const char *path_name)
{
    struct stat about;
    tern_status st;
    int         file = open(path_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (file < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot open %s, the part of rank %d: %s", path_name, part->rank,
                              strerror(errno));
    if (fstat(file, &about) != 0 || about.st_dev != handle->device || about.st_ino != handle->inode)
        st = tern_base_fail(TERN_ERR_SYSTEM, "%s is not the file that rank %d opened under this name", path_name,
                            part->rank);
    else
        st = map_file(part, file, 0);
    close(file);
    return st;
}

/* Choose the path to memory that the application registered. */
static tern_status reach_private(struct shm_link *shm, const struct tern_mem_handle *handle,
                                 struct tern_link_part *part)
{
    tern_status st;

    if (tern_opt.cma != TERN_CMA_AUTO)
        tern_shm_cma_off(shm, part->rank);
    if (tern_opt.cma == TERN_CMA_AUTO && tern_shm_cma_works(shm, handle, part->rank))
        part->path = &tern_shm_cma_path;
    else if ((st = tern_shm_bounce_open(shm)) == TERN_OK)
        part->path = &tern_shm_bounce_path;
    else
        return st;
    /* Cross-memory attach can only copy. With either path, the peer's helper thread executes the RPCs. */
    atomic_store_explicit(&shm->bounce_ctl[shm->local_of[part->rank]].service_needed, 1,
                          memory_order_relaxed); /* relaxed: read after a barrier */
    return TERN_OK;
}

static tern_status reach(struct shm_link *shm, const struct tern_mem_handle *handle, const char *path_name,
                         struct tern_link_part *part)
{
    switch (handle->mem_kind) {
    case TERN_MEM_ARENA: return map_file(part, shm->boot->arena, handle->offset);
    case TERN_MEM_HUGE: return map_file(part, shm->boot->huge, handle->offset);
    case TERN_MEM_FILE: return map_named(part, handle, path_name);
    case TERN_MEM_PRIVATE: return reach_private(shm, handle, part);
    default: return tern_base_fail(TERN_ERR_LINK, "rank %d sent a memory handle of an unknown kind", part->rank);
    }
}

tern_status tern_shm_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                            struct tern_link_part *part)
{
    struct shm_link       *shm = tern_shm(link);
    struct shm_bounce_ctl *ctl = &shm->bounce_ctl[shm->local_of[part->rank]];
    tern_status            st = reach(shm, handle, path_name, part);

    part->inline_notify =
        st == TERN_OK && tern_link_loads(part) && shm->notify.inline_notify &&
        atomic_load_explicit(&ctl->inline_notify, memory_order_relaxed) != 0; /* relaxed: the peer wrote it before
                                                                                  it joined */
    return st;
}

void tern_shm_detach(struct tern_link *link, struct tern_link_part *part)
{
    (void)link;
    if (part->mapped > 0) /* mappings begin at a page */
        munmap(part->base - (uintptr_t)part->base % (uintptr_t)sysconf(_SC_PAGESIZE), part->mapped);
}
