/* group.c: barriers. A rank arrives immediately, but it learns late that all members have arrived. So the ranks
 * leave a barrier one after the other, as on a busy machine. All other group operations pass through. */
#include <stdlib.h>

#include "link/chaos/chaos.h"

struct chaos_group {
    struct tern_link_group  base;
    struct chaos_link      *link;
    struct tern_link_group *behind;
    struct chaos_stream     stream;
    uint64_t                left; /* polls until this rank sees the end of the barrier */
};

static struct chaos_group *group_of(struct tern_link_group *base)
{
    return (struct chaos_group *)base;
}

static const struct chaos_group *group_seen(const struct tern_link_group *base)
{
    return (const struct chaos_group *)base;
}

tern_status tern_chaos_group_open(struct tern_link *base, const struct tern_link_group *as,
                                  struct tern_link_group **out)
{
    struct chaos_link  *link = tern_chaos_link(base);
    struct chaos_group *group = calloc(1, sizeof(*group));
    tern_status         st;

    if (!group)
        return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for %zu bytes", sizeof(*group));
    if ((st = link->ops->group_open(link->behind, as, &group->behind)) < 0) {
        free(group);
        return st;
    }
    group->base = *as;
    group->base.ops = link->front;
    group->link = link;
    tern_chaos_stream(link, &group->stream, CHAOS_GROUP,
                      atomic_fetch_add_explicit(&link->groups, 1, memory_order_relaxed)); /* a unique number */
    *out = &group->base;
    return TERN_OK;
}

void tern_chaos_group_close(struct tern_link_group *base)
{
    struct chaos_group *group = group_of(base);

    group->link->ops->group_close(group->behind);
    free(group);
}

void tern_chaos_arrive(struct tern_link_group *base)
{
    struct chaos_group *group = group_of(base);

    tern_chaos_operation(group->link);
    group->left = tern_chaos_due(&group->stream, 0, 0) - group->stream.now;
    group->link->ops->arrive(group->behind);
}

bool tern_chaos_arrived(struct tern_link_group *base)
{
    struct chaos_group *group = group_of(base);

    if (!group->link->ops->arrived(group->behind))
        return false;
    if (group->left == 0)
        return true;
    group->left--;
    tern_chaos_stay_awake(group->link);
    return false;
}

bool tern_chaos_came(const struct tern_link_group *base, uint32_t member)
{
    const struct chaos_group *group = group_seen(base);

    return group->link->ops->has_arrived(group->behind, member);
}

void tern_chaos_depart(struct tern_link_group *base, uint64_t object)
{
    struct chaos_group *group = group_of(base);

    group->link->ops->depart(group->behind, object);
}

bool tern_chaos_departed(const struct tern_link_group *base, uint32_t member, uint64_t *object)
{
    const struct chaos_group *group = group_seen(base);

    return group->link->ops->departed(group->behind, member, object);
}

void tern_chaos_post(struct tern_link_group *base, const void *data, size_t len)
{
    struct chaos_group *group = group_of(base);

    group->link->ops->contribute(group->behind, data, len);
}

const void *tern_chaos_peek(const struct tern_link_group *base, uint32_t member)
{
    const struct chaos_group *group = group_seen(base);

    return group->link->ops->contribution(group->behind, member);
}
