/* mpi_job.c: an MPI program that also uses Tern. The two libraries are initialized and finalized in every order.
 *
 *   mpi_job STEPS
 *
 * All ranks execute each letter of STEPS: M MPI_Init, T tern_init, U use both, V use only Tern, W use only MPI, t
 * tern_finalize, m MPI_Finalize, X tern_init, which must fail with TERN_ERR_BOOT and an error text. At the end, each
 * rank prints "done STEPS". The compiler wrapper of each installed MPI compiles this program.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#include <tern.h>

static void must(int line, const char *what, int holds)
{
    if (holds)
        return;
    fprintf(stderr, "mpi_job: line %d: not true: %s (%s)\n", line, what, tern_error_detail());
    _Exit(9);
}

#define MUST(what) must(__LINE__, #what, what)

static void use_tern(void)
{
    int          me = tern_rank(), size = tern_size();
    tern_region *region;
    uint64_t     got;

    MUST(tern_region_create(TERN_WORLD, 4096, NULL, &region) == TERN_OK);
    MUST(tern_put_u64(TERN_WORLD, region, (me + 1) % size, 0, 100 + (uint64_t)me) == TERN_OK);
    MUST(tern_barrier(TERN_WORLD) == TERN_OK);
    MUST(tern_get_u64(TERN_WORLD, region, me, 0, &got) == TERN_OK);
    MUST(got == 100 + (uint64_t)((me + size - 1) % size));
    MUST(tern_region_free(region) == TERN_OK);
}

static void use_mpi(void)
{
    int me, size, sum = -1;

    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &me) == MPI_SUCCESS);
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    MUST(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    MUST(sum == size * (size - 1) / 2);
}

static void use_both(void)
{
    int me, size;

    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &me) == MPI_SUCCESS);
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    MUST(tern_rank() == me && tern_size() == size); /* MPI and Tern use the same ranks */
    use_tern();
    use_mpi();
}

static void step(char letter)
{
    switch (letter) {
    case 'M': MUST(MPI_Init(NULL, NULL) == MPI_SUCCESS); break;
    case 'm': MUST(MPI_Finalize() == MPI_SUCCESS); break;
    case 'T': MUST(tern_init() == TERN_OK); break;
    case 't': MUST(tern_finalize() == TERN_OK); break;
    case 'U': use_both(); break;
    case 'V': use_tern(); break;
    case 'W': use_mpi(); break;
    case 'X':
        MUST(tern_init() == TERN_ERR_BOOT);
        MUST(strstr(tern_error_detail(), "MPI_Finalize") != NULL);
        break;
    default: MUST(!"a letter that means something");
    }
}

int main(int argc, char **argv)
{
    const char *steps = argc > 1 ? argv[1] : "";

    for (const char *at = steps; *at != '\0'; at++)
        step(*at);
    printf("done %s\n", steps);
    return 0;
}
