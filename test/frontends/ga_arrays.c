/* ga_arrays.c: more of Global Arrays than ga_programs.c: distributions (irregular, block-cyclic, restricted to some
 * ranks), element types, strided and periodic access, selections, prefix sums, patches, linear equations, groups by
 * splitting, and many arrays at once. test/frontends/ga.sh builds the program once with Debian's ARMCI and once with
 * Tern's; both must print the same lines. All values are small integers, so that no order of additions changes them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ga.h>
#include <macdecls.h>

enum { SIDE = 24 };

static int me, n_ranks;

static void must(int line, int holds)
{
    if (holds)
        return;
    fprintf(stderr, "ga_arrays: line %d failed at rank %d\n", line, me);
    GA_Error("a check failed", line);
}
#define MUST(condition) must(__LINE__, condition)

/* Print a sum of all elements of an array of doubles, in which each has its own weight. */
static void print_sum(const char *what, int array)
{
    static double copy[SIDE][SIDE];
    int           lo[2] = { 0, 0 }, hi[2] = { SIDE - 1, SIDE - 1 }, ld = SIDE;
    double        sum = 0;

    GA_Sync();
    NGA_Get(array, lo, hi, copy, &ld);
    for (int i = 0; i < SIDE * SIDE; i++)
        sum += copy[i / SIDE][i % SIDE] * (1 + i % 31);
    GA_Sync();
    if (me == 0)
        printf("%s %.0f\n", what, sum);
}

/* Each rank puts every n-th row, and adds a patch that crosses all distributions. */
static void fill(int array)
{
    double row[SIDE], patch[9][11], two = 2;
    int    ld = SIDE, narrow = 11, lo[2] = { 7, 6 }, hi[2] = { 15, 16 };

    for (int i = me; i < SIDE; i += n_ranks) {
        int first[2] = { i, 0 }, last[2] = { i, SIDE - 1 };

        for (int j = 0; j < SIDE; j++)
            row[j] = i * 50 + j;
        NGA_Put(array, first, last, row, &ld);
    }
    GA_Sync();
    for (int i = 0; i < 99; i++)
        patch[i / 11][i % 11] = i + me;
    NGA_Acc(array, lo, hi, patch, &narrow, &two);
    GA_Sync();
}

/* An array with each distribution. */
static void distributions(void)
{
    int dims[2] = { SIDE, SIDE }, block[2] = { 1, 1 }, map[2] = { 0, 0 }, cells[2] = { 5, 7 }, all[64], used, array;

    array = NGA_Create_irreg(C_DBL, 2, dims, "one owner", block, map); /* rank 0 has everything, the others nothing */
    MUST(array != 0);
    fill(array);
    print_sum("irregular", array);
    GA_Destroy(array);
    array = GA_Create_handle();
    GA_Set_data(array, 2, dims, C_DBL);
    GA_Set_block_cyclic(array, cells);
    MUST(GA_Allocate(array));
    fill(array);
    print_sum("block-cyclic", array);
    GA_Destroy(array);
    used = (n_ranks + 1) / 2;
    for (int i = 0; i < used; i++)
        all[i] = n_ranks - 1 - 2 * i; /* every second rank, from the last one */
    array = GA_Create_handle();
    GA_Set_data(array, 2, dims, C_DBL);
    GA_Set_restricted(array, all, used);
    MUST(GA_Allocate(array));
    fill(array);
    print_sum("restricted", array);
    GA_Destroy(array);
}

/* Arrays of another element type: fill, scaled accumulate by all ranks, dot product, selection. */
#define CHECK_TYPE(type, name, letter, format, dot)                      \
    do {                                                                 \
        int  size[1] = { 100 }, lo = 20, hi = 69, one = 1, place, array; \
        type add[50], scale = 3, best = 0;                               \
        array = NGA_Create(name, 1, size, "typed", NULL);                \
        MUST(array != 0);                                                \
        GA_Zero(array);                                                  \
        for (int i = 0; i < 50; i++)                                     \
            add[i] = (type)((i * 17 + 3) % 41);                          \
        GA_Sync();                                                       \
        NGA_Acc(array, &lo, &hi, add, &one, &scale);                     \
        GA_Sync();                                                       \
        NGA_Select_elem(array, "max", &best, &place);                    \
        if (me == 0)                                                     \
            printf("%s max " format " at %d\n", letter, best, place);    \
        best = (type)dot(array, array);                                  \
        if (me == 0)                                                     \
            printf("%s dot " format "\n", letter, best);                 \
        GA_Destroy(array);                                               \
    } while (0)

static void element_types(void)
{
    int           size[1] = { 30 }, lo = 0, hi = 29, one = 1, array;
    DoubleComplex add[30], scale = { 1, 2 }, sum;

    CHECK_TYPE(int, C_INT, "int", "%d", GA_Idot);
    CHECK_TYPE(long, C_LONG, "long", "%ld", GA_Ldot);
    CHECK_TYPE(float, C_FLOAT, "float", "%.0f", GA_Fdot);
    CHECK_TYPE(double, C_DBL, "double", "%.0f", GA_Ddot);
    array = NGA_Create(C_DCPL, 1, size, "complex", NULL);
    GA_Zero(array);
    for (int i = 0; i < 30; i++)
        add[i] = (DoubleComplex){ i, 30 - i };
    GA_Sync();
    NGA_Acc(array, &lo, &hi, add, &one, &scale);
    GA_Sync();
    sum = GA_Zdot(array, array);
    if (me == 0)
        printf("complex dot %.0f %.0f\n", sum.real, sum.imag);
    GA_Destroy(array);
}

/* Every second row and third column; sections that leave the array on one side and enter it on the other. */
static void sections(int array)
{
    double buf[12][8], two = 2;
    int lo[2] = { 0, 0 }, hi[2] = { 23, 23 }, skip[2] = { 2, 3 }, ld = 8, out_lo[2] = { 18, -4 }, out_hi[2] = { 26, 3 };

    for (int i = 0; i < 96; i++)
        buf[i / 8][i % 8] = i;
    if (me == 0)
        NGA_Strided_put(array, lo, hi, skip, buf, &ld);
    GA_Sync();
    NGA_Strided_acc(array, lo, hi, skip, buf, &ld, &two);
    GA_Sync();
    memset(buf, 0, sizeof buf);
    NGA_Strided_get(array, lo, hi, skip, buf, &ld);
    MUST(buf[3][5] == 29 * (1 + 2 * n_ranks));
    print_sum("strided", array);
    for (int i = 0; i < 96; i++)
        buf[i / 8][i % 8] = i + 1;
    if (me == n_ranks - 1)
        NGA_Periodic_put(array, out_lo, out_hi, buf, &ld);
    GA_Sync();
    NGA_Periodic_acc(array, out_lo, out_hi, buf, &ld, &two);
    GA_Sync();
    memset(buf, 0, sizeof buf);
    NGA_Periodic_get(array, out_lo, out_hi, buf, &ld);
    MUST(buf[8][7] == 72 * (1 + 2 * n_ranks));
    print_sum("periodic", array);
}

/* Whole arrays and patches: transpose, copy, add, elementwise maximum, norms. */
static void whole_arrays(int array)
{
    int other = GA_Duplicate(array, "other"), lo[2] = { 2, 3 }, hi[2] = { 12, 19 }, to[2] = { 1, 5 },
        end[2] = { 17, 15 };
    double one = 1, minus = -1, norm;

    GA_Transpose(array, other);
    print_sum("transpose", other);
    NGA_Copy_patch('t', array, lo, hi, other, to, end);
    print_sum("copy patch", other);
    GA_Add(&one, array, &minus, other, other);
    print_sum("difference", other);
    GA_Abs_value(other);
    GA_Elem_maximum(array, other, other);
    print_sum("maximum", other);
    GA_Norm1(other, &norm);
    if (me == 0)
        printf("norm %.0f\n", norm);
    GA_Norm_infinity(other, &norm);
    if (me == 0)
        printf("norm %.0f\n", norm);
    GA_Symmetrize(other);
    print_sum("twice the symmetric part", other);
    GA_Destroy(other);
}

/* Prefix sums within segments. */
static void prefix_sums(void)
{
    int  size[1] = { 64 }, lo = 0, hi = 63, one = 1, values, flags, sums, buf[64];
    long weighted = 0;

    values = NGA_Create(C_INT, 1, size, "values", NULL);
    flags = GA_Duplicate(values, "flags");
    sums = GA_Duplicate(values, "sums");
    GA_Zero(sums);
    for (int i = 0; i < 64; i++)
        buf[i] = i % 9;
    if (me == 0)
        NGA_Put(values, &lo, &hi, buf, &one);
    for (int i = 0; i < 64; i++)
        buf[i] = i % 10 == 0;
    if (me == 0)
        NGA_Put(flags, &lo, &hi, buf, &one);
    GA_Sync();
    GA_Scan_add(values, sums, flags, 0, 63, 0);
    GA_Sync();
    NGA_Get(sums, &lo, &hi, buf, &one);
    for (int i = 0; i < 64; i++)
        weighted += (long)buf[i] * (i + 1);
    if (me == 0)
        printf("scan %ld\n", weighted);
    GA_Sync();
    GA_Destroy(values);
    GA_Destroy(flags);
    GA_Destroy(sums);
}

/* Groups by splitting the world, with arrays, sums and broadcasts of their own. */
static void split_groups(void)
{
    int    group = GA_Pgroup_split_irreg(GA_Pgroup_get_world(), me % 3 == 0), dims[2] = { SIDE, SIDE }, array, old;
    double sum[2] = { 0, 0 }, dot;

    old = GA_Pgroup_get_default();
    GA_Pgroup_set_default(group);
    array = NGA_Create(C_DBL, 2, dims, "of the group", NULL);
    MUST(array != 0);
    dot = GA_Nnodes();
    GA_Fill(array, &dot);
    dot = GA_Ddot(array, array);
    GA_Destroy(array);
    GA_Pgroup_set_default(old);
    sum[me % 3 == 0] = dot;
    GA_Dgop(sum, 2, "+");
    if (me == 0)
        printf("split %.0f %.0f\n", sum[0], sum[1]);
    GA_Pgroup_destroy(group);
    GA_Sync();
}

/* Many arrays at once, which are destroyed in another order, with access through local pointers. */
static void many_arrays(void)
{
    enum { MANY = 40 };
    int  arrays[MANY];
    long sum = 0;

    for (int i = 0; i < MANY; i++) {
        int size[1] = { 10 + i };

        arrays[i] = NGA_Create(C_LONG, 1, size, "one of many", NULL);
        MUST(arrays[i] != 0);
        GA_Fill(arrays[i], &(long){ i });
    }
    for (int i = 0; i < MANY; i++) {
        int  k = i * 7 % MANY, lo, hi, ld = 1, place = 9 + k;
        long value, *mine;

        NGA_Distribution(arrays[k], me, &lo, &hi);
        if (lo <= hi && lo >= 0) {
            NGA_Access(arrays[k], &lo, &hi, &mine, &ld);
            for (int j = 0; j <= hi - lo; j++)
                mine[j] += lo + j;
            NGA_Release_update(arrays[k], &lo, &hi);
        }
        GA_Sync();
        NGA_Get(arrays[k], &place, &place, &value, &ld);
        sum += value * (k + 1);
        GA_Sync();
        (void)NGA_Read_inc(arrays[k], &place, 5);
        GA_Sync();
        NGA_Get(arrays[k], &place, &place, &value, &ld);
        MUST(value == k + place + 5 * n_ranks);
        GA_Sync();
        GA_Destroy(arrays[k]);
    }
    if (me == 0)
        printf("many %ld\n", sum);
}

int main(int argc, char **argv)
{
    int dims[2] = { SIDE, SIDE }, array;

    MPI_Init(&argc, &argv);
    GA_Initialize();
    MUST(MA_init(C_DBL, 200000, 200000));
    me = GA_Nodeid();
    n_ranks = GA_Nnodes();
    distributions();
    element_types();
    array = NGA_Create(C_DBL, 2, dims, "array", NULL);
    GA_Zero(array);
    fill(array);
    sections(array);
    whole_arrays(array);
    prefix_sums();
    split_groups();
    many_arrays();
    GA_Destroy(array);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
