/* foreign.c: options of Open MPI's mpirun, MPICH's mpiexec and Slurm's srun that have another name in ternrun.
 *
 * The answers complete the sentence "--option is an option of other launchers: ...".
 */
#include <string.h>

#include "cmdline.h"

#define USE_HOSTS "use --hosts LIST, such as --hosts a:4,b:4"
#define USE_FILE "use --hosts @FILE"
#define USE_PER_HOST "give each host its number of ranks, as in --hosts a:4,b:4"
#define USE_BIND "use --bind"
#define USE_VARIABLE "use -x NAME=VALUE"
#define USE_TERN_OPTION "the options of Tern are environment variables, which -x TERN_NAME=VALUE sets; see tern-info"
#define USE_PROGRAMS "write the programs on the command line: -n 2 program : -n 3 another"
#define USE_SAME_PATH "copy the files to the same path on every host before the job"
#define INHERITED "leave it out, because the ranks inherit the environment of ternrun"
#define LEAVE_OUT "leave it out, because ternrun does not need it"

static const struct {
    const char *name, *answer;
} foreign[] = {
    { "H", USE_HOSTS },
    { "host", USE_HOSTS },
    { "nodelist", USE_HOSTS },
    { "w", USE_HOSTS },
    { "f", USE_FILE },
    { "hostfile", USE_FILE },
    { "host-file", USE_FILE },
    { "machinefile", USE_FILE },
    { "default-hostfile", USE_FILE },
    { "nodefile", USE_FILE },
    { "N", USE_PER_HOST },
    { "ppn", USE_PER_HOST },
    { "perhost", USE_PER_HOST },
    { "ppr", USE_PER_HOST },
    { "pernode", USE_PER_HOST },
    { "npernode", USE_PER_HOST },
    { "npersocket", USE_PER_HOST },
    { "ntasks-per-node", USE_PER_HOST },
    { "nodes", USE_PER_HOST },
    { "map-by", USE_PER_HOST },
    { "rank-by", USE_PER_HOST },
    { "bynode", USE_PER_HOST },
    { "byslot", "leave it out, because ternrun fills the hosts in their order" },
    { "ntasks", "use -n N" },
    { "c", "use -n N for the number of ranks, or --cores-per-rank N for that of cores" },
    { "cpus-per-task", "use --cores-per-rank N" },
    { "cpus-per-rank", "use --cores-per-rank N" },
    { "cpus-per-proc", "use --cores-per-rank N" },
    { "bind-to", USE_BIND },
    { "bind-to-core", "use --bind core" },
    { "bind-to-socket", "use --bind socket" },
    { "bind-to-none", "use --bind none" },
    { "binding", USE_BIND },
    { "cpu-bind", USE_BIND },
    { "cpu-set", "use --bind with a list of cpus, such as --bind 0,2,4-7" },
    { "cpu-list", "use --bind with a list of cpus, such as --bind 0,2,4-7" },
    { "use-hwthread-cpus", USE_BIND },
    { "report-bindings", "use --show-binding" },
    { "display", "use --verbose or --show-binding" },
    { "display-map", "use --verbose" },
    { "display-allocation", "use --verbose" },
    { "report-pid", "use --verbose" },
    { "v", "use --verbose" },
    { "V", "use --version" },
    { "oversubscribe", "leave it out, because there may be more ranks than cores" },
    { "overcommit", "leave it out, because there may be more ranks than cores" },
    { "O", "leave it out, because there may be more ranks than cores" },
    { "nooversubscribe", "compare -n with the number of cores that tern-info shows" },
    { "allow-run-as-root", LEAVE_OUT },
    { "mpi", LEAVE_OUT },
    { "tag-output", "use --label" },
    { "timestamp-output", "use --label, and a command such as ts behind a pipe" },
    { "prefix-output", "use --label" },
    { "prepend-rank", "use --label" },
    { "l", "use --label" },
    { "output-filename", "use --output DIR" },
    { "outfile-pattern", "use --output DIR" },
    { "errfile-pattern", "use --output DIR" },
    { "o", "use --output DIR" },
    { "e", "use --output DIR" },
    { "error", "use --output DIR" },
    { "wd", "use --wdir DIR" },
    { "chdir", "use --wdir DIR" },
    { "D", "use --wdir DIR" },
    { "stdin", "standard input goes to rank 0" },
    { "input", "use < FILE, because standard input goes to rank 0" },
    { "i", "use < FILE, because standard input goes to rank 0" },
    { "merge-stderr-to-stdout", "use 2>&1" },
    { "unbuffered", "leave it out, because ternrun passes output on line by line" },
    { "u", "leave it out, because ternrun passes output on line by line" },
    { "genv", USE_VARIABLE },
    { "genvlist", "use -x NAME for each variable; the ranks inherit the environment of ternrun anyway" },
    { "envlist", "use -x NAME for each variable; the ranks inherit the environment of ternrun anyway" },
    { "export", USE_VARIABLE },
    { "envall", INHERITED },
    { "genvall", INHERITED },
    { "envnone", "start ternrun with env -i" },
    { "genvnone", "start ternrun with env -i" },
    { "mca", USE_TERN_OPTION },
    { "gmca", USE_TERN_OPTION },
    { "prtemca", USE_TERN_OPTION },
    { "pmixmca", USE_TERN_OPTION },
    { "am", USE_TERN_OPTION },
    { "tune", USE_TERN_OPTION },
    { "app", USE_PROGRAMS },
    { "configfile", USE_PROGRAMS },
    { "multi-prog", USE_PROGRAMS },
    { "kill-on-bad-exit", "leave it out, because --on-failure abort is the default" },
    { "K", "leave it out, because --on-failure abort is the default" },
    { "enable-recovery", "use --on-failure return" },
    { "with-ft", "use --on-failure return" },
    { "no-kill", "use --on-failure return" },
    { "k", "use --on-failure return" },
    { "continuous", "use --on-failure return" },
    { "disable-auto-cleanup", "use --on-failure return" },
    { "get-stack-traces", "use --gdb RANKS to debug ranks" },
    { "xterm", "use --gdb RANKS for debuggers in windows" },
    { "debug", "use --gdb RANKS to debug ranks" },
    { "preload-binary", USE_SAME_PATH },
    { "preload-files", USE_SAME_PATH },
    { "bcast", USE_SAME_PATH },
    { "time", "use --timeout SECONDS" },
    { "t", "use --timeout SECONDS" },
    { "launcher", "use --agent COMMAND" },
    { "launcher-exec", "use --agent COMMAND" },
    { "bootstrap", "use --agent COMMAND" },
    { "rsh", "use --agent COMMAND" },
    { "launch-agent", "use --agent COMMAND" },
    { "quiet", "leave it out, because ternrun prints only what has to be known" },
    { "q", "leave it out, because ternrun prints only what has to be known" },
};

const char *run_foreign_answer(const char *name)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (strcmp(foreign[i].name, name) == 0)
            return foreign[i].answer;
    return NULL;
}
