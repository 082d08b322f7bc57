/* inject.c: notifications with inline payload, sent through an injection handle. See inject.h. */
#include "link/inject.h"

bool tern_inject_inline(struct tern_inject_notify *handle, const uint64_t word[TERN_NQ_WORDS], void *to,
                        const void *src, size_t len)
{
    bool biased = tern_base_biased_lock(&handle->lock);
    bool sent = tern_base_nq_push_inline(&handle->queue, word, to, src, len);

    if (sent)
        atomic_store_explicit(&handle->unflushed, true, memory_order_relaxed); /* ordered by the lock */
    tern_base_biased_unlock(&handle->lock, biased);
    return sent;
}
