/* list.h: intrusive doubly linked lists.
 *
 * A list is a struct tern_list that an owner embeds as the head, and one that each item embeds as its node. The list is
 * circular: an empty head points at itself, and so does a node that is on no list, so that removing a node twice is
 * harmless. A head used with tern_base_list_append and tern_base_list_pop is a FIFO queue. Lists have no lock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tern_list {
    struct tern_list *next, *prev;
};

/* Initializer of a head or node with static storage. */
#define TERN_LIST_INIT(list) \
    {                        \
        &(list), &(list)     \
    }

/* The item that embeds the node as its member. */
#define TERN_LIST_ITEM(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* The item that embeds the node as its member, or NULL if the node is the head of the list. */
#define TERN_LIST_ITEM_OR_END(node, list, type, member) ((node) == (list) ? NULL : TERN_LIST_ITEM(node, type, member))

/* Iterate over the items of a list, from first to last. The body may remove the current item, but no other one. */
#define TERN_LIST_EACH(type, item, list, member)                                                     \
    for (type *item = TERN_LIST_ITEM_OR_END((list)->next, list, type, member), *item##_next;         \
         item && (item##_next = TERN_LIST_ITEM_OR_END(item->member.next, list, type, member), true); \
         item = item##_next)

static inline void tern_base_list_init(struct tern_list *list)
{
    list->next = list->prev = list;
}

static inline bool tern_base_list_empty(const struct tern_list *list)
{
    return list->next == list;
}

/* Insert the node between two neighbours. */
static inline void tern_base_list_insert(struct tern_list *node, struct tern_list *prev, struct tern_list *next)
{
    node->prev = prev;
    node->next = next;
    prev->next = node;
    next->prev = node;
}

/* Add the node at the front of the list. */
static inline void tern_base_list_push(struct tern_list *list, struct tern_list *node)
{
    tern_base_list_insert(node, list, list->next);
}

/* Add the node at the end of the list. */
static inline void tern_base_list_append(struct tern_list *list, struct tern_list *node)
{
    tern_base_list_insert(node, list->prev, list);
}

/* Remove the node from its list, if it is on one. The node must have been initialized or added to a list before. */
static inline void tern_base_list_remove(struct tern_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    tern_base_list_init(node);
}

/* Remove and return the first node; NULL: the list is empty. */
static inline struct tern_list *tern_base_list_pop(struct tern_list *list)
{
    struct tern_list *first = list->next;

    if (first == list)
        return NULL;
    tern_base_list_remove(first);
    return first;
}
