/* group_segment.h: the world's meetings in the seats of the boot segment, which every rank of the job sees: those of
 * its own node directly, others through the relay. */
#ifndef TERN_CORE_GROUP_SEGMENT_H
#define TERN_CORE_GROUP_SEGMENT_H

#include "link/link.h"

/* A group that does everything in seats; for jobs that are to survive deaths. */
tern_status tern_core_segment_open(const struct tern_link_group *as, struct tern_link_group **out);

/* Tell the ranks of this node that this one has entered a barrier; and whether one of them has. */
void tern_core_segment_arrive(uint32_t barrier);
bool tern_core_segment_has_arrived(int rank, uint32_t barrier);

/* Departures, for any group of the world: number is how many this rank has made. */
void tern_core_segment_depart(uint32_t number, uint64_t object);
bool tern_core_segment_departed(int rank, uint32_t number, uint64_t *object);

#endif
