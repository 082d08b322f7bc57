/* message.h: taking messages out of the links' queues, one thread at a time, and handing them to who understands them.
 * */
#ifndef TERN_CORE_MESSAGE_H
#define TERN_CORE_MESSAGE_H

#include <stdbool.h>

#include "link/link.h"

/* Before the links are opened, and when they are closed. */
tern_status tern_core_message_open(void);
void        tern_core_message_close(void);

/* For tern_link_up: one more place to look at. */
tern_status tern_core_message_watch(struct tern_link_watch *watch);

/* A link was opened that has to be asked whether messages have come. */
void        tern_core_message_add_polled_link(void);
extern bool tern_core_message_polls_links; /* there is one */

/* A link is about to be closed; nobody uses it any more. */
void tern_core_message_unwatch(const struct tern_link *link);

/* Deliver what has come. Does nothing inside a handler. Returns at once where another thread of the process is
 * delivering, which then rings this rank's bell when it has done so. */
void tern_core_message_poll(void);

/* Deliver notes, of one queue. Links that have to be asked are not. */
void tern_core_message_poll_notify(void);

/* The same, where a look at the queue that had some last is likely to be enough: for who waits, and looks with the
 * other now and then. */
extern struct tern_link_watch *_Atomic tern_core_message_notify_last; /* NULL: none */
void                                   tern_core_message_deliver_notify(struct tern_link_watch *watch);
static inline void                     tern_core_message_poll_notify_last(void)
{
    /* acquire: what the watch is. Pairs with tern_core_message_poll_notify(). */
    struct tern_link_watch *w = atomic_load_explicit(&tern_core_message_notify_last, memory_order_acquire);

    if (w && tern_link_watch_ready(w))
        tern_core_message_deliver_notify(w);
}

/* Look so many times for one note, and nothing else, where one came last; and take it. False: it has not come, or has
 * to be delivered as others are. */
bool tern_core_message_expect(struct tern_link_expected *want, unsigned looks);

/* Whether messages of the rank on a channel may have come that were not taken yet, whether or not this rank can take
 * them. */
bool tern_core_message_has_from(int rank, unsigned channel);

/* Whether this rank can take notes only where a request waits for them: then a thread may sleep although some have
 * come. When that ends those who sleep are woken. */
void                tern_core_message_notify_full(bool full);
extern _Atomic bool tern_core_message_notify_refused; /* what the last call said */

/* The same of tagged messages. */
void                tern_core_message_tagged_full(bool full);
extern _Atomic bool tern_core_message_tagged_refused; /* what the last call said */

/* What came makes no sense. There is no way to answer, and what this source sends cannot be trusted: end the job. */
void tern_core_message_protocol_error(int from, const char *what) __attribute__((cold, noreturn));

/* Deliver tagged messages, and nothing that the program's handlers take. */
void tern_core_message_poll_tagged(void);

/* Deliver replies: for the handler of a request that waits to send its own. */
void tern_core_message_poll_replies(void);

/* Whether a poll by this thread would deliver more: a poll delivers a few messages only, and nobody rings for the rest.
 * A thread calls this after it has announced that it sleeps. While notes are refused the call itself delivers those
 * that requests take, and returns true if there were any. */
bool tern_core_message_has_more(void);

/* Deliver until nothing is left. */
void tern_core_message_drain(void);

/* Keep others from delivering, in order to send on the channel of replies, which has one sender at a time. False:
 * another thread is delivering, which then rings this rank's bell when it has done so; or this is a handler. */
bool tern_core_message_hold(void);
void tern_core_message_release(void);

/* Wait until a delivery has ended in which another thread is. Returns at once in a handler. */
void tern_core_message_pause(void);

/* How deep this thread is in delivering: 1 in a handler, 2 where that waits to reply and handles replies meanwhile. */
#define TERN_CORE_TLS __attribute__((tls_model("initial-exec"))) /* looked at with every call */
extern _Thread_local int tern_core_message_depth TERN_CORE_TLS;

/* Changes when messages are delivered. */
extern uint32_t        tern_core_message_count;
static inline uint32_t tern_core_message_delivered(void)
{
    return __atomic_load_n(&tern_core_message_count, __ATOMIC_RELAXED);
}

/* Something could go on at once and gave way to others: whoever waits for it is not to sleep. */
void tern_core_message_keep_awake(void);

/* Whether this thread is inside a handler. */
static inline bool tern_core_in_handler(void)
{
    return tern_core_message_depth > 0;
}

#endif
