/* search.h: can a sender and a receiver choose match bits without knowing of each other? Paper 2, section 3.1, theorem
 * 2.
 *
 * A rendezvous that the network carries out alone lets the receiver fetch a message by a get whose match bits were
 * chosen when the receive was posted, and the sender expose it by a match list entry whose match and ignore bits were
 * chosen when the send was posted. All that a receiver knows is the tag asked for, its position, and the tag asked for
 * before. Each of these values has one bit: nine bits for the tags t1, t2 and * (any), positions 1 and 2, and none, t1,
 * t2 or * before. An entry takes a get if ((get ^ match) & ~ignore) == 0; entries are looked at in the order of the
 * sends, and each serves once.
 *
 * The sender posts t1, then t2: two entries, so 2 * (9 + 9) = 36 bits to choose. An assignment of them is a solution if
 * every order of receives fetches what MPI's matching says.
 */
#ifndef MATCH_SEARCH_H
#define MATCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum match_tag { MATCH_T1, MATCH_T2, MATCH_ANY, MATCH_TAGS };

#define MATCH_BITS 9
#define MATCH_VALUES (1u << MATCH_BITS)
#define MATCH_ORDERS 7

/* An order of two receives, and which send each must fetch: 1, 2, or 0 for none. */
struct match_order {
    enum match_tag tag[2];
    int            fetches[2];
};

/* The seven orders of table 1: as it is printed, and with what MPI asks for. They differ in the last one, recv(t2);
 * recv(*), where the table lets a receive for t2 fetch a send with tag t1. */
extern const struct match_order match_table[MATCH_ORDERS], match_mpi[MATCH_ORDERS];

/* The entry of one send. */
struct match_entry {
    unsigned match, ignore;
};

/* The bits of the get of receive `position` (0 or 1) of an order. */
unsigned match_get_bits(const struct match_order *order, int position);

/* Whether a pair of entries serves an order. any_order: also if the second get comes before the first, when both
 * entries are still there. */
bool match_serves(const struct match_entry entry[2], const struct match_order *order, bool any_order);

struct match_found {
    uint64_t           solutions; /* of all 2^36 assignments */
    struct match_entry example[2];
    unsigned           behaviours; /* ways in which an entry can answer the gets; assignments with the same are alike */
};

/* Search all assignments for those that serve every order whose bit is set in orders. */
struct match_found match_search(const struct match_order *table, unsigned orders, bool any_order);

/* The same without any shortcut, over all 2^36 assignments one by one, with a number of threads. */
uint64_t match_count_all(const struct match_order *table, unsigned orders, bool any_order, unsigned threads);

/* What MPI's matching makes of an order of receives, for sends with tags 0, 1, ... in this order; fetches[i] is the
 * send (from 1) of receive i, or 0. A tag of -1 is any. */
void match_by_mpi(int sends, const int *tag, int receives, int *fetches);

/* Two orders of receives, all of which fetch something, for a number of sends with different tags in which a receive of
 * the same tag, position and tag before must fetch different sends: then no match bits can serve both. */
struct match_conflict {
    int receives;
    int tag[2][4]; /* -1: any */
    int at;        /* the receive, from 0 */
    int fetches[2];
};

/* Find one. False: there is none. sends is at most 4. */
bool match_conflict(int sends, struct match_conflict *out);

#endif
