/* queue.h: a ring of 32-bit words that grows when it is full. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_queue {
    uint32_t *word;
    uint32_t  head, tail, room; /* head and tail only grow; room is a power of two, or 0 */
};

/* Double the size of the ring. Terminates the program if memory is exhausted, because a simulation cannot continue
 * after losing a flit. */
void sim_queue_grow(struct sim_queue *queue) __attribute__((cold, noinline));

void sim_queue_free(struct sim_queue *queue);

static inline uint32_t sim_queue_count(const struct sim_queue *queue)
{
    return queue->tail - queue->head;
}

static inline void sim_queue_push(struct sim_queue *queue, uint32_t word)
{
    if (__builtin_expect(sim_queue_count(queue) == queue->room, 0))
        sim_queue_grow(queue);
    queue->word[queue->tail++ & (queue->room - 1)] = word;
}

static inline uint32_t sim_queue_pop(struct sim_queue *queue)
{
    return queue->word[queue->head++ & (queue->room - 1)];
}

/* Prefetch the front of the queue. A queue that never contained a word has no memory. */
static inline void sim_queue_fetch(const struct sim_queue *queue)
{
    if (queue->room > 0)
        __builtin_prefetch(&queue->word[queue->head & (queue->room - 1)]);
}

/* Return word i, counted from the front. */
static inline uint32_t sim_queue_peek(const struct sim_queue *queue, uint32_t i)
{
    return queue->word[(queue->head + i) & (queue->room - 1)];
}

#endif
