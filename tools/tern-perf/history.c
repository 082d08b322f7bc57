/* history.c: history: shows the figures of several runs side by side: of several commits, or of several machines.
 *
 * It reads the files *.csv in a directory and below it: those that "all" has written, which begin with lines "# name:
 * value" about the commit, the date and the machine, and the output of any test with --csv. A file is a run, which is
 * one column. Runs are ordered by date. The table has the figures of Tern; CSV and JSON also have those of the peers.
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compare.h"

#define MAX_RUNS 64
#define WORD 64

/* One figure: a row of the table, with a value for each run that has it. */
struct row {
    char   test[WORD], link[WORD], metric[WORD], unit[WORD];
    int    run, ranks;
    size_t size;
    double value;
    char   spread[160]; /* the columns p25 to max, as they are in the file */
};

struct run {
    char path[512], commit[128], date[64], machine[160];
};

static struct {
    struct run  runs[MAX_RUNS];
    size_t      run_count;
    struct row *rows;
    size_t      row_count, room;
    bool        too_many;
} history;

static struct row *row_new(void)
{
    if (history.row_count == history.room) {
        history.room = history.room == 0 ? 256 : 2 * history.room;
        history.rows = realloc(history.rows, history.room * sizeof(*history.rows));
        if (history.rows == NULL) {
            fprintf(stderr, "tern-perf: not enough memory for the figures\n");
            exit(1);
        }
    }
    return &history.rows[history.row_count];
}

/* Return whether a metric of an older format is the spread of another one. */
static bool is_spread(const char *metric)
{
    size_t n = strlen(metric);

    return n > 4 && (strcmp(metric + n - 4, "_p25") == 0 || strcmp(metric + n - 4, "_p75") == 0 ||
                     strcmp(metric + n - 4, "_min") == 0);
}

/* Read one line of a file: a fact about the run, or a figure. */
static void read_line(struct run *run, const char *line)
{
    struct row *row = row_new();
    int         used = 0;

    if (line[0] == '#') {
        sscanf(line, "# commit: %127[^\n]", run->commit);
        sscanf(line, "# date: %63[^\n]", run->date);
        sscanf(line, "# processor: %159[^\n]", run->machine);
        return;
    }
    memset(row, 0, sizeof(*row));
    if (sscanf(line, "%63[^,],%63[^,],%d,%zu,%63[^,],%lf,%63[^,\n]%n", row->test, row->link, &row->ranks, &row->size,
               row->metric, &row->value, row->unit, &used) != 7 ||
        is_spread(row->metric) || !isfinite(row->value))
        return;
    if (line[used] == ',')
        sscanf(line + used + 1, "%159[^\n]", row->spread);
    row->run = (int)history.run_count;
    history.row_count++;
}

/* Read a file, if it contains figures: its first line that is not a comment is the head of tern-perf's CSV. */
static int read_file(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    struct run *run = &history.runs[history.run_count];
    size_t      n = strlen(path), before = history.row_count;
    char        line[1024];
    bool        head = false;
    FILE       *f;

    (void)about;
    (void)where;
    if (kind != FTW_F || n < 4 || strcmp(path + n - 4, ".csv") != 0)
        return 0;
    if (history.run_count == MAX_RUNS) {
        history.too_many = true;
        return 0;
    }
    memset(run, 0, sizeof(*run));
    snprintf(run->path, sizeof(run->path), "%s", path);
    f = fopen(path, "re");
    if (f == NULL) {
        fprintf(stderr, "tern-perf: %s: %s\n", path, strerror(errno));
        return 0;
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        if (line[0] == '#' || head)
            read_line(run, line);
        else if (strncmp(line, "test,link,ranks,size,metric,value,unit", 38) != 0)
            break;
        else
            head = true;
    }
    fclose(f);
    if (history.row_count > before)
        history.run_count++;
    return 0;
}

/* Runs without a date are first, ordered by the names of their files. */
static int by_date(const void *a, const void *b)
{
    const struct run *x = &history.runs[*(const int *)a], *y = &history.runs[*(const int *)b];
    int               order = strcmp(x->date, y->date);

    return order != 0 ? order : strcmp(x->path, y->path);
}

/* Return whether a row belongs to the table: peers, limits and derived ratios do not. */
static bool is_ours(const struct row *row)
{
    static const char *const others[] = { "limit", "openmpi", "mpich",    "oshmem", "ucx",
                                          "uct",   "tcp",     "pingpong", "iperf3" };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t n = strlen(others[i]);

        if (strncmp(row->link, others[i], n) == 0 && (row->link[n] == '\0' || strcmp(row->link + n, "-net") == 0))
            return false;
    }
    return strcmp(row->unit, "ratio") != 0;
}

static bool same_figure(const struct row *a, const struct row *b)
{
    return a->size == b->size && a->ranks == b->ranks && strcmp(a->test, b->test) == 0 &&
           strcmp(a->link, b->link) == 0 && strcmp(a->metric, b->metric) == 0 && strcmp(a->unit, b->unit) == 0;
}

static const struct row *value_in(const struct row *like, int run)
{
    for (size_t i = 0; i < history.row_count; i++) {
        if (history.rows[i].run == run && same_figure(&history.rows[i], like))
            return &history.rows[i];
    }
    return NULL;
}

static const char *name_of(const struct run *run)
{
    return run->commit[0] != '\0' ? run->commit : run->path;
}

/* Print one row: the value of each run, and the ratio of the last run to the first one that has a value. */
static void table_row(const struct row *row, const int *order)
{
    const struct row *first = NULL, *last = NULL;
    double            ratio;
    char              size[24];

    perf_size_text(row->test, row->size, size);
    printf("%-11s %-9s %5d %9s  %-20s %-5s", row->test, row->link, row->ranks, size, row->metric, row->unit);
    for (size_t r = 0; r < history.run_count; r++) {
        const struct row *value = value_in(row, order[r]);

        if (value != NULL)
            printf(" %10.5g", value->value);
        else
            printf(" %10s", "-");
        first = first == NULL ? value : first;
        last = value != NULL ? value : last;
    }
    if (first != NULL && last != first && first->value > 0 && last->value > 0) {
        ratio = compare_less_is_better(row->unit) ? last->value / first->value : first->value / last->value;
        printf(" %7.2f", ratio);
    }
    putchar('\n');
}

static void print_table(const int *order)
{
    for (size_t r = 0; r < history.run_count; r++) {
        const struct run *run = &history.runs[order[r]];

        printf("%3zu  %s%s%s%s%s  (%s)\n", r + 1, name_of(run), run->date[0] != '\0' ? ", " : "", run->date,
               run->machine[0] != '\0' ? ", " : "", run->machine, run->path);
    }
    printf("size: in bytes, or what the manual page says about the test\n"
           "ratio: the last run compared with the first one; above 1.00 the last one is worse: slower, or larger in "
           "memory\n%-11s %-9s %5s %9s  %-20s %-5s",
           "test", "link", "ranks", "size", "figure", "unit");
    for (size_t r = 0; r < history.run_count; r++)
        printf(" %10zu", r + 1);
    printf(" %7s\n", "ratio");
    for (size_t i = 0; i < history.row_count; i++) {
        bool seen = !is_ours(&history.rows[i]);

        for (size_t g = 0; g < i && !seen; g++)
            seen = same_figure(&history.rows[g], &history.rows[i]);
        if (!seen)
            table_row(&history.rows[i], order);
    }
}

/* Print text as a field of CSV between quotes. */
static void csv_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    fputs("\",", stdout);
}

static void print_csv(const int *order)
{
    printf("commit,date,machine,%s\n", MEASURE_CSV_HEADER);
    for (size_t r = 0; r < history.run_count; r++) {
        const struct run *run = &history.runs[order[r]];

        for (size_t i = 0; i < history.row_count; i++) {
            const struct row *row = &history.rows[i];

            if (row->run != order[r])
                continue;
            csv_text(name_of(run));
            printf("%s,", run->date);
            csv_text(run->machine);
            printf("%s,%s,%d,%zu,%s,%.6g,%s,%s\n", row->test, row->link, row->ranks, row->size, row->metric, row->value,
                   row->unit, row->spread[0] != '\0' ? row->spread : ",,,");
        }
    }
}

/* Print a member of a JSON object whose value is a text of a file, which may contain anything. */
static void json_text(const char *before, const char *name, const char *text)
{
    printf("%s\"%s\": \"", before, name);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar((unsigned char)*text < 0x20 ? ' ' : *text);
    }
    putchar('"');
}

static void json_row(const struct run *run, const struct row *row)
{
    double p25, p75, min, max;

    json_text("{", "commit", name_of(run));
    json_text(", ", "date", run->date);
    json_text(", ", "machine", run->machine);
    json_text(", ", "test", row->test);
    json_text(", ", "link", row->link);
    printf(", \"ranks\": %d, \"size\": %zu", row->ranks, row->size);
    json_text(", ", "metric", row->metric);
    printf(", \"value\": %.6g", row->value);
    json_text(", ", "unit", row->unit);
    if (sscanf(row->spread, "%lf,%lf,%lf,%lf", &p25, &p75, &min, &max) == 4 && isfinite(p25 + p75 + min + max))
        printf(", \"p25\": %.6g, \"p75\": %.6g, \"min\": %.6g, \"max\": %.6g", p25, p75, min, max);
    putchar('}');
}

static void print_json(const int *order)
{
    const char *separator = "[\n  ";

    for (size_t r = 0; r < history.run_count; r++) {
        for (size_t i = 0; i < history.row_count; i++) {
            if (history.rows[i].run != order[r])
                continue;
            fputs(separator, stdout);
            json_row(&history.runs[order[r]], &history.rows[i]);
            separator = ",\n  ";
        }
    }
    puts("\n]");
}

int perf_history(const struct perf_options *o)
{
    int         order[MAX_RUNS];
    struct stat about;

    if (o->word_count != 1)
        return perf_complain("history wants one directory with the pages of several runs: tern-perf history DIR", "");
    if (stat(o->words[0], &about) < 0) {
        fprintf(stderr, "tern-perf: %s: %s; name the directory that contains the output of tern-perf all\n",
                o->words[0], strerror(errno));
        return 2;
    }
    nftw(o->words[0], read_file, 16, FTW_PHYS);
    if (history.run_count == 0) {
        fprintf(stderr,
                "tern-perf: no figures in %s; 'tern-perf all --output %s/NAME' and the option --csv write files that "
                "history reads\n",
                o->words[0], o->words[0]);
        return 1;
    }
    if (history.too_many)
        fprintf(stderr, "tern-perf: %s contains more than %d files with figures; the others are left out\n",
                o->words[0], MAX_RUNS);
    for (size_t i = 0; i < history.run_count; i++)
        order[i] = (int)i;
    qsort(order, history.run_count, sizeof(order[0]), by_date);
    if (o->format == PERF_CSV)
        print_csv(order);
    else if (o->format == PERF_JSON)
        print_json(order);
    else
        print_table(order);
    free(history.rows);
    return 0;
}
