/* message.c: delayed messages.
 *
 * A message is sent immediately, because a sender that is busy computing could not release it later. Instead, the
 * receiver takes the message out of the wrapped link and stores a copy until the message is due. Messages of one
 * sender stay in order on each channel; messages of different senders overtake each other. When the store is full, a
 * message is delivered at once, after the earlier messages of its sender.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "link/chaos/chaos.h"
#include "link/none.h"

/* The upcalls of the wrapped link do not name the link. An upcall either comes from a call that this thread makes (see
 * polling), or it names the wrapped link. */
static _Thread_local struct chaos_link *polling __attribute__((tls_model("initial-exec"))); /* being opened or polled */
static pthread_mutex_t                  lock = PTHREAD_MUTEX_INITIALIZER; /* guards the watches of all links */

/* Remove a message from the store. */
static void dequeue(struct chaos_inbox *inbox, struct chaos_message *message)
{
    tern_base_list_remove(&message->node);
    inbox->bytes -= message->len;
    /* relaxed: tern_link_watch_ready() reads the count as a hint. */
    atomic_fetch_sub_explicit(&inbox->count, 1, memory_order_relaxed);
}

void tern_chaos_messages_close(struct chaos_link *link)
{
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        TERN_LIST_EACH(struct chaos_message, message, &link->inbox[c].messages, node)
            free(message);
    TERN_LIST_EACH(struct chaos_watch, watch, &link->watches, node)
        free(watch);
}

/* Deliver one message. Returns false if the target refuses a notification or tagged message, which then stays
 * stored. */
static bool deliver(struct chaos_link *link, unsigned channel, struct chaos_message *message)
{
    bool pair = tern_channel_is_pair(channel);

    if (pair)
        dequeue(&link->inbox[channel], message); /* its handler may poll */
    if (tern_link_deliver(link->up, message->from, channel, message->head, message->data, message->len) ==
        TERN_LINK_REFUSED)
        return false;
    if (!pair)
        dequeue(&link->inbox[channel], message);
    free(message);
    return true;
}

/* Deliver all stored messages of a sender. Returns false if the target refuses one of them. */
static bool deliver_from(struct chaos_link *link, unsigned channel, int from)
{
    TERN_LIST_EACH(struct chaos_message, message, &link->inbox[channel].messages, node)
        if (message->from == from && !deliver(link, channel, message))
            return false;
    return true;
}

/* Return the message with the earliest due time; NULL if none is due. */
static struct chaos_message *due_first(struct chaos_inbox *inbox)
{
    struct chaos_message *best = NULL;

    TERN_LIST_EACH(struct chaos_message, message, &inbox->messages, node)
        if (message->due <= inbox->stream.now && (!best || message->due < best->due))
            best = message;
    return best;
}

/* Postpone the messages of a sender that are due to the next poll. */
static void put_off(struct chaos_inbox *inbox, int from)
{
    TERN_LIST_EACH(struct chaos_message, message, &inbox->messages, node)
        if (message->from == from && message->due <= inbox->stream.now) {
            message->due = inbox->stream.now + 1;
            message->refused = true;
        }
}

/* Return whether a stored message has not been refused by the target. */
static bool holds_back(const struct chaos_inbox *inbox)
{
    TERN_LIST_EACH(struct chaos_message, message, &inbox->messages, node)
        if (!message->refused)
            return true;
    return false;
}

/* Return the latest due time of the stored messages from a sender, or from any sender if from is -1. Returns 0 if none
 * is stored. */
static uint64_t last_due(const struct chaos_inbox *inbox, int from)
{
    uint64_t due = 0;

    TERN_LIST_EACH(struct chaos_message, message, &inbox->messages, node)
        if ((from < 0 || message->from == from) && message->due > due)
            due = message->due;
    return due;
}

/* Store a copy of a message. Returns false if the store is full or there is no memory. */
static bool keep(struct chaos_inbox *inbox, int from, uint64_t due, const unsigned char *head,
                 const unsigned char *data, size_t len)
{
    size_t                bytes = (size_t)tern_base_round_up(sizeof(struct chaos_message) + len, TERN_CACHE_LINE);
    struct chaos_message *message;

    if (atomic_load_explicit(&inbox->count, memory_order_relaxed) >= CHAOS_HELD ||
        len > CHAOS_HELD_BYTES - inbox->bytes || !(message = aligned_alloc(TERN_CACHE_LINE, bytes)))
        return false;
    *message = (struct chaos_message){ .due = due, .from = from, .len = len };
    memcpy(message->head, head, TERN_LINK_HEAD);
    if (len > 0) {
        message->data = (unsigned char *)(message + 1);
        memcpy(message->data, data, len);
    }
    tern_base_list_append(&inbox->messages, &message->node);
    inbox->bytes += len;
    atomic_fetch_add_explicit(&inbox->count, 1, memory_order_relaxed); /* relaxed: see dequeue() */
    return true;
}

/* Store a message unless it is due at once. Returns whether the message is stored. */
static bool hold_back(struct chaos_inbox *inbox, int from, const unsigned char *head, const unsigned char *data,
                      size_t len)
{
    uint64_t due = tern_chaos_due(&inbox->stream, last_due(inbox, from), last_due(inbox, -1));

    return due > inbox->stream.now && keep(inbox, from, due, head, data, len);
}

/* Notifications of parts behind chaos carry no inline payload, so copy is false. */
enum tern_link_delivered tern_chaos_notify(int from, const unsigned char *head, bool copy)
{
    struct chaos_link *link = polling;

    if (hold_back(&link->inbox[TERN_CHANNEL_NOTIFY], from, head, NULL, 0))
        return TERN_LINK_TAKEN;
    return deliver_from(link, TERN_CHANNEL_NOTIFY, from) ? link->up->notify(from, head, copy) : TERN_LINK_REFUSED;
}

enum tern_link_delivered tern_chaos_tagged(int from, const unsigned char *head, const unsigned char *data, size_t len)
{
    struct chaos_link *link = polling;

    if (hold_back(&link->inbox[TERN_CHANNEL_TAGGED], from, head, data, len))
        return TERN_LINK_TAKEN;
    return deliver_from(link, TERN_CHANNEL_TAGGED, from) ? link->up->tagged(from, head, data, len) : TERN_LINK_REFUSED;
}

void tern_chaos_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    struct chaos_link *link = polling;

    if (hold_back(&link->inbox[channel], from, head, data, len))
        return;
    deliver_from(link, channel, from);
    tern_link_deliver(link->up, from, channel, head, data, len);
}

tern_status tern_chaos_msg_open(struct tern_link *behind, struct tern_link_msg *msg, size_t min, size_t max)
{
    struct chaos_link *link = tern_chaos_link(behind);
    tern_status        st =
        tern_chaos_turns_away(link, &link->open, false) ? TERN_AGAIN : link->ops->msg->open(behind, msg, min, max);

    if (st == TERN_OK)
        tern_chaos_operation(link); /* a rank that dies here leaves a reserved message unsent */
    return st;
}

tern_status tern_chaos_msg_send_short(struct tern_link *behind, int peer, unsigned channel, uint64_t first,
                                      const uint32_t *rest, unsigned count)
{
    struct chaos_link *link = tern_chaos_link(behind);
    tern_status        st = tern_chaos_turns_away(link, &link->open, false)
                                ? TERN_AGAIN
                                : link->ops->msg->send_short(behind, peer, channel, first, rest, count);

    if (st == TERN_OK)
        tern_chaos_operation(link);
    return st;
}

/* Deliver the messages of a channel that are due. Returns false during a stall. Time advances only with polls, so no
 * thread may sleep while chaos delays a message that the target may accept. The core does not ensure that while the
 * target refuses other messages. */
static bool deliver_due(struct chaos_link *link, unsigned channel)
{
    struct chaos_inbox   *inbox = &link->inbox[channel];
    struct chaos_message *due;

    if (!tern_chaos_look(&inbox->stream)) {
        tern_chaos_stay_awake(link);
        return false;
    }
    while ((due = due_first(inbox)))
        if (!deliver(link, channel, due))
            put_off(inbox, due->from);
    if (holds_back(inbox))
        tern_chaos_stay_awake(link);
    return true;
}

/* Deliver the stored messages that are due. Called while messages are stored. */
static tern_status deliver_held(struct tern_link_watch *watch)
{
    deliver_due(tern_chaos_link(watch->link), watch->channel);
    return TERN_OK;
}

/* Deliver the messages that are due, and those that the wrapped link has received. */
static tern_status deliver_behind(struct tern_link_watch *base)
{
    struct chaos_watch *watch = (struct chaos_watch *)base;
    struct chaos_link  *link = tern_chaos_link(base->link), *outer = polling;
    tern_status         st;

    if (base->channel != TERN_CHANNEL_DIRECTORY && !deliver_due(link, base->channel))
        return TERN_OK;
    polling = link;
    st = watch->behind->deliver(watch->behind);
    polling = outer;
    tern_link_watch_move(base, watch->behind->word, watch->behind->idle);
    return st;
}

tern_status tern_chaos_watch(struct tern_link_watch *behind)
{
    struct chaos_link  *link = polling ? polling : tern_chaos_link(behind->link);
    struct chaos_watch *watch = malloc(sizeof(*watch));

    if (!watch)
        return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for %zu bytes", sizeof(*watch));
    watch->base = *behind;
    watch->base.deliver = deliver_behind;
    watch->base.expect = tern_link_no_expect; /* an expected notification must keep the order of this link, too */
    watch->base.lasts = false;                /* chaos may stall */
    watch->behind = behind;
    pthread_mutex_lock(&lock);
    tern_base_list_push(&link->watches, &watch->node);
    pthread_mutex_unlock(&lock);
    return link->up->watch(&watch->base);
}

tern_status tern_chaos_open_behind(struct chaos_link *link)
{
    struct chaos_link *outer = polling;
    tern_status        st;

    tern_base_list_init(&link->watches);
    for (unsigned c = 0; c < TERN_CHANNELS; c++) {
        tern_chaos_stream(link, &link->inbox[c].stream, CHAOS_CHANNEL, c);
        tern_base_list_init(&link->inbox[c].messages);
    }
    polling = link;
    st = link->ops->open(link->boot, &link->upcalls, &link->behind);
    polling = outer;
    return st;
}

tern_status tern_chaos_messages_open(struct chaos_link *link)
{
    tern_status st = TERN_OK;

    for (unsigned c = 0; c < TERN_CHANNELS && st == TERN_OK; c++) {
        link->inbox[c].watch = (struct tern_link_watch){ .word = &link->inbox[c].count,
                                                         .channel = c,
                                                         .deliver = deliver_held,
                                                         .expect = tern_link_no_expect,
                                                         .link = link->behind };
        st = link->up->watch(&link->inbox[c].watch);
    }
    return st;
}

bool tern_chaos_msg_pending(struct tern_link *behind, int peer, unsigned channel)
{
    struct chaos_link *link = tern_chaos_link(behind);

    TERN_LIST_EACH(struct chaos_message, message, &link->inbox[channel].messages, node)
        if (message->from == peer)
            return true;
    return link->ops->msg->pending(behind, peer, channel);
}
