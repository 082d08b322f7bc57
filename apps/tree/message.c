/* message.c: the reduction by messages: one from each child, one to the parent, and the result in the other
 * direction. */
#include <stdlib.h>

#include "common/app.h"
#include "common/message.h"
#include "tree/tree.h"

static void *message_begin(const struct tree *t, size_t bytes)
{
    (void)t;
    message_open();
    return app_memory(bytes);
}

static void message_run(const struct tree *t, int rank)
{
    size_t  bytes = t->values * sizeof(double);
    double *result = tree_vector(t, tree_result(t));

    for (int round = 0; round < t->rounds; round++) {
        double *sum;

        for (int i = 0; i < t->children; i++)
            message_receive(t->child + i, UP, tree_vector(t, i), bytes);
        sum = tree_add(t, rank, round);
        if (t->parent >= 0) {
            message_send(t->parent, UP, sum, bytes);
            message_receive(t->parent, DOWN, result, bytes);
        }
        for (int i = 0; i < t->children; i++)
            message_send(t->child + i, DOWN, result, bytes);
        tree_use(t);
    }
}

static void message_end(void *memory)
{
    message_close();
    free(memory);
}

const struct tree_style tree_message = { message_begin, message_run, message_end };
