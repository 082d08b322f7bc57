/* group.h: barrier and all-gather among the members of a team.
 *
 * A link that reaches all members provides the group, if the link has groups at all. If no link does, because the
 * members are on several nodes, the core creates the group: by messages, over whatever link carries them
 * (group_bruck.h), or in the boot segment if the job must survive deaths (group_segment.h), because all surviving ranks
 * must then see the same state.
 */
#ifndef TERN_CORE_GROUP_H
#define TERN_CORE_GROUP_H

#include "link/link.h"

/* Open a group for the members that as describes; the data that as points to must outlive the group. */
tern_status tern_core_group_open(const struct tern_link_group *as, struct tern_link_group **out);

/* For tests. If not 0, the core creates the world's group on one node too, as if each node had this many ranks. Set
 * before tern_init, to the same value on all ranks. */
extern unsigned tern_core_group_apart;

#endif
