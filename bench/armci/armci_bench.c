/* armci_bench.c: measures an ARMCI library: put, get and fetch-and-add of 8 bytes, strided put, get and accumulate, the
 * rate of locks, and a task loop that a counter drives. bench-armci builds it with Debian's ARMCI and with Tern's
 * and runs the programs in turn.
 *
 * Rank 0 measures against the last rank, which waits in a barrier of MPI; all ranks take part in the lock and the task
 * loop, whose total work does not depend on the number of ranks. With the argument "together", only these two are
 * measured. Each line is a name and nanoseconds per operation.
 */
#include <armci.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 512, BOX = 64 };

static int      me, n;
static double **memory;

static void report(const char *name, double seconds, double operations)
{
    if (me == 0)
        printf("%s %.2f\n", name, seconds / operations * 1e9);
}

/* Report what all ranks did together, from the first begin to the last end. With more ranks than cores, a rank may
 * begin when the others are nearly done. ARMCI finds the two times, because a rank that waited for the others in MPI
 * could take the core from them. */
static void report_all(const char *name, double begin, double operations)
{
    double times[2] = { -begin, MPI_Wtime() };

    armci_msg_dgop(times, 2, "max");
    report(name, times[1] + times[0], operations);
}

static void contiguous(int target)
{
    enum { TIMES = 200000 };
    double value = 1, begin = MPI_Wtime();
    long   old;

    for (int i = 0; i < TIMES; i++)
        ARMCI_Put(&value, memory[target] + i % 64, 8, target);
    ARMCI_Fence(target);
    report("put8", MPI_Wtime() - begin, TIMES);
    begin = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        ARMCI_Get(memory[target] + i % 64, &value, 8, target);
    report("get8", MPI_Wtime() - begin, TIMES);
    begin = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, memory[target] + 100, 1, target);
    report("rmw8", MPI_Wtime() - begin, TIMES);
}

static void strided(int target)
{
    enum { TIMES = 2000 };
    static double box[BOX][BOX];
    double        one = 1, begin = MPI_Wtime();
    int           dense[1] = { BOX * 8 }, wide[1] = { SIDE * 8 }, count[2] = { BOX * 8, BOX };

    for (int i = 0; i < TIMES; i++)
        ARMCI_PutS(box, dense, memory[target], wide, count, 1, target);
    ARMCI_Fence(target);
    report("puts64x64", MPI_Wtime() - begin, TIMES);
    begin = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        ARMCI_GetS(memory[target], wide, box, dense, count, 1, target);
    report("gets64x64", MPI_Wtime() - begin, TIMES);
    begin = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        ARMCI_AccS(ARMCI_ACC_DBL, &one, box, dense, memory[target], wide, count, 1, target);
    ARMCI_Fence(target);
    report("accs64x64", MPI_Wtime() - begin, TIMES);
}

static void locks(int target)
{
    enum { TIMES = 4000 };
    double begin;

    ARMCI_Create_mutexes(1);
    ARMCI_Barrier();
    begin = MPI_Wtime();
    for (int i = me; i < TIMES; i += n) {
        ARMCI_Lock(0, target);
        ARMCI_Unlock(0, target);
    }
    ARMCI_Barrier();
    report_all("lock", begin, TIMES);
    ARMCI_Destroy_mutexes();
}

/* Tasks of about a microsecond, which all ranks take from one counter. */
static void tasks(void)
{
    enum { TASKS = 100000 };
    volatile double work = 0;
    double          begin;
    long            task;

    memset(memory[me], 0, 64);
    ARMCI_Barrier();
    begin = MPI_Wtime();
    for (ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &task, memory[0], 1, 0); task < TASKS;
         ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &task, memory[0], 1, 0)) {
        for (int i = 0; i < 300; i++)
            work = work + i;
    }
    ARMCI_Barrier();
    report_all("tasks", begin, TASKS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    memory = malloc((size_t)n * sizeof *memory);
    if (memory == NULL || ARMCI_Malloc((void **)memory, SIDE * SIDE * 8L) != 0)
        ARMCI_Error("there is no memory", 1);
    memset(memory[me], 0, SIDE * SIDE * 8L);
    ARMCI_Barrier();
    if (me == 0 && argc == 1) {
        contiguous(n - 1);
        strided(n - 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    locks(n - 1);
    tasks();
    ARMCI_Barrier();
    ARMCI_Free(memory[me]);
    free(memory);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
