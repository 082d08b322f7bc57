/* tree.h: a reduction up a tree of any arity, followed by a broadcast of the result (the Notified Access paper, section
 * VI.B).
 *
 * Each rank has a vector. A rank waits for the sums of its children's subtrees, adds its own vector, and sends the sum
 * to its parent. The root then has the sum of all vectors and broadcasts it down the same tree. A rank contributes to
 * the next round only after it has received the result of this round. Therefore the memory that other ranks write to is
 * free by then, and no further synchronisation is needed.
 */
#ifndef APPS_TREE_H
#define APPS_TREE_H

#include <stddef.h>

enum { UP, DOWN }; /* tags */

struct tree {
    size_t  values, pitch; /* doubles of a vector; doubles from one vector in memory to the next */
    int     arity, rounds;
    int     parent;          /* -1: this rank is the root */
    int     child, children; /* the rank of the first child; the number of children */
    double *vectors;         /* one vector from each child, the result, and the sum that goes to the parent */
    double *totals;          /* sums of the results of all rounds */
};

/* Return the offset of a slot in the memory of any rank. The slots are the children's vectors, the result and the
 * sum. */
static inline size_t tree_offset(const struct tree *t, int slot)
{
    return (size_t)slot * t->pitch * sizeof(double);
}

static inline double *tree_vector(const struct tree *t, int slot)
{
    return t->vectors + (size_t)slot * t->pitch;
}

/* Slots 0 ... arity - 1 are those of the children. */
static inline int tree_result(const struct tree *t)
{
    return t->arity;
}

static inline int tree_sum(const struct tree *t)
{
    return t->arity + 1;
}

/* Return the slot of a rank at its parent. */
static inline int tree_slot(const struct tree *t, int rank)
{
    return (rank - 1) % t->arity;
}

/* Return element i of a rank's own vector in a round. The elements are integers, so that sums are exact in any
 * order. */
static inline double tree_own(int rank, int round, size_t i)
{
    return (double)(rank + 1) * (double)(i + 1) + round;
}

/* Add this rank's vector and the vectors of its children and store the sum, which is the result at the root. Returns
 * the address of the sum. */
double *tree_add(const struct tree *t, int rank, int round);

/* Use the result of a round. The result must have arrived. */
void tree_use(const struct tree *t);

/* A communication style: allocate the memory of the vectors, run the rounds, free the memory. */
struct tree_style {
    void *(*open)(const struct tree *t, size_t bytes);
    void (*run)(const struct tree *t, int rank);
    void (*close)(void *memory);
};
extern const struct tree_style tree_message, tree_onesided, tree_notified;

#endif
