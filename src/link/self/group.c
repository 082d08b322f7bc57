/* group.c: a team of one. All members have always arrived; the only contribution is the rank's own. */
#include <stdlib.h>
#include <string.h>

#include "link/none.h"
#include "link/self/self.h"

struct self_group {
    struct tern_link_group base;
    uint64_t               object;
    uint32_t               proposal;
    _Alignas(uint64_t) unsigned char contribution[TERN_LINK_CONTRIBUTION];
};

static tern_status self_group_open(struct tern_link *link, const struct tern_link_group *as,
                                   struct tern_link_group **out)
{
    struct self_group *group = calloc(1, sizeof(*group));

    (void)link;
    if (!group)
        return tern_base_fail(TERN_ERR_NOMEM, "link self: no memory for %zu bytes", sizeof(*group));
    group->base = *as;
    group->base.ops = &tern_self_group;
    group->base.longest = TERN_LINK_CONTRIBUTION;
    *out = &group->base;
    return TERN_OK;
}

static void self_group_close(struct tern_link_group *group)
{
    free(group);
}

static void self_arrive(struct tern_link_group *group)
{
    (void)group;
}

static bool self_arrived(struct tern_link_group *group)
{
    (void)group;
    return true;
}

static bool self_has_arrived(const struct tern_link_group *group, uint32_t member)
{
    (void)group, (void)member;
    return true;
}

static void self_depart(struct tern_link_group *group, uint64_t object)
{
    ((struct self_group *)group)->object = object;
}

static bool self_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object)
{
    (void)member;
    *object = ((const struct self_group *)group)->object;
    return true;
}

static void self_regroup(struct tern_link_group *group, uint32_t id)
{
    group->regroups++;
    ((struct self_group *)group)->proposal = id;
}

static bool self_regrouped(const struct tern_link_group *group, uint32_t member, uint32_t *id)
{
    (void)member;
    *id = ((const struct self_group *)group)->proposal;
    return true;
}

static void *self_contribute(struct tern_link_group *group, size_t len)
{
    (void)len;
    return ((struct self_group *)group)->contribution;
}

static const void *self_contribution(const struct tern_link_group *group, uint32_t member)
{
    (void)member;
    return ((const struct self_group *)group)->contribution;
}

static enum tern_member_doing self_doing(const struct tern_link_group *group, uint32_t member, uint64_t *what)
{
    (void)group, (void)member, (void)what;
    return TERN_MEMBER_ELSEWHERE;
}

const struct tern_group_ops tern_self_group = {
    .open = self_group_open,
    .close = self_group_close,
    .space = tern_link_no_space,
    .arrive = self_arrive,
    .arrived = self_arrived,
    .has_arrived = self_has_arrived,
    .give_up = tern_link_no_give_up,
    .quitter = tern_link_no_quitter,
    .depart = self_depart,
    .departed = self_departed,
    .advance = tern_link_no_advance,
    .regroup = self_regroup,
    .regrouped = self_regrouped,
    .contribute = self_contribute,
    .contribution = self_contribution,
    .doing = self_doing,
    .board = tern_link_no_board,
};
