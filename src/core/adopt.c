/* adopt.c: pages of the program become shared memory in place.
 *
 * The pages are copied into the arena, and the arena is mapped over them (mremap, which fails before it unmaps
 * anything). Nothing may write to the pages in between. So the program must have one thread, signals are blocked, and
 * the helper threads are parked, because they use memory that may lie in the same pages, such as memory from malloc, or
 * the variables of a library that is linked statically. The kernel makes the copy, because an address sanitizer reports
 * an error if this code reads certain bytes of these pages.
 *
 * A child that fork creates would share the pages. A handler in the child replaces them by private copies before the
 * child writes anything else. The parent waits until this is done; otherwise the child could see later writes of the
 * parent. The parent waits for the end of file of a pipe, which also occurs if the child dies. */
#include "core/adopt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/thread.h"
#include "boot/helper.h"
#include "core/job.h"
#include "core/links.h"
#include "core/region_dynamic.h"

#define MOST_RANGES 256 /* ranges that can be adopted at the same time */
#define EXITING 0x4ul   /* PF_EXITING of the kernel, in the ninth field of /proc/PID/stat */

/* Adopted pages. Guarded by the job's lock, which the handlers around fork hold. */
struct range {
    unsigned char *pages;
    uint64_t       bytes, offset; /* offset in the arena */
};
static struct range ranges[MOST_RANGES];
static unsigned     range_count;

static uint64_t page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t pages_of(const void *addr, uint64_t len, uintptr_t *first)
{
    uint64_t page = page_size();

    *first = (uintptr_t)addr & ~(uintptr_t)(page - 1);
    return tern_base_round_up((uintptr_t)addr - *first + len, page);
}

uint64_t tern_core_adopt_bytes(const void *addr, uint64_t len)
{
    uintptr_t first;

    return len > 0 ? pages_of(addr, len, &first) : 0;
}

/* ---- checks ---- */

/* Return whether addresses of this process lie in the range. */
static bool holds(uintptr_t first, uint64_t bytes, const void *addr)
{
    return (uintptr_t)addr - first < bytes;
}

/* Return whether the thread with this number still executes the program. The kernel lists a thread until its exit is
 * complete, which is after pthread_join has returned; from the beginning of its exit the thread has the flag
 * EXITING. */
static bool is_running(const char *number)
{
    char          path[300], line[512];
    const char   *after_name;
    unsigned long flags = 0;
    FILE         *stat;
    bool          listed;

    snprintf(path, sizeof(path), "/proc/self/task/%s/stat", number);
    stat = fopen(path, "re");
    if (!stat)
        return errno != ENOENT;
    listed = fgets(line, sizeof(line), stat);
    fclose(stat);
    if (!listed)
        return false;
    after_name = strrchr(line, ')');
    return !after_name || sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %lu", &flags) != 1 || !(flags & EXITING);
}

/* Return the number of threads of this process; -1: it cannot be determined. */
static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int  count = 0;

    if (!tasks)
        return -1;
    for (struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.' && is_running(entry->d_name);
    closedir(tasks);
    return count;
}

/* Return the number of threads that do not belong to the program: the threads of this library and of the thread
 * sanitizer. */
static int own_threads(void)
{
#ifdef __SANITIZE_THREAD__
    return tern_base_threads() + 1;
#else
    return tern_base_threads();
#endif
}

static tern_status check_threads(void)
{
    int threads = count_threads();

    if (threads < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot count the threads of this process in /proc/self/task: %s",
                              strerror(errno));
    if (threads > 1 + own_threads())
        return tern_base_fail(
            TERN_ERR_STATE,
            "this process has %d other threads, which may write to the memory while it is moved; adopt "
            "it before they are started (libpmix starts one in tern_init, under a launcher with PMIx), or use "
            "tern_region_register",
            threads - 1 - own_threads());
    return TERN_OK;
}

static tern_status refuse(const char *why, unsigned long start, unsigned long end, const char *mode, const char *name)
{
    return tern_base_fail(
        TERN_ERR_ARG,
        "the pages contain %lx-%lx %s%s%s, which %s; only private, writable memory of the program can "
        "be adopted: use tern_region_register",
        start, end, mode, *name ? " " : "", name, why);
}

/* Check one line of /proc/self/maps that overlaps the pages. */
static tern_status check_line(unsigned long start, unsigned long end, const char *mode, const char *name)
{
    if (strncmp(name, "[stack", 6) == 0)
        return refuse("is a stack", start, end, mode, name);
    if (mode[3] != 'p')
        return refuse("is shared memory already", start, end, mode, name);
    if (mode[0] != 'r' || mode[1] != 'w')
        return refuse("cannot be written", start, end, mode, name);
    if (mode[2] == 'x')
        return refuse("can be executed", start, end, mode, name);
    return TERN_OK;
}

static tern_status check_maps(uintptr_t first, uint64_t bytes)
{
    FILE         *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end, from = first, to = first + bytes;
    char          mode[5], *line = NULL;
    size_t        size = 0;
    int           name = 0;
    tern_status   st = TERN_OK;

    if (!maps)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot read /proc/self/maps: %s", strerror(errno));
    while (st == TERN_OK && from < to && getline(&line, &size, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x %*u %n", &start, &end, mode, &name) < 3 || end <= from ||
            start > from)
            continue;
        st = check_line(start, end, mode, line + name);
        from = end;
    }
    if (st == TERN_OK && from < to)
        st = tern_base_fail(TERN_ERR_ARG, "the memory at 0x%lx is not mapped", from);
    free(line);
    fclose(maps);
    return st;
}

/* Check that no region of this rank has memory in the pages: a network may have locked the pages that are to be
 * replaced. The program has one thread, so nothing is attached to dynamic regions in the meantime. */
static tern_status check_regions(uint64_t first, uint64_t bytes)
{
    tern_status st = TERN_OK;

    pthread_mutex_lock(&tern_job.lock);
    TERN_LIST_EACH(struct tern_region, region, &tern_job.regions, node) {
        const struct tern_link_part *part = &region->part[tern_job.boot.rank];

        if (part->reserve > 0 && first < part->addr + part->reserve && part->addr < first + bytes)
            st = tern_base_fail(TERN_ERR_ARG,
                                "the pages contain some of the %llu bytes at 0x%llx that are in another region; free "
                                "that region first",
                                (unsigned long long)part->size, (unsigned long long)part->addr);
        if (region->dynamic && tern_core_dynamic_holds(region, first, bytes))
            st = tern_base_fail(TERN_ERR_ARG,
                                "the pages, %llu bytes at 0x%llx, contain memory that is attached to a region; detach "
                                "it first",
                                (unsigned long long)bytes, (unsigned long long)first);
    }
    if (st == TERN_OK && range_count == MOST_RANGES)
        st = tern_base_fail(TERN_ERR_NOMEM, "this process has adopted %d pieces of memory already, which is the most",
                            MOST_RANGES);
    pthread_mutex_unlock(&tern_job.lock);
    return st;
}

tern_status tern_core_adopt_check(const void *addr, uint64_t len)
{
    uintptr_t   first;
    uint64_t    bytes;
    tern_status st;

    if (len == 0)
        return TERN_OK;
    if (len > UINT64_MAX / 2 || (bytes = pages_of(addr, len, &first)) == 0)
        return tern_base_fail(TERN_ERR_ARG, "%llu bytes wrap around the end of memory", (unsigned long long)len);
    if (holds(first, bytes, __builtin_frame_address(0)))
        return tern_base_fail(TERN_ERR_ARG, "the pages contain the stack of this thread");
    if ((st = check_regions(first, bytes)) < 0 || (st = check_threads()) < 0)
        return st;
    return check_maps(first, bytes);
}

/* ---- moving ---- */

/* The helper threads that are parked while pages are moved. */
struct stillness {
    sigset_t                signals;
    struct tern_helper_park park;
    unsigned                parked;
};

static void stop_others(struct stillness *still)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &still->signals);
    still->parked = tern_boot_helpers_park(&still->park);
}

static void let_others_run(struct stillness *still)
{
    tern_boot_helpers_unpark(&still->park);
    pthread_sigmask(SIG_SETMASK, &still->signals, NULL);
}

/* Return whether all threads but this one are parked, or cannot touch the pages: the threads that watch processes and
 * relay messages use only variables of this library. */
static bool is_quiet(const struct stillness *still, uintptr_t first, uint64_t bytes)
{
    return still->parked == (unsigned)tern_base_threads() || !holds(first, bytes, &tern_job);
}

/* Copy into the arena. The system call is made directly, because sanitizers check the arguments of the functions of the
 * C library. Returns 0 or an error number. */
static int copy_out(const unsigned char *from, uint64_t bytes, uint64_t offset)
{
    while (bytes > 0) {
        long n = syscall(SYS_pwrite64, tern_job.boot.arena, from, (size_t)bytes, (long)offset);

        if (n <= 0 && errno != EINTR)
            return n < 0 ? errno : EIO;
        if (n > 0) {
            from += n;
            offset += (uint64_t)n;
            bytes -= (uint64_t)n;
        }
    }
    return 0;
}

/* Copy whole pages. This function does not use memcpy, for the same reason. The arena may be closed already. */
static __attribute__((no_sanitize_address, no_sanitize_thread, noinline)) void copy_pages(void *to, const void *from,
                                                                                          uint64_t bytes)
{
    volatile uint64_t       *t = to;
    const volatile uint64_t *f = from;

    for (uint64_t i = 0; i < bytes / sizeof(*t); i++)
        t[i] = f[i];
}

/* Map the pages at `from` in place of the pages at the address. Returns 0 or an error number. */
static int replace(unsigned char *pages, void *from, uint64_t bytes)
{
    return syscall(SYS_mremap, from, (size_t)bytes, (size_t)bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pages) ==
                   (long)(uintptr_t)pages
               ? 0
               : errno;
}

/* Move the pages to the offset in the arena. */
static int move_out(unsigned char *pages, uint64_t bytes, uint64_t offset)
{
    struct stillness still;
    void            *there = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, tern_job.boot.arena, (off_t)offset);
    int              error;

    if (there == MAP_FAILED)
        return errno;
    stop_others(&still);
    error = is_quiet(&still, (uintptr_t)pages, bytes) ? copy_out(pages, bytes, offset) : EBUSY;
    if (error == 0)
        error = replace(pages, there, bytes);
    let_others_run(&still);
    if (error != 0)
        munmap(there, bytes);
    return error;
}

tern_status tern_core_adopt_take(void *addr, uint64_t len, struct tern_own_memory *out)
{
    struct tern_own_memory memory = { .mem_kind = TERN_MEM_ARENA, .addr = addr };
    uintptr_t              first;
    uint64_t               bytes = pages_of(addr, len, &first);
    struct stat            about;
    int                    error;
    tern_status            st = tern_boot_space_take(&tern_job.boot, tern_job.boot.arena, bytes, &memory.space);

    if (st < 0)
        return st;
    memory.pages = (unsigned char *)first;
    memory.before = (uintptr_t)addr - first;
    memory.inode = fstat(tern_job.boot.arena, &about) == 0 ? about.st_ino : 0;
    tern_core_links_invalidate(memory.pages, bytes); /* the registered pages are no longer those at the address */
    if ((error = move_out(memory.pages, bytes, memory.space.offset)) != 0) {
        tern_boot_space_give(&memory.space);
        return tern_base_fail(error == ENOMEM ? TERN_ERR_NOMEM : TERN_ERR_SYSTEM,
                              "the pages of %llu bytes at %p cannot be moved: %s", (unsigned long long)len, addr,
                              error == EBUSY ? "a thread of Tern uses them" : strerror(error));
    }
    pthread_mutex_lock(&tern_job.lock);
    ranges[range_count++] = (struct range){ memory.pages, bytes, memory.space.offset };
    pthread_mutex_unlock(&tern_job.lock);
    *out = memory;
    return TERN_OK;
}

/* Move the pages from the arena into private memory. */
static int move_back(unsigned char *pages, uint64_t bytes)
{
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int   error;

    if (copy == MAP_FAILED)
        return errno;
    copy_pages(copy, pages, bytes);
    if ((error = replace(pages, copy, bytes)) != 0)
        munmap(copy, bytes);
    return error;
}

static void forget(const unsigned char *pages)
{
    pthread_mutex_lock(&tern_job.lock);
    for (unsigned i = 0; i < range_count; i++)
        if (ranges[i].pages == pages)
            ranges[i--] = ranges[--range_count];
    pthread_mutex_unlock(&tern_job.lock);
}

bool tern_core_adopt_return(struct tern_own_memory *memory)
{
    struct stillness still;
    int              error = EBUSY;

    tern_core_links_invalidate(memory->pages, memory->space.bytes);
    if (count_threads() == 1 + own_threads()) {
        stop_others(&still);
        if (is_quiet(&still, (uintptr_t)memory->pages, memory->space.bytes))
            error = move_back(memory->pages, memory->space.bytes);
        let_others_run(&still);
    }
    if (error == 0)
        forget(memory->pages); /* otherwise the handlers around fork still need to know the pages */
    else
        tern_base_log(TERN_LOG_INFO, "adopted memory at %p stays in the arena: %s", (void *)memory->pages,
                      error == EBUSY ? "other threads may write to it" : strerror(error));
    memory->pages = NULL;
    return error == 0;
}

/* ---- fork ---- */

static int fork_pipe[2] = { -1, -1 };

void tern_core_adopt_before_fork(void)
{
    if (range_count == 0 || pipe2(fork_pipe, O_CLOEXEC) != 0)
        fork_pipe[0] = fork_pipe[1] = -1;
}

void tern_core_adopt_in_parent(void)
{
    char none;

    if (fork_pipe[0] < 0)
        return;
    close(fork_pipe[1]);
    while (read(fork_pipe[0], &none, 1) < 0 && errno == EINTR)
        ;
    close(fork_pipe[0]);
}

void tern_core_adopt_in_child(void)
{
    int end[2] = { fork_pipe[0], fork_pipe[1] };

    for (unsigned i = 0; i < range_count; i++) {
        struct range r = ranges[i];

        if (move_back(r.pages, r.bytes) != 0) /* there is no memory for a copy: pages are copied on write */
            (void)mmap(r.pages, r.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, tern_job.boot.arena,
                       (off_t)r.offset);
    }
    range_count = 0;
    if (end[0] < 0)
        return;
    close(end[0]);
    close(end[1]);
}
