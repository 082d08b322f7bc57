/* packet.h: packets, and where unused ones are kept.
 *
 * All packets lie in one array, which is reserved for as many as the network's buffers hold and touched as far as it is
 * used. Each worker keeps a stock of unused numbers and takes the last one back first, so that a packet's memory is
 * warm. Stocks fill and empty by traffic from one worker to another; the pool evens them out in batches.
 */
#ifndef SIM_PACKET_H
#define SIM_PACKET_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SIM_PACKET_BITS 26 /* of the number of a packet */
#define SIM_NO_VIA UINT16_MAX

/* Bits of flags. */
enum {
    SIM_FECN = 1,
    SIM_BECN = 2,
    SIM_ACK = 4,        /* returns credits, is no data */
    SIM_ROUND = 8,      /* goes a way round */
    SIM_CROSSED = 16,   /* has left the group that it began in */
    SIM_TURNED = 32,    /* was at the router that it went by way of */
    SIM_LAST = 64,      /* has taken the global link to the group of its destination */
    SIM_MEASURED = 128, /* its latency counts */
};

/* Written by whoever has the head flit; lag by the source with the tail. */
struct sim_packet {
    uint32_t source, target;
    uint32_t born;        /* cycle in which it was made */
    uint32_t queued;      /* cycles from then until its head was sent */
    uint32_t lag;         /* sum of the cycles after that in which its flits were sent */
    uint32_t undecided;   /* 1: it is on its minimal way, and may go round while it waits for its output VC */
    uint16_t via;         /* the router or group that it goes by way of, or SIM_NO_VIA */
    uint8_t  size;        /* flits */
    uint8_t  credits;     /* of RDRP that it brings back */
    uint8_t  out, out_vc; /* its way on from the router that has its head */
    uint8_t  hops;
    uint8_t  flags;
};
_Static_assert(sizeof(struct sim_packet) == 32, "two to a cache line");

struct sim_packet_pool {
    struct sim_packet *packet;
    size_t             bytes;
    uint32_t           room, fresh; /* packets of the array, and those that were ever used */
    uint32_t          *spare;       /* returned by stocks that had too many */
    uint32_t           spares;
    pthread_mutex_t    lock;
};

struct sim_packet_stock {
    struct sim_packet_pool *pool;
    uint32_t               *unused;
    uint32_t                count;
};

/* room is the number of packets that can exist at a time. */
tern_status sim_packet_pool_open(struct sim_packet_pool *pool, uint64_t room);
void        sim_packet_pool_close(struct sim_packet_pool *pool);

tern_status sim_packet_stock_open(struct sim_packet_stock *stock, struct sim_packet_pool *pool);
void        sim_packet_stock_close(struct sim_packet_stock *stock);

#define SIM_STOCK_BATCH 1024u
#define SIM_STOCK_ROOM (8 * SIM_STOCK_BATCH)

/* Take a batch from the pool, or give one back. */
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
