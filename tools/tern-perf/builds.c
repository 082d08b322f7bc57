/* builds.c: compare --build: run the same tests alternately with this build of Tern and with another build, so that
 * old and new code can be compared on a machine whose speed changes from second to second.
 *
 * Each build runs its own ternrun and its own tern-perf, so that the two builds need nothing in common but the
 * command line and the CSV format that the manual page describes. compare.c runs the jobs, ratios.c prints the
 * ratios. The other build may be older than this one: it may lack a test, reject an option, or not print a figure.
 * This file detects such cases and stores a remark, which the report shows instead of a ratio.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"

#define PATH_ROOM 400
#define NOTE_ROOM 200
#define INIT_JOBS "5"  /* jobs of each kind in one run of init; their median counts */
#define USAGE_STATUS 2 /* the exit status of tern-perf and ternrun for an invalid command line */
#define STREAM_SIZES "4K,16K,64K,256K,1M,4M,16M"

static bool init_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
static bool memory_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);

/* The tests that run when the command line names no test. acc_bw measures every type, so it has fewer sizes. */
static const struct compare_test default_tests[] = {
    { .name = "put_lat", .sizes = "8,4K", .metrics = { "latency", "latency_complete", "half_rtt" }, .unit = "ns" },
    { .name = "get_lat", .sizes = "8,4K", .metrics = { "latency", "half_rtt" }, .unit = "ns" },
    { .name = "am_lat", .sizes = "0,8,4K", .metrics = { "half_rtt" }, .unit = "ns" },
    { .name = "notify_lat", .sizes = "8,4K", .metrics = { "half_rtt" }, .unit = "ns" },
    { .name = "msg_lat", .sizes = "8,4K,64K", .metrics = { "half_rtt" }, .unit = "ns" },
    { .name = "put_rate", .sizes = "8", .metrics = { "rate" }, .unit = "op/s" },
    { .name = "get_rate", .sizes = "8", .metrics = { "rate" }, .unit = "op/s" },
    { .name = "am_rate", .metrics = { "rate" }, .unit = "op/s" },
    { .name = "notify_rate", .sizes = "8", .metrics = { "rate" }, .unit = "op/s" },
    { .name = "msg_rate", .sizes = "8", .metrics = { "rate" }, .unit = "op/s" },
    { .name = "put_bw", .sizes = STREAM_SIZES, .metrics = { "bandwidth", "bandwidth_complete" }, .unit = "MB/s" },
    { .name = "get_bw", .sizes = STREAM_SIZES, .metrics = { "bandwidth" }, .unit = "MB/s" },
    { .name = "acc_bw", .sizes = "4K,64K,1M,16M", .metrics = { "bandwidth", "bandwidth_complete" }, .unit = "MB/s" },
    { .name = "msg_bw", .sizes = STREAM_SIZES, .metrics = { "bandwidth" }, .unit = "MB/s" },
    { .name = "init", .metrics = { "wall_tern", "inside_calls" }, .unit = "ms", .run = init_run },
    { .name = "memory", .test = "barrier", .metrics = { "resident", "shared" }, .unit = "KiB", .run = memory_run },
};
#define DEFAULT_TESTS (sizeof(default_tests) / sizeof(default_tests[0]))

static struct {
    struct compare_test tests[COMPARE_TESTS]; /* the default tests, then those of the comparison with the peers */
    size_t              test_count;
    struct runner       runners[2];
    char                bin[PATH_ROOM];                     /* directory of the other build's programs */
    char                notes[COMPARE_TESTS][2][NOTE_ROOM]; /* why a build has no figures of a test; "": it has */
    bool                skip[COMPARE_TESTS];                /* a build cannot run the test, so neither runs it */
    bool                failed;                             /* a run failed, and not because a build is older */
} builds;

static size_t index_of(const struct compare_test *test)
{
    return (size_t)(test - builds.tests);
}

static char *note_of(const struct runner *runner, const struct compare_test *test)
{
    return builds.notes[index_of(test)][runner - builds.runners];
}

const char *compare_build_note(const struct runner *runner, const struct compare_test *test)
{
    return note_of(runner, test);
}

/* Return the first line that a child has written to standard error, without the leading name of the program. */
static const char *first_line(const struct perf_child *child, int *length)
{
    static const char prefix[] = "tern-perf: ";
    const char       *text = child->text[1] != NULL ? child->text[1] : "it printed no error message";

    if (strncmp(text, prefix, strlen(prefix)) == 0)
        text += strlen(prefix);
    *length = (int)strcspn(text, "\n");
    return text;
}

/* Handle a failed run. A build that rejects the command line is older than the test or the option, and that is a
 * result. */
static bool run_failed(const struct runner *runner, const struct compare_test *test, const struct perf_child *child)
{
    char       *note = note_of(runner, test);
    int         length;
    const char *line = first_line(child, &length);

    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0) {
        snprintf(note, NOTE_ROOM, "gave no figures");
    } else if (!child->late && WIFEXITED(child->status) && WEXITSTATUS(child->status) == USAGE_STATUS) {
        snprintf(note, NOTE_ROOM, "does not accept this command line: %.*s", length, line);
        builds.skip[index_of(test)] = true;
        return true;
    } else if (child->late) {
        snprintf(note, NOTE_ROOM, "did not end in time; raise --limit");
    } else {
        snprintf(note, NOTE_ROOM, "failed: %.*s", length, line);
    }
    builds.failed = true;
    return false;
}

/* Run a job of the runner's own build, unless one of the two builds cannot run the test. */
static bool job_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    return builds.skip[index_of(test)] || compare_tern_run(runner, test, o);
}

/* Run tern-perf init, which starts its own jobs to measure the start-up time. */
static bool init_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    char        program[512];
    const char *words[] = { program, "init", "--csv", "--quiet", "--rounds", INIT_JOBS, "--ranks", "2", NULL };

    if (builds.skip[index_of(test)] || !perf_find_sibling(runner->dir, runner->program, program, sizeof(program)))
        return true;
    return compare_run_csv(runner, test, o, (char *const *)(uintptr_t)words, NULL);
}

static bool memory_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    return builds.skip[index_of(test)] || compare_memory_run(runner, test, o);
}

/* Collect the default tests, followed by the tests that are compared with the peers. The latter run only if the
 * command line names them. */
static void collect_tests(bool net)
{
    const struct compare_test *more = net ? compare_net_tests : compare_memory_tests;
    size_t                     count = net ? compare_net_test_count : compare_memory_test_count;

    memcpy(builds.tests, default_tests, sizeof(default_tests));
    builds.test_count = DEFAULT_TESTS;
    for (size_t i = 0; i < count && builds.test_count < COMPARE_TESTS; i++) {
        bool known = false;

        for (size_t t = 0; t < DEFAULT_TESTS; t++)
            known |= strcmp(default_tests[t].name, more[i].name) == 0;
        if (!known) {
            builds.tests[builds.test_count] = more[i];
            builds.tests[builds.test_count++].optional = true;
        }
    }
}

/* Return whether a line of the output of tern-perf --list begins with this name. */
static bool lists(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (; text != NULL && *text != '\0'; text = strchr(text, '\n'), text = text != NULL ? text + 1 : NULL) {
        if (strncmp(text, name, length) == 0 && (text[length] == ' ' || text[length] == '\n'))
            return true;
    }
    return false;
}

/* Ask the other build for its tests and record those that it lacks. Returns false if the other build cannot be run. */
static bool ask_for_tests(const struct perf_options *o)
{
    char              program[PATH_ROOM + 16];
    const char *const words[] = { program, "--list", NULL };
    struct perf_child child;
    int               length;
    bool              ok;

    snprintf(program, sizeof(program), "%s/tern-perf", builds.bin);
    ok = perf_child_start(&child, (char *const *)(uintptr_t)words, NULL, o->limit) && perf_child_finish(&child);
    for (size_t t = 0; ok && t < builds.test_count; t++) {
        const char *name = builds.tests[t].test != NULL ? builds.tests[t].test : builds.tests[t].name;

        if (lists(child.text[0], name))
            continue;
        builds.skip[t] = true;
        snprintf(builds.notes[t][1], NOTE_ROOM, "has no test %s", name);
        if (o->self)
            snprintf(builds.notes[t][0], NOTE_ROOM, "has no test %s", name);
    }
    if (!ok) {
        const char *line = first_line(&child, &length);

        fprintf(stderr, "tern-perf: the other build does not run: %s --list: %.*s; build it again in %s\n", program,
                length, line, o->build);
    }
    perf_child_free(&child);
    return ok;
}

/* Find the programs of the other build. If one is missing, prints what the user can do and returns false. */
static bool find_build(const struct perf_options *o)
{
    static const char *const programs[] = { "ternrun", "tern-perf" };
    char                     path[PATH_ROOM + 16];
    struct stat              about;

    if (stat(o->build, &about) < 0) {
        fprintf(stderr,
                "tern-perf: --build %s: %s; name the build directory of another Tern, such as ../old/build/check, or "
                "the prefix that it is installed in\n",
                o->build, strerror(errno));
        return false;
    }
    if (snprintf(builds.bin, sizeof(builds.bin), "%s/bin", o->build) >= (int)sizeof(builds.bin)) {
        fprintf(stderr, "tern-perf: --build: the name of the directory is longer than %d bytes; use a shorter path\n",
                PATH_ROOM - 5);
        return false;
    }
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", builds.bin, programs[i]);
        if (access(path, X_OK) == 0)
            continue;
        fprintf(stderr,
                "tern-perf: --build %s: there is no program %s; build Tern there first, or name the directory that "
                "has bin/%s in it\n",
                o->build, path, programs[i]);
        return false;
    }
    return true;
}

/* Return whether LD_LIBRARY_PATH contains a libtern. The dynamic linker prefers LD_LIBRARY_PATH to a build's own
 * library, so both builds would run the same code. */
static bool library_is_forced(void)
{
    const char *dirs = getenv("LD_LIBRARY_PATH");
    char        path[PATH_ROOM];
    size_t      n;

    for (; dirs != NULL && *dirs != '\0'; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        if (snprintf(path, sizeof(path), "%.*s/libtern.so", (int)n, dirs) < (int)sizeof(path) &&
            access(path, R_OK) == 0) {
            fprintf(stderr,
                    "tern-perf: both builds would use %s, because LD_LIBRARY_PATH names its directory; remove that "
                    "directory from LD_LIBRARY_PATH\n",
                    path);
            return true;
        }
    }
    return false;
}

/* Restrict this process, and therefore every job of both builds, to the two cpus of the comparison. ternrun binds
 * the ranks of the tests to these cpus, and the jobs of init inherit them. */
static void keep_to_two_cpus(void)
{
    char      first[24], second[24];
    cpu_set_t set;

    compare_two_cpus(first, second);
    CPU_ZERO(&set);
    CPU_SET((size_t)atoi(first), &set);
    CPU_SET((size_t)atoi(second), &set);
    sched_setaffinity(0, sizeof(set), &set); /* if this fails, ternrun still binds the ranks */
}

static struct runner runner_of(const char *name, const char *link, const char *dir)
{
    return (struct runner){ .name = name,
                            .link = link,
                            .launcher = "ternrun",
                            .program = "tern-perf",
                            .install = COMPARE_TERN_MISSING,
                            .find = compare_tern_find,
                            .run = job_run,
                            .dir = dir,
                            .failed = run_failed };
}

int compare_builds(const struct perf_options *o)
{
    char              title[PATH_ROOM + 128];
    struct comparison both = { .title = title,
                               .runners = builds.runners,
                               .runner_count = 2,
                               .tests = builds.tests,
                               .alternate = true,
                               .report = compare_report_ratios };
    int               status;

    collect_tests(o->net);
    both.test_count = builds.test_count;
    if (!find_build(o))
        return 2;
    if (library_is_forced() || !ask_for_tests(o))
        return 1;
    builds.runners[0] = o->self ? runner_of("first run", "first", builds.bin) : runner_of("this build", "this", NULL);
    builds.runners[1] =
        o->self ? runner_of("second run", "second", builds.bin) : runner_of("other build", "other", builds.bin);
    snprintf(title, sizeof(title), "%s %s, %s",
             o->self ? "A build of Tern beside itself:" : "This build of Tern beside", o->build,
             o->net ? "over the network" : "through shared memory");
    keep_to_two_cpus();
    status = compare_run(&both, o);
    return status == 0 && builds.failed ? 1 : status;
}
