/* group_bruck.h: a group that synchronizes by messages, over the link that serves each member. The group is used if a
 * death ends the job.
 *
 * The members of a node send their contributions to the first of them, its leader. The leaders are arranged in a circle
 * and run log2 rounds: in round k each leader sends all contributions that it has, those of its own node and of the
 * nodes before it, to the leader 2^k positions further, so that the number of contributions doubles in each round
 * (Bruck's all-gather). Then each leader distributes the contributions to its node. No other pairs exchange messages,
 * so few connections are made, and a barrier without contributions is one short message for each of these steps.
 *
 *   group_bruck.c    the steps
 *   group_stream.c   streams of messages that carry contributions, and the contributions
 *   group_part.c     departures of teams other than the world
 *   group_quit.c     members that give up the team, or abandon it
 *
 * The departures of the world are published in the boot segment (group_segment.h). Those of other teams are messages.
 * Both must not depend on members that have left the job.
 */
#pragma once

#include <stdatomic.h>

#include "core/wire.h"
#include "link/link.h"

/* A member's contribution to a barrier. The buffer is reused at the next barrier but one. */
struct bruck_contribution {
    uint32_t       barrier; /* number of the barrier */
    uint32_t       len, capacity;
    unsigned char *bytes;
};

/* An incoming stream. The number is that of the last barrier whose stream has arrived completely. Writer: the
 * delivering thread. */
struct bruck_stream_in {
    _Atomic uint32_t whole;
};

/* An outgoing stream: the contributions of some members, in the order of the circle. */
struct bruck_stream_out {
    int                 peer; /* rank in the job */
    enum core_direction way;
    uint32_t            round;
    uint32_t            first, count; /* positions in the circle */
    uint32_t            done, at;     /* members whose contributions have been sent, and bytes sent of the next one */
    bool                over;
};

/* What a member of a team has given up. Writer: the delivering thread. */
struct bruck_departure {
    _Atomic uint32_t number; /* number of departures */
    _Atomic uint64_t object[2];
    _Atomic bool     gone; /* the member has abandoned the team */
};

/* The departures of a team other than the world. */
struct bruck_departures {
    struct bruck_departure *of;     /* [size]; NULL: the group is the world's */
    uint64_t                object; /* number of this member's last departure */
    uint32_t                told;   /* last departure that this member has reported to a collector */
    uint32_t                to;     /* the collector to which it was reported */
    uint32_t                spread; /* as the collector: number of members that know that the departure is complete */
    _Atomic uint32_t        whole;  /* last departure that is complete. Writers: the delivering thread, this member */
    _Atomic uint64_t        other;  /* a member that gave up another object in it, + 1; 0: none. Writers: as above */
};

struct bruck {
    struct tern_link_group base;
    struct tern_list       listed;  /* on the list of all Bruck groups */
    uint32_t              *order;   /* [size] members, node by node, the leader of each node first */
    uint32_t              *node_of; /* [size] by member; nodes count from 0 in the order of their leaders */
    uint32_t              *begin;   /* [nodes + 1] index in order at which a node begins */
    uint32_t               nodes, node, position; /* number of nodes, our node, and our index in order */
    uint32_t               rounds;
    _Atomic uint32_t       barrier; /* number of the last barrier entered. Writer: the collective call */
    uint32_t               stage;   /* current stage of that barrier */
    uint32_t               sent;    /* streams of the stage that have been sent */
    bool                   sending; /* the streams that the stage waits for have arrived */
    uint32_t contribution_len;      /* bytes of this rank's contribution to that barrier, or the next; 0: none */
    struct bruck_stream_out    out;
    uint32_t                   inflows;          /* incoming streams of one barrier */
    struct bruck_stream_in    *in[2];            /* [inflows] by barrier & 1 */
    struct bruck_contribution *contributions[2]; /* [size] by barrier & 1 */
    _Atomic uint32_t           contributed[2];   /* the last barrier to which any member contributed, by barrier & 1.
                                                    Writers: the delivering thread and the collective call */
    struct bruck_departures    parts;
    _Atomic uint64_t *ended; /* [inflows] BRUCK_ENDED and the first barrier at which the stream does not come any more,
                                    because its sender has given up; 0: it comes. Writer: the delivering thread */
    _Atomic bool      has_ended; /* there is such a stream. Writer: the delivering thread */
};

#define BRUCK_ENDED (1ull << 32)

/* The functions of the world's group, and the functions of the groups of other teams. */
extern const struct tern_group_ops tern_core_bruck_group, tern_core_bruck_team;

/* For tests. If not 0, the world's group on one node is a Bruck group or one in the boot segment too, as if each node
 * had this many ranks. Set before tern_init, to the same value on all ranks. */
extern unsigned tern_core_group_apart;

/* Process a message for a Bruck group. Ends the job if the message is malformed. */
void tern_core_bruck_receive(int from, const unsigned char *head, const unsigned char *data, size_t len);

/* ---- group_bruck.c ---- */

static inline uint32_t tern_core_bruck_barrier(const struct bruck *bruck)
{
    /* The delivering thread accepts a window of two: a hint. */
    return atomic_load_explicit(&bruck->barrier, memory_order_relaxed);
}

static inline bool tern_core_bruck_leads(const struct bruck *bruck)
{
    return bruck->position == bruck->begin[bruck->node];
}

static inline uint32_t tern_core_bruck_locals(const struct bruck *bruck)
{
    return bruck->begin[bruck->node + 1] - bruck->begin[bruck->node];
}

/* Return whether an incoming stream of the current barrier has arrived completely. */
bool tern_core_bruck_has_come(const struct bruck *bruck, uint32_t inflow);

/* Return whether the current barrier is complete. */
bool tern_core_bruck_is_complete(const struct bruck *bruck);

/* Return the stream that the message belongs to; NULL: none. */
struct bruck_stream_in *tern_core_bruck_stream_in(struct bruck *bruck, int from, const struct core_wire *head);

/* ---- group_stream.c ---- */

/* Send as many messages of the stream as there is space for. Returns true if the stream is complete. The calling thread
 * must hold the delivery of messages (tern_core_message_hold). */
bool tern_core_stream_send(struct bruck *bruck, struct bruck_stream_out *out);

/* Process one message of a stream. Returns false if the message is malformed. */
bool tern_core_stream_receive(struct bruck *bruck, struct bruck_stream_in *in, const struct core_wire *head,
                              const unsigned char *data, size_t len);

/* Record that a member contributes len bytes to a barrier, and return the memory for these bytes. */
unsigned char *tern_core_stream_contribution(struct bruck *bruck, uint32_t barrier, uint32_t member, uint32_t len);

/* Ensure that at least the given number of bytes of every contribution to the barrier can be read. */
void tern_core_stream_pad(struct bruck *bruck, uint32_t barrier, uint32_t bytes);

/* ---- group_part.c ---- */

/* Functions of struct tern_group_ops. */
void tern_core_bruck_depart(struct tern_link_group *group, uint64_t object);
bool tern_core_bruck_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object);
void tern_core_bruck_advance(struct tern_link_group *group);

/* Process a message about departures. Returns false if the message is malformed. */
bool tern_core_bruck_part_receive(struct bruck *bruck, int from, const struct core_part_wire *wire);

/* ---- group_quit.c ---- */

/* Functions of struct tern_group_ops. */
void tern_core_bruck_give_up(struct tern_link_group *group);
int  tern_core_bruck_quitter(struct tern_link_group *group);

/* Process a message by which the sender of a stream gives up. Returns false if the message is malformed. */
bool tern_core_bruck_quit_receive(struct bruck *bruck, int from, const struct core_wire *head);

/* Tell all other members that this one closes the group without waiting for them. */
void tern_core_bruck_abandon(struct bruck *bruck);

/* Process such a message, in which head->round is a member with the rank `from`. bruck NULL: this rank has not opened
 * the group yet, or has closed it. recall: process those that arrived before the group was opened. */
bool tern_core_bruck_abandon_receive(struct bruck *bruck, int from, const struct core_wire *head);
void tern_core_bruck_recall(struct bruck *bruck);

/* Send messages about teams that were given up, for which there was no space; if there are any, tern_core_bruck_unsent
 * is true. Polls for messages call it. */
extern _Atomic bool tern_core_bruck_unsent;
void                tern_core_bruck_flush(void);
