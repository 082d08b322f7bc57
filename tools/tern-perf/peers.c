/* peers.c: the peer programs that compare runs with Open MPI, its OpenSHMEM and MPICH: finds them, or compiles them
 * when they are first needed.
 *
 * The sources of the peer programs are installed with tern-perf, because a program that is linked with an MPI runs only
 * with that MPI. The compiler command of the MPI compiles them into a cache directory of the user. The name of a
 * compiled program contains a hash of its sources and of the compiler command, so that a new version of either compiles
 * it again.
 *
 * Debian installs several MPIs side by side, with the name of the MPI as a suffix of the commands. On other systems the
 * commands have no suffix, and mpirun --version tells which MPI they belong to.
 */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"

#define COMPILE_SECONDS 300
#define MAX_SOURCES 16

/* How to start and to compile the programs of one MPI. */
struct kind {
    const char *link;               /* the runner's link */
    const char *launcher, *generic; /* the launcher with the name of the MPI, and without */
    const char *version;            /* a word in the output of "generic --version"; NULL: generic needs no check */
    const char *compiler, *plain;   /* the compiler command with the name of the MPI, and without */
    const char *sources;            /* pattern of the names of the sources */
    const char *install;            /* what to install for the launcher and the compiler command */
};

static const struct kind kinds[] = {
    { "openmpi", "mpirun.openmpi", "mpirun", "Open MPI", "mpicc.openmpi", "mpicc", "mpi_*.c",
      "openmpi-bin and libopenmpi-dev" },
    { "mpich", "mpiexec.mpich", "mpiexec", "HYDRA", "mpicc.mpich", "mpicc", "mpi_*.c", "mpich and libmpich-dev" },
    { "oshmem", "oshrun", "shmemrun", NULL, "oshcc", "shmemcc", "shmem_*.c", "openmpi-bin and libopenmpi-dev" },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* The programs that were found. */
static struct compare_peer found[KINDS];

static size_t kind_of(const struct runner *runner)
{
    size_t k = 0;

    while (k + 1 < KINDS && strcmp(kinds[k].link, runner->link) != 0)
        k++;
    return k;
}

const struct compare_peer *compare_peer_of(const struct runner *runner)
{
    return &found[kind_of(runner)];
}

/* Return whether "program --version" prints a word. */
static bool is_version(const char *program, const char *word)
{
    const char *const words[] = { program, "--version", NULL };
    struct perf_child child;
    bool              ok;

    ok = perf_child_start(&child, (char *const *)(uintptr_t)words, NULL, 20) && perf_child_finish(&child) &&
         child.text[0] != NULL && strstr(child.text[0], word) != NULL;
    perf_child_free(&child);
    return ok;
}

/* Find the launcher, and the compiler command beside it. compiler is empty if there is none. */
static bool find_commands(const struct kind *kind, char *launcher, char *compiler, size_t size)
{
    char dir[512];

    compiler[0] = '\0';
    if (perf_find_program(kind->launcher, launcher, size)) {
        if (!perf_find_program(kind->compiler, compiler, size))
            compiler[0] = '\0';
        return true;
    }
    if (!perf_find_program(kind->generic, launcher, size) ||
        (kind->version != NULL && !is_version(launcher, kind->version)))
        return false;
    if (snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(launcher, '/') - launcher), launcher) >= (int)sizeof(dir) ||
        !perf_find_sibling(dir, kind->plain, compiler, size))
        compiler[0] = '\0';
    return true;
}

/* Find the directory of the sources: relative to tern-perf, so that an installed tree can be moved, or in the directory
 * that the build was configured with. */
static bool find_sources(char *dir, size_t size)
{
    char    self[512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n > 0) {
        self[n] = '\0';
        *strrchr(self, '/') = '\0';
        if (snprintf(dir, size, "%s/../share/tern/bench/peers", self) < (int)size && access(dir, R_OK) == 0)
            return true;
    }
    return snprintf(dir, size, "%s/peers", TERN_PERF_BENCH) < (int)size && access(dir, R_OK) == 0;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t hash_file(uint64_t hash, const char *path)
{
    char   piece[4096];
    size_t n;
    FILE  *f = fopen(path, "re");

    while (f != NULL && (n = fread(piece, 1, sizeof(piece), f)) > 0)
        hash = hash_bytes(hash, piece, n);
    if (f != NULL)
        fclose(f);
    return hash;
}

/* Return a number that changes with the sources, the headers, and the compiler command. */
static uint64_t fingerprint(const char *dir, const char *compiler)
{
    static const char *const patterns[] = { "/*.c", "/*.h", "/../*.h" };
    uint64_t                 hash = UINT64_C(0xcbf29ce484222325);
    char                     text[PATH_MAX];
    struct stat              about;
    glob_t                   files;

    for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
        snprintf(text, sizeof(text), "%s%s", dir, patterns[p]);
        if (glob(text, 0, NULL, &files) != 0)
            continue;
        for (size_t i = 0; i < files.gl_pathc; i++)
            hash = hash_file(hash, files.gl_pathv[i]);
        globfree(&files);
    }
    if (realpath(compiler, text) != NULL && stat(text, &about) == 0) {
        hash = hash_bytes(hash, text, strlen(text));
        hash = hash_bytes(hash, &about.st_mtim, sizeof(about.st_mtim));
    }
    return hash;
}

/* Make the cache directory of the user. Returns false, and says what to do, if there is none. */
static bool cache_make(const char *name, char *dir, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache != NULL && cache[0] == '/')
        snprintf(dir, size, "%s/tern/peers", cache);
    else
        snprintf(dir, size, "%s/.cache/tern/peers", home != NULL && home[0] == '/' ? home : "/nonexistent");
    for (char *slash = strchr(dir + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(dir, 0777); /* an error shows when the last directory is made */
        *slash = '/';
    }
    if (mkdir(dir, 0777) == 0 || errno == EEXIST)
        return true;
    fprintf(stderr,
            "tern-perf: without %s: no directory for its peer program: %s: %s; set XDG_CACHE_HOME to a directory that "
            "you may write to\n",
            name, dir, strerror(errno));
    return false;
}

/* Compile the sources in dir into the file program. Returns false, and prints the first error of the compiler, if that
 * fails. */
static bool compile(const struct kind *kind, const char *name, const char *compiler, const char *dir,
                    const char *program)
{
    char              pattern[PATH_MAX], part[PATH_MAX];
    const char       *words[MAX_SOURCES + 8] = { compiler, "-std=gnu11", "-O2", "-o", part };
    size_t            n = 5;
    glob_t            files = { 0 };
    struct perf_child child;
    const char       *text;
    bool              ok = false;

    snprintf(pattern, sizeof(pattern), "%s/%s", dir, kind->sources);
    snprintf(part, sizeof(part), "%s.%d", program, (int)getpid());
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc && i < MAX_SOURCES; i++)
            words[n++] = files.gl_pathv[i];
        words[n] = "-lm";
        ok = perf_child_start(&child, (char *const *)(uintptr_t)words, NULL, COMPILE_SECONDS) &&
             perf_child_finish(&child) && rename(part, program) == 0;
        text = child.text[1] != NULL ? child.text[1] : "it printed no error message";
        if (!ok && !perf_child_stopped())
            fprintf(stderr, "tern-perf: without %s: %s cannot compile the peer program: %.*s; install %s\n", name,
                    compiler, (int)strcspn(text, "\n"), text, kind->install);
        perf_child_free(&child);
        unlink(part);
    }
    globfree(&files);
    return ok;
}

/* Find a compiled program in the cache, or compile it. */
static bool cached(const struct kind *kind, const struct runner *runner, const struct perf_options *o,
                   const char *compiler, char *program, size_t size)
{
    char dir[512], cache[512];

    if (compiler[0] == '\0') {
        fprintf(stderr,
                "tern-perf: without %s: its peer program is compiled when it is first needed, and the compiler command "
                "%s is missing; install %s\n",
                runner->name, kind->compiler, kind->install);
        return false;
    }
    if (!find_sources(dir, sizeof(dir))) {
        fprintf(stderr,
                "tern-perf: without %s: the sources of the peer programs are missing from %s; install Tern "
                "again\n",
                runner->name, TERN_PERF_BENCH);
        return false;
    }
    if (!cache_make(runner->name, cache, sizeof(cache)))
        return false;
    if (snprintf(program, size, "%s/%s-%016" PRIx64, cache, runner->program, fingerprint(dir, compiler)) >= (int)size)
        return false;
    if (access(program, X_OK) == 0)
        return true;
    if (!o->quiet)
        fprintf(stderr, "tern-perf: compiling the peer program of %s into %s\n", runner->name, cache);
    return compile(kind, runner->name, compiler, dir, program);
}

/* Find the launcher and the program of a peer. */
static bool find_peer(const struct runner *runner, const struct perf_options *o)
{
    const struct kind   *kind = &kinds[kind_of(runner)];
    struct compare_peer *peer = &found[kind_of(runner)];
    char                 compiler[512];

    if (!find_commands(kind, peer->launcher, compiler, sizeof(compiler))) {
        fprintf(stderr, "tern-perf: without %s: install %s\n", runner->name, kind->install);
        return false;
    }
    if (perf_find_sibling(o->peers, runner->program, peer->program, sizeof(peer->program)))
        return true;
    if (o->peers == NULL)
        return cached(kind, runner, o, compiler, peer->program, sizeof(peer->program));
    fprintf(stderr,
            "tern-perf: without %s: there is no program %s in %s; build it there, or leave out --peers, and tern-perf "
            "compiles it\n",
            runner->name, runner->program, o->peers);
    return false;
}

bool compare_peer_find(const struct runner *runner, const struct perf_options *o)
{
    static bool tried[KINDS], there[KINDS];
    size_t      k = kind_of(runner);

    if (!tried[k]) /* all runs two comparisons; one message about a missing peer is enough */
        there[k] = find_peer(runner, o);
    if (!there[k])
        found[k].program[0] = '\0';
    tried[k] = true;
    return there[k];
}
