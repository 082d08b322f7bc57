/* all.c: all: runs the tests that matter, through shared memory and over the network, beside the limits of the machine
 * and beside the peers that are installed, and writes one page with the machine, tables and plots.
 *
 * The measurement is that of compare, with more sizes and shorter runs. The directory contains page.html, which is one
 * file to send, page.md with the plots *.svg, and figures.csv and figures.json for other programs and for history.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "all.h"

#define MEMORY_ROUNDS 5
#define NET_ROUNDS 3
#define BUDGET 130    /* seconds after which no other round of one half begins, unless --rounds is given */
#define RUN_TIME 0.03 /* seconds for each kernel and size in one run */
#define LATENCY_SIZES "8,256,4K,64K"
#define STREAM_SIZES "1K,8K,64K,512K,4M"

/* The tests that matter, and their sizes; NULL: the test has no sizes, or those of compare. */
static const char *const matters[][2] = {
    { "put_lat", LATENCY_SIZES }, { "get_lat", LATENCY_SIZES },
    { "put_bw", STREAM_SIZES },   { "put_rate", NULL },
    { "fadd_lat", NULL },         { "barrier", NULL },
    { "am_lat", LATENCY_SIZES },  { "notify_lat", LATENCY_SIZES },
    { "msg_lat", LATENCY_SIZES }, { "msg_bw", STREAM_SIZES },
};
#define MATTERS (sizeof(matters) / sizeof(matters[0]))

static struct all all = { .memory = { .title = "Through shared memory", .prefix = "", .suffix = "" },
                          .net = {
                              .title = "Over the network", .prefix = "net-", .suffix = "-net", .over_net = true } };

/* ---- measuring ---- */

static bool is_wanted(const struct perf_options *o, const char *name)
{
    bool known = o->word_count == 0;

    for (size_t m = 0; m < MATTERS && o->word_count == 0; m++) {
        if (strcmp(matters[m][0], name) == 0)
            return true;
    }
    for (size_t w = 0; w < o->word_count; w++)
        known |= strcmp(o->words[w], name) == 0;
    return known && o->word_count > 0;
}

static const char *sizes_of(const struct compare_test *test)
{
    for (size_t m = 0; m < MATTERS; m++) {
        if (strcmp(matters[m][0], test->name) == 0 && matters[m][1] != NULL)
            return matters[m][1];
    }
    return test->sizes;
}

/* Choose the tests of one half from those of compare: in the order of the table above, then in that of compare. */
static void choose(struct all_half *half, const struct perf_options *o, const struct compare_test *tests, size_t count)
{
    for (size_t m = 0; m <= MATTERS; m++) {
        for (size_t t = 0; t < count; t++) {
            bool here = false;

            for (size_t k = 0; k < MATTERS; k++)
                here |= strcmp(matters[k][0], tests[t].name) == 0;
            here = m < MATTERS ? strcmp(matters[m][0], tests[t].name) == 0 : !here;
            if (!here || !is_wanted(o, tests[t].name))
                continue;
            half->tests[half->test_count] = tests[t];
            half->tests[half->test_count++].sizes = sizes_of(&tests[t]);
        }
    }
}

/* Check that every word of the command line is a test that can be compared. */
static int check_words(const struct perf_options *o)
{
    for (size_t w = 0; w < o->word_count; w++) {
        struct perf_near near = { 0 };
        bool             known = false;

        for (size_t t = 0; t < compare_memory_test_count; t++) {
            known |= strcmp(o->words[w], compare_memory_tests[t].name) == 0;
            perf_nearest(o->words[w], compare_memory_tests[t].name, &near);
        }
        if (known)
            continue;
        fprintf(stderr, "tern-perf: all cannot run %s%s%s%s; it can run these tests:", o->words[w],
                near.name != NULL ? " (did you mean " : "", near.name != NULL ? near.name : "",
                near.name != NULL ? "?)" : "");
        for (size_t t = 0; t < compare_memory_test_count; t++)
            fprintf(stderr, " %s", compare_memory_tests[t].name);
        fputc('\n', stderr);
        return 2;
    }
    return 0;
}

/* Make the directory of the page. */
static bool make_directory(const struct perf_options *o)
{
    time_t    now = time(NULL);
    struct tm utc;

    if (o->output != NULL) {
        snprintf(all.dir, sizeof(all.dir), "%s", o->output);
    } else {
        gmtime_r(&now, &utc);
        strftime(all.dir, sizeof(all.dir), "tern-perf-%Y%m%d-%H%M%S", &utc);
    }
    if (mkdir(all.dir, 0777) == 0 || errno == EEXIST)
        return true;
    fprintf(stderr, "tern-perf: %s cannot be made: %s; name another directory with --output\n", all.dir,
            strerror(errno));
    return false;
}

/* Run a short job over the network. Stores the reason if that is not possible. */
static bool network_works(const struct perf_options *o)
{
    char              launcher[512], self[512];
    const char *const words[] = { launcher, "-n",      "2", self,       "barrier", "--quiet",
                                  "--csv",  "--iters", "1", "--repeat", "1",       NULL };
    struct perf_child child;
    const char       *text;
    bool              ok;

    if (!perf_network_name(all.network, sizeof(all.network)))
        return false;
    perf_find_sibling(NULL, "ternrun", launcher, sizeof(launcher));
    perf_find_sibling(NULL, "tern-perf", self, sizeof(self));
    ok = perf_child_start(&child, (char *const *)(uintptr_t)words, NULL, o->limit) && perf_child_finish(&child);
    if (!ok) {
        text = child.text[1] != NULL && child.text[1][0] != '\0' ? child.text[1] : "a job did not run";
        snprintf(all.network, sizeof(all.network), "none: %.*s", (int)strcspn(text, "\n"), text);
    }
    perf_child_free(&child);
    return ok;
}

/* Measure one half, and store its figures in the report. */
static bool measure(struct all_half *half, const struct perf_options *o, const struct runner *runners,
                    size_t runner_count, size_t rounds)
{
    struct runner       chosen[COMPARE_RUNNERS];
    struct perf_options options = *o;
    struct comparison   cmp = {
          .title = half->title, .runners = chosen, .tests = half->tests, .test_count = half->test_count
    };

    for (size_t r = 0; r < runner_count; r++) { /* the limits contain raw TCP */
        for (size_t c = 0; c < ALL_COLUMNS; c++) {
            if (strcmp(runners[r].link, all_columns[c]) == 0)
                chosen[cmp.runner_count++] = runners[r];
        }
    }
    options.word_count = 0;
    options.vs_limit = true;
    options.time = o->time > 0 ? o->time : RUN_TIME;
    options.rounds = (o->given & PERF_ROUNDS) != 0 ? o->rounds : rounds;
    options.budget = (o->given & PERF_ROUNDS) != 0 ? 0 : BUDGET;
    perf_report_all(&half->first);
    half->rounds = half->test_count > 0 ? compare_collect(&cmp, &options) : 0;
    half->figures = perf_report_all(&half->count);
    half->count -= half->first;
    return half->test_count == 0 || half->rounds > 0;
}

/* ---- files for other programs ---- */

static void write_figures(FILE *csv, FILE *json, const struct all_half *half, bool first)
{
    char link[64];

    for (size_t i = 0; i < half->count; i++) {
        struct perf_figure f = half->figures[i];

        snprintf(link, sizeof(link), "%s%s", f.link, half->suffix);
        f.link = link;
        perf_report_csv(csv, &f);
        fputs(first && i == 0 ? "\n    " : ",\n    ", json);
        perf_report_json(json, &f);
    }
}

static FILE *create(const char *name)
{
    char  path[600];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", all.dir, name);
    f = fopen(path, "we");
    if (f == NULL)
        fprintf(stderr, "tern-perf: %s cannot be written: %s\n", path, strerror(errno));
    return f;
}

static bool write_files(void)
{
    FILE *csv = create("figures.csv"), *json = create("figures.json");
    bool  ok = csv != NULL && json != NULL;

    if (ok) {
        fputs("{\n", json);
        for (size_t i = 0; i < all.machine.facts; i++) {
            fprintf(csv, "# %s: %s\n", all.machine.fact[i].name, all.machine.fact[i].value);
            fprintf(json, "  \"%s\": \"%s\",\n", all.machine.fact[i].name, all.machine.fact[i].value);
        }
        fprintf(csv, "%s\n", MEASURE_CSV_HEADER);
        fputs("  \"figures\": [", json);
        write_figures(csv, json, &all.memory, true);
        write_figures(csv, json, &all.net, all.memory.count == 0);
        fputs("\n  ]\n}\n", json);
        ok = ferror(csv) == 0 && ferror(json) == 0;
    }
    if (csv != NULL)
        ok &= fclose(csv) == 0;
    if (json != NULL)
        ok &= fclose(json) == 0;
    return ok;
}

int perf_all(const struct perf_options *o)
{
    char path[512];
    bool ok;
    int  status = check_words(o);

    if (status != 0 || !make_directory(o))
        return status != 0 ? status : 1;
    all.plots = perf_find_program("gnuplot", path, sizeof(path));
    choose(&all.memory, o, compare_memory_tests, compare_memory_test_count);
    choose(&all.net, o, compare_net_tests, compare_net_test_count);
    machine_describe(&all.machine, o->commit);
    perf_report_begin(PERF_TEXT);
    ok = measure(&all.memory, o, compare_memory_runners, compare_memory_runner_count, MEMORY_ROUNDS);
    perf_use_net(NULL);
    all.has_network = ok && network_works(o);
    if (all.has_network)
        ok = measure(&all.net, o, compare_net_runners, compare_net_runner_count, NET_ROUNDS);
    all.memory.figures = perf_report_all(&all.memory.first); /* the report may have moved */
    all.net.figures = all.memory.figures + all.memory.count;
    machine_network(&all.machine, all.network);
    machine_peers(&all.machine);
    machine_load_after(&all.machine);
    if (!ok || !write_files() || !all_write_page(&all))
        return 1;
    printf("%s/page.html is the page to send. page.md, figures.csv and figures.json in the same directory contain the "
           "same figures.\n",
           all.dir);
    return 0;
}
