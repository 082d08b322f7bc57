/* search.c: evaluating all assignments of match bits and ignore bits without trying each of them.
 *
 * Whether an assignment is a solution depends only on the gets that each of its two entries accepts. The seven orders
 * use ten different gets. Entries that accept the same gets are equivalent, so the 2^18 entries fall into at most 2^10
 * kinds. The search tries all pairs of kinds; a pair counts for as many assignments as the product of the sizes of its
 * kinds.
 */
#include "search.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES (MATCH_VALUES * MATCH_VALUES)
#define MAX_THREADS 64

const struct match_order match_table[MATCH_ORDERS] = {
    { { MATCH_T1, MATCH_T2 }, { 1, 2 } },   { { MATCH_T2, MATCH_T1 }, { 2, 1 } },
    { { MATCH_ANY, MATCH_ANY }, { 1, 2 } }, { { MATCH_ANY, MATCH_T2 }, { 1, 2 } },
    { { MATCH_ANY, MATCH_T1 }, { 1, 0 } },  { { MATCH_T1, MATCH_ANY }, { 1, 2 } },
    { { MATCH_T2, MATCH_ANY }, { 1, 2 } },
};

const struct match_order match_mpi[MATCH_ORDERS] = {
    { { MATCH_T1, MATCH_T2 }, { 1, 2 } },   { { MATCH_T2, MATCH_T1 }, { 2, 1 } },
    { { MATCH_ANY, MATCH_ANY }, { 1, 2 } }, { { MATCH_ANY, MATCH_T2 }, { 1, 2 } },
    { { MATCH_ANY, MATCH_T1 }, { 1, 0 } },  { { MATCH_T1, MATCH_ANY }, { 1, 2 } },
    { { MATCH_T2, MATCH_ANY }, { 2, 1 } },
};

unsigned match_get_bits(const struct match_order *order, int position)
{
    unsigned bits = 1u << order->tag[position] | 1u << (3 + position);

    return bits | (position == 0 ? 1u << 5 : 1u << (6 + order->tag[0]));
}

static bool takes(struct match_entry entry, unsigned get)
{
    return ((get ^ entry.match) & ~entry.ignore & (MATCH_VALUES - 1)) == 0;
}

/* Return the send that a get fetches, among the sends whose bit is set in left. */
static int fetch(const bool taken[2], unsigned left)
{
    if (left & 1 && taken[0])
        return 1;
    return left & 2 && taken[1] ? 2 : 0;
}

/* Return whether two entries serve an order. taken[receive][entry] tells whether the entry accepts the get. */
static bool serves(const bool taken[2][2], const int fetches[2], bool any_order)
{
    unsigned left = 3;
    int      first = fetch(taken[0], left);

    if (first != fetches[0])
        return false;
    left &= first > 0 ? ~(1u << (first - 1)) : 3u;
    if (fetch(taken[1], left) != fetches[1])
        return false;
    if (!any_order)
        return true;
    left = 3;
    if (fetch(taken[1], left) != fetches[1])
        return false;
    left &= fetches[1] > 0 ? ~(1u << (fetches[1] - 1)) : 3u;
    return fetch(taken[0], left) == fetches[0];
}

bool match_serves(const struct match_entry entry[2], const struct match_order *order, bool any_order)
{
    bool taken[2][2];

    for (int receive = 0; receive < 2; receive++) {
        for (int send = 0; send < 2; send++)
            taken[receive][send] = takes(entry[send], match_get_bits(order, receive));
    }
    return serves((const bool(*)[2])taken, order->fetches, any_order);
}

/* ---- kinds of entries ---- */

/* All distinct gets of a table. */
struct gets {
    unsigned bits[2 * MATCH_ORDERS];
    unsigned count;
    unsigned of[MATCH_ORDERS][2]; /* the get that a receive uses */
};

static struct gets list_gets(const struct match_order *table)
{
    struct gets gets = { .count = 0 };

    for (int order = 0; order < MATCH_ORDERS; order++) {
        for (int receive = 0; receive < 2; receive++) {
            unsigned bits = match_get_bits(&table[order], receive), i = 0;

            while (i < gets.count && gets.bits[i] != bits)
                i++;
            if (i == gets.count)
                gets.bits[gets.count++] = bits;
            gets.of[order][receive] = i;
        }
    }
    return gets;
}

/* Return the set of gets that an entry accepts. */
static unsigned kind_of(const struct gets *gets, struct match_entry entry)
{
    unsigned kind = 0;

    for (unsigned i = 0; i < gets->count; i++)
        kind |= (unsigned)takes(entry, gets->bits[i]) << i;
    return kind;
}

static struct match_entry entry_of(unsigned number)
{
    return (struct match_entry){ number % MATCH_VALUES, number / MATCH_VALUES };
}

/* Return whether a pair of kinds serves all orders that the caller asks for. */
static bool pair_serves(const struct gets *gets, const struct match_order *table, unsigned orders,
                        const unsigned kind[2], bool any_order)
{
    for (int order = 0; order < MATCH_ORDERS; order++) {
        bool taken[2][2];

        if (!(orders >> order & 1))
            continue;
        for (int receive = 0; receive < 2; receive++) {
            for (int send = 0; send < 2; send++)
                taken[receive][send] = kind[send] >> gets->of[order][receive] & 1;
        }
        if (!serves((const bool(*)[2])taken, table[order].fetches, any_order))
            return false;
    }
    return true;
}

struct match_found match_search(const struct match_order *table, unsigned orders, bool any_order)
{
    struct gets        gets = list_gets(table);
    unsigned           kinds = 1u << gets.count, kind[2];
    struct match_found found = { .solutions = 0 };
    uint64_t          *number = calloc(kinds, sizeof(*number));
    unsigned          *example = calloc(kinds, sizeof(*example));

    for (unsigned i = 0; number != NULL && example != NULL && i < ENTRIES; i++) {
        unsigned k = kind_of(&gets, entry_of(i));

        found.behaviours += number[k] == 0;
        example[k] = number[k]++ == 0 ? i : example[k];
    }
    for (kind[0] = 0; number != NULL && example != NULL && kind[0] < kinds; kind[0]++) {
        for (kind[1] = 0; number[kind[0]] > 0 && kind[1] < kinds; kind[1]++) {
            if (number[kind[1]] == 0 || !pair_serves(&gets, table, orders, kind, any_order))
                continue;
            if (found.solutions == 0) {
                found.example[0] = entry_of(example[kind[0]]);
                found.example[1] = entry_of(example[kind[1]]);
            }
            found.solutions += number[kind[0]] * number[kind[1]];
        }
    }
    free(number);
    free(example);
    return found;
}

/* ---- exhaustive count ---- */

struct share {
    const uint16_t *kind; /* [entry] */
    const uint8_t  *good; /* [kind 0 << gets | kind 1] */
    unsigned        gets, first, end;
    uint64_t        solutions;
    pthread_t       thread;
    bool            started;
};

static void *count_share(void *argument)
{
    struct share *share = argument;

    for (unsigned i = share->first; i < share->end; i++) {
        const uint8_t *good = share->good + ((size_t)share->kind[i] << share->gets);
        uint64_t       solutions = 0;

        for (unsigned j = 0; j < ENTRIES; j++)
            solutions += good[share->kind[j]];
        share->solutions += solutions;
    }
    return NULL;
}

uint64_t match_count_all(const struct match_order *table, unsigned orders, bool any_order, unsigned threads)
{
    struct gets  gets = list_gets(table);
    struct share share[MAX_THREADS] = { { .kind = NULL } };
    uint16_t    *kind = malloc(ENTRIES * sizeof(*kind));
    uint8_t     *good = malloc(1u << (2 * gets.count));
    uint64_t     solutions = 0;

    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    for (unsigned i = 0; kind != NULL && i < ENTRIES; i++)
        kind[i] = (uint16_t)kind_of(&gets, entry_of(i));
    for (unsigned i = 0; good != NULL && i < 1u << (2 * gets.count); i++) {
        unsigned pair[2] = { i >> gets.count, i & ((1u << gets.count) - 1) };

        good[i] = pair_serves(&gets, table, orders, pair, any_order);
    }
    for (unsigned t = 0; kind != NULL && good != NULL && t < threads; t++) {
        share[t] = (struct share){
            kind, good, gets.count, ENTRIES / threads * t, t + 1 < threads ? ENTRIES / threads * (t + 1) : ENTRIES,
            0,    0,    false
        };
        share[t].started = t > 0 && pthread_create(&share[t].thread, NULL, count_share, &share[t]) == 0;
    }
    for (unsigned t = 0; kind != NULL && good != NULL && t < threads; t++) {
        if (share[t].started)
            pthread_join(share[t].thread, NULL);
        else
            count_share(&share[t]);
        solutions += share[t].solutions;
    }
    free(kind);
    free(good);
    return solutions;
}

/* ---- more than two sends ---- */

void match_by_mpi(int sends, const int *tag, int receives, int *fetches)
{
    unsigned left = (1u << sends) - 1;

    for (int receive = 0; receive < receives; receive++) {
        fetches[receive] = 0;
        for (int send = 0; send < sends && fetches[receive] == 0; send++) {
            if (left >> send & 1 && (tag[receive] < 0 || tag[receive] == send))
                fetches[receive] = send + 1;
        }
        if (fetches[receive] > 0)
            left &= ~(1u << (fetches[receive] - 1));
    }
}

/* Decode the tags of order `number`: its digits in base sends + 1, where the highest digit means any. */
static void order_of(int sends, int number, int *tag)
{
    for (int i = 0; i < sends; i++, number /= sends + 1)
        tag[i] = number % (sends + 1) == sends ? -1 : number % (sends + 1);
}

bool match_conflict(int sends, struct match_conflict *out)
{
    /* For each tag, position and preceding tag (the last index is none): the send that the receive must fetch, plus 1,
     * and the order in which it does. Only orders in which every receive fetches a message count. */
    int seen[5][4][6] = { { { 0 } } }, order[5][4][6], orders = 1;

    for (int i = 0; i < sends; i++)
        orders *= sends + 1;
    for (int number = 0; number < orders; number++) {
        int  tag[4] = { 0 }, fetches[4] = { 0 };
        bool complete = true;

        order_of(sends, number, tag);
        match_by_mpi(sends, tag, sends, fetches);
        for (int at = 0; at < sends; at++)
            complete = complete && fetches[at] > 0;
        for (int at = 0; complete && at < sends; at++) {
            int here = tag[at] < 0 ? sends : tag[at];
            int before = at == 0 ? sends + 1 : tag[at - 1] < 0 ? sends : tag[at - 1];

            if (seen[here][at][before] == 0) {
                seen[here][at][before] = fetches[at] + 1;
                order[here][at][before] = number;
            } else if (seen[here][at][before] != fetches[at] + 1) {
                *out = (struct match_conflict){ .receives = sends,
                                                .at = at,
                                                .fetches = { seen[here][at][before] - 1, fetches[at] } };
                order_of(sends, order[here][at][before], out->tag[0]);
                memcpy(out->tag[1], tag, sizeof(tag));
                return true;
            }
        }
    }
    return false;
}
