/* armci_mixed.c: uses that are permitted but rare: memory of this rank that ARMCI_Malloc has not allocated, empty
 * operations, handles that are reused, forgotten or completed by a fence, overlapping groups with memory and mutexes of
 * their own, frees in any order, lists across allocations, many types and operations of reductions, scopes of groups.
 *
 * ranks: 1 2 3 4 8
 * hosts: a:2,b:2 a:1,b:1 a:2,b:1
 * env: TERN_ARMCI_DOMAIN=rank
 */
#include "armci_test.h"

static void **memory;

/* The remote side of an operation of a rank with itself may be any memory. */
static void check_own_memory(void)
{
    long        *own = ARMCI_Malloc_local(64 * sizeof *own), there[8] = { 0 }, value = 5;
    int          dense[1] = { 8 }, sparse[1] = { 24 }, count[2] = { 8, 4 };
    void        *from[2] = { &value, &value }, *to[2] = { &there[5], &there[7] };
    armci_giov_t list = { from, to, 8, 2 };
    armci_hdl_t  handle;

    ARMCI_INIT_HANDLE(&handle);
    MUST(own != NULL);
    memset(own, 0, 64 * sizeof *own);
    MUST(ARMCI_Put(&value, own + 3, 8, me) == 0 && own[3] == 5);
    MUST(ARMCI_NbGet(own + 3, there, 8, me, &handle) == 0 && ARMCI_Wait(&handle) == 0 && there[0] == 5);
    MUST(ARMCI_PutS(there, dense, own + 8, sparse, count, 1, me) == 0 && own[8] == 5 && own[11] == 0);
    MUST(ARMCI_PutV(&list, 1, me) == 0 && there[5] == 5 && there[6] == 0 && there[7] == 5);
    MUST(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &value, own + 3, -7, me) == 0 && value == 5 && own[3] == -2);
    MUST(ARMCI_Free_local(own) == 0 && ARMCI_Free_local(NULL) == 0);
}

/* Operations without bytes have no effect and complete their handles, also with pointers that point nowhere. */
static void check_empty(void)
{
    int          right = (me + 1) % n, none[2] = { 0, 3 }, few[2] = { 8, 0 }, stride[1] = { 8 };
    double       one = 1;
    armci_giov_t list = { NULL, NULL, 8, 0 };
    armci_hdl_t  handle;

    ARMCI_INIT_HANDLE(&handle);
    MUST(ARMCI_Put(NULL, NULL, 0, right) == 0 && ARMCI_Get(NULL, NULL, 0, right) == 0);
    MUST(ARMCI_Acc(ARMCI_ACC_DBL, &one, NULL, NULL, 0, right) == 0);
    MUST(ARMCI_NbPut(NULL, memory[right], 0, right, &handle) == 0 && ARMCI_Test(&handle) == 0);
    MUST(ARMCI_NbGet(memory[right], NULL, 0, right, &handle) == 0 && ARMCI_Wait(&handle) == 0);
    MUST(ARMCI_PutS(&one, stride, memory[right], stride, none, 1, right) == 0);
    MUST(ARMCI_NbGetS(memory[right], stride, &one, stride, few, 1, right, &handle) == 0 && ARMCI_Wait(&handle) == 0);
    MUST(ARMCI_AccS(ARMCI_ACC_DBL, &one, &one, stride, memory[right], stride, few, 1, right) == 0);
    MUST(ARMCI_PutV(&list, 1, right) == 0 && ARMCI_GetV(NULL, 0, right) == 0 && ARMCI_PutV(NULL, 0, right) == 0);
    MUST(ARMCI_Wait(&handle) == 0 && ARMCI_Wait(&handle) == 0 && ARMCI_Test(&handle) == 0);
    MUST(one == 1);
    ARMCI_Copy(NULL, NULL, 0);
    armci_msg_bcast(NULL, 0, 0);
    armci_msg_igop(NULL, 0, "+");
}

/* A flag is set also behind an empty put. */
static void check_empty_flag(void)
{
    volatile int *flag = (volatile int *)memory[me] + 1;
    int           right = (me + 1) % n, none[2] = { 8, 0 }, stride[1] = { 8 };
    long          value = 3;

    *flag = 0;
    ARMCI_Barrier();
    MUST(ARMCI_PutS_flag(&value, stride, memory[right], stride, none, 1, (int *)memory[right] + 1, -4, right) == 0);
    while (*flag != -4)
        ARMCIX_Progress();
    ARMCI_Barrier();
}

/* Handles that are used again before a wait, that a fence completes, and that nobody waits for. */
static void check_handles(void)
{
    enum { MANY = 500 };
    static long values[MANY];
    static long back[MANY];
    int         right = (me + 1) % n;
    armci_hdl_t reused, all;

    ARMCI_INIT_HANDLE(&reused);
    for (int i = 0; i < MANY; i++) {
        values[i] = me * MANY + i;
        MUST(ARMCI_NbPut(&values[i], (long *)memory[right] + i, 8, right, &reused) == 0);
    }
    MUST(ARMCI_Wait(&reused) == 0);
    ARMCI_Fence(right);
    for (int i = 0; i < MANY; i++) { /* each operation has a handle that is then forgotten */
        armci_hdl_t forgotten;

        ARMCI_INIT_HANDLE(&forgotten);
        MUST(ARMCI_NbGet((long *)memory[right] + i, &back[i], 8, right, &forgotten) == 0);
    }
    MUST(ARMCI_WaitAll() == 0 && memcmp(values, back, sizeof back) == 0);
    ARMCI_INIT_HANDLE(&all);
    ARMCI_SET_AGGREGATE_HANDLE(&all); /* puts and gets in one aggregate, on different words */
    for (int i = 0; i < MANY / 2; i++) {
        values[i] += 1;
        MUST(ARMCI_NbPut(&values[i], (long *)memory[right] + i, 8, right, &all) == 0);
        MUST(ARMCI_NbGet((long *)memory[right] + MANY / 2 + i, &back[i], 8, right, &all) == 0);
    }
    MUST(ARMCI_Wait(&all) == 0 && memcmp(values + MANY / 2, back, sizeof back / 2) == 0);
    ARMCI_UNSET_AGGREGATE_HANDLE(&all);
    MUST(ARMCI_NbPut(values, memory[right], 8, right, &all) == 0 && ARMCI_Wait(&all) == 0);
    ARMCI_Barrier();
    MUST(((long *)memory[me])[1] == (me + n - 1) % n * MANY + 2);
    ARMCI_Barrier();
}

/* The group of this rank and its right neighbour, and that of the left neighbour and this rank, at the same time. Even
 * and odd ranks create their groups in another order, so that the members of each meet. */
static void create_pairs(ARMCI_Group pair[2])
{
    int lists[2][2] = { { me, (me + 1) % n }, { (me + n - 1) % n, me } }, order[2] = { me % 2, 1 - me % 2 };

    for (int i = 0; i < 2; i++)
        ARMCI_Group_create(2, lists[order[i]], &pair[order[i]]);
}

/* In each of two overlapping groups: memory, a mutex at the second member, a counter that the mutex protects. */
static void check_pairs(void)
{
    ARMCI_Group        pair[2];
    long              *parts[2][2];
    armcix_mutex_hdl_t mutexes[2];

    if (n < 2 || n % 2 == 1) /* a ring of pairs needs an even number of ranks */
        return;
    create_pairs(pair);
    for (int i = 0; i < 2; i++) { /* in the order in which the groups were created */
        int g = i == 0 ? me % 2 : 1 - me % 2;

        MUST(pair[g].size == 2 && pair[g].rank == g);
        MUST(ARMCI_Malloc_group((void **)parts[g], 8, &pair[g]) == 0);
        mutexes[g] = ARMCIX_Create_mutexes_hdl(g == 1 ? 1 : 0, &pair[g]);
        *parts[g][g] = 0;
        armci_msg_group_barrier(&pair[g]);
    }
    for (int i = 0; i < 40; i++) {
        int  g = i % 2, holder = ARMCI_Absolute_id(&pair[g], 1), first = ARMCI_Absolute_id(&pair[g], 0);
        long value;

        ARMCIX_Lock_hdl(mutexes[g], 0, holder);
        value = ARMCI_GetValueLong(parts[g][0], first);
        MUST(ARMCI_PutValueLong(value + 1, parts[g][0], first) == 0);
        ARMCIX_Unlock_hdl(mutexes[g], 0, holder);
    }
    for (int i = 0; i < 2; i++) {
        int  g = i == 0 ? me % 2 : 1 - me % 2;
        long sum = me;

        armci_msg_group_barrier(&pair[g]);
        MUST(ARMCI_GetValueLong(parts[g][0], ARMCI_Absolute_id(&pair[g], 0)) == 40);
        armci_msg_group_lgop(&sum, 1, "+", &pair[g]);
        MUST(sum == ARMCI_Absolute_id(&pair[g], 0) + ARMCI_Absolute_id(&pair[g], 1));
        MUST(ARMCIX_Destroy_mutexes_hdl(mutexes[g]) == 0);
        ARMCI_Group_free(&pair[g]); /* before its memory */
        MUST(ARMCI_Free(parts[g][g]) == 0);
    }
}

/* Allocations that are freed in another order than they were made, with operations and lists across several. */
static void check_allocations(void)
{
    enum { MANY = 9 };
    void       **parts[MANY], *from[MANY], *to[MANY];
    long         values[MANY], back[MANY];
    int          right = (me + 1) % n;
    armci_giov_t put = { from, to, 8, MANY }, get = { to, from, 8, MANY };
    armci_hdl_t  handle;

    ARMCI_INIT_HANDLE(&handle);
    for (int i = 0; i < MANY; i++) {
        parts[i] = allocate(64 * (i + 1));
        memset(parts[i][me], 0, 64 * (size_t)(i + 1));
        values[i] = me * 100 + i;
        from[i] = &values[i];
        to[i] = (long *)parts[i][right] + 3 + i;
    }
    ARMCI_Barrier();
    MUST(ARMCI_PutV(&put, 1, right) == 0);
    MUST(ARMCI_AccV(ARMCI_ACC_LNG, &(long){ 2 }, &put, 1, right) == 0);
    for (int i = 0; i < MANY; i++)
        from[i] = &back[i];
    MUST(ARMCI_NbGetV(&get, 1, right, &handle) == 0 && ARMCI_Wait(&handle) == 0);
    for (int i = 0; i < MANY; i++)
        MUST(back[i] == 3 * values[i]);
    ARMCI_Barrier();
    for (int i = 0; i < MANY; i++) {
        int k = (i * 4) % MANY;

        release(parts[k]);
        for (int j = i + 1; j < MANY; j++) { /* the others still work */
            int  m = (j * 4) % MANY;
            long value = 0;

            MUST(ARMCI_Get((long *)parts[m][right] + 3 + m, &value, 8, right) == 0 && value == 3 * values[m]);
        }
        ARMCI_Barrier();
    }
}

/* Every operation of reductions on every type, over a scope of a group. */
#define CHECK_GOP(type, name, scope)                                                                          \
    do {                                                                                                      \
        static const struct {                                                                                 \
            const char *op;                                                                                   \
            int         result;                                                                               \
        } cases[] = { { "+", 1 }, { "*", 2 }, { "min", 3 }, { "max", 4 }, { "absmin", 5 }, { "absmax", 6 } }; \
        for (int c = 0; c < 6; c++) {                                                                         \
            type values[3] = { 0 }, expect = 0;                                                               \
            for (int i = 0; i < 3; i++)                                                                       \
                values[i] = (type)((me % 2 ? -1 : 1) * (me + 1));                                             \
            for (int r = 0, first = 1; r < n; r++) {                                                          \
                type x = (type)((r % 2 ? -1 : 1) * (r + 1)), a = x < 0 ? (type)-x : x;                        \
                if (!in_scope(scope, r))                                                                      \
                    continue;                                                                                 \
                x = c >= 4 ? a : x;                                                                           \
                expect = first                                        ? x                                     \
                         : c == 0                                     ? (type)(expect + x)                    \
                         : c == 1                                     ? (type)(expect * x)                    \
                         : (c % 2 == 0 ? (x < expect) : (x > expect)) ? x                                     \
                                                                      : expect;                               \
                first = 0;                                                                                    \
            }                                                                                                 \
            armci_msg_group_gop_scope(scope, values, 3, (char *)cases[c].op, name, &group);                   \
            for (int i = 0; i < 3 && in_scope(scope, me); i++)                                                \
                MUST(values[i] == expect);                                                                    \
        }                                                                                                     \
    } while (0)

static ARMCI_Group group; /* all ranks, the last one first, so that masters differ from those of the job */

static int in_scope(int scope, int rank)
{
    int domain = armci_domain_id(ARMCI_DOMAIN_SMP, rank);

    if (scope == SCOPE_NODE)
        return domain == armci_domain_my_id(ARMCI_DOMAIN_SMP);
    for (int other = rank + 1; scope == SCOPE_MASTERS && other < n; other++) {
        if (armci_domain_id(ARMCI_DOMAIN_SMP, other) == domain)
            return 0; /* it precedes the rank in the group */
    }
    return 1;
}

static void check_scopes(void)
{
    int *list = malloc((size_t)n * sizeof *list);

    MUST(list != NULL);
    for (int i = 0; i < n; i++)
        list[i] = n - 1 - i;
    ARMCI_Group_create(n, list, &group);
    for (int scope = SCOPE_ALL; scope <= SCOPE_MASTERS; scope++) {
        int sum = 1, members = 0;

        CHECK_GOP(int, ARMCI_INT, scope);
        CHECK_GOP(long, ARMCI_LONG, scope);
        CHECK_GOP(long long, ARMCI_LONG_LONG, scope);
        CHECK_GOP(float, ARMCI_FLOAT, scope);
        CHECK_GOP(double, ARMCI_DOUBLE, scope);
        for (int r = 0; r < n; r++)
            members += in_scope(scope, r);
        armci_msg_group_gop_scope(scope, &sum, 1, "+", ARMCI_INT, &group);
        MUST(sum == (in_scope(scope, me) ? members : 1));
    }
    ARMCI_Group_free(&group);
    free(list);
}

/* Selections by every type; the rank that wins gives all its bytes. */
#define CHECK_SEL(type, name)                                                     \
    do {                                                                          \
        struct {                                                                  \
            type value;                                                           \
            int  rank;                                                            \
        } low = { (type)(me * 5 % 7 + 1), me }, high = low;                       \
        armci_msg_sel(&low, sizeof low, "min", name, 1);                          \
        armci_msg_sel_scope(SCOPE_ALL, &high, sizeof high, "max", name, me > 0);  \
        MUST(low.value == (type)(low.rank * 5 % 7 + 1));                          \
        MUST(high.value == (type)(high.rank * 5 % 7 + 1));                        \
        MUST(low.value <= (type)(me * 5 % 7 + 1));                                \
        MUST(me == 0 || high.value >= (type)(me * 5 % 7 + 1));                    \
        MUST(n == 1 || high.rank > 0);                                            \
        MUST(low.rank + 7 >= n && (n == 1 || high.rank + 7 >= n)); /* the last */ \
    } while (0)

/* Messages of no bytes, with negative tags, and many of one tag, which keep their order. */
static void check_messages(void)
{
    int right = (me + 1) % n, left = (me + n - 1) % n, len = 7;

    armci_msg_snd(-3, NULL, 0, right);
    armci_msg_rcv(-3, NULL, 0, &len, left);
    MUST(len == 0);
    for (int i = 0; i < 100; i++)
        armci_msg_snd(11, &i, sizeof i, right);
    for (int i = 0; i < 100; i++) {
        int value = -1;

        armci_msg_rcv(11, &value, sizeof value, NULL, left);
        MUST(value == i);
    }
    armci_msg_barrier();
}

/* Notifications of all ranks to all ranks, which are counted for each source. */
static void check_notifications(void)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < n; i++)
            MUST(armci_notify((me + i) % n) == 0);
    }
    for (int i = 0; i < n; i++) {
        int value = 0;

        for (int round = 1; round <= 3; round++)
            MUST(armci_notify_wait((me + n - i) % n, &value) >= round && value == round);
    }
    ARMCI_Barrier();
}

int main(void)
{
    start();
    memory = allocate(8192);
    check_notifications();
    check_own_memory();
    check_empty();
    check_empty_flag();
    check_handles();
    check_pairs();
    check_allocations();
    check_scopes();
    CHECK_SEL(int, ARMCI_INT);
    CHECK_SEL(long, ARMCI_LONG);
    CHECK_SEL(long long, ARMCI_LONG_LONG);
    CHECK_SEL(float, ARMCI_FLOAT);
    CHECK_SEL(double, ARMCI_DOUBLE);
    check_messages();
    release(memory);
    finish();
    return 0;
}
