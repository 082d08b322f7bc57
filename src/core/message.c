/* message.c: the one place that polls the links for messages.
 *
 * Delivery is guarded by a flag that a thread takes or leaves: whoever has it delivers for the whole process, the
 * others go on with what they were doing. A handler that waits for room for its reply polls again, on the same thread:
 * then only replies are delivered, whose handlers send nothing, so the nesting ends there.
 */
#include "core/message.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "boot/bell.h"
#include "core/job.h"

/* MISSED: another thread found the flag taken, and may sleep now until it hears of what the handlers did. */
enum delivering { FREE, TAKEN, MISSED };

static tern_core_message_fn receiver_fn;
static _Atomic int          delivering;                                       /* enum delivering */
static _Thread_local int    depth __attribute__((tls_model("initial-exec"))); /* handlers that this thread is inside of;
                                                                                  looked at with every call */

void tern_core_message_receiver(tern_core_message_fn receiver)
{
    receiver_fn = receiver;
}

bool tern_core_message_handling(void)
{
    return depth > 0;
}

void tern_core_message_deliver(int from, unsigned channel, const unsigned char *head, const unsigned char *data,
                               size_t len)
{
    depth++;
    receiver_fn(from, channel, head, data, len);
    depth--;
}

static void poll_channel(unsigned channel)
{
    for (unsigned i = 0; i < tern_job.links; i++) {
        if (TERN_UNLIKELY(tern_job.ops[i]->msg_poll(tern_job.link[i], channel) < 0)) {
            tern_base_log(TERN_LOG_ERROR, "%s; ending the job", tern_base_detail());
            _Exit(1); /* what is in the queue cannot be trusted any more, and peers would wait for answers in vain */
        }
    }
}

/* A bit for each channel that has something. */
static unsigned ready(void)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < tern_job.links; i++)
        bits |= tern_job.ops[i]->msg_ready(tern_job.link[i]);
    return bits;
}

bool tern_core_message_left(void)
{
    if (depth > 0)
        return depth == 1 && (ready() & 1u << TERN_CHANNEL_REPLY);
    return tern_job.link[0] && atomic_load_explicit(&delivering, memory_order_relaxed) == FREE && ready();
}

/* Take the flag, or leave word that it was wanted. */
static bool take(void)
{
    int free_now = FREE;

    /* acquire: what handlers left in the process. Pairs with the release in tern_core_message_poll(). */
    if (atomic_compare_exchange_strong_explicit(&delivering, &free_now, TAKEN, memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    if (atomic_exchange_explicit(&delivering, MISSED, memory_order_acq_rel) != FREE)
        return false;
    return true; /* it was given back meanwhile: taken, and one ring too many at the end */
}

void tern_core_message_poll(void)
{
    struct tern_slot *slot;
    unsigned          bits;

    if (depth > 0 || !(bits = ready()) || !take())
        return;
    if (bits & 1u << TERN_CHANNEL_REPLY)
        poll_channel(TERN_CHANNEL_REPLY);
    if (bits & 1u << TERN_CHANNEL_REQUEST)
        poll_channel(TERN_CHANNEL_REQUEST);
    /* release: what handlers left in the process, to the next thread that delivers or was told MISSED. */
    if (TERN_UNLIKELY(atomic_exchange_explicit(&delivering, FREE, memory_order_acq_rel) == MISSED)) {
        slot = tern_core_job_slot(tern_job.boot.rank);
        tern_boot_bell_ring(&slot->bell, &slot->sleepers);
    }
}

void tern_core_message_poll_replies(void)
{
    if (depth == 1)
        poll_channel(TERN_CHANNEL_REPLY);
}

void tern_core_message_drain(void)
{
    while (ready())
        tern_core_message_poll();
}
