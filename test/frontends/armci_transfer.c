/* armci_transfer.c: ARMCI's puts and gets: contiguous, strided, vector, of values and with a flag; blocking, with a
 * handle, with an aggregate handle and without a handle.
 *
 * ranks: 1 2 3 4 8
 * hosts: a:2,b:2 a:1,b:1 a:2,b:1
 */
#include "armci_test.h"

enum { ROWS = 12, COLUMNS = 20, CELLS = ROWS * COLUMNS };

static double **grid; /* each rank has ROWS x COLUMNS numbers */

static double number(int rank, int cell, int round)
{
    return rank * 100000 + round * 1000 + cell;
}

static int right(void)
{
    return (me + 1) % n;
}

static int left(void)
{
    return (me + n - 1) % n;
}

/* Put a whole grid to the right neighbour, by one of several calls, and check what the left one has put here. */
static void check_contiguous(int way)
{
    double      mine[CELLS], back[CELLS];
    armci_hdl_t handle, both;

    for (int i = 0; i < CELLS; i++)
        mine[i] = number(me, i, way);
    ARMCI_INIT_HANDLE(&handle);
    ARMCI_INIT_HANDLE(&both);
    ARMCI_SET_AGGREGATE_HANDLE(&both);
    switch (way) {
    case 0: MUST(ARMCI_Put(mine, grid[right()], (int)sizeof mine, right()) == 0); break;
    case 1:
        MUST(ARMCI_NbPut(mine, grid[right()], (int)sizeof mine, right(), &handle) == 0);
        MUST(ARMCI_Wait(&handle) == 0);
        break;
    case 2:
        for (int i = 0; i < CELLS; i += COLUMNS)
            MUST(ARMCI_NbPut(mine + i, grid[right()] + i, COLUMNS * 8, right(), &both) == 0);
        MUST(ARMCI_Wait(&both) == 0 && ARMCI_Test(&both) == 0);
        ARMCI_UNSET_AGGREGATE_HANDLE(&both);
        break;
    case 3:
        MUST(ARMCI_NbPut(mine, grid[right()], (int)sizeof mine, right(), NULL) == 0);
        MUST(ARMCI_WaitProc(right()) == 0);
        break;
    case 4:
        MUST(ARMCI_NbPut(mine, grid[right()], (int)sizeof mine, right(), &handle) == 0);
        while (ARMCI_Test(&handle) != 0)
            ARMCIX_Progress();
        break;
    default:
        for (int i = 0; i < CELLS; i++)
            MUST(ARMCI_PutValueDouble(mine[i], grid[right()] + i, right()) == 0);
        break;
    }
    memset(mine, 0, sizeof mine); /* the put has read its source */
    ARMCI_Barrier();
    for (int i = 0; i < CELLS; i++)
        MUST(grid[me][i] == number(left(), i, way));
    if (way % 2 == 0) {
        MUST(ARMCI_Get(grid[right()], back, (int)sizeof back, right()) == 0);
    } else {
        MUST(ARMCI_NbGet(grid[right()], back, (int)sizeof back, right(), way == 1 ? &handle : NULL) == 0);
        MUST(way == 1 ? ARMCI_Wait(&handle) == 0 : ARMCI_WaitAll() == 0);
    }
    for (int i = 0; i < CELLS; i++)
        MUST(back[i] == number(me, i, way));
    ARMCI_Barrier();
}

/* Put a box of 5 x 7 numbers from a dense array into a grid, and get it back; three levels as a box in a cube. */
static void check_strided(int way)
{
    double      box[5][7], back[5][7];
    int         dense[1] = { 7 * 8 }, wide[1] = { COLUMNS * 8 }, count[2] = { 7 * 8, 5 };
    double     *there = grid[right()] + 3 * COLUMNS + 4;
    armci_hdl_t handle;

    ARMCI_INIT_HANDLE(&handle);
    memset(grid[me], 0, CELLS * sizeof(double));
    ARMCI_Barrier();
    for (int i = 0; i < 35; i++)
        box[i / 7][i % 7] = number(me, i, way);
    if (way == 0) {
        MUST(ARMCI_PutS(box, dense, there, wide, count, 1, right()) == 0);
    } else {
        MUST(ARMCI_NbPutS(box, dense, there, wide, count, 1, right(), way == 1 ? &handle : NULL) == 0);
        MUST(way == 1 ? ARMCI_Wait(&handle) == 0 : ARMCI_WaitAll() == 0);
    }
    ARMCI_Barrier();
    for (int i = 0; i < CELLS; i++) {
        int row = i / COLUMNS - 3, column = i % COLUMNS - 4, in = row >= 0 && row < 5 && column >= 0 && column < 7;

        MUST(grid[me][i] == (in ? number(left(), row * 7 + column, way) : 0));
    }
    memset(back, 0, sizeof back);
    if (way == 0) {
        MUST(ARMCI_GetS(there, wide, back, dense, count, 1, right()) == 0);
    } else {
        MUST(ARMCI_NbGetS(there, wide, back, dense, count, 1, right(), &handle) == 0);
        MUST(ARMCI_Wait(&handle) == 0);
    }
    MUST(memcmp(box, back, sizeof box) == 0);
    ARMCI_Barrier();
}

/* Numbers of 8 bytes in three levels: every second column, every third row, in two planes. */
static void check_levels(void)
{
    double from[2][2][3], back[2][2][3];
    int    dense[3] = { 8, 24, 48 }, sparse[3] = { 16, 3 * COLUMNS * 8, ROWS / 2 * COLUMNS * 8 },
        count[4] = { 8, 3, 2, 2 };

    for (int i = 0; i < 12; i++)
        from[i / 6][i / 3 % 2][i % 3] = number(me, i, 7);
    MUST(ARMCI_PutS(from, dense, grid[right()], sparse, count, 3, right()) == 0);
    ARMCI_Barrier();
    for (int i = 0; i < 12; i++)
        MUST(grid[me][i / 6 * (ROWS / 2 * COLUMNS) + i / 3 % 2 * 3 * COLUMNS + i % 3 * 2] == number(left(), i, 7));
    MUST(ARMCI_GetS(grid[right()], sparse, back, dense, count, 3, right()) == 0);
    MUST(memcmp(from, back, sizeof from) == 0);
    ARMCI_Barrier();
}

static void check_vector(int way)
{
    double       values[10], back[10];
    void        *here[10], *there[10], *returned[10];
    armci_giov_t put[2] = { { here, there, 8, 6 }, { here + 6, there + 6, 8, 4 } };
    armci_giov_t get = { there, returned, 8, 10 };
    armci_hdl_t  handle;

    ARMCI_INIT_HANDLE(&handle);
    for (int i = 0; i < 10; i++) {
        values[i] = number(me, i, 20 + way);
        here[i] = &values[i];
        there[i] = grid[right()] + (i * 23) % CELLS;
        returned[i] = &back[i];
    }
    if (way == 0) {
        MUST(ARMCI_PutV(put, 2, right()) == 0);
    } else {
        MUST(ARMCI_NbPutV(put, 2, right(), &handle) == 0);
        MUST(ARMCI_Wait(&handle) == 0);
    }
    ARMCI_Barrier();
    for (int i = 0; i < 10; i++)
        MUST(grid[me][(i * 23) % CELLS] == number(left(), i, 20 + way));
    if (way == 0) {
        MUST(ARMCI_GetV(&get, 1, right()) == 0);
    } else {
        MUST(ARMCI_NbGetV(&get, 1, right(), way == 1 ? &handle : NULL) == 0);
        MUST(way == 1 ? ARMCI_Wait(&handle) == 0 : ARMCI_WaitAll() == 0);
    }
    MUST(memcmp(values, back, sizeof back) == 0);
    ARMCI_Barrier();
}

/* Values of each type, and a put with a flag, for which the owner spins. Global Arrays does so in plain C; the thread
 * sanitizer needs to be told that the load synchronizes. */
static void check_values(void)
{
    armci_hdl_t   handle;
    volatile int *flag = (volatile int *)(grid[me] + CELLS - 1);
    double        data[3] = { 1.5 + me, 2.5, 3.5 };
    int           stride[1] = { 8 }, apart[1] = { 16 }, count[2] = { 8, 3 };

    ARMCI_INIT_HANDLE(&handle);
    memset(grid[me], 0, CELLS * sizeof(double));
    ARMCI_Barrier();
    MUST(ARMCI_PutValueInt(me + 7, grid[right()], right()) == 0);
    MUST(ARMCI_PutValueLong(me + 8L, grid[right()] + 1, right()) == 0);
    MUST(ARMCI_PutValueFloat((float)me + 0.5f, grid[right()] + 2, right()) == 0);
    MUST(ARMCI_NbPutValueInt(me + 9, grid[right()] + 3, right(), &handle) == 0 && ARMCI_Wait(&handle) == 0);
    MUST(ARMCI_NbPutValueLong(me + 10L, grid[right()] + 4, right(), NULL) == 0);
    MUST(ARMCI_NbPutValueFloat((float)me, grid[right()] + 5, right(), NULL) == 0);
    MUST(ARMCI_NbPutValueDouble(me * 2.0, grid[right()] + 6, right(), NULL) == 0);
    MUST(ARMCI_WaitAll() == 0);
    ARMCI_Fence(right());
    MUST(ARMCI_GetValueInt(grid[right()], right()) == me + 7 &&
         ARMCI_GetValueLong(grid[right()] + 1, right()) == me + 8);
    MUST(ARMCI_GetValueFloat(grid[right()] + 2, right()) == (float)me + 0.5f);
    MUST(ARMCI_GetValueInt(grid[right()] + 3, right()) == me + 9 &&
         ARMCI_GetValueLong(grid[right()] + 4, right()) == me + 10);
    MUST(ARMCI_GetValueDouble(grid[right()] + 6, right()) == me * 2.0);
    ARMCI_Barrier();
    MUST(ARMCI_PutS_flag(data, stride, grid[right()] + 20, apart, count, 1, (int *)(grid[right()] + CELLS - 1), 5 + me,
                         right()) == 0);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 5 + left())
        ARMCIX_Progress();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    MUST(grid[me][20] == 1.5 + left() && grid[me][22] == 2.5 && grid[me][24] == 3.5);
    ARMCI_Barrier();
    MUST(ARMCI_Put_flag(data, grid[right()] + 30, 24, (int *)(grid[right()] + CELLS - 1), 77, right()) == 0);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 77)
        ARMCIX_Progress();
    MUST(grid[me][30] == 1.5 + left());
    ARMCI_Barrier();
    MUST(ARMCI_PutS_flag_dir(data, stride, grid[right()] + 40, apart, count, 1, (int *)(grid[right()] + CELLS - 1), 78,
                             right()) == 0);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 78)
        ARMCIX_Progress();
    ARMCI_Barrier();
}

/* Operations of one rank to another keep their order: the last of many puts to one word wins. */
static void check_order(void)
{
    for (long i = 1; i <= 200; i++)
        MUST(ARMCI_Put(&i, grid[right()] + 50, sizeof i, right()) == 0);
    MUST(ARMCI_GetValueLong(grid[right()] + 50, right()) == 200);
    ARMCI_AllFence();
    ARMCI_Barrier();
}

/* Packing, and the iterator over segments. */
static void check_local(void)
{
    char          box[6][10], dense[12], back[6][10];
    int           stride[1] = { 10 }, count[2] = { 4, 3 };
    stride_info_t info;
    char         *source = ARMCI_Malloc_local(60);

    MUST(source != NULL);
    for (int i = 0; i < 60; i++)
        source[i] = (char)i;
    ARMCI_Copy(source, box, 60);
    memset(back, 0, sizeof back);
    armci_write_strided(&box[1][2], 1, stride, count, dense);
    armci_read_strided(&back[1][2], 1, stride, count, dense);
    armci_stride_info_init(&info, &back[1][2], 1, stride, count);
    MUST(armci_stride_info_size(&info) == 3 && armci_stride_info_seg_size(&info) == 4);
    for (; armci_stride_info_has_more(&info); armci_stride_info_next(&info)) {
        int row = armci_stride_info_pos(&info);

        MUST(armci_stride_info_seg_ptr(&info) == &back[1 + row][2]);
        MUST(memcmp(armci_stride_info_seg_ptr(&info), &box[1 + row][2], 4) == 0);
        MUST(memcmp(dense + 4 * row, &box[1 + row][2], 4) == 0 && back[1 + row][6] == 0);
    }
    armci_stride_info_destroy(&info);
    MUST(ARMCI_Free_local(source) == 0);
}

int main(void)
{
    start();
    grid = (double **)allocate(CELLS * sizeof(double));
    for (int way = 0; way < 6; way++)
        check_contiguous(way);
    for (int way = 0; way < 3; way++)
        check_strided(way);
    check_levels();
    for (int way = 0; way < 3; way++)
        check_vector(way);
    check_values();
    check_order();
    check_local();
    ARMCI_Access_begin(grid[me]);
    ARMCI_Access_end(grid[me]);
    release((void **)grid);
    finish();
    return 0;
}
