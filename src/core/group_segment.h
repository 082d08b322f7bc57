/* group_segment.h: barriers and departures of the world in the boot segment, which every rank of the job sees: the
 * entries of its own node directly, those of other nodes through the relay. */
#pragma once

#include "link/link.h"

/* A group that does everything in the boot segment; for jobs that must survive deaths. */
extern const struct tern_group_ops tern_core_segment_group;

/* arrive: tell the ranks of this node that this rank has entered a barrier, and whether it contributes to the barrier.
 * has_arrived: return whether one of them has entered it. */
void tern_core_segment_arrive(uint32_t barrier, bool gathers);
bool tern_core_segment_has_arrived(int rank, uint32_t barrier);

/* Departures, for any group of the world: functions of struct tern_group_ops. */
void tern_core_segment_depart(struct tern_link_group *group, uint64_t object);
bool tern_core_segment_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object);

/* Return what a member is doing, if the last barrier that this rank has entered has the number. */
enum tern_member_doing tern_core_segment_doing(const struct tern_link_group *group, uint32_t member, uint32_t barrier);
