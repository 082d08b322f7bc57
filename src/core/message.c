/* message.c: the one place that polls the links for messages.
 *
 * Delivery is guarded by a flag that a thread takes or leaves: whoever has it delivers for the whole process, the
 * others go on with what they were doing. A handler that waits for room for its reply polls again, on the same thread:
 * then only replies are delivered, whose handlers send nothing, so the nesting ends there.
 *
 * Watches of notes are apart from the others, so that they cost nothing where none are used: who waits for a
 * notification looks at them every time, everybody else now and then.
 */
#include "core/message.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/biased_lock.h"
#include "base/log.h"
#include "boot/bell.h"
#include "core/job.h"

/* MISSED: another thread found the flag taken, and may sleep now until it hears of what the handlers did. */
enum delivering { FREE, TAKEN, MISSED };

static _Atomic int  delivering; /* enum delivering */
static _Atomic bool alone; /* the thread that is alone delivers, or just finds that it is not: see base/biased_lock.h */
static _Atomic bool missed;     /* another thread found that */
static bool         held_alone; /* who holds the delivery has it by alone */

#define CALLS_PER_LOOK 8 /* polls of which one looks at notes too */

static struct tern_link_watch **watch; /* all of all links, but for notes */
static uint32_t                 room;  /* for so many */
static _Atomic uint32_t         count;
static uint32_t                 last; /* that showed something. Any thread may write it: it only says where to begin */

static struct tern_link_watch **note_watch; /* the same of notes */
static uint32_t                 note_room;
static _Atomic uint32_t         note_count;
static uint32_t                 note_last;
static uint32_t                 note_calls; /* polls; any thread */

struct tern_link_watch *_Atomic tern_core_message_notify_last;

/* Changes when notes that were refused may be taken: room was made, or a request was started. Never 0. */
static _Atomic uint32_t chances = 1;

_Atomic bool                              tern_core_message_tagged_refused, tern_core_message_notify_refused;
bool                                      tern_core_message_polls_links;
uint32_t                                  tern_core_message_count;
_Thread_local int tern_core_message_depth TERN_CORE_TLS;
#define depth tern_core_message_depth

tern_status tern_core_message_open(void)
{
    note_room = (uint32_t)tern_job.boot.ranks + 2 * TERN_LINKS_MAX;
    room = (TERN_CHANNELS - 1) * note_room;
    watch = calloc(room + note_room, sizeof(struct tern_link_watch *));
    note_watch = watch + room;
    return watch ? TERN_OK : tern_base_fail(TERN_ERR_NOMEM, "no memory for %u message queues", room + note_room);
}

void tern_core_message_close(void)
{
    atomic_store(&count, 0);
    atomic_store(&note_count, 0);
    atomic_store(&tern_core_message_notify_refused, false);
    atomic_store(&tern_core_message_tagged_refused, false);
    tern_core_message_polls_links = false;
    free(watch);
    watch = NULL;
}

tern_status tern_core_message_watch(struct tern_link_watch *one_more)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool                   note = one_more->channel == TERN_CHANNEL_NOTIFY;
    _Atomic uint32_t      *number = note ? &note_count : &count;
    uint32_t               most = note ? note_room : room, i;

    pthread_mutex_lock(&lock);
    if ((i = atomic_load_explicit(number, memory_order_relaxed)) < most) {
        (note ? note_watch : watch)[i] = one_more;
        atomic_store_explicit(number, i + 1, memory_order_release); /* pairs with every look */
    }
    pthread_mutex_unlock(&lock);
    return i < most ? TERN_OK : tern_base_fail(TERN_ERR_LINK, "more than %u message queues", most);
}

static void forget(struct tern_link_watch **all, _Atomic uint32_t *number, const struct tern_link *link)
{
    uint32_t n = atomic_load(number), kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (all[i]->link != link)
            all[kept++] = all[i];
    atomic_store(number, kept);
}

void tern_core_message_unwatch(const struct tern_link *link)
{
    atomic_store(&tern_core_message_notify_last, NULL);
    forget(watch, &count, link);
    forget(note_watch, &note_count, link);
}

void tern_core_message_add_polled_link(void)
{
    tern_core_message_polls_links = true;
}

static __attribute__((noinline)) void ask(void)
{
    for (unsigned i = 0; i < tern_job.links; i++)
        if (tern_job.ops[i]->msg_poll)
            tern_job.ops[i]->msg_poll(tern_job.link[i]);
}

/* Whether a channel has something. */
static bool has_come(unsigned channel)
{
    uint32_t n = atomic_load_explicit(&count, memory_order_acquire); /* pairs with tern_core_message_watch() */

    for (uint32_t i = 0; i < n; i++)
        if (watch[i]->channel == channel && tern_link_watch_ready(watch[i]))
            return true;
    return false;
}

static void ring_own(void)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

void tern_core_message_keep_awake(void)
{
    __atomic_store_n(&tern_core_message_count, tern_core_message_delivered() + 1, __ATOMIC_RELAXED); /* a hint */
    ring_own(); /* it may have announced its sleep already */
}

static bool has_noted(void)
{
    uint32_t n = atomic_load_explicit(&note_count, memory_order_acquire); /* pairs with tern_core_message_watch() */

    for (uint32_t i = 0; i < n; i++)
        if (tern_link_watch_ready(note_watch[i]))
            return true;
    return false;
}

/* A link may show that there is a new queue. */
static bool has_news(void)
{
    return has_come(TERN_CHANNEL_DIRECTORY);
}

/* Whether a poll would find something. Notes and tagged messages that the rank refuses do not count: whoever makes room
 * for them rings. While some are refused each poll of notes, or of messages, looks at all queues. */
static bool anything(void)
{
    return has_come(TERN_CHANNEL_REPLY) || has_come(TERN_CHANNEL_REQUEST) || has_news() ||
           (!atomic_load_explicit(&tern_core_message_tagged_refused, memory_order_relaxed) &&
            has_come(TERN_CHANNEL_TAGGED)) ||
           (!atomic_load_explicit(&tern_core_message_notify_refused, memory_order_relaxed) && has_noted());
}

/* Clearing: release orders the flag before the number of chances. Pairs with deliver_refused(): who has read the new
 * number sets the flag again when it refuses a note. */
static void set_full(_Atomic bool *flag, bool full)
{
    if (atomic_load_explicit(flag, memory_order_relaxed) == full)
        return;
    atomic_store_explicit(flag, full, memory_order_relaxed); /* a hint: bells order what matters */
    if (!full) {
        if (atomic_fetch_add_explicit(&chances, 1, memory_order_release) == UINT32_MAX)
            atomic_fetch_add_explicit(&chances, 1, memory_order_release); /* 0 stands for none */
        ring_own(); /* a thread may sleep that would deliver what waits */
    }
}

void tern_core_message_notify_full(bool full)
{
    set_full(&tern_core_message_notify_refused, full);
}

void tern_core_message_tagged_full(bool full)
{
    set_full(&tern_core_message_tagged_refused, full);
}

static __attribute__((cold, noreturn)) void give_up(void)
{
    tern_base_log(TERN_LOG_ERROR, "%s; ending the job", tern_base_detail());
    _Exit(1); /* what is in the queue cannot be trusted any more, and peers would wait for answers in vain */
}

void tern_core_message_protocol_error(int from, const char *what)
{
    tern_base_log(TERN_LOG_ERROR, "rank %d was sent %s by rank %d that makes no sense; ending the job",
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

/* Whether a queue of notes shows one that was not refused since the last chance. */
static bool has_chance(void)
{
    uint32_t n = atomic_load_explicit(&note_count, memory_order_acquire); /* pairs with tern_core_message_watch() */
    uint32_t now = atomic_load_explicit(&chances, memory_order_relaxed);  /* whoever changes it rings afterwards */

    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        return has_noted(); /* of the dead everything is taken */
    for (uint32_t i = 0; i < n; i++)
        if (tern_link_watch_ready(note_watch[i]) &&
            atomic_load_explicit(&note_watch[i]->refused, memory_order_relaxed) != now) /* a delivery rings if missed */
            return true;
    return false;
}

/* While notes are refused, anything() cannot tell a note that the rank refuses from a note that a request takes: the
 * latter may lie in another queue, or have come since the last refusal. Most polls do not look at notes, so the poll
 * before a sleep may have left such a note. Try to deliver from all queues. Returns whether something was taken. */
static bool take_despite_refusal(void)
{
    uint32_t before = tern_core_message_delivered();

    /* relaxed: whoever clears it rings afterwards. */
    if (!atomic_load_explicit(&tern_core_message_notify_refused, memory_order_relaxed) || !has_chance())
        return false;
    tern_core_message_poll_notify();
    return before != tern_core_message_delivered();
}

bool tern_core_message_has_more(void)
{
    int taken = TAKEN;

    if (depth > 0)
        return depth == 1 && (has_come(TERN_CHANNEL_REPLY) || has_news());
    if (atomic_load_explicit(&alone, memory_order_relaxed))
        return false; /* a thread delivers that rings when it has done so */
    /* Who sleeps while another thread delivers leaves word of it. acquire: what that thread has left to deliver. */
    if (!atomic_compare_exchange_strong_explicit(&delivering, &taken, MISSED, memory_order_acquire,
                                                 memory_order_acquire) &&
        taken == FREE)
        return anything() || take_despite_refusal();
    return false;
}

/* Take the flag, or leave word that it was wanted. */
static __attribute__((noinline)) bool take(void)
{
    int free_now = FREE;

    if (TERN_UNLIKELY(atomic_load_explicit(&alone, memory_order_acquire))) { /* pairs with give_back_alone() */
        atomic_store(&missed, true); /* seq_cst: before the second look. Pairs with the exchange in give_back() */
        if (atomic_load(&alone))
            return false;
    }
    /* acquire: what handlers left in the process. Pairs with the release in give_back(). */
    if (atomic_compare_exchange_strong_explicit(&delivering, &free_now, TAKEN, memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    if (atomic_exchange_explicit(&delivering, MISSED, memory_order_acq_rel) != FREE)
        return false;
    return true; /* it was given back meanwhile: taken, and one ring too many at the end */
}

static __attribute__((noinline)) void give_back(void)
{
    /* release: what handlers left in the process, to the next thread that delivers or was told MISSED. */
    bool is_missed = atomic_exchange_explicit(&delivering, FREE, memory_order_acq_rel) == MISSED;

    if (TERN_UNLIKELY(atomic_load_explicit(&missed, memory_order_relaxed)))
        is_missed = atomic_exchange_explicit(&missed, false, memory_order_relaxed) || is_missed;
    if (TERN_UNLIKELY(is_missed))
        ring_own();
}

/* Another thread may have come meanwhile, found us delivering, and gone to sleep. */
static inline __attribute__((always_inline)) void give_back_alone(void)
{
    atomic_store_explicit(&alone, false, memory_order_release); /* what handlers left; pairs with take() */
    atomic_signal_fence(memory_order_seq_cst); /* the store before the look: the other thread had a barrier run here */
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed)))
        ring_own();
}

/* The same as when something has come, by who has nothing to deliver. */
bool tern_core_message_hold(void)
{
    bool by_alone;

    if (depth > 0 || (!(by_alone = tern_base_bias_enter(&alone)) && !take()))
        return false;
    held_alone = by_alone;
    return true;
}

void tern_core_message_release(void)
{
    if (TERN_LIKELY(held_alone))
        give_back_alone();
    else
        give_back();
}

bool tern_core_message_has_from(int rank, unsigned channel)
{
    unsigned link = tern_job.peer_link[rank];
    bool     left = true;

    if (tern_core_message_hold()) { /* otherwise it is looked at again when the other thread has delivered */
        left = has_news() || tern_job.ops[link]->msg_pending(tern_job.link[link], rank, channel);
        tern_core_message_release();
    }
    return left;
}

void tern_core_message_pause(void)
{
    if (depth > 0)
        return;
    while (!tern_core_message_hold())
        sched_yield();
    tern_core_message_release();
}

/* Whether what the watch shows may be a note or a tagged message that could not be taken. That is no news, for which a
 * wait would stay awake, and the watches behind it have their turn at once. */
static inline bool may_be_refused(const struct tern_link_watch *w)
{
    if (w->channel == TERN_CHANNEL_NOTIFY)
        return TERN_UNLIKELY(atomic_load_explicit(&tern_core_message_notify_refused, memory_order_relaxed));
    return TERN_UNLIKELY(atomic_load_explicit(&tern_core_message_tagged_refused, memory_order_relaxed)) &&
           w->channel == TERN_CHANNEL_TAGGED;
}

static void count_delivery(void)
{
    __atomic_store_n(&tern_core_message_count, tern_core_message_delivered() + 1, __ATOMIC_RELAXED);
}

/* What a watch shows: it changes when a message is taken. */
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

/* Deliver what may be refused: it counts if anything was taken, because more may be behind that. If nothing was, nobody
 * has to try again before the next chance, as far as the watch tells. */
static __attribute__((noinline)) void deliver_refused(struct tern_link_watch *w)
{
    /* acquire: the flag that was cleared before. Pairs with set_full(). */
    uint32_t     chance = atomic_load_explicit(&chances, memory_order_acquire);
    struct sight before = look_at(w), after;

    deliver(w);
    after = look_at(w);
    if (after.word != before.word || after.idle != before.idle || after.value != before.value) {
        atomic_store_explicit(&w->refused, 0, memory_order_relaxed); /* who delivers, of what others are rung for */
        count_delivery();
    } else if (w->lasts) {
        atomic_store_explicit(&w->refused, chance, memory_order_relaxed); /* the same */
    }
}

/* The watch shows something. */
void tern_core_message_deliver_notify(struct tern_link_watch *w)
{
    bool refused = may_be_refused(w);

    if (depth > 0)
        return;
    if (!refused)
        count_delivery();
    if (TERN_LIKELY(tern_base_bias_enter(&alone))) {
        refused ? deliver_refused(w) : deliver(w);
        give_back_alone();
    } else if (take()) {
        refused ? deliver_refused(w) : deliver(w);
        give_back();
    }
}

bool tern_core_message_expect(struct tern_link_expected *want, unsigned looks)
{
    /* acquire: what the watch is. Pairs with tern_core_message_poll_notify(). */
    struct tern_link_watch *w = atomic_load_explicit(&tern_core_message_notify_last, memory_order_acquire);
    bool                    taken;

    if (TERN_UNLIKELY(!w || !w->expect || depth > 0 || !tern_base_bias_enter(&alone)))
        return false;
    taken = w->expect(w, want, looks);
    if (TERN_LIKELY(taken))
        __atomic_store_n(&tern_core_message_count, tern_core_message_delivered() + 1, __ATOMIC_RELAXED);
    give_back_alone();
    return taken;
}

void tern_core_message_poll_notify(void)
{
    uint32_t n = atomic_load_explicit(&note_count, memory_order_acquire); /* pairs with tern_core_message_watch() */
    uint32_t i = __atomic_load_n(&note_last, __ATOMIC_RELAXED);

    for (uint32_t k = 0; k < n; k++) {
        if (++i >= n)
            i = 0;
        if (TERN_UNLIKELY(tern_link_watch_ready(note_watch[i]))) {
            __atomic_store_n(&note_last, i, __ATOMIC_RELAXED);
            /* release: the watch, to other threads. Pairs with tern_core_message_poll_notify_last(). */
            atomic_store_explicit(&tern_core_message_notify_last, note_watch[i], memory_order_release);
            tern_core_message_deliver_notify(note_watch[i]);
            if (!may_be_refused(note_watch[i]))
                return;
        }
    }
}

/* Where notes are used at all. */
static __attribute__((noinline)) void look_for_notes(void)
{
    uint32_t calls = __atomic_load_n(&note_calls, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&note_calls, calls, __ATOMIC_RELAXED); /* a number that is lost does no harm */
    if (calls % CALLS_PER_LOOK == 0)
        tern_core_message_poll_notify();
}

/* Begins behind the watch that showed something last, so that none is passed over for ever. */
void tern_core_message_poll(void)
{
    uint32_t n = atomic_load_explicit(&count, memory_order_acquire); /* pairs with tern_core_message_watch() */
    uint32_t i = __atomic_load_n(&last, __ATOMIC_RELAXED);

    if (TERN_UNLIKELY(tern_core_message_polls_links))
        ask();
    if (TERN_UNLIKELY(atomic_load_explicit(&note_count, memory_order_relaxed) > 0))
        look_for_notes();
    for (uint32_t k = 0; k < n; k++) {
        if (++i >= n)
            i = 0;
        if (TERN_UNLIKELY(tern_link_watch_ready(watch[i]))) {
            __atomic_store_n(&last, i, __ATOMIC_RELAXED);
            tern_core_message_deliver_notify(watch[i]);
            if (!may_be_refused(watch[i]))
                return;
        }
    }
}

void tern_core_message_poll_replies(void)
{
    uint32_t n = atomic_load_explicit(&count, memory_order_acquire); /* pairs with tern_core_message_watch() */

    if (TERN_UNLIKELY(tern_core_message_polls_links))
        ask();
    for (uint32_t i = 0; depth == 1 && i < n; i++)
        if ((watch[i]->channel == TERN_CHANNEL_REPLY || watch[i]->channel == TERN_CHANNEL_DIRECTORY) &&
            tern_link_watch_ready(watch[i]))
            deliver(watch[i]);
}

void tern_core_message_poll_tagged(void)
{
    uint32_t n = atomic_load_explicit(&count, memory_order_acquire); /* pairs with tern_core_message_watch() */

    if (TERN_UNLIKELY(tern_core_message_polls_links))
        ask();
    for (uint32_t i = 0; i < n; i++)
        if ((watch[i]->channel == TERN_CHANNEL_TAGGED || watch[i]->channel == TERN_CHANNEL_DIRECTORY) &&
            tern_link_watch_ready(watch[i]))
            tern_core_message_deliver_notify(watch[i]);
}

void tern_core_message_drain(void)
{
    while (anything()) {
        tern_core_message_poll();
        tern_core_message_poll_notify();
    }
}
