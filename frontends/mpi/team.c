/* team.c: teams of Tern for communicators of MPI. The ranks of the job are those of MPI_COMM_WORLD. */
#include <stdlib.h>

#include "error.h"
#include "team.h"

/* Fill ranks with the ranks in MPI_COMM_WORLD of the n members of a communicator. */
static int find_ranks(MPI_Comm comm, int n, int *ranks, const char *call)
{
    MPI_Group members, world;
    int      *own = malloc((size_t)n * sizeof *own), error = MPI_SUCCESS;

    if (own == NULL)
        return tern_mpi_code(MPI_ERR_NO_MEM, call, "there is no memory for the ranks of %d processes", n);
    MPI_Comm_group(comm, &members);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < n; i++)
        own[i] = i;
    MPI_Group_translate_ranks(members, n, own, world, ranks);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        if (ranks[i] == MPI_UNDEFINED)
            error = tern_mpi_code(MPI_ERR_COMM, call,
                                  "rank %d of the communicator is not in MPI_COMM_WORLD of this process", i);
    }
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    free(own);
    return error;
}

static tern_status make_team(struct tern_mpi_team *team, const int *ranks)
{
    bool whole = team->size == tern_size();

    for (int i = 0; i < team->size; i++)
        whole = whole && ranks[i] == i;
    team->created = false;
    team->team = whole ? tern_team_world() : tern_team_self();
    if (whole || team->size == 1)
        return TERN_OK;
    team->created = true;
    return tern_team_create(tern_team_world(), ranks, team->size, 0, &team->team);
}

int tern_mpi_team_of(MPI_Comm comm, const char *call, struct tern_mpi_team *out)
{
    int inter = 0, error, *ranks;

    if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return tern_mpi_code(MPI_ERR_COMM, call, "the communicator is %s", inter ? "an intercommunicator" : "invalid");
    MPI_Comm_rank(comm, &out->rank);
    MPI_Comm_size(comm, &out->size);
    ranks = malloc((size_t)out->size * sizeof *ranks);
    if (ranks == NULL)
        return tern_mpi_code(MPI_ERR_NO_MEM, call, "there is no memory for the ranks of %d processes", out->size);
    error = find_ranks(comm, out->size, ranks, call);
    if (error == MPI_SUCCESS) {
        tern_status status = make_team(out, ranks);

        if (status != TERN_OK)
            error = tern_mpi_code_of(status, call, "creating a team");
    }
    free(ranks);
    return error;
}

tern_status tern_mpi_team_free(struct tern_mpi_team *team)
{
    return team->created ? tern_team_free(team->team) : TERN_OK;
}
