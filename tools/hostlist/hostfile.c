/* hostfile.c: reads a file with hosts, as other launchers have it and as PBS writes it.
 *
 * Each line has one host: HOST, HOST:4 or HOST slots=4. Text behind # is ignored, and so are empty lines. A host that
 * is listed again gets the ranks of all its lines; a line without a number then counts as one rank.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/segment.h"
#include "hostlist.h"

#define BLANKS " \t\r\n"

/* A line of the file, and what was read before it. */
struct position {
    const char *path;
    int         line;
    int         first;       /* the first host of this file in the list of hosts */
    bool        is_repeated; /* a host was listed again */
};

/* Read what follows the name: slots=N, or max_slots=N, which is ignored. Returns false on error. */
static bool read_words(const struct host_refusal *refusal, const char *name, char *words, int *ranks)
{
    char *rest = NULL;

    for (char *word = strtok_r(words, BLANKS, &rest); word != NULL; word = strtok_r(NULL, BLANKS, &rest)) {
        const char *value = strchr(word, '=');

        if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
            continue;
        if (strncmp(word, "slots=", 6) != 0)
            return host_refuse(refusal, "'%.100s' is not understood; a line is HOST, HOST:4 or HOST slots=4", word);
        if (!host_list_ranks(refusal, name, value + 1, strlen(value + 1), ranks))
            return false;
    }
    return true;
}

/* Add ranks to a host that this file listed before. Returns false on error. */
static bool add_again(const struct host_refusal *refusal, struct host_entry *host, int ranks)
{
    host->ranks = (host->ranks > 0 ? host->ranks : 1) + (ranks > 0 ? ranks : 1);
    if (host->ranks <= TERN_MAX_NODE_RANKS)
        return true;
    return host_refuse(refusal, "host %.100s takes 1 to %d ranks, and its lines add up to more", host->name,
                       TERN_MAX_NODE_RANKS);
}

static bool read_line(const struct host_refusal *refusal, struct position *at, char *line, struct host_list *list)
{
    char              *word = line + strspn(line, BLANKS), name[HOST_NAME_BYTES];
    size_t             len;
    int                ranks;
    struct host_entry *known;

    word[strcspn(word, "#")] = '\0';
    len = strcspn(word, BLANKS);
    if (len == 0)
        return true;
    if (!host_list_word(refusal, word, len, name, &ranks) || !read_words(refusal, name, word + len, &ranks))
        return false;
    known = host_list_find(list, name);
    if (known == NULL || known < list->host + at->first)
        return host_list_add(refusal, list, name, ranks);
    at->is_repeated = true;
    return add_again(refusal, known, ranks);
}

static bool read_lines(const struct host_refusal *refusal, struct position *at, FILE *file, struct host_list *list)
{
    char  *line = NULL, why[300];
    size_t size = 0;
    bool   good = true;

    while (good && getline(&line, &size, file) >= 0) {
        at->line++;
        good = read_line(&(struct host_refusal){ why, sizeof(why) }, at, line, list);
    }
    free(line);
    if (!good)
        return host_refuse(refusal, "line %d of %.200s: %s", at->line, at->path, why);
    if (ferror(file))
        return host_refuse(refusal, "cannot read %.200s: %s", at->path, strerror(errno));
    return list->hosts > at->first || host_refuse(refusal, "%.200s names no host", at->path);
}

bool host_list_read_file(const struct host_refusal *refusal, const char *path, bool each_line, struct host_list *list)
{
    struct position at = { .path = path, .first = list->hosts };
    FILE           *file = fopen(path, "re");
    bool            good;

    if (file == NULL)
        return host_refuse(refusal, "cannot read %.200s: %s", *path != '\0' ? path : "a file without a name",
                           strerror(errno));
    good = read_lines(refusal, &at, file, list);
    fclose(file);
    for (int i = at.first; i < list->hosts && (each_line || at.is_repeated); i++)
        list->host[i].ranks += list->host[i].ranks == 0;
    return good;
}
