/* options.c: every option of Tern with its value, where that came from and what it means; and the same list without
 * values as the page docs/options.md. All of it comes from base/options.def. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "info.h"

static char (*problems)[512]; /* [options] why the value in the environment was refused; "" if it was not */

/* Load each option from an environment that has only its own variable, to learn of every refused value and not only of
 * the first; then all together. */
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

void info_options(void)
{
    info_list("options", "Options (environment variables)");
    for (size_t i = 0; i < tern_base_options_count(); i++) {
        struct tern_option_info o = tern_base_options_row(i);
        const char             *problem = problems[i][0] != '\0' ? problems[i] : NULL;
        char                    text[2048];
        const struct info_field fields[] = { { "name", o.name },        { "value", o.value },  { "source", o.source },
                                             { "default", o.fallback }, { "type", o.type },    { "range", o.range },
                                             { "meaning", o.meaning },  { "problem", problem } };

        snprintf(text, sizeof(text), "%-20s = %-8s (%s)%s%s\n         %s%s%s", o.name,
                 o.value[0] != '\0' ? o.value : "-", o.source, o.range[0] != '\0' ? " of " : "", o.range, o.meaning,
                 problem != NULL ? "\n         REFUSED: " : "", problem != NULL ? problem : "");
        info_item(text, fields, 8);
    }
    info_list_end();
}

/* A cell of a Markdown table: a bar would end it. */
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
           "Every option is an environment variable. `tern-info` shows the values in force and where they came from.\n"
           "A value that cannot be used is an error of `tern_init`; a `TERN_` name that is no option gets a warning\n"
           "with the nearest name. Sizes take the suffixes K, M, G and T (powers of 1024).\n\n"
           "This page is made by `tern-info --markdown` from `src/base/options.def`.\n\n"
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
