/* main.c: the command line of ternrun.
 *
 * Every mistake is reported in one line, with status 2, before anything is started. The table of options at the end of
 * the first part says what the options are; the function of each option is above it. This file also puts the variables
 * of -x into the environment, and checks Tern's own options in that environment once, so that the ranks do not all
 * report the same mistake. Other files decide what the options mean for the job.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/parse.h"
#include "cmdline.h"
#include "hosts.h"

static const char help_head[] = "usage: ternrun -n N [options] program [arguments]\n"
                                "       ternrun --hosts a:4,b:4 [options] program [arguments]\n"
                                "       ternrun [options] -n N program [arguments] : -n N program [arguments] ...\n"
                                "\n"
                                "Start the ranks of a Tern program on this machine or on several hosts, forward their\n"
                                "input and output, and end the whole job when a rank fails.\n";

static const char help_tail[] =
    "\n"
    "Standard input goes to rank 0. The exit status is that of the first rank that failed.\n";

#define MAX_FANOUT 4096

/* Never prompts, and does not wait forever for a host that does not answer. */
static const char default_agent[] = "ssh -T -o BatchMode=yes -o ConnectTimeout=30";

/* Print to standard output and exit. A full disk or a closed pipe is a failure. */
__attribute__((noreturn)) static void print_and_exit(const char *head, const char *text, const char *tail)
{
    if (fputs(head, stdout) >= 0 && fputs(text, stdout) >= 0 && fputs(tail, stdout) >= 0 && fflush(stdout) == 0)
        exit(0);
    run_say("cannot write standard output: %s", strerror(errno));
    exit(EXIT_TROUBLE);
}

/* ---- the options ---- */

/* The program whose options are being read. */
static struct run_program *current(const struct run_config *config)
{
    return &config->program[config->programs - 1];
}

static void take_ranks(struct run_config *config, const char *text)
{
    int64_t value;

    if (!tern_base_parse_count(text, &value) || value < 1 || value > TERN_MAX_RANKS)
        run_usage("-n takes a whole number from 1 to %d, not '%.100s'", TERN_MAX_RANKS, text);
    current(config)->ranks = (int)value;
}

static double take_seconds(const char *option, const char *text)
{
    double value;

    if (!tern_base_parse_seconds(text, &value) || value < 0 || value > 1e9)
        run_usage("%s takes a number of seconds from 0 to 1e9, not '%.100s'", option, text);
    return value;
}

/* Return the value of a variable that an earlier -x of the program set; NULL if there is none. */
static const char *value_of(char *const *variables, const char *name)
{
    const char *value = NULL;
    size_t      len = strlen(name);

    for (; *variables != NULL; variables++)
        if (strncmp(*variables, name, len) == 0 && (*variables)[len] == '=')
            value = *variables + len + 1;
    return value;
}

/* Add NAME=VALUE to the variables of the program. */
static void take_variable(struct run_config *config, const char *text)
{
    const char *equals = strchr(text, '='), *value = equals != NULL ? equals + 1 : NULL;
    char       *name = equals == NULL ? strdup(text) : strndup(text, (size_t)(equals - text));
    char      **end = current(config)->variables;

    if (name == NULL || *name == '\0')
        run_usage("-x takes NAME=VALUE or NAME, not '%.100s'", text);
    if (run_program_owns(name))
        run_usage("-x cannot set %s, which ternrun sets for each rank", name);
    if (value == NULL)
        value = value_of(current(config)->variables, name);
    if (value == NULL)
        value = getenv(name);
    if (value == NULL)
        run_usage("-x %.100s: no such variable is set; give it a value with -x NAME=VALUE", name);
    while (*end != NULL)
        end++;
    if (asprintf(end, "%s=%s", name, value) < 0)
        run_usage("-x %.100s: no memory for the variable", name);
    free(name);
}

static void take_directory(struct run_config *config, const char *text)
{
    char *here = getcwd(NULL, 0), *path = NULL;

    if (*text == '\0')
        run_usage("--wdir takes a directory, and not an empty value");
    if (*text != '/' && here == NULL)
        run_usage("--wdir %.100s: the current directory is unknown: %s", text, strerror(errno));
    if (asprintf(&path, "%s%s%s", *text == '/' ? "" : here, *text == '/' ? "" : "/", text) < 0)
        run_usage("--wdir %.100s: no memory for the path", text);
    free((void *)current(config)->directory);
    current(config)->directory = path;
    free(here);
}

static void take_binding(struct run_config *config, const char *text)
{
    if (!run_bind_read(config, text))
        run_usage("--bind takes core, share, l3, numa, socket, none or a list of cpus such as 0,2,4-7, not '%.100s'",
                  text);
}

static void take_cores(struct run_config *config, const char *text)
{
    int64_t value;

    if (!tern_base_parse_count(text, &value) || value < 1 || value > MAX_CORES_PER_RANK)
        run_usage("--cores-per-rank takes a whole number from 1 to %d, not '%.100s'", MAX_CORES_PER_RANK, text);
    config->cores_per_rank = (int)value;
}

static void take_show_binding(struct run_config *config, const char *text)
{
    (void)text;
    config->show_binding = true;
}

static void take_hosts(struct run_config *config, const char *text)
{
    if (*text == '\0')
        run_usage("--hosts takes a list such as a:4,b:4, and not an empty value");
    config->host_list = text;
}

static void take_local(struct run_config *config, const char *text)
{
    (void)text;
    config->is_local = true;
}

static void take_agent(struct run_config *config, const char *text)
{
    if (text[strspn(text, " \t")] == '\0')
        run_usage("--agent takes a command, such as ssh, and not an empty value");
    config->agent = text;
}

static void take_fanout(struct run_config *config, const char *text)
{
    int64_t value;

    if (!tern_base_parse_count(text, &value) || value < 0 || value == 1 || value > MAX_FANOUT)
        run_usage("--fanout takes a whole number from 2 to %d, or 0 to call all hosts from here, not '%.100s'",
                  MAX_FANOUT, text);
    config->fanout = (int)value;
}

static void take_label(struct run_config *config, const char *text)
{
    (void)text;
    config->label = true;
}

static void take_output(struct run_config *config, const char *text)
{
    if (*text == '\0')
        run_usage("--output takes a directory, and not an empty value");
    config->record = text;
}

static void take_verbose(struct run_config *config, const char *text)
{
    (void)text;
    config->verbose = true;
}

static void take_timeout(struct run_config *config, const char *text)
{
    config->timeout = take_seconds("--timeout", text);
}

static void take_grace(struct run_config *config, const char *text)
{
    config->grace = take_seconds("--grace", text);
}

static void take_on_failure(struct run_config *config, const char *text)
{
    if (strcmp(text, "abort") != 0 && strcmp(text, "return") != 0)
        run_usage("--on-failure takes abort or return, not '%.100s'", text);
    config->policy = text;
}

static void take_chaos(struct run_config *config, const char *text)
{
    if (*text == '\0')
        run_usage("--chaos takes on, or settings as in TERN_CHAOS such as delay=5, and not an empty value");
    config->chaos = text;
}

static void take_gdb(struct run_config *config, const char *text)
{
    config->gdb = text;
}

static void take_valgrind(struct run_config *config, const char *text)
{
    (void)text;
    config->valgrind = true;
}

static void take_prefix(struct run_config *config, const char *text)
{
    config->prefix = text;
}

__attribute__((noreturn)) static void take_node(struct run_config *config, const char *text)
{
    (void)config;
    (void)text;
    exit(run_node());
}

__attribute__((noreturn)) static void take_version(struct run_config *config, const char *text)
{
    (void)config;
    (void)text;
    print_and_exit("ternrun " TERN_VERSION "\n", "", "");
}

static void take_help(struct run_config *config, const char *text);

static const struct run_option options[] = {
    { .name = "Ranks and hosts" },
    { "np", 'n', "N", take_ranks, "Start N ranks. -np N is the same." },
    { "hosts", 0, "LIST", take_hosts,
      "Run on these hosts: names with the number of ranks of each, such as a:4,b:4. A host without a number gets one "
      "rank, or with -n a fair share of the ranks. @FILE stands for the hosts in a file, one on each line: HOST, "
      "HOST:4 "
      "or HOST slots=4. The default in a job of Slurm or PBS is the hosts of that job, and this machine otherwise." },
    { "local", 0, NULL, take_local, "Run on this machine only, even in a job of Slurm or PBS." },
    { "agent", 0, "COMMAND", take_agent,
      "Start ternrun on a host with COMMAND HOST ternrun --node. The default is ssh, or srun for the hosts of a Slurm "
      "job." },
    { "fanout", 0, "N", take_fanout,
      "Call at most N hosts from here, which call the others in the same way. 0 calls all hosts from here. The default "
      "is 32, and 0 with srun." },
    { "node", 0, NULL, take_node, NULL },

    { .name = "Placement" },
    { "bind", 0, "HOW", take_binding,
      "Bind each rank: core, to a core of its own; share, to its fair share of the cores; l3, numa or socket, to whole "
      "ones of these; none leaves ranks unbound; a list of cpus such as 0,2,4-7 gives rank i the i-th cpu, and 0-3/4-7 "
      "gives each rank several. The default is core if there are as many ranks as cores, and none otherwise." },
    { "cores-per-rank", 0, "N", take_cores, "Bind each rank to N cores." },
    { "show-binding", 0, NULL, take_show_binding, "Print the cpus of each rank, and the reason." },

    { .name = "Environment, input and output" },
    { "env", 'x', "NAME[=VALUE]", take_variable,
      "Set a variable for the ranks. Without a value, check that the variable is set. The ranks inherit all others." },
    { "wdir", 0, "DIR", take_directory, "Start the ranks in this directory." },
    { "label", 0, NULL, take_label, "Put [rank] before each line of output." },
    { "output", 0, "DIR", take_output,
      "Write the output of each rank to the files rank.N.out and rank.N.err in this directory, and with --label also "
      "to "
      "the terminal." },
    { "verbose", 0, NULL, take_verbose, "Print what ternrun does: hosts, processes, cpus, environment and ends." },

    { .name = "The end of the job" },
    { "timeout", 0, "S", take_timeout, "End the job after S seconds, with status 124." },
    { "grace", 0, "S", take_grace,
      "Wait S seconds between SIGTERM and SIGKILL when the job is ended. The default is 3." },
    { "on-failure", 0, "HOW", take_on_failure,
      "When a rank fails, abort ends the job, and return lets the other ranks continue. The default is abort." },

    { .name = "Debugging" },
    { "gdb", 0, "RANKS", take_gdb,
      "Run these ranks under gdb: all, or a list such as 0,2-3. One rank has the terminal, and several get windows of "
      "tmux or xterm. Without a terminal, gdb prints backtraces." },
    { "valgrind", 0, NULL, take_valgrind,
      "Run each rank under valgrind. Its reports go to valgrind.RANK.log, and errors give status 99." },
    { "prefix", 0, "COMMAND", take_prefix,
      "Run each rank under a command such as 'perf record -o perf.%r'. %r is the rank, %n the number of ranks, %h the "
      "host, and %% a percent sign." },

    { .name = "Testing and information" },
    { "chaos", 0, "WHAT", take_chaos,
      "Delay, reorder and refuse operations on purpose, to test the program: on, or settings such as "
      "seed=7,delay=64,kill=2@1000. Without a seed, ternrun chooses one and prints it." },
    { "version", 0, NULL, take_version, "Print the version and exit." },
    { "help", 'h', NULL, take_help, "Print this help and exit." },
    { .name = NULL },
};

static void take_help(struct run_config *config, const char *text)
{
    char *lines = run_cmdline_help(options);

    (void)config;
    (void)text;
    if (lines == NULL)
        exit(EXIT_TROUBLE);
    print_and_exit(help_head, lines, help_tail);
}

/* ---- the job ---- */

/* Begin a program at *words: read its options, and find its end, which is a colon or the end of the command line.
 * Advances *words, or sets it to NULL at the end. */
static void read_program(struct run_config *config, char ***words)
{
    char **end = run_cmdline_read(config, options, *words);

    if (*end == NULL || strcmp(*end, ":") == 0)
        run_usage(config->programs == 1 ? "which program? give its name after the options"
                                        : "which program follows the colon? give its name after its options");
    if (**end == '\0')
        run_usage("the name of the program is empty; is a variable of the shell not set?");
    current(config)->words = end;
    while (*end != NULL && strcmp(*end, ":") != 0)
        end++;
    *words = *end == NULL ? NULL : end + 1;
    *end = NULL;
}

/* Check what belongs to a job of several programs. */
static void check_programs(const struct run_config *config)
{
    for (int i = 0; i < config->programs; i++) {
        const struct run_program *program = &config->program[i];

        if (program->ranks == 0)
            run_usage("how many ranks of '%.100s'? in a job of several programs, give -n N for each",
                      program->words[0]);
        if (value_of(program->variables, "TERN_ON_FAILURE") != NULL)
            run_usage("-x cannot set TERN_ON_FAILURE for one of several programs; use --on-failure for the job");
        if (value_of(program->variables, "TERN_CHAOS") != NULL)
            run_usage("-x cannot set TERN_CHAOS for one of several programs; use --chaos for the job");
    }
}

/* Put the variables of -x into ternrun's own environment, which the ranks inherit, if there is only one program. */
static void set_environment(struct run_config *config)
{
    if (config->programs == 1) {
        config->extra = config->program[0].variables;
        config->program[0].variables = NULL;
        for (char **extra = config->extra; *extra != NULL; extra++)
            if (!run_program_set(*extra))
                run_usage("-x %.100s: %s", *extra, strerror(errno));
    }
    if (config->policy != NULL && value_of(config->extra, "TERN_ON_FAILURE") != NULL)
        run_usage("--on-failure and -x TERN_ON_FAILURE contradict each other; give one of them");
    if (config->chaos != NULL && value_of(config->extra, "TERN_CHAOS") != NULL)
        run_usage("--chaos and -x TERN_CHAOS contradict each other; give one of them");
    if (config->policy != NULL)
        setenv("TERN_ON_FAILURE", config->policy, 1);
    if (config->chaos != NULL)
        setenv("TERN_CHAOS", config->chaos, 1);
}

/* Read the command line. config has space for a program and for a variable at each word. */
static void read_command_line(struct run_config *config, char **words)
{
    char  **variables = config->extra;
    int64_t ranks = 0;

    do {
        config->program[config->programs++].variables = variables;
        read_program(config, &words);
        ranks += current(config)->ranks;
        while (*variables != NULL)
            variables++;
        variables++;
    } while (words != NULL);
    if (config->programs > 1)
        check_programs(config);
    if (ranks > TERN_MAX_RANKS)
        run_usage("the programs have %lld ranks together, and a job takes 1 to %d", (long long)ranks, TERN_MAX_RANKS);
    config->ranks = (int)ranks;
    if (config->cores_per_rank > 0 && (config->binding == BIND_LIST || config->binding == BIND_SHARE))
        run_usage("--cores-per-rank cannot be combined with --bind share or a list, which decide how many cores a rank "
                  "has");
}

/* Make sure that descriptors 0, 1 and 2 are open, so that no other file gets these numbers. */
static void open_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            exit(EXIT_TROUBLE);
}

/* Choose the hosts: those of --hosts, or those of the scheduler's job in which ternrun runs. A rank that starts a job
 * of its own starts it on its own host. */
static void choose_hosts(struct run_config *config)
{
    char                why[400];
    struct host_refusal refusal = { why, sizeof(why) };

    if (config->host_list != NULL && config->is_local)
        run_usage("--hosts and --local contradict each other");
    if (config->host_list != NULL && !run_hosts_read(config->host_list, config->ranks, config, why, sizeof(why)))
        run_usage("--hosts %.100s: %s", config->host_list, why);
    if (config->host_list == NULL && !config->is_local && getenv("TERN_BOOT") == NULL &&
        !run_schedule_take(&refusal, config))
        run_usage("%s", why);
    if (config->host_list != NULL && config->agent == NULL && config->hosts == 1 &&
        host_is_this_machine(&(struct host_allocation){ .node = NULL }, config->host[0].name))
        run_hosts_free(config); /* no agent is necessary */
}

/* Check the number of ranks and the agent, with the hosts chosen. */
static void check_hosts(struct run_config *config)
{
    if (config->ranks == 0)
        run_usage("how many ranks? give -n N, or --hosts");
    if (config->host == NULL && config->ranks > TERN_MAX_NODE_RANKS)
        run_usage("-n asks for %d ranks, and one machine takes 1 to %d without --hosts", config->ranks,
                  TERN_MAX_NODE_RANKS);
    if (config->host == NULL && config->agent != NULL)
        run_usage("--agent is for --hosts");
    if (config->host == NULL && config->host_list == NULL && config->fanout >= 0)
        run_usage("--fanout is for --hosts");
    if (config->programs == 1)
        config->program[0].ranks = config->ranks;
    if (config->agent == NULL)
        config->agent = default_agent;
    if (config->fanout < 0)
        config->fanout = RUN_FANOUT;
    if (config->host != NULL)
        run_tree_plan(config);
}

/* Choose the commands in front of the program. */
static void choose_wrap(struct run_config *config)
{
    char why[600];

    if (!run_debug_choose(config, why, sizeof(why)))
        run_usage("%s", why);
    if (config->valgrind)
        run_say("valgrind's reports go to valgrind.RANK.log");
}

/* Check Tern's own options: those of one program only, then those of the job, which stay in force. Returns false after
 * printing a message. */
static bool check_options(const struct run_config *config)
{
    tern_status status = TERN_OK;

    for (int i = 0; i < config->programs && status == TERN_OK; i++)
        status = tern_base_options_load(config->program[i].variables);
    if (status == TERN_OK)
        status = tern_base_options_load(environ);
    if (status != TERN_OK)
        run_say("%s", tern_base_detail());
    return status == TERN_OK;
}

/* Check Tern's own options, plan the binding, and run the job. Returns the exit status. */
static int run_it(struct run_config *config)
{
    struct run_plan *plan;
    int              status;

    config->outer_boot = getenv("TERN_BOOT");
    unsetenv("TERN_BOOT");
    if (!check_options(config) || !run_chaos_prepare(config))
        return EXIT_USAGE;
    config->on_failure = tern_opt.on_failure;
    if (config->host != NULL)
        return run_job(config, NULL, &run_crew_hosts, NULL);
    plan = run_bind_plan(config, &status);
    if (plan == NULL)
        return status;
    status = run_job(config, plan, &run_crew_here, NULL);
    run_bind_free(plan);
    return status;
}

static void release(struct run_config *config, char **variables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(variables[i]);
    for (int i = 0; i < config->programs; i++)
        free((void *)config->program[i].directory);
    run_hosts_free(config);
    free(config->program);
    free(variables);
}

int main(int argc, char **argv)
{
    struct run_config config = { .binding = BIND_AUTO, .grace = 3, .fanout = -1 };
    size_t            count = 2 * (size_t)argc + 2;
    char            **variables = calloc(count, sizeof(*variables));
    int               status;

    open_standard_files();
    if (argc > 1 && strcmp(argv[1], "--window") == 0)
        return run_window(argv + 2);
    if (argc == 3 && strcmp(argv[1], "--pane") == 0)
        return run_pane(argv[2]);
    config.program = calloc((size_t)argc + 1, sizeof(*config.program));
    config.extra = variables;
    if (config.program == NULL || variables == NULL)
        return EXIT_TROUBLE;
    read_command_line(&config, argc > 0 ? argv + 1 : argv);
    set_environment(&config);
    choose_hosts(&config);
    check_hosts(&config);
    choose_wrap(&config);
    status = run_it(&config);
    release(&config, variables, count);
    return status;
}
