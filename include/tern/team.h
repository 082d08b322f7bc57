/* team.h: ordered sets of ranks. A rank in a call counts in the team of the call's context or region. */
#ifndef TERN_TEAM_H
#define TERN_TEAM_H

#include <tern/status.h>

TERN_BEGIN_DECLS

typedef struct tern_team tern_team;

/* The team of all ranks of the job.
 * Returns  the team; NULL outside tern_init ... tern_finalize.
 * Remote   none.
 * Threads  any. */
TERN_API tern_team *tern_team_world(void);

/* The team of the ranks that share memory with this one, in the order of their ranks in the job.
 * Returns  the team; NULL outside tern_init ... tern_finalize.
 * Remote   none.
 * Threads  any. */
TERN_API tern_team *tern_team_node(void);

/* This process's rank in the team.
 * Returns  the rank; -1 when team is NULL.
 * Remote   none.
 * Threads  any. */
TERN_API int tern_team_rank(const tern_team *team);

/* The number of ranks in the team.
 * Returns  the number; -1 when team is NULL.
 * Remote   none.
 * Threads  any. */
TERN_API int tern_team_size(const tern_team *team);

/* Find the rank that the process with the given rank in one team has in another.
 * Returns  TERN_OK and the rank in *out. TERN_ERR_RANGE: from has no such rank, or its process is not in to.
 *          TERN_ERR_ARG: a pointer is NULL.
 * Remote   none.
 * Threads  any. */
TERN_API tern_status tern_team_translate(const tern_team *from, int rank, const tern_team *to, int *out);

TERN_END_DECLS

#endif
