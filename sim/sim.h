/* sim.h: the state of one simulated network.
 *
 * Routers have input-queued virtual channels (VCs) and are connected by links that carry one flit and, the other way,
 * one credit per cycle. Ports are numbered alike on both sides: input i and output i of a router are the two directions
 * of one cable, whose other end is another router's port or a node.
 *
 * Time is cut into windows no longer than the shortest link between two routers. Within a window routers do not see
 * each other, so each one is taken through all its cycles at once, in any order. A unit of routers (a group of a
 * dragonfly) goes through several windows, a span, as long as the links to other units take, while its state stays in
 * the cache; threads meet after each span.
 *
 * A port has a slot for each of the next cycles, in which its other end puts the flit and the credit that come then.
 * When a flit leaves the switch, its turn on the link is known, so it goes to its slot at once; what is due beyond the
 * slots is held back and put there later. So a cycle costs a look at its slots, and what moves in it. Slots that are
 * filled from within the unit lie side by side in a row for each cycle, which is quick to read. Those that are filled
 * from elsewhere lie in a lane for each port, as a sender that comes by once in a span fills several cycles of it at a
 * time.
 *
 * A flit is not stored. A buffer is a count of flits and a ring of packets, as packets never interleave within a VC.
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
#define SIM_FREE UINT16_MAX /* an output VC that no input VC owns */

enum sim_vc_state { SIM_VC_IDLE, SIM_VC_WAITING, SIM_VC_ACTIVE };

/* An input VC. */
struct sim_in_vc {
    uint32_t flit;        /* of the first packet in the buffer, as it is sent */
    uint16_t head, tail;  /* of the ring of packets in the buffer, ever growing */
    uint16_t flits;       /* in the buffer */
    uint8_t  state;       /* of the first packet: waiting for an output VC, or active with one */
    uint8_t  out, out_vc; /* that one */
    uint8_t  sent, size;  /* flits of the first packet that have left, and that it has */
    uint8_t  got;         /* flits of the last packet that have come */
};
_Static_assert(sizeof(struct sim_in_vc) == 16, "four to a cache line");

/* An output VC: what this router knows of the buffer at the other end. */
struct sim_out_vc {
    uint16_t credits;
    uint16_t owner;   /* the input VC whose packet it carries, or SIM_FREE */
    uint16_t turn;    /* the input VC that got it last */
    uint16_t waiting; /* input VCs that ask for it */
};

/* One end of a cable. */
struct sim_port {
    /* the switch */
    _Alignas(64) uint64_t asks;          /* outputs that the ready VCs of this input ask for */
    uint16_t ready;                      /* VCs of this input that have a flit, an output VC and a credit */
    uint8_t  in_turn, out_turn, vc_turn; /* what the input's, the output's and the VCs' arbiter chose last */
    uint32_t used;                       /* output: credits in use, of all VCs */
    /* the link */
    uint32_t link_free;   /* first cycle in which the output can send a flit */
    uint32_t credit_free; /* first cycle in which the input can send a credit */
    uint8_t *far_flit;    /* the first slots of the other end */
    uint8_t *far_credit;
    uint16_t flit_step, credit_step;   /* bytes from there to those of the next cycle */
    uint16_t flit_delay, credit_delay; /* from being sent to being used */
    uint64_t sent;                     /* flits for the output link while measuring */
};
_Static_assert(sizeof(struct sim_port) == 64, "one cache line");

/* What a port has to send beyond the slots of the other end. */
struct sim_held {
    struct sim_queue flits, credits;
};

struct sim_router {
    uint64_t           ready;     /* input ports with a VC that is ready */
    uint64_t           terminals; /* ports that lead to nodes */
    uint64_t           backlog;   /* those whose node's sink has flits to take */
    uint64_t           held;      /* ports that hold back flits or credits */
    uint64_t           outer;     /* ports whose slots are lanes, on a dragonfly those that lead out of the unit */
    uint8_t           *rows;      /* slots of the other ports and of nodes' ends of cables, a row for each cycle */
    uint8_t           *lanes;     /* slots of outer ports, a lane for each */
    struct sim_port   *port;
    struct sim_in_vc  *in;            /* [port << shift | vc] */
    struct sim_out_vc *out;           /* the same */
    uint32_t          *ring;          /* packets in buffers: [(port << shift | vc) << ring_shift | position] */
    uint64_t          *waiting;       /* for each output VC the input VCs that ask for it, words_per_set words */
    uint64_t          *pending;       /* output VCs that are free and asked for */
    uint64_t          *undecided;     /* input VCs whose first packet waits, and may yet go round */
    struct sim_node   *node;          /* the node at port 0, if there is one; the others follow */
    struct sim_held   *held_at;       /* [port] what is held back */
    uint64_t           pending_words; /* which words of pending are not 0 */
    uint64_t           random;
    uint32_t           index;
    uint32_t           group; /* of a dragonfly */
    uint32_t           place; /* within the group */
    uint8_t            link_class[SIM_MAX_PORTS];
};

/* The packet of one VC that a sink is taking. */
struct sim_arrival {
    uint32_t head_at; /* cycle in which the head was taken */
    uint32_t offsets; /* sum of the cycles after that, of all flits */
    uint16_t taken;   /* flits */
    uint16_t size;
    uint16_t acked; /* flits of a packet of RDRP credits, which passes data that waits for a slow sink on the same VC */
};

/* What a node has to send back to the source of packets: credits of RDRP, and BECN for packets with FECN. */
struct sim_debt {
    uint32_t to;
    uint32_t credits, marks;
    uint32_t since;
};

struct sim_node {
    struct sim_port     side; /* this end of the cable to the router */
    struct sim_router  *router;
    uint64_t            random;
    /* the source */
    uint32_t            packet;               /* being sent; its flits so far: */
    uint8_t             sent, size, vc;       /* size 0: none */
    bool                silent;               /* takes up no packet */
    uint16_t            credits[SIM_MAX_VCS]; /* of the router's buffers */
    uint32_t            head_at, offsets;     /* cycle of the head, and sum of the cycles after that of all flits */
    uint64_t            next_at;              /* cycle in which the next packet is made */
    uint32_t            fixed;                /* the one destination; SIM_NONE: drawn for each packet */
    uint32_t            turn;                 /* all to all: distance of the next destination */
    /* the sink */
    uint32_t            port;              /* of the router */
    uint32_t            slow;              /* cycles that it takes for a flit */
    uint32_t            free_at;           /* first cycle in which it can take one */
    uint32_t            period_ejected;    /* flits within the iteration */
    uint64_t            injected, ejected; /* flits while measuring */
    struct sim_arrival *arrival;           /* [vc] */
    struct sim_queue    backlog;           /* flits that have come and wait, if it is slow */
    /* congestion control */
    uint32_t            becn, becn_at; /* the counter, and when it was right */
    uint32_t            tokens;        /* towards the next flit while throttled */
    uint32_t            outstanding;   /* packets not known to have arrived */
    uint32_t            debts, debt_room;
    struct sim_debt    *debt; /* one for each source, oldest first */
    /* sim_send: packets that wait, and where to */
    uint32_t            made, made_for;
};

/* What a network is made of. Filled by the topology. */
struct sim_shape {
    uint32_t nodes, routers;
    unsigned ports;     /* of each router */
    unsigned terminals; /* nodes are at ports below this, of routers that have any */
    unsigned inner;     /* ports from this one on have lanes for slots; not those of nodes */
    unsigned vcs;
    uint32_t unit; /* routers of a unit stay together */
};

struct sim_worker {
    _Alignas(64) struct sim *sim;       /* no cache line belongs to two workers */
    uint32_t                limit;      /* first cycle that is beyond the slots in this span */
    uint32_t                first, end; /* routers */
    struct sim_packet_stock stock;
    struct sim_stats        stats;
    uint32_t               *sent_to; /* [node] flits for it that sources took up within the iteration */
    pthread_t               thread;
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
    /* for the hot paths */
    unsigned                   shift; /* log2 of VC slots per port */
    unsigned                   vcs;
    unsigned                   ring_shift;    /* log2 of the ring of packets of a buffer */
    unsigned                   words_per_set; /* of a set of input VCs */
    uint32_t                   buffer;
    uint32_t                   slot_mask;  /* cycles that slots reach, minus one */
    uint32_t                   row_bytes;  /* of a row: flits of inner ports and nodes, then credits of both */
    uint32_t                   credits_at; /* where credits begin in it */
    unsigned                   inner;      /* ports below this have a column in rows, where nodes follow */
    uint32_t                   lane_bytes; /* of a lane: flits, then credits */
    uint32_t                   speed;      /* thousandths of a step per cycle */
    uint32_t                   credit_delay;
    uint32_t                   whole;     /* cut-through: credits that a packet needs to go on; else 0 */
    bool                       measuring; /* packets that sources take up now count */
    bool                       late;      /* packets are routed at the front of a buffer */
    bool                       again;     /* and again while they wait there */
    bool                       fecn, rdrp;
    uint32_t                  *seen; /* ugal_g: credits in use on each port, at the beginning of the window */
    /* time */
    uint32_t                   now;
    uint32_t                   window; /* cycles that a router can run alone */
    uint32_t                   span;   /* and that a unit can */
    /* threads */
    struct sim_worker         *worker;
    unsigned                   workers;
    pthread_barrier_t          barrier;
    uint32_t                   until;
    bool                       quit, running; /* running: there are threads beside this one */
    /* memory that is freed at the end */
    struct sim_port           *ports;
    struct sim_in_vc          *ins;
    struct sim_out_vc         *outs;
    uint32_t                  *rings;
    struct sim_arrival        *arrivals;
    uint64_t                  *sets;
    uint8_t                   *rows, *lanes;
};

/* Make a network as config says; config must live as long. TERN_ERR_ARG: parameters that do not fit together, which the
 * detail names. TERN_ERR_NOMEM: too large for the memory that is left. */
tern_status sim_open(struct sim **out, const struct sim_config *config);
void        sim_close(struct sim *sim);

/* Run until a cycle, with all threads. */
void sim_advance(struct sim *sim, uint32_t until);

/* Have a node send packets to another, beside its traffic; packets of one destination wait at a time. For tests. */
void sim_send(struct sim *sim, uint32_t from, uint32_t to, uint32_t packets);

/* Begin to count for the results, and end: packets that were taken up between count for latencies whenever they arrive.
 * Sources go on after the end, so that the last of these packets meet the same traffic as the others. */
void sim_measure(struct sim *sim);
void sim_measured(struct sim *sim);

/* Make all sources silent: they take up no more packets. */
void sim_silence(struct sim *sim);

/* Flits that a port has counted as sent, but that wait for their turn on the link. */
static inline uint32_t sim_waiting(const struct sim *sim, const struct sim_port *port)
{
    return port->link_free > sim->now ? port->link_free - sim->now : 0;
}

/* Packets that count and have not arrived. */
uint64_t sim_unmeasured(const struct sim *sim);

/* Flits that sources sent, switches passed on and sinks took, since the beginning. */
uint64_t sim_moves(const struct sim *sim);

/* Flits that have left their source and have not been taken by a sink. */
uint64_t sim_in_flight(const struct sim *sim);

/* Sums over all workers, to be given back with sim_stats_free. */
tern_status sim_totals(const struct sim *sim, struct sim_stats *out);

#endif
