/* ga_bench.c: measures Global Arrays: a matrix multiplication, and a task loop that a counter drives. bench-armci
 * builds it with Debian's ARMCI and with Tern's. The work does not depend on the number of ranks. Each line is a name
 * and nanoseconds per operation, from the begin of the first rank to the end of the last one. Global Arrays finds these
 * two times, because a rank that waited for the others in MPI could take the core from them. */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>

static void report(const char *name, double begin, int operations)
{
    double times[2] = { -begin, MPI_Wtime() };

    GA_Dgop(times, 2, "max");
    if (GA_Nodeid() == 0)
        printf("%s %.2f\n", name, (times[1] + times[0]) / operations * 1e9);
}

int main(int argc, char **argv)
{
    enum { SIDE = 800, TIMES = 20, TASKS = 100000 };
    int             dims[2] = { SIDE, SIDE }, one = 1, zero = 0, a, b, c, counter;
    double          value = 0.5, begin;
    volatile double work = 0;

    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 4000000, 4000000);
    a = NGA_Create(C_DBL, 2, dims, "a", NULL);
    b = GA_Duplicate(a, "b");
    c = GA_Duplicate(a, "c");
    counter = NGA_Create(C_LONG, 1, &one, "counter", NULL);
    GA_Fill(a, &value);
    GA_Fill(b, &value);
    GA_Zero(counter);
    GA_Dgemm('n', 'n', SIDE, SIDE, SIDE, 1.0, a, b, 0.0, c); /* the first one touches the memory */
    GA_Sync();
    begin = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        GA_Dgemm('n', 'n', SIDE, SIDE, SIDE, 1.0, a, b, 0.0, c);
    GA_Sync();
    report("ga_dgemm", begin, TIMES);
    GA_Sync();
    begin = MPI_Wtime();
    while (NGA_Read_inc(counter, &zero, 1) < TASKS) {
        for (int i = 0; i < 300; i++)
            work = work + i;
    }
    GA_Sync();
    report("ga_tasks", begin, TASKS);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
