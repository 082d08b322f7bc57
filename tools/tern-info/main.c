/* main.c: tern-info: prints the version of this copy of Tern, its capabilities on this machine, and its options with
 * their values; or checks this machine or several hosts (--doctor). tern-info joins no job, changes nothing, and prints
 * the available facts even if others cannot be determined.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>
#include <unistd.h>

#include "base/parse.h"
#include "doctor.h"
#include "info.h"

enum { OPT_DOCTOR = 1000, OPT_DOCTOR_NODE, OPT_HOSTS, OPT_AGENT, OPT_TIMEOUT };

static const struct option long_options[] = {
    { "all", no_argument, NULL, 'a' },
    { "json", no_argument, NULL, 'j' },
    { "markdown", no_argument, NULL, 'm' },
    { "doctor", no_argument, NULL, OPT_DOCTOR },
    { "doctor-node", no_argument, NULL, OPT_DOCTOR_NODE },
    { "hosts", required_argument, NULL, OPT_HOSTS },
    { "agent", required_argument, NULL, OPT_AGENT },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "version", no_argument, NULL, 'v' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static const char help[] =
    "usage: tern-info [--all] [--json]\n"
    "       tern-info --doctor [--hosts LIST] [--agent COMMAND] [--timeout S] [--json]\n"
    "       tern-info --markdown | --version | --help\n"
    "\n"
    "Shows what Tern finds on this machine, what it would use and why, and the options that matter most.\n"
    "\n"
    "  --all            show every option and every address of each network\n"
    "  --json           print one JSON object, which is always complete\n"
    "  --markdown       print the table of all options with their defaults, as in docs/options.md\n"
    "  --doctor         look for the usual faults of this machine, or of the hosts of a Slurm or PBS job, and\n"
    "                   say what to do; the exit status is 1 if there is a fault\n"
    "  --hosts LIST     with --doctor: check these hosts and the connections between them, as in\n"
    "                   ternrun --hosts: a,b or, with numbers of ranks, a:4,b:4; @FILE stands for the hosts in\n"
    "                   a file\n"
    "  --agent COMMAND  with --doctor: 'COMMAND HOST program arguments' runs the program on the host;\n"
    "                   default: ssh without a password\n"
    "  --timeout S      with --doctor: seconds that each step may take; default 10\n"
    "  --version        print the version\n"
    "  -h, --help       print this text\n";

/* The command line. */
struct command_line {
    bool        all, json, markdown, doctor, doctor_node, version, help;
    const char *hosts, *agent, *timeout;
    double      seconds;
};

__attribute__((noreturn, format(printf, 1, 2))) static void usage(const char *format, ...)
{
    va_list args;

    fputs("tern-info: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; see tern-info --help\n", stderr);
    exit(2);
}

static void version(void)
{
    info_section("tern", "Tern");
    info_text("version", "version", "%s", tern_version());
    info_text("headers", "built with headers of", "%s", TERN_VERSION);
    info_section_end();
}

static void print_all(bool json, bool all)
{
    struct info_cma    cma = info_cma_probe();
    struct info_kernel kernel = info_kernel_probe();

    info_begin(json);
    version();
    info_machine();
    info_memory();
    info_limits();
    info_huge();
    info_kernel(&kernel);
    info_links(&cma);
    info_cma(&cma);
    info_progress(&cma);
    info_networks(all);
    info_launchers();
    info_promises(&cma, &kernel);
    info_options(all);
    info_end();
}

static void take_option(struct command_line *line, int option)
{
    switch (option) {
    case 'a': line->all = true; break;
    case 'j': line->json = true; break;
    case 'm': line->markdown = true; break;
    case 'v': line->version = true; break;
    case 'h': line->help = true; break;
    case OPT_DOCTOR: line->doctor = true; break;
    case OPT_DOCTOR_NODE: line->doctor_node = true; break;
    case OPT_HOSTS: line->hosts = optarg; break;
    case OPT_AGENT: line->agent = optarg; break;
    default: line->timeout = optarg; break;
    }
}

/* Refuse options that do not go together, and read the number of --timeout. */
static void check_command_line(struct command_line *line)
{
    const char *only = line->hosts != NULL ? "--hosts" : line->agent != NULL ? "--agent" : "--timeout";

    line->seconds = 10;
    if (!line->doctor && (line->hosts != NULL || line->agent != NULL || line->timeout != NULL))
        usage("%s is for --doctor", only);
    if (line->doctor && line->all)
        usage("--all is not for --doctor, which prints everything");
    if (line->markdown && (line->doctor || line->json || line->all))
        usage("--markdown goes with no other option");
    if (line->timeout != NULL &&
        (!tern_base_parse_seconds(line->timeout, &line->seconds) || line->seconds < 1 || line->seconds > 3600))
        usage("--timeout takes a number of seconds from 1 to 3600, not '%.100s'", line->timeout);
    if (line->agent != NULL && line->agent[strspn(line->agent, " \t")] == '\0')
        usage("--agent takes a command");
    if (line->agent != NULL && !doctor_command(&(struct doctor_command){ 0 }, line->agent, "host", "--version"))
        usage("--agent has more than %d words; write a script", DOCTOR_WORDS);
}

static void read_command_line(struct command_line *line, int argc, char **argv)
{
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (option == ':')
            usage("%s needs a value", argv[optind - 1]);
        if (option == '?' && optopt != 0 && optopt < OPT_DOCTOR && strncmp(argv[optind - 1], "--", 2) != 0)
            usage("-%c is no option", optopt);
        if (option == '?')
            usage("%.100s is no option, or is given a value that it does not take", argv[optind - 1]);
        take_option(line, option);
    }
    if (optind < argc)
        usage("it takes no arguments, and this is one: %.100s", argv[optind]);
    check_command_line(line);
}

int main(int argc, char **argv)
{
    struct command_line line = { 0 };
    int                 status = 0;

    read_command_line(&line, argc, argv);
    if (line.doctor_node)
        return doctor_node();
    if (line.help) {
        fputs(help, stdout);
    } else if (line.version) {
        printf("tern-info %s\n", tern_version());
    } else if (line.markdown) {
        info_options_markdown();
    } else {
        info_options_load(environ);
        if (line.doctor)
            status = doctor_run(line.hosts, line.agent, line.seconds, line.json);
        else
            print_all(line.json, line.all);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tern-info: the output could not be written\n");
        return 1;
    }
    return status;
}
