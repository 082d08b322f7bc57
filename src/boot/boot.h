/* boot.h: how a process learns which rank of which job it is.
 *
 * ternrun puts one variable into the environment of each rank,
 *     TERN_BOOT=layout=1,rank=2,ranks=8,arena=5,huge=6,launcher=4711
 * where arena and huge are inherited descriptors (huge is -1 where the system has no huge pages) and launcher is
 * ternrun's process id, through which the descriptors can be opened again where a program in between closed them.
 * Without the variable a process is a job of one rank and makes its own arena.
 */
#ifndef TERN_BOOT_BOOT_H
#define TERN_BOOT_BOOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "boot/segment.h"

struct tern_boot {
    int                  rank, ranks;
    int                  arena, huge; /* descriptors, close-on-exec; huge may be -1 */
    bool                 launched;    /* false: a job of one, without a launcher */
    struct tern_segment *segment;     /* mapped; tern_segment_bytes(ranks) long */
};

/* Make the arena and the first content of its segment; ranks is at least 1. Used by the launcher, and by a process
 * without one. On success *arena and *huge are descriptors (huge -1 where there are no huge pages), not close-on-exec,
 * and *segment is mapped. */
tern_status tern_boot_arena_make(int ranks, int cores, int *arena, int *huge, struct tern_segment **segment);

/* Write the value of TERN_BOOT for a rank into text. */
void tern_boot_text(char *text, size_t size, int rank, int ranks, int arena, int huge, int launcher);

/* Learn who we are from the option TERN_BOOT, map the segment, and claim the rank's slot (life JOINING). */
tern_status tern_boot_join(struct tern_boot *boot);

/* Unmap and close. The slot's life is the caller's affair. */
void tern_boot_leave(struct tern_boot *boot);

#endif
