/* wrap.c: commands in front of the program.
 *
 * A rank executes `prefix... tool... program arguments...`. The prefix is that of --prefix. The tool is the debugger or
 * valgrind (debug.c), for the ranks in a list. Both are texts that are split into words at blanks, with quotes as in a
 * shell, and in which %r, %n, %h and %% stand for the rank, the number of ranks, the host and a percent sign. Nothing
 * else is special, and no shell is used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ternrun.h"

/* ---- texts ---- */

/* What the escapes stand for. */
struct values {
    int         rank, ranks;
    const char *host;
};

/* Write what an escape stands for; out NULL: write nothing. Returns false if there is no such escape. */
static bool write_escape(FILE *out, char escape, const struct values *values)
{
    if (escape == '\0' || strchr("rnh%", escape) == NULL)
        return false;
    if (out == NULL)
        return true;
    switch (escape) {
    case 'r': fprintf(out, "%d", values->rank); break;
    case 'n': fprintf(out, "%d", values->ranks); break;
    case 'h': fputs(values->host, out); break;
    default: fputc('%', out); break;
    }
    return true;
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n';
}

/* Write the words of a text, each followed by a zero byte; out NULL: only check the text. Returns the number of words,
 * or -1 if the text is wrong; why is then the reason. */
static int write_words(FILE *out, const char *text, const struct values *values, char *why, size_t size)
{
    char quote = 0;
    bool in_word = false;
    int  words = 0;

    for (; *text != '\0' || in_word; text++) {
        bool ends = quote == 0 && (*text == '\0' || is_blank(*text));

        if (*text == '\0' && quote != 0)
            return snprintf(why, size, "a quote is not closed"), -1;
        if (ends && in_word && out != NULL)
            fputc('\0', out);
        words += ends && in_word;
        in_word = !ends;
        if (*text == '\0')
            break;
        if (ends)
            continue;
        if (quote != 0 ? *text == quote : *text == '\'' || *text == '"') {
            quote = quote != 0 ? 0 : *text;
        } else if (*text == '%') {
            if (!write_escape(out, *++text, values))
                return snprintf(why, size,
                                "%%%.1s is no escape: %%r is the rank, %%n the number of ranks, %%h the host, %%%% a "
                                "percent sign",
                                text),
                       -1;
        } else if (out != NULL) {
            fputc(*text, out);
        }
    }
    return words;
}

bool run_wrap_check(const char *text, char *why, size_t size)
{
    int words = write_words(NULL, text, NULL, why, size);

    if (words == 0)
        snprintf(why, size, "it names no command");
    return words > 0;
}

/* ---- lists of ranks ---- */

/* Read the range at the front of a list of ranks. Returns false if there is none. */
static bool read_range(const char **list, long *first, long *last)
{
    char *end;

    if (**list < '0' || **list > '9')
        return false;
    *first = *last = strtol(*list, &end, 10);
    if (*end == '-') {
        if (end[1] < '0' || end[1] > '9')
            return false;
        *last = strtol(end + 1, &end, 10);
    }
    *list = *end == ',' ? end + 1 : end;
    return (*end == '\0' || (*end == ',' && end[1] != '\0')) && *first <= *last;
}

bool run_wrap_has(const char *list, int rank)
{
    long first, last;

    if (strcmp(list, "all") == 0)
        return true;
    while (read_range(&list, &first, &last))
        if (rank >= first && rank <= last)
            return true;
    return false;
}

int run_wrap_count(const char *list, int ranks, char *why, size_t size)
{
    const char *rest = list;
    long        first, last;
    int         count = 0;

    if (strcmp(list, "all") == 0)
        return ranks;
    while (*rest != '\0' && read_range(&rest, &first, &last)) {
        if (last >= ranks) {
            snprintf(why, size, "there is no rank %ld: the job has the ranks 0 to %d", last, ranks - 1);
            return 0;
        }
        if (*rest == '\0')
            break;
    }
    for (int r = 0; r < ranks && *rest == '\0'; r++)
        count += run_wrap_has(list, r);
    if (count == 0)
        snprintf(why, size, "it takes all, or a list of ranks such as 0,2-3");
    return count;
}

/* ---- the command of a rank ---- */

/* Return the words behind each other in allocated memory, and their number, or NULL if there is no memory. */
static char *rank_words(const struct run_config *config, const struct values *values, int *count)
{
    char   why[200], *text = NULL;
    size_t len;
    FILE  *out = open_memstream(&text, &len);
    bool   has_tool = config->tool != NULL && run_wrap_has(config->tool_ranks, values->rank);

    if (out == NULL)
        return NULL;
    *count = config->prefix != NULL ? write_words(out, config->prefix, values, why, sizeof(why)) : 0;
    *count += has_tool ? write_words(out, config->tool, values, why, sizeof(why)) : 0;
    return fclose(out) == 0 ? text : NULL;
}

char **run_wrap_command(const struct run_job *job, int rank, char **program)
{
    struct values values = { .rank = job->first + rank, .ranks = job->given.ranks, .host = job->host };
    char        **command, *at;
    int           words = 0, arguments = 0;

    if (job->config->prefix == NULL && job->config->tool == NULL)
        return program;
    at = rank_words(job->config, &values, &words);
    if (at != NULL && words == 0) {
        free(at);
        return program;
    }
    while (program[arguments] != NULL)
        arguments++;
    command = at != NULL ? calloc((size_t)(words + arguments + 1), sizeof(*command)) : NULL;
    if (command == NULL)
        return NULL;
    for (int i = 0; i < words; i++, at += strlen(at) + 1)
        command[i] = at;
    memcpy(command + words, program, (size_t)arguments * sizeof(*command));
    return command;
}

void run_wrap_free(char **command, char **program)
{
    if (command == NULL || command == program)
        return;
    free(command[0]); /* the words are one text */
    free(command);
}
