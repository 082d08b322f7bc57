/* main.c: the command line of tern-sim. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "report.h"

enum { OPT_LIST = 256, OPT_SHOW, OPT_NODES, OPT_LINKS, OPT_VERSION };

enum { EXIT_USAGE = 2, EXIT_DEADLOCK = 3 };

static const struct option long_options[] = {
    { "config", required_argument, NULL, 'c' },
    { "csv", required_argument, NULL, 'C' },
    { "json", required_argument, NULL, 'j' },
    { "nodes", required_argument, NULL, OPT_NODES },
    { "links", required_argument, NULL, OPT_LINKS },
    { "list", no_argument, NULL, OPT_LIST },
    { "show", no_argument, NULL, OPT_SHOW },
    { "quiet", no_argument, NULL, 'q' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, OPT_VERSION },
    { NULL, 0, NULL, 0 },
};

static const char usage[] =
    "usage: tern-sim [options] [parameter=value ...]\n"
    "       tern-sim --list | --help | --version\n"
    "\n"
    "Simulates a network flit by flit. Without parameters: the Dragonfly of 5,256 nodes of the RDRP paper, saturated.\n"
    "\n"
    "  -c, --config FILE   read parameters from a file of lines 'name = value'; later ones win, the command line over "
    "files\n"
    "      --list          explain all parameters\n"
    "      --show          print the configuration as a file, and end\n"
    "      --csv FILE      write a line of names and a line of values: configuration and results; - is standard "
    "output\n"
    "      --json FILE     the same, with iterations and histograms of latency\n"
    "      --nodes FILE    a line for each node\n"
    "      --links FILE    a line for each link\n"
    "  -q, --quiet         no progress bar and no text\n"
    "\n"
    "Status: 0 done, 1 failed, 2 wrong parameters, 3 the network is in deadlock or stuck.\n";

struct request {
    struct sim_config config;
    const char       *csv, *json, *nodes, *links;
    bool              show, quiet;
};

static int fail(const char *text)
{
    fprintf(stderr, "tern-sim: %s\n", text);
    return EXIT_USAGE;
}

/* Process one option. Returns -1 to continue, or the exit status. */
static int take(struct request *request, int option)
{
    switch (option) {
    case 'c': return sim_config_read(&request->config, optarg) < 0 ? fail(tern_base_detail()) : -1;
    case 'C': request->csv = optarg; return -1;
    case 'j': request->json = optarg; return -1;
    case OPT_NODES: request->nodes = optarg; return -1;
    case OPT_LINKS: request->links = optarg; return -1;
    case OPT_SHOW: request->show = true; return -1;
    case 'q': request->quiet = true; return -1;
    case OPT_LIST: sim_config_list(stdout); return 0;
    case OPT_VERSION: printf("tern-sim %s\n", TERN_VERSION); return 0;
    case 'h': fputs(usage, stdout); return 0;
    default: return fail("unknown option, or its value is missing; see tern-sim --help");
    }
}

static int read_command(struct request *request, int argc, char **argv)
{
    int option, status;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "c:qh", long_options, NULL)) != -1) {
        status = take(request, option);
        if (status >= 0)
            return status;
    }
    for (int i = optind; i < argc; i++) {
        if (sim_config_assign(&request->config, argv[i]) < 0)
            return fail(tern_base_detail());
    }
    return -1;
}

static void show(const struct sim_config *config)
{
    char value[4096];

    for (size_t i = 0; i < sim_config_count(); i++) {
        sim_config_value(config, i, value, sizeof(value));
        printf("%s = %s\n", sim_config_row(i).name, value);
    }
}

/* Write one kind of report to a file. Returns false if the file could not be written. */
static bool write_to(const char       *path, void (*report)(FILE *, const struct sim *, const struct sim_result *),
                     const struct sim *sim, const struct sim_result *result)
{
    bool  screen = path != NULL && strcmp(path, "-") == 0, good;
    FILE *file;

    if (path == NULL)
        return true;
    file = screen ? stdout : fopen(path, "we");
    if (file != NULL) {
        report(file, sim, result);
        good = fflush(file) == 0 && !ferror(file);
        if ((screen || fclose(file) == 0) && good)
            return true;
    }
    fprintf(stderr, "tern-sim: %s cannot be written: %s\n", path, strerror(errno));
    return false;
}

static int run(const struct request *request, struct sim *sim)
{
    struct sim_progress progress;
    struct sim_watch    watch = { sim_progress_tell, &progress };
    struct sim_result   result;
    int                 status;

    sim_progress_begin(&progress, request->quiet);
    status = sim_run(sim, &watch, &result);
    sim_progress_end(&progress);
    if (status < 0) {
        fprintf(stderr, "tern-sim: %s\n", tern_base_detail());
    } else {
        if (!request->quiet)
            sim_report_text(stdout, sim, &result);
        if (!write_to(request->csv, sim_report_csv, sim, &result) ||
            !write_to(request->json, sim_report_json, sim, &result) ||
            !write_to(request->nodes, sim_report_nodes, sim, &result) ||
            !write_to(request->links, sim_report_links, sim, &result))
            status = -1;
    }
    status = status < 0 ? EXIT_FAILURE : result.deadlock > 0 || result.stuck ? EXIT_DEADLOCK : EXIT_SUCCESS;
    sim_result_free(&result);
    return status;
}

int main(int argc, char **argv)
{
    struct request request = { .quiet = false };
    struct sim    *sim;
    tern_status    opened;
    int            status;

    sim_config_init(&request.config);
    status = read_command(&request, argc, argv);
    if (status < 0 && request.show) {
        show(&request.config);
        status = EXIT_SUCCESS;
    }
    if (status < 0) {
        opened = sim_open(&sim, &request.config);
        if (opened < 0) {
            fail(tern_base_detail());
            status = opened == TERN_ERR_ARG ? EXIT_USAGE : EXIT_FAILURE;
        } else {
            status = run(&request, sim);
            sim_close(sim);
        }
    }
    sim_config_free(&request.config);
    return status;
}
