/* space.c: allocates space in the arena and reserves its memory before any process accesses it. */
#include "boot/space.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/memory.h"
#include "base/options.h"

#define LARGEST_OFFSET (1ull << 62)
#define STEP (256ull << 20)    /* maximum number of bytes that one call reserves */
#define STEP_MIN (64ull << 10) /* lower limit, after signals have interrupted calls: some kernels undo the whole call */
#define MIB 1048576.0

tern_status tern_boot_space_check(uint64_t bytes, const char *what)
{
    struct tern_memory_limits limits = tern_base_memory_limits("");
    uint64_t                  keep = tern_opt.memory_keep;

    if (limits.error != 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "%s: cannot find out how much memory there is: %s; see 'ulimit -n'",
                              what, strerror(limits.error));
    if (limits.available >= keep && bytes <= limits.available - keep)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_NOMEM,
                          "%s needs %.1f MiB on this node, but %s leaves %.1f MiB, of which %.0f are "
                          "kept for others (TERN_MEMORY_KEEP); ask for less or raise the limit",
                          what, (double)bytes / MIB, limits.limit, (double)limits.available / MIB, (double)keep / MIB);
}

/* Reserve one step. Returns false and sets errno on failure. On file systems without fallocate, the C library writes to
 * every block instead. */
static bool reserve_step(int file, uint64_t offset, uint64_t bytes)
{
    int rc = fallocate(file, 0, (off_t)offset, (off_t)bytes);

    if (rc != 0 && errno == EOPNOTSUPP)
        rc = errno = posix_fallocate(file, (off_t)offset, (off_t)bytes);
    return rc == 0;
}

tern_status tern_boot_space_reserve(int file, uint64_t offset, uint64_t bytes, const char *what)
{
    struct rlimit limit;
    uint64_t      most = STEP;

    if (!tern_base_covers(LARGEST_OFFSET, offset, bytes))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no file can hold %llu bytes", what, (unsigned long long)bytes);
    /* Growing the file past the limit would raise SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur)
        return tern_base_fail(TERN_ERR_NOMEM,
                              "%s: %llu bytes at offset %llu exceed the file size limit of %llu bytes; "
                              "raise it (ulimit -f unlimited)",
                              what, (unsigned long long)bytes, (unsigned long long)offset,
                              (unsigned long long)limit.rlim_cur);
    while (bytes > 0) {
        uint64_t step = bytes < most ? bytes : most;
        if (!reserve_step(file, offset, step)) {
            if (errno == EINTR) {
                most = step / 2 > STEP_MIN ? step / 2 : STEP_MIN;
                continue;
            }
            return tern_base_fail(errno == ENOSPC || errno == ENOMEM ? TERN_ERR_NOMEM : TERN_ERR_SYSTEM,
                                  "%s: the system refused %llu bytes: %s; free memory or raise the memory limit", what,
                                  (unsigned long long)bytes, strerror(errno));
        }
        offset += step;
        bytes -= step;
    }
    return TERN_OK;
}

uint64_t tern_boot_space_unit(int file)
{
    struct statfs about;

    if (fstatfs(file, &about) == 0 && (unsigned long)about.f_type == HUGETLBFS_MAGIC)
        return (uint64_t)about.f_bsize;
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

tern_status tern_boot_space_set_aside(const struct tern_boot *boot, int file, uint64_t bytes, struct tern_space *out)
{
    _Atomic uint64_t *next = &boot->segment->next;
    uint64_t          unit = tern_boot_space_unit(file);
    uint64_t          size = tern_base_round_up(bytes, unit);
    uint64_t          seen = atomic_load_explicit(next, memory_order_relaxed);
    uint64_t          offset;

    do {
        offset = tern_base_round_up(seen, unit > TERN_SPACE_ALIGN ? unit : TERN_SPACE_ALIGN);
        if (size == 0 || offset == 0 || !tern_base_covers(LARGEST_OFFSET, offset, size))
            return tern_base_fail(TERN_ERR_NOMEM, "%llu bytes are more than any memory holds",
                                  (unsigned long long)bytes);
        /* relaxed: the counter only hands out offsets and publishes no data. */
    } while (
        !atomic_compare_exchange_weak_explicit(next, &seen, offset + size, memory_order_relaxed, memory_order_relaxed));
    *out = (struct tern_space){ .file = file, .offset = offset, .bytes = size };
    return TERN_OK;
}

tern_status tern_boot_space_take(const struct tern_boot *boot, int file, uint64_t bytes, struct tern_space *out)
{
    tern_status st = tern_boot_space_set_aside(boot, file, bytes, out);

    if (st < 0)
        return st;
    if ((st = tern_boot_space_reserve(file, out->offset, out->bytes, "shared memory")) < 0)
        tern_boot_space_give(out);
    return st;
}

void tern_boot_space_give(const struct tern_space *space)
{
    fallocate(space->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)space->offset, (off_t)space->bytes);
}
