/* group_segment.h: barriers and departures in the boot segment, which every rank of the job sees: the entries of its
 * own node directly, those of other nodes through the relay. */
#pragma once

#include "link/link.h"

/* A group whose barriers and departures all use the boot segment, for jobs that must survive deaths. The world uses the
 * barrier slots of the ranks, every other team one seat of each member (boot/segment.h). */
extern const struct tern_group_ops tern_core_segment_group;

/* Prepare a group of up to the given number of members, so that nothing can fail in tern_core_segment_begin, which
 * opens it. close frees a group in either state. */
tern_status tern_core_segment_prepare(uint32_t most, struct tern_link_group **out);
void        tern_core_segment_begin(struct tern_link_group *group, const struct tern_link_group *as);

/* arrive: tell the ranks of this node that this rank has entered a barrier of the world, and in which collective call
 * (core/collective.h); the relay tells the other nodes the next time that a rank of this node wakes it. has_arrived:
 * return whether a rank of this node has entered the barrier. */
void tern_core_segment_arrive(uint32_t barrier, uint32_t call);
bool tern_core_segment_has_arrived(int rank, uint32_t barrier);

/* Departures, for any group of the world: functions of struct tern_group_ops. */
void tern_core_segment_depart(struct tern_link_group *group, uint64_t object);
bool tern_core_segment_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object);

/* The function doing of struct tern_group_ops, for a group of the world whose last barrier that this rank has entered
 * has the number. */
enum tern_member_doing tern_core_segment_doing(const struct tern_link_group *group, uint32_t member, uint32_t barrier,
                                               uint64_t *what);
