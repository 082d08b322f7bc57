/* armci_threads.c: several threads of each rank call ARMCI at the same time. The threads of all ranks take tasks from a
 * counter; a task puts a block in one of several ways and gets it back, accumulates, counts under a mutex, and sends
 * its rank a message. Threads need ARMCI_Init_thread with MPI_THREAD_MULTIPLE as the first start, or an MPI that was
 * initialized with this level.
 *
 * ranks: 1 3 8
 */
#include <pthread.h>

#include "armci_test.h"

enum { MULTIPLE = 3, THREADS = 4, TASKS = 480, BLOCK = 24 };

/* The memory of a rank. Rank 0 has the counter of tasks. */
struct part {
    long   tasks, counted;
    double sum;
    char   odd[8]; /* contains an int that is not aligned */
    double blocks[TASKS][BLOCK];
};

static struct part **parts;

/* Put a block, in a way that depends on the task, and get it back. */
static void move_block(int task, int owner)
{
    double      *there = parts[owner]->blocks[task / n], out[BLOCK], back[BLOCK];
    int          stride = BLOCK / 4 * (int)sizeof(double), count[2] = { stride, 4 }, bytes = (int)sizeof out;
    void        *from[1] = { out }, *to[1] = { there };
    armci_giov_t list = { .src_ptr_array = from, .dst_ptr_array = to, .bytes = bytes, .ptr_array_len = 1 };
    armci_hdl_t  handle, other;

    for (int i = 0; i < BLOCK; i++)
        out[i] = task * 100 + i;
    ARMCI_INIT_HANDLE(&handle);
    ARMCI_INIT_HANDLE(&other);
    switch (task % 5) {
    case 0: MUST(ARMCI_Put(out, there, bytes, owner) == 0); break;
    case 1: MUST(ARMCI_PutS(out, &stride, there, &stride, count, 1, owner) == 0); break;
    case 2: MUST(ARMCI_PutV(&list, 1, owner) == 0); break;
    case 3: MUST(ARMCI_NbPut(out, there, bytes, owner, &handle) == 0); break;
    default: MUST(ARMCI_NbPutS(out, &stride, there, &stride, count, 1, owner, &handle) == 0); break;
    }
    MUST(ARMCI_Wait(&handle) == 0);
    ARMCI_Fence(owner);
    memset(back, 0, sizeof back);
    MUST(ARMCI_NbGet(there, back, bytes, owner, &other) == 0);
    while (task % 2 == 0 && ARMCI_Test(&other) != 0)
        ;
    MUST(ARMCI_Wait(&other) == 0 && memcmp(back, out, sizeof out) == 0);
}

static void do_task(int task)
{
    int    owner = task % n, next = (task + 1) % n, one = 1, len, text = task;
    double half = 0.5, two = 2;
    long   counted;

    move_block(task, owner);
    MUST(ARMCI_Acc(ARMCI_ACC_DBL, &half, &two, &parts[next]->sum, (int)sizeof two, next) == 0);
    MUST(ARMCI_Acc(ARMCI_ACC_INT, &one, &one, parts[next]->odd + 1, (int)sizeof one, next) == 0);
    ARMCI_Lock(0, owner);
    MUST(ARMCI_Get(&parts[owner]->counted, &counted, (int)sizeof counted, owner) == 0);
    counted++;
    MUST(ARMCI_Put(&counted, &parts[owner]->counted, (int)sizeof counted, owner) == 0);
    ARMCI_Unlock(0, owner);
    armci_msg_snd(task, &text, (int)sizeof text, me);
    text = 0;
    armci_msg_rcv(task, &text, (int)sizeof text, &len, me);
    MUST(text == task && len == (int)sizeof text);
}

static void *work(void *arg)
{
    long task;

    for (;;) {
        MUST(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &task, &parts[0]->tasks, 1, 0) == 0);
        if (task >= TASKS)
            return arg;
        do_task((int)task);
    }
}

static void check_results(void)
{
    const struct part *mine = parts[me];
    int                odd, owned = 0, added = 0;

    for (int task = 0; task < TASKS; task++) {
        owned += task % n == me;
        added += (task + 1) % n == me;
        for (int i = 0; task % n == me && i < BLOCK; i++)
            MUST(mine->blocks[task / n][i] == task * 100 + i);
    }
    memcpy(&odd, mine->odd + 1, sizeof odd);
    MUST(mine->counted == owned && mine->sum == added && odd == added);
}

int main(void)
{
    pthread_t threads[THREADS];

    MUST(ARMCI_Init_thread(MULTIPLE) == 0);
    me = armci_msg_me();
    n = armci_msg_nproc();
    parts = (struct part **)allocate(sizeof **parts);
    memset(parts[me], 0, sizeof **parts);
    MUST(ARMCI_Create_mutexes(1) == 0);
    ARMCI_Barrier();
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    ARMCI_Barrier();
    check_results();
    MUST(ARMCI_Destroy_mutexes() == 0);
    release((void **)parts);
    MUST(ARMCI_Init_thread(MULTIPLE) == 0 && ARMCI_Finalize() == 0); /* once more */
    finish();
    start(); /* for one thread at a time, unless MPI has been initialized for several */
#ifdef MPI_VERSION
    MUST(ARMCI_Init_thread(MULTIPLE) == 0 && ARMCI_Finalize() == 0);
#else
    MUST(ARMCI_Init_thread(MULTIPLE) == FAIL);
#endif
    finish();
    return 0;
}
