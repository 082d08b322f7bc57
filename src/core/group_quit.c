/* group_quit.c: members of a Bruck group that give up the team, or abandon it.
 *
 * A member that gives up tells the receivers of its outgoing streams that these streams do not come any more. A
 * receiver that waits for such a stream, or enters a later barrier, fails, and gives up too. So all members learn of it
 * along the streams of the barrier, and no other pairs exchange messages. A channel keeps its messages in order: the
 * streams that the member sent before it gave up arrive before this message, and are valid.
 *
 * A member whose creation of the team has failed abandons the team: it closes the group without waiting for the others.
 * It tells all of them, because they must not wait for its departures. A member that has not opened the team yet
 * remembers it.
 *
 * Messages for which there is no space, or which another thread's delivery prevents, are sent by later polls: the group
 * may be closed by then.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/log.h"
#include "core/group_bruck.h"
#include "core/job.h"
#include "core/message.h"
#include "core/team_create.h"

/* ---- messages that wait ---- */

/* A message that has not been sent. */
struct notice {
    struct tern_list      listed;
    int                   peer;
    size_t                bytes; /* of the wire: a core_wire or a core_part_wire */
    struct core_part_wire wire;
};

static pthread_mutex_t  unsent_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tern_list unsent = TERN_LIST_INIT(unsent); /* guarded by unsent_lock */

_Atomic bool tern_core_bruck_unsent;

static void *allocate(size_t bytes)
{
    void *at = calloc(1, bytes);

    if (at)
        return at;
    tern_base_log(TERN_LOG_ERROR, "no memory to tell other ranks that a team has been given up; ending the job");
    _Exit(1); /* the other ranks would wait for this one */
}

static void post(const struct bruck *c, uint32_t receiver, const struct core_part_wire *wire, size_t bytes)
{
    struct notice *notice = allocate(sizeof(*notice));

    notice->peer = tern_link_group_world(&c->base, receiver);
    notice->wire = *wire;
    notice->bytes = bytes;
    pthread_mutex_lock(&unsent_lock);
    tern_base_list_append(&unsent, &notice->listed);
    atomic_store_explicit(&tern_core_bruck_unsent, true, memory_order_relaxed); /* the lock orders the list */
    pthread_mutex_unlock(&unsent_lock);
}

void tern_core_bruck_flush(void)
{
    if (!tern_core_message_hold())
        return;
    pthread_mutex_lock(&unsent_lock);
    TERN_LIST_EACH(struct notice, notice, &unsent, listed) {
        if (tern_core_wire_send(notice->peer, &notice->wire, notice->bytes) == TERN_AGAIN)
            continue; /* other receivers may have space */
        tern_base_list_remove(&notice->listed);
        free(notice);
    }
    atomic_store_explicit(&tern_core_bruck_unsent, !tern_base_list_empty(&unsent), memory_order_relaxed); /* as above */
    pthread_mutex_unlock(&unsent_lock);
    tern_core_message_release();
}

/* Send what has been posted now, or let the polls send it. The caller reports why it gives up. */
static void send_posted(void)
{
    char why[512];

    snprintf(why, sizeof(why), "%s", tern_base_detail());
    tern_core_bruck_flush();
    tern_core_message_poll_links_too();
    tern_base_fail(TERN_ERR_PEER, "%s", why);
}

/* ---- giving up ---- */

/* Return the number of outgoing streams of a barrier. */
static uint32_t outflows(const struct bruck *c)
{
    return tern_core_bruck_leads(c) ? c->rounds + tern_core_bruck_locals(c) - 1 : 1;
}

/* Return the leader of the node that is `step` nodes further in the circle. */
static uint32_t leader_after(const struct bruck *c, uint32_t step)
{
    return c->order[c->begin[(c->node + step) % c->nodes]];
}

/* Return the message that ends an outgoing stream, and *receiver: the member that receives it. */
static struct core_wire quit_wire(const struct bruck *c, uint32_t outflow, uint32_t *receiver)
{
    struct core_wire wire = { .whose = CORE_WIRE_OWN,
                              .mark = CORE_WIRE_MARK,
                              .group = c->base.id,
                              .barrier = tern_core_bruck_barrier(c) + tern_core_bruck_is_complete(c),
                              .last = CORE_WIRE_GAVE_UP };

    if (!tern_core_bruck_leads(c)) {
        wire.way = CORE_DIRECTION_UP;
        *receiver = leader_after(c, 0);
    } else if (outflow < c->rounds) {
        wire.way = CORE_DIRECTION_ROUND;
        wire.round = (uint16_t)outflow;
        *receiver = leader_after(c, 1u << outflow);
    } else {
        wire.way = CORE_DIRECTION_DOWN;
        *receiver = c->order[c->position + 1 + outflow - c->rounds];
    }
    return wire;
}

void tern_core_bruck_give_up(struct tern_link_group *group)
{
    struct bruck *c = (struct bruck *)group;

    for (uint32_t outflow = 0; outflow < outflows(c); outflow++) {
        uint32_t              receiver;
        struct core_part_wire wire = { .head = quit_wire(c, outflow, &receiver) };

        post(c, receiver, &wire, sizeof(wire.head));
    }
    send_posted();
}

/* Return the member that sends an incoming stream. */
static uint32_t sender_of(const struct bruck *c, uint32_t inflow)
{
    uint32_t others = tern_core_bruck_locals(c) - 1;

    if (!tern_core_bruck_leads(c))
        return leader_after(c, 0);
    return inflow < others ? c->order[c->position + 1 + inflow] : leader_after(c, c->nodes - (1u << (inflow - others)));
}

int tern_core_bruck_quitter(struct tern_link_group *group)
{
    const struct bruck *c = (const struct bruck *)group;

    /* acquire: the numbers of the streams. Pairs with the release in tern_core_bruck_quit_receive(). */
    if (!atomic_load_explicit(&c->has_ended, memory_order_acquire) || tern_core_bruck_is_complete(c))
        return -1;
    for (uint32_t i = 0; i < c->inflows; i++) {
        /* acquire: the streams that arrived before. Pairs with the release in tern_core_bruck_quit_receive(). */
        uint64_t ended = atomic_load_explicit(&c->ended[i], memory_order_acquire);

        if (ended != 0 && !tern_base_seq_after((uint32_t)ended, tern_core_bruck_barrier(c)) &&
            !tern_core_bruck_has_come(c, i))
            return (int)sender_of(c, i);
    }
    return -1;
}

bool tern_core_bruck_quit_receive(struct bruck *c, int from, const struct core_wire *head)
{
    struct bruck_stream_in *in = tern_core_bruck_stream_in(c, from, head);

    if (!in)
        return false;
    /* release, both: the streams that arrived before, and the number. Pairs with tern_core_bruck_quitter(). */
    atomic_store_explicit(&c->ended[in - c->in[head->barrier & 1]], BRUCK_ENDED | head->barrier, memory_order_release);
    atomic_store_explicit(&c->has_ended, true, memory_order_release);
    return true;
}

/* ---- abandoning ---- */

/* A member that has abandoned a team that this rank has not opened, or no longer has. */
struct absence {
    struct tern_list listed;
    uint32_t         group, barrier;
    int              rank; /* in the job */
};

static struct tern_list absences = TERN_LIST_INIT(absences); /* used by the thread that holds the delivery */

void tern_core_bruck_abandon(struct bruck *c)
{
    struct core_part_wire wire = { .head = { .whose = CORE_WIRE_OWN,
                                             .way = CORE_DIRECTION_DEPART,
                                             .mark = CORE_WIRE_MARK,
                                             .group = c->base.id,
                                             .barrier = tern_core_bruck_barrier(c) + tern_core_bruck_is_complete(c),
                                             .round = (uint16_t)c->base.me,
                                             .last = CORE_WIRE_GAVE_UP } };

    tern_core_team_spoil(c->base.id);
    for (uint32_t i = 0; i < c->base.size; i++)
        if (i != c->base.me)
            post(c, i, &wire, sizeof(wire));
    send_posted();
}

/* Record that a member has left, and sends no streams from a barrier on. */
static void note_absence(struct bruck *c, uint32_t member, uint32_t barrier)
{
    for (uint32_t i = 0; i < c->inflows; i++)
        if (sender_of(c, i) == member)
            /* release, all: the streams that arrived before. Pairs with tern_core_bruck_quitter(). */
            atomic_store_explicit(&c->ended[i], BRUCK_ENDED | barrier, memory_order_release);
    atomic_store_explicit(&c->has_ended, true, memory_order_release);
    atomic_store_explicit(&c->parts.of[member].gone, true, memory_order_release);
}

bool tern_core_bruck_abandon_receive(struct bruck *c, int from, const struct core_wire *head)
{
    struct absence *absence;

    tern_core_team_spoil(head->group);
    if (c) {
        note_absence(c, head->round, head->barrier);
        return true;
    }
    absence = allocate(sizeof(*absence));
    *absence = (struct absence){ .group = head->group, .barrier = head->barrier, .rank = from };
    tern_base_list_init(&absence->listed);
    tern_base_list_append(&absences, &absence->listed);
    return true;
}

void tern_core_bruck_recall(struct bruck *c)
{
    TERN_LIST_EACH(struct absence, absence, &absences, listed) {
        if (absence->group != c->base.id)
            continue;
        for (uint32_t i = 0; i < c->base.size; i++)
            if (tern_link_group_world(&c->base, i) == absence->rank)
                note_absence(c, i, absence->barrier);
        tern_base_list_remove(&absence->listed);
        free(absence);
    }
}
