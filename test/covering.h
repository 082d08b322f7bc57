/* covering.h: samples of a product of factors that contain every pair of values of two factors.
 *
 * A test with many factors, such as the call, the type and the length, cannot try all combinations of their values. A
 * seeded sample in which every pair of values occurs finds what depends on one or two factors. The sample is built row
 * by row: a row begins with a pair that has not occurred, and its other values are those that add the most pairs. */
#ifndef TERN_COVERING_H
#define TERN_COVERING_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define COVER_FACTORS 10
#define COVER_VALUES 20

struct cover {
    int factors, values[COVER_FACTORS]; /* number of values of each factor */
    /* Whether a row is valid. Values of factors that are not decided are -1. */
    bool (*is_valid)(const int *row);
    /* Whether the factor has an effect in the row, whose first factor is decided. */
    bool (*matters)(const int *row, int factor);
    uint64_t seed;
    bool     seen[COVER_FACTORS][COVER_FACTORS][COVER_VALUES][COVER_VALUES]; /* or impossible */
};

static inline uint32_t cover_draw(struct cover *c, uint32_t below)
{
    c->seed = c->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((c->seed >> 33) % below);
}

/* Count the new pairs that a value of a factor has with the decided ones. */
static inline int cover_gain(const struct cover *c, const int *row, int factor)
{
    int gain = 0;

    if (!c->matters(row, factor))
        return 0;
    for (int f = 0; f < c->factors; f++)
        if (f != factor && row[f] >= 0 && c->matters(row, f))
            gain += f < factor ? !c->seen[f][factor][row[f]][row[factor]] : !c->seen[factor][f][row[factor]][row[f]];
    return gain;
}

/* Decide a factor: the valid value with the most new pairs, of several a random one. Returns false if none is valid. */
static inline bool cover_decide(struct cover *c, int *row, int factor)
{
    int best = -1, most = -1, first = (int)cover_draw(c, (uint32_t)c->values[factor]);

    for (int i = 0; i < c->values[factor]; i++) {
        row[factor] = (first + i) % c->values[factor];
        if (c->is_valid(row) && cover_gain(c, row, factor) > most) {
            most = cover_gain(c, row, factor);
            best = row[factor];
        }
    }
    row[factor] = best;
    return best >= 0;
}

/* Complete a row that begins with a pair, if there is a valid one in which both values have an effect. */
static inline bool cover_complete(struct cover *c, int *row, int a, int b)
{
    int order[COVER_FACTORS];

    for (int f = 0; f < c->factors; f++)
        order[f] = f;
    for (int f = 1; f < c->factors - 1; f++) { /* the first factor stays first */
        int other = f + (int)cover_draw(c, (uint32_t)(c->factors - f)), swap = order[f];

        order[f] = order[other];
        order[other] = swap;
    }
    if (row[0] < 0) { /* any value with which the pair has an effect */
        int first = (int)cover_draw(c, (uint32_t)c->values[0]);

        for (int i = 0; i < c->values[0]; i++) {
            row[0] = (first + i) % c->values[0];
            if (c->is_valid(row) && c->matters(row, a) && c->matters(row, b))
                break;
            row[0] = -1;
        }
    }
    if (row[0] < 0 || !c->is_valid(row) || !c->matters(row, a) || !c->matters(row, b))
        return false;
    for (int i = 0; i < c->factors; i++)
        if (row[order[i]] < 0 && !cover_decide(c, row, order[i]))
            return false;
    return true;
}

/* Write the next row. Returns false if all pairs have occurred. */
static inline bool cover_next(struct cover *c, int *row)
{
    for (int a = 0; a < c->factors; a++)
        for (int b = a + 1; b < c->factors; b++)
            for (int i = 0; i < c->values[a]; i++)
                for (int j = 0; j < c->values[b]; j++) {
                    bool some = !c->seen[a][b][i][j];

                    if (!some)
                        continue;
                    for (int f = 0; f < c->factors; f++)
                        row[f] = -1;
                    row[a] = i;
                    row[b] = j;
                    some = cover_complete(c, row, a, b);
                    c->seen[a][b][i][j] = true; /* or impossible */
                    if (!some)
                        continue;
                    for (int f = 0; f < c->factors; f++)
                        for (int g = f + 1; g < c->factors; g++)
                            if (c->matters(row, f) && c->matters(row, g))
                                c->seen[f][g][row[f]][row[g]] = true;
                    return true;
                }
    return false;
}

#endif
