/* options.c: print every option with its value, the source of the value and its meaning; or print the page
 * docs/options.md, which lists the options with their defaults. Both come from base/options.def. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "info.h"

#define WIDTH 120
#define INDENT "         " /* indentation of the lines that explain an option */

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

/* Copy text to out, which has size bytes, as lines of at most WIDTH columns that begin with INDENT. A line breaks at
 * a blank; the first line has no indentation. Text that does not fit into out is truncated. */
static void wrap(char *out, size_t size, const char *text)
{
    size_t column = sizeof(INDENT) - 1, used = 0;

    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        bool   breaks = used > 0 && column + 1 + word > WIDTH;
        int    n = snprintf(out + used, size - used, "%s%.*s",
                         used == 0 ? ""
                            : breaks  ? "\n" INDENT
                                      : " ",
                            (int)word, text);

        if (n < 0 || (size_t)n >= size - used)
            return;
        column = breaks ? sizeof(INDENT) - 1 + word : column + word + (used > 0);
        used += (size_t)n;
        text += word;
        text += strspn(text, " ");
    }
}

void info_options(void)
{
    info_list("options", "Options (environment variables)");
    for (size_t i = 0; i < tern_base_options_count(); i++) {
        struct tern_option_info o = tern_base_options_row(i);
        const char             *problem = problems[i][0] != '\0' ? problems[i] : NULL;
        char                    meaning[1024] = "", text[2560];
        const struct info_field fields[] = { { "name", o.name },        { "value", o.value },  { "source", o.source },
                                             { "default", o.fallback }, { "type", o.type },    { "range", o.range },
                                             { "meaning", o.meaning },  { "problem", problem } };

        wrap(meaning, sizeof(meaning), o.meaning);
        snprintf(text, sizeof(text), "%-20s = %-8s (%s)%s%s\n" INDENT "%s%s%s", o.name,
                 o.value[0] != '\0' ? o.value : "-", o.source, o.range[0] != '\0' ? " of " : "", o.range, meaning,
                 problem != NULL ? "\n" INDENT "REFUSED: " : "", problem != NULL ? problem : "");
        info_item(text, fields, 8);
    }
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

void info_options_markdown(void)
{
    printf("# Options\n\n"
           "Every option is an environment variable. `tern-info` shows the current values and where each value comes\n"
           "from. `tern_init` fails if the value of an option is invalid. For an unknown variable whose name begins\n"
           "with `TERN_`, Tern prints a warning that suggests the closest option. Sizes accept the suffixes K, M, G\n"
           "and T (powers of 1024).\n\n"
           "`tern-info --markdown` generates this page from `src/base/options.def`.\n\n"
           "| option | default | type | range | meaning |\n| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < tern_base_options_count(); i++) {
        struct tern_option_info o = tern_base_options_row(i);

        code_cell(o.name);
        code_cell(o.fallback);
        cell(o.type);
        code_cell(o.range);
        cell(o.meaning);
        puts("|");
    }
}
