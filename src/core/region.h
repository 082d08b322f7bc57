/* region.h: memory open to remote access, and finding it by address. */
#ifndef TERN_CORE_REGION_H
#define TERN_CORE_REGION_H

#include <tern/region.h>

#include "core/context.h"
#include "core/memory.h"
#include "link/link.h"

struct tern_region {
    struct tern_link_part *part; /* [ranks of the job] */
    struct tern_link_part *net;  /* the same, as the link reaches them whose network has atomics; NULL: there is none */
    struct tern_team      *team;
    uint64_t               id;   /* the same on all ranks of the team */
    uint64_t               name; /* of this rank's own part, for the links; 0: it has none yet */
    struct tern_own_memory own;
    void                  *kept;         /* what was made for it, if anything: freed with it */
    struct tern_region    *next, **link; /* on the job's list */
    /* In the same piece of memory, so that an inlined call loads no pointer to it first. [ranks of the job] */
    _Alignas(TERN_REGION_PARTS) struct tern_part fast[];
};
_Static_assert(offsetof(struct tern_region, fast) == TERN_REGION_PARTS, "the public header says where parts are");

/* Collective, on a claimed team. what is the public call, with which errors begin. checked is TERN_OK, or what is wrong
 * with this rank's arguments: it is told to all, so that nobody waits for this rank in vain. */
tern_status tern_core_region_alloc(struct tern_ctx *ctx, uint64_t size, const tern_region_opts *opts, const char *what,
                                   tern_status checked, struct tern_region **out);
tern_status tern_core_region_register(struct tern_ctx *ctx, void *addr, uint64_t len, tern_status checked,
                                      struct tern_region **out);
tern_status tern_core_region_free(struct tern_region *region, const char *what);

/* Release without meeting anyone; the job has ended. */
void tern_core_region_release(struct tern_region *region);

/* The region of the job's rank that holds the address; NULL: none. The context's thread. */
struct tern_region *tern_core_region_find(struct tern_ctx *ctx, int world_rank, uint64_t addr);

/* Forget what find has learnt; the job has ended. */
void tern_core_region_index_close(void);

#endif
