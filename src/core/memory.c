/* memory.c: reserving and mapping this rank's own part of a region.
 *
 * Space is checked for the whole node before any rank takes any, because the kernel answers a memory file that outgrows
 * the machine or its control group by killing a process, not by an error. Then it is reserved, then mapped: touching it
 * later cannot fail.
 */
#define _GNU_SOURCE
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "core/job.h"

#define MIB 1048576.0

static tern_status check_host(uint64_t total)
{
    struct tern_memory_room room = tern_base_memory_room("");
    uint64_t                keep = tern_opt.memory_keep;

    if (room.available >= keep && total <= room.available - keep)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_NOMEM, "the region needs %.1f MiB on this node, but %s leaves %.1f MiB, of which "
                          "%.0f are kept for others (TERN_MEMORY_KEEP); ask for less or raise the limit",
                          (double)total / MIB, room.limit, (double)room.available / MIB, (double)keep / MIB);
}

/* Whether the pool of huge pages has room; says once why not. */
static bool check_huge(uint64_t total)
{
    static _Atomic bool told;
    int                 file = tern_job.boot.huge;
    uint64_t            page = file >= 0 ? tern_boot_space_unit(file) : 0;
    uint64_t            free_bytes = page ? tern_base_memory_huge("", page) : 0;

    if (page != 0 && total <= free_bytes)
        return true;
    if (tern_job.boot.rank == 0 && !atomic_exchange(&told, true))
        tern_base_log(TERN_LOG_NOTE, "huge pages: %.1f MiB needed, %.1f MiB free; using ordinary pages. To have them, "
                      "as root: sysctl vm.nr_hugepages=%.0f", (double)total / MIB, (double)free_bytes / MIB,
                      (double)total / (page ? (double)page : 2 * MIB) + 1);
    return false;
}

tern_status tern_core_memory_check(tern_memory kind, uint64_t total, uint32_t *place)
{
    if (kind == TERN_MEMORY_FILE) {
        *place = TERN_PLACE_FILE;
        return TERN_OK; /* the file system answers when the file is made */
    }
    if (kind == TERN_MEMORY_HUGE && check_huge(total)) {
        *place = TERN_PLACE_HUGE;
        return TERN_OK;
    }
    *place = TERN_PLACE_ARENA;
    return check_host(total);
}

static tern_status map(struct tern_own_memory *memory, int file, uint64_t offset, uint64_t bytes)
{
    void *addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);

    if (addr == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "cannot map %.1f MiB: %s (see ulimit -v)", (double)bytes / MIB,
                              strerror(errno));
    memory->addr = addr;
    memory->mapped = bytes;
    return TERN_OK;
}

static tern_status make_space(struct tern_own_memory *memory, int file, uint64_t size)
{
    tern_status st = tern_boot_space_take(&tern_job.boot, file, size, &memory->space);

    if (st < 0)
        return st;
    if ((st = map(memory, file, memory->space.offset, memory->space.bytes)) < 0)
        tern_boot_space_give(&memory->space);
    return st;
}

/* Open the file, new or old; *made tells which. */
static int open_file(const char *name, bool *made)
{
    int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    *made = file >= 0;
    return file < 0 && errno == EEXIST ? open(name, O_RDWR | O_CLOEXEC) : file;
}

static tern_status make_file(struct tern_own_memory *memory, const char *name, uint64_t size)
{
    struct stat about = { 0 };
    tern_status st;
    int         file = open_file(name, &memory->made);

    if (file < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot open %s: %s", name, strerror(errno));
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        st = tern_base_fail(TERN_ERR_SYSTEM, "%s is not a regular file", name);
    else if ((st = tern_boot_space_reserve(file, 0, size, name)) == TERN_OK)
        st = map(memory, file, 0, tern_base_round_up(size, tern_boot_space_unit(file)));
    memory->device = about.st_dev;
    memory->inode = about.st_ino;
    if (st < 0 && memory->made)
        unlink(name);
    close(file);
    return st;
}

tern_status tern_core_memory_make(uint32_t place, uint64_t size, const char *file, struct tern_own_memory *out)
{
    struct tern_own_memory memory = { .place = place };
    tern_status            st;

    switch (place) {
    case TERN_PLACE_HUGE: st = make_space(&memory, tern_job.boot.huge, size); break;
    case TERN_PLACE_FILE: st = make_file(&memory, file, size); break;
    default: st = make_space(&memory, tern_job.boot.arena, size); break;
    }
    if (st == TERN_OK)
        *out = memory;
    return st;
}

void tern_core_memory_drop(struct tern_own_memory *memory)
{
    if (memory->mapped > 0)
        munmap(memory->addr, memory->mapped);
    if (memory->place == TERN_PLACE_ARENA || memory->place == TERN_PLACE_HUGE)
        tern_boot_space_give(&memory->space);
}
