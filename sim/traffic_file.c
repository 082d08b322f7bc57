/* traffic_file.c: traffic from a file.
 *
 * Two kinds of lines, not mixed; # begins a comment:
 *   name: d0 d1 d2 ...            the destination of every node, in order; traffic_name chooses the line
 *   source destination [weight]   a flow; a source draws among its flows by weight (1 where none is given)
 * A node without a flow sends nothing.
 */
#include "traffic.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

struct pair {
    uint32_t source, target;
    double   weight;
};

struct reader {
    struct sim  *sim;
    const char  *path;
    unsigned     line;
    bool         named; /* a named line has been used */
    struct pair *pair;
    size_t       pairs, room;
};

static tern_status wrong(const struct reader *reader, const char *what, const char *word)
{
    return tern_base_fail(TERN_ERR_ARG, "traffic_file %.200s, line %u: %s '%.40s'; nodes are 0 to %u", reader->path,
                          reader->line, what, word, reader->sim->shape.nodes - 1);
}

static bool read_node(const struct reader *reader, const char *word, uint32_t *out)
{
    int64_t value;

    if (!tern_base_parse_count(word, &value) || value < 0 || value >= reader->sim->shape.nodes)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* Read the rest of a named line: a destination for every node. */
static tern_status take_all(struct reader *reader, char *rest)
{
    uint32_t nodes = reader->sim->shape.nodes, i = 0;
    char    *keep = NULL;

    for (char *word = strtok_r(rest, " \t", &keep); word != NULL; word = strtok_r(NULL, " \t", &keep), i++) {
        if (i >= nodes)
            return wrong(reader, "more destinations than nodes, from", word);
        if (!read_node(reader, word, &reader->sim->node[i].fixed))
            return wrong(reader, "no node", word);
    }
    if (i < nodes)
        return tern_base_fail(TERN_ERR_ARG, "traffic_file %.200s, line %u: has destinations for %u nodes of %u",
                              reader->path, reader->line, i, nodes);
    reader->named = true;
    return TERN_OK;
}

static tern_status add_pair(struct reader *reader, struct pair pair)
{
    if (reader->pairs == reader->room) {
        size_t       room = reader->room > 0 ? 2 * reader->room : 1024;
        struct pair *more = realloc(reader->pair, room * sizeof(*more));

        if (more == NULL)
            return tern_base_fail(TERN_ERR_NOMEM, "no memory for %zu flows of %s", room, reader->path);
        reader->pair = more;
        reader->room = room;
    }
    reader->pair[reader->pairs++] = pair;
    return TERN_OK;
}

static tern_status take_flow(struct reader *reader, char *line)
{
    char       *keep = NULL, *source = strtok_r(line, " \t", &keep), *target = strtok_r(NULL, " \t", &keep);
    char       *weight = strtok_r(NULL, " \t", &keep);
    struct pair pair = { .weight = 1 };

    if (target == NULL)
        return wrong(reader, "no destination after", source);
    if (!read_node(reader, source, &pair.source))
        return wrong(reader, "no node", source);
    if (!read_node(reader, target, &pair.target))
        return wrong(reader, "no node", target);
    if (weight != NULL && (!tern_base_parse_seconds(weight, &pair.weight) || !(pair.weight > 0)))
        return wrong(reader, "no weight above 0:", weight);
    return add_pair(reader, pair);
}

static tern_status take_line(struct reader *reader, char *line)
{
    const char *wanted = reader->sim->config->traffic_name;
    char       *colon;

    line[strcspn(line, "#\r\n")] = '\0';
    line += strspn(line, " \t");
    if (*line == '\0')
        return TERN_OK;
    colon = strchr(line, ':');
    if (colon == NULL)
        return take_flow(reader, line);
    *colon = '\0';
    if (reader->named || (*wanted != '\0' && strcmp(line, wanted) != 0))
        return TERN_OK;
    return take_all(reader, colon + 1);
}

static int by_source(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* Convert the flows to cumulative weights per source. */
static tern_status build(struct reader *reader)
{
    struct sim_traffic *traffic = reader->sim->traffic;
    uint32_t            nodes = reader->sim->shape.nodes;
    size_t              at = 0;

    qsort(reader->pair, reader->pairs, sizeof(*reader->pair), by_source);
    traffic->first = malloc((nodes + 1) * sizeof(*traffic->first));
    traffic->flow = malloc(reader->pairs * sizeof(*traffic->flow));
    if (traffic->first == NULL || traffic->flow == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for %zu flows of %s", reader->pairs, reader->path);
    for (uint32_t node = 0; node < nodes; node++) {
        size_t begin = at;
        double sum = 0;

        traffic->first[node] = (uint32_t)at;
        for (; at < reader->pairs && reader->pair[at].source == node; at++) {
            sum += reader->pair[at].weight;
            traffic->flow[at] = (struct sim_flow){ reader->pair[at].target, sum };
        }
        for (size_t i = begin; i < at; i++)
            traffic->flow[i].until /= sum;
        reader->sim->node[node].silent = at == begin;
    }
    traffic->first[nodes] = (uint32_t)at;
    return TERN_OK;
}

static tern_status finish(struct reader *reader)
{
    if (reader->named && reader->pairs > 0)
        return tern_base_fail(TERN_ERR_ARG, "traffic_file %s mixes named lines and flows; keep one kind", reader->path);
    if (reader->pairs > 0)
        return build(reader);
    if (reader->named)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_ARG, "traffic_file %s has no line named '%s' and no flows", reader->path,
                          reader->sim->config->traffic_name);
}

tern_status sim_traffic_read(struct sim *sim)
{
    struct reader reader = { .sim = sim, .path = sim->config->traffic_file };
    tern_status   status = TERN_OK;
    char         *line = NULL;
    size_t        room = 0;
    FILE         *file;

    if (*reader.path == '\0')
        return tern_base_fail(TERN_ERR_ARG, "traffic=file needs traffic_file=PATH");
    file = fopen(reader.path, "re");
    if (file == NULL)
        return tern_base_fail(TERN_ERR_ARG, "traffic_file %s cannot be read: %s", reader.path, strerror(errno));
    while (status == TERN_OK && getline(&line, &room, file) >= 0) {
        reader.line++;
        status = take_line(&reader, line);
    }
    fclose(file);
    free(line);
    if (status == TERN_OK)
        status = finish(&reader);
    free(reader.pair);
    return status;
}
