/* sim.h: the state of one simulated network.
 *
 * Routers have input-queued virtual channels (VCs). Each link carries one flit per cycle in one direction and one
 * credit per cycle in the opposite direction. Ports have the same numbers on both sides: input i and output i of a
 * router are the two directions of one cable, and the other end of the cable is a port of another router or a node.
 *
 * Time is divided into windows that are no longer than the shortest link between two routers. Routers cannot affect
 * each other within a window, so each router is simulated through all cycles of the window at once, in any order. A
 * unit of routers (a group of a dragonfly) is simulated through several windows, called a span, while its state stays
 * in the cache. A span is as long as the shortest link to another unit. Threads synchronize after each span.
 *
 * A port has a slot for each of the next cycles. The other end of the cable stores the flit and the credit that arrive
 * in a cycle into the slot of that cycle. When a flit leaves the switch, the cycle in which it will use the link is
 * already known, so the flit is stored into its slot immediately. A flit or credit that is due after the last slot is
 * held back and stored later. The cost of a cycle is therefore one scan of its slots plus the work for what moves.
 * Slots that are filled from within the unit are stored next to each other in one row per cycle, which is fast to scan.
 * Slots that are filled from other units are stored in one lane per port, because such a sender runs once per span and
 * fills several cycles at a time.
 *
 * Flits are not stored individually. A buffer is a count of flits and a ring of packets, because the packets in a VC
 * never interleave.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "packet.h"
#include "queue.h"
#include "stats.h"

#define SIM_MAX_PORTS 64
#define SIM_MAX_VCS 16
#define SIM_NONE UINT32_MAX
#define SIM_FREE UINT16_MAX /* owner of an output VC that no input VC holds */

enum sim_vc_state { SIM_VC_IDLE, SIM_VC_WAITING, SIM_VC_ACTIVE };

/* An input VC. */
struct sim_in_vc {
    uint32_t flit;        /* the first packet's flits as they are sent on the link (link.h) */
    uint16_t head, tail;  /* positions in the ring of packets; they only grow */
    uint16_t flits;       /* number of flits in the buffer */
    uint8_t  state;       /* of the first packet (enum sim_vc_state): waiting for an output VC, or holding one */
    uint8_t  out, out_vc; /* the output port and output VC of the first packet */
    uint8_t  sent, size;  /* flits of the first packet that have left, and its total number of flits */
    uint8_t  got;         /* flits of the last packet that have arrived */
};
_Static_assert(sizeof(struct sim_in_vc) == 16, "four to a cache line");

/* An output VC: this router's view of the buffer at the other end of the link. */
struct sim_out_vc {
    uint16_t credits;
    uint16_t owner;   /* the input VC whose packet it carries, or SIM_FREE */
    uint16_t turn;    /* the input VC that held this output VC last, for the round-robin arbiter */
    uint16_t waiting; /* number of input VCs that request it */
};

/* One end of a cable. */
struct sim_port {
    /* the switch */
    _Alignas(64) uint64_t asks;          /* outputs that the ready VCs of this input request */
    uint16_t ready;                      /* VCs of this input that have a flit, an output VC and a credit */
    uint8_t  in_turn, out_turn, vc_turn; /* last choices of the input, output and VC arbiters (round robin) */
    uint32_t used;                       /* output: credits in use, summed over all VCs */
    /* the link */
    uint32_t link_free;   /* first cycle in which the output can send a flit */
    uint32_t credit_free; /* first cycle in which the input can send a credit */
    uint8_t *far_flit;    /* the slots of the other end, for cycle 0 */
    uint8_t *far_credit;
    uint16_t flit_step, credit_step;   /* bytes from the slot of one cycle to that of the next */
    uint16_t flit_delay, credit_delay; /* cycles from sending to use at the other end */
    uint64_t sent;                     /* flits sent on the output link during the measurement */
};
_Static_assert(sizeof(struct sim_port) == 64, "one cache line");

/* Flits and credits of a port that are due after the last slot of the other end. */
struct sim_held {
    struct sim_queue flits, credits;
};

struct sim_router {
    uint64_t           ready;     /* input ports with at least one ready VC */
    uint64_t           terminals; /* ports that lead to nodes */
    uint64_t           backlog;   /* terminal ports whose node has flits waiting for its sink */
    uint64_t           held;      /* ports that hold back flits or credits */
    uint64_t           outer; /* ports whose slots are in lanes; on a dragonfly, the ports that lead out of the unit */
    uint8_t           *rows;  /* slots of all other ports and of the nodes' ends of the cables, one row per cycle */
    uint8_t           *lanes; /* slots of the outer ports, one lane per port */
    struct sim_port   *port;
    struct sim_in_vc  *in;      /* [port << shift | vc] */
    struct sim_out_vc *out;     /* [port << shift | vc] */
    uint32_t          *ring;    /* packets in the buffers: [(port << shift | vc) << ring_shift | position] */
    uint64_t          *waiting; /* for each output VC, the set of input VCs that request it, words_per_set words each */
    uint64_t          *pending; /* set of output VCs that are free and requested */
    uint64_t *undecided;   /* set of input VCs whose first packet is waiting and may still take a non-minimal route */
    struct sim_node *node; /* the node at port 0, if any; the router's other nodes follow */
    struct sim_held *held_at;       /* [port] flits and credits that are held back */
    uint64_t         pending_words; /* bit i is set if word i of pending is not 0 */
    uint64_t         random;
    uint32_t         index;
    uint32_t         group; /* dragonfly: the group of this router */
    uint32_t         place; /* dragonfly: the index of this router within the group */
    uint8_t          link_class[SIM_MAX_PORTS];
};

/* The packet that a sink is receiving on one VC. */
struct sim_arrival {
    uint32_t head_at; /* cycle in which the sink consumed the head flit */
    uint32_t offsets; /* sum over all flits of the cycles after head_at in which they were consumed */
    uint16_t taken;   /* flits consumed so far */
    uint16_t size;
    uint16_t acked; /* flits of an RDRP credit packet, which overtakes data that waits for a slow sink on the same VC */
};

/* What a node owes the source of packets it received: RDRP credits, and one BECN for each packet with FECN. */
struct sim_debt {
    uint32_t to;
    uint32_t credits, marks;
    uint32_t since;
};

struct sim_node {
    struct sim_port    side; /* the node's end of the cable to the router */
    struct sim_router *router;
    uint64_t           random;
    /* the source */
    uint32_t           packet;         /* the packet that is being sent */
    uint8_t            sent, size, vc; /* flits of that packet sent so far, and its size (0: no packet is being sent) */
    bool               silent;         /* the source starts no more packets */
    uint16_t           credits[SIM_MAX_VCS]; /* per VC, free flits in the router's buffer */
    uint32_t           head_at, offsets; /* cycle of the head flit, and the sum over all flits of the cycles after it */
    uint64_t           next_at;          /* cycle in which the next packet is generated */
    uint32_t           fixed; /* the only destination, or SIM_NONE if a destination is drawn for each packet */
    uint32_t           turn;  /* all-to-all: distance to the next destination */
    /* the sink */
    uint32_t           port;              /* the router's port */
    uint32_t           slow;              /* cycles that the sink needs per flit */
    uint32_t           free_at;           /* first cycle in which the sink can consume a flit */
    uint32_t           period_ejected;    /* flits consumed within the iteration */
    uint64_t           injected, ejected; /* flits during the measurement */
    struct sim_arrival *arrival;          /* [vc] */
    struct sim_queue    backlog;          /* slow sink: flits that have arrived and wait to be consumed */
    /* congestion control */
    uint32_t            becn, becn_at; /* the BECN counter, and the cycle for which its value is valid */
    uint32_t            tokens;        /* saved towards the next flit while the source is throttled */
    uint32_t            outstanding;   /* packets that are not known to have arrived */
    uint32_t            debts, debt_room;
    struct sim_debt    *debt; /* one entry per source, oldest first */
    /* sim_send: number of packets to send, and their destination */
    uint32_t            made, made_for;
};

/* The dimensions of a network. Written by the topology. */
struct sim_shape {
    uint32_t nodes, routers;
    unsigned ports;     /* per router */
    unsigned terminals; /* the nodes of a router are at ports below this number */
    unsigned inner;     /* ports from this number on that do not lead to nodes have their slots in lanes */
    unsigned vcs;
    uint32_t unit; /* number of routers per unit; one worker simulates all routers of a unit */
};

struct sim_worker {
    _Alignas(64) struct sim *sim;       /* aligned so that no two workers share a cache line */
    uint32_t                limit;      /* first cycle after the last slot in this span */
    uint32_t                first, end; /* range of routers */
    struct sim_packet_stock stock;
    struct sim_stats        stats;
    uint32_t *sent_to; /* [node] flits for this destination whose packets were started within the iteration */
    pthread_t thread;
};

struct sim_topology;
struct sim_traffic;

struct sim {
    const struct sim_config   *config;
    const struct sim_topology *topology;
    struct sim_shape           shape;
    struct sim_router         *router;
    struct sim_node           *node;
    struct sim_held           *held;
    struct sim_packet_pool     pool;
    struct sim_traffic        *traffic;
    void                      *map; /* the topology's own tables */
    /* copies for the hot paths */
    unsigned                   shift; /* log2 of the number of VC entries per port */
    unsigned                   vcs;
    unsigned                   ring_shift;    /* log2 of the size of a buffer's packet ring */
    unsigned                   words_per_set; /* words in a set of input VCs */
    uint32_t                   buffer;
    uint32_t                   slot_mask;  /* number of cycles that the slots cover, minus one */
    uint32_t                   row_bytes;  /* bytes per row: flits of inner ports and nodes, then credits of both */
    uint32_t                   credits_at; /* offset of the credits within a row */
    unsigned                   inner; /* ports below this number have a column in the rows; the nodes' columns follow */
    uint32_t                   lane_bytes; /* bytes per lane: flits, then credits */
    uint32_t                   speed;      /* thousandths of a step per cycle */
    uint32_t                   credit_delay;
    uint32_t                   whole; /* cut-through: credits that a packet needs before it can proceed; otherwise 0 */
    bool                       measuring; /* packets that are started now are counted in the results */
    bool                       late;      /* packets are routed when they reach the front of a buffer */
    bool                       again;     /* packets are routed again while they wait at the front */
    bool                       fecn, rdrp;
    uint32_t                  *seen; /* ugal_g: credits in use on each port at the start of the window */
    /* time */
    uint32_t                   now;
    uint32_t                   window; /* cycles that a router can be simulated independently */
    uint32_t                   span;   /* cycles that a unit can be simulated independently */
    /* threads */
    struct sim_worker         *worker;
    unsigned                   workers;
    pthread_barrier_t          barrier;
    uint32_t                   until;
    bool                       quit, running; /* running: worker threads exist besides the calling thread */
    /* memory that sim_close frees */
    struct sim_port           *ports;
    struct sim_in_vc          *ins;
    struct sim_out_vc         *outs;
    uint32_t                  *rings;
    struct sim_arrival        *arrivals;
    uint64_t                  *sets;
    uint8_t                   *rows, *lanes;
};

/* Create a network from config, which must remain valid until sim_close. Returns TERN_ERR_ARG if parameters are
 * inconsistent (the detail names them), and TERN_ERR_NOMEM if the network does not fit into the available memory. */
tern_status sim_open(struct sim **out, const struct sim_config *config);
void        sim_close(struct sim *sim);

/* Simulate up to cycle `until` with all threads. */
void sim_advance(struct sim *sim, uint32_t until);

/* Make a node send packets to another node in addition to its traffic. A node can have packets for only one destination
 * pending at a time. For tests. */
void sim_send(struct sim *sim, uint32_t from, uint32_t to, uint32_t packets);

/* sim_measure starts the measurement and sim_measured ends it. Packets that are started in between count for the
 * latencies whenever they arrive. Sources continue to send after the end, so that the last measured packets meet the
 * same traffic as the others. */
void sim_measure(struct sim *sim);
void sim_measured(struct sim *sim);

/* Make all sources silent: they start no more packets. */
void sim_silence(struct sim *sim);

/* Return the number of flits that a port has counted as sent but that still wait for their cycle on the link. */
static inline uint32_t sim_waiting(const struct sim *sim, const struct sim_port *port)
{
    return port->link_free > sim->now ? port->link_free - sim->now : 0;
}

/* Return the number of measured packets that have not arrived yet. */
uint64_t sim_unmeasured(const struct sim *sim);

/* Return the number of flit movements since the start: flits sent by sources, passed through switches and consumed by
 * sinks. */
uint64_t sim_moves(const struct sim *sim);

/* Return the number of flits that have left their source and have not been consumed by a sink. */
uint64_t sim_in_flight(const struct sim *sim);

/* Sum the statistics of all workers into out. The caller releases out with sim_stats_free. */
tern_status sim_totals(const struct sim *sim, struct sim_stats *out);

#endif
