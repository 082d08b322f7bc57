/* group_bruck.h: a group that meets by messages, over whatever link serves each member; where a death ends the job.
 *
 * The members of a node send their notes to the first of them, which leads it. The leaders stand in a bruck and go
 * through log2 rounds: in round k each passes on what it knows, its own node and those before it, to the one 2^k places
 * further, so that what each knows doubles (Bruck's all-gather). Then each leader tells its node. Nobody sends to
 * anyone else, so few connections are made, and a barrier without notes is one short message for each of these steps.
 *
 *   group_bruck.c   the steps
 *   group_stream.c     streams of messages that carry notes, and the notes
 *
 * Departures are told in seats (group_segment.h): they must not depend on members that have left.
 */
#ifndef TERN_CORE_GROUP_BRUCK_H
#define TERN_CORE_GROUP_BRUCK_H

#include <stdatomic.h>

#include "core/wire.h"
#include "link/link.h"

/* A member's note for a barrier; the bytes are kept for the next but one. */
struct bruck_contribution {
    uint32_t       barrier; /* that it was left for */
    uint32_t       len, room;
    unsigned char *bytes;
};

/* A stream that comes in: the last barrier for which all of it has come. Writer: the thread that delivers messages. */
struct bruck_stream_in {
    _Atomic uint32_t whole;
};

/* A stream that goes out: the notes of some members, as they stand in the bruck. */
struct bruck_stream_out {
    int                 peer; /* in the job */
    enum core_direction way;
    uint32_t            round;
    uint32_t            first, count; /* places in the bruck */
    uint32_t            done, at;     /* members whose notes have been sent, and bytes of the next one */
    bool                over;
};

struct bruck {
    struct tern_link_group     base;
    struct bruck              *next;    /* on the list of all */
    uint32_t                  *order;   /* [size] members, node after node, the leader of each first */
    uint32_t                  *node_of; /* [size] by member; nodes count from 0 in the order of their leaders */
    uint32_t                  *begin;   /* [nodes + 1] where in order a node begins */
    uint32_t                   nodes, node, position; /* how many, which is ours, and where in order we are */
    uint32_t                   rounds;
    _Atomic uint32_t           barrier; /* number of the last one entered. Writer: the collective call */
    uint32_t                   departures;
    uint32_t                   stage;            /* of that barrier */
    uint32_t                   sent;             /* streams of the stage that have gone out */
    bool                       sending;          /* what the stage waits for has come */
    uint32_t                   contribution_len; /* bytes of our note for that barrier, or the next; 0: none */
    struct bruck_stream_out    out;
    uint32_t                   inflows;          /* streams that come in at a barrier */
    struct bruck_stream_in    *in[2];            /* [inflows] by barrier & 1 */
    struct bruck_contribution *contributions[2]; /* [size] by barrier & 1 */
};

tern_status tern_core_bruck_open(const struct tern_link_group *as, struct tern_link_group **out);

/* A message for a bruck has come. Ends the job if it makes no sense. */
void tern_core_bruck_receive(int from, const unsigned char *head, const unsigned char *data, size_t len);

/* ---- group_bruck.c ---- */

static inline uint32_t tern_core_bruck_barrier(const struct bruck *bruck)
{
    return atomic_load_explicit(&bruck->barrier, memory_order_relaxed); /* a window of two for who delivers: a hint */
}

static inline bool tern_core_bruck_leads(const struct bruck *bruck)
{
    return bruck->position == bruck->begin[bruck->node];
}

/* The stream that the message belongs to; NULL: none. */
struct bruck_stream_in *tern_core_bruck_stream_in(struct bruck *bruck, int from, const struct core_wire *head);

/* ---- group_stream.c ---- */

/* Send what there is room for. True: the stream is over. Only while this thread holds the delivery of messages. */
bool tern_core_stream_send(struct bruck *bruck, struct bruck_stream_out *out);

/* Take in a message of a stream. False: it makes no sense. */
bool tern_core_stream_receive(struct bruck *bruck, struct bruck_stream_in *in, const struct core_wire *head,
                              const unsigned char *data, size_t len);

/* Leave a note, or part of one, for a barrier. */
void tern_core_stream_contribute(struct bruck *bruck, uint32_t barrier, const struct core_fragment *piece,
                                 const void *bytes);

/* See to it that every note of the barrier can be read up to so many bytes. */
void tern_core_stream_pad(struct bruck *bruck, uint32_t barrier, uint32_t bytes);

#endif
