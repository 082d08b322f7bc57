/* sections.c: the page of all: a summary, the machine, and for each test a paragraph, a table of the programs, and a
 * plot. page.c writes it as Markdown and as HTML. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "all.h"
#include "page.h"

const char *const all_columns[ALL_COLUMNS] = { "tern", "limit", "openmpi", "mpich", "oshmem", "ucx", "uct" };

/* ---- tables ---- */

static const struct perf_figure *find(const struct all_half *half, const char *test, const char *link,
                                      const char *metric, uint64_t size)
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
static bool has_column(const struct all_half *half, const struct compare_test *test, const char *link)
{
    for (size_t i = 0; i < half->count; i++) {
        if (strcmp(half->figures[i].test, test->name) == 0 && strcmp(half->figures[i].link, link) == 0)
            return true;
    }
    return false;
}

/* Return whether a peer has a figure of the test. */
static bool has_peer(const struct all_half *half, const struct compare_test *test)
{
    for (size_t c = ALL_PEERS; c < ALL_COLUMNS; c++) {
        if (has_column(half, test, all_columns[c]))
            return true;
    }
    return false;
}

static const char *column_title(const struct all_half *half, const char *link)
{
    for (size_t i = 0; i < half->count; i++) {
        if (strcmp(half->figures[i].link, link) == 0 && half->figures[i].label != NULL)
            return half->figures[i].label;
    }
    return link;
}

/* Write the row of one figure of Tern: the programs, and the ratios to the limit and to the best peer. */
static void table_row(struct page *page, const struct all_half *half, const struct compare_test *test,
                      const struct perf_figure *tern)
{
    struct human              unit = human_unit(tern->unit, tern->value.median);
    const struct perf_figure *best = NULL, *limit = find(half, test->name, "limit", tern->metric, tern->size);
    char                      text[64];

    page_row(page);
    snprintf(text, sizeof(text), "`%s`", tern->metric);
    page_cell(page, text);
    size_text(text, sizeof(text), test->name, tern->size);
    page_cell(page, text);
    page_cell(page, unit.name);
    for (size_t c = 0; c < ALL_COLUMNS; c++) {
        const struct perf_figure *f = find(half, test->name, all_columns[c], tern->metric, tern->size);

        if (!has_column(half, test, all_columns[c]))
            continue;
        text[0] = '\0';
        if (f != NULL)
            number_text(text, sizeof(text), f->value.median * unit.factor);
        page_cell(page, text);
        if (c < ALL_PEERS || f == NULL)
            continue;
        if (best == NULL || (compare_less_is_better(f->unit) ? f->value.median < best->value.median
                                                             : f->value.median > best->value.median))
            best = f;
    }
    if (has_column(half, test, "limit"))
        ratio_cell(page, tern, limit);
    if (has_peer(half, test))
        ratio_cell(page, tern, best);
    page_row_end(page);
}

static void table_head(struct page *page, const struct all_half *half, const struct compare_test *test)
{
    page_table(page);
    page_row(page);
    page_cell(page, "figure");
    page_cell(page, "size");
    page_cell(page, "unit");
    for (size_t c = 0; c < ALL_COLUMNS; c++) {
        if (!has_column(half, test, all_columns[c]))
            continue;
        page_cell(page, column_title(half, all_columns[c]));
    }
    if (has_column(half, test, "limit"))
        page_cell(page, "Tern / limit");
    if (has_peer(half, test))
        page_cell(page, "Tern / best peer");
    page_row_end(page);
}

static void picture(struct page *page, const struct all_half *half, const struct compare_test *test, const char *title)
{
    struct perf_figure *some = calloc(half->count + 1, sizeof(*some));
    size_t              n = 0;
    char                name[128], path[700];

    for (size_t i = 0; some != NULL && i < half->count; i++) {
        if (strcmp(half->figures[i].test, test->name) == 0)
            some[n++] = half->figures[i];
    }
    snprintf(name, sizeof(name), "%s%s.svg", half->prefix, test->name);
    snprintf(path, sizeof(path), "%s/%s", page->dir, name);
    if (n > 0 && perf_plot_figures(path, title, some, n))
        page_picture(page, name, title);
    else
        page->lacks_picture = true;
    free(some);
}

/* Return whether the limit has a figure of this metric. */
static bool has_limit(const struct all_half *half, const struct compare_test *test, const char *metric)
{
    for (size_t i = 0; i < half->count; i++) {
        const struct perf_figure *f = &half->figures[i];

        if (strcmp(f->test, test->name) == 0 && strcmp(f->link, "limit") == 0 && strcmp(f->metric, metric) == 0)
            return true;
    }
    return false;
}

/* Write what the test measures, and what the limit of each of its figures is. */
static void test_text(struct page *page, const struct all_half *half, const struct compare_test *test,
                      const struct perf_test *own)
{
    bool   capital = own->what[0] >= 'a' && own->what[0] <= 'z';
    char   text[1024];
    size_t used = (size_t)snprintf(text, sizeof(text), "%c%s.", own->what[0] - (capital ? 32 : 0), own->what + 1);

    for (size_t m = 0; m < COMPARE_METRICS && test->metrics[m] != NULL && used < sizeof(text); m++) {
        if (has_limit(half, test, test->metrics[m]))
            used += (size_t)snprintf(text + used, sizeof(text) - used, " The limit of `%s` is %s.", test->metrics[m],
                                     compare_limit_text(test, test->metrics[m], half->over_net));
    }
    page_text(page, "%s", text);
}

static void test_section(struct page *page, const struct all_half *half, const struct compare_test *test, bool plots)
{
    const struct perf_test *own = perf_test_find(test->test != NULL ? test->test : test->name);
    char                    title[256];

    page_heading(page, 3, test->name);
    if (!has_column(half, test, "tern")) {
        page_text(page, "This test failed.");
        return;
    }
    snprintf(title, sizeof(title), "%s: %s", test->name, own != NULL ? own->what : "");
    if (own != NULL)
        test_text(page, half, test, own);
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
    if (plots)
        picture(page, half, test, title);
}

/* Return why nothing was measured over the network. */
static const char *no_network(const struct all *all)
{
    return strncmp(all->network, "none: ", 6) == 0 ? all->network + 6 : all->network;
}

static void half_section(struct page *page, const struct all *all, const struct all_half *half)
{
    page_heading(page, 2, half->title);
    if (half->over_net && !all->has_network) {
        page_text(page, "Nothing was measured over the network: %s.", no_network(all));
        return;
    }
    if (half->test_count == 0)
        page_text(page, "None of the chosen tests can be compared %s.",
                  half->over_net ? "over the network" : "through shared memory");
    for (size_t t = 0; t < half->test_count; t++)
        test_section(page, half, &half->tests[t], all->plots);
}

/* ---- the page ---- */

/* Write the first figure of a test as one cell with its unit. */
static void summary_cell(struct page *page, const struct all_half *half, const struct compare_test *test)
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

static void summary(struct page *page, const struct all *all)
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
    page_row_end(page);
    for (size_t t = 0; t < all->memory.test_count; t++) {
        const struct compare_test *test = &all->memory.tests[t];
        size_t n = test->sizes != NULL ? measure_sizes_from(0, test->sizes, sizes, MEASURE_MAX_SIZES) : 0;

        page_row(page);
        page_cell(page, test->name);
        snprintf(text, sizeof(text), "`%s`", test->metrics[0]);
        page_cell(page, text);
        size_text(text, sizeof(text), test->name, n > 0 ? sizes[0] : 0);
        page_cell(page, n > 0 ? text : "-");
        summary_cell(page, &all->memory, test);
        summary_cell(page, &all->net, test);
        page_row_end(page);
    }
    page_table_end(page);
}

static void machine_section(struct page *page, const struct all *all)
{
    page_heading(page, 2, "Machine");
    page_table(page);
    page_row(page);
    page_cell(page, "what");
    page_cell(page, "value");
    page_row_end(page);
    for (size_t i = 0; i < all->machine.facts; i++) {
        page_row(page);
        page_cell(page, all->machine.fact[i].name);
        page_cell(page, all->machine.fact[i].value);
        page_row_end(page);
    }
    page_table_end(page);
    if (machine_was_busy(&all->machine))
        page_text(page, "Other programs were running before the measurement began. Measure again on an idle machine "
                        "before you compare these figures with others.");
    page_heading(page, 2, "Links");
    page_text(page,
              "Two ranks on this machine, each bound to a core of its own if there are two. Through shared memory, the "
              "data of allocated regions moves by loads and stores (link `shm`), and long messages from private memory "
              "by cross-memory attach, if the kernel permits it.");
    if (all->has_network)
        page_text(
            page,
            "Over the network, the same ranks share no memory, not even for barriers, and communicate on this machine "
            "through the loopback interface: %s.",
            all->network);
    else
        page_text(page, "No network could be used: %s.", no_network(all));
}

/* Write how many rounds there were, such as "5 rounds (3 over the network)". */
static void rounds_text(const struct all *all, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%zu round%s", all->memory.rounds, all->memory.rounds == 1 ? "" : "s");

    if (all->net.rounds > 0 && used < size)
        snprintf(text + used, size - used, " (%zu over the network)", all->net.rounds);
}

bool all_write_page(const struct all *all)
{
    const char *commit = machine_fact(&all->machine, "commit");
    struct page page;
    char        title[96], rounds[64];

    rounds_text(all, rounds, sizeof(rounds));
    snprintf(title, sizeof(title), "Performance of Tern %.40s", tern_version());
    if (!page_open(&page, all->dir, title))
        return false;
    page_text(&page,
              "Measured by `tern-perf all`%s%s on %s, on %s. Every figure is the median of %s of short runs, in which "
              "all programs take turns. `docs/measuring.md` explains the tests and what is compared with what.",
              strcmp(commit, tern_version()) != 0 ? " at commit " : "",
              strcmp(commit, tern_version()) != 0 ? commit : "", machine_fact(&all->machine, "date"),
              machine_fact(&all->machine, "processor"), rounds);
    summary(&page, all);
    machine_section(&page, all);
    page_heading(&page, 2, "How to read the tables");
    page_text(&page,
              "Smaller times are better, and larger rates and bandwidths are better. \"Tern / limit\" divides the "
              "figure of Tern by what the machine can do without a library, measured in turn with it. \"Tern / "
              "best peer\" divides it by the best figure of the other libraries. GB/s are 10^9 bytes, and "
              "M/s are 10^6 operations, per second. In the plots, the vertical line through a point or at the end of a "
              "bar reaches from the lower to the upper quartile.");
    half_section(&page, all, &all->memory);
    half_section(&page, all, &all->net);
    if (!all->plots)
        page_text(&page, "There are no plots, because gnuplot is not installed.");
    return page_close(&page);
}
