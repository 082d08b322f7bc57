/* ga_sum.c: a program of Global Arrays outside the project, linked by ga-config --libs with Tern's drop-in directory in
 * front. All ranks add to one array, and rank 0 prints how many there are. */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int    dims[1] = { 10 }, low = 0, high = 9, ld = 1, array;
    double ones[10], one = 1;

    for (int i = 0; i < 10; i++)
        ones[i] = 1;
    MPI_Init(&argc, &argv);
    GA_Initialize();
    if (!MA_init(C_DBL, 10000, 10000))
        GA_Error("MA_init failed", 1);
    array = NGA_Create(C_DBL, 1, dims, "sum", NULL);
    GA_Zero(array);
    NGA_Acc(array, &low, &high, ones, &ld, &one);
    GA_Sync();
    NGA_Get(array, &low, &high, ones, &ld);
    if (GA_Nodeid() == 0)
        printf("a ring of %.0f\n", ones[9]);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
