/* exchange.c: tagged messages: a task farm, and a long message to the neighbour.
 *
 *     ternrun -n 4 exchange
 *
 * Rank 0 hands out numbers and receives results from any source; the tag tells the type of a message. The other
 * ranks answer until they receive a stop message. Then each rank sends 4 MiB to its right neighbour and receives 4
 * MiB from its left neighbour. The receiver fetches such a long message in chunks, so a program may start both
 * calls before it waits for either.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

enum { WORK, RESULT, STOP, DATA }; /* tags */

#define TASKS 100u
#define LONG (4u << 20)

static void hand_out(int ranks)
{
    uint64_t          sum = 0, result, task = 0;
    tern_request_info info;

    for (int rank = 1; rank < ranks; rank++) {
        CHECK(tern_send(TERN_WORLD, rank, task < TASKS ? WORK : STOP, &task, sizeof(task)));
        task++;
    }
    for (uint64_t done = 0; done < TASKS && ranks > 1; done++, task++) {
        CHECK(tern_recv(TERN_WORLD, TERN_ANY_SOURCE, RESULT, &result, sizeof(result), &info));
        sum += result;
        CHECK(tern_send(TERN_WORLD, info.source, task < TASKS ? WORK : STOP, &task, sizeof(task)));
    }
    printf("%u tasks, sum of squares %llu\n", TASKS, (unsigned long long)sum);
}

static void work(void)
{
    uint64_t          task;
    tern_request_info info;

    for (;;) {
        CHECK(tern_recv(TERN_WORLD, 0, TERN_ANY_TAG, &task, sizeof(task), &info));
        if (info.tag == STOP)
            return;
        task *= task;
        CHECK(tern_send(TERN_WORLD, 0, RESULT, &task, sizeof(task)));
    }
}

int main(void)
{
    tern_request     *requests[2];
    tern_request_info infos[2];
    unsigned char    *out = calloc(1, LONG), *in = calloc(1, LONG);
    int               me, ranks;

    CHECK(tern_init());
    me = tern_rank();
    ranks = tern_size();
    if (!out || !in)
        tern_abort(1, "no memory");
    if (me == 0)
        hand_out(ranks);
    else
        work();
    out[LONG - 1] = (unsigned char)(me + 1);
    CHECK(tern_irecv(TERN_WORLD, (me + ranks - 1) % ranks, DATA, in, LONG, &requests[0]));
    CHECK(tern_isend(TERN_WORLD, (me + 1) % ranks, DATA, out, LONG, &requests[1]));
    CHECK(tern_request_wait_all(requests, 2, TERN_FOREVER, infos, NULL));
    printf("rank %d has %llu bytes of rank %d, the last of which is %d\n", me, (unsigned long long)infos[0].len,
           infos[0].source, in[LONG - 1]);
    CHECK(tern_finalize());
    free(out);
    free(in);
    return 0;
}
