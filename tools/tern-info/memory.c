/* memory.c: memory and huge pages. Huge pages are tried rather than looked up. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "info.h"

#define HUGE_DIR "/sys/kernel/mm/hugepages"

bool info_read_line(const char *path, char *line, size_t size)
{
    FILE *f = fopen(path, "re");
    bool  ok = f != NULL && fgets(line, (int)size, f) != NULL;

    if (f != NULL)
        fclose(f);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

/* Return the number in a file below HUGE_DIR, or 0 if the file cannot be read. */
static uint64_t pool_number(const char *pool, const char *name)
{
    char path[512], line[64];

    snprintf(path, sizeof(path), HUGE_DIR "/%s/%s", pool, name);
    return info_read_line(path, line, sizeof(line)) ? strtoull(line, NULL, 10) : 0;
}

/* Try to create, map and reserve a memory file of huge pages. Returns 0 or an errno value. */
static int try_huge(void)
{
    int         fd = memfd_create("tern-info", MFD_CLOEXEC | MFD_HUGETLB), error = 0;
    struct stat st = { .st_blksize = 0 };
    size_t      page;
    void       *memory;

    if (fd < 0)
        return errno;
    fstat(fd, &st);
    page = (size_t)st.st_blksize; /* for a memory file of huge pages, this is the size of a page */
    if (ftruncate(fd, (off_t)page) < 0)
        error = errno;
    memory = error == 0 ? mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (error == 0 && memory == MAP_FAILED)
        error = errno;
    if (memory != MAP_FAILED)
        munmap(memory, page);
    close(fd);
    return error;
}

static void list_pools(void)
{
    DIR           *dir = opendir(HUGE_DIR);
    struct dirent *entry;

    info_list("huge_page_pools", "Huge page pools");
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char     kib[32], total[32], unused[32], text[256];
        uint64_t size;

        if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &size) != 1)
            continue;
        snprintf(kib, sizeof(kib), "%" PRIu64, size);
        snprintf(total, sizeof(total), "%" PRIu64, pool_number(entry->d_name, "nr_hugepages"));
        snprintf(unused, sizeof(unused), "%" PRIu64, pool_number(entry->d_name, "free_hugepages"));
        snprintf(text, sizeof(text), "pages of %s KiB: %s, %s of them free", kib, total, unused);
        info_item(text, (struct info_field[]){ { "page_kib", kib }, { "pages", total }, { "free", unused } }, 3);
    }
    if (dir != NULL)
        closedir(dir);
    info_list_end();
}

void info_huge(void)
{
    char line[256];
    int  error = try_huge();

    list_pools();
    info_section("huge_pages", "Huge pages");
    info_bool("works", "shared huge pages work", error == 0);
    info_text("why", "why", "%s",
              error == 0        ? "a memory file of huge pages could be made and mapped"
              : error == ENOMEM ? "no free huge page; as root: sysctl vm.nr_hugepages=N. Until then TERN_MEMORY_HUGE "
                                  "regions have ordinary pages"
                                : strerror(error));
    if (info_read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
        info_text("transparent", "transparent, private", "%s", line);
    if (info_read_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled", line, sizeof(line)))
        info_text("transparent_shared", "transparent, shared", "%s", line);
    info_section_end();
}

void info_memory(void)
{
    struct tern_memory_limits room = tern_base_memory_limits("");

    info_section("memory", "Memory");
    if (room.available == UINT64_MAX)
        info_text("available", "available now", "unknown");
    else
        info_bytes("available", "available now", room.available);
    info_text("limited_by", "limited by", "%s", room.limit);
    info_bytes("total", "in the machine", (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    info_number("page_bytes", "ordinary page", (uint64_t)sysconf(_SC_PAGESIZE), "bytes");
    info_section_end();
}
