/* memory.h: the memory of this rank's own part of a region. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <tern/region.h>

#include "boot/space.h"
#include "core/team.h"
#include "link/link.h"

struct tern_own_memory {
    uint32_t          mem_kind; /* enum tern_mem_kind */
    struct tern_space space; /* ARENA, HUGE; for the other kinds only offset: that in the file that is mapped at addr */
    void             *addr;
    uint64_t          mapped; /* bytes; 0 if the program owns the memory */
    /* Identity of the file that is mapped at addr; inode 0: no file that others can map. */
    uint64_t          device, inode;
    bool              created;  /* FILE: the file did not exist before */
    uint64_t          old_size; /* FILE: previous length of the file */
};

/* Check whether this node has space for the parts, of size bytes each, of the team's members on it; *place returns the
 * kind of memory (enum tern_mem_kind). Call before any rank allocates its part. */
tern_status tern_core_memory_check(const tern_region_opts *opts, uint64_t size, const struct tern_team *team,
                                   uint32_t *place);

/* Reserve and map size bytes of the kind place; file is the name of a FILE part. */
tern_status tern_core_memory_make(uint32_t place, uint64_t size, const char *file, struct tern_own_memory *out);
void        tern_core_memory_drop(struct tern_own_memory *memory);

/* Describe memory that the program owns. The file that is mapped at addr is looked up, so that accumulates to this
 * memory are atomic with accumulates through other regions of the same memory. */
struct tern_own_memory tern_core_memory_own(void *addr);

/* Restore the previous state of the file, because the region could not be created. */
void tern_core_memory_undo(const struct tern_own_memory *memory, const char *file);
