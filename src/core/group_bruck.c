/* group_bruck.c: the steps of a barrier by messages: see group_bruck.h.
 *
 * A barrier has stages. In each stage a rank waits for streams from others, and then sends what it has received:
 *
 *   leader, first stage        waits for its node;              this and each stage before the last sends a round
 *   leader, stage k            waits for round k - 1
 *   leader, last stage                                          sends to its node
 *   other rank, first stage    waits for nothing;               sends to its leader
 *   other rank, second stage   waits for its leader;            sends nothing
 *
 * Messages of the next barrier may arrive before the current barrier is complete, but no messages of the barrier after
 * the next one, because a rank needs this rank's messages of the next barrier to enter that one. So there are two sets
 * of streams, and two sets of contributions.
 */
#include "core/group_bruck.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/sanitize.h"
#include "core/job.h"
#include "core/message.h"
#include "core/group_segment.h"
#include "core/team_create.h"
#include "link/none.h"

unsigned tern_core_group_apart;

static struct tern_list groups = TERN_LIST_INIT(groups); /* all open groups; changed while no message is delivered */

static int leader_of(const struct bruck *c, uint32_t node)
{
    return tern_link_group_world(&c->base, c->order[c->begin[node]]);
}

/* ---- incoming streams ---- */

/* A leader has a stream from each other member of its node, then one for each round; other ranks have one stream. */
struct bruck_stream_in *tern_core_bruck_stream_in(struct bruck *c, int from, const struct core_wire *head)
{
    struct bruck_stream_in *in = c->in[head->barrier & 1];

    if (!tern_core_bruck_leads(c))
        return head->way == CORE_DIRECTION_DOWN && from == leader_of(c, c->node) ? in : NULL;
    if (head->way == CORE_DIRECTION_ROUND && head->round < c->rounds &&
        from == leader_of(c, (c->node + c->nodes - (1u << head->round) % c->nodes) % c->nodes))
        return in + tern_core_bruck_locals(c) - 1 + head->round;
    for (uint32_t i = 1; head->way == CORE_DIRECTION_UP && i < tern_core_bruck_locals(c); i++)
        if (tern_link_group_world(&c->base, c->order[c->position + i]) == from)
            return in + i - 1;
    return NULL;
}

bool tern_core_bruck_has_come(const struct bruck *c, uint32_t inflow)
{
    uint32_t barrier = tern_core_bruck_barrier(c);

    /* acquire: the contributions of the stream. Pairs with the release in group_stream.c. */
    return atomic_load_explicit(&c->in[barrier & 1][inflow].whole, memory_order_acquire) == barrier;
}

static struct bruck *group_of(uint32_t id)
{
    TERN_LIST_EACH(struct bruck, group, &groups, listed)
        if (group->base.id == id)
            return group;
    return NULL;
}

static bool receive(int from, const unsigned char *head_bytes, const unsigned char *data, size_t len)
{
    struct bruck           *c;
    struct bruck_stream_in *in = NULL;
    struct core_part_wire   wire;
    struct core_wire        head;

    memcpy(&wire, head_bytes, sizeof(wire));
    head = wire.head;
    if (head.way == CORE_DIRECTION_WAKE)
        return len == 0;
    if (head.way >= CORE_TEAM_JOIN)
        return len == 0 && tern_core_team_receive(from, head_bytes);
    if (!(c = group_of(head.group))) {
        if (head.way == CORE_DIRECTION_DEPART && head.last == CORE_WIRE_GAVE_UP && head.group != 0)
            return len == 0 && tern_core_bruck_abandon_receive(NULL, from, &head);
        return head.group != 0; /* this rank has freed the team, after a call on the team timed out */
    }
    if (head.way >= CORE_DIRECTION_DEPART)
        return len == 0 && tern_core_bruck_part_receive(c, from, &wire);
    if (head.last == CORE_WIRE_GAVE_UP)
        return len == 0 && tern_core_bruck_quit_receive(c, from, &head);
    if (head.barrier - tern_core_bruck_barrier(c) <= 1) /* the current barrier or the next */
        in = tern_core_bruck_stream_in(c, from, &head);
    return in && tern_core_stream_receive(c, in, &head, data, len);
}

void tern_core_bruck_receive(int from, const unsigned char *head, const unsigned char *data, size_t len)
{
    if (receive(from, head, data, len))
        return;
    tern_base_log(TERN_LOG_ERROR, "rank %d sent an invalid message for a collective call; ending the job", from);
    _Exit(1);
}

/* ---- the stages ---- */

/* Return whether the streams that the stage waits for have arrived. */
static bool is_due(const struct bruck *c)
{
    uint32_t others = tern_core_bruck_locals(c) - 1;

    if (!tern_core_bruck_leads(c))
        return c->stage == 0 || tern_core_bruck_has_come(c, 0);
    if (c->stage > 0)
        return tern_core_bruck_has_come(c, others + c->stage - 1);
    for (uint32_t i = 0; i < others; i++)
        if (!tern_core_bruck_has_come(c, i))
            return false;
    return true;
}

static uint32_t stages(const struct bruck *c)
{
    return tern_core_bruck_leads(c) ? c->rounds + 1 : 2;
}

bool tern_core_bruck_is_complete(const struct bruck *c)
{
    return c->stage == stages(c);
}

/* Return the number of streams that the stage sends. */
static uint32_t streams(const struct bruck *c)
{
    if (!tern_core_bruck_leads(c))
        return c->stage == 0;
    return c->stage < c->rounds ? 1 : tern_core_bruck_locals(c) - 1;
}

/* Begin the stream of round k. It consists of the contributions that this node has before the round, which are those of
 * the node itself and of the nodes before it, without the contributions that the receiver has already. */
static void begin_round(const struct bruck *c, struct bruck_stream_out *out)
{
    uint32_t step = 1u << c->stage, known = step < c->nodes - step ? step : c->nodes - step;
    uint32_t first = (c->node + c->nodes + 1 - known) % c->nodes;

    *out = (struct bruck_stream_out){ .peer = leader_of(c, (c->node + step) % c->nodes),
                                      .way = CORE_DIRECTION_ROUND,
                                      .round = c->stage,
                                      .first = c->begin[first] };
    for (uint32_t i = 0; i < known; i++) {
        uint32_t node = (first + i) % c->nodes;
        out->count += c->begin[node + 1] - c->begin[node];
    }
}

static void begin_stream(const struct bruck *c, struct bruck_stream_out *out)
{
    if (!tern_core_bruck_leads(c)) {
        *out = (struct bruck_stream_out){
            .peer = leader_of(c, c->node), .way = CORE_DIRECTION_UP, .first = c->position, .count = 1
        };
    } else if (c->stage < c->rounds) {
        begin_round(c, out);
    } else { /* all contributions except the receiver's own */
        uint32_t position = c->position + 1 + c->sent;
        *out = (struct bruck_stream_out){ .peer = tern_link_group_world(&c->base, c->order[position]),
                                          .way = CORE_DIRECTION_DOWN,
                                          .first = (position + 1) % c->base.size,
                                          .count = c->base.size - 1 };
    }
}

/* Advance as far as possible. The caller must hold the delivery of messages. */
static void advance(struct bruck *c)
{
    while (c->stage < stages(c)) {
        if (!c->sending) {
            if (!is_due(c))
                return;
            c->sending = true;
            c->sent = 0;
            if (streams(c) > 0)
                begin_stream(c, &c->out);
        }
        while (c->sent < streams(c)) {
            if (!tern_core_stream_send(c, &c->out))
                return;
            if (++c->sent < streams(c))
                begin_stream(c, &c->out);
        }
        c->stage++;
        c->sending = false;
    }
}

static bool is_over(struct bruck *c)
{
    if (c->stage < stages(c) && (c->sending || is_due(c)) && tern_core_message_hold()) {
        advance(c);
        tern_core_message_release();
    }
    return tern_core_bruck_is_complete(c);
}

/* ---- the group ---- */

static void bruck_arrive(struct tern_link_group *base)
{
    struct bruck *c = (struct bruck *)base;
    uint32_t      barrier = tern_core_bruck_barrier(c) + 1;

    if (c->contributions[barrier & 1][base->me].barrier != barrier)
        c->contribution_len = 0;
    c->stage = 0;
    c->sending = false;
    tern_base_order_before_peers();
    if (base->id == 0)
        tern_core_segment_arrive(barrier, base->call);
    atomic_store_explicit(&c->barrier, barrier, memory_order_relaxed);
    is_over(c);
}

static bool bruck_arrived(struct tern_link_group *base)
{
    struct bruck *c = (struct bruck *)base;

    uint32_t barrier = tern_core_bruck_barrier(c);

    if (!is_over(c))
        return false;
    /* relaxed: after the streams */
    if (c->contribution_len == 0 && atomic_load_explicit(&c->contributed[barrier & 1], memory_order_relaxed) == barrier)
        base->mixed = true;
    if (c->contribution_len > 0) /* the caller reads that many bytes of each contribution, whatever its length */
        tern_core_stream_pad(c, barrier, c->contribution_len);
    tern_base_order_after_peers();
    return true;
}

/* In the world, a rank knows the arrival of all ranks of its own node. In other teams only the leader of the node knows
 * it; a rank that is no leader waits for its leader. A leader knows the arrival of ranks on other nodes as far as their
 * streams have arrived. */
static bool bruck_has_arrived(const struct tern_link_group *base, uint32_t member)
{
    const struct bruck *c = (const struct bruck *)base;
    uint32_t            behind = (c->node + c->nodes - c->node_of[member]) % c->nodes;
    int                 rank = tern_link_group_world(base, member);

    if (c->stage == stages(c))
        return true;
    if (base->id == 0 && tern_boot_same_node(&tern_job.boot, rank))
        return tern_core_segment_has_arrived(rank, tern_core_bruck_barrier(c));
    if (base->id != 0 && !tern_core_bruck_leads(c))
        return member != c->order[c->begin[c->node]];
    if (base->id != 0 && behind == 0) {
        for (uint32_t i = 1; i < tern_core_bruck_locals(c); i++)
            if (c->order[c->position + i] == member)
                return tern_core_bruck_has_come(c, i - 1);
        return true;
    }
    return tern_core_bruck_leads(c) && c->stage + c->sending > 0 && behind < 1u << (c->stage + c->sending - 1);
}

static void *bruck_contribute(struct tern_link_group *base, size_t len)
{
    struct bruck *c = (struct bruck *)base;

    c->contribution_len = (uint32_t)len;
    return tern_core_stream_contribution(c, tern_core_bruck_barrier(c) + 1, base->me, (uint32_t)len);
}

static const void *bruck_contribution_of(const struct tern_link_group *base, uint32_t member)
{
    const struct bruck *c = (const struct bruck *)base;

    return c->contributions[tern_core_bruck_barrier(c) & 1][member].bytes;
}

static enum tern_member_doing bruck_doing(const struct tern_link_group *base, uint32_t member, uint64_t *what)
{
    return tern_core_segment_doing(base, member, tern_core_bruck_barrier((const struct bruck *)base), what);
}

static enum tern_member_doing bruck_team_doing(const struct tern_link_group *base, uint32_t member, uint64_t *what)
{
    (void)base, (void)member, (void)what;
    return TERN_MEMBER_ELSEWHERE;
}

/* If a death ends the job, no rank asks for a team of survivors. */
static void bruck_regroup(struct tern_link_group *base, uint32_t id)
{
    (void)base, (void)id;
}

static bool bruck_regrouped(const struct tern_link_group *base, uint32_t member, uint32_t *id)
{
    (void)base, (void)member;
    *id = 0;
    return true;
}

/* ---- creation ---- */

/* Add the group to the list of groups, or remove it, while no thread delivers messages. */
static void list_change(struct bruck *c, bool add)
{
    while (!tern_core_message_hold())
        sched_yield();
    if (add) {
        tern_base_list_push(&groups, &c->listed);
        tern_core_bruck_recall(c);
    } else
        tern_base_list_remove(&c->listed);
    tern_core_message_release();
}

static void bruck_close(struct tern_link_group *base)
{
    struct bruck *c = (struct bruck *)base;

    list_change(c, false);
    for (unsigned i = 0; i < 2; i++) {
        for (uint32_t m = 0; c->contributions[i] && m < base->size; m++)
            free(c->contributions[i][m].bytes);
        free(c->contributions[i]);
        free(c->in[i]);
    }
    free(c->order);
    free(c->node_of);
    free(c->begin);
    free(c->parts.of);
    free(c->ended);
    free(c);
}

static uint32_t node_number(const struct bruck *c, uint32_t member)
{
    if (tern_core_group_apart)
        return member / tern_core_group_apart;
    return tern_core_job_slot(tern_link_group_world(&c->base, member))->node;
}

/* Number the nodes that have members, in the order of their first members, and sort the members by node. known has an
 * entry for each node of the job, or each member. */
static void line_up(struct bruck *c, uint32_t *known)
{
    uint32_t position = 0;

    for (uint32_t m = 0; m < c->base.size; m++) {
        uint32_t number = node_number(c, m);

        if (known[number] == 0)
            known[number] = ++c->nodes;
        c->node_of[m] = known[number] - 1;
    }
    for (uint32_t node = 0; node < c->nodes; node++) {
        c->begin[node] = position;
        for (uint32_t m = 0; m < c->base.size; m++) {
            if (c->node_of[m] != node)
                continue;
            c->position = m == c->base.me ? position : c->position;
            c->order[position++] = m;
        }
    }
    c->begin[c->nodes] = position;
    c->node = c->node_of[c->base.me];
    c->rounds = tern_base_log2_up(c->nodes);
    c->inflows = tern_core_bruck_leads(c) ? tern_core_bruck_locals(c) - 1 + c->rounds : 1;
}

static bool make_tables(struct bruck *c)
{
    size_t    size = c->base.size, numbers = (size_t)tern_job.boot.nodes + size;
    uint32_t *known = calloc(numbers, sizeof(*known));

    c->order = calloc(size, sizeof(*c->order));
    c->node_of = calloc(size, sizeof(*c->node_of));
    c->begin = calloc(size + 1, sizeof(*c->begin));
    if (!known || !c->order || !c->node_of || !c->begin) {
        free(known);
        return false;
    }
    line_up(c, known);
    free(known);
    for (unsigned i = 0; i < 2; i++) {
        c->in[i] = calloc(c->inflows + 1, sizeof(*c->in[i]));
        c->contributions[i] = calloc(size, sizeof(*c->contributions[i]));
    }
    c->ended = calloc(c->inflows + 1, sizeof(*c->ended));
    if (c->base.id != 0)
        c->parts.of = calloc(size, sizeof(*c->parts.of));
    return c->in[0] && c->in[1] && c->contributions[0] && c->contributions[1] && c->ended &&
           (c->base.id == 0 || c->parts.of);
}

static tern_status bruck_open(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out)
{
    struct bruck *c = calloc(1, sizeof(*c));

    (void)link;
    if (!c)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a group of %u ranks", as->size);
    c->base = *as;
    c->base.ops = as->id == 0 ? &tern_core_bruck_group : &tern_core_bruck_team;
    c->base.longest = TERN_LINK_CONTRIBUTION;
    tern_base_list_init(&c->listed);
    if (!make_tables(c)) {
        bruck_close(&c->base);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a group of %u ranks", as->size);
    }
    list_change(c, true);
    *out = &c->base;
    return TERN_OK;
}

const struct tern_group_ops tern_core_bruck_group = {
    .open = bruck_open,
    .close = bruck_close,
    .space = tern_link_no_space,
    .arrive = bruck_arrive,
    .arrived = bruck_arrived,
    .has_arrived = bruck_has_arrived,
    .give_up = tern_core_bruck_give_up,
    .quitter = tern_core_bruck_quitter,
    .depart = tern_core_segment_depart,
    .departed = tern_core_segment_departed,
    .advance = tern_link_no_advance,
    .regroup = bruck_regroup,
    .regrouped = bruck_regrouped,
    .contribute = bruck_contribute,
    .contribution = bruck_contribution_of,
    .doing = bruck_doing,
    .board = tern_link_no_board,
};

const struct tern_group_ops tern_core_bruck_team = {
    .open = bruck_open,
    .close = bruck_close,
    .space = tern_link_no_space,
    .arrive = bruck_arrive,
    .arrived = bruck_arrived,
    .has_arrived = bruck_has_arrived,
    .give_up = tern_core_bruck_give_up,
    .quitter = tern_core_bruck_quitter,
    .depart = tern_core_bruck_depart,
    .departed = tern_core_bruck_departed,
    .advance = tern_core_bruck_advance,
    .regroup = bruck_regroup,
    .regrouped = bruck_regrouped,
    .contribute = bruck_contribute,
    .contribution = bruck_contribution_of,
    .doing = bruck_team_doing,
    .board = tern_link_no_board,
};
