/* group.h: where the members of a team meet.
 *
 * A link that reaches all members has a place for that, if it has groups at all. Where none does, because the
 * members are on several nodes, the core makes the group itself: by messages, whatever link carries them
 * (group_bruck.h), or in the seats of the boot segment where the job is to survive deaths (group_segment.h), because
 * all who live must then see the same.
 * */
#ifndef TERN_CORE_GROUP_H
#define TERN_CORE_GROUP_H

#include "link/link.h"

/* Open a group for the members that as describes; what it points to must last as long as the group. */
tern_status tern_core_group_open(const struct tern_link_group *as, struct tern_link_group **out);

/* For tests: not 0: the world's group is made by the core on one node too, as if so many ranks were on each. Set before
 * tern_init, alike on all ranks. */
extern unsigned tern_core_group_apart;

/* The rank in the job of a member. */
static inline int tern_core_group_world(const struct tern_link_group *group, uint32_t member)
{
    return group->world_rank ? group->world_rank[member] : (int)member;
}

#endif
