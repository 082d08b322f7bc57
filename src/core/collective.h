/* collective.h: the collective calls, and their names.
 *
 * A rank publishes the number of the collective call that it makes, so that the reports and errors of other ranks, on
 * any node, can name the call. The numbers travel between processes: change TERN_SEGMENT_LAYOUT with them. */
#pragma once

#include <stdint.h>

/* The barrier is the first: a group whose members name no other call is in a barrier. The calls of tern/coll.h are at
 * the end, from SYNC on, in the order of op/coll/coll.h. */
#define TERN_COLLECTIVES(X)                              \
    X(BARRIER, "tern_barrier")                           \
    X(ALLGATHER, "tern_allgather")                       \
    X(REGION_CREATE, "tern_region_create")               \
    X(REGION_REGISTER, "tern_region_register")           \
    X(REGION_GROW, "tern_region_grow")                   \
    X(REGION_ADOPT, "tern_region_adopt")                 \
    X(REGION_OPEN, "tern_region_open")                   \
    X(ATOMIC_DOMAIN_CREATE, "tern_atomic_domain_create") \
    X(MUTEX_CREATE, "tern_mutex_create")                 \
    X(MUTEX_FREE, "tern_mutex_free")                     \
    X(REGION_FREE, "tern_region_free")                   \
    X(AM_CLIENT_CREATE, "tern_am_client_create")         \
    X(FINALIZE, "tern_finalize")                         \
    X(TEAM_SPLIT, "tern_team_split")                     \
    X(TEAM_DUP, "tern_team_dup")                         \
    X(TEAM_SURVIVORS, "tern_team_survivors")             \
    X(TEAM_FREE, "tern_team_free")                       \
    X(AM_CLIENT_FREE, "tern_am_client_free")             \
    X(SYNC, "tern_sync")                                 \
    X(BROADCAST, "tern_broadcast")                       \
    X(REDUCE, "tern_reduce")                             \
    X(ALLREDUCE, "tern_allreduce")                       \
    X(REDUCE_SCATTER, "tern_reduce_scatter")             \
    X(GATHER, "tern_gather")                             \
    X(SCATTER, "tern_scatter")                           \
    X(COLL_ALLGATHER, "tern_allgather")                  \
    X(ALLTOALL, "tern_alltoall")                         \
    X(SCAN, "tern_scan")                                 \
    X(EXSCAN, "tern_exscan")                             \
    X(REDUCE_SCATTERV, "tern_reduce_scatterv")           \
    X(GATHERV, "tern_gatherv")                           \
    X(SCATTERV, "tern_scatterv")                         \
    X(ALLGATHERV, "tern_allgatherv")                     \
    X(ALLTOALLV, "tern_alltoallv")                       \
    X(ALLTOALLS, "tern_alltoalls")                       \
    X(COLL_BARRIER, "tern_barrier")

#define TERN_COLLECTIVE_ENUM(name, text) TERN_COLLECTIVE_##name,
enum tern_collective { TERN_COLLECTIVES(TERN_COLLECTIVE_ENUM) TERN_COLLECTIVE_COUNT };
_Static_assert(TERN_COLLECTIVE_BARRIER == 0, "the slots of a rank that has made no call contain 0");

/* Return the name of a call. The number may come from another process: any value is permitted. */
const char *tern_core_collective_name(uint32_t call);
