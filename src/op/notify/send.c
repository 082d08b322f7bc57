/* send.c: outgoing notifications: alone, and together with the data of a short put (see notify.h). */
#include "op/notify/notify.h"

static tern_status find_inject(struct tern_link_part *part)
{
    struct tern_inject_notify *handle = NULL;
    tern_status                st = TERN_OK;

    if (atomic_load_explicit(&part->inject, memory_order_relaxed))
        return TERN_OK;
    if ((st = tern_job.ops[part->link]->inject->notify(tern_job.link[part->link], part->rank, &handle)) == TERN_OK)
        /* release: the contents of the handle before the pointer. Pairs with the acquire in
         * tern_op_notify_put_inline() and tern_op_notify_put_word(). */
        atomic_store_explicit(&part->inject, handle, memory_order_release);
    return st;
}

tern_status tern_op_notify_put_inline(struct tern_ctx *ctx, struct tern_region *region, int rank, uint64_t offset,
                                      const void *src, size_t len, uint32_t tag)
{
    unsigned char             *to = tern_direct(ctx, region, rank, offset, len);
    struct tern_link_part     *part;
    struct tern_inject_notify *handle;
    tern_status                st;

    if (len > tern_opt.notify_inline || len == 0 || !src || !to || ctx->order != TERN_RELAXED)
        return TERN_AGAIN;
    part = &region->part[tern_core_team_world(ctx->team, rank)];
    if (!part->inline_notify)
        return TERN_AGAIN;
    if ((st = find_inject(part)) < 0)
        return st;
    /* acquire: the handle before its contents. Pairs with the release in find_inject(). */
    handle = atomic_load_explicit(&part->inject, memory_order_acquire);
    if (!tern_inject_inline(handle,
                            (const uint64_t[]){ wire_notify_first(tag, WIRE_NOTIFY_INLINE, len), part->region, offset },
                            to, src, len))
        return TERN_AGAIN;
    /* release: the notification, for a thread that shares the context. Pairs with tern_core_shared_take_unflushed(). */
    __atomic_store_n(&ctx->inline_unflushed, true, __ATOMIC_RELEASE);
    tern_link_ring(handle->slot);
    return TERN_OK;
}

tern_status tern_op_notify_reserve(int rank, struct tern_link_msg *msg)
{
    msg->peer = rank;
    msg->channel = TERN_CHANNEL_NOTIFY;
    return tern_core_ops_to(rank)->msg->open(tern_core_link_to(rank), msg, 0, 0);
}

void tern_op_notify_send(const struct tern_link_msg *msg, const struct tern_notification *notification)
{
    uint64_t *words = (uint64_t *)(void *)msg->head; /* write only the words that are needed */

    words[0] = wire_notify_first(notification->tag, WIRE_NOTIFY, 0);
    words[1] = notification->scope;
    words[2] = notification->bytes;
    tern_core_ops_to(msg->peer)->msg->send(tern_core_link_to(msg->peer), msg, 0);
}

void tern_op_notify_drop(const struct tern_link_msg *msg)
{
    tern_core_ops_to(msg->peer)->msg->drop(tern_core_link_to(msg->peer), msg);
}

tern_status tern_op_notify_try(int rank, const struct tern_notification *notification)
{
    struct tern_link_msg msg;
    tern_status          st = tern_op_notify_reserve(rank, &msg);

    if (st == TERN_OK)
        tern_op_notify_send(&msg, notification);
    return st;
}
