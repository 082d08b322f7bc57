/* machine.c: the facts about the machine and the software that a page of figures needs: processor, caches, memory,
 * kernel, compiler, load. Names of hosts and users are left out, because a page may be published.
 */
#include <ctype.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

static void add(struct machine *m, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add(struct machine *m, const char *name, const char *format, ...)
{
    struct machine_fact *fact = &m->fact[m->facts];
    va_list              arguments;

    if (m->facts == MACHINE_FACTS)
        return;
    va_start(arguments, format);
    vsnprintf(fact->value, sizeof(fact->value), format, arguments);
    va_end(arguments);
    for (char *at = fact->value; *at != '\0';
         at++) { /* facts are lines of CSV comments, table cells and JSON strings */
        if (iscntrl((unsigned char)*at) || *at == '"' || *at == '|' || *at == '\\')
            *at = ' ';
    }
    snprintf(fact->name, sizeof(fact->name), "%s", name);
    m->facts++;
}

const char *machine_fact(const struct machine *m, const char *name)
{
    for (size_t i = 0; i < m->facts; i++) {
        if (strcmp(m->fact[i].name, name) == 0)
            return m->fact[i].value;
    }
    return "";
}

/* Read the first line of a file without its end. Returns false if there is none. */
static bool first_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    bool  ok = f != NULL && fgets(line, size, f) != NULL;

    if (f != NULL)
        fclose(f);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

/* Read the value of the first line of a file that begins with a name, as in /proc/cpuinfo. */
static bool named_line(const char *path, const char *name, char *value, size_t size)
{
    char  line[4096];
    bool  found = false;
    FILE *f = fopen(path, "re");

    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
        const char *at = strchr(line, ':');

        if (strncmp(line, name, strlen(name)) != 0 || at == NULL)
            continue;
        at += 1 + strspn(at + 1, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
        found = true;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

static void processor(struct machine *m)
{
    char text[4096], model[160];

    if (!named_line("/proc/cpuinfo", "model name", model, sizeof(model)) &&
        !named_line("/proc/cpuinfo", "Model", model, sizeof(model)))
        snprintf(model, sizeof(model), "unknown");
    add(m, "processor", "%s%s", model,
        named_line("/proc/cpuinfo", "flags", text, sizeof(text)) && strstr(text, " hypervisor") != NULL
            ? ", in a virtual machine"
            : "");
    add(m, "CPUs", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    if (first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof(text)))
        add(m, "frequency governor", "%s", text);
}

/* Describe the caches of the first CPU, as "L1 32K, L2 1024K, L3 32768K". */
static void caches(struct machine *m)
{
    char   text[160] = "", path[128], level[16], type[32], size[32];
    size_t used = 0;

    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!first_line(path, level, sizeof(level)))
            break;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!first_line(path, type, sizeof(type)) || strcmp(type, "Instruction") == 0)
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (first_line(path, size, sizeof(size)) && used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%sL%s %s", used > 0 ? ", " : "", level, size);
    }
    if (used > 0)
        add(m, "caches", "%s", text);
}

static void memory(struct machine *m)
{
    char   text[64];
    glob_t nodes;

    if (named_line("/proc/meminfo", "MemTotal", text, sizeof(text)))
        add(m, "memory", "%.1f GiB", strtod(text, NULL) / 1048576);
    if (glob("/sys/devices/system/node/node[0-9]*", 0, NULL, &nodes) == 0) {
        add(m, "NUMA nodes", "%zu", nodes.gl_pathc);
        globfree(&nodes);
    }
}

/* Add the version of a program, which it prints with this option: the rest of the line after the text mark, or the
 * first line if there is no such text. */
static void version_of(struct machine *m, const char *name, const char *program, const char *option, const char *mark)
{
    const char *const words[] = { program, option, NULL };
    struct perf_child child;
    const char       *at;

    if (perf_child_start(&child, (char *const *)(uintptr_t)words, NULL, 20) && perf_child_finish(&child) &&
        child.text[0] != NULL) {
        at = strstr(child.text[0], mark);
        at = at != NULL ? at + strlen(mark) : child.text[0];
        at += strspn(at, " \t#");
        add(m, name, "%.*s", (int)strcspn(at, "\n"), at);
    }
    perf_child_free(&child);
}

void machine_describe(struct machine *m, const char *commit)
{
    struct utsname kernel;
    double         load[3];
    time_t         now = time(NULL);
    struct tm      utc;
    char           text[64];

    memset(m, 0, sizeof(*m));
    add(m, "Tern", "%s", tern_version());
    add(m, "commit", "%s", commit != NULL && commit[0] != '\0' ? commit : tern_version());
    gmtime_r(&now, &utc);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    add(m, "date", "%s", text);
    processor(m);
    caches(m);
    memory(m);
    if (uname(&kernel) == 0)
        add(m, "kernel", "%s %s %s", kernel.sysname, kernel.release, kernel.machine);
    add(m, "compiler", "%s %s",
#ifdef __clang__
        "clang",
#else
        "gcc",
#endif
        __VERSION__);
    if (getloadavg(load, 3) == 3)
        add(m, "load average before", "%.2f", load[0]);
}

void machine_network(struct machine *m, const char *network)
{
    add(m, "network", "%s", network);
}

void machine_peers(struct machine *m)
{
    static const char *const names[][2] = { { "Open MPI", "openmpi" },
                                            { "MPICH", "mpich" },
                                            { "OpenSHMEM", "oshmem" } };
    char                     path[512];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct compare_peer *peer = compare_peer_of(&(struct runner){ .link = names[i][1] });

        if (peer->program[0] != '\0')
            version_of(m, names[i][0], peer->launcher, "--version", "Version:");
    }
    if (perf_find_program("ucx_perftest", path, sizeof(path)))
        version_of(m, "UCX", "ucx_info", "-v", "Library version:");
}

void machine_load_after(struct machine *m)
{
    double load[3];

    if (getloadavg(load, 3) == 3)
        add(m, "load average after", "%.2f", load[0]);
}

bool machine_was_busy(const struct machine *m)
{
    double cpus = strtod(machine_fact(m, "CPUs"), NULL);

    return strtod(machine_fact(m, "load average before"), NULL) > cpus / 4;
}
