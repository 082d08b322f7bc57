/* packet.h: packets, and the pool of unused packets.
 *
 * All packets are in one array. The address space of the array is reserved for as many packets as the network's buffers
 * can hold, but memory is touched only as far as the array is used. Each worker keeps a stock of unused packet numbers
 * and reuses the most recently returned number first, because that packet is still in the cache. Traffic between
 * workers fills some stocks and empties others; the pool balances them in batches.
 */
#ifndef SIM_PACKET_H
#define SIM_PACKET_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SIM_PACKET_BITS 26 /* width of a packet number */
#define SIM_NO_VIA UINT16_MAX

/* Bits of flags. */
enum {
    SIM_FECN = 1,
    SIM_BECN = 2,
    SIM_ACK = 4,        /* a packet that only returns credits and carries no data */
    SIM_ROUND = 8,      /* takes a non-minimal route */
    SIM_CROSSED = 16,   /* has left its source group */
    SIM_TURNED = 32,    /* has reached its intermediate router or group */
    SIM_LAST = 64,      /* has taken the global link to its destination group */
    SIM_MEASURED = 128, /* its latency counts in the results */
};

/* Written by the router or node that has the head flit; lag is written by the source when it sends the tail. */
struct sim_packet {
    uint32_t source, target;
    uint32_t born;   /* cycle in which the packet was generated */
    uint32_t queued; /* cycles from born until the head flit was sent */
    uint32_t lag;    /* sum over all flits of the cycles after the head in which they were sent */
    uint32_t
        undecided; /* 1: on its minimal route, but may switch to a non-minimal one while it waits for its output VC */
    uint16_t via;  /* the intermediate router or group, or SIM_NO_VIA */
    uint8_t  size; /* flits */
    uint8_t  credits;     /* RDRP credits that it returns */
    uint8_t  out, out_vc; /* next hop from the router that has the head flit */
    uint8_t  hops;
    uint8_t  flags;
};
_Static_assert(sizeof(struct sim_packet) == 32, "two to a cache line");

struct sim_packet_pool {
    struct sim_packet *packet;
    size_t             bytes;
    uint32_t           room, fresh; /* size of the array, and number of packets that have ever been used */
    uint32_t          *spare;       /* numbers returned by stocks that were full */
    uint32_t           spares;
    pthread_mutex_t    lock;
};

struct sim_packet_stock {
    struct sim_packet_pool *pool;
    uint32_t               *unused;
    uint32_t                count;
};

/* room is the maximum number of packets that exist at the same time. */
tern_status sim_packet_pool_open(struct sim_packet_pool *pool, uint64_t room);
void        sim_packet_pool_close(struct sim_packet_pool *pool);

tern_status sim_packet_stock_open(struct sim_packet_stock *stock, struct sim_packet_pool *pool);
void        sim_packet_stock_close(struct sim_packet_stock *stock);

#define SIM_STOCK_BATCH 1024u
#define SIM_STOCK_ROOM (8 * SIM_STOCK_BATCH)

/* Move a batch from the pool to the stock, or from the stock to the pool. */
void sim_packet_stock_fill(struct sim_packet_stock *stock) __attribute__((cold, noinline));
void sim_packet_stock_drain(struct sim_packet_stock *stock) __attribute__((cold, noinline));

static inline uint32_t sim_packet_take(struct sim_packet_stock *stock)
{
    if (__builtin_expect(stock->count == 0, 0))
        sim_packet_stock_fill(stock);
    return stock->unused[--stock->count];
}

static inline void sim_packet_give(struct sim_packet_stock *stock, uint32_t packet)
{
    if (__builtin_expect(stock->count == SIM_STOCK_ROOM, 0))
        sim_packet_stock_drain(stock);
    stock->unused[stock->count++] = packet;
}

#endif
