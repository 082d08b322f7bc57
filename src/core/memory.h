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
    /* For ARENA and HUGE. For the other kinds only offset: the offset in the file that is mapped at addr. */
    struct tern_space space;
    void             *addr;
    uint64_t          mapped; /* bytes; 0 if the program owns the memory */
    /* Identity of the file that is mapped at addr; inode 0: no file that others can map. */
    uint64_t          device, inode;
    bool              created;  /* FILE: the file did not exist before */
    uint64_t          old_size; /* FILE: previous length of the file */
    int               file;     /* FILE that can grow: its descriptor; otherwise 0 */
    bool              in_ram;   /* FILE: the file system has no disk */
    /* Adopted memory: the pages of the program that are mapped to space, and the bytes of them before addr. */
    unsigned char    *pages;
    uint64_t          before;
};

/* Parts that are to be allocated. */
struct tern_memory_request {
    const tern_region_opts *opts;
    uint64_t                size, reserve; /* of this rank: bytes to allocate, and bytes that the part can grow to */
    /* [team size] of all members; NULL: they are equal */
    const uint64_t         *sizes, *reserves;
};

/* Check whether this node has space for the parts of the team's members on it; *mem_kind returns the kind of memory
 * (enum tern_mem_kind). Call before any rank allocates its part. */
tern_status tern_core_memory_check(const struct tern_memory_request *request, const struct tern_team *team,
                                   uint32_t *mem_kind);

/* Reserve size bytes of the kind (enum tern_mem_kind), and map the reserve; name is the file name of a FILE part. */
tern_status tern_core_memory_make(uint32_t mem_kind, const struct tern_memory_request *request, const char *name,
                                  struct tern_own_memory *out);
void        tern_core_memory_drop(struct tern_own_memory *memory);

/* Return the bytes that a part needs in addition if it grows from size `from` to size `to`, in pages of its memory. */
uint64_t tern_core_memory_growth(uint32_t mem_kind, uint64_t from, uint64_t to);

/* Check whether the node has space for the growth of all parts on it: bytes of ordinary memory, and of huge pages. */
tern_status tern_core_memory_check_growth(uint64_t bytes, uint64_t huge_bytes);

/* Reserve memory for the growth from size `from` to size `to`; or free it again, after tern_core_memory_grow. */
tern_status tern_core_memory_grow(struct tern_own_memory *memory, uint64_t from, uint64_t to);
void        tern_core_memory_shrink(struct tern_own_memory *memory, uint64_t from, uint64_t to);

/* Describe memory that the program owns. The call looks up the file that is mapped at addr, so that accumulates to this
 * memory are atomic with accumulates through other regions of the same memory. */
struct tern_own_memory tern_core_memory_own(void *addr);

/* Restore the previous state of the file, because the region could not be created. */
void tern_core_memory_undo(const struct tern_own_memory *memory, const char *file);
