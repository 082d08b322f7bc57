/* space.h: allocation of space in the arena.
 *
 * Offsets only grow, so that no two regions of a job ever have the same offset. Freed space returns to the system
 * immediately. Allocated space is backed by memory: accessing it never raises SIGBUS. Space that is only set aside is a
 * range of offsets, for a part that is to grow.
 */
#pragma once

#include "boot/boot.h"

#define TERN_SPACE_ALIGN \
    16384u /* alignment of offsets, so that no two spaces share a block of locked memory (op/atomic/acc.h) */

struct tern_space {
    int      file;   /* descriptor: the arena, or the arena of huge pages */
    uint64_t offset; /* in the file */
    uint64_t bytes;  /* a multiple of the page size of the file */
};

/* Return the page size of the file. The sizes of its mappings are multiples of it. */
uint64_t tern_boot_space_unit(int file);

/* Check whether the node has this many bytes of available memory, without swapping. The check is necessary because the
 * kernel kills a process, instead of reporting an error, if a memory file outgrows the machine or its control group.
 * Check the sum for all ranks before any rank allocates its part. The error text uses what as the name of the memory.
 */
tern_status tern_boot_space_check(uint64_t bytes, const char *what);

/* Set aside offsets for at least bytes (more than 0) of file, which is boot->arena or boot->huge. No memory is
 * reserved: accessing the bytes raises SIGBUS until tern_boot_space_reserve was called for them. */
tern_status tern_boot_space_set_aside(const struct tern_boot *boot, int file, uint64_t bytes, struct tern_space *out);

/* Allocate at least bytes (more than 0) from file: set aside offsets, and reserve their memory. */
tern_status tern_boot_space_take(const struct tern_boot *boot, int file, uint64_t bytes, struct tern_space *out);

/* Free the space. The caller must not access mappings of it any more. */
void tern_boot_space_give(const struct tern_space *space);

/* Reserve memory for [offset, offset + bytes) of a file that is written in place: the arena or a file of the program.
 * The error text uses what as the name of the memory. */
tern_status tern_boot_space_reserve(int file, uint64_t offset, uint64_t bytes, const char *what);
