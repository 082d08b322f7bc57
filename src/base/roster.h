/* roster.h: all objects of a kind that have ever been allocated, for a handler of fork.
 *
 * The child that fork creates has a copy of the memory as it was at one moment, at which other threads may have been
 * changing any list, and it must not wait for their locks, because the threads do not exist in the child. A roster can
 * be walked in such a copy: an object is added once, when its memory is allocated, by one store after the object is
 * initialized, and is never removed. Rosters are therefore for objects whose memory is reused for objects of the same
 * kind and never returned to the system (retired.h). */
#pragma once

#include <stdatomic.h>

#include "base/list.h"

struct tern_roster_node {
    struct tern_roster_node *next;
};

struct tern_roster {
    struct tern_roster_node *_Atomic newest; /* NULL: none */
};

/* Add an object by its node. The node must stay unchanged from here on. Any thread may call this without a lock. */
static inline void tern_base_roster_add(struct tern_roster *roster, struct tern_roster_node *node)
{
    node->next = atomic_load_explicit(&roster->newest, memory_order_relaxed); /* checked by the exchange */
    /* release: the object and its node before the roster shows it. Pairs with the acquire in
     * tern_base_roster_newest(). */
    while (!atomic_compare_exchange_weak_explicit(&roster->newest, &node->next, node, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

/* Return the newest object, whose node leads to the older ones; NULL: there is none. */
static inline struct tern_roster_node *tern_base_roster_newest(const struct tern_roster *roster)
{
    return atomic_load_explicit(&roster->newest, memory_order_acquire); /* pairs with tern_base_roster_add() */
}

/* The object that embeds the node as its member; NULL if the node is NULL. */
#define TERN_ROSTER_ITEM(node, type, member) ((node) ? TERN_LIST_ITEM(node, type, member) : NULL)

/* Iterate over the objects of a roster, from the newest to the oldest. */
#define TERN_ROSTER_EACH(type, item, roster, member)                                         \
    for (type *item = TERN_ROSTER_ITEM(tern_base_roster_newest(roster), type, member); item; \
         item = TERN_ROSTER_ITEM(item->member.next, type, member))
