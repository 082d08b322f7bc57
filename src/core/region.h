/* region.h: memory that is open to remote access, and its lookup by address. */
#pragma once

#include <tern/region.h>

#include "base/retired.h"
#include "core/collective.h"
#include "core/context.h"
#include "core/memory.h"
#include "link/link.h"

/* The beginning of an object that belongs to a region and is freed with the region. */
struct tern_region_owned {
    struct tern_list     node;
    struct tern_retired *retired; /* list that the memory of the object goes to */
    bool                 freed;
};

struct tern_region {
    struct tern_link_part    *part; /* [ranks of the job]; NULL: the region is freed */
    /* [ranks of the job] the parts as reached by links whose networks have atomics; NULL: there are no such links */
    struct tern_link_part    *net;
    struct tern_team         *team;
    uint64_t                  id;   /* equal on all ranks of the team */
    uint64_t                  name; /* name of this rank's own part in the links; 0: it has none yet */
    struct tern_own_memory    own;
    struct tern_dynamic      *dynamic; /* of a region to which ranks attach memory; NULL: the parts are fixed */
    struct tern_region_owned *owned;   /* an object that is freed with the region; NULL: none */
    uint32_t                  number;  /* of the struct, unique in the process; 0 is not used */
    struct tern_list          node;    /* on the job's list, or on the list of freed regions */
    /* Placed in the same allocation, so that an inlined call need not load a pointer first. [ranks of the job] */
    _Alignas(TERN_REGION_PARTS) struct tern_part fast[];
};
_Static_assert(offsetof(struct tern_region, fast) == TERN_REGION_PARTS,
               "the public header knows the offset of the parts");

/* Create and free a region. Collective, on a claimed team. call or what names the public call, with which error texts
 * begin. checked is TERN_OK, or the error in this rank's arguments: it is sent to all members, so that none waits for
 * this rank in vain. free returns TERN_ERR_STATE, and changes nothing, if operations of this rank on the region are
 * outstanding. The struct of a freed region stays valid for a while (base/retired.h). */
tern_status tern_core_region_alloc(struct tern_ctx *ctx, uint64_t size, const tern_region_opts *opts,
                                   enum tern_collective call, tern_status checked, struct tern_region **out);
tern_status tern_core_region_register(struct tern_ctx *ctx, void *addr, uint64_t len, tern_status checked,
                                      struct tern_region **out);
tern_status tern_core_region_adopt(struct tern_ctx *ctx, void *addr, uint64_t len, tern_status checked,
                                   struct tern_region **out);
/* Let the parts grow, this rank's to size bytes. Collective, on a claimed team. An error changes nothing. */
tern_status tern_core_region_grow(struct tern_region *region, uint64_t size);
tern_status tern_core_region_free(struct tern_region *region, const char *what);

/* Describe a rank's memory by its handle, as a part that no link has attached yet. */
struct tern_link_part tern_core_region_part(const struct tern_region *region, int world,
                                            const struct tern_mem_handle *handle);

/* Return a new name for memory of this rank that the links expose. */
uint64_t tern_core_region_new_name(void);

/* Return whether this rank has outstanding operations on the region, or may have some. */
bool tern_core_region_is_busy(const struct tern_region *region);

/* Free the region without synchronization; the job has ended. */
void tern_core_region_release(struct tern_region *region);

/* Return the region that contains the address in the memory of this rank of the job; NULL: none. The context's
 * thread. */
struct tern_region *tern_core_region_find(struct tern_ctx *ctx, int world_rank, uint64_t addr);

/* Return the region that contains the address in the memory of this rank of the job; NULL: none. The call uses the
 * given cache instead of that of a context. Only one thread may use a cache; an empty cache is all zero. */
struct tern_region *tern_core_region_find_cached(struct tern_region_found *cache, int world_rank, uint64_t addr);

/* Return the region that contains the `size` bytes from the address on, in the memory of this rank of the job; NULL:
 * none. The context's thread. */
const struct tern_region *tern_core_region_covering(struct tern_ctx *ctx, int world_rank, uint64_t addr, uint64_t size);

/* Copy the part of this rank of the job that has the name (tern_link_part.region); rank -1: this rank's own part of the
 * region that has the id. Returns false if there is none. Any thread. */
bool tern_core_region_named(uint64_t name, int rank, struct tern_link_part *part);

/* Free the index that tern_core_region_find uses; the job has ended. */
void tern_core_region_index_close(void);
