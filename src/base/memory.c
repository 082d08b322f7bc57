/* memory.c: reads the available memory from /proc and the control group file systems.
 *
 * A control group counts file pages that the kernel can drop as used memory; this code adds them back. Groups whose
 * files cannot be read count as unlimited: in a container, the path that /proc reports often does not exist, and the
 * root of the mount is the container's own group.
 */
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_HERE 640

/* Read the number after `key` at the start of a line of a file. An empty key reads the first number of the file. */
static bool read_number(const char *path, const char *key, uint64_t *out)
{
    char  line[256];
    bool  found = false;
    FILE *file = fopen(path, "re");

    if (!file)
        return false;
    while (!found && fgets(line, sizeof(line), file))
        found = strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%" SCNu64, out) == 1;
    fclose(file);
    return found;
}

/* The names of the same three values in both versions of control groups. */
struct group_files {
    const char *mount, *limit, *usage, *droppable;
};
static const struct group_files version1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                             "total_inactive_file " };
static const struct group_files version2 = { "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file " };

/* Reduce the available memory to what one group allows. */
static void consider_group(const char *root, const struct group_files *files, const char *group,
                           struct tern_memory_limits *limits)
{
    char     path[PATH_MAX_HERE];
    uint64_t limit, usage, droppable = 0, left;

    snprintf(path, sizeof(path), "%s%s%s/%s", root, files->mount, group, files->limit);
    if (!read_number(path, "", &limit)) /* the file does not exist, or contains "max" */
        return;
    snprintf(path, sizeof(path), "%s%s%s/%s", root, files->mount, group, files->usage);
    if (!read_number(path, "", &usage))
        return;
    snprintf(path, sizeof(path), "%s%s%s/memory.stat", root, files->mount, group);
    read_number(path, files->droppable, &droppable);
    usage = usage > droppable ? usage - droppable : 0;
    left = limit > usage ? limit - usage : 0;
    if (left < limits->available) {
        limits->available = left;
        snprintf(limits->limit, sizeof(limits->limit), "the control group %.70s", *group ? group : "/");
    }
}

/* Apply the limits of a group and all its ancestors, up to the root of the mount. */
static void consider_path(const char *root, const struct group_files *files, char *group,
                          struct tern_memory_limits *limits)
{
    for (;;) {
        size_t len = strlen(group);
        while (len > 0 && group[len - 1] == '/')
            group[--len] = '\0';
        consider_group(root, files, group, limits);
        char *slash = strrchr(group, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Apply the limits of the group in one line of /proc/self/cgroup, which is "number:controllers:path". Version 2 has
 * number 0 and no controllers. */
static void consider_line(const char *root, char *line, struct tern_memory_limits *limits)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;

    if (!group)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (*controllers == '\0')
        consider_path(root, &version2, group, limits);
    else if (strstr(controllers, "memory"))
        consider_path(root, &version1, group, limits);
}

struct tern_memory_limits tern_base_memory_limits(const char *root)
{
    struct tern_memory_limits limits = { UINT64_MAX, "the system", 0 };
    char                      path[PATH_MAX_HERE], text[8192], *line, *rest;
    uint64_t                  kib;
    FILE                     *file;

    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (read_number(path, "MemAvailable:", &kib))
        limits.available = kib * 1024;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    errno = 0;
    file = fopen(path, "re");
    if (!file && (errno == EMFILE || errno == ENFILE))
        limits.error = errno;
    if (!file)
        return limits;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file); /* before the limits are read, because only one descriptor may be free */
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        consider_line(root, line, &limits);
    return limits;
}

/* Read one of the kernel's counters for a size of huge pages; 0 if there are no huge pages of that size. */
static uint64_t huge_number(const char *root, uint64_t page, const char *name)
{
    char     path[PATH_MAX_HERE];
    uint64_t pages = 0;

    snprintf(path, sizeof(path), "%s/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s", root, page / 1024, name);
    return read_number(path, "", &pages) ? pages : 0;
}

uint64_t tern_base_memory_huge(const char *root, uint64_t page)
{
    uint64_t free_pages = huge_number(root, page, "free_hugepages"); /* includes the reserved pages */
    uint64_t reserved = huge_number(root, page, "resv_hugepages");

    return free_pages > reserved ? (free_pages - reserved) * page : 0;
}
