/* expected.c: see expected.h. */
#include "op/notify/expected.h"

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

void tern_op_expected_failed(struct tern_notify_request *notify_request)
{
    notify_request->left = 1; /* the other fields are reported only when left is 0 */
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_STARTED, memory_order_relaxed);
    tern_op_match_post(&tern_op_notify_match, &notify_request->request); /* it is still the only one */
}
