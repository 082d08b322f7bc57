/* launchers.c: the launchers that can start a Tern program: which of them this machine has, of which version, and which
 * one a program would find if it were started as tern-info was.
 *
 * Versions are asked of the launchers themselves, all at the same time, and none may take long. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "boot/pmi.h"
#include "info.h"

#define SECONDS 3.0 /* time in which a launcher must print its version */
#define MOST_NAMES 4

/* A kind of launcher. The version follows the text `before` in the output of --version; "" means that it is the first
 * word that begins with a digit. */
static const struct kind {
    const char *name, *commands[MOST_NAMES], *mark, *before, *protocol;
} kinds[] = {
    { "ternrun", { "ternrun" }, "ternrun", "ternrun ", "Tern's own" },
    { "Open MPI", { "mpirun.openmpi", "mpirun", "mpiexec", "prterun" }, "Open", "", "PMIx" },
    { "MPICH", { "mpiexec.hydra", "mpiexec.mpich", "mpiexec", "mpirun" }, "HYDRA", "Version:", "PMI-1" },
    { "Slurm", { "srun" }, "slurm", "slurm", "PMIx (srun --mpi=pmix) or PMI-1 (srun --mpi=pmi2)" },
    { "Flux", { "flux" }, "flux", "", "PMI-1" },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A command that may be a launcher. */
struct candidate {
    const struct kind *kind;
    char               path[PATH_MAX];
    char              *argv[3];
};

/* Find an executable file in the directories of PATH; ternrun first beside this program. */
static bool find_command(const char *name, char path[PATH_MAX])
{
    const char *directories = getenv("PATH");
    char        own[PATH_MAX];
    ssize_t     len = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (strcmp(name, "ternrun") == 0 && len > 0) {
        own[len] = '\0';
        *strrchr(own, '/') = '\0';
        if (snprintf(path, PATH_MAX, "%s/%s", own, name) < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    while (directories != NULL && *directories != '\0') {
        int n = (int)strcspn(directories, ":");

        if (n > 0 && snprintf(path, PATH_MAX, "%.*s/%s", n, directories, name) < PATH_MAX && access(path, X_OK) == 0)
            return true;
        directories += n + (directories[n] == ':');
    }
    return false;
}

static void print_pmix_version(const void *unused)
{
    void *handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL), *symbol;
    const char *(*version)(void);

    (void)unused;
    if (handle == NULL) {
        printf("!%s", dlerror());
        return;
    }
    symbol = dlsym(handle, "PMIx_Get_version");
    memcpy(&version, &symbol, sizeof(version));
    fputs(symbol != NULL ? version() : "of unknown version", stdout);
}

bool info_pmix(char *text, size_t size)
{
    struct info_task task = { .run = print_pmix_version };
    char             line[512];

    info_tasks_run(&task, 1, SECONDS, false);
    info_first_line(line, sizeof(line), task.text);
    if (line[0] != '!' && strstr(line, " (") != NULL)
        *strstr(line, " (") = '\0'; /* the versions of the standard follow */
    snprintf(text, size, "%s", line[0] == '!' ? line + 1 : line);
    return line[0] != '!' && line[0] != '\0' && task.status == 0;
}

/* Write the version that a launcher has printed. Returns false if the text is not of this kind. */
static bool read_version(const struct kind *kind, const char *text, char *version, size_t size)
{
    const char *at = strstr(text, kind->mark);

    if (at == NULL)
        return false;
    if (kind->before[0] != '\0' && strstr(text, kind->before) != NULL)
        at = strstr(text, kind->before) + strlen(kind->before);
    at += strcspn(at, "0123456789");
    snprintf(version, size, "%.*s", (int)strcspn(at, " \t\r\n,"), at);
    return true;
}

/* Print one kind of launcher. path is NULL if there is none, and problem is NULL if the version is known. */
static void tell(const struct kind *kind, const char *path, const char *version, const char *problem, const char *pmix)
{
    char                    protocol[400], text[PATH_MAX + 1024];
    const struct info_field fields[] = {
        { "name", kind->name }, { "found", path != NULL ? "yes" : "no" }, { "path", path },
        { "version", version }, { "protocol", kind->protocol },           { "problem", problem }
    };

    snprintf(protocol, sizeof(protocol), "%s%s", kind->protocol, strstr(kind->protocol, "PMIx") != NULL ? pmix : "");
    if (path == NULL)
        snprintf(text, sizeof(text), "%-9s not found", kind->name);
    else
        snprintf(text, sizeof(text), "%-9s %s, %s\n         protocol: %s%s%s", kind->name,
                 version != NULL ? version : "of unknown version", path, protocol,
                 problem != NULL ? "\n         its answer: " : "", problem != NULL ? problem : "");
    info_item(text, fields, 6);
}

/* Print the launcher of a kind: the first command whose version text is of this kind. If there is none, and only this
 * kind has the command's name, print a command that failed to print its version. */
static void tell_kind(const struct kind *kind, const struct candidate *candidates, const struct info_task *tasks,
                      size_t count, const char *pmix)
{
    char version[64], problem[300];

    for (size_t i = 0; i < count; i++) {
        if (candidates[i].kind == kind && read_version(kind, tasks[i].text, version, sizeof(version)) &&
            tasks[i].status == 0 && !tasks[i].is_late) {
            tell(kind, candidates[i].path, version, NULL, pmix);
            return;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].kind == kind && (kind->commands[1] == NULL) && (tasks[i].status != 0 || tasks[i].is_late)) {
            info_last_line(problem, sizeof(problem), tasks[i].text);
            if (tasks[i].is_late)
                snprintf(problem, sizeof(problem), "none within %.0f seconds", SECONDS);
            tell(kind, candidates[i].path, NULL, problem, pmix);
            return;
        }
    }
    tell(kind, NULL, NULL, NULL, pmix);
}

/* Print how a Tern program would join a job if it were started as this process was. */
static void tell_start(void)
{
    const struct tern_pmi_ops *ops = NULL;
    tern_status                st = tern_boot_pmi_find(&ops);
    const char                *by, *why;

    if (tern_opt.boot[0] != '\0') {
        by = "ternrun";
        why = "TERN_BOOT is set";
    } else if (st < 0) {
        by = "a launcher that Tern cannot use";
        why = tern_base_detail();
    } else if (ops == &tern_boot_pmix) {
        by = "a launcher with PMIx";
        why = tern_opt.launcher == TERN_LAUNCHER_PMIX ? "TERN_LAUNCHER=pmix" : "PMIX_NAMESPACE and PMIX_RANK are set";
    } else if (ops == &tern_boot_pmi1) {
        by = "a launcher with PMI-1";
        why = tern_opt.launcher == TERN_LAUNCHER_PMI1 ? "TERN_LAUNCHER=pmi1" : "PMI_FD is set";
    } else {
        by = "no launcher: a program is a job of one rank";
        why = tern_opt.launcher == TERN_LAUNCHER_ALONE ? "TERN_LAUNCHER=alone"
                                                       : "none of TERN_BOOT, PMIX_RANK and PMI_FD is set";
    }
    info_section("start", "Start of a program from here");
    info_text("launcher", "started by", "%s", by);
    info_text("why", "why", "%s", why);
    info_section_end();
}

void info_launchers(void)
{
    static struct candidate candidates[KINDS * MOST_NAMES];
    static struct info_task tasks[KINDS * MOST_NAMES];
    char                    version[256], pmix[400];
    size_t                  count = 0;

    for (size_t k = 0; k < KINDS; k++) {
        for (size_t c = 0; c < MOST_NAMES && kinds[k].commands[c] != NULL; c++) {
            struct candidate *candidate = &candidates[count];

            if (!find_command(kinds[k].commands[c], candidate->path))
                continue;
            candidate->kind = &kinds[k];
            candidate->argv[0] = candidate->path;
            candidate->argv[1] = "--version";
            tasks[count++].argv = candidate->argv;
        }
    }
    info_tasks_run(tasks, count, SECONDS, false);
    if (info_pmix(version, sizeof(version)))
        snprintf(pmix, sizeof(pmix), ", through libpmix.so.2 (%.200s)", version);
    else
        snprintf(pmix, sizeof(pmix), ", but libpmix.so.2 cannot be loaded (%.200s); install libpmix2", version);
    info_list("launchers", "Launchers; each starts the same binary");
    for (size_t k = 0; k < KINDS; k++)
        tell_kind(&kinds[k], candidates, tasks, count, pmix);
    info_list_end();
    tell_start();
}
