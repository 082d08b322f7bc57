/* cmdline.c: reads the options of a command line, and writes the help, by the table of options.
 *
 * The forms are those of getopt_long: --name value, --name=value, -n value, -nvalue, and an unambiguous beginning of a
 * name. -np is accepted with a single dash too, because every other launcher has it. The first word that is not an
 * option, or the word behind --, ends the options.
 */
#include "cmdline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

#define HELP_COLUMN 26 /* where the texts of the help begin */
#define HELP_WIDTH 80

void run_usage(const char *format, ...)
{
    char    text[700];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    run_say("%s%s ternrun --help", text, text[strlen(text) - 1] == '?' ? " See" : "; see");
    exit(EXIT_USAGE);
}

/* ---- finding options ---- */

static bool is_option(const struct run_option *option)
{
    return option->take != NULL;
}

/* Return whether the option may differ between the programs of a job. */
static bool is_of_program(const struct run_option *option)
{
    return strcmp(option->name, "np") == 0 || strcmp(option->name, "env") == 0 || strcmp(option->name, "wdir") == 0;
}

static const struct run_option *find_letter(const struct run_option *option, char letter)
{
    for (; option->name != NULL; option++)
        if (is_option(option) && option->letter == letter)
            return option;
    return NULL;
}

static const struct run_option *find_name(const struct run_option *option, const char *name)
{
    for (; option->name != NULL; option++)
        if (is_option(option) && strcmp(option->name, name) == 0)
            return option;
    return NULL;
}

static const char *nearest(const struct run_option *option, const char *name)
{
    const char *best = NULL;
    size_t      least = SIZE_MAX;

    for (; option->name != NULL; option++) {
        size_t edits =
            is_option(option) && option->help != NULL ? tern_base_spelling_edits(name, option->name) : SIZE_MAX;

        if (edits < least) {
            least = edits;
            best = option->name;
        }
    }
    return best;
}

/* End ternrun with the reason why a name is no option. dashes is what the user wrote before the name. */
__attribute__((noreturn)) static void refuse_name(const struct run_option *option, const char *dashes, const char *name)
{
    const char *answer = run_foreign_answer(name), *near = nearest(option, name);

    if (answer != NULL)
        run_usage("%s%s is an option of other launchers: %s", dashes, name, answer);
    if (find_name(option, name) != NULL)
        run_usage("%s%.100s is no option; did you mean --%s?", dashes, name, name);
    if (near != NULL)
        run_usage("%s%.100s is no option; did you mean --%s?", dashes, name, near);
    run_usage("%s%.100s is no option", dashes, name);
}

/* Find a name, or the only option that begins with it. Ends ternrun if there is none. */
static const struct run_option *find_long(const struct run_option *table, const char *name)
{
    const struct run_option *found = find_name(table, name), *other = NULL;

    if (found != NULL)
        return found;
    if (*name == '\0' || run_foreign_answer(name) != NULL)
        refuse_name(table, "--", name);
    for (const struct run_option *option = table; option->name != NULL; option++)
        if (is_option(option) && option->help != NULL && strncmp(option->name, name, strlen(name)) == 0) {
            other = found;
            found = option;
            if (other != NULL)
                run_usage("--%.100s is the beginning of --%s and of --%s; write the whole name", name, other->name,
                          found->name);
        }
    if (found == NULL)
        refuse_name(table, "--", name);
    return found;
}

/* ---- reading ---- */

/* Take an option whose value is inside, the rest of its own word, or else the next word. Returns the word behind. */
static char **take(struct run_config *config, const struct run_option *option, const char *inside, char **words)
{
    if (config->programs > 1 && !is_of_program(option))
        run_usage("--%s is for the whole job; write it before the first program", option->name);
    if (option->value == NULL && inside != NULL)
        run_usage("--%s takes no value, and is given '%.100s'", option->name, inside);
    if (option->value != NULL && inside == NULL && words[1] == NULL)
        run_usage("%.100s needs a value: %.100s %s", words[0], words[0], option->value);
    if (option->value == NULL || inside != NULL) {
        option->take(config, inside);
        return words + 1;
    }
    option->take(config, words[1]);
    return words + 2;
}

static char **read_long(struct run_config *config, const struct run_option *table, char **words)
{
    const char *equals = strchr(words[0], '=');
    size_t      len = equals != NULL ? (size_t)(equals - words[0] - 2) : strlen(words[0] + 2);
    char        name[128];

    snprintf(name, sizeof(name), "%.*s", len < sizeof(name) ? (int)len : (int)sizeof(name) - 1, words[0] + 2);
    return take(config, find_long(table, name), equals != NULL ? equals + 1 : NULL, words);
}

/* Read a word with a single dash: -n 4, -n4, -x NAME, -np 4, -h. A name of several letters that is written with one
 * dash is not taken for a letter and its value. */
static char **read_short(struct run_config *config, const struct run_option *table, char **words)
{
    const char              *name = words[0] + 1;
    const struct run_option *option = find_letter(table, *name);
    bool                     is_name = find_name(table, name) != NULL || run_foreign_answer(name) != NULL;

    if (strcmp(name, "np") == 0)
        return take(config, find_name(table, "np"), NULL, words);
    if (option == NULL || (name[1] != '\0' && (is_name || option->value == NULL)))
        refuse_name(table, "-", name);
    return take(config, option, name[1] != '\0' ? name + 1 : NULL, words);
}

char **run_cmdline_read(struct run_config *config, const struct run_option *option, char **words)
{
    while (*words != NULL && **words == '-' && strcmp(*words, "-") != 0) {
        if (strcmp(*words, "--") == 0)
            return words + 1;
        words = (*words)[1] == '-' ? read_long(config, option, words) : read_short(config, option, words);
    }
    return words;
}

/* ---- the help ---- */

/* Write text wrapped at HELP_WIDTH. The cursor is at column at. */
static void write_wrapped(FILE *out, const char *text, int at)
{
    for (;;) {
        int space = HELP_WIDTH - HELP_COLUMN, len = (int)strlen(text);

        if (len > space)
            for (len = space; len > 0 && text[len] != ' ';)
                len--;
        fprintf(out, "%*s%.*s\n", HELP_COLUMN > at ? HELP_COLUMN - at : 0, "", len, text);
        if (text[len] == '\0')
            return;
        text += len + 1;
        at = 0;
    }
}

static void write_option(FILE *out, const struct run_option *option)
{
    int at = option->letter != 0 ? fprintf(out, "  -%c, ", option->letter) : fprintf(out, "      ");

    at += fprintf(out, "--%s%s%s", option->name, option->value != NULL ? " " : "",
                  option->value != NULL ? option->value : "");
    if (at > HELP_COLUMN - 2) {
        fputc('\n', out);
        at = 0;
    }
    write_wrapped(out, option->help, at);
}

char *run_cmdline_help(const struct run_option *option)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    for (; option->name != NULL; option++)
        if (!is_option(option))
            fprintf(out, "\n%s:\n", option->name);
        else if (option->help != NULL)
            write_option(out, option);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
