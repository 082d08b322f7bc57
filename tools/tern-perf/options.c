/* options.c: the options of the command line: parses them, and refuses those that the chosen test does not use.
 *
 * Every option has a bit. A test uses the bits that follow from its row in tests.c: a test with sizes uses --sizes, a
 * test with a limit uses --vs-limit, and so on (perf_test_uses). An option that has no effect on a test is an error,
 * because the user would believe that the figures depend on the option.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define MAX_NAME 48 /* bytes of the longest name for which a similar name is searched */

enum { OPT_VERSION = 256, OPT_LIST, OPT_INIT_RANK };

/* An option: its name, the short option or 0, whether it has a value, and its bit. Bit 0: every test accepts it. */
static const struct {
    const char *name;
    int         letter, value;
    uint32_t    bit;
} options[] = {
    { "sizes", 's', required_argument, PERF_SIZES },
    { "window", 'w', required_argument, PERF_WINDOW },
    { "memory", 'm', required_argument, PERF_MEMORY },
    { "vs-limit", 0, no_argument, PERF_VS_LIMIT },
    { "time", 't', required_argument, PERF_TIME },
    { "repeat", 'r', required_argument, PERF_REPEAT },
    { "iters", 'i', required_argument, PERF_ITERS },
    { "csv", 0, no_argument, PERF_TO_CSV },
    { "json", 0, no_argument, PERF_TO_JSON },
    { "plot", 'p', required_argument, PERF_PLOT },
    { "net", 0, optional_argument, PERF_NET },
    { "ranks", 'n', required_argument, PERF_RANKS },
    { "element", 0, required_argument, PERF_ELEMENT },
    { "generate", 0, no_argument, PERF_GENERATE },
    { "messages", 0, required_argument, PERF_MESSAGES },
    { "rounds", 0, required_argument, PERF_ROUNDS },
    { "limit", 0, required_argument, PERF_LIMIT },
    { "peers", 0, required_argument, PERF_PEERS },
    { "build", 0, required_argument, PERF_BUILD },
    { "self", 0, no_argument, PERF_SELF },
    { "threads", 0, required_argument, PERF_THREADS },
    { "output", 'o', required_argument, PERF_OUTPUT },
    { "commit", 0, required_argument, PERF_COMMIT },
    { "hosts", 0, required_argument, PERF_HOSTS },
    { "agent", 0, required_argument, PERF_AGENT },
    { "quiet", 'q', no_argument, 0 },
    { "help", 'h', no_argument, 0 },
    { "version", OPT_VERSION, no_argument, 0 },
    { "list", OPT_LIST, no_argument, 0 },
    { "init-rank", OPT_INIT_RANK, required_argument, 0 }, /* used by "init" to start its ranks; not for users */
};
#define OPTIONS (sizeof(options) / sizeof(options[0]))

/* Return whether this process prints error messages: in a job only the first rank does. */
bool perf_speaks(void)
{
    const char *boot = getenv("TERN_BOOT");

    return boot == NULL || strstr(boot, "rank=0,") != NULL;
}

int perf_complain(const char *what, const char *about)
{
    if (perf_speaks())
        fprintf(stderr, "tern-perf: %s%s%s; see tern-perf --help\n", what, about[0] != '\0' ? ": " : "", about);
    return 2;
}

/* Return the number of characters to insert, delete or replace to turn a, in lower case, into b. If one of the two
 * begins with the other, the result is 1. */
static size_t distance(const char *a, const char *b)
{
    size_t row[MAX_NAME + 1], n = strlen(a), m = strlen(b), shorter = n < m ? n : m;

    if (n > MAX_NAME || m > MAX_NAME)
        return SIZE_MAX;
    if (n != m && shorter >= 3 && strncmp(a, b, shorter) == 0)
        return 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = diagonal + (tolower((unsigned char)a[i - 1]) != b[j - 1]),
                   other = row[j] < row[j - 1] ? row[j] : row[j - 1];

            diagonal = row[j];
            row[j] = replaced < other + 1 ? replaced : other + 1;
        }
    }
    return row[m];
}

void perf_nearest(const char *word, const char *candidate, struct perf_near *near)
{
    size_t edits = distance(word, candidate), most = strlen(word) / 3 + 1;

    if (edits <= most && (near->name == NULL || edits < near->edits)) {
        near->name = candidate;
        near->edits = edits;
    }
}

int perf_no_such_test(const char *name)
{
    struct perf_near near = { 0 };

    for (size_t i = 0; i < perf_test_count; i++)
        perf_nearest(name, perf_tests[i].name, &near);
    if (perf_speaks())
        fprintf(stderr, "tern-perf: there is no test %s%s%s%s; tern-perf --list shows all tests\n", name,
                near.name != NULL ? " (did you mean " : "", near.name != NULL ? near.name : "",
                near.name != NULL ? "?)" : "");
    return 2;
}

/* Print that an option does not exist, and which option has a similar name. text is the argument as it was typed. */
static int no_such_option(const char *text)
{
    struct perf_near near = { 0 };
    char             name[MAX_NAME + 1];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
    for (size_t i = 0; i < OPTIONS && strncmp(name, "--", 2) == 0; i++) {
        if (options[i].letter != OPT_INIT_RANK)
            perf_nearest(name + 2, options[i].name, &near);
    }
    if (perf_speaks())
        fprintf(stderr, "tern-perf: unknown option: %s%s%s%s; see tern-perf --help\n", text,
                near.name != NULL ? " (did you mean --" : "", near.name != NULL ? near.name : "",
                near.name != NULL ? "?)" : "");
    return 2;
}

/* Print what is wrong with the option that getopt_long has just refused. text is the argument before the next one. */
static int refused(const char *text)
{
    char letter[] = { '-', (char)optopt, '\0' };
    bool has_value = strncmp(text, "--", 2) == 0 && strchr(text, '=') != NULL;

    if (optopt != 0 && has_value)
        return perf_complain("this option takes no value", text);
    return no_such_option(optopt > 0 && optopt < 256 ? letter : text);
}

uint32_t perf_test_uses(const struct perf_test *test)
{
    uint32_t uses = test->uses;

    if (test->run != NULL)
        uses |= PERF_TIME | PERF_REPEAT | PERF_ITERS | PERF_FIGURES | PERF_NET | PERF_RANKS;
    if (test->sizes != NULL)
        uses |= PERF_SIZES;
    if (test->windows != NULL)
        uses |= PERF_WINDOW;
    if (test->limit != NULL)
        uses |= PERF_VS_LIMIT;
    return uses & ~test->ignores;
}

/* Print that the test does not use option i, and which tests do. */
static int refuse(const struct perf_test *test, size_t i)
{
    const char *separator = "";

    if (!perf_speaks())
        return 2;
    fprintf(stderr, "tern-perf: %s does not use --%s; these tests use it: ", test->name, options[i].name);
    for (size_t t = 0; t < perf_test_count; t++) {
        if ((perf_test_uses(&perf_tests[t]) & options[i].bit) == 0)
            continue;
        fprintf(stderr, "%s%s", separator, perf_tests[t].name);
        separator = ", ";
    }
    fputc('\n', stderr);
    return 2;
}

int perf_options_check(const struct perf_options *o, const struct perf_test *test)
{
    uint32_t wrong = o->given & ~perf_test_uses(test);

    for (size_t i = 0; i < OPTIONS; i++) {
        if ((wrong & options[i].bit) != 0)
            return refuse(test, i);
    }
    if (o->self && o->build == NULL)
        return perf_complain("--self needs the build that it compares with itself: compare --build DIR --self", "");
    if (o->build != NULL && o->peers != NULL)
        return perf_complain("compare --build runs no peers; leave out --peers", o->peers);
    if ((o->given & PERF_TO_CSV) != 0 && (o->given & PERF_TO_JSON) != 0)
        return perf_complain("--csv and --json exclude each other", "");
    for (size_t i = 0; i < o->size_count; i++) {
        if (o->sizes[i] == 0 && !test->empty)
            return perf_complain("0 is no size for this test", test->name);
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

static bool parse_small(size_t *number, const char *text)
{
    uint64_t count;

    if (!parse_count(&count, text, PERF_MAX_REPEAT))
        return false;
    *number = (size_t)count;
    return true;
}

/* Store an option whose value is a number or a list of numbers. Returns an error message, or NULL if the value is
 * valid. */
static const char *take_number(struct perf_options *o, uint32_t bit, const char *value)
{
    switch (bit) {
    case PERF_SIZES:
        o->size_count = measure_sizes_from(0, value, o->sizes, MEASURE_MAX_SIZES);
        return o->size_count > 0 ? NULL : "--sizes wants A:B or A,B,C, like 1:1M or 8,4K";
    case PERF_WINDOW:
        return parse_list(o->windows, &o->window_count, value, PERF_MAX_WINDOW)
                   ? NULL
                   : "--window wants numbers from 1 to 65536";
    case PERF_ITERS: return parse_count(&o->iters, value, 1ull << 40) ? NULL : "--iters wants a number of at least 1";
    case PERF_TIME: return (o->time = measure_number(value)) > 0 ? NULL : "--time wants seconds";
    case PERF_LIMIT: return (o->limit = measure_number(value)) > 0 ? NULL : "--limit wants seconds";
    case PERF_REPEAT: return parse_small(&o->repeat, value) ? NULL : "--repeat wants a number from 1 to 1000";
    case PERF_ROUNDS: return parse_small(&o->rounds, value) ? NULL : "--rounds wants a number from 1 to 1000";
    case PERF_RANKS:
        return parse_list(o->ranks, &o->ranks_count, value, 4096) ? NULL : "--ranks wants numbers from 1 to 4096";
    case PERF_MESSAGES:
        return parse_count(&o->messages, value, 1ull << 30) ? NULL : "--messages wants a number of at least 1";
    case PERF_ELEMENT:
        return parse_count(&o->element, value, 1u << 20) ? NULL : "--element wants a number of bytes from 1 to 1M";
    default:
        return parse_list(o->threads, &o->threads_count, value, 256) ? NULL : "--threads wants numbers from 1 to 256";
    }
}

/* Store one option. Returns an error message, or NULL if the option is valid. */
static const char *take_option(struct perf_options *o, uint32_t bit, const char *value)
{
    o->given |= bit;
    switch (bit) {
    case PERF_MEMORY: return parse_memory(o, value) ? NULL : "--memory wants host, huge or registered";
    case PERF_NET:
        o->net = true;
        o->link_ofi = value != NULL && strcmp(value, "ofi") == 0;
        o->provider = o->link_ofi ? NULL : value;
        return NULL;
    case PERF_GENERATE: o->generate = true; return NULL;
    case PERF_TO_CSV: o->format = PERF_CSV; return NULL;
    case PERF_TO_JSON: o->format = PERF_JSON; return NULL;
    case PERF_VS_LIMIT: o->vs_limit = true; return NULL;
    case PERF_PLOT: o->plot = value; return NULL;
    case PERF_PEERS: o->peers = value; return NULL;
    case PERF_BUILD: o->build = value; return NULL;
    case PERF_SELF: o->self = true; return NULL;
    case PERF_OUTPUT: o->output = value; return value[0] != '\0' ? NULL : "--output wants a directory";
    case PERF_COMMIT: o->commit = value; return NULL;
    case PERF_HOSTS: o->hosts = value; return NULL;
    case PERF_AGENT: o->agent = value; return NULL;
    case 0: o->quiet = true; return NULL;
    default: return take_number(o, bit, value);
    }
}

/* Print the list of all tests. */
static void list(void)
{
    for (size_t i = 0; i < perf_test_count; i++) {
        const struct perf_test *t = &perf_tests[i];

        printf("%-9s %s\n", t->name, t->what);
        if (t->metric != NULL)
            printf("%-9s   main figure %s in %s%s%s\n", "", t->metric, t->unit, t->sizes != NULL ? ", sizes " : "",
                   t->sizes != NULL ? t->sizes : "");
        if (t->limit != NULL)
            printf("%-9s   limit: %s\n", "", t->limit);
    }
}

/* Make the tables of getopt_long. The value of option i is its letter, or 512 + i if it has none. */
static void getopt_tables(struct option longs[OPTIONS + 1], char shorts[3 * OPTIONS + 2])
{
    size_t n = 0;

    shorts[n++] = ':'; /* distinguish a missing value from an unknown option */
    memset(longs, 0, (OPTIONS + 1) * sizeof(*longs));
    for (size_t i = 0; i < OPTIONS; i++) {
        int letter = options[i].letter;

        longs[i] = (struct option){ options[i].name, options[i].value, NULL, letter != 0 ? letter : 512 + (int)i };
        if (letter > 0 && letter < 256) {
            shorts[n++] = (char)letter;
            if (options[i].value == required_argument)
                shorts[n++] = ':';
        }
    }
    shorts[n] = '\0';
}

static size_t index_of(int value)
{
    size_t i = 0;

    while (i < OPTIONS && value != (options[i].letter != 0 ? options[i].letter : 512 + (int)i))
        i++;
    return i;
}

/* Handle an option that prints something and ends the program, or one of the ranks of init. Returns -1 for the other
 * options. */
static int at_once(int value, const char *argument)
{
    switch (value) {
    case 'h': perf_usage(); return 0;
    case OPT_LIST: list(); return 0;
    case OPT_VERSION: printf("tern-perf %s\n", tern_version()); return 0;
    case OPT_INIT_RANK: return perf_init_rank(argument);
    default: return -1;
    }
}

int perf_options_parse(struct perf_options *o, int argc, char **argv)
{
    struct option longs[OPTIONS + 1];
    char          shorts[3 * OPTIONS + 2];
    const char   *wrong;
    int           value, status;

    getopt_tables(longs, shorts);
    opterr = 0;
    while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (value == ':')
            return perf_complain("this option wants a value", argv[optind - 1]);
        if (value == '?')
            return refused(argv[optind - 1]);
        if ((status = at_once(value, optarg)) >= 0)
            return status;
        wrong = take_option(o, options[index_of(value)].bit, optarg);
        if (wrong != NULL)
            return perf_complain(wrong, optarg != NULL ? optarg : argv[optind - 1]);
    }
    if (optind == argc) {
        if (perf_speaks())
            fprintf(stderr, "tern-perf: name a test, such as put_lat; tern-perf --list shows all tests\n");
        return 2;
    }
    o->words = argv + optind + 1;
    o->word_count = (size_t)(argc - optind - 1);
    o->test = argv[optind];
    return -1;
}
