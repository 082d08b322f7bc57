/* packet.c: the pool of packets. */
#include "packet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

tern_status sim_packet_pool_open(struct sim_packet_pool *pool, uint64_t room)
{
    void *memory;

    room += SIM_STOCK_BATCH - room % SIM_STOCK_BATCH;
    if (room > 1u << SIM_PACKET_BITS)
        room = 1u << SIM_PACKET_BITS; /* more packets would not fit into memory anyway */
    memset(pool, 0, sizeof(*pool));
    pool->bytes = room * sizeof(struct sim_packet);
    memory = mmap(NULL, pool->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "no address space for %zu bytes of packets: %s", pool->bytes,
                              strerror(errno));
    madvise(memory, pool->bytes, MADV_HUGEPAGE);       /* huge pages save TLB misses; this is only a hint */
    pool->spare = malloc(room * sizeof(*pool->spare)); /* touched only as far as it is used */
    if (pool->spare == NULL) {
        munmap(memory, pool->bytes);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the list of unused packets");
    }
    pool->packet = memory;
    pool->room = (uint32_t)room;
    pthread_mutex_init(&pool->lock, NULL);
    return TERN_OK;
}

void sim_packet_pool_close(struct sim_packet_pool *pool)
{
    if (pool->packet == NULL)
        return;
    munmap(pool->packet, pool->bytes);
    free(pool->spare);
    pthread_mutex_destroy(&pool->lock);
    pool->packet = NULL;
}

tern_status sim_packet_stock_open(struct sim_packet_stock *stock, struct sim_packet_pool *pool)
{
    stock->pool = pool;
    stock->count = 0;
    stock->unused = malloc(SIM_STOCK_ROOM * sizeof(*stock->unused));
    return stock->unused != NULL ? TERN_OK : tern_base_fail(TERN_ERR_NOMEM, "no memory for a stock of packets");
}

void sim_packet_stock_close(struct sim_packet_stock *stock)
{
    free(stock->unused);
    stock->unused = NULL;
}

void sim_packet_stock_fill(struct sim_packet_stock *stock)
{
    struct sim_packet_pool *pool = stock->pool;

    pthread_mutex_lock(&pool->lock);
    if (pool->spares >= SIM_STOCK_BATCH) {
        pool->spares -= SIM_STOCK_BATCH;
        memcpy(stock->unused, pool->spare + pool->spares, SIM_STOCK_BATCH * sizeof(*stock->unused));
    } else if (pool->room - pool->fresh >= SIM_STOCK_BATCH) {
        for (uint32_t i = 0; i < SIM_STOCK_BATCH; i++)
            stock->unused[i] = pool->fresh + SIM_STOCK_BATCH - 1 - i;
        pool->fresh += SIM_STOCK_BATCH;
    } else {
        fprintf(stderr, "tern-sim: more than %u packets are in flight; use larger packets or smaller buffers\n",
                pool->room);
        exit(1);
    }
    pthread_mutex_unlock(&pool->lock);
    stock->count = SIM_STOCK_BATCH;
}

void sim_packet_stock_drain(struct sim_packet_stock *stock)
{
    struct sim_packet_pool *pool = stock->pool;
    uint32_t                batch = SIM_STOCK_ROOM / 2;

    pthread_mutex_lock(&pool->lock);
    memcpy(pool->spare + pool->spares, stock->unused, batch * sizeof(*stock->unused));
    pool->spares += batch;
    pthread_mutex_unlock(&pool->lock);
    stock->count -= batch;
    memmove(stock->unused, stock->unused + batch, stock->count * sizeof(*stock->unused));
}
