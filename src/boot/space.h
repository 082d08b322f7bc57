/* space.h: taking space from the arena and giving it back.
 *
 * Offsets only grow, so that no two regions of a job ever share one; space that is given back returns to the system at
 * once. Space is really there when take returns: touching it never raises SIGBUS.
 */
#ifndef TERN_BOOT_SPACE_H
#define TERN_BOOT_SPACE_H

#include "boot/boot.h"

#define TERN_SPACE_ALIGN \
    16384u /* offsets of spaces are multiples of it: no two share a block of guarded memory (op/atomic/acc.h) */

struct tern_space {
    int      file;   /* descriptor: the arena, or the arena of huge pages */
    uint64_t offset; /* in the file */
    uint64_t bytes;  /* a multiple of the page size of the file */
};

/* The size of the pages that the file is made of: what mappings of it are multiples of. */
uint64_t tern_boot_space_unit(int file);

/* Whether the node has bytes to give, in memory that is not swapped or dropped: the kernel answers a memory file that
 * outgrows the machine or its control group by killing a process, not by an error. Ask for what all ranks will take
 * together, before any takes its share. what names it in the error. */
tern_status tern_boot_space_check(uint64_t bytes, const char *what);

/* Take at least bytes (more than 0) from boot->arena or boot->huge. */
tern_status tern_boot_space_take(const struct tern_boot *boot, int file, uint64_t bytes, struct tern_space *out);

/* Give the space back. Mappings of it must not be touched any more. */
void tern_boot_space_give(const struct tern_space *space);

/* Reserve [offset, offset + bytes) of a file that is written in place: the arena or a file of the program. what names
 * it in the error. */
tern_status tern_boot_space_reserve(int file, uint64_t offset, uint64_t bytes, const char *what);

#endif
