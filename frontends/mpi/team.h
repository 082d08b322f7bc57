/* team.h: teams of Tern for communicators of MPI. */
#ifndef TERN_MPI_TEAM_H
#define TERN_MPI_TEAM_H

#include <mpi.h>
#include <stdbool.h>
#include <tern.h>

/* The team of a communicator: rank i of the team is rank i of the communicator. */
struct tern_mpi_team {
    tern_team *team;
    int        rank, size;
    bool       created; /* not one of the teams that every job has */
};

/* Find or create the team of an intracommunicator. The call is collective over the communicator. Returns MPI_SUCCESS,
 * or an error code. */
int tern_mpi_team_of(MPI_Comm comm, const char *call, struct tern_mpi_team *out);

/* Free the team, if it was created. The call is collective over the team. */
tern_status tern_mpi_team_free(struct tern_mpi_team *team);

#endif
