/* message.h: take messages from the links' queues, one thread at a time, and pass them to their handlers. */
#pragma once

#include <stdbool.h>

#include "base/biased_lock.h"
#include "link/link.h"

/* Call open before the links are opened, and close when they are closed. */
tern_status tern_core_message_open(void);
void        tern_core_message_close(void);

/* For tern_link_up: add a watch to poll. */
tern_status tern_core_message_watch(struct tern_link_watch *watch);

/* Polls do more than check the watches: an open link must be polled for messages (it has msg_poll), or messages about
 * teams that were given up wait for space. Written when links are opened, and by tern_core_message_poll_links_too(). */
extern bool        tern_core_message_polls_links_now;
static inline bool tern_core_message_polls_links(void)
{
    return __atomic_load_n(&tern_core_message_polls_links_now, __ATOMIC_RELAXED);
}

/* Let polls send messages about teams that were given up (tern_core_bruck_flush). */
void tern_core_message_poll_links_too(void);

/* Remove the link's watches. The link is about to be closed, and no thread uses it any more. */
void tern_core_message_unwatch(const struct tern_link *link);

/* The queue, other than one of notifications, that had messages last; NULL: none. */
extern struct tern_link_watch *_Atomic tern_core_message_last;

/* The out-of-line parts of tern_core_message_poll. The first one delivers the messages of the queue that had messages
 * last, if other queues have had their turn. */
void tern_core_message_poll_last(struct tern_link_watch *watch);
void tern_core_message_poll_all(void);

/* Deliver the messages that have arrived. Does nothing inside a handler. Returns at once if another thread of the
 * process is delivering; that thread rings this rank's bell when it has finished. The next message is expected in the
 * queue that had one last, so that this queue is checked first. */
static inline void tern_core_message_poll(void)
{
    /* acquire: the contents of the watch. Pairs with poll_table() in message.c. */
    struct tern_link_watch *w = atomic_load_explicit(&tern_core_message_last, memory_order_acquire);

    if (w && tern_link_watch_ready(w))
        tern_core_message_poll_last(w);
    else
        tern_core_message_poll_all();
}

/* Deliver the notifications of one queue. Does not poll links that have msg_poll. */
void tern_core_message_poll_notify(void);

/* Deliver notifications, but check only the queue that had some last. A waiting thread calls this; it must also call
 * tern_core_message_poll_notify occasionally. */
extern struct tern_link_watch *_Atomic tern_core_message_notify_last; /* NULL: none */
void                                   tern_core_message_deliver_notify(struct tern_link_watch *watch);
static inline void                     tern_core_message_poll_notify_last(void)
{
    /* acquire: the contents of the watch. Pairs with tern_core_message_poll_notify(). */
    struct tern_link_watch *w = atomic_load_explicit(&tern_core_message_notify_last, memory_order_acquire);

    if (w && tern_link_watch_ready(w))
        tern_core_message_deliver_notify(w);
}

/* Set while the thread that holds the bias (base/biased_lock.h) delivers messages, or is finding out that the bias was
 * revoked. */
extern _Atomic bool tern_core_message_biased __attribute__((visibility("hidden")));

/* Ring this rank's bell. Another thread may have found this one delivering, and gone to sleep. */
void tern_core_message_ring_own(void) __attribute__((cold));

/* End a delivery that was entered by the bias. */
static inline __attribute__((always_inline)) void tern_core_message_leave_biased(void)
{
    /* release: the effects of handlers. Pairs with the acquire in take_flag() in message.c. */
    atomic_store_explicit(&tern_core_message_biased, false, memory_order_release);
    /* Store before load: the other thread ran a membarrier on this one. */
    atomic_signal_fence(memory_order_seq_cst);
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed)))
        tern_core_message_ring_own();
}

/* Return whether messages of the rank on a channel may have arrived that have not been delivered yet, even if this rank
 * cannot accept them now. */
bool tern_core_message_has_from(int rank, unsigned channel);

/* Set whether this rank accepts only those messages on a channel, NOTIFY or TAGGED, that match a posted request or
 * receive: while full is true, a thread may sleep although messages have arrived. Setting it to false wakes the
 * sleeping threads. */
void                tern_core_message_full(unsigned channel, bool full);
extern _Atomic bool tern_core_message_refused[TERN_CHANNEL_DIRECTORY + 1]; /* values of the last calls */

static inline bool tern_core_message_refuses(unsigned channel)
{
    return atomic_load_explicit(&tern_core_message_refused[channel], memory_order_relaxed); /* a hint: bells order it */
}

/* End the job because a message is malformed. The receiver cannot reply, and must not trust this source any more. */
void tern_core_message_protocol_error(int from, const char *what) __attribute__((cold, noreturn));

/* Sets of channels, other than that of notifications. TAGGED: without messages that a handler of the program receives.
 * HELPED: the messages that the helper thread may take. REPLIES: those that a handler of a request takes while it waits
 * to send its own reply; they are delivered within that handler. */
#define TERN_MESSAGES(channel) (1u << TERN_CHANNEL_##channel)
#define TERN_MESSAGES_TAGGED (TERN_MESSAGES(TAGGED) | TERN_MESSAGES(DIRECTORY))
#define TERN_MESSAGES_HELPED (TERN_MESSAGES(HELPER_REQUEST) | TERN_MESSAGES(HELPER_REPLY) | TERN_MESSAGES(DIRECTORY))
#define TERN_MESSAGES_REPLIES (TERN_MESSAGES(REPLY) | TERN_MESSAGES(HELPER_REPLY) | TERN_MESSAGES(DIRECTORY))

/* Deliver the messages of some channels, one of the sets above. Only the helper thread polls for HELPED. */
void tern_core_message_poll_channels(unsigned channels);

/* Poll for the messages that the helper thread may take, from this call on. */
void tern_core_message_help(void);

/* Return whether the calling thread is the helper thread, and delivers messages. */
bool tern_core_message_is_helper(void);

/* Return whether a poll by this thread would deliver more: one poll delivers only a few messages, and nothing rings the
 * bell for the rest. A thread calls this after it has announced that it is about to sleep. If the call returns false
 * because another thread is delivering, that thread rings the bell when it has finished. While notifications are
 * refused, the call itself delivers those that match requests, and returns true if there were any. */
bool tern_core_message_has_more(void);

/* Deliver messages until none is left. */
void tern_core_message_drain(void);

/* Keep other threads from delivering, in order to send on the reply channel, which has one sender at a time. Returns
 * false if another thread is delivering (it rings this rank's bell when it has finished), or if called inside a
 * handler. */
bool tern_core_message_hold(void);
void tern_core_message_release(void);

/* Stop all deliveries, because this process is a child of the rank (core/fork.c), and shares the queues with it. */
void tern_core_message_disable(void);

/* If another thread is delivering, wait until its delivery has ended. Returns at once inside a handler. */
void tern_core_message_pause(void);

/* Nesting depth of this thread's deliveries: 1 in a handler; 2 if that handler waits to reply and delivers replies
 * meanwhile. In addition, the flag TERN_CORE_LOCKED while the thread holds the lock of a shared context
 * (core/shared.h), so that one comparison with 0 finds the usual state of a thread. */
#define TERN_CORE_LOCKED 0x10000
#define TERN_CORE_TLS __attribute__((tls_model("initial-exec"))) /* read in every call */
extern _Thread_local int tern_core_message_depth TERN_CORE_TLS;

/* Changes when messages are delivered. */
extern uint32_t        tern_core_message_count;
static inline uint32_t tern_core_message_delivered(void)
{
    return __atomic_load_n(&tern_core_message_count, __ATOMIC_RELAXED);
}

/* Count a delivery, or several. */
static inline void tern_core_message_count_delivery(void)
{
    /* release: the flag before the count. Pairs with tern_core_message_before_sleep(). A lost increment is a change
     * too. */
    __atomic_store_n(&tern_core_message_count, tern_core_message_delivered() + 1, __ATOMIC_RELEASE);
    /* release: the count before the message is taken from its queue. Pairs with tern_core_message_delivered_since(). */
    atomic_thread_fence(memory_order_release);
}

/* Return whether messages have been delivered since the count was read. */
static inline bool tern_core_message_delivered_since(uint32_t count)
{
    /* acquire: the queues that the caller has polled, before the count. Pairs with
     * tern_core_message_count_delivery(). */
    atomic_thread_fence(memory_order_acquire);
    return tern_core_message_delivered() != count;
}

/* Prepare for the last poll of a thread that has announced its sleep. If another thread is delivering, whose handlers
 * may change the awaited state after that poll, the other thread rings the bell when it has finished. Returns the count
 * of deliveries. If tern_core_message_delivered_since() finds a change of the count after tern_core_message_has_more(),
 * a delivery may have begun and ended without a ring, and the thread must poll again. */
uint32_t tern_core_message_before_sleep(void);

/* Record that an operation could continue at once but yielded to others: threads that wait must not sleep. */
void tern_core_message_keep_awake(void);

/* Return whether this thread is inside a handler or an idle hook. */
static inline bool tern_core_in_handler(void)
{
    return (tern_core_message_depth & (TERN_CORE_LOCKED - 1)) != 0;
}

/* Return the name of the handler or idle hook (core/idle_hook.h) that this thread is inside, for error texts. */
const char *tern_core_handler_kind(void);
