/* memory.h: the memory of this rank's own part of a region. */
#ifndef TERN_CORE_MEMORY_H
#define TERN_CORE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <tern/region.h>

#include "boot/space.h"
#include "core/team.h"
#include "link/link.h"

struct tern_own_memory {
    uint32_t          mem_kind; /* enum tern_mem_kind */
    struct tern_space space;    /* ARENA, HUGE; offset also of the others, in the file that is mapped at addr */
    void             *addr;
    uint64_t          mapped;        /* bytes; 0 where the program owns the memory */
    uint64_t          device, inode; /* of the file that is mapped at addr; inode 0: none that others can map */
    bool              created;       /* FILE: there was no such file before */
    uint64_t          old_size;      /* FILE: length of the file before */
};

/* Whether this node has room for the parts of size bytes of the team's members on it; *place is where they will go.
 * Call before any rank takes any. */
tern_status tern_core_memory_check(const tern_region_opts *opts, uint64_t size, const struct tern_team *team,
                                   uint32_t *place);

/* Reserve and map size bytes at the place; file is the name of a FILE part. */
tern_status tern_core_memory_make(uint32_t place, uint64_t size, const char *file, struct tern_own_memory *out);
void        tern_core_memory_drop(struct tern_own_memory *memory);

/* Describe memory that the program has: what is mapped at addr is looked up, so that accumulates to it are atomic with
 * accumulates through other regions of the same memory. */
struct tern_own_memory tern_core_memory_own(void *addr);

/* Leave the file as it was before, because the region could not be made. */
void tern_core_memory_undo(const struct tern_own_memory *memory, const char *file);

#endif
