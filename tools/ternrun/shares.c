/* shares.c: divides the cores of a host among its ranks.
 *
 * The ranks get ranges of cores in the order of their numbers. Where a range begins depends on decisions before it: in
 * run_shares_divide, whether a rank gets the smaller or the larger share; in run_shares_pack, whether a core stays
 * unused. One number, the shift, counts these decisions: rank r begins with core r * least + shift. run_search finds
 * the decisions with the fewest crossed borders by dynamic programming over ranks and shifts, from the last rank to the
 * first. This file makes no system calls except for memory.
 */
#include <stdint.h>
#include <stdlib.h>

#include "bind.h"

#define BORDERS_BITS 20 /* a machine has fewer borders than 2^20 at each level */
#define IMPOSSIBLE INT64_MAX

struct search {
    const struct run_cores *cores;
    int                     ranks;
    int                     least;         /* cores of a share, or of the smaller share */
    int                     shifts;        /* largest shift */
    bool                    is_divided;    /* a shift makes a share larger; otherwise it leaves a core unused */
    enum run_level          level[LEVELS]; /* the most important one first */
    int64_t                *best, *next; /* [shifts + 1] costs of this rank and all later ones, and of all later ones */
    bool                   *shifted;     /* [ranks][shifts + 1] the decisions */
};

/* Return the number of crossed borders at all levels, weighted by importance. */
static int64_t cost(const struct search *search, int first, int count)
{
    const struct run_core *core = search->cores->core;
    int64_t                sum = 0;

    for (int i = 0; i < LEVELS; i++)
        sum =
            (sum << BORDERS_BITS) + core[first + count - 1].unit[search->level[i]] - core[first].unit[search->level[i]];
    return sum;
}

static int64_t add(int64_t a, int64_t b)
{
    return a == IMPOSSIBLE || b == IMPOSSIBLE ? IMPOSSIBLE : a + b;
}

/* Decide for one rank at all shifts. */
static void decide(struct search *search, int rank)
{
    for (int shift = search->shifts; shift >= 0; shift--) {
        int     first = rank * search->least + shift;
        int64_t plain = add(cost(search, first, search->least), search->next[shift]), other = IMPOSSIBLE;
        bool    shifted;

        if (shift < search->shifts && search->is_divided)
            other = add(cost(search, first, search->least + 1), search->next[shift + 1]);
        else if (shift < search->shifts)
            other = search->best[shift + 1];
        /* If both are equal, the first ranks get the larger shares, and the first cores are used. */
        shifted = search->is_divided ? other <= plain && other != IMPOSSIBLE : other < plain;
        search->best[shift] = shifted ? other : plain;
        search->shifted[(size_t)rank * ((size_t)search->shifts + 1) + (size_t)shift] = shifted;
    }
}

/* Follow the decisions from the first rank to the last. */
static void follow(const struct search *search, struct run_share *share)
{
    int shift = 0;

    for (int r = 0; r < search->ranks; r++) {
        const bool *shifted = &search->shifted[(size_t)r * ((size_t)search->shifts + 1)];

        while (!search->is_divided && shifted[shift])
            shift++;
        share[r] = (struct run_share){ r * search->least + shift, search->least };
        if (search->is_divided && shifted[shift]) {
            share[r].count++;
            shift++;
        }
    }
}

static bool run_search(struct search *search, struct run_share *share)
{
    size_t   width = (size_t)search->shifts + 1;
    int64_t *rows = malloc(2 * width * sizeof(*rows));
    bool     is_good;

    search->shifted = malloc((size_t)search->ranks * width * sizeof(*search->shifted));
    is_good = rows != NULL && search->shifted != NULL;
    if (is_good) {
        search->best = rows;
        search->next = rows + width;
        for (size_t i = 0; i < width; i++) /* divided cores must all be used */
            search->best[i] = search->is_divided && i + 1 < width ? IMPOSSIBLE : 0;
        for (int r = search->ranks - 1; r >= 0; r--) {
            int64_t *row = search->next;

            search->next = search->best;
            search->best = row;
            decide(search, r);
        }
        follow(search, share);
    }
    free(search->shifted);
    free(rows);
    return is_good;
}

bool run_shares_divide(const struct run_cores *cores, int ranks, struct run_share *share)
{
    struct search search = { .cores = cores,
                             .ranks = ranks,
                             .least = cores->count / ranks,
                             .shifts = cores->count % ranks,
                             .is_divided = true,
                             .level = { LEVEL_SOCKET, LEVEL_NUMA, LEVEL_L3 } };

    return run_search(&search, share);
}

bool run_shares_pack(const struct run_cores *cores, int ranks, int each, enum run_level level, struct run_share *share)
{
    struct search search = {
        .cores = cores, .ranks = ranks, .least = each, .shifts = cores->count - ranks * each, .level = { level }
    };
    int filled = 1;

    for (int other = 0; other < LEVELS; other++)
        if (other != (int)level)
            search.level[filled++] = (enum run_level)other;
    return run_search(&search, share);
}

/* Return the range of cores that belong to the units first ... last of a level. */
static struct run_share cores_of_units(const struct run_cores *cores, enum run_level level, int first, int last)
{
    struct run_share share = { 0, 0 };

    while (cores->core[share.first].unit[level] < first)
        share.first++;
    while (share.first + share.count < cores->count && cores->core[share.first + share.count].unit[level] <= last)
        share.count++;
    return share;
}

void run_shares_units(const struct run_cores *cores, int ranks, enum run_level level, struct run_share *share)
{
    int64_t units = cores->units[level];

    for (int64_t r = 0; r < ranks; r++) {
        /* With more ranks than units, a rank gets the unit of the core in the middle of its fair share. */
        int64_t middle = (2 * r + 1) * cores->count / (2 * (int64_t)ranks);
        int64_t first = cores->core[middle].unit[level], last = first;

        if (ranks < units) {
            first = r * units / ranks;
            last = (r + 1) * units / ranks - 1;
        }
        share[r] = cores_of_units(cores, level, (int)first, (int)last);
    }
}

bool run_share_crosses(const struct run_cores *cores, const struct run_share *share, enum run_level level)
{
    return cores->core[share->first].unit[level] != cores->core[share->first + share->count - 1].unit[level];
}

int run_shares_room(const struct run_cores *cores, int each, enum run_level level)
{
    int room = 0, in_unit = 0;

    for (int i = 0; i < cores->count; i++) {
        if (i > 0 && cores->core[i].unit[level] != cores->core[i - 1].unit[level])
            in_unit = 0;
        if (++in_unit % each == 0)
            room++;
    }
    return room;
}
