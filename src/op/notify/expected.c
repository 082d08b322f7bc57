/* expected.c: see expected.h. */
#include "op/notify/expected.h"

#include "core/message.h"

struct tern_notify_expected tern_op_expected;

void tern_op_expected_set(const struct tern_notify_request *notify_request, uint64_t first, int from,
                          const struct tern_notify_part *part)
{
    unsigned len = (uint8_t)(first >> 40);

    tern_op_expected = (struct tern_notify_expected){
        .notify_request = notify_request,
        .changes = part->changes,
        .want = { .first = first,
                  .region = part->scope,
                  .mask = notify_request->name.class & TERN_MATCH_ANY_TAG ? ~(uint64_t)UINT32_MAX : UINT64_MAX,
                  .base = part->base,
                  .max_offset = part->size - len,
                  .len = len,
                  .from = from,
                  .to = part->base },
    };
}

/* Poll briefly for the expected notification, which would be the last match of the request. The resulting state is
 * written before the notification arrives, because stores between its arrival and the program's response delay the
 * response. */
static bool expect(struct tern_notify_request *notify_request, unsigned polls)
{
    tern_op_match_withdraw(&tern_op_notify_match, &notify_request->request);
    tern_op_notify_request_count(notify_request, tern_op_expected.want.from, (uint32_t)tern_op_expected.want.first,
                                 tern_op_expected.want.len);
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_IDLE,
                          memory_order_relaxed); /* only this thread waits for it */
    if (TERN_LIKELY(tern_core_message_expect(&tern_op_expected.want, polls))) {
        if (TERN_UNLIKELY(tern_op_expected.want.len == 0))
            notify_request->bytes = tern_op_expected.want.third;
        if (TERN_UNLIKELY(tern_op_expected.want.mask != UINT64_MAX))
            notify_request->tag = (uint32_t)tern_op_expected.want.first;
        return true;
    }
    notify_request->left = 1; /* the other fields are reported only when left is 0 */
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_STARTED, memory_order_relaxed);
    tern_op_match_post(&tern_op_notify_match, &notify_request->request); /* it is still the only one */
    return false;
}

/* If the bias is held, no other thread has ever taken the lock, so this thread may use the guarded state for any length
 * of time. */
bool tern_op_expected_wait(struct tern_notify_request *notify_request, unsigned polls)
{
    bool taken = false;

    if (TERN_UNLIKELY(!tern_base_bias_enter(&tern_op_notify_lock.biased)))
        return false;
    if (TERN_LIKELY(tern_op_expected.notify_request == notify_request &&
                    tern_op_notify_match.sole == &notify_request->request && notify_request->left == 1 &&
                    !notify_request->recorded &&
                    tern_op_expected.changes == atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed)))
        taken = expect(notify_request, polls);
    tern_base_biased_unlock(&tern_op_notify_lock, true);
    return taken;
}
