/* region_making.h: the common parts of the collective calls that create regions or let them grow. */
#pragma once

#include "core/region.h"

/* The contribution of each rank to the all-gathers. Travels between processes. In the first all-gather of a call, size
 * and reserve are in the handle, whose other fields are zero. */
struct tern_contribution {
    struct tern_team_result result;
    uint64_t                memory;    /* first all-gather: tern_memory, and TERN_MAKING_EACH */
    uint64_t                path_hash; /* first all-gather */
    uint64_t                id;        /* of the region that is to grow */
    struct tern_mem_handle  handle;
};
_Static_assert(sizeof(struct tern_contribution) == 440, "a contribution has no padding");
_Static_assert(sizeof(struct tern_contribution) <= TERN_TEAM_SCRATCH,
               "a contribution fits into the scratch space of the team");

#define TERN_MAKING_EACH 0x10000u /* each rank chooses the size of its part */

/* A region that is being created or grows. */
struct tern_making {
    struct tern_team         *team;
    tern_deadline             deadline;
    const char               *what; /* the public call */
    enum tern_collective      call; /* name of the public call */
    const char               *path; /* path of a FILE region */
    struct tern_contribution *all;  /* [team size]; the team's scratch memory */
    struct tern_region       *region;
    bool                      refused; /* a member reported an error, which all members know and return */
};

/* Begin to create a region. checked is the error in this rank's arguments. */
tern_status tern_core_making_begin(struct tern_making *m, struct tern_ctx *ctx, enum tern_collective call,
                                   tern_status checked);

/* Exchange the contributions, with st as this rank's result (tern_core_team_exchange). */
tern_status tern_core_making_exchange(struct tern_making *m, struct tern_contribution *mine, tern_status st);

/* Exchange the memory handles, attach the parts, and, for memory that the program owns, start to serve peers, with one
 * all-gather after each step. st is the result of allocating this rank's own memory; handle describes the memory that
 * others may access, without its name. */
tern_status tern_core_making_join(struct tern_making *m, const struct tern_mem_handle *handle, tern_status st);

/* Return the region, or undo all steps. */
tern_status tern_core_making_end(struct tern_making *m, tern_status st, struct tern_region **out);

/* Describe this rank's own memory of a region. */
struct tern_mem_handle tern_core_making_handle(const struct tern_region *region, uint64_t size, uint64_t reserve);

/* Expose this rank's own part to the peers: fill in the keys of the handle. */
tern_status tern_core_making_expose(struct tern_mem_handle *handle);
