/* team.h: teams, which are ordered sets of ranks.
 *
 * Contexts and regions belong to a team, and the rank argument of a call counts in the team of the context or region
 * that is passed to the call. There are two teams: all ranks of the job, and the ranks of the node of this process.
 */
#ifndef TERN_TEAM_H
#define TERN_TEAM_H

#include <tern/status.h>

TERN_BEGIN_DECLS

/* An ordered set of ranks. tern_team_world and tern_team_node return one. */
typedef struct tern_team tern_team;

/* Get the team of all ranks of the job.
 * Returns  The team; NULL before tern_init and after tern_finalize.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_team *tern_team_world(void);

/* Get the team of the ranks that share memory with this rank. Their order is that of their ranks in the job.
 * Returns  The team; NULL before tern_init and after tern_finalize.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_team *tern_team_node(void);

/* Get the rank of this process in a team.
 * Returns  The rank; -1 if team is NULL.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_team_rank(const tern_team *team);

/* Get the number of ranks in a team.
 * Returns  The number of ranks; -1 if team is NULL.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_team_size(const tern_team *team);

/* Translate a rank of one team into a rank of another. The call finds the rank that the same process has in the other
 * team.
 * Returns  TERN_OK: the rank in the team to is in *out.
 *          TERN_ERR_RANGE: the team from has no such rank, or its process is not in the team to.
 *          TERN_ERR_ARG: a pointer is NULL.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_team_translate(const tern_team *from, int rank, const tern_team *to, int *out);

TERN_END_DECLS

#endif
