/* helper.c: the poller that makes progress on engines while the program computes.
 *
 * A program that makes progress itself does all the work. If the program has not polled a context with work to do since
 * the last check, the helper thread (core/helper.h) makes progress instead of the program, and the messages of peers
 * wake the thread. Links whose operations wait for a time and do not ring the bell are polled every millisecond.
 *
 * While a receive of a long message is outstanding, the helper thread also polls for tagged messages. It runs no
 * handlers of active messages; these run only in threads of the program.
 */
#include "op/trigger/helper.h"

#include "base/options.h"
#include "boot/bell.h"
#include "core/helper.h"
#include "core/job.h"
#include "core/message.h"
#include "op/tagged/tagged.h"

static int64_t poll_engines(struct tern_helper_poller *poller, bool again);

static struct {
    struct tern_helper_poller poller;
    pthread_mutex_t           lock; /* guards engines and over */
    struct tern_list          engines;
    bool                      over;
    int64_t                   last; /* result of the last poll */
} helper = { .poller = { .poll = poll_engines },
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .engines = TERN_LIST_INIT(helper.engines) };

void tern_op_helper_join(struct tern_engine *engine)
{
    pthread_mutex_lock(&helper.lock);
    tern_base_list_push(&helper.engines, &engine->helped);
    pthread_mutex_unlock(&helper.lock);
}

void tern_op_helper_leave(struct tern_engine *engine)
{
    pthread_mutex_lock(&helper.lock);
    tern_base_list_remove(&engine->helped);
    pthread_mutex_unlock(&helper.lock);
}

/* Return the tagged state if receives of long messages are posted, or matched and not fetched; otherwise NULL. */
static struct tern_tagged *receiving(const struct tern_engine *engine)
{
    /* pairs with need_engine() */
    struct tern_tagged *tagged = atomic_load_explicit(&engine->tagged, memory_order_acquire);

    return tagged && atomic_load_explicit(&tagged->wishes, memory_order_relaxed) > 0 ? tagged : NULL; /* a hint */
}

/* Make progress on an engine. The caller holds the engine's lock. Returns the time until the next poll. If no operation
 * is left, the engine waits only for messages to arrive, which end the sleep of the helper thread. */
static int64_t work(struct tern_engine *engine, struct tern_tagged *tagged, uint32_t delivered)
{
    bool any = tagged && tern_op_tagged_start_matched(engine, tagged, TERN_OK);

    any |= tern_op_engine_progress(engine);
    any |= tern_core_message_delivered() != delivered;
    if (any)
        tern_boot_wake(tern_core_job_slot(tern_job.boot.rank)); /* the program may be waiting for an operation */
    return any || tern_op_engine_busy(engine) > 0 ? TERN_HELPER_LONGEST_NAP : TERN_HELPER_EVENT;
}

/* Make progress on one engine, unless the program does. An engine without work is marked as polled: a program that
 * starts an operation usually waits for it soon, and two threads that do the same work are slower than one. */
static int64_t poll_engine(struct tern_engine *engine)
{
    uint32_t            delivered = tern_core_message_delivered();
    struct tern_tagged *tagged = receiving(engine);
    int64_t             ns = TERN_HELPER_NAP;

    if (tern_op_engine_busy(engine) == 0 && !tagged) {
        tern_boot_activity_mark(&engine->activity);
        return TERN_HELPER_IDLE;
    }
    if (tern_boot_activity_recent(&engine->activity, 0))
        return TERN_HELPER_NAP;
    if (tagged)
        tern_core_message_poll_channels(TERN_MESSAGES_TAGGED);
    if (pthread_mutex_trylock(&engine->lock) == 0) {
        ns = work(engine, tagged, delivered);
        pthread_mutex_unlock(&engine->lock);
    }
    return ns;
}

static int64_t poll_engines(struct tern_helper_poller *poller, bool again)
{
    int64_t least = TERN_HELPER_IDLE;

    (void)poller;
    if (again && helper.last == TERN_HELPER_NAP)
        return TERN_HELPER_NAP; /* the announced nap is short, so no wake has to end it */
    pthread_mutex_lock(&helper.lock);
    if (!helper.over) {
        TERN_LIST_EACH(struct tern_engine, engine, &helper.engines, helped) {
            int64_t ns = poll_engine(engine);
            least = ns < least ? ns : least;
        }
    }
    pthread_mutex_unlock(&helper.lock);
    return helper.last = least;
}

tern_status tern_op_helper_start(void)
{
    return tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF
               ? TERN_OK
               : tern_boot_helper_add(&tern_core_helper, &helper.poller);
}

void tern_op_helper_wake(void)
{
    tern_boot_helper_wake(&tern_core_helper, &helper.poller);
}

void tern_op_helper_stop(void)
{
    pthread_mutex_lock(&helper.lock);
    helper.over = true;
    pthread_mutex_unlock(&helper.lock);
}
