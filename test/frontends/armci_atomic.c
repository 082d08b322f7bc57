/* armci_atomic.c: ARMCI's accumulates, read-modify-write operations, mutexes and notifications, by all ranks at once.
 *
 * ranks: 1 2 3 4 8
 * hosts: a:2,b:2 a:1,b:1 a:2,b:1
 */
#include "armci_test.h"

enum { MANY = 60 };

static void **memory;

/* All ranks add the same array, twice, scaled by 3, to the same place; the result is exact. */
#define CHECK_ACC(type, name)                                                                \
    do {                                                                                     \
        type scale[2] = { 3, 0 }, source[8], result[8];                                      \
        memset(memory[me], 0, 4096);                                                         \
        ARMCI_Barrier();                                                                     \
        for (int i = 0; i < 8; i++)                                                          \
            source[i] = (type)(i + 1);                                                       \
        MUST(ARMCI_Acc(name, scale, source, memory[0], (int)sizeof source, 0) == 0);         \
        MUST(ARMCI_NbAcc(name, scale, source, memory[0], (int)sizeof source, 0, NULL) == 0); \
        MUST(ARMCI_WaitAll() == 0);                                                          \
        ARMCI_Barrier();                                                                     \
        MUST(ARMCI_Get(memory[0], result, (int)sizeof result, 0) == 0);                      \
        for (int i = 0; i < 8; i++)                                                          \
            MUST(result[i] == (type)(6 * n * (i + 1)));                                      \
        ARMCI_Barrier();                                                                     \
    } while (0)

static void check_acc_shapes(void)
{
    double       one = 1, two = 2, box[3][4], result[8][8];
    int          dense[1] = { 32 }, wide[1] = { 64 }, count[2] = { 32, 3 };
    void        *from[12], *to[12];
    armci_giov_t list = { from, to, 8, 12 };
    armci_hdl_t  handle;
    int          last = n - 1;

    ARMCI_INIT_HANDLE(&handle);
    memset(memory[me], 0, 4096);
    ARMCI_Barrier();
    for (int i = 0; i < 12; i++) {
        box[i / 4][i % 4] = i + 1;
        from[i] = &box[i / 4][i % 4];
        to[i] = (double *)memory[last] + (i / 4) * 8 + i % 4;
    }
    MUST(ARMCI_AccS(ARMCI_ACC_DBL, &one, box, dense, memory[last], wide, count, 1, last) == 0);
    MUST(ARMCI_NbAccS(ARMCI_ACC_DBL, &two, box, dense, memory[last], wide, count, 1, last, &handle) == 0);
    MUST(ARMCI_Wait(&handle) == 0);
    MUST(ARMCI_AccV(ARMCI_ACC_DBL, &one, &list, 1, last) == 0);
    MUST(ARMCI_NbAccV(ARMCI_ACC_DBL, &two, &list, 1, last, &handle) == 0);
    MUST(ARMCI_Wait(&handle) == 0);
    ARMCI_Barrier();
    MUST(ARMCI_Get(memory[last], result, (int)sizeof result, last) == 0);
    for (int i = 0; i < 12; i++)
        MUST(result[i / 4][i % 4] == 6.0 * n * (i + 1));
    MUST(result[0][4] == 0 && result[2][5] == 0);
    ARMCI_Barrier();
}

/* All ranks add to elements that are not aligned, by all calls: 3 rows of 4 numbers, at an odd address, with an odd
 * stride, so that some rows are aligned. A box without rows changes nothing. */
#define CHECK_ODD(type, name)                                                                  \
    do {                                                                                       \
        type         one[2] = { 1, 0 }, two[2] = { 2, 0 }, source[3][4], result[4];            \
        int          dense = (int)sizeof source[0], wide = dense + 3, count[2] = { dense, 3 }; \
        char        *place = (char *)memory[0] + 1;                                            \
        void        *from[3] = { source[0], source[1], source[2] };                            \
        void        *to[3] = { place, place + wide, place + 2 * wide };                        \
        armci_giov_t list = { from, to, dense, 3 };                                            \
        memset(memory[me], 0, 4096);                                                           \
        for (int i = 0; i < 12; i++)                                                           \
            source[i / 4][i % 4] = (type)(i + 1);                                              \
        ARMCI_Barrier();                                                                       \
        for (int round = 0; round < 10; round++) {                                             \
            MUST(ARMCI_AccS(name, one, source, &dense, place, &wide, count, 1, 0) == 0);       \
            MUST(ARMCI_NbAccV(name, two, &list, 1, 0, NULL) == 0);                             \
            MUST(ARMCI_Acc(name, two, source[1], place + wide, dense, 0) == 0);                \
        }                                                                                      \
        count[1] = 0;                                                                          \
        MUST(ARMCI_AccS(name, one, source, &dense, place, &wide, count, 1, 0) == 0);           \
        MUST(ARMCI_WaitAll() == 0);                                                            \
        ARMCI_Barrier();                                                                       \
        for (int row = 0; row < 3; row++) {                                                    \
            MUST(ARMCI_Get(place + row * wide, result, dense, 0) == 0);                        \
            for (int i = 0; i < 4; i++)                                                        \
                MUST(result[i] == (type)(10 * n * (row == 1 ? 5 : 3)) * source[row][i]);       \
        }                                                                                      \
        MUST((unsigned)ARMCI_GetValueInt(memory[0], 0) << 24 == 0);                            \
        ARMCI_Barrier();                                                                       \
    } while (0)

/* Each rank takes numbers from counters; every number is taken once. */
static void check_counters(void)
{
    long sum = 0, wide, expected = 0;
    int  narrow, total = 0;

    memset(memory[me], 0, 64);
    ARMCI_Barrier();
    for (int i = 0; i < MANY; i++) {
        MUST(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &wide, memory[0], 1, 0) == 0);
        sum += wide;
        MUST(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &narrow, (char *)memory[n - 1] + 8, 2, n - 1) == 0);
        total += narrow / 2;
    }
    armci_msg_lgop(&sum, 1, "+");
    armci_msg_igop(&total, 1, "+");
    for (long i = 0; i < (long)MANY * n; i++)
        expected += i;
    MUST(sum == expected && total == expected);
    wide = me + 1; /* each number that is swapped in comes out once, or remains */
    narrow = me + 1;
    MUST(ARMCI_Rmw(ARMCI_SWAP_LONG, &wide, (char *)memory[0] + 16, 0, 0) == 0);
    MUST(ARMCI_Rmw(ARMCI_SWAP, &narrow, (char *)memory[0] + 24, 0, 0) == 0);
    ARMCI_Barrier();
    wide += me == 0 ? ARMCI_GetValueLong((char *)memory[0] + 16, 0) : 0;
    narrow += me == 0 ? ARMCI_GetValueInt((char *)memory[0] + 24, 0) : 0;
    armci_msg_lgop(&wide, 1, "+");
    armci_msg_igop(&narrow, 1, "+");
    MUST(wide == (long)n * (n + 1) / 2 && narrow == n * (n + 1) / 2);
}

/* A counter that only a mutex protects; with the second set, mutexes of another number at each rank. */
static void check_mutexes(void)
{
    int                last = n - 1;
    ARMCI_Group        world;
    armcix_mutex_hdl_t set;

    memset(memory[me], 0, 64);
    MUST(ARMCI_Create_mutexes(2) == 0);
    ARMCI_Group_get_world(&world);
    set = ARMCIX_Create_mutexes_hdl(me == last ? 3 : 0, &world);
    MUST(set != NULL);
    ARMCI_Barrier();
    for (int i = 0; i < MANY; i++) {
        long value;

        if (i % 2) {
            ARMCI_Lock(1, last);
        } else {
            ARMCI_Lock(1, last);
            while (ARMCIX_Trylock_hdl(set, 2, last) != 0)
                ARMCIX_Progress();
        }
        value = ARMCI_GetValueLong(memory[0], 0) + 1;
        MUST(ARMCI_PutValueLong(value, memory[0], 0) == 0);
        if (i % 2 == 0)
            ARMCIX_Unlock_hdl(set, 2, last);
        ARMCI_Unlock(1, last);
    }
    ARMCIX_Lock_hdl(set, 0, last);
    ARMCIX_Unlock_hdl(set, 0, last);
    ARMCI_Barrier();
    MUST(ARMCI_GetValueLong(memory[0], 0) == (long)MANY * n);
    ARMCI_Barrier();
    MUST(ARMCIX_Destroy_mutexes_hdl(set) == 0);
    MUST(ARMCI_Destroy_mutexes() == 0);
}

/* A notification arrives behind the data that was put before it. */
static void check_notifications(void)
{
    int right = (me + 1) % n, left = (me + n - 1) % n, value;

    for (long round = 1; round <= 5; round++) {
        MUST(ARMCI_Put(&round, (char *)memory[right] + 128, sizeof round, right) == 0);
        MUST(armci_notify(right) == 0);
        MUST(armci_notify_wait(left, &value) >= round && value == round);
        MUST(*(long *)((char *)memory[me] + 128) >= round);
        ARMCI_Barrier();
    }
}

int main(void)
{
    start();
    memory = allocate(4096);
    CHECK_ACC(int, ARMCI_ACC_INT);
    CHECK_ACC(long, ARMCI_ACC_LNG);
    CHECK_ACC(float, ARMCI_ACC_FLT);
    CHECK_ACC(double, ARMCI_ACC_DBL);
    CHECK_ACC(float, ARMCI_ACC_CPL);
    CHECK_ACC(double, ARMCI_ACC_DCP);
    check_acc_shapes();
    CHECK_ODD(int, ARMCI_ACC_INT);
    CHECK_ODD(long, ARMCI_ACC_LNG);
    CHECK_ODD(float, ARMCI_ACC_FLT);
    CHECK_ODD(double, ARMCI_ACC_DBL);
    CHECK_ODD(float, ARMCI_ACC_CPL);
    CHECK_ODD(double, ARMCI_ACC_DCP);
    check_counters();
    check_mutexes();
    check_notifications();
    release(memory);
    finish();
    return 0;
}
