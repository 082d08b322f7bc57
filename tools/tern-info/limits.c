/* limits.c: the limits that apply to this process: those of the shell (ulimit), those of its control groups (versions 1
 * and 2), and the size of /dev/shm. A file that cannot be read counts as no limit: in a container, the path that /proc
 * reports often does not exist, and the root of the mount is the container's own group. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "info.h"

#define GROUPS "/sys/fs/cgroup"
#define PATH_SIZE 1024

uint64_t info_limit(int resource, bool hard)
{
    struct rlimit limit;
    rlim_t        value;

    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return INFO_UNLIMITED;
    value = hard ? limit.rlim_max : limit.rlim_cur;
    return value == RLIM_INFINITY ? INFO_UNLIMITED : (uint64_t)value;
}

/* Read a number. Returns false if the file cannot be read or has a word, such as max. */
static bool read_number(const char *directory, const char *name, uint64_t *out)
{
    char path[PATH_SIZE + 64], line[64];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return info_read_line(path, line, sizeof(line)) && sscanf(line, "%" SCNu64, out) == 1;
}

/* Return whether word is one of the words of a list that commas separate. */
static bool has_word(const char *list, const char *word)
{
    for (;; list++) {
        size_t len = strcspn(list, ",");

        if (len == strlen(word) && strncmp(list, word, len) == 0)
            return true;
        list += len;
        if (*list == '\0')
            return false;
    }
}

/* Call look(directory, arg) for the group of a line of /proc/self/cgroup, and for all groups above it. */
static void visit_line(char *line, const char *controller, void (*look)(const char *directory, void *arg), void *arg)
{
    char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    char  root[256], directory[PATH_SIZE];

    if (group == NULL)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    if (*controllers != '\0' && !has_word(controllers, controller))
        return;
    snprintf(root, sizeof(root), GROUPS "%s%s", *controllers != '\0' ? "/" : "",
             *controllers != '\0' ? controller : "");
    for (;;) {
        size_t len = strlen(group);
        char  *slash;

        while (len > 0 && group[len - 1] == '/')
            group[--len] = '\0';
        snprintf(directory, sizeof(directory), "%s%.700s", root, group);
        look(directory, arg);
        slash = strrchr(group, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

static void visit_groups(const char *controller, void (*look)(const char *directory, void *arg), void *arg)
{
    char  line[PATH_SIZE];
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        visit_line(line, controller, look, arg);
    }
    if (file != NULL)
        fclose(file);
}

static void look_at_quota(const char *directory, void *arg)
{
    double  *least = arg;
    char     path[PATH_SIZE + 64], line[64];
    uint64_t quota = 0, period = 0;

    snprintf(path, sizeof(path), "%s/cpu.max", directory); /* version 2: "max 100000" or "150000 100000" */
    if (!info_read_line(path, line, sizeof(line)) || sscanf(line, "%" SCNu64 " %" SCNu64, &quota, &period) != 2) {
        if (!read_number(directory, "cpu.cfs_quota_us", &quota) || (int64_t)quota <= 0 ||
            !read_number(directory, "cpu.cfs_period_us", &period))
            return;
    }
    if (period > 0 && (*least == 0 || (double)quota / (double)period < *least))
        *least = (double)quota / (double)period;
}

double info_cpu_quota(void)
{
    double least = 0;

    visit_groups("cpu", look_at_quota, &least);
    return least;
}

/* The limit of the control group in which the least is left. */
struct group_limit {
    const char *name[2], *used_name[2]; /* of version 2 and version 1 */
    uint64_t    most, used;
};

static void look_at_limit(const char *directory, void *arg)
{
    struct group_limit *limit = arg;
    uint64_t            most, used = 0;

    for (int version = 0; version < 2; version++) {
        /* Version 1 writes "no limit" as a number near 2^63. */
        if (limit->name[version] == NULL || !read_number(directory, limit->name[version], &most) ||
            most > INT64_MAX / 2)
            continue;
        read_number(directory, limit->used_name[version], &used);
        used = used < most ? used : most; /* a limit may be lowered below what is in use */
        if (limit->most == INFO_UNLIMITED || most - used < limit->most - limit->used) {
            limit->most = most;
            limit->used = used;
        }
    }
}

uint64_t info_group_memory(uint64_t *used)
{
    struct group_limit limit = {
        { "memory.max", "memory.limit_in_bytes" }, { "memory.current", "memory.usage_in_bytes" }, INFO_UNLIMITED, 0
    };

    visit_groups("memory", look_at_limit, &limit);
    *used = limit.used;
    return limit.most;
}

uint64_t info_group_processes(uint64_t *used)
{
    struct group_limit limit = { { "pids.max", NULL }, { "pids.current", NULL }, INFO_UNLIMITED, 0 };

    visit_groups("pids", look_at_limit, &limit);
    *used = limit.used;
    return limit.most;
}

/* Return the number of threads of a process, or 0 if it is of another user or gone. */
static uint64_t threads_of(const char *pid)
{
    char        path[300], line[256];
    struct stat about;
    uint64_t    threads = 0;
    FILE       *file;

    snprintf(path, sizeof(path), "/proc/%s", pid);
    if (stat(path, &about) != 0 || about.st_uid != getuid())
        return 0;
    snprintf(path, sizeof(path), "/proc/%s/status", pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL && sscanf(line, "Threads: %" SCNu64, &threads) != 1)
        ;
    if (file != NULL)
        fclose(file);
    return threads;
}

uint64_t info_user_processes(void)
{
    DIR           *dir = opendir("/proc");
    struct dirent *entry;
    uint64_t       count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            count += threads_of(entry->d_name);
    if (dir != NULL)
        closedir(dir);
    return count;
}

bool info_shm_space(uint64_t *size, uint64_t *available)
{
    struct statvfs about;

    if (statvfs("/dev/shm", &about) != 0)
        return false;
    *size = (uint64_t)about.f_blocks * about.f_frsize;
    *available = (uint64_t)about.f_bavail * about.f_frsize;
    return true;
}

/* Print one limit as a number or null of JSON. */
static void number(const char *key, uint64_t value)
{
    if (value == INFO_UNLIMITED)
        info_no_limit(key, "");
    else
        info_number(key, "", value, "");
}

static void text_of(uint64_t value, char text[32])
{
    if (value == INFO_UNLIMITED)
        snprintf(text, 32, "none");
    else
        snprintf(text, 32, "%" PRIu64, value);
}

/* Print the soft and the hard limit of a resource. */
static void limit(const char *key, const char *label, int resource, const char *meaning)
{
    char     soft_text[32], hard_text[32], hard_key[64];
    uint64_t soft = info_limit(resource, false), hard = info_limit(resource, true);

    snprintf(hard_key, sizeof(hard_key), "%s_hard", key);
    if (info_is_json()) {
        number(key, soft);
        number(hard_key, hard);
        return;
    }
    text_of(soft, soft_text);
    text_of(hard, hard_text);
    info_text(key, label, "%s (%s)  %s", soft_text, hard_text, meaning);
}

static void group_limits(void)
{
    uint64_t used, most = info_group_memory(&used);
    double   quota = info_cpu_quota();

    if (most == INFO_UNLIMITED) {
        info_no_limit("group_memory", "memory, control group");
    } else {
        info_bytes("group_memory", "memory, control group", most);
        info_bytes("group_memory_used", "of which are in use", used);
    }
    most = info_group_processes(&used);
    if (most == INFO_UNLIMITED) {
        info_no_limit("group_processes", "processes, control group");
    } else {
        info_number("group_processes", "processes, control group", most, "");
        info_number("group_processes_used", "of which exist", used, "");
    }
    if (quota > 0)
        info_text("group_cpus", "CPU time, control group", "%.2f CPUs", quota);
    else
        info_no_limit("group_cpus", "CPU time, control group");
}

void info_limits(void)
{
    uint64_t size = 0, available = 0;

    info_section("limits", "Limits, as soft (hard) limit");
    limit("open_files", "open files", RLIMIT_NOFILE,
          "Over TCP, a rank needs one for each peer; Tern raises the soft limit");
    limit("locked_memory", "locked memory, bytes", RLIMIT_MEMLOCK,
          "Networks that register memory with their hardware need it");
    limit("processes", "processes of this user", RLIMIT_NPROC, "A rank has up to four threads");
    limit("address_space", "address space, bytes", RLIMIT_AS, "Limits the memory of regions");
    limit("file_size", "file size, bytes", RLIMIT_FSIZE, "Limits the memory of regions, which are memory files");
    limit("core_size", "core file, bytes", RLIMIT_CORE, "With 0, a rank that crashes leaves no core file");
    group_limits();
    if (info_shm_space(&size, &available)) {
        info_bytes("shm_size", "/dev/shm", size);
        info_bytes("shm_available", "of which are free", available);
    } else {
        info_text("shm_size", "/dev/shm", "not there; Tern does not need it, but libfabric's provider shm does");
    }
    info_section_end();
}
