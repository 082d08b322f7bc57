/* group.h: groups: the members of a team synchronize in barriers and exchange contributions.
 *
 * A link that reaches all members may provide their group; the core has groups of its own for members on several nodes
 * (core/group.h). */
#ifndef TERN_LINK_GROUP_H
#define TERN_LINK_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct tern_link;
struct tern_group_ops;

/* The members of a team. The struct of an implementation begins with this one. */
struct tern_link_group {
    const struct tern_group_ops *ops;
    uint32_t                     id; /* 0 is the world, 1 the node */
    uint32_t                     size, me;
    const int32_t               *world_rank; /* [size] ranks in the job; NULL: equal to the members' numbers */
};

#define TERN_LINK_CONTRIBUTION 4096 /* bytes of one member's contribution, at most */

/* The functions of a group. open and close are called by the thread that makes a collective call, the others by one
 * thread at a time for each team. */
struct tern_group_ops {
    /* Open a group for the members that as describes; the data that as points to must outlive the group. link is NULL
     * for the groups of the core. */
    tern_status (*open)(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out);
    void (*close)(struct tern_link_group *group);
    /* A barrier: call arrive once, then poll arrived until it returns true. has_arrived returns whether a member has
     * arrived; if a death does not end the job, it never becomes true for a member that died before it arrived. */
    void (*arrive)(struct tern_link_group *group);
    bool (*arrived)(struct tern_link_group *group);
    bool (*has_arrived)(const struct tern_link_group *group, uint32_t member);
    /* Give up objects that all members give up in the same order: call depart once for each object; departed returns
     * whether the member has departed as often as this one. Unlike a barrier, departing does not depend on members that
     * have died. */
    void (*depart)(struct tern_link_group *group, uint64_t object);
    bool (*departed)(const struct tern_link_group *group, uint32_t member, uint64_t *object);
    /* Publish a contribution of len <= TERN_LINK_CONTRIBUTION bytes, and read a member's. A barrier must separate
     * contribute from contribution; the contributions of two consecutive barriers exist side by side. */
    void (*contribute)(struct tern_link_group *group, const void *data, size_t len);
    const void *(*contribution)(const struct tern_link_group *group, uint32_t member);
};

#endif
