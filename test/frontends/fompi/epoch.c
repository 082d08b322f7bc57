/* epoch.c: fences, epochs of groups, and locks, for windows of all kinds. */
#include <unistd.h>

#include "check.h"

#define ROUNDS 20

static MPI_Group group_of(MPI_Comm comm, int first, int count)
{
    MPI_Group all, part;
    int       n, ranks[64];

    MPI_Comm_size(comm, &n);
    MUST(count <= 64);
    for (int i = 0; i < count; i++)
        ranks[i] = (first + i + n) % n;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, count, ranks, &part);
    MPI_Group_free(&all);
    return part;
}

/* Promise: what is put before a fence is there after it. */
static void check_fence(struct window *w)
{
    int *memory = w->base, value;

    OK(foMPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < w->n; i++) {
            value = 1000 * round + 10 * w->me + i;
            OK(foMPI_Put(&value, 1, MPI_INT, i, w->at[i] + 4 * w->me, 1, MPI_INT, w->win));
            OK(foMPI_Win_flush_local(i, w->win)); /* value may be overwritten */
        }
        OK(foMPI_Win_fence(0, w->win));
        for (int i = 0; i < w->n; i++)
            MUST(memory[i] == 1000 * round + 10 * i + w->me);
        OK(foMPI_Win_fence(round == ROUNDS - 1 ? MPI_MODE_NOSUCCEED : 0, w->win));
    }
}

/* Promise: an access epoch sees the memory as it was posted, and wait returns after all accesses of the group. Ranks
 * post for their left neighbour and access their right one; every third round waits by foMPI_Win_test. */
static void check_ring(struct window *w, MPI_Comm comm)
{
    MPI_Group left = group_of(comm, w->me - 1, 1), right = group_of(comm, w->me + 1, 1);
    int      *memory = w->base, to = (w->me + 1) % w->n, from = (w->me + w->n - 1) % w->n, got, put, flag;

    for (int round = 0; round < ROUNDS; round++) {
        memory[0] = 77 * round + w->me;
        OK(foMPI_Win_post(left, 0, w->win));
        OK(foMPI_Win_start(right, 0, w->win));
        put = 1000 * round + w->me;
        OK(foMPI_Get(&got, 1, MPI_INT, to, w->at[to], 1, MPI_INT, w->win));
        OK(foMPI_Put(&put, 1, MPI_INT, to, w->at[to] + 4, 1, MPI_INT, w->win));
        OK(foMPI_Win_complete(w->win));
        MUST(got == 77 * round + to);
        flag = round % 3 != 0;
        if (flag)
            OK(foMPI_Win_wait(w->win));
        while (!flag)
            OK(foMPI_Win_test(w->win, &flag));
        MUST(memory[1] == 1000 * round + from);
    }
    MPI_Group_free(&left);
    MPI_Group_free(&right);
}

/* Promise: start does not wait for post, so that ranks may start in any order: all start, and post afterwards. An epoch
 * without accesses works. All ranks access rank 0 in turn with others that are late. */
static void check_orders(struct window *w, MPI_Comm comm)
{
    MPI_Group all = group_of(comm, 0, w->n), root = group_of(comm, 0, 1), none = MPI_GROUP_EMPTY;
    int      *memory = w->base, value;

    for (int round = 0; round < ROUNDS; round++) {
        OK(foMPI_Win_start(all, 0, w->win));
        OK(foMPI_Win_post(all, 0, w->win));
        for (int i = 0; i < w->n; i++) {
            value = 100 * round + 10 * w->me + i;
            if ((i + round) % 2 == 0) {
                OK(foMPI_Put(&value, 1, MPI_INT, i, w->at[i] + 4 * w->me, 1, MPI_INT, w->win));
                OK(foMPI_Win_flush(i, w->win));
            }
        }
        OK(foMPI_Win_complete(w->win));
        OK(foMPI_Win_wait(w->win));
        for (int i = 0; i < w->n && (w->me + round) % 2 == 0; i++)
            MUST(memory[i] == 100 * round + 10 * i + w->me);
        if (w->me == 0) {
            OK(foMPI_Win_post(all, 0, w->win));
            memory[63] = 0;
        }
        OK(foMPI_Win_start(root, 0, w->win)); /* rank 0 may still be elsewhere */
        OK(foMPI_Win_complete(w->win));
        if (w->me == 0)
            OK(foMPI_Win_wait(w->win));
        OK(foMPI_Win_post(none, 0, w->win));
        OK(foMPI_Win_wait(w->win));
    }
    MPI_Group_free(&all);
    MPI_Group_free(&root);
}

void test_epochs(MPI_Comm comm)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window((enum kind)kind, 256, comm);

        MPI_Barrier(comm);
        check_fence(&w);
        MPI_Barrier(comm);
        check_ring(&w, comm);
        MPI_Barrier(comm);
        check_orders(&w, comm);
        MPI_Barrier(comm);
        close_window(&w);
    }
}

/* Promise: exclusive locks exclude each other: reading, adding and writing are not interrupted. Shared locks exclude
 * exclusive ones: two words that are written together are never seen apart, and stay until the lock is released. The
 * pauses let other processes run into the locks. */
static void check_exclusion(struct window *w)
{
    int got[2], again[2], pair[2];

    for (int round = 0; round < ROUNDS; round++) {
        int target = (w->me * 7 + round) % w->n;

        OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, target, 0, w->win));
        MUST(w->win->excl_locks != NULL);
        OK(foMPI_Get(got, 2, MPI_INT, target, w->at[target], 2, MPI_INT, w->win));
        OK(foMPI_Win_flush(target, w->win));
        MUST(got[0] == got[1]);
        pair[0] = got[0] + 1;
        OK(foMPI_Put(pair, 1, MPI_INT, target, w->at[target], 1, MPI_INT, w->win));
        OK(foMPI_Win_flush(target, w->win));
        usleep(100);
        OK(foMPI_Put(pair, 1, MPI_INT, target, w->at[target] + 4, 1, MPI_INT, w->win));
        OK(foMPI_Win_unlock(target, w->win));
        MUST(w->win->excl_locks == NULL);
        target = (target + 1) % w->n;
        OK(foMPI_Win_lock(foMPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, w->win));
        OK(foMPI_Get(got, 2, MPI_INT, target, w->at[target], 2, MPI_INT, w->win));
        OK(foMPI_Win_flush(target, w->win));
        usleep(100);
        OK(foMPI_Get(again, 2, MPI_INT, target, w->at[target], 2, MPI_INT, w->win));
        OK(foMPI_Win_unlock(target, w->win));
        MUST(got[0] == got[1] && again[0] == got[0] && again[1] == got[0]);
    }
}

/* The sum over all processes of the first word of their windows. */
static int sum_of(struct window *w, MPI_Comm comm)
{
    int sum;

    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, w->me, 0, w->win)); /* the own memory, too */
    sum = *(int *)w->base;
    OK(foMPI_Win_unlock(w->me, w->win));
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

/* Promise: locks of several targets may be held at once, and released in any order; lock_all shares with itself. */
static void check_several(struct window *w, MPI_Comm comm)
{
    int one = 1, got;

    for (int i = 0; i < w->n; i++)
        OK(foMPI_Win_lock(foMPI_LOCK_SHARED, i, 0, w->win));
    for (int i = 0; i < w->n; i++)
        OK(foMPI_Accumulate(&one, 1, MPI_INT, i, w->at[i] + 8, 1, MPI_INT, foMPI_SUM, w->win));
    for (int i = w->n - 1; i >= 0; i--)
        OK(foMPI_Win_unlock(i, w->win));
    MPI_Barrier(comm);
    OK(foMPI_Win_lock_all(0, w->win));
    MPI_Barrier(comm); /* all processes hold it */
    for (int i = 0; i < w->n; i++) {
        OK(foMPI_Fetch_and_op(NULL, &got, MPI_INT, i, w->at[i] + 8, foMPI_NO_OP, w->win));
        OK(foMPI_Win_flush_local_all(w->win));
        MUST(got == w->n);
    }
    MPI_Barrier(comm);
    OK(foMPI_Win_sync(w->win));
    OK(foMPI_Win_unlock_all(w->win));
    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, MPI_PROC_NULL, 0, w->win));
    OK(foMPI_Win_unlock(MPI_PROC_NULL, w->win));
}

/* Promise: an exclusive lock and foMPI_Win_lock_all exclude each other, also if lock_all takes its locks late. */
static void check_lock_all(struct window *w, MPI_Comm comm)
{
    int got[2], pair[2];

    for (int round = 0; round < ROUNDS; round++) {
        int target = round % w->n;

        if (w->me == (round + 1) % w->n) {
            OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, target, 0, w->win));
            for (pair[0] = pair[1] = 5000 + round; pair[0] < 5003 + round; pair[0]++, pair[1]++) {
                OK(foMPI_Put(&pair[0], 1, MPI_INT, target, w->at[target] + 16, 1, MPI_INT, w->win));
                OK(foMPI_Win_flush(target, w->win));
                OK(foMPI_Put(&pair[1], 1, MPI_INT, target, w->at[target] + 20, 1, MPI_INT, w->win));
                OK(foMPI_Win_flush(target, w->win));
            }
            OK(foMPI_Win_unlock(target, w->win));
        } else {
            OK(foMPI_Win_lock_all(0, w->win));
            OK(foMPI_Get(got, 2, MPI_INT, target, w->at[target] + 16, 2, MPI_INT, w->win));
            OK(foMPI_Win_unlock_all(w->win));
            MUST(got[0] == got[1]);
        }
    }
    MPI_Barrier(comm);
}

/* Promise: processes that hold locks by foMPI_Win_lock_all, and processes that wait for exclusive locks, do not wait
 * for each other in a circle. Processes 0 and 1 each have the lock that an exclusive lock waits for, and ask for the
 * other one. (If the exclusive locks come too late, the test proves nothing.) */
static void check_crossed(struct window *w, MPI_Comm comm)
{
    int first = w->me == 0 ? 2 : 3, second = 5 - first, got = 0;

    if (w->n < 4)
        return;
    MPI_Barrier(comm);
    if (w->me < 2) {
        OK(foMPI_Win_lock_all(0, w->win));
        OK(foMPI_Get(&got, 1, MPI_INT, first, w->at[first] + 16, 1, MPI_INT, w->win));
        OK(foMPI_Win_flush_all(w->win));
    }
    MPI_Barrier(comm);
    if (w->me < 2) {
        usleep(30000);
        OK(foMPI_Get(&got, 1, MPI_INT, second, w->at[second] + 16, 1, MPI_INT, w->win));
        OK(foMPI_Win_unlock_all(w->win));
    } else if (w->me < 4) {
        OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, w->me, 0, w->win));
        OK(foMPI_Win_unlock(w->me, w->win));
    }
    MPI_Barrier(comm);
}

/* Process 0, which holds its own lock, takes and releases the lock of process 1 until that has had it exclusively.
 * Process 1 writes 1 before it asks for the lock, and 2 when it has it. Returns at process 0 how often it took the lock
 * although process 1 wanted it. */
static int take_turns(struct window *w)
{
    volatile int *turn = (int *)w->base + 6;
    int           got = 0, rounds = 0;

    if (w->me == 1) {
        usleep(1000); /* the loop runs */
        *turn = 1;
        OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, 1, 0, w->win));
        *turn = 2;
        OK(foMPI_Win_unlock(1, w->win));
    } else if (w->me == 0) {
        OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, 0, 0, w->win));
        while (got != 2) {
            OK(foMPI_Win_lock(foMPI_LOCK_SHARED, 1, 0, w->win));
            OK(foMPI_Get(&got, 1, MPI_INT, 1, w->at[1] + 24, 1, MPI_INT, w->win));
            OK(foMPI_Win_unlock(1, w->win));
            rounds += got == 1;
        }
        OK(foMPI_Win_unlock(0, w->win));
    }
    return rounds;
}

/* Promise: a process that holds a lock, and takes and releases another one in a loop, does not starve a process that
 * waits for that one exclusively. Process 1 may be interrupted before it asks for the lock, but not often. */
static void check_turns(struct window *w, MPI_Comm comm)
{
    int many = 0;

    for (int round = 0; round < ROUNDS && w->n > 1; round++) {
        ((int *)w->base)[6] = 0;
        MPI_Barrier(comm);
        many += take_turns(w) > 100;
        MPI_Barrier(comm);
    }
    MUST(many <= ROUNDS / 2);
}

void test_locks(MPI_Comm comm)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window((enum kind)kind, 256, comm);

        MPI_Barrier(comm);
        check_exclusion(&w);
        MPI_Barrier(comm);
        MUST(sum_of(&w, comm) == ROUNDS * w.n);
        check_several(&w, comm);
        MPI_Barrier(comm);
        check_lock_all(&w, comm);
        check_crossed(&w, comm);
        check_turns(&w, comm);
        if (w.me == 0) /* foMPI_Win_free releases locks */
            OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, w.n - 1, 0, w.win));
        close_window(&w);
    }
}
