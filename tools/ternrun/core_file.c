/* core_file.c: finds the core file of a rank that crashed, or says why there is none.
 *
 * /proc/sys/kernel/core_pattern tells where the kernel writes core files (see core(5)). A pattern that begins with '|'
 * names a program that receives the core. In any other pattern, the escapes whose values ternrun cannot know, such as
 * the time, become wildcards, and the newest matching file that is younger than the rank is the core file.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ternrun.h"

#define PATTERN_BYTES 1024

/* A pattern for glob(3) that is being written. */
struct pattern {
    char   text[2 * PATTERN_BYTES];
    size_t len;
};

static void add(struct pattern *pattern, const char *text, bool is_literal)
{
    for (; *text != '\0' && pattern->len < sizeof(pattern->text) - 2; text++) {
        if (is_literal && strchr("*?[\\", *text) != NULL)
            pattern->text[pattern->len++] = '\\';
        pattern->text[pattern->len++] = *text;
    }
    pattern->text[pattern->len] = '\0';
}

/* Write what an escape of the core pattern stands for. */
static void add_escape(struct pattern *pattern, char escape, int pid, int signal)
{
    struct utsname host;
    char           number[16];

    switch (escape) {
    case 'p': snprintf(number, sizeof(number), "%d", pid); break;
    case 'u': snprintf(number, sizeof(number), "%u", (unsigned)getuid()); break;
    case 'g': snprintf(number, sizeof(number), "%u", (unsigned)getgid()); break;
    case 's': snprintf(number, sizeof(number), "%d", signal); break;
    case '%': strcpy(number, "%"); break;
    case 'h':
        if (uname(&host) == 0)
            add(pattern, host.nodename, true);
        return;
    default:
        if (strchr("PiIdteEfFcC", escape) != NULL)
            add(pattern, "*", false);
        return; /* the kernel omits unknown escapes */
    }
    add(pattern, number, true);
}

void run_core_pattern(const char *kernel, const char *directory, int pid, int signal, char *out, size_t size)
{
    struct pattern pattern = { .len = 0 };

    if (*kernel != '/') {
        add(&pattern, directory, true);
        add(&pattern, "/", true);
    }
    for (; *kernel != '\0'; kernel++) {
        if (*kernel == '%' && kernel[1] != '\0')
            add_escape(&pattern, *++kernel, pid, signal);
        else if (*kernel != '%')
            add(&pattern, (char[]){ *kernel, '\0' }, true);
    }
    snprintf(out, size, "%s", pattern.text);
}

/* Find the newest file that matches the pattern and was written since a time. Returns false if there is none. */
static bool find_newest(const char *pattern, time_t since, char *path, size_t size)
{
    glob_t      found = { 0 };
    struct stat about;
    bool        any = false;

    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        found.gl_pathc = 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (lstat(found.gl_pathv[i], &about) == 0 && S_ISREG(about.st_mode) && about.st_mtime >= since) {
            since = about.st_mtime;
            any = (size_t)snprintf(path, size, "%s", found.gl_pathv[i]) < size;
        }
    globfree(&found);
    return any;
}

/* Read the first line of a file. Returns whether there is one. */
static bool read_line(const char *name, char *text, size_t size)
{
    FILE *file = fopen(name, "re");
    bool  got = file != NULL && fgets(text, (int)size, file) != NULL;

    if (file != NULL)
        fclose(file);
    if (got)
        text[strcspn(text, "\n")] = '\0';
    return got && *text != '\0';
}

/* Name the program that received the core. */
static void describe_pipe(const char *kernel, int rank, int pid, char *text, size_t size)
{
    if (strstr(kernel, "systemd-coredump") != NULL)
        snprintf(text, size, "core of rank %d: see 'coredumpctl info %d' and 'coredumpctl debug %d'", rank, pid, pid);
    else if (strstr(kernel, "apport") != NULL)
        snprintf(text, size, "core of rank %d: apport has it, see /var/crash and 'apport-unpack'", rank);
    else
        snprintf(text, size, "core of rank %d: the kernel gave it to '%.200s'", rank, kernel + 1);
}

static void describe_none(const struct run_job *job, int rank, char *text, size_t size)
{
    struct rlimit limit = { 0 };

    getrlimit(RLIMIT_CORE, &limit);
    if (limit.rlim_cur != 0)
        snprintf(text, size,
                 "no core file of rank %d was written, although the limit 'ulimit -c' permits it; the place of core "
                 "files (/proc/sys/kernel/core_pattern) may not be writable",
                 rank);
    else
        snprintf(text, size,
                 "no core file of rank %d was written, because the limit is 0%s; for a backtrace, repeat the run after "
                 "'ulimit -c unlimited', or with --gdb %d < /dev/null",
                 rank,
                 limit.rlim_max == 0 ? " and may not be raised"
                 : job->up != NULL   ? " on this host"
                                     : "",
                 rank);
}

static bool is_crash(int signal)
{
    static const int crashes[] = {
        SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP, SIGQUIT, SIGXCPU, SIGXFSZ
    };

    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        if (signal == crashes[i])
            return true;
    return false;
}

/* Find the file of a core that was written. */
static void find_file(struct run_job *job, int r, const siginfo_t *info, const char *kernel,
                      struct run_verdict *verdict)
{
    int         rank = job->first + r;
    const char *wdir = run_program_of(job->config, rank)->directory;
    char        pattern[2 * PATTERN_BYTES], path[RUN_CORE_BYTES];
    char       *directory = wdir != NULL && *wdir != '\0' ? strdup(wdir) : getcwd(NULL, 0);
    time_t      start = time(NULL) - (time_t)((tern_base_now() - job->rank[r].start) / NS_PER_SECOND) - 1;

    run_core_pattern(kernel, directory != NULL ? directory : ".", (int)info->si_pid, info->si_status, pattern,
                     sizeof(pattern));
    free(directory);
    if (find_newest(pattern, start, path, sizeof(path))) {
        snprintf(verdict->core, sizeof(verdict->core), "core file of rank %d: %.300s", rank, path);
        run_trace_note(job, rank, path);
    } else {
        snprintf(verdict->core, sizeof(verdict->core),
                 "a core file of rank %d was written, but not as %.200s; the rank may have changed its directory", rank,
                 pattern);
    }
}

void run_core_describe(struct run_job *job, int r, const siginfo_t *info, struct run_verdict *verdict)
{
    char kernel[PATTERN_BYTES] = "core", uses_pid[16] = "0";
    int  rank = job->first + r;

    if (info->si_code == CLD_EXITED || !is_crash(info->si_status))
        return;
    read_line("/proc/sys/kernel/core_pattern", kernel, sizeof(kernel) - 4);
    read_line("/proc/sys/kernel/core_uses_pid", uses_pid, sizeof(uses_pid));
    if (strcmp(uses_pid, "0") != 0 && strstr(kernel, "%p") == NULL)
        strcat(kernel, ".%p");
    if (info->si_code != CLD_DUMPED)
        describe_none(job, rank, verdict->core, sizeof(verdict->core));
    else if (*kernel == '|')
        describe_pipe(kernel, rank, (int)info->si_pid, verdict->core, sizeof(verdict->core));
    else
        find_file(job, r, info, kernel, verdict);
}
