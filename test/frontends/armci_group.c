/* armci_group.c: ARMCI's groups, allocations of different sizes, domains, messages and collective calls.
 *
 * ranks: 1 2 3 4 8
 * hosts: a:2,b:2 a:1,b:1 a:2,b:1
 * env: TERN_ARMCI_DOMAIN=rank
 */
#include <stdint.h>

#include "armci_test.h"

/* Parts of different sizes: rank r has 16 r bytes, so that rank 0 has none; then no rank has any. */
static void check_sizes(void)
{
    void **parts = malloc((size_t)n * sizeof *parts), **none = malloc((size_t)n * sizeof *none);

    MUST(parts != NULL && none != NULL);
    MUST(ARMCI_Malloc(parts, 16L * me) == 0 && ARMCI_Malloc_memdev(none, 0, "host") == 0);
    for (int i = 0; i < n; i++) {
        long value = me * 1000 + i;

        MUST((parts[i] == NULL) == (i == 0) && none[i] == NULL);
        if (i > 0 && me < 2 * i)
            MUST(ARMCI_Put(&value, (char *)parts[i] + 8 * me, 8, i) == 0);
    }
    ARMCI_Barrier();
    for (int rank = 0; rank < n && rank < 2 * me; rank++)
        MUST(((long *)parts[me])[rank] == rank * 1000 + me);
    ARMCI_Barrier();
    MUST(ARMCI_Free(parts[me]) == 0 && ARMCI_Free_memdev(none[me]) == 0);
    MUST(ARMCI_Free(NULL) == 0); /* there is no allocation in which all parts are empty: nothing happens */
    free(parts);
    free(none);
}

/* An allocation for which there is no memory at the last rank fails at all ranks, and the next one succeeds. */
static void check_refusal(void)
{
    void **parts = malloc((size_t)n * sizeof *parts);

    MUST(parts != NULL);
    memset(parts, 1, (size_t)n * sizeof *parts);
    MUST(ARMCI_Malloc(parts, me == n - 1 ? 1L << 50 : 8) == FAIL);
    for (int i = 0; i < n; i++)
        MUST(parts[i] == NULL);
    MUST(ARMCI_Malloc(parts, 8) == 0 && parts[0] != NULL && ARMCI_Free(parts[me]) == 0);
    free(parts);
}

/* What a group does: memory, puts by ranks of the job, a barrier, a broadcast, a sum. */
static void use_group(ARMCI_Group *group, int members, int first)
{
    int    rank, size, root = first;
    void **memory;
    long   sum;

    MUST(ARMCI_Group_rank(group, &rank) == 0);
    ARMCI_Group_size(group, &size);
    MUST(size == members && ARMCI_Absolute_id(group, rank) == me);
    memory = malloc((size_t)size * sizeof *memory);
    MUST(memory != NULL && ARMCI_Malloc_group(memory, 8L * size, group) == 0);
    for (int i = 0; i < size; i++)
        MUST(ARMCI_PutValueLong(me, (long *)memory[i] + rank, ARMCI_Absolute_id(group, i)) == 0);
    ARMCI_GroupFence(group);
    armci_msg_group_barrier(group);
    sum = 0;
    for (int i = 0; i < size; i++) {
        MUST(((long *)memory[rank])[i] == ARMCI_Absolute_id(group, i));
        sum += ((long *)memory[rank])[i];
    }
    {
        long      l = me;
        int       i = me, most = me;
        long long ll = me;
        float     f = (float)me;
        double    d = me;

        armci_msg_group_lgop(&l, 1, "+", group);
        armci_msg_group_igop(&i, 1, "+", group);
        armci_msg_group_llgop(&ll, 1, "+", group);
        armci_msg_group_fgop(&f, 1, "+", group);
        armci_msg_group_dgop(&d, 1, "+", group);
        MUST(l == sum && i == sum && ll == sum && (long)f == sum && (long)d == sum);
        armci_msg_group_gop_scope(SCOPE_ALL, &most, 1, "max", ARMCI_INT, group);
        MUST(most >= me);
    }
    armci_msg_group_bcast_scope(SCOPE_ALL, &root, sizeof root, ARMCI_Absolute_id(group, size - 1), group);
    MUST(root == first);
    MUST(ARMCI_Free_group(memory[rank], group) == 0);
    free(memory);
}

static void check_groups(void)
{
    ARMCI_Group world, now, part, again, child, none;
    int        *list = malloc((size_t)n * sizeof *list), half = 0, rank;

    MUST(list != NULL);
    ARMCI_Group_get_world(&world);
    ARMCI_Group_get_default(&now);
    MUST(now.size == n && now.rank == me && world.grp_to_abs[me] == me && world.abs_to_grp[me] == me);
    for (int i = n - 1; i >= 0; i--) { /* in descending order: ranks of the other parity have their own group */
        if (i % 2 == me % 2)
            list[half++] = i;
    }
    ARMCI_Group_create(half, list, &part);
    use_group(&part, half, list[0]);
    MUST(ARMCIX_Group_dup(&part, &again) == 0);
    use_group(&again, half, list[0]);
    ARMCI_Group_set_default(&part); /* the list of a child has ranks of its parent */
    list[0] = half - 1;
    ARMCI_Group_create_child(1, list, &child, &part);
    MUST(ARMCI_Group_rank(&child, &rank) == (part.rank == half - 1 ? 0 : FAIL));
    if (rank == 0)
        use_group(&child, 1, me);
    ARMCI_Group_free(&child);
    ARMCI_Group_set_default(&world);
    ARMCI_Group_free(&again);
    ARMCI_Group_free(&part);
    MUST(ARMCIX_Group_split(&world, me == 0 ? -1 : 3, -me, &part) == 0);
    MUST((part.rank == -1) == (me == 0) && (me == 0 || part.grp_to_abs[0] == n - 1));
    if (me != 0)
        use_group(&part, n - 1, n - 1);
    ARMCI_Group_free(&part);
    list[0] = 0;
    ARMCI_Group_create(1, list, &none); /* made by rank 0 alone, called by all */
    MUST((none.rank == 0) == (me == 0));
    ARMCI_Group_free(&none);
    ARMCI_Group_create(0, list, &none); /* a group without members */
    MUST(none.rank == -1 && none.size == 0);
    ARMCI_Group_free(&none);
    free(list);
}

/* Domains cover all ranks, once. */
static void check_domains(void)
{
    int seen = 0, domains = armci_domain_count(ARMCI_DOMAIN_SMP), mine = armci_domain_my_id(ARMCI_DOMAIN_SMP);

    for (int d = 0; d < domains; d++) {
        for (int i = 0; i < armci_domain_nprocs(ARMCI_DOMAIN_SMP, d); i++) {
            int rank = armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, d, i);

            seen++;
            MUST(armci_domain_id(ARMCI_DOMAIN_SMP, rank) == d);
            MUST(armci_domain_same_id(ARMCI_DOMAIN_SMP, rank) == (d == mine) && ARMCI_Same_node(rank) == (d == mine));
        }
    }
    MUST(seen == n && armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1) == armci_domain_nprocs(ARMCI_DOMAIN_SMP, mine));
    MUST(ARMCI_Same_node(me));
    if (getenv("TERN_ARMCI_DOMAIN") != NULL && n > 1)
        MUST(domains == n && !ARMCI_Uses_shm());
    ARMCI_Set_shm_limit(1 << 20);
}

/* Messages around the ring, of short and long data, to this rank itself, and from any rank. */
static void check_messages(void)
{
    static char out[300000], in[300000];
    int         right = (me + 1) % n, left = (me + n - 1) % n, len;

    for (int bytes = 3; bytes <= 300000; bytes *= 100) {
        memset(out, 'a' + me % 26, (size_t)bytes);
        memset(in, 0, sizeof in);
        if (me % 2 == 0 || n % 2 == 1) {
            if (me == 0 || n % 2 == 0) { /* one rank begins, or every second one */
                armci_msg_snd(5, out, bytes, right);
                armci_msg_rcv(5, in, (int)sizeof in, &len, left);
            } else {
                armci_msg_rcv(5, in, (int)sizeof in, &len, left);
                armci_msg_snd(5, out, bytes, right);
            }
        } else {
            armci_msg_rcv(5, in, (int)sizeof in, &len, left);
            armci_msg_snd(5, out, bytes, right);
        }
        MUST(len == bytes && in[0] == 'a' + left % 26 && in[bytes - 1] == in[0]);
    }
    armci_msg_snd(9, out, 10, me);
    armci_msg_rcv(9, in, 10, &len, me);
    MUST(len == 10 && memcmp(in, out, 10) == 0);
    if (me == 0) {
        long sum = 0;

        for (int i = 1; i < n; i++) {
            int value, source = armci_msg_rcvany(6, &value, sizeof value, &len);

            MUST(len == sizeof value && value == source * 3);
            sum += source;
        }
        MUST(sum == (long)n * (n - 1) / 2);
    } else {
        int value = me * 3;

        armci_msg_snd(6, &value, sizeof value, 0);
    }
    armci_msg_barrier();
}

/* The operations of integers, by all their names; Fortran appends blanks. */
static void check_logic(void)
{
    static const char *const names[] = { "or", "bor", "| ", "band", "&  ", "&&", "land ", "|| ", "lor" };

    for (int c = 0; c < 9; c++) {
        long x[3] = { 6 | 1L << 40, me == n - 1 ? 4 : 0, 0 }; /* all ranks, the last rank, no rank */
        int  bits = c < 5, any = c < 3 || c > 6;

        armci_msg_lgop(x, 3, (char *)names[c]);
        MUST(x[0] == (bits ? (6 | 1L << 40) : 1) && x[2] == 0);
        MUST(x[1] == (any || n == 1 ? (bits ? 4 : 1) : 0));
    }
}

/* A long array, so that the reduction is divided. */
static void check_reductions(void)
{
    enum { LONG = 30000 };
    double   *d = malloc(LONG * sizeof *d), e = -1.5 - me;
    int       i = me + 1, bits = 1 << (me % 8), expected = 0;
    long      l = -me - 1;
    long long ll = me;
    float     f = (float)me;

    MUST(d != NULL);
    for (int k = 0; k < LONG; k++)
        d[k] = k + me;
    armci_msg_dgop(d, LONG, "+");
    for (int k = 0; k < LONG; k++)
        MUST(d[k] == (double)n * k + (double)n * (n - 1) / 2);
    free(d);
    armci_msg_dgop(&e, 1, "absmax");
    armci_msg_lgop(&l, 1, "absmin");
    MUST(e == 1.5 + n - 1 && l == 1);
    armci_msg_llgop(&ll, 1, "max");
    armci_msg_fgop(&f, 1, "min");
    MUST(ll == n - 1 && f == 0);
    armci_msg_gop_scope(SCOPE_ALL, &bits, 1, "or", ARMCI_INT);
    for (int k = 0; k < n; k++)
        expected |= 1 << (k % 8);
    MUST(bits == expected);
    check_logic();
    i = 2;
    armci_msg_reduce(&i, 1, "*", ARMCI_INT);
    MUST(i == 1 << n);
    i = 1;
    armci_msg_reduce_scope(SCOPE_NODE, &i, 1, "+", ARMCI_INT);
    MUST(i == armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1));
    i = 1;
    armci_msg_clus_igop(&i, 1, "+");
    l = ll = 1;
    f = 1;
    e = 1;
    armci_msg_clus_lgop(&l, 1, "+");
    armci_msg_clus_llgop(&ll, 1, "+");
    armci_msg_clus_fgop(&f, 1, "+");
    armci_msg_clus_dgop(&e, 1, "+");
    MUST(l == i && ll == i && (int)f == i && (int)e == i && i == armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1));
    i = 1; /* only the first ranks of domains count */
    armci_msg_gop_scope(SCOPE_MASTERS, &i, 1, "+", ARMCI_INT);
    if (armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, armci_domain_my_id(ARMCI_DOMAIN_SMP), 0) == me)
        MUST(i == armci_domain_count(ARMCI_DOMAIN_SMP));
    else
        MUST(i == 1);
}

static void check_collectives(void)
{
    struct {
        double value;
        int    where;
    } best = { 10.0 * ((me * 7) % n), me };
    int         text[4] = { me, me, me, me }, root, up, left, right;
    void      **addresses = calloc((size_t)n + 1, sizeof *addresses), *tail = &root;
    ARMCI_Group world;

    MUST(addresses != NULL);
    armci_msg_bcast(text, sizeof text, n - 1);
    MUST(text[3] == n - 1);
    text[0] = me;
    armci_msg_brdcst(text, sizeof text, 0);
    armci_msg_bcast_scope(SCOPE_ALL, text, sizeof text, 0);
    MUST(text[0] == 0);
    armci_msg_clus_brdcst(text, sizeof text);
    armci_msg_sel(&best, sizeof best, "max", ARMCI_DOUBLE, me % 2 == 0);
    MUST(best.where % 2 == 0 && best.value == 10.0 * ((best.where * 7) % n));
    for (int i = 0; i < n; i += 2)
        MUST(10.0 * ((i * 7) % n) <= best.value);
    armci_msg_sel_scope(SCOPE_ALL, &best, sizeof best, "min", ARMCI_DOUBLE, 1);
    armci_msg_bintree(SCOPE_ALL, &root, &up, &left, &right);
    MUST(root == 0 && (up == -1) == (me == 0) && (left == -1 || left == 2 * me + 1) &&
         (right == -1 || right == left + 1));
    addresses[me] = me % 2 ? (void *)(intptr_t)(-1 - me) : &n; /* also one with the highest bit */
    addresses[n] = tail;                                       /* behind the entries of the call */
    armci_exchange_address(addresses, n);
    for (int i = 0; i < n; i++)
        MUST(i % 2 ? addresses[i] == (void *)(intptr_t)(-1 - i) : addresses[i] != NULL);
    MUST(addresses[n] == tail);
    ARMCI_Group_get_world(&world);
    memset(addresses, 0, (size_t)n * sizeof *addresses);
    addresses[me] = &addresses[me];
    armci_exchange_address_grp(addresses, n, &world);
    MUST(addresses[me] == &addresses[me] && addresses[0] != NULL && addresses[n - 1] != NULL && addresses[n] == tail);
    MUST(armci_timer() > 0);
    free(addresses);
    {
        armci_comm_t comm;

        ARMCIX_Get_world_comm(&comm);
        MUST(comm == armci_group_comm(&world) && ARMCI_Uses_shm_grp(&world) == ARMCI_Uses_shm());
    }
}

/* Checkpoints are refused, and nested starts are counted. */
static void check_job(void)
{
    armci_ckpt_ds_t ds;

    MUST(ARMCI_Ckpt_create_ds(&ds, 1) == FAIL && ARMCI_Ckpt_init("file", NULL, 0, 0, &ds) == FAIL);
    MUST(ARMCI_Ckpt(0) == FAIL && ARMCI_Ckpt_Recover(0, 0) == FAIL && ARMCI_Ckpt_finalize(0) == FAIL);
    MUST(ARMCI_Init_args(NULL, NULL) == 0 && ARMCI_Init_thread(0) == 0 && ARMCI_Init_thread(3) == FAIL);
    MUST(ARMCI_Init_thread_comm(0, ARMCI_COMM_WORLD) == 0 && ARMCI_Init_mpi_comm(ARMCI_COMM_WORLD) == 0);
    for (int i = 0; i < 4; i++)
        MUST(ARMCI_Finalize() == 0 && ARMCI_Initialized());
    ARMCI_Cleanup();
}

/* The number of mappings of this process. */
static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int   lines = 0, c;

    MUST(maps != NULL);
    while ((c = getc(maps)) != EOF)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

/* ARMCI_Finalize frees what the program has not freed: memory, groups with memory, sets of mutexes. */
static void check_leftovers(void)
{
    int before = 0;

    for (int times = 0; times < 12; times++) {
        void      **memory = malloc((size_t)n * sizeof *memory);
        ARMCI_Group part;

        start();
        MUST(memory != NULL && ARMCI_Malloc(memory, 1L << 16) == 0);
        ARMCI_Group_get_world(&part);
        MUST(ARMCIX_Group_split(&part, me % 2, me, &part) == 0);
        MUST(ARMCI_Malloc_group(memory, 1L << 16, &part) == 0);
        MUST(ARMCIX_Create_mutexes_hdl(1, &part) != NULL);
        free(memory);
        finish();
        if (times == 3)
            before = mappings();
    }
    MUST(mappings() < before + 8);
}

int main(void)
{
    start();
    for (int times = 0; times < 2; times++) {
        check_sizes();
        check_refusal();
        check_groups();
        check_domains();
        check_messages();
        check_reductions();
        check_collectives();
        check_job();
    }
    finish();
    start(); /* the library can be started again */
    check_sizes();
    finish();
    MUST(ARMCI_Finalize() == 0); /* several libraries of a program may end ARMCI */
    check_leftovers();
    return 0;
}
