/* options.c: print the options with their values, the sources of the values and their meanings; or print the page
 * docs/options.md, which lists the options with their defaults. Both come from base/options.def, and both begin with
 * the options that most users need. */
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "info.h"

#define INDENT "         " /* indentation of the lines that explain an option */

/* The options that matter to most users, the most important ones first. */
static const char *const important[] = {
    "TERN_LOG",          "TERN_TIMEOUT",         "TERN_STALL_REPORT",  "TERN_ON_FAILURE",  "TERN_LINKS",
    "TERN_OFI_PROVIDER", "TERN_OFI_DOMAIN",      "TERN_LAUNCHER",      "TERN_NODE",        "TERN_SPIN",
    "TERN_CMA",          "TERN_PROGRESS_THREAD", "TERN_PROGRESS_CORE", "TERN_MEMORY_KEEP", "TERN_CHAOS",
};
#define IMPORTANT (sizeof(important) / sizeof(important[0]))

static char (*problems)[512]; /* [options] why the value in the environment was rejected; "" if it was not */

/* Load each option from an environment that has only the variable of that option, so that every rejected value is
 * found and not only the first. Then load all options together. */
void info_options_load(char *const *environment)
{
    size_t count = tern_base_options_count();

    problems = calloc(count, sizeof(*problems));
    if (problems == NULL) {
        fprintf(stderr, "tern-info: not enough memory\n");
        exit(1);
    }
    for (char *const *entry = environment; *entry != NULL; entry++) {
        for (size_t i = 0; i < count; i++) {
            const char *name = tern_base_options_row(i).name;
            size_t      n = strlen(name);
            char *const alone[] = { *entry, NULL };

            if (strncmp(*entry, name, n) == 0 && (*entry)[n] == '=' && tern_base_options_load(alone) < 0)
                snprintf(problems[i], sizeof(problems[i]), "%s", tern_base_detail());
        }
    }
    tern_base_options_load(environment);
}

const char *info_options_problem(size_t option)
{
    return problems[option][0] != '\0' ? problems[option] : NULL;
}

static bool is_important(const char *name)
{
    for (size_t i = 0; i < IMPORTANT; i++)
        if (strcmp(important[i], name) == 0)
            return true;
    return false;
}

/* Return the index of the option that is printed as number i: first the important options, then the others in the order
 * of options.def. */
static size_t option_at(size_t i)
{
    size_t skipped = IMPORTANT, index = 0;

    for (; index < tern_base_options_count(); index++) {
        const char *name = tern_base_options_row(index).name;

        if (i < IMPORTANT ? strcmp(name, important[i]) == 0 : !is_important(name) && skipped++ == i)
            break;
    }
    assert(index < tern_base_options_count()); /* every important option exists */
    return index;
}

/* Write the values that an option takes, as they follow its current value: ", one of on|off" or ", from 0 to 8". */
static void range_text(const struct tern_option_info *o, char *text, size_t size)
{
    int colon = (int)strcspn(o->range, ":");

    text[0] = '\0';
    if (strchr(o->range, '|') != NULL)
        snprintf(text, size, ", one of %s", o->range);
    else if (o->range[0] != '\0')
        snprintf(text, size, ", from %.*s to %s", colon, o->range, o->range + colon + (o->range[colon] == ':'));
}

static void print_option(size_t index)
{
    struct tern_option_info o = tern_base_options_row(index);
    const char             *problem = info_options_problem(index);
    char                    text[2560], range[128];
    const struct info_field fields[] = { { "name", o.name },        { "value", o.value },  { "source", o.source },
                                         { "default", o.fallback }, { "type", o.type },    { "range", o.range },
                                         { "meaning", o.meaning },  { "problem", problem } };

    range_text(&o, range, sizeof(range));
    snprintf(text, sizeof(text), "%-20s = %-8s (%s)%s\n" INDENT "%s%s%s", o.name, o.value[0] != '\0' ? o.value : "-",
             o.source, range, o.meaning, problem != NULL ? "\n" INDENT "REFUSED: " : "",
             problem != NULL ? problem : "");
    info_item(text, fields, 8);
}

void info_options(bool all)
{
    size_t left = 0;
    char   text[160];

    info_list("options", all || info_is_json()
                             ? "Options (environment variables), the most important ones first"
                             : "Options (environment variables): those that matter most, and those that are set");
    for (size_t i = 0; i < tern_base_options_count(); i++) {
        size_t index = option_at(i);

        if (all || info_is_json() || i < IMPORTANT || info_options_problem(index) != NULL ||
            strcmp(tern_base_options_row(index).source, "default") != 0)
            print_option(index);
        else
            left++;
    }
    snprintf(text, sizeof(text), "(%zu more options, all at their defaults: tern-info --all)", left);
    if (left > 0)
        info_more(text);
    info_list_end();
}

/* Print a cell of a Markdown table. A bar must be escaped, because it would end the cell. */
static void cell(const char *text)
{
    fputs("| ", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
    putchar(' ');
}

static void code_cell(const char *text)
{
    char quoted[256];

    snprintf(quoted, sizeof(quoted), text[0] != '\0' ? "`%s`" : "%s", text);
    cell(quoted);
}

#define HEAD "| option | default | type | range | meaning |\n| --- | --- | --- | --- | --- |\n"

void info_options_markdown(void)
{
    printf("# Options\n\n"
           "Every option is an environment variable. `tern-info` shows the current values and where each value comes\n"
           "from. `tern_init` fails if the value of an option is invalid. For an unknown variable whose name begins\n"
           "with `TERN_`, Tern prints a warning that suggests the closest option. Sizes accept the suffixes K, M, G\n"
           "and T (powers of 1024).\n\n"
           "`tern-info --markdown` generates this page from `src/base/options.def`.\n\n"
           "## The options that most users need\n\n" HEAD);
    for (size_t i = 0; i < tern_base_options_count(); i++) {
        struct tern_option_info o = tern_base_options_row(option_at(i));

        if (i == IMPORTANT)
            printf("\n## All other options\n\n" HEAD);
        code_cell(o.name);
        code_cell(o.fallback);
        cell(o.type);
        code_cell(o.range);
        cell(o.meaning);
        puts("|");
    }
}
