/* circle.h: a group that meets by messages, over whatever link serves each member; where a death ends the job.
 *
 * The members of a node send their notes to the first of them, which leads it. The leaders stand in a circle and go
 * through log2 rounds: in round k each passes on what it knows, its own node and those before it, to the one 2^k places
 * further, so that what each knows doubles (Bruck's all-gather). Then each leader tells its node. Nobody sends to
 * anyone else, so few connections are made, and a barrier without notes is one short message for each of these steps.
 *
 *   circle.c   the steps
 *   flow.c     streams of messages that carry notes, and the notes
 *
 * Departures are told in seats (seat.h): they must not depend on members that have left.
 */
#ifndef TERN_CORE_CIRCLE_H
#define TERN_CORE_CIRCLE_H

#include <stdatomic.h>

#include "core/wire.h"
#include "link/link.h"

/* A member's note for a barrier; the bytes are kept for the next but one. */
struct circle_note {
    uint32_t       barrier; /* that it was left for */
    uint32_t       len, room;
    unsigned char *bytes;
};

/* A stream that comes in: the last barrier for which all of it has come. Writer: the thread that delivers messages. */
struct circle_inflow {
    _Atomic uint32_t whole;
};

/* A stream that goes out: the notes of some members, as they stand in the circle. */
struct circle_outflow {
    int           peer; /* in the job */
    enum core_way way;
    uint32_t      round;
    uint32_t      first, count; /* places in the circle */
    uint32_t      done, at;     /* members whose notes have been sent, and bytes of the next one */
    bool          over;
};

struct circle {
    struct tern_link_group base;
    struct circle         *next;               /* on the list of all */
    uint32_t              *order;              /* [size] members, node after node, the leader of each first */
    uint32_t              *node_of;            /* [size] by member; nodes count from 0 in the order of their leaders */
    uint32_t              *begin;              /* [nodes + 1] where in order a node begins */
    uint32_t               nodes, node, place; /* how many, which is ours, and where in order we are */
    uint32_t               rounds;
    _Atomic uint32_t       barrier; /* number of the last one entered. Writer: the collective call */
    uint32_t               departures;
    uint32_t               stage;   /* of that barrier */
    uint32_t               sent;    /* streams of the stage that have gone out */
    bool                   sending; /* what the stage waits for has come */
    uint32_t               posted;  /* bytes of our note for that barrier, or the next; 0: none */
    struct circle_outflow  out;
    uint32_t               inflows;  /* streams that come in at a barrier */
    struct circle_inflow  *in[2];    /* [inflows] by barrier & 1 */
    struct circle_note    *notes[2]; /* [size] by barrier & 1 */
};

tern_status tern_core_circle_open(const struct tern_link_group *as, struct tern_link_group **out);

/* A message for a circle has come. Ends the job if it makes no sense. */
void tern_core_circle_receive(int from, const unsigned char *head, const unsigned char *data, size_t len);

/* ---- circle.c ---- */

static inline uint32_t tern_core_circle_barrier(const struct circle *circle)
{
    return atomic_load_explicit(&circle->barrier, memory_order_relaxed); /* a window of two for who delivers: a hint */
}

static inline bool tern_core_circle_leads(const struct circle *circle)
{
    return circle->place == circle->begin[circle->node];
}

/* The stream that the message belongs to; NULL: none. */
struct circle_inflow *tern_core_circle_inflow(struct circle *circle, int from, const struct core_wire *head);

/* ---- flow.c ---- */

/* Send what there is room for. True: the stream is over. Only while this thread holds the delivery of messages. */
bool tern_core_flow_send(struct circle *circle, struct circle_outflow *out);

/* Take in a message of a stream. False: it makes no sense. */
bool tern_core_flow_take(struct circle *circle, struct circle_inflow *in, const struct core_wire *head,
                         const unsigned char *data, size_t len);

/* Leave a note, or part of one, for a barrier. */
void tern_core_flow_note(struct circle *circle, uint32_t barrier, const struct core_piece *piece, const void *bytes);

/* See to it that every note of the barrier can be read up to so many bytes. */
void tern_core_flow_round_up(struct circle *circle, uint32_t barrier, uint32_t bytes);

#endif
