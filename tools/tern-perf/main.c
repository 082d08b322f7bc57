/* main.c: tern-perf's command line. Parses the options, then either runs a test inside the job that ternrun started
 * or calls a command that starts jobs itself (init, compare, crossover) or needs none (register). */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

enum {
    OPT_VERSION = 256,
    OPT_LIST,
    OPT_INIT_RANK,
    OPT_GENERATE,
    OPT_MESSAGES,
    OPT_NET,
    OPT_THREADS,
    OPT_ELEMENT,
    OPT_BUILD,
    OPT_SELF
};

#define DEFAULT_ROUNDS 15
#define DEFAULT_BUILD_ROUNDS 9

static const struct option long_options[] = {
    { "sizes", required_argument, NULL, 's' },
    { "iters", required_argument, NULL, 'i' },
    { "csv", no_argument, NULL, 'c' },
    { "json", no_argument, NULL, 'j' },
    { "plot", required_argument, NULL, 'p' },
    { "vs-limit", no_argument, NULL, 'l' },
    { "memory", required_argument, NULL, 'm' },
    { "window", required_argument, NULL, 'w' },
    { "time", required_argument, NULL, 't' },
    { "repeat", required_argument, NULL, 'r' },
    { "quiet", no_argument, NULL, 'q' },
    { "rounds", required_argument, NULL, 'R' },
    { "ranks", required_argument, NULL, 'n' },
    { "limit", required_argument, NULL, 'L' },
    { "generate", no_argument, NULL, OPT_GENERATE },
    { "messages", required_argument, NULL, OPT_MESSAGES },
    { "net", optional_argument, NULL, OPT_NET },
    { "threads", required_argument, NULL, OPT_THREADS },
    { "element", required_argument, NULL, OPT_ELEMENT },
    { "peers", required_argument, NULL, 'P' },
    { "build", required_argument, NULL, OPT_BUILD },
    { "self", no_argument, NULL, OPT_SELF },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, OPT_VERSION },
    { "list", no_argument, NULL, OPT_LIST },
    { "init-rank", required_argument, NULL, OPT_INIT_RANK }, /* used by "init" to start its ranks; not for users */
    { NULL, 0, NULL, 0 },
};

static const char usage[] =
    "usage: ternrun -n N tern-perf TEST [options]\n"
    "       tern-perf init|compare|register|crossover|payload|protocols [options]\n"
    "       tern-perf compare --build DIR [TEST...] [options]\n"
    "       tern-perf --list | --help | --version\n"
    "\n"
    "  --sizes A:B|A,B,C   bytes per transfer: powers of two times A up to B, or a list; K, M, G are powers of 1024\n"
    "  --window W[,W...]   nonblocking transfers that are posted before waiting\n"
    "  --memory KIND       the target's memory: host, huge or registered (default host)\n"
    "  --vs-limit          measure the test's limit in turn with it and report ratio_to_limit\n"
    "  --time S            seconds of measuring for each kernel and size (default 0.3)\n"
    "  --repeat R          slices that the time is divided into; the median of them is reported (default 15)\n"
    "  --iters N           iterations of each slice, instead of as many as the time allows\n"
    "  --csv, --json       one line per figure: test,link,ranks,size,metric,value,unit\n"
    "  --plot FILE         draw the figures over the size: FILE.png or FILE.svg\n"
    "  --quiet             no warnings and no progress bar\n"
    "  --net[=PROVIDER]    ranks reach each other over the network only, also on one machine; PROVIDER of libfabric\n"
    "am_lat\n"
    "  --generate          make payloads while they are sent: fixed payload against negotiated\n"
    "strided_bw, indexed_bw, vector_bw\n"
    "  --element E         bytes of each piece; three times as many lie between two (default 8)\n"
    "immediate\n"
    "  --messages N        messages that rank 0 sends in one run, to all ranks together (default 5000)\n"
    "compare [TEST...]\n"
    "  --rounds N          runs of each program, in turn (default 15)\n"
    "  --peers DIR         where tern-peer-openmpi and tern-peer-mpich are (default: beside tern-perf)\n"
    "compare --build DIR [TEST...]\n"
    "  --build DIR         compare with another build of Tern, in turn: a build directory or an install prefix\n"
    "  --self              compare the other build with itself, which shows the noise of this machine\n"
    "  --rounds N          jobs of each build (default 9)\n"
    "init\n"
    "  --ranks N[,N...]    ranks of the jobs that it starts (default 2 for the time, 8 for the memory; with --net\n"
    "                      2,8,16,32,64 for both)\n"
    "  --rounds N          jobs of each kind, in turn (default 15)\n"
    "crossover, payload, protocols\n"
    "  --rounds N          jobs of each kind, in turn (default 15)\n"
    "compare, init, crossover, payload, protocols\n"
    "  --limit S           seconds that one run may take (default 60)\n"
    "register\n"
    "  --threads N[,N...]  threads that register at a time (default 1,2,4,8)\n";

/* Return whether this process prints error messages: in a job only the first rank does. */
static bool speaks(void)
{
    const char *boot = getenv("TERN_BOOT");

    return boot == NULL || strstr(boot, "rank=0,") != NULL;
}

static int complain(const char *what, const char *about)
{
    if (speaks())
        fprintf(stderr, "tern-perf: %s%s%s; see tern-perf --help\n", what, about[0] != '\0' ? ": " : "", about);
    return 2;
}

static int list(void)
{
    for (size_t i = 0; i < perf_test_count; i++) {
        const struct perf_test *t = &perf_tests[i];

        printf("%-9s %s\n", t->name, t->what);
        printf("%-9s   main figure %s in %s%s%s\n", "", t->metric, t->unit, t->sizes != NULL ? ", sizes " : "",
               t->sizes != NULL ? t->sizes : "");
        if (t->limit != NULL)
            printf("%-9s   limit: %s\n", "", t->limit);
    }
    return 0;
}

/* Parse a list of numbers from 1 to most. */
static bool parse_list(uint64_t list[PERF_MAX_WINDOWS], size_t *count, const char *text, uint64_t most)
{
    *count = measure_sizes(text, list, PERF_MAX_WINDOWS);
    for (size_t i = 0; i < *count; i++) {
        if (list[i] > most)
            return false;
    }
    return *count > 0;
}

static bool parse_memory(struct perf_options *o, const char *text)
{
    static const char *const kinds[] = { [PERF_HOST] = "host", [PERF_HUGE] = "huge", [PERF_REGISTERED] = "registered" };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(text, kinds[i]) == 0) {
            o->memory = (enum perf_memory)i;
            return true;
        }
    }
    return false;
}

/* Parse an integer from 1 to max. */
static bool parse_count(uint64_t *count, const char *text, uint64_t max)
{
    char *end;

    *count = measure_size(text, &end);
    return *end == '\0' && *count >= 1 && *count <= max;
}

/* Store one option. Returns an error message, or NULL if the option is valid. */
static const char *take_option(struct perf_options *o, int option, const char *value)
{
    uint64_t count = 0;

    switch (option) {
    case 's':
        o->size_count = measure_sizes_from(0, value, o->sizes, MEASURE_MAX_SIZES);
        return o->size_count > 0 ? NULL : "--sizes wants A:B or A,B,C, like 1:1M or 8,4K";
    case 'w':
        return parse_list(o->windows, &o->window_count, value, PERF_MAX_WINDOW)
                   ? NULL
                   : "--window wants numbers from 1 to 65536";
    case 'm': return parse_memory(o, value) ? NULL : "--memory wants host, huge or registered";
    case 'i': return parse_count(&o->iters, value, 1ull << 40) ? NULL : "--iters wants a number of at least 1";
    case 't': return (o->time = measure_number(value)) > 0 ? NULL : "--time wants seconds";
    case 'L': return (o->limit = measure_number(value)) > 0 ? NULL : "--limit wants seconds";
    case 'r':
        if (!parse_count(&count, value, PERF_MAX_REPEAT))
            return "--repeat wants a number from 1 to 1000";
        o->repeat = count;
        return NULL;
    case 'R':
        if (!parse_count(&count, value, PERF_MAX_REPEAT))
            return "--rounds wants a number from 1 to 1000";
        o->rounds = count;
        return NULL;
    case 'n': return parse_list(o->ranks, &o->ranks_count, value, 4096) ? NULL : "--ranks wants numbers from 1 to 4096";
    case OPT_MESSAGES:
        return parse_count(&o->messages, value, 1ull << 30) ? NULL : "--messages wants a number of at least 1";
    case OPT_GENERATE: o->generate = true; return NULL;
    case OPT_ELEMENT:
        return parse_count(&o->element, value, 1u << 20) ? NULL : "--element wants a number of bytes from 1 to 1M";
    case OPT_THREADS:
        return parse_list(o->threads, &o->threads_count, value, 256) ? NULL : "--threads wants numbers from 1 to 256";
    case OPT_NET:
        o->net = true;
        o->provider = value;
        return NULL;
    case 'c': o->format = PERF_CSV; return NULL;
    case 'j': o->format = PERF_JSON; return NULL;
    case 'l': o->vs_limit = true; return NULL;
    case 'q': o->quiet = true; return NULL;
    case 'p': o->plot = value; return NULL;
    case 'P': o->peers = value; return NULL;
    case OPT_BUILD: o->build = value; return NULL;
    case OPT_SELF: o->self = true; return NULL;
    default: return "unknown option, or its value is missing";
    }
}

/* Implement --net by setting Tern's own options, for this process and for the processes that it starts. */
static void choose_net(const struct perf_options *o, const struct perf_test *test)
{
    if (!o->net && !test->net)
        return;
    setenv("TERN_LINKS", "ofi", 1);
    if (o->provider != NULL)
        setenv("TERN_OFI_PROVIDER", o->provider, 1);
}

/* Return the number of ranks of the job; usable before tern_init. */
static int ranks_to_be(void)
{
    const char *boot = getenv("TERN_BOOT"), *at = boot != NULL ? strstr(boot, "ranks=") : NULL;

    return at != NULL ? atoi(at + strlen("ranks=")) : 1;
}

static bool has_empty(const struct perf_options *o)
{
    for (size_t i = 0; i < o->size_count; i++) {
        if (o->sizes[i] == 0)
            return true;
    }
    return false;
}

/* Run a test in the job that this process belongs to. */
static int run_in_job(const struct perf_options *o, const struct perf_test *test)
{
    struct perf p;
    char        title[512];
    bool        drawn = true;
    tern_status status;

    if (o->plot != NULL && speaks() && !perf_plot_possible(o->plot))
        return 1;
    if (test->before != NULL)
        test->before(ranks_to_be());
    if ((status = tern_init()) < 0) {
        fprintf(stderr, "tern-perf: tern_init: %s (%s)\n", tern_strerror(status), tern_error_detail());
        return 1;
    }
    if (tern_size() < test->min_ranks) {
        fprintf(stderr, "tern-perf: %s needs at least %d ranks: ternrun -n %d tern-perf %s\n", test->name,
                test->min_ranks, test->min_ranks, test->name);
        tern_finalize();
        return 1;
    }
    perf_open(&p, o, test);
    snprintf(title, sizeof(title), "%s: %s (%d rank%s, %s); median of %zu slices +- half of the quartiles' distance",
             test->name, test->what, p.ranks, p.ranks == 1 ? "" : "s", p.link, p.repeat);
    if (p.rank == 0)
        perf_report_begin(o->format);
    perf_progress_begin(test->name, p.rank == 0 && !o->quiet);
    perf_run(&p);
    perf_progress_end();
    if (p.rank == 0) {
        perf_report_end(title);
        drawn = o->plot == NULL || perf_plot(o->plot, title);
    }
    perf_close(&p);
    perf_must(tern_finalize(), "tern_finalize");
    return drawn ? 0 : 1;
}

static int dispatch(const struct perf_options *o, const char *name)
{
    const struct perf_test *test = perf_test_find(name);

    if (test == NULL)
        return complain("no such test, tern-perf --list shows them", name);
    choose_net(o, test);
    if (o->build != NULL && test->command != perf_compare)
        return complain("--build is an option of compare; this test has no use for it", name);
    if (o->self && o->build == NULL)
        return complain("--self needs the build that it compares with itself: compare --build DIR --self", "");
    if (test->command == NULL && o->word_count > 0)
        return complain("one test at a time; this is too much", o->words[0]);
    if (!test->empty && has_empty(o))
        return complain("0 is no size for this test", name);
    if (test->command == NULL)
        return run_in_job(o, test);
    if (getenv("TERN_BOOT") != NULL)
        return complain("this test starts jobs itself; start it without ternrun", name);
    return test->command(o);
}

int main(int argc, char **argv)
{
    struct perf_options o = { .limit = 60, .element = 8 };
    int                 option;
    const char         *wrong;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "hs:i:p:m:w:t:r:qn:", long_options, NULL)) != -1) {
        switch (option) {
        case 'h': fputs(usage, stdout); return 0;
        case OPT_LIST: return list();
        case OPT_VERSION: printf("tern-perf %s\n", tern_version()); return 0;
        case OPT_INIT_RANK: return perf_init_rank(optarg);
        default:
            wrong = take_option(&o, option, optarg);
            if (wrong != NULL)
                return complain(wrong, optarg != NULL ? optarg : argv[optind - 1]);
        }
    }
    if (optind == argc)
        return complain("which test?", "");
    if (o.rounds == 0)
        o.rounds = o.build != NULL ? DEFAULT_BUILD_ROUNDS : DEFAULT_ROUNDS;
    o.words = argv + optind + 1;
    o.word_count = (size_t)(argc - optind - 1);
    return dispatch(&o, argv[optind]);
}
