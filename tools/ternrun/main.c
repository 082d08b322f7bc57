/* main.c: the command line of ternrun.
 *
 * Every mistake is reported in one line, with status 2, before anything is started. This file reads the options, puts
 * the variables of -x into the environment, and checks Tern's own options in that environment once, so that the ranks
 * do not all report the same mistake. Other files decide what the options mean for the job.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/parse.h"
#include "hosts.h"

static const char help[] =
    "usage: ternrun -n N [options] program [arguments]\n"
    "       ternrun --hosts a:4,b:4 [options] program [arguments]\n"
    "\n"
    "Start ranks of a Tern program, on this machine or on several hosts, and see them to their end.\n"
    "\n"
    "  -n, --np N              how many ranks\n"
    "      --hosts LIST        where: names of hosts with the number of ranks for each, one without\n"
    "      --agent COMMAND     what starts a command on a host: COMMAND HOST ternrun --node; default ssh\n"
    "      --bind HOW          core: one rank on each core; none; or a list of cpus such as 0,2,4-7,\n"
    "                          of which rank i gets the i-th; default: core where there are enough, else none\n"
    "      --label             put [rank] before each line of output\n"
    "  -x, --env NAME[=VALUE]  set a variable for the ranks; without a value: check that it is set\n"
    "      --timeout S         end the job after S seconds, with status 124\n"
    "      --grace S           seconds between SIGTERM and SIGKILL when the job is ended; default 3\n"
    "      --on-failure HOW    when a rank fails: abort, end the job; return, let the others go on\n"
    "      --chaos WHAT        delay, reorder and refuse operations on purpose, to test the program: on, or\n"
    "                          settings such as seed=7,delay=64,kill=2@1000; without a seed: says which it took\n"
    "      --verbose           say what is done\n"
    "      --version           say which version this is\n"
    "  -h, --help              say this\n"
    "\n"
    "Standard input goes to rank 0. The exit status is that of the first rank that failed.\n";

enum {
    OPT_BIND = 1000,
    OPT_LABEL,
    OPT_TIMEOUT,
    OPT_GRACE,
    OPT_ON_FAILURE,
    OPT_CHAOS,
    OPT_VERBOSE,
    OPT_VERSION,
    OPT_HOSTS,
    OPT_AGENT,
    OPT_NODE
};

/* Never prompts, and does not wait forever for a host that does not answer. */
static const char default_agent[] = "ssh -T -o BatchMode=yes -o ConnectTimeout=30";

static const struct option long_options[] = {
    { "np", required_argument, NULL, 'n' },
    { "hosts", required_argument, NULL, OPT_HOSTS },
    { "agent", required_argument, NULL, OPT_AGENT },
    { "node", no_argument, NULL, OPT_NODE },
    { "bind", required_argument, NULL, OPT_BIND },
    { "label", no_argument, NULL, OPT_LABEL },
    { "env", required_argument, NULL, 'x' },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "grace", required_argument, NULL, OPT_GRACE },
    { "on-failure", required_argument, NULL, OPT_ON_FAILURE },
    { "chaos", required_argument, NULL, OPT_CHAOS },
    { "verbose", no_argument, NULL, OPT_VERBOSE },
    { "version", no_argument, NULL, OPT_VERSION },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

__attribute__((noreturn, format(printf, 1, 2))) static void usage(const char *format, ...)
{
    char    text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    run_say("%s; see ternrun --help", text);
    exit(EXIT_USAGE);
}

/* Print to standard output and exit. A full disk or a closed pipe is a failure. */
__attribute__((noreturn)) static void print_and_exit(const char *text)
{
    exit(fputs(text, stdout) < 0 || fflush(stdout) != 0 ? EXIT_TROUBLE : 0);
}

static int take_ranks(const char *text)
{
    int64_t value;

    if (!tern_base_parse_count(text, &value) || value < 1 || value > TERN_MAX_NODE_RANKS)
        usage("-n takes a whole number from 1 to %d, not '%.100s'", TERN_MAX_NODE_RANKS, text);
    return (int)value;
}

static double take_seconds(const char *option, const char *text)
{
    double value;

    if (!tern_base_parse_seconds(text, &value) || value < 0 || value > 1e9)
        usage("%s takes a number of seconds from 0 to 1e9, not '%.100s'", option, text);
    return value;
}

/* Set a variable for the ranks in ternrun's own environment, which they inherit. */
static void take_variable(const char *text)
{
    const char *equals = strchr(text, '=');
    char       *name = equals == NULL ? strdup(text) : strndup(text, (size_t)(equals - text));

    if (name == NULL || *name == '\0')
        usage("-x takes NAME=VALUE or NAME, not '%.100s'", text);
    if (strcmp(name, "TERN_BOOT") == 0)
        usage("-x cannot set TERN_BOOT, which belongs to ternrun");
    if (equals == NULL && getenv(name) == NULL)
        usage("-x %.100s: no such variable is set; give it a value with -x NAME=VALUE", name);
    if (equals != NULL && setenv(name, equals + 1, 1) != 0)
        usage("-x %.100s: %s", name, strerror(errno));
    free(name);
}

static void take_binding(struct run_config *config, const char *text)
{
    if (strcmp(text, "core") == 0) {
        config->binding = BIND_CORE;
    } else if (strcmp(text, "none") == 0) {
        config->binding = BIND_NONE;
    } else if (*text != '\0' && text[strspn(text, "0123456789,-")] == '\0') {
        config->binding = BIND_LIST;
        config->cpu_list = text;
    } else {
        usage("--bind takes core, none or a list of cpus such as 0,2,4-7, not '%.100s'", text);
    }
}

static void take_option(struct run_config *config, int option, const char *text)
{
    switch (option) {
    case 'n': config->ranks = take_ranks(text); break;
    case 'x':
        take_variable(text);
        config->extra[config->extras++] = text;
        break;
    case OPT_BIND: take_binding(config, text); break;
    case OPT_HOSTS: config->host_list = text; break;
    case OPT_AGENT: config->agent = text; break;
    case OPT_NODE: exit(run_node());
    case OPT_LABEL: config->label = true; break;
    case OPT_VERBOSE: config->verbose = true; break;
    case OPT_TIMEOUT: config->timeout = take_seconds("--timeout", text); break;
    case OPT_GRACE: config->grace = take_seconds("--grace", text); break;
    case OPT_ON_FAILURE:
        if (strcmp(text, "abort") != 0 && strcmp(text, "return") != 0)
            usage("--on-failure takes abort or return, not '%.100s'", text);
        setenv("TERN_ON_FAILURE", text, 1);
        break;
    case OPT_CHAOS:
        if (*text == '\0')
            usage("--chaos takes on, or settings as in TERN_CHAOS such as delay=5, and not an empty value");
        setenv("TERN_CHAOS", text, 1);
        break;
    case OPT_VERSION: print_and_exit("ternrun " TERN_VERSION "\n");
    case 'h': print_and_exit(help);
    default: break;
    }
}

static void read_command_line(struct run_config *config, int argc, char **argv)
{
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:n:x:h", long_options, NULL)) != -1) {
        if (option == ':')
            usage("%s needs a value", argv[optind - 1]);
        if (option == '?' && optopt != 0 && optopt < OPT_BIND)
            usage("-%c is no option", optopt);
        if (option == '?')
            usage("%.100s is no option, or is given a value that it does not take", argv[optind - 1]);
        take_option(config, option, optarg);
    }
    if (config->host_list == NULL && config->ranks == 0)
        usage("how many ranks? give -n N, or --hosts");
    if (config->host_list == NULL && config->agent != NULL)
        usage("--agent is for --hosts");
    if (argv[optind] == NULL)
        usage("which program? give its name after the options");
    config->program = argv + optind;
}

/* Make sure that descriptors 0, 1 and 2 are open, so that no other file gets these numbers. */
static void open_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            exit(EXIT_TROUBLE);
}

/* Read --hosts, if given, and choose the agent. */
static void choose_hosts(struct run_config *config)
{
    char why[300];

    if (config->host_list == NULL)
        return;
    if (!run_hosts_read(config->host_list, config->ranks, config, why, sizeof(why)))
        usage("--hosts %.100s: %s", config->host_list, why);
    if (config->agent == NULL)
        config->agent = default_agent;
    if (config->agent[strspn(config->agent, " \t")] == '\0')
        usage("--agent takes a command");
}

/* Check Tern's own options, plan the binding, and run the job. Returns the exit status. */
static int run_it(struct run_config *config)
{
    struct run_plan *plan;
    int              status;

    config->outer_boot = getenv("TERN_BOOT");
    unsetenv("TERN_BOOT");
    if (tern_base_options_load(environ) != TERN_OK) {
        run_say("%s", tern_base_detail());
        return EXIT_USAGE;
    }
    if (!run_chaos_prepare(config))
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

int main(int argc, char **argv)
{
    struct run_config config = { .binding = BIND_AUTO, .grace = 3 };
    int               status;

    open_standard_files();
    config.extra = calloc((size_t)argc, sizeof(config.extra[0]));
    if (config.extra == NULL)
        return EXIT_TROUBLE;
    read_command_line(&config, argc, argv);
    choose_hosts(&config);
    status = run_it(&config);
    run_hosts_free(&config);
    free(config.extra);
    return status;
}
