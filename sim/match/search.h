/* search.h: can a sender and a receiver choose match bits independently of each other? See the RDRP paper, section 3.1,
 * theorem 2.
 *
 * In a rendezvous that the network executes alone, the receiver fetches the message with a get whose match bits were
 * chosen when the receive was posted, and the sender exposes the message with a match list entry whose match and ignore
 * bits were chosen when the send was posted. The receiver knows only the requested tag, the position of the receive,
 * and the tag of the preceding receive. Each of these values has one bit, nine bits in all: the tags t1, t2 and *
 * (any), the positions 1 and 2, and none, t1, t2 or * for the preceding receive. An entry accepts a get if ((get ^
 * match) & ~ignore) == 0. Entries are searched in the order of the sends, and each entry is used once.
 *
 * The sender posts t1, then t2. That makes two entries, so 2 * (9 + 9) = 36 bits to choose. An assignment of these bits
 * is a solution if, for every order of receives, each get fetches the message that MPI's matching rules prescribe.
 */
#ifndef MATCH_SEARCH_H
#define MATCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum match_tag { MATCH_T1, MATCH_T2, MATCH_ANY, MATCH_TAGS };

#define MATCH_BITS 9
#define MATCH_VALUES (1u << MATCH_BITS)
#define MATCH_ORDERS 7

/* An order of two receives, and the send that each receive must fetch: 1, 2, or 0 for none. */
struct match_order {
    enum match_tag tag[2];
    int            fetches[2];
};

/* The seven orders of table 1, as printed and as MPI requires. They differ in the last order, recv(t2); recv(*), where
 * the printed table lets a receive for t2 fetch a send with tag t1. */
extern const struct match_order match_table[MATCH_ORDERS], match_mpi[MATCH_ORDERS];

/* The match list entry of one send. */
struct match_entry {
    unsigned match, ignore;
};

/* Return the match bits of the get for receive number `position` (0 or 1) of an order. */
unsigned match_get_bits(const struct match_order *order, int position);

/* Return whether a pair of entries serves an order. If any_order is set, the entries must also serve the order when the
 * second get arrives before the first, while both entries are still there. */
bool match_serves(const struct match_entry entry[2], const struct match_order *order, bool any_order);

struct match_found {
    uint64_t           solutions; /* of all 2^36 assignments */
    struct match_entry example[2];
    unsigned behaviours; /* number of sets of gets that an entry can accept; entries with the same set are equivalent */
};

/* Search all assignments for those that serve every order whose bit is set in orders. */
struct match_found match_search(const struct match_order *table, unsigned orders, bool any_order);

/* Count the solutions without any shortcut, by testing all 2^36 assignments with the given number of threads. */
uint64_t match_count_all(const struct match_order *table, unsigned orders, bool any_order, unsigned threads);

/* Apply MPI's matching rules to a sequence of receives, for sends with the tags 0, 1, ... in this order. Stores in
 * fetches[i] the send (counted from 1) that receive i fetches, or 0. A tag of -1 means any. */
void match_by_mpi(int sends, const int *tag, int receives, int *fetches);

/* Two orders of receives, for a number of sends with different tags, in which every receive fetches a message, and in
 * which a receive with the same tag, position and preceding tag must fetch different sends. No match bits can serve
 * both orders. */
struct match_conflict {
    int receives;
    int tag[2][4]; /* -1: any */
    int at;        /* the receive, counted from 0 */
    int fetches[2];
};

/* Search for a conflict. Returns false if there is none. sends must be at most 4. */
bool match_conflict(int sends, struct match_conflict *out);

#endif
