/* ga_programs.c: a Global Arrays program, which test/frontends/ga.sh builds once with Debian's ARMCI and once with
 * Tern's.
 *
 * Each part does one thing with arrays (create, put, get, accumulate, scatter, gather, patches, matrix multiplication,
 * ghost cells, mirrored arrays, groups, locks, counters, nonblocking calls) and prints lines with checksums of the
 * results. Both programs must print the same lines; all values are integers in doubles, so that no order of additions
 * changes them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ga.h>
#include <macdecls.h>

static int me, n_ranks;

#define SIDE 37

static void must(int line, int holds)
{
    if (holds)
        return;
    fprintf(stderr, "ga_programs: line %d failed at rank %d\n", line, me);
    GA_Error("a check failed", line);
}
#define MUST(condition) must(__LINE__, condition)

static double value(int i, int j)
{
    return i * 100 + j;
}

static int new_array(const char *name)
{
    int dims[2] = { SIDE, SIDE }, array = NGA_Create(C_DBL, 2, dims, (char *)name, NULL);

    MUST(array != 0);
    GA_Zero(array);
    return array;
}

/* A sum in which each element has its own weight, computed by every rank from a complete copy of the array. */
static void print_sum(const char *what, int array)
{
    static double copy[SIDE][SIDE];
    int           lo[2] = { 0, 0 }, hi[2] = { SIDE - 1, SIDE - 1 }, ld = SIDE;
    double        sum = 0;

    GA_Sync();
    NGA_Get(array, lo, hi, copy, &ld);
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++)
            sum += copy[i][j] * (1 + (i * 7 + j * 13) % 29);
    }
    GA_Sync();
    if (me == 0)
        printf("%s %.0f\n", what, sum);
}

/* Each rank puts some rows; every rank adds to a patch in the middle. */
static void put_get_acc(int array)
{
    double row[SIDE], patch[5][5], one = 1, two = 2;
    int    ld = SIDE, small = 5;

    for (int i = me; i < SIDE; i += n_ranks) {
        int lo[2] = { i, 0 }, hi[2] = { i, SIDE - 1 };

        for (int j = 0; j < SIDE; j++)
            row[j] = value(i, j);
        NGA_Put(array, lo, hi, row, &ld);
    }
    GA_Sync();
    for (int i = 0; i < 25; i++)
        patch[i / 5][i % 5] = i + me;
    for (int times = 0; times < 10; times++) {
        int lo[2] = { 15, 16 }, hi[2] = { 19, 20 };

        NGA_Acc(array, lo, hi, patch, &small, times % 2 ? &one : &two);
    }
    print_sum("put_acc", array);
}

static void scatter_gather(int array)
{
    enum { MANY = 40 };
    double values[MANY], back[MANY];
    int    places[MANY][2], *pointers[MANY];

    for (int i = 0; i < MANY; i++) {
        int k = i * n_ranks + me;

        places[i][0] = (k * 5 + k / SIDE) % SIDE;
        places[i][1] = (k * 11) % SIDE;
        pointers[i] = places[i];
        values[i] = value(places[i][0], places[i][1]) + 3; /* the same from each rank that hits the element */
    }
    GA_Sync();
    NGA_Scatter(array, values, pointers, MANY);
    GA_Sync();
    memset(back, 0, sizeof back);
    NGA_Gather(array, back, pointers, MANY);
    for (int i = 0; i < MANY; i++)
        MUST(back[i] == values[i]);
    GA_Sync();
    {
        double two = 2;

        NGA_Scatter_acc(array, values, pointers, MANY, &two);
    }
    print_sum("scatter", array);
}

/* Check that two patches are equal. */
static void check_same(int a, int *alo, int *ahi, int b, int *blo, int *bhi)
{
    static double x[SIDE][SIDE], y[SIDE][SIDE];
    int           ld = SIDE;

    GA_Sync();
    NGA_Get(a, alo, ahi, x, &ld);
    NGA_Get(b, blo, bhi, y, &ld);
    for (int i = 0; i <= ahi[0] - alo[0]; i++) {
        for (int j = 0; j <= ahi[1] - alo[1]; j++)
            MUST(x[i][j] == y[i][j]);
    }
    GA_Sync();
}

static void patches_and_multiply(int a)
{
    int    b = GA_Duplicate(a, "b"), c = GA_Duplicate(a, "c");
    int    alo[2] = { 1, 2 }, ahi[2] = { 20, 30 }, blo[2] = { 5, 3 }, bhi[2] = { 24, 31 };
    double one = 1, three = 3;

    GA_Zero(b);
    GA_Zero(c);
    NGA_Copy_patch('n', a, alo, ahi, b, blo, bhi);
    check_same(a, alo, ahi, b, blo, bhi);
    print_sum("copy_patch", b);
    GA_Scale(b, &three);
    GA_Add(&one, a, &three, b, c);
    print_sum("add", c);
    GA_Dgemm('n', 't', SIDE, SIDE, SIDE, 1.0, a, b, 0.0, c);
    print_sum("dgemm", c);
    GA_Transpose(a, b);
    print_sum("transpose", b);
    GA_Symmetrize(b);
    {
        double dot = GA_Ddot(a, b), most;
        int    where[2];

        NGA_Select_elem(c, "max", &most, where);
        if (me == 0)
            printf("dot %.0f most %.0f at %d %d\n", dot, most, where[0], where[1]);
    }
    GA_Destroy(b);
    GA_Destroy(c);
}

static void ghosts(void)
{
    int    dims[2] = { SIDE, SIDE }, width[2] = { 2, 1 }, lo[2], hi[2], ld[2];
    int    array = NGA_Create_ghosts(C_DBL, 2, dims, width, "ghosts", NULL);
    double sum = 0, *data;
    int    ghost_dims[2];

    MUST(array != 0);
    NGA_Distribution(array, me, lo, hi);
    if (lo[0] >= 0) {
        NGA_Access(array, lo, hi, &data, ld);
        for (int i = 0; i <= hi[0] - lo[0]; i++) {
            for (int j = 0; j <= hi[1] - lo[1]; j++)
                data[i * ld[0] + j] = value(lo[0] + i, lo[1] + j);
        }
        NGA_Release_update(array, lo, hi);
    }
    GA_Sync();
    GA_Update_ghosts(array);
    NGA_Access_ghosts(array, ghost_dims, &data, ld);
    for (int i = 0; lo[0] >= 0 && i < ghost_dims[0]; i++) {
        for (int j = 0; j < ghost_dims[1]; j++) {
            int x = (lo[0] - width[0] + i + SIDE) % SIDE, y = (lo[1] - width[1] + j + SIDE) % SIDE;

            MUST(data[i * ld[0] + j] == value(x, y));
            sum += data[i * ld[0] + j];
        }
    }
    GA_Sync();
    GA_Dgop(&sum, 1, "+");
    if (me == 0)
        printf("ghosts %.0f\n", sum);
    GA_Destroy(array);
}

/* Check that the copy of this domain is the array, which every domain has in source, times a factor. */
static void check_copy(int copy, double source[SIDE][SIDE], double factor)
{
    static double now[SIDE][SIDE];
    int           lo[2] = { 0, 0 }, hi[2] = { SIDE - 1, SIDE - 1 }, ld = SIDE;

    memset(now, 0, sizeof now);
    NGA_Get(copy, lo, hi, now, &ld);
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++)
            MUST(now[i][j] == factor * source[i][j]);
    }
    GA_Sync();
}

/* Return whether the domains have equal numbers of ranks. Otherwise Global Arrays merges mirrored arrays wrongly, with
 * any ARMCI, also when it copies a distributed array to a mirrored one: it adds what all ranks have, although the parts
 * of ranks in different domains are not the same ones. */
static int domains_are_equal(void)
{
    int equal = 1;

    for (int i = 1; i < GA_Cluster_nnodes(); i++)
        equal = equal && GA_Cluster_nprocs(i) == GA_Cluster_nprocs(0);
    return equal;
}

/* A mirrored array has a copy in each domain. A merge adds the copies and gives each domain the sum. With one domain
 * only, the array is an ordinary one. */
static void mirrored(int array)
{
    static double source[SIDE][SIDE];
    int           lo[2] = { 0, 0 }, hi[2] = { SIDE - 1, SIDE - 1 }, ld = SIDE;
    int           dims[2] = { SIDE, SIDE }, group = GA_Pgroup_get_mirror(), mine = GA_Cluster_nodeid() + 1;
    int           copy = GA_Create_handle(), domains = GA_Cluster_nnodes();
    double        factor = mine;

    GA_Set_data(copy, 2, dims, C_DBL);
    GA_Set_pgroup(copy, group);
    MUST(GA_Allocate(copy));
    GA_Zero(copy);
    GA_Copy(array, copy);
    GA_Sync();
    NGA_Get(array, lo, hi, source, &ld);
    check_copy(copy, source, 1);
    MUST(GA_Is_mirrored(copy) == (domains > 1));
    GA_Scale(copy, &factor); /* each domain has its own multiple of the array */
    GA_Sync();
    check_copy(copy, source, mine);
    GA_Merge_mirrored(copy);
    check_copy(copy, source, domains * (domains + 1) / 2);
    GA_Destroy(copy);
}

static void groups(void)
{
    int  half[64], n = 0, dims[1] = { 1000 }, group, array = 0;
    long total = 0;

    for (int i = me % 2; i < n_ranks; i += 2)
        half[n++] = i;
    group = GA_Pgroup_create(half, n);
    /* One group after the other: otherwise both arrays sometimes get the same memory with Debian's ARMCI, because Open
     * MPI uses the same file in /dev/shm for two windows that are made at the same time. */
    for (int turn = 0; turn < 2; turn++) {
        if (me % 2 == turn)
            array = NGA_Create_config(C_LONG, 1, dims, "in a group", NULL, group);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MUST(array != 0);
    GA_Zero(array);
    GA_Pgroup_sync(group);
    for (int i = 0; i < 20; i++) {
        int at = i * 3;

        total += NGA_Read_inc(array, &at, 1 + me % 2);
    }
    GA_Pgroup_sync(group);
    GA_Pgroup_lgop(group, &total, 1, "+");
    {
        int root = GA_Pgroup_nodeid(group) == 0, seen = me;

        GA_Pgroup_brdcst(group, &seen, sizeof seen, 0);
        MUST(seen == half[0] && (!root || seen == me));
    }
    {
        long totals[2] = { me == 0 ? total : 0, me == 1 ? total : 0 };

        GA_Lgop(totals, 2, "+");
        if (me == 0)
            printf("groups %ld %ld\n", totals[0], totals[1]);
    }
    GA_Destroy(array);
    GA_Pgroup_destroy(group);
}

static void counters_and_locks(void)
{
    int  dims[1] = { 4 }, counter = NGA_Create(C_LONG, 1, dims, "counter", NULL), zero = 0;
    long taken = 0, sum = 0;

    GA_Zero(counter);
    MUST(GA_Create_mutexes(2));
    GA_Sync();
    for (long task; (task = NGA_Read_inc(counter, &zero, 1)) < 500;) {
        int  lo = 1, hi = 1, ld = 1;
        long now;

        taken++;
        sum += task;
        GA_Lock(1);
        GA_Init_fence();
        NGA_Get(counter, &lo, &hi, &now, &ld);
        now += task;
        NGA_Put(counter, &lo, &hi, &now, &ld);
        GA_Fence();
        GA_Unlock(1);
    }
    GA_Sync();
    {
        int  lo = 1, hi = 1, ld = 1;
        long now;

        NGA_Get(counter, &lo, &hi, &now, &ld);
        GA_Lgop(&taken, 1, "+");
        GA_Lgop(&sum, 1, "+");
        if (me == 0)
            printf("tasks %ld sum %ld locked %ld\n", taken, sum, now);
    }
    GA_Sync();
    GA_Destroy_mutexes();
    GA_Destroy(counter);
}

static void nonblocking(int array)
{
    double row[3][SIDE], back[3][SIDE];
    int    ld = SIDE;

    for (int k = 0; k < 3; k++) {
        ga_nbhdl_t handle;
        int        i = (me * 3 + k) % SIDE, lo[2] = { i, 0 }, hi[2] = { i, SIDE - 1 };

        for (int j = 0; j < SIDE; j++)
            row[k][j] = value(i, j) - 5;
        NGA_NbPut(array, lo, hi, row[k], &ld, &handle);
        NGA_NbWait(&handle);
    }
    GA_Sync();
    for (int k = 0; k < 3; k++) {
        ga_nbhdl_t handle;
        int        i = (me * 3 + k) % SIDE, lo[2] = { i, 0 }, hi[2] = { i, SIDE - 1 };

        NGA_NbGet(array, lo, hi, back[k], &ld, &handle);
        NGA_NbWait(&handle);
    }
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < SIDE; j++)
            MUST(back[k][j] == row[k][j]);
    }
    print_sum("nonblocking", array);
}

int main(int argc, char **argv)
{
    int array;

    MPI_Init(&argc, &argv);
    GA_Initialize();
    MUST(MA_init(C_DBL, 200000, 200000));
    me = GA_Nodeid();
    n_ranks = GA_Nnodes();
    array = new_array("a");
    put_get_acc(array);
    scatter_gather(array);
    patches_and_multiply(array);
    ghosts();
    if (domains_are_equal())
        mirrored(array);
    groups();
    counters_and_locks();
    nonblocking(array);
    GA_Destroy(array);
    if (me == 0)
        printf("done\n");
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
