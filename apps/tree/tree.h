/* tree.h: a reduction up a tree of any arity, and its result down again (paper 5, section VI.B).
 *
 * Each rank has a vector. It waits for the sums of its children's subtrees, adds its own, and gives the sum to its
 * parent; the root has the sum of all then and sends it down the same way. A rank contributes to the next round when it
 * has the result of this one, so memory that others write to is free by then without a word about it.
 */
#ifndef APPS_TREE_H
#define APPS_TREE_H

#include <stddef.h>

enum { UP, DOWN }; /* tags */

struct tree {
    size_t  values, pitch; /* of a vector; doubles from one vector in memory to the next */
    int     arity, rounds;
    int     parent;          /* -1: this is the root */
    int     child, children; /* the rank of the first child; how many there are */
    double *vectors;         /* room for one from each child, for the result, and for the sum that goes up */
    double *totals;          /* of the results of all rounds */
};

/* Where the vectors of a rank's children, its result and its sum are, in the memory of any rank. */
static inline size_t tree_offset(const struct tree *t, int slot)
{
    return (size_t)slot * t->pitch * sizeof(double);
}

static inline double *tree_vector(const struct tree *t, int slot)
{
    return t->vectors + (size_t)slot * t->pitch;
}

/* Slots: 0 ... arity - 1 are the children's. */
static inline int tree_result(const struct tree *t)
{
    return t->arity;
}

static inline int tree_sum(const struct tree *t)
{
    return t->arity + 1;
}

/* Which child of its parent a rank is. */
static inline int tree_slot(const struct tree *t, int rank)
{
    return (rank - 1) % t->arity;
}

/* This rank's own vector in a round; whole numbers, so that sums are exact in any order. */
static inline double tree_own(int rank, int round, size_t i)
{
    return (double)(rank + 1) * (double)(i + 1) + round;
}

/* Add this rank's vector and those of its children, into the sum; at the root that is the result. Returns it. */
double *tree_add(const struct tree *t, int rank, int round);

/* Use the result, which has come. */
void tree_use(const struct tree *t);

/* A style: the memory for the vectors, the rounds, the end. */
struct tree_style {
    void *(*open)(const struct tree *t, size_t bytes);
    void (*run)(const struct tree *t, int rank);
    void (*close)(void *memory);
};
extern const struct tree_style tree_message, tree_onesided, tree_notified;

#endif
