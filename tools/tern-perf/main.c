/* main.c: tern-perf's commands. Runs a test inside the job that a launcher started, starts that job (start.c), or calls
 * a command that starts jobs itself (init, compare, crossover) or needs none (register). options.c parses the command
 * line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

#define RANK_0_SECONDS 10 /* rank 0 prints its message and ends within this time */
#define DEFAULT_ROUNDS 15
#define DEFAULT_BUILD_ROUNDS 9

static const char usage[] =
    "usage: tern-perf TEST [options]                    start the ranks of a test, and measure\n"
    "       ternrun -n N --bind core tern-perf TEST [options]\n"
    "       tern-perf all [TEST...] [options]           the tests that matter, on one page\n"
    "       tern-perf history DIR [options]             the figures of several pages side by side\n"
    "       tern-perf compare [TEST...] [options]       beside other libraries\n"
    "       tern-perf compare --build DIR [TEST...] [options]\n"
    "       tern-perf init|register|crossover|payload|protocols|coll [options]\n"
    "       tern-perf --list | --help | --version\n"
    "\n"
    "An option that a test does not use is refused.\n"
    "  -n, --ranks N       ranks to start, each on a core of its own (default 2, or as many as the test needs)\n"
    "  --sizes A:B|A,B,C   bytes per transfer: powers of two times A up to B, or a list; K, M, G are powers of "
    "1024\n"
    "  --window W[,W...]   nonblocking transfers that are posted before waiting\n"
    "  --memory KIND       the target's memory: host, huge or registered (default host)\n"
    "  --vs-limit          measure the test's limit in turn with it and report ratio_to_limit\n"
    "  --time S            seconds of measuring for each kernel and size (default 0.3)\n"
    "  --repeat R          slices that the time is divided into; the median of them is reported (default 15)\n"
    "  --iters N           iterations of each slice, instead of as many as the time allows\n"
    "  --csv, --json       one line per figure: test,link,ranks,size,metric,value,unit,p25,p75,min,max\n"
    "  --plot FILE         draw the figures over the size: FILE.png or FILE.svg\n"
    "  --quiet             no warnings and no progress bar\n"
    "  --net[=PROVIDER]    ranks reach each other over the network only, also on one machine and in barriers;\n"
    "                      PROVIDER of libfabric; ofi: libfabric with the provider that it prefers\n"
    "am_lat\n"
    "  --generate          make payloads while they are sent: fixed payload against negotiated\n"
    "strided_bw, indexed_bw, vector_bw, acc_shapes\n"
    "  --element E         bytes of each piece; three times as many lie between two (default 8)\n"
    "immediate\n"
    "  --messages N        messages that rank 0 sends in one run, to all ranks together (default 5000)\n"
    "all [TEST...]\n"
    "  --output DIR        where to write page.html, page.md, the plots and the figures (default tern-perf-DATE)\n"
    "  --commit TEXT       the name of the measured code on the page (default: the version of Tern)\n"
    "  --rounds N          runs of each program, in turn (default 5; over the network 3)\n"
    "compare [TEST...]\n"
    "  --rounds N          runs of each program, in turn (default 15)\n"
    "  --peers DIR         where tern-peer-openmpi, tern-peer-mpich and tern-peer-oshmem are (default: beside\n"
    "                      tern-perf; otherwise they are compiled when they are first needed)\n"
    "  --vs-limit          show the limit of the machine beside the programs; --plot implies it\n"
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
    "all, compare, init, crossover, payload, protocols\n"
    "  --limit S           seconds that one run may take (default 60)\n"
    "coll\n"
    "  --hosts LIST        hosts of the ranks, as in ternrun --hosts; --ranks says how many there are\n"
    "  --agent COMMAND     how ternrun reaches them, as in ternrun --agent\n"
    "register\n"
    "  --threads N[,N...]  threads that register at a time (default 1,2,4,8)\n";

void perf_usage(void)
{
    fputs(usage, stdout);
}

/* Implement --net by setting Tern's own options. If TERN_LINKS names a network only, that has the same effect. */
static void choose_net(const struct perf_options *o, const struct perf_test *test)
{
    if (o->net || test->net || perf_names_network())
        perf_use_net(o->link_ofi ? "ofi" : o->provider);
}

/* Return the number of ranks of the job; usable before tern_init. */
static int ranks_to_be(void)
{
    const char *boot = getenv("TERN_BOOT"), *at = boot != NULL ? strstr(boot, "ranks=") : NULL;

    return at != NULL ? atoi(at + strlen("ranks=")) : 1;
}

/* Print and draw the figures of a job. Returns false, and prints the reason, if there are none or they cannot be
 * drawn. */
static bool report_job(const struct perf_options *o, const struct perf_test *test, const char *title,
                       const char *picture)
{
    size_t count;

    perf_report_all(&count);
    if (count > 0 || o->format != PERF_TEXT)
        perf_report_end(title);
    if (count == 0)
        fprintf(stderr, "tern-perf: %s has no figures for these sizes; man tern-perf says which sizes it takes\n",
                test->name);
    return count > 0 && (o->plot == NULL || perf_plot(o->plot, picture));
}

/* Run a test in the job that this process belongs to. */
static int run_in_job(const struct perf_options *o, const struct perf_test *test)
{
    struct perf p;
    char        title[512], picture[512];
    bool        ok = true;
    tern_status status;

    if (o->plot != NULL && perf_speaks() && !perf_plot_possible(o->plot))
        return 1;
    if (test->before != NULL)
        test->before(ranks_to_be());
    if ((status = tern_init()) < 0) {
        fprintf(stderr, "tern-perf: tern_init: %s (%s)\n", tern_strerror(status), tern_error_detail());
        return 1;
    }
    if (tern_size() < test->min_ranks) {
        if (tern_rank() == 0)
            fprintf(stderr, "tern-perf: %s needs at least %d ranks: ternrun -n %d tern-perf %s\n", test->name,
                    test->min_ranks, test->min_ranks, test->name);
        tern_finalize();
        return 1;
    }
    if (o->ranks_count > 0 && (o->ranks_count > 1 || o->ranks[0] != (uint64_t)tern_size())) {
        if (tern_rank() == 0)
            fprintf(stderr, "tern-perf: the launcher has started %d rank%s; leave out --ranks\n", tern_size(),
                    tern_size() == 1 ? "" : "s");
        tern_finalize();
        return 2;
    }
    perf_open(&p, o, test);
    snprintf(title, sizeof(title), "%s: %s (%d rank%s, %s); median of %zu slices +- half of the quartiles' distance",
             test->name, test->what, p.ranks, p.ranks == 1 ? "" : "s", p.link, p.repeat);
    snprintf(picture, sizeof(picture), "%s: %s\n%d rank%s, %s; median and quartiles of %zu slices", test->name,
             test->what, p.ranks, p.ranks == 1 ? "" : "s", p.link, p.repeat);
    if (p.rank == 0)
        perf_report_begin(o->format);
    perf_progress_begin(test->name, p.rank == 0 && !o->quiet);
    perf_run(&p);
    perf_progress_end();
    if (p.rank == 0)
        ok = report_job(o, test, title, picture);
    perf_close(&p);
    perf_must(tern_finalize(), "tern_finalize");
    return ok ? 0 : 1;
}

static int dispatch(const struct perf_options *o, char **argv)
{
    const struct perf_test *test = perf_test_find(o->test);
    int                     status;

    if (test == NULL)
        return perf_no_such_test(o->test);
    if ((status = perf_options_check(o, test)) != 0)
        return status;
    choose_net(o, test);
    if (test->command == NULL && o->word_count > 0)
        return perf_complain("give one test at a time; leave out", o->words[0]);
    if (test->command == NULL)
        return perf_start_launched() ? run_in_job(o, test) : perf_start_ranks(o, test, argv);
    if (getenv("TERN_BOOT") != NULL)
        return perf_complain("this test starts jobs itself; start it without ternrun", test->name);
    return test->command(o);
}

int main(int argc, char **argv)
{
    struct perf_options o = { .limit = 60, .element = 8 };
    int                 status = perf_options_parse(&o, argc, argv);

    if (status < 0) {
        if (o.rounds == 0)
            o.rounds = o.build != NULL ? DEFAULT_BUILD_ROUNDS : DEFAULT_ROUNDS;
        status = dispatch(&o, argv);
    }
    /* The first rank that fails ends the job: let it be the one that prints the reason. */
    if (status == 2 && !perf_speaks())
        sleep(RANK_0_SECONDS);
    return status;
}
