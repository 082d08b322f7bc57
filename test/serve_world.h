/* serve_world.h: the parts of a job that serving an RPC needs, for tests without a job: four ranks on one node, of
 * which this process is the first. */
#ifndef TERN_SERVE_WORLD_H
#define TERN_SERVE_WORLD_H

#include <stdlib.h>

#include "core/job.h"

#define SERVE_RANKS 4

static inline void serve_world_open(void)
{
    static const struct tern_link_ops maps = { .name = "none", .maps = true };

    if (tern_job.boot.segment)
        return;
    tern_job.boot.ranks = tern_job.boot.locals = SERVE_RANKS;
    tern_job.boot.segment = aligned_alloc(64, tern_segment_bytes(SERVE_RANKS, false));
    memset((void *)tern_job.boot.segment, 0, tern_segment_bytes(SERVE_RANKS, false));
    tern_job.boot.segment->ranks = tern_job.boot.segment->locals = SERVE_RANKS;
    tern_job.lost = calloc(SERVE_RANKS, sizeof(*tern_job.lost));
    tern_job.peer_link = calloc(SERVE_RANKS, sizeof(*tern_job.peer_link));
    tern_job.ops[0] = &maps;
}

static inline void serve_world_close(void)
{
    free((void *)tern_job.boot.segment);
    free((void *)tern_job.lost);
    free(tern_job.peer_link);
    tern_job.boot.segment = NULL;
    tern_job.lost = NULL;
    tern_job.peer_link = NULL;
}

#endif
