/* base_memory.c: the amount of free memory, as read from a made-up root directory.
 *
 * Promise: the tightest limit of the system and of all control groups, of both versions and including all ancestors,
 * counts and is named; pages that the kernel would drop do not count as used; files that are missing or contain "max"
 * limit nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"

#define MIB (1024ull * 1024)

static char root[] = "/tmp/tern-memory-XXXXXX";

static int root_make(void **state)
{
    (void)state;
    strcpy(root, "/tmp/tern-memory-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

/* Write a file below the root, with its directories. */
static void put(const char *path, const char *content)
{
    char  name[512];
    FILE *file;

    snprintf(name, sizeof(name), "%s%s", root, path);
    for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void put_number(const char *path, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
    put(path, text);
}

/* A group of version 2 or 1. */
static void group2(const char *group, uint64_t limit, uint64_t usage)
{
    char path[256];

    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", group);
    put_number(path, limit);
    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", group);
    put_number(path, usage);
}

static void group1(const char *group, uint64_t limit, uint64_t usage)
{
    char path[256];

    snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", group);
    put_number(path, limit);
    snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%s/memory.usage_in_bytes", group);
    put_number(path, usage);
}

static void leaves(uint64_t bytes, const char *who)
{
    struct tern_memory_limits limits = tern_base_memory_limits(root);

    assert_int_equal(limits.available, bytes);
    assert_string_equal(limits.limit, who);
}

#define MEMINFO "MemTotal:       16384000 kB\nMemFree:   1 kB\nMemAvailable:    2048000 kB\nBuffers: 7 kB\n"
#define SYSTEM (2048000ull * 1024)

static void nothing_tells(void **state)
{
    (void)state;
    leaves(UINT64_MAX, "the system");
    put("/proc/meminfo", "MemTotal: 5 kB\n");
    leaves(UINT64_MAX, "the system");
    put("/proc/meminfo", "");
    leaves(UINT64_MAX, "the system");
}

static void the_system_alone(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    leaves(SYSTEM, "the system");
    put("/proc/self/cgroup", "0::/\n"); /* the root group has no files */
    leaves(SYSTEM, "the system");
    put("/proc/self/cgroup", "nonsense\n0:\n::\n:::\n\n0::/x\n");
    leaves(SYSTEM, "the system");
}

static void version_2(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/user/job\n");
    group2("/user/job", 500 * MIB, 100 * MIB);
    leaves(400 * MIB, "the control group /user/job");
    put("/sys/fs/cgroup/user/job/memory.stat", "anon 5\nfile 6\ninactive_file 31457280\nactive_file 7\n");
    leaves(430 * MIB, "the control group /user/job");
    put("/sys/fs/cgroup/user/job/memory.stat", "inactive_file 999999999999\n"); /* more than is used */
    leaves(500 * MIB, "the control group /user/job");
    group2("/user/job", 50 * MIB, 100 * MIB); /* a limit that was lowered below what is used */
    put("/sys/fs/cgroup/user/job/memory.stat", "");
    leaves(0, "the control group /user/job");
    put("/sys/fs/cgroup/user/job/memory.max", "max\n");
    leaves(SYSTEM, "the system");
    group2("/user/job", 0, 0);
    leaves(0, "the control group /user/job");
    group2("/user/job", 1ull << 60, 5);
    leaves(SYSTEM, "the system"); /* the system is tighter */
}

static void ancestors(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/a/b/c\n");
    group2("/a/b/c", 900 * MIB, 0);
    group2("/a", 300 * MIB, 100 * MIB);
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    leaves(200 * MIB, "the control group /a");
    group2("/a/b", 150 * MIB, 0);
    leaves(150 * MIB, "the control group /a/b");
    group2("", 10 * MIB, MIB); /* the root of the mount, as in a container */
    leaves(9 * MIB, "the control group /");
    put("/proc/self/cgroup", "0::/\n");
    leaves(9 * MIB, "the control group /");
    put("/proc/self/cgroup", "0::/a/\n"); /* a slash too many */
    leaves(9 * MIB, "the control group /");
}

static void a_path_that_is_not_there(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/outside/of/the/container\n");
    leaves(SYSTEM, "the system");
    group2("", 70 * MIB, 0);
    leaves(70 * MIB, "the control group /");
    put("/sys/fs/cgroup/outside/memory.max", "1000\n"); /* a limit without a usage */
    leaves(70 * MIB, "the control group /");
}

static void version_1(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "12:cpu,cpuacct:/other\n7:memory:/docker/x\n1:name=systemd:/foo\n0::/unified\n");
    leaves(SYSTEM, "the system");
    group1("/other", 1, 0); /* another controller's group does not count */
    group1("/docker/x", 80 * MIB, 30 * MIB);
    leaves(50 * MIB, "the control group /docker/x");
    put("/sys/fs/cgroup/memory/docker/x/memory.stat",
        "inactive_file 1048576\ntotal_cache 3\ntotal_inactive_file 2097152\n"); /* the second: with descendants */
    leaves(52 * MIB, "the control group /docker/x");
    group1("/docker", 20 * MIB, 0);
    leaves(20 * MIB, "the control group /docker");
    group1("/docker", 9223372036854771712ull, 0); /* version 1's way to say "no limit" */
    leaves(52 * MIB, "the control group /docker/x");
    put("/proc/self/cgroup", "7:hugetlb,memory:/docker/x\n"); /* mounted together with another controller */
    leaves(52 * MIB, "the control group /docker/x");
}

static void both_versions(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "7:memory:/one\n0::/two\n");
    group1("/one", 80 * MIB, 0);
    group2("/two", 60 * MIB, 0);
    leaves(60 * MIB, "the control group /two");
    group1("/one", 40 * MIB, 0);
    leaves(40 * MIB, "the control group /one");
}

static void long_names(void **state)
{
    char line[4000], name[1500];

    (void)state;
    put("/proc/meminfo", MEMINFO);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(line, sizeof(line), "0::/short/%s/%s\n", name, name + 1000);
    put("/proc/self/cgroup", line);
    group2("/short", 33 * MIB, 0);
    leaves(33 * MIB, "the control group /short"); /* the readable part still counts */
}

static void huge_pages(void **state)
{
    (void)state;
    assert_int_equal(tern_base_memory_huge(root, 2 * MIB), 0);
    put_number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", 12);
    assert_int_equal(tern_base_memory_huge(root, 2 * MIB), 24 * MIB);
    assert_int_equal(tern_base_memory_huge(root, 1024 * MIB), 0);
    put_number("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", 5); /* reserved pages */
    assert_int_equal(tern_base_memory_huge(root, 2 * MIB), 14 * MIB);
    put_number("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", 13);
    assert_int_equal(tern_base_memory_huge(root, 2 * MIB), 0);
}

static void the_real_one(void **state)
{
    struct tern_memory_limits limits = tern_base_memory_limits("");

    (void)state;
    assert_true(limits.available > MIB && limits.available < UINT64_MAX);
    assert_true(strlen(limits.limit) > 0 && limits.error == 0);
}

#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, root_make, root_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_ROOT(nothing_tells),
        IN_A_ROOT(the_system_alone),
        IN_A_ROOT(version_2),
        IN_A_ROOT(ancestors),
        IN_A_ROOT(a_path_that_is_not_there),
        IN_A_ROOT(version_1),
        IN_A_ROOT(both_versions),
        IN_A_ROOT(long_names),
        IN_A_ROOT(huge_pages),
        cmocka_unit_test(the_real_one),
    };

    return cmocka_run_group_tests_name("base memory", tests, NULL, NULL);
}
