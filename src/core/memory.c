/* memory.c: allocation of this rank's own part of a region.
 *
 * The space is checked for the whole node before any rank takes any (see tern_boot_space_check). Then it is reserved,
 * and then mapped: a later access to it cannot fail. A part that can grow is mapped up to its reserve at once, so that
 * its address stays the same; only the bytes of its size are reserved, and further ones when it grows. */
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/memory.h"
#include "core/adopt.h"
#include "core/job.h"

#define MIB 1048576.0

/* Return the bytes that parts of size bytes take in pages of the given size; UINT64_MAX: more than any memory holds. */
static uint64_t in_pages(uint64_t size, int parts, uint64_t page)
{
    uint64_t part = tern_base_round_up(size, page), total;

    return part < size || __builtin_mul_overflow(part, (uint64_t)parts, &total) ? UINT64_MAX : total;
}

/* Return the same for the parts of the team's members on this node. Their sizes are in `sizes`, or equal if that is
 * NULL. */
static uint64_t all_in_pages(const uint64_t *sizes, uint64_t equal, const struct tern_team *team, uint64_t page)
{
    uint64_t total = 0;

    if (!sizes)
        return in_pages(equal, tern_core_team_locals(team), page);
    for (int i = 0; i < team->size; i++)
        if (tern_boot_same_node(&tern_job.boot, tern_core_team_world(team, i)) &&
            __builtin_add_overflow(total, in_pages(sizes[i], 1, page), &total))
            return UINT64_MAX;
    return total;
}

static void tell_huge(uint64_t needed, uint64_t free_bytes, uint64_t page)
{
    static _Atomic bool told;

    if (tern_job.boot.local == 0 && !atomic_exchange(&told, true))
        tern_base_log(TERN_LOG_NOTE,
                      "huge pages: %.1f MiB needed, %.1f MiB free; using ordinary pages. To have them, "
                      "as root: sysctl vm.nr_hugepages=%.0f",
                      (double)needed / MIB, (double)free_bytes / MIB, (double)needed / (double)page);
}

/* Return whether the pool of huge pages has enough free pages, also for parts that have grown to their reserves; logs
 * once why not. */
static bool check_huge(const struct tern_memory_request *request, const struct tern_team *team)
{
    int      file = tern_job.boot.huge;
    uint64_t page = file >= 0 ? tern_boot_space_unit(file) : 2u << 20;
    uint64_t free_bytes = file >= 0 ? tern_base_memory_huge("", page) : 0;
    uint64_t needed = all_in_pages(request->reserves, request->reserve, team, page);

    if (needed <= free_bytes)
        return true;
    tell_huge(needed, free_bytes, page);
    return false;
}

/* Return whether files at path are in memory: their directory is on a file system without a disk. */
static bool in_memory(const char *path)
{
    char          directory[4096];
    const char   *slash = strrchr(path, '/');
    struct statfs about;

    snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return statfs(directory, &about) == 0 && (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC);
}

/* Return the bytes that the region's files on this node need beyond the blocks that they have; UINT64_MAX: more than
 * any memory holds. */
static uint64_t missing_blocks(const struct tern_memory_request *request, const struct tern_team *team)
{
    uint64_t total = all_in_pages(request->sizes, request->size, team, 1);
    char     name[4096];

    for (int i = 0; total != UINT64_MAX && i < team->size; i++) {
        uint64_t    size = request->sizes ? request->sizes[i] : request->size;
        struct stat about;

        if (!tern_boot_same_node(&tern_job.boot, tern_core_team_world(team, i)))
            continue;
        snprintf(name, sizeof(name), "%s.%d", request->opts->path, i);
        if (stat(name, &about) == 0 && S_ISREG(about.st_mode)) {
            uint64_t has = (uint64_t)about.st_blocks * 512;
            total -= has < size ? has : size;
        }
    }
    return total;
}

tern_status tern_core_memory_check(const struct tern_memory_request *request, const struct tern_team *team,
                                   uint32_t *mem_kind)
{
    const tern_region_opts *opts = request->opts;

    *mem_kind = TERN_MEM_ARENA;
    if (opts->memory == TERN_MEMORY_HUGE && check_huge(request, team)) {
        *mem_kind = TERN_MEM_HUGE;
        return TERN_OK;
    }
    if (opts->memory == TERN_MEMORY_FILE) {
        *mem_kind = TERN_MEM_FILE;
        if (!in_memory(opts->path))
            return TERN_OK; /* the file system reports an error when the file is created */
        return tern_boot_space_check(missing_blocks(request, team), "the region");
    }
    return tern_boot_space_check(all_in_pages(request->sizes, request->size, team, 1), "the region");
}

static tern_status map(struct tern_own_memory *memory, int file, uint64_t offset, uint64_t bytes)
{
    void *addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, (off_t)offset);

    if (addr == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "cannot map %.1f MiB: %s (see ulimit -v)", (double)bytes / MIB,
                              strerror(errno));
    memory->addr = addr;
    memory->mapped = bytes;
    return TERN_OK;
}

/* Set aside the reserve, reserve the memory of the first bytes, and map it all. */
static tern_status make_space(struct tern_own_memory *memory, int file, uint64_t size, uint64_t reserve)
{
    tern_status st = tern_boot_space_set_aside(&tern_job.boot, file, reserve, &memory->space);
    struct stat about;

    if (st < 0)
        return st;
    st = tern_boot_space_reserve(file, memory->space.offset, tern_base_round_up(size, tern_boot_space_unit(file)),
                                 "shared memory");
    if (st == TERN_OK)
        st = map(memory, file, memory->space.offset, memory->space.bytes);
    if (st < 0)
        tern_boot_space_give(&memory->space);
    if (fstat(file, &about) == 0)
        memory->inode = about.st_ino;
    return st;
}

struct tern_own_memory tern_core_memory_own(void *addr)
{
    struct tern_own_memory memory = { .mem_kind = TERN_MEM_PRIVATE, .addr = addr };
    FILE                  *maps = fopen("/proc/self/maps", "re");
    unsigned long          start, end, at = (unsigned long)(uintptr_t)addr;
    unsigned long long     offset, inode;
    char                   mode[5], *line = NULL;
    size_t                 size = 0;

    while (maps && getline(&line, &size, maps) > 0)
        if (sscanf(line, "%lx-%lx %4s %llx %*x:%*x %llu", &start, &end, mode, &offset, &inode) == 5 && start <= at &&
            at < end) {
            if (mode[3] == 's' && inode != 0) { /* other processes or mappings can share the memory */
                memory.inode = inode;
                memory.space.offset = offset + (at - start);
            }
            break;
        }
    free(line);
    if (maps)
        fclose(maps);
    return memory;
}

/* Open or create the file; *made returns whether it was created. Symbolic links are not followed: in a directory where
 * others may create files, a link would let them choose the file. */
static int open_file(const char *name, bool *made)
{
    int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    *made = file >= 0;
    return file < 0 && errno == EEXIST ? open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : file;
}

/* Check that only this user can change a file that existed before. In a directory such as /dev/shm another user may
 * have created it, and could read, change or truncate the job's data. */
static tern_status check_owner(const char *name, const struct stat *about)
{
    if (about->st_uid != geteuid())
        return tern_base_fail(TERN_ERR_SYSTEM,
                              "%s belongs to user %u, and this is user %u: the memory of a region is kept in files of "
                              "its own user only; remove the file, or choose another path",
                              name, (unsigned)about->st_uid, (unsigned)geteuid());
    if ((about->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return tern_base_fail(TERN_ERR_SYSTEM,
                              "%s can be written by other users (its mode is %03o): they could change the memory of "
                              "the region; 'chmod go-w' the file, or choose another path",
                              name, (unsigned)about->st_mode & 0777);
    return TERN_OK;
}

static tern_status make_file(struct tern_own_memory *memory, const char *name, uint64_t size, uint64_t reserve)
{
    struct stat about = { 0 };
    tern_status st;
    int         file = open_file(name, &memory->created);

    if (file < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot open %s: %s", name,
                              errno == ELOOP ? "it is a symbolic link, and those are not followed" : strerror(errno));
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        st = tern_base_fail(TERN_ERR_SYSTEM, "%s is not a regular file", name);
    else if ((st = memory->created ? TERN_OK : check_owner(name, &about)) == TERN_OK &&
             (st = tern_boot_space_reserve(file, 0, size, name)) == TERN_OK)
        st = map(memory, file, 0, tern_base_round_up(reserve, tern_boot_space_unit(file)));
    memory->in_ram = in_memory(name);
    memory->device = about.st_dev;
    memory->inode = about.st_ino;
    memory->old_size = (uint64_t)about.st_size;
    if (st < 0)
        tern_core_memory_undo(memory, name);
    if (st == TERN_OK && reserve > size)
        memory->file = file;
    else
        close(file);
    return st;
}

/* Truncate the file to its old length. If the name refers to a different file by now, that file stays unchanged. */
static bool cut(const struct tern_own_memory *memory, const char *name)
{
    struct stat about;
    int         file = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    bool        done = true;

    if (file < 0)
        return errno == ENOENT || errno == ELOOP;
    if (fstat(file, &about) == 0 && about.st_dev == memory->device && about.st_ino == memory->inode &&
        about.st_uid == geteuid() && (uint64_t)about.st_size > memory->old_size)
        done = ftruncate(file, (off_t)memory->old_size) == 0;
    close(file);
    return done;
}

void tern_core_memory_undo(const struct tern_own_memory *memory, const char *name)
{
    if (memory->mem_kind != TERN_MEM_FILE || memory->inode == 0) /* no file was opened */
        return;
    if (memory->created)
        unlink(name);
    else if (!cut(memory, name))
        tern_base_log(TERN_LOG_WARN, "cannot give %s its old length again: %s", name, strerror(errno));
}

/* Allocate huge pages. If another process has taken them since the check, use ordinary pages. */
static tern_status make_huge(struct tern_own_memory *memory, uint64_t size, uint64_t reserve)
{
    tern_status st = make_space(memory, tern_job.boot.huge, size, reserve);

    if (st != TERN_ERR_NOMEM)
        return st;
    tell_huge(size, 0, tern_boot_space_unit(tern_job.boot.huge));
    memory->mem_kind = TERN_MEM_ARENA;
    st = tern_boot_space_check(in_pages(size, tern_job.boot.locals, 1), "the region");
    return st < 0 ? st : make_space(memory, tern_job.boot.arena, size, reserve);
}

tern_status tern_core_memory_make(uint32_t mem_kind, const struct tern_memory_request *request, const char *name,
                                  struct tern_own_memory *out)
{
    struct tern_own_memory memory = { .mem_kind = mem_kind };
    uint64_t               size = request->size, reserve = request->reserve;
    tern_status            st;

    switch (mem_kind) {
    case TERN_MEM_HUGE: st = make_huge(&memory, size, reserve); break;
    case TERN_MEM_FILE: st = make_file(&memory, name, size, reserve); break;
    default: st = make_space(&memory, tern_job.boot.arena, size, reserve); break;
    }
    if (st == TERN_OK)
        *out = memory;
    return st;
}

/* ---- growth ---- */

static int file_of(const struct tern_own_memory *memory)
{
    return memory->mem_kind == TERN_MEM_FILE ? memory->file : memory->space.file;
}

uint64_t tern_core_memory_growth(uint32_t mem_kind, uint64_t from, uint64_t to)
{
    uint64_t page = tern_boot_space_unit(mem_kind == TERN_MEM_HUGE ? tern_job.boot.huge : tern_job.boot.arena);

    return tern_base_round_up(to, page) - tern_base_round_up(from, page);
}

tern_status tern_core_memory_check_growth(uint64_t bytes, uint64_t huge_bytes)
{
    uint64_t page = huge_bytes > 0 ? tern_boot_space_unit(tern_job.boot.huge) : 0;
    uint64_t free_bytes = huge_bytes > 0 ? tern_base_memory_huge("", page) : 0;

    if (huge_bytes > free_bytes)
        return tern_base_fail(TERN_ERR_NOMEM,
                              "the region is in huge pages and needs %.1f MiB more of them on this node, but %.1f MiB "
                              "are free; as root: sysctl vm.nr_hugepages",
                              (double)huge_bytes / MIB, (double)free_bytes / MIB);
    return bytes > 0 ? tern_boot_space_check(bytes, "the growth of the region") : TERN_OK;
}

tern_status tern_core_memory_grow(struct tern_own_memory *memory, uint64_t from, uint64_t to)
{
    int         file = file_of(memory);
    uint64_t    unit = tern_boot_space_unit(file), first = tern_base_round_up(from, unit);
    uint64_t    end = tern_base_round_up(to, unit);
    tern_status st = TERN_OK;

    if (memory->mem_kind == TERN_MEM_FILE) { /* the file has the length of the part, also within a page */
        struct stat about;

        first = from;
        end = to;
        memory->old_size = fstat(file, &about) == 0 ? (uint64_t)about.st_size : from;
    }
    if (end > first)
        st = tern_boot_space_reserve(file, memory->space.offset + first, end - first, "the growth of the region");
    if (st < 0)
        tern_core_memory_shrink(memory, from, to);
    return st;
}

void tern_core_memory_shrink(struct tern_own_memory *memory, uint64_t from, uint64_t to)
{
    int      file = file_of(memory);
    uint64_t unit = tern_boot_space_unit(file), first = tern_base_round_up(from, unit);
    uint64_t end = tern_base_round_up(to, unit);
    bool     done = true;

    if (memory->mem_kind == TERN_MEM_FILE) /* the bytes that the program had in the file before stay */
        done = ftruncate(file, (off_t)memory->old_size) == 0;
    else if (end > first)
        tern_boot_space_give(&(struct tern_space){ file, memory->space.offset + first, end - first });
    if (!done)
        tern_base_log(TERN_LOG_WARN, "cannot give the file of a region its old length again: %s", strerror(errno));
}

void tern_core_memory_drop(struct tern_own_memory *memory)
{
    if (memory->pages && !tern_core_adopt_return(memory))
        return; /* the program still uses the space */
    if (memory->file > 0)
        close(memory->file);
    memory->file = 0;
    if (memory->mapped > 0)
        munmap(memory->addr, memory->mapped);
    if (memory->mem_kind == TERN_MEM_ARENA || memory->mem_kind == TERN_MEM_HUGE)
        tern_boot_space_give(&memory->space);
}
