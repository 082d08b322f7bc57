/* armci_memget.c: memory of ARMCI_Memget, which one rank allocates without the others: all ranks use it by all kinds of
 * operations, ranks of the same node also by loads and stores, and freed memory is used again. The names that only the
 * original ARMCI has are tested here, too.
 *
 * ranks: 1 2 3 4 8
 * hosts: a:2,b:2 a:1,b:1 a:2,b:1
 * env: TERN_ARMCI_DOMAIN=rank
 */
#include <stdint.h>

#include "armci_test.h"

enum { HEAP = 64 * 1024, NUMBERS = 100 };

/* Every rank tells the others where its memory is. */
static armci_meminfo_t *exchange(const armci_meminfo_t *mine)
{
    armci_meminfo_t *all = malloc((size_t)n * sizeof *all);

    MUST(all != NULL);
    all[me] = *mine;
    for (int rank = 0; rank < n; rank++)
        armci_msg_bcast(&all[rank], sizeof *all, rank);
    return all;
}

/* Each rank writes to its own place in the memory of every rank; the owners see all of it. */
static void check_access(const armci_meminfo_t *mine)
{
    armci_meminfo_t *all = exchange(mine);
    long            *own = ARMCI_Memat(&all[me], 0), old;

    MUST(mine->cpid == me && (char *)own == mine->addr && mine->armci_addr == mine->addr);
    memset(own, 0, mine->size);
    ARMCI_Barrier();
    for (int rank = 0; rank < n; rank++) {
        long *there = ARMCI_Memat(&all[rank], 8L * me), *counter = ARMCI_Memat(&all[rank], 8L * (NUMBERS - 1));
        long  value = 1000L * me + rank, back = 0;

        MUST(all[rank].cpid == rank && all[rank].size == mine->size);
        MUST(ARMCI_Put1(&value, there, 8, rank) == 0);
        ARMCI_Fence(rank);
        MUST(ARMCI_Get(there, &back, 8, rank) == 0 && back == value);
        MUST(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, counter, me + 1, rank) == 0);
        MUST(armci_sameclusnode(rank) == ARMCI_Same_node(rank));
        if (armci_sameclusnode(rank))
            MUST(*there == value);
    }
    ARMCI_Barrier();
    for (int rank = 0; rank < n; rank++)
        MUST(own[rank] == 1000L * rank + me);
    MUST(own[NUMBERS - 1] == (long)n * (n + 1) / 2);
    ARMCI_Barrier();
    for (int rank = 0; rank < n; rank++) {
        ARMCI_Memdt(&all[rank], 0);
        if (rank != me)
            ARMCI_Memctl(&all[rank]); /* without effect */
    }
    free(all);
}

/* Pieces do not overlap, and freed memory is used again, also if ranks allocate different numbers of pieces. */
static void check_pieces(void)
{
    enum { MANY = 20 };
    armci_meminfo_t pieces[MANY], whole;
    int             count = MANY - me % 5;

    for (int i = 0; i < count; i++) {
        ARMCI_Memget((size_t)(1 + 150 * i), &pieces[i], 0);
        MUST((uintptr_t)pieces[i].addr % 64 == 0 && pieces[i].size == (size_t)(1 + 150 * i));
        memset(pieces[i].addr, i + 1, pieces[i].size);
    }
    for (int i = 1; i < count; i += 2)
        ARMCI_Memctl(&pieces[i]);
    for (int i = 1; i < count; i += 2) {
        armci_meminfo_t again;

        ARMCI_Memget(pieces[i].size, &again, 0);
        MUST(again.addr <= pieces[i].addr);
        memset(again.addr, i + 1, again.size);
        pieces[i] = again;
    }
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < pieces[i].size; k++)
            MUST(pieces[i].addr[k] == (char)(i + 1));
        ARMCI_Memctl(&pieces[i]);
    }
    PARMCI_Memget(HEAP, &whole, 0); /* everything has been freed */
    MUST(PARMCI_Memat(&whole, HEAP - 1) == whole.addr + HEAP - 1);
    ARMCI_Memctl(&whole);
}

int main(void)
{
    armci_meminfo_t mine, first;
    armci_req_t     request;
    void          **others;

    MUST(setenv("TERN_ARMCI_MEMGET", "64K", 1) == 0);
    for (int times = 0; times < 2; times++) {
        start();
        others = allocate(64);
        ARMCI_Memget(24, &first, 0);
        ARMCI_Memget(8 * NUMBERS, &mine, 0);
        check_access(&mine);
        ARMCI_INIT_HANDLE(&request);
        MUST(ARMCI_NbPut(first.addr, mine.addr, 8, me, &request) == 0 && ARMCI_Wait(&request) == 0);
        ARMCI_Memctl(&mine);
        ARMCI_Memctl(&first);
        check_pieces();
        release(others);
        MUST(ARMCI_Free(NULL) == 0); /* the heap is no allocation of the program */
        ARMCI_Memget(8 * NUMBERS, &mine, 0);
        check_access(&mine);
        finish(); /* frees what is left */
    }
    MUST(FAIL == -1 && FAIL2 == -2 && FAIL3 == -3 && FAIL4 == -4 && FAIL5 == -5 && FAIL6 == -6 && FAIL7 == -7 &&
         FAIL8 == -8);
    return 0;
}
