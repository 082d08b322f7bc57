/* message.c: the only place that polls the links for messages.
 *
 * Delivery is guarded by a flag that a thread tries to take: the thread that has the flag delivers for the whole
 * process, and the others continue with their own work. A handler that waits for space for its reply polls again on the
 * same thread: then only replies are delivered, whose handlers send nothing, so that the nesting ends there.
 *
 * A link shows arrived messages by watches. The watches of notifications are in a table of their own, so that they cost
 * nothing if no notifications are used: a thread that waits for a notification polls this table every time, other
 * threads poll it occasionally. All polls are one function with a mask of channels. */
#include "core/message.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/biased_lock.h"
#include "base/log.h"
#include "boot/bell.h"
#include "core/group_bruck.h"
#include "core/idle_hook.h"
#include "core/job.h"
#include "core/shared.h"

/* MISSED: another thread found the flag taken, and may now sleep until the bell tells it that handlers have run. */
enum delivering { FREE, TAKEN, MISSED };

static _Atomic int  delivering;  /* enum delivering */
static _Atomic bool missed;      /* another thread found the flag biased set */
static bool         held_biased; /* the thread that holds the delivery took it by the bias */

#define CALLS_PER_LOOK 8 /* one of so many polls also checks for notifications */
/* The watches of some channels. */
struct table {
    struct tern_link_watch **watch;
    uint32_t                 max; /* capacity */
    _Atomic uint32_t         count;
    uint32_t                 last; /* index of the last watch that was ready. Any thread may write it: a hint */
};

static struct table notify_table; /* of the channel of notifications */
static struct table other_table;  /* all other channels, except those of the helper thread while no client uses them */
static struct table unused_table; /* of the channels of the helper thread, until tern_core_message_help() */
static uint32_t     notify_calls; /* number of polls; any thread */

struct tern_link_watch *_Atomic tern_core_message_notify_last;
struct tern_link_watch *_Atomic tern_core_message_last;

#define FIRST_TURNS 4  /* successive polls that check the queue of the last message before all others */
static uint32_t turns; /* number of such polls; any thread */

/* Changes when refused notifications may be accepted: space was freed, or a request was posted. Never 0. */
static _Atomic uint32_t chances = 1;

_Atomic bool                              tern_core_message_refused[TERN_CHANNEL_DIRECTORY + 1];
bool                                      tern_core_message_polls_links_now;
uint32_t                                  tern_core_message_count;
_Atomic bool                              tern_core_message_biased;
_Thread_local int tern_core_message_depth TERN_CORE_TLS;
#define depth tern_core_message_depth
#define in_handler tern_core_in_handler()
#define biased tern_core_message_biased
#define count_delivery tern_core_message_count_delivery
#define leave_biased tern_core_message_leave_biased
#define ring_own tern_core_message_ring_own

static _Thread_local bool is_helper;    /* this thread is the helper thread, and delivers */
static bool               uses_helpers; /* tern_core_message_help() was called. Guarded by watch_lock */
static pthread_mutex_t    watch_lock = PTHREAD_MUTEX_INITIALIZER; /* guards additions to tables */

#define BIT(channel) (1u << (channel))
#define ALL (BIT(TERN_CHANNEL_DIRECTORY + 1) - 1)

tern_status tern_core_message_open(void)
{
    notify_table.max = (uint32_t)tern_job.boot.ranks + 2 * TERN_LINKS_MAX;
    other_table.max = (TERN_CHANNELS - 1) * notify_table.max;
    unused_table.max = 2 * notify_table.max;
    other_table.watch = calloc(other_table.max + notify_table.max + unused_table.max, sizeof(struct tern_link_watch *));
    notify_table.watch = other_table.watch + other_table.max;
    unused_table.watch = notify_table.watch + notify_table.max;
    return other_table.watch
               ? TERN_OK
               : tern_base_fail(TERN_ERR_NOMEM, "no memory for %u message queues", other_table.max + notify_table.max);
}

void tern_core_message_close(void)
{
    atomic_store(&other_table.count, 0);
    atomic_store(&notify_table.count, 0);
    atomic_store(&unused_table.count, 0);
    uses_helpers = false;
    for (unsigned channel = 0; channel < TERN_CHANNELS; channel++)
        atomic_store(&tern_core_message_refused[channel], false);
    tern_core_message_polls_links_now = false;
    free(other_table.watch);
    other_table.watch = NULL;
}

static uint32_t count_of(const struct table *table)
{
    return atomic_load_explicit(&table->count, memory_order_acquire); /* pairs with tern_core_message_watch() */
}

/* Add a watch to a table. The caller holds the lock. Returns false if the table is full. */
static bool add(struct table *table, struct tern_link_watch *one_more)
{
    uint32_t i = count_of(table);

    if (i == table->max)
        return false;
    table->watch[i] = one_more;
    atomic_store_explicit(&table->count, i + 1, memory_order_release); /* pairs with count_of() */
    return true;
}

tern_status tern_core_message_watch(struct tern_link_watch *one_more)
{
    struct table *table = one_more->channel == TERN_CHANNEL_NOTIFY ? &notify_table : &other_table;
    bool          added;

    pthread_mutex_lock(&watch_lock);
    if (!uses_helpers && BIT(one_more->channel) & TERN_MESSAGES_HELPED && one_more->channel != TERN_CHANNEL_DIRECTORY)
        table = &unused_table;
    added = add(table, one_more);
    pthread_mutex_unlock(&watch_lock);
    return added ? TERN_OK : tern_base_fail(TERN_ERR_LINK, "more than %u message queues", table->max);
}

void tern_core_message_help(void)
{
    pthread_mutex_lock(&watch_lock);
    uses_helpers = true;
    for (uint32_t i = 0, n = count_of(&unused_table); i < n; i++)
        add(&other_table, unused_table.watch[i]); /* the table has space for the watches of all channels */
    atomic_store(&unused_table.count, 0);
    pthread_mutex_unlock(&watch_lock);
}

static void forget(struct table *table, const struct tern_link *link)
{
    uint32_t n = count_of(table), kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (table->watch[i]->link != link)
            table->watch[kept++] = table->watch[i];
    atomic_store(&table->count, kept);
}

void tern_core_message_unwatch(const struct tern_link *link)
{
    atomic_store(&tern_core_message_notify_last, NULL);
    atomic_store(&tern_core_message_last, NULL);
    forget(&other_table, link);
    forget(&unused_table, link);
    forget(&notify_table, link);
}

void tern_core_message_poll_links_too(void)
{
    __atomic_store_n(&tern_core_message_polls_links_now, true, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void poll_links(void)
{
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_core_bruck_unsent, memory_order_relaxed))) /* a hint */
        tern_core_bruck_flush();
    for (unsigned i = 0; i < tern_job.links; i++)
        if (tern_job.ops[i]->msg->polled)
            tern_job.ops[i]->msg->poll(tern_job.link[i]);
}

static bool shows(const struct table *table, unsigned channels)
{
    uint32_t n = count_of(table);

    for (uint32_t i = 0; i < n; i++)
        if (channels & BIT(table->watch[i]->channel) && tern_link_watch_ready(table->watch[i]))
            return true;
    return false;
}

/* Return whether messages are waiting on any of the channels, a mask. */
static bool has_come(unsigned channels)
{
    return shows(&other_table, channels) || (channels & BIT(TERN_CHANNEL_NOTIFY) && shows(&notify_table, channels));
}

void tern_core_message_ring_own(void)
{
    tern_boot_wake(tern_core_job_slot(tern_job.boot.rank));
}

void tern_core_message_keep_awake(void)
{
    count_delivery();
    ring_own(); /* a waiting thread may already have announced its sleep */
}

/* Return whether a poll would find messages. Notifications and tagged messages that the rank refuses do not count: the
 * thread that frees space for them rings the bell. While some are refused, each poll of notifications, or of messages,
 * checks all queues. */
static bool anything(void)
{
    unsigned channels = ALL;

    for (unsigned channel = 0; channel < TERN_CHANNELS; channel++)
        channels &= tern_core_message_refuses(channel) ? ~BIT(channel) : ALL;
    return has_come(channels);
}

/* release: the cleared flag before the number of chances. Pairs with deliver_refused(): a thread that has read the new
 * number sets the flag again when it refuses a notification. */
void tern_core_message_full(unsigned channel, bool full)
{
    if (tern_core_message_refuses(channel) == full)
        return;
    atomic_store_explicit(&tern_core_message_refused[channel], full, memory_order_relaxed); /* bells order it */
    if (!full) {
        if (atomic_fetch_add_explicit(&chances, 1, memory_order_release) == UINT32_MAX)
            atomic_fetch_add_explicit(&chances, 1, memory_order_release); /* 0 means none */
        ring_own(); /* a sleeping thread may be able to deliver the waiting messages */
    }
}

static __attribute__((cold, noreturn)) void give_up(void)
{
    tern_base_log(TERN_LOG_ERROR, "%s; ending the job", tern_base_detail());
    _Exit(1); /* the contents of the queue can no longer be trusted, and peers would wait for replies in vain */
}

void tern_core_message_protocol_error(int from, const char *what)
{
    tern_base_log(TERN_LOG_ERROR, "rank %d received %s with invalid contents from rank %d; ending the job",
                  tern_job.boot.rank, what, from);
    _Exit(1);
}

static inline void deliver(struct tern_link_watch *w)
{
    depth++;
    if (TERN_UNLIKELY(w->deliver(w) < 0))
        give_up();
    depth--;
}

static inline void deliver_counted(struct tern_link_watch *w)
{
    count_delivery();
    deliver(w);
}

/* Return whether a queue shows a notification that has not been refused since the last chance. */
static bool has_chance(void)
{
    uint32_t n = count_of(&notify_table);
    /* The thread that changes it rings afterwards. */
    uint32_t now = atomic_load_explicit(&chances, memory_order_relaxed);

    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        return has_come(BIT(TERN_CHANNEL_NOTIFY)); /* all notifications of dead ranks are accepted */
    for (uint32_t i = 0; i < n; i++) {
        struct tern_link_watch *w = notify_table.watch[i];

        if (tern_link_watch_ready(w) &&
            atomic_load_explicit(&w->refused, memory_order_relaxed) != now) /* a missed delivery rings */
            return true;
    }
    return false;
}

/* While notifications are refused, anything() cannot distinguish a notification that the rank refuses from one that
 * matches a request: the latter may be in another queue, or may have arrived since the last refusal. Most polls do not
 * check for notifications, so the poll before a sleep may have left such a notification. Try to deliver from all
 * queues. Returns whether any was accepted. */
static bool take_despite_refusal(void)
{
    uint32_t before = tern_core_message_delivered();

    if (!tern_core_message_refuses(TERN_CHANNEL_NOTIFY) || !has_chance())
        return false;
    tern_core_message_poll_notify();
    return before != tern_core_message_delivered();
}

/* The channels on which a handler that waits to send its reply takes messages. The handlers of the program do not run
 * on the helper thread. */
static unsigned reply_channels(void)
{
    return is_helper ? TERN_MESSAGES_REPLIES & ~BIT(TERN_CHANNEL_REPLY) : TERN_MESSAGES_REPLIES;
}

uint32_t tern_core_message_before_sleep(void)
{
    int      taken = TAKEN;
    uint32_t count = tern_core_message_delivered();

    if (in_handler)
        return count;
    /* acquire: the count before the flags, which a thread takes before it counts. Pairs with
     * tern_core_message_count_delivery(). */
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&biased, memory_order_relaxed) && !tern_bias_owner)
        tern_base_bias_revoke(); /* the owner sees that when it has finished, and rings */
    atomic_compare_exchange_strong_explicit(&delivering, &taken, MISSED, memory_order_relaxed, memory_order_relaxed);
    return count;
}

/* Return whether the owner of the bias, another thread, is delivering. If so, it rings when it has finished: in
 * leave_biased(), because the bias is revoked, or in give_back(), if it only finds out now that the bias is revoked. */
static bool is_delivered_by_bias(void)
{
    if (TERN_LIKELY(!atomic_load_explicit(&biased, memory_order_acquire))) /* pairs with leave_biased() */
        return false;
    if (!atomic_load_explicit(&tern_bias.revoke_seen, memory_order_acquire)) /* pairs with the end of a revocation */
        tern_base_bias_revoke();
    atomic_store(&missed, true); /* seq_cst: before the second load. Pairs with the exchange in give_back() */
    return atomic_load(&biased);
}

bool tern_core_message_has_more(void)
{
    int taken = TAKEN;

    if (in_handler)
        return depth == 1 && has_come(reply_channels());
    if (TERN_UNLIKELY(is_delivered_by_bias()))
        return false;
    /* A thread that is about to sleep while another one delivers leaves MISSED. acquire: the messages that the other
     * thread has left. */
    if (!atomic_compare_exchange_strong_explicit(&delivering, &taken, MISSED, memory_order_acquire,
                                                 memory_order_acquire) &&
        taken == FREE)
        return anything() || take_despite_refusal();
    return false;
}

/* Take the flag. If it is taken, record that another thread wanted it, and return false. */
static __attribute__((noinline)) bool take_flag(void)
{
    int free_now = FREE;

    if (TERN_UNLIKELY(is_delivered_by_bias()))
        return false;
    /* acquire: the effects of handlers on the process. Pairs with the release in give_back(). */
    if (atomic_compare_exchange_strong_explicit(&delivering, &free_now, TAKEN, memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    if (atomic_exchange_explicit(&delivering, MISSED, memory_order_acq_rel) != FREE)
        return false;
    return true; /* it was released meanwhile: taken, at the price of one superfluous ring at the end */
}

static __attribute__((noinline)) void give_back(void)
{
    /* release: the effects of handlers on the process, for the next thread that delivers or that left MISSED. */
    bool is_missed = atomic_exchange_explicit(&delivering, FREE, memory_order_acq_rel) == MISSED;

    /* seq_cst, after the owner of the bias has reset `biased`. Pairs with is_delivered_by_bias(). */
    if (TERN_UNLIKELY(atomic_load(&missed)))
        is_missed = atomic_exchange_explicit(&missed, false, memory_order_relaxed) || is_missed;
    if (TERN_UNLIKELY(is_missed))
        ring_own();
}

/* Take the flag as a delivery does, without delivering anything. */
bool tern_core_message_hold(void)
{
    bool by_bias;

    if (in_handler || (!(by_bias = tern_base_bias_enter(&biased)) && !take_flag()))
        return false;
    held_biased = by_bias;
    return true;
}

void tern_core_message_release(void)
{
    if (TERN_LIKELY(held_biased))
        leave_biased();
    else
        give_back();
}

bool tern_core_message_has_from(int rank, unsigned channel)
{
    bool left = true;

    if (tern_core_message_hold()) { /* otherwise the caller checks again after the other thread has delivered */
        left = has_come(BIT(TERN_CHANNEL_DIRECTORY)) ||
               tern_core_ops_to(rank)->msg->pending(tern_core_link_to(rank), rank, channel);
        tern_core_message_release();
    }
    return left;
}

const char *tern_core_handler_kind(void)
{
    return tern_core_in_idle_hook() ? "an idle hook" : "a handler of an active message";
}

void tern_core_message_disable(void)
{
    atomic_store_explicit(&notify_table.count, 0, memory_order_relaxed); /* relaxed: the child has one thread */
    atomic_store_explicit(&other_table.count, 0, memory_order_relaxed);
    atomic_store_explicit(&tern_core_message_last, NULL, memory_order_relaxed);
    tern_core_message_polls_links_now = false;
}

void tern_core_message_pause(void)
{
    struct tern_shared_pause pause;

    if (in_handler)
        return;
    pause = tern_core_shared_pause(); /* the delivering thread may want the context */
    while (!tern_core_message_hold())
        sched_yield();
    tern_core_message_release();
    tern_core_shared_resume(pause);
}

/* Return whether the watch may show a notification or tagged message that was refused. A refused message must not keep
 * a wait awake, and the poll continues with the next watch at once. */
static inline bool may_be_refused(const struct tern_link_watch *w)
{
    return TERN_UNLIKELY(tern_core_message_refuses(w->channel));
}

/* The state of a watch: it changes when a message is taken. */
struct sight {
    const _Atomic uint32_t *word;
    uint32_t                idle, value;
};

static struct sight look_at(const struct tern_link_watch *w)
{
    const _Atomic uint32_t *word = __atomic_load_n(&w->word, __ATOMIC_RELAXED);

    return (struct sight){ word, __atomic_load_n(&w->idle, __ATOMIC_RELAXED),
                           atomic_load_explicit(word, memory_order_relaxed) };
}

/* Deliver messages that may be refused. The delivery counts if any message was accepted, because more may be behind it.
 * If none was accepted and the watch keeps its state, no thread needs to try again before the next chance. */
static __attribute__((noinline)) void deliver_refused(struct tern_link_watch *w)
{
    /* acquire: the flag that was cleared before. Pairs with tern_core_message_full(). */
    uint32_t     chance = atomic_load_explicit(&chances, memory_order_acquire);
    struct sight before = look_at(w), after;

    deliver(w);
    after = look_at(w);
    if (after.word != before.word || after.idle != before.idle || after.value != before.value) {
        /* Only the delivering thread writes it; others are rung. */
        atomic_store_explicit(&w->refused, 0, memory_order_relaxed);
        count_delivery();
    } else if (w->lasts) {
        /* Only the delivering thread writes it; others are rung. */
        atomic_store_explicit(&w->refused, chance, memory_order_relaxed);
    }
}

/* Deliver without the lock of a shared context, which handlers and other threads may want; not within a handler. */
static __attribute__((cold, noinline)) void deliver_unlocked(struct tern_link_watch *w)
{
    struct tern_shared_pause pause;

    if (in_handler)
        return;
    pause = tern_core_shared_pause();
    if (tern_link_watch_ready(w)) /* another thread may have delivered meanwhile */
        tern_core_message_deliver_notify(w);
    tern_core_shared_resume(pause);
}

/* Deliver the messages of a watch that is ready. */
void tern_core_message_deliver_notify(struct tern_link_watch *w)
{
    bool refused = may_be_refused(w);

    if (TERN_UNLIKELY(depth != 0)) {
        deliver_unlocked(w);
    } else if (TERN_LIKELY(tern_base_bias_enter(&biased))) {
        refused ? deliver_refused(w) : deliver_counted(w);
        leave_biased();
    } else if (take_flag()) {
        refused ? deliver_refused(w) : deliver_counted(w);
        give_back();
    } /* otherwise another thread delivers, and rings the bell when it has finished: this thread may sleep */
}

/* Deliver the messages of one watch of the table that is ready and whose channel is in the mask. Begins after the watch
 * that was ready last, so that no watch is starved. by_handler: the caller is a handler. */
static inline __attribute__((always_inline)) void poll_table(struct table *table, unsigned channels, bool by_handler)
{
    uint32_t n = count_of(table), i = __atomic_load_n(&table->last, __ATOMIC_RELAXED);

    for (uint32_t k = 0; k < n; k++) {
        struct tern_link_watch *w = table->watch[i = i + 1 < n ? i + 1 : 0];

        if (TERN_UNLIKELY(tern_link_watch_ready(w)) && channels & BIT(w->channel)) {
            __atomic_store_n(&table->last, i, __ATOMIC_RELAXED);
            /* release: the watch. Pairs with tern_core_message_poll_notify_last() and tern_core_message_poll(). */
            atomic_store_explicit(table == &notify_table ? &tern_core_message_notify_last : &tern_core_message_last, w,
                                  memory_order_release);
            by_handler ? deliver(w) : tern_core_message_deliver_notify(w);
            if (!may_be_refused(w))
                return;
        }
    }
}

void tern_core_message_poll_notify(void)
{
    poll_table(&notify_table, ALL, false);
}

/* Check for notifications in one of CALLS_PER_LOOK calls. Called only if notifications are used at all. */
static __attribute__((noinline)) void poll_notify_sometimes(void)
{
    uint32_t calls = __atomic_load_n(&notify_calls, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&notify_calls, calls, __ATOMIC_RELAXED); /* a lost increment does no harm */
    if (calls % CALLS_PER_LOOK == 0)
        tern_core_message_poll_notify();
}

void tern_core_message_poll_last(struct tern_link_watch *w)
{
    uint32_t turn = __atomic_load_n(&turns, __ATOMIC_RELAXED);

    __atomic_store_n(&turns, turn + 1, __ATOMIC_RELAXED); /* a lost increment does no harm */
    turn < FIRST_TURNS && !may_be_refused(w) ? tern_core_message_deliver_notify(w) : tern_core_message_poll_all();
}

void tern_core_message_poll_all(void)
{
    __atomic_store_n(&turns, 0, __ATOMIC_RELAXED);
    if (TERN_UNLIKELY(tern_core_message_polls_links()))
        poll_links();
    if (TERN_UNLIKELY(atomic_load_explicit(&notify_table.count, memory_order_relaxed) > 0))
        poll_notify_sometimes();
    poll_table(&other_table, ALL, false);
}

void tern_core_message_poll_channels(unsigned channels)
{
    bool was_helper = is_helper;

    if (TERN_UNLIKELY(tern_core_message_polls_links()))
        poll_links();
    is_helper |= (channels & BIT(TERN_CHANNEL_HELPER_REQUEST)) != 0;
    if (depth == 1) /* and without the lock of a shared context */
        poll_table(&other_table, channels & reply_channels(), true);
    else if (!in_handler)
        poll_table(&other_table, channels, false);
    is_helper = was_helper;
}

bool tern_core_message_is_helper(void)
{
    return is_helper;
}

void tern_core_message_drain(void)
{
    while (anything()) {
        tern_core_message_poll();
        tern_core_message_poll_notify();
    }
}
