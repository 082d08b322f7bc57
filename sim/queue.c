/* queue.c: growing and freeing a ring. */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_WORDS 32u

void sim_queue_grow(struct sim_queue *queue)
{
    uint32_t  room = queue->room > 0 ? 2 * queue->room : FIRST_WORDS;
    uint32_t *word = malloc(room * sizeof(*word));

    if (word == NULL) {
        fprintf(stderr, "tern-sim: no memory for %u flits that wait for a link\n", room);
        exit(1);
    }
    for (uint32_t i = 0; i < queue->room; i++)
        word[i] = sim_queue_peek(queue, i);
    free(queue->word);
    queue->word = word;
    queue->head = 0;
    queue->tail = queue->room;
    queue->room = room;
}

void sim_queue_free(struct sim_queue *queue)
{
    free(queue->word);
    queue->word = NULL;
    queue->head = queue->tail = queue->room = 0;
}
