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

#include "compare.h"
#include "machine.h"
#include "page.h"

#define MEMORY_ROUNDS 5
#define NET_ROUNDS 3
#define BUDGET 130    /* seconds after which no other round of one half begins, unless --rounds is given */
#define RUN_TIME 0.03 /* seconds for each kernel and size in one run */
#define LATENCY_SIZES "8,256,4K,64K"
#define STREAM_SIZES "1K,8K,64K,512K,4M"
#define MAX_LINKS 10

/* The tests that matter, and their sizes; NULL: the test has no sizes, or those of compare. */
static const char *const matters[][2] = {
    { "put_lat", LATENCY_SIZES }, { "get_lat", LATENCY_SIZES },
    { "put_bw", STREAM_SIZES },   { "put_rate", NULL },
    { "fadd_lat", NULL },         { "barrier", NULL },
    { "am_lat", LATENCY_SIZES },  { "notify_lat", LATENCY_SIZES },
    { "msg_lat", LATENCY_SIZES }, { "msg_bw", STREAM_SIZES },
};
#define MATTERS (sizeof(matters) / sizeof(matters[0]))

/* The programs in the order of the columns of the tables. */
static const char *const columns[] = { "tern", "limit", "openmpi", "mpich", "oshmem", "ucx", "uct" };
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* One half of the page: through shared memory, or over the network. */
struct half {
    const char               *title, *prefix, *suffix; /* of file names, and of links in CSV and JSON */
    struct compare_test       tests[COMPARE_TESTS];
    size_t                    test_count;
    size_t                    rounds;
    size_t                    first, count; /* its figures in the report */
    const struct perf_figure *figures;
};

static struct {
    struct half    memory, net;
    char           dir[512], network[160];
    bool           plots;
    struct machine machine;
} all = { .memory = { .title = "Through shared memory", .prefix = "", .suffix = "" },
          .net = { .title = "Over the network", .prefix = "net-", .suffix = "-net" } };

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
static void choose(struct half *half, const struct perf_options *o, const struct compare_test *tests, size_t count)
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
        if (!known) {
            fprintf(stderr, "tern-perf: all cannot run %s%s%s%s; tern-perf compare lists the tests that it can run\n",
                    o->words[w], near.name != NULL ? " (did you mean " : "", near.name != NULL ? near.name : "",
                    near.name != NULL ? "?)" : "");
            return 2;
        }
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
        text = child.text[1] != NULL ? child.text[1] : "a job did not run";
        snprintf(all.network, sizeof(all.network), "none: %.*s", (int)strcspn(text, "\n"), text);
    }
    perf_child_free(&child);
    return ok;
}

/* Measure one half, and store its figures in the report. */
static bool measure(struct half *half, const struct perf_options *o, const struct runner *runners, size_t runner_count,
                    size_t rounds)
{
    struct runner       chosen[COMPARE_RUNNERS];
    struct perf_options options = *o;
    struct comparison   cmp = {
          .title = half->title, .runners = chosen, .tests = half->tests, .test_count = half->test_count
    };

    for (size_t r = 0; r < runner_count; r++) { /* the limits contain raw TCP */
        for (size_t c = 0; c < COLUMNS; c++) {
            if (strcmp(runners[r].link, columns[c]) == 0)
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

/* ---- tables ---- */

static const struct perf_figure *find(const struct half *half, const char *test, const char *link, const char *metric,
                                      uint64_t size)
{
    for (size_t i = 0; i < half->count; i++) {
        const struct perf_figure *f = &half->figures[i];

        if (f->spread && f->size == size && strcmp(f->test, test) == 0 && strcmp(f->link, link) == 0 &&
            strcmp(f->metric, metric) == 0)
            return f;
    }
    return NULL;
}

/* A unit for people: its name, and the factor from the unit of the figures. */
struct human {
    const char *name;
    double      factor;
};

/* Choose the unit for a value. */
static struct human human_unit(const char *unit, double value)
{
    if (strcmp(unit, "ns") == 0 && value >= 1e6)
        return (struct human){ "ms", 1e-6 };
    if (strcmp(unit, "ns") == 0 && value >= 1e3)
        return (struct human){ "us", 1e-3 };
    if (strcmp(unit, "MB/s") == 0 && value >= 100)
        return (struct human){ "GB/s", 1e-3 };
    if (strcmp(unit, "op/s") == 0)
        return (struct human){ "M/s", 1e-6 };
    return (struct human){ unit, 1 };
}

static void number_text(char *text, size_t size, double value)
{
    snprintf(text, size, "%.*f", value >= 99.5 ? 0 : value >= 9.95 ? 1 : value >= 0.0995 ? 2 : 3, value);
}

static void size_text(char *text, size_t room, const char *test, uint64_t size)
{
    const struct perf_test *t = perf_test_find(test);

    if (size == 0 && (t == NULL || !t->empty))
        snprintf(text, room, "-");
    else if (t != NULL && t->counts != NULL)
        snprintf(text, room, "%" PRIu64 " %s", size, t->counts);
    else if (size >= 1048576 && size % 1048576 == 0)
        snprintf(text, room, "%" PRIu64 " MiB", size / 1048576);
    else if (size >= 1024 && size % 1024 == 0)
        snprintf(text, room, "%" PRIu64 " KiB", size / 1024);
    else
        snprintf(text, room, "%" PRIu64 " B", size);
}

/* Return Tern's figure relative to another one, or "" if there is none. */
static void ratio_cell(struct page *page, const struct perf_figure *tern, const struct perf_figure *other)
{
    char text[32] = "";

    if (other != NULL && other->value.median > 0)
        snprintf(text, sizeof(text), "%.2f", tern->value.median / other->value.median);
    page_cell(page, text);
}

/* Return whether a column has a figure of the test. */
static bool has_column(const struct half *half, const struct compare_test *test, const char *link)
{
    for (size_t i = 0; i < half->count; i++) {
        if (strcmp(half->figures[i].test, test->name) == 0 && strcmp(half->figures[i].link, link) == 0)
            return true;
    }
    return false;
}

static const char *column_title(const struct half *half, const char *link)
{
    for (size_t i = 0; i < half->count; i++) {
        if (strcmp(half->figures[i].link, link) == 0 && half->figures[i].label != NULL)
            return half->figures[i].label;
    }
    return link;
}

/* Write the row of one figure of Tern: the programs, and the ratios to the limit and to the best peer. */
static void table_row(struct page *page, const struct half *half, const struct compare_test *test,
                      const struct perf_figure *tern)
{
    struct human              unit = human_unit(tern->unit, tern->value.median);
    const struct perf_figure *best = NULL, *limit = find(half, test->name, "limit", tern->metric, tern->size);
    char                      text[64];
    size_t                    cells = 5;

    page_row(page);
    snprintf(text, sizeof(text), "`%s`", tern->metric);
    page_cell(page, text);
    size_text(text, sizeof(text), test->name, tern->size);
    page_cell(page, text);
    page_cell(page, unit.name);
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct perf_figure *f = find(half, test->name, columns[c], tern->metric, tern->size);

        if (!has_column(half, test, columns[c]))
            continue;
        text[0] = '\0';
        if (f != NULL)
            number_text(text, sizeof(text), f->value.median * unit.factor);
        page_cell(page, text);
        cells++;
        if (c < 2 || f == NULL)
            continue;
        if (best == NULL || (compare_less_is_better(f->unit) ? f->value.median < best->value.median
                                                             : f->value.median > best->value.median))
            best = f;
    }
    ratio_cell(page, tern, limit);
    ratio_cell(page, tern, best);
    page_row_end(page, cells);
}

static void table_head(struct page *page, const struct half *half, const struct compare_test *test)
{
    size_t cells = 5;

    page_table(page);
    page_row(page);
    page_cell(page, "figure");
    page_cell(page, "size");
    page_cell(page, "unit");
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!has_column(half, test, columns[c]))
            continue;
        page_cell(page, column_title(half, columns[c]));
        cells++;
    }
    page_cell(page, "Tern / limit");
    page_cell(page, "Tern / best peer");
    page_row_end(page, cells);
}

static void picture(struct page *page, const struct half *half, const struct compare_test *test, const char *title)
{
    struct perf_figure *some = calloc(half->count + 1, sizeof(*some));
    size_t              n = 0;
    char                name[128], path[700];

    for (size_t i = 0; some != NULL && i < half->count; i++) {
        if (strcmp(half->figures[i].test, test->name) == 0)
            some[n++] = half->figures[i];
    }
    snprintf(name, sizeof(name), "%s%s.svg", half->prefix, test->name);
    snprintf(path, sizeof(path), "%s/%s", all.dir, name);
    if (n > 0 && perf_plot_figures(path, title, some, n))
        page_picture(page, name, title);
    else
        page->failed = true;
    free(some);
}

static void test_section(struct page *page, const struct half *half, const struct compare_test *test)
{
    const struct perf_test *own = perf_test_find(test->test != NULL ? test->test : test->name);
    char                    title[256];

    if (!has_column(half, test, "tern")) {
        page_heading(page, 3, test->name);
        page_text(page, "This test failed.");
        return;
    }
    snprintf(title, sizeof(title), "%s: %s", test->name, own != NULL ? own->what : "");
    page_heading(page, 3, test->name);
    if (own != NULL)
        page_text(page, "%c%s.%s%s%s", own->what[0] - (own->what[0] >= 'a' && own->what[0] <= 'z' ? 32 : 0),
                  own->what + 1, own->limit != NULL ? " Limit: " : "", own->limit != NULL ? own->limit : "",
                  own->limit != NULL ? "." : "");
    table_head(page, half, test);
    for (size_t m = 0; m < COMPARE_METRICS && test->metrics[m] != NULL; m++) {
        for (size_t i = 0; i < half->count; i++) {
            const struct perf_figure *f = &half->figures[i];

            if (f->spread && strcmp(f->test, test->name) == 0 && strcmp(f->link, "tern") == 0 &&
                strcmp(f->metric, test->metrics[m]) == 0)
                table_row(page, half, test, f);
        }
    }
    page_table_end(page);
    if (all.plots)
        picture(page, half, test, title);
}

static void half_section(struct page *page, const struct half *half)
{
    page_heading(page, 2, half->title);
    if (half->count == 0 && half == &all.net) {
        page_text(page, "Not measured. The network is: %s.", all.network);
        return;
    }
    for (size_t t = 0; t < half->test_count; t++)
        test_section(page, half, &half->tests[t]);
}

/* ---- the page ---- */

/* Write the first figure of a test as one cell with its unit. */
static void summary_cell(struct page *page, const struct half *half, const struct compare_test *test)
{
    char         text[64] = "", number[32];
    struct human unit;

    for (size_t i = 0; i < half->count && text[0] == '\0'; i++) {
        const struct perf_figure *f = &half->figures[i];

        if (strcmp(f->test, test->name) != 0 || strcmp(f->link, "tern") != 0 ||
            strcmp(f->metric, test->metrics[0]) != 0)
            continue;
        unit = human_unit(f->unit, f->value.median);
        number_text(number, sizeof(number), f->value.median * unit.factor);
        snprintf(text, sizeof(text), "%s %s", number, unit.name);
    }
    page_cell(page, text);
}

static void summary(struct page *page)
{
    char     text[64];
    uint64_t sizes[MEASURE_MAX_SIZES];

    page_heading(page, 2, "Summary");
    page_text(page, "The first figure of each test at its smallest size; the tables below have all of them.");
    page_table(page);
    page_row(page);
    page_cell(page, "test");
    page_cell(page, "figure");
    page_cell(page, "size");
    page_cell(page, "shared memory");
    page_cell(page, "network");
    page_row_end(page, 5);
    for (size_t t = 0; t < all.memory.test_count; t++) {
        const struct compare_test *test = &all.memory.tests[t];
        size_t n = test->sizes != NULL ? measure_sizes_from(0, test->sizes, sizes, MEASURE_MAX_SIZES) : 0;

        page_row(page);
        page_cell(page, test->name);
        snprintf(text, sizeof(text), "`%s`", test->metrics[0]);
        page_cell(page, text);
        size_text(text, sizeof(text), test->name, n > 0 ? sizes[0] : 0);
        page_cell(page, n > 0 ? text : "-");
        summary_cell(page, &all.memory, test);
        summary_cell(page, &all.net, test);
        page_row_end(page, 5);
    }
    page_table_end(page);
}

static void machine_section(struct page *page)
{
    page_heading(page, 2, "Machine");
    page_table(page);
    page_row(page);
    page_cell(page, "what");
    page_cell(page, "value");
    page_row_end(page, 2);
    for (size_t i = 0; i < all.machine.facts; i++) {
        page_row(page);
        page_cell(page, all.machine.fact[i].name);
        page_cell(page, all.machine.fact[i].value);
        page_row_end(page, 2);
    }
    page_table_end(page);
    if (machine_was_busy(&all.machine))
        page_text(page, "Other programs were running before the measurement began. Measure again on an idle machine "
                        "before you compare these figures with others.");
    page_heading(page, 2, "Links");
    page_text(page,
              "Two ranks on this machine, each bound to a core of its own if there are two. Through shared memory, the "
              "data of "
              "allocated regions moves by loads and stores (link `shm`), and long messages from private memory "
              "by cross-memory attach, if the kernel permits it. Over the network, the same ranks use only "
              "libfabric (link `ofi`), also for barriers, on this machine through the loopback interface: %s.",
              all.network);
}

static bool write_page(void)
{
    struct page page;
    char        title[96], rounds[64];

    snprintf(rounds, sizeof(rounds), "%zu round%s (network: %zu)", all.memory.rounds, all.memory.rounds == 1 ? "" : "s",
             all.net.rounds);
    snprintf(title, sizeof(title), "Performance of Tern %.40s", tern_version());
    if (!page_open(&page, all.dir, title))
        return false;
    page_text(&page,
              "Measured by `tern-perf all` at commit %s on %s, on %s. Every figure is the median of %s of short "
              "runs, in which all programs take turns. `docs/measuring.md` explains the tests and what is compared "
              "with what.",
              machine_fact(&all.machine, "commit"), machine_fact(&all.machine, "date"),
              machine_fact(&all.machine, "processor"), rounds);
    summary(&page);
    machine_section(&page);
    page_heading(&page, 2, "How to read the tables");
    page_text(&page,
              "Smaller times are better, and larger rates and bandwidths are better. \"Tern / limit\" divides the "
              "figure of Tern by what the machine can do without a library, measured in turn with it. \"Tern / "
              "best peer\" divides it by the best figure of the other libraries. GB/s are 10^9 bytes, and "
              "M/s are 10^6 operations, per second. "
              "Bars in the plots show the quartiles.");
    half_section(&page, &all.memory);
    half_section(&page, &all.net);
    if (!all.plots)
        page_text(&page, "There are no plots, because gnuplot is not installed.");
    return page_close(&page);
}

/* ---- files for other programs ---- */

static void write_figures(FILE *csv, FILE *json, const struct half *half, bool first)
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
    bool ok, net;
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
    net = ok && network_works(o);
    if (net)
        ok = measure(&all.net, o, compare_net_runners, compare_net_runner_count, NET_ROUNDS);
    all.memory.figures = perf_report_all(&all.memory.first); /* the report may have moved */
    all.net.figures = all.memory.figures + all.memory.count;
    machine_network(&all.machine, all.network);
    machine_peers(&all.machine);
    machine_load_after(&all.machine);
    if (!ok || !write_files() || !write_page())
        return 1;
    printf("%s/page.html is the page to send. page.md, figures.csv and figures.json in the same directory contain the "
           "same figures.\n",
           all.dir);
    return 0;
}
