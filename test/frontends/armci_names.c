/* armci_names.c: a program that is written like the test programs of ARMCI and ARMCI-MPI: it begins and ends by the
 * macros of mp3.h, iterates over boxes by iterator.h, sets the hints of armcix.h, and includes headers for the names in
 * them. Boxes may overlap themselves, unless Tern is a debug build, which refuses such boxes.
 *
 * ranks: 1 2 8
 */
#include "mp3.h"
#include "armci_test.h"
#include "armcip.h"
#include "iterator.h"
#include "parmci.h"

#ifndef TEST_DEBUG_LIBRARY /* built for an MPI */
#define TEST_DEBUG_LIBRARY 0
#endif

/* Copy a part of a matrix by two iterators. */
static void check_iterators(void)
{
    int          from[6][7], to[5][9], count[2] = { 3 * (int)sizeof(int), 4 };
    int          from_stride = sizeof from[0], to_stride = sizeof to[0], segments = 0;
    stride_itr_t source = armci_stride_itr_init(&from[1][2], 1, &from_stride, count);
    stride_itr_t target = armci_stride_itr_init(&to[1][5], 1, &to_stride, count);

    for (int i = 0; i < 6 * 7; i++)
        from[i / 7][i % 7] = i;
    memset(to, 0, sizeof to);
    MUST(source != NULL && target != NULL && armci_stride_itr_size(source) == 4 && armci_stride_itr_count(target) == 4);
    while (armci_stride_itr_has_more(source)) {
        MUST(armci_stride_itr_pos(source) == segments && armci_stride_itr_has_more(target));
        MUST(armci_stride_itr_seg_size(source) == 3 * (int)sizeof(int));
        MUST(armci_stride_itr_seg_off(target) == segments * to_stride);
        memcpy(armci_stride_itr_seg_ptr(target), armci_stride_itr_seg_ptr(source),
               (size_t)armci_stride_itr_seg_size(source));
        armci_stride_itr_next(source);
        armci_stride_itr_next(target);
        segments++;
    }
    MUST(segments == 4 && !armci_stride_itr_has_more(target));
    armci_stride_itr_destroy(&source);
    armci_stride_itr_destroy(&target);
    MUST(source == NULL && target == NULL);
    for (int i = 0; i < 4; i++)
        MUST(to[1 + i][5] == from[1 + i][2] && to[1 + i][7] == from[1 + i][4] && to[1 + i][8] == 0);
}

/* A program may remember how it uses memory. */
static void check_hints(void)
{
    void      **parts = allocate(64);
    ARMCI_Group world;

    ARMCI_Group_get_world(&world);
    MUST(ARMCIX_Mode_get(parts[me]) == ARMCIX_MODE_ALL);
    MUST(ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE | ARMCIX_MODE_NO_LOAD_STORE, parts[me], &world) == 0);
    MUST(ARMCIX_Mode_get((char *)parts[me] + 8) == (ARMCIX_MODE_CONFLICT_FREE | ARMCIX_MODE_NO_LOAD_STORE));
    MUST(ARMCIX_Mode_set(ARMCIX_MODE_ALL, parts[me], &world) == 0 && ARMCIX_Mode_get(parts[me]) == ARMCIX_MODE_ALL);
    release(parts);
}

/* The rows of a box may be longer than the stride, as in a benchmark of ARMCI-MPI. */
static void check_overlap(void)
{
    enum { ROW = 12, STRIDE = 8, ROWS = 5, BYTES = STRIDE * (ROWS - 1) + ROW };
    void **parts = allocate(8 * BYTES);
    long   out[BYTES], back[BYTES], one = 1;
    int    stride = STRIDE * (int)sizeof(long), count[2] = { ROW * (int)sizeof(long), ROWS };
    int    target = (me + 1) % n;

    for (int i = 0; i < BYTES; i++)
        out[i] = i;
    memset(parts[me], 0, sizeof out);
    ARMCI_Barrier();
    MUST(ARMCI_PutS(out, &stride, parts[target], &stride, count, 1, target) == 0);
    MUST(ARMCI_AccS(ARMCI_ACC_LNG, &one, out, &stride, parts[target], &stride, count, 1, target) == 0);
    memset(back, 0, sizeof back);
    MUST(ARMCI_GetS(parts[target], &stride, back, &stride, count, 1, target) == 0);
    for (int i = 0; i < BYTES; i++) {
        int rows = 0;

        for (int row = 0; row < ROWS; row++)
            rows += i >= row * STRIDE && i < row * STRIDE + ROW;
        MUST(back[i] == out[i] * (1 + rows));
    }
    release(parts);
}

/* Names that need only exist. */
static void check_declared(void)
{
    void (*volatile die)(const char *, int) = armci_die;
    void (*volatile die_with_two)(const char *, int, int) = armci_die2;
    int64_t wide = sizeof(ARMCI_Group);

    MUST(die != NULL && die_with_two != NULL && wide > 0 && PARMCI_Initialized());
#ifdef MPI_VERSION
    {
        int size;

        MPI_Type_size(ARMCII_MPI_SIZE_T, &size);
        MUST(size == (int)sizeof(armci_size_t));
    }
#endif
}

int main(int argc, char **argv)
{
    double begin;
    int    size;

    MP_INIT(argc, argv);
    MP_PROCS(&size);
    MP_MYID(&me);
    ARMCI_INIT(argc, argv);
    n = armci_msg_nproc();
    MUST(size == n && me == armci_msg_me());
    begin = MP_TIMER();
    check_iterators();
    check_hints();
    if (!TEST_DEBUG_LIBRARY)
        check_overlap();
    check_declared();
    MP_BARRIER();
    MUST(MP_TIMER() >= begin);
    MUST(ARMCI_Finalize() == 0);
    MP_FINALIZE();
    return 0;
}
