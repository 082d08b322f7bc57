/* coll_background.c: nonblocking collective calls of ranks that do not call Tern.
 *
 * Promise: after it was started, a nonblocking collective call completes although no rank calls Tern, over every link
 * and for every length: eager messages, and messages that the receiver fetches and confirms. Here all ranks start a
 * call, read their own memory until the result is there, and only then complete the event. (TSan would report these
 * reads.)
 *
 * ranks: 2 3 4 8
 * keep: 2-ofi 2-tcp
 * builds: release debug asan
 */
#include <time.h>

#include "job_test.h"

const char *job_note;

#define LIMIT 60 /* seconds */

static const size_t lengths[] = { 8, 4096, 20000, 100000, 1u << 20 };

enum { BROADCAST, ALLREDUCE, ALLTOALL, CALLS };

/* The value of element i that a rank contributes, for a rank; the sum over all ranks is exact. */
static double value(int rank, int to, size_t i)
{
    return (double)(rank * 1000 + to * 100) + (double)(i % 64);
}

static double expected(unsigned call, size_t i, size_t each)
{
    double sum = 0;

    switch (call) {
    case BROADCAST: return value(tern_size() - 1, 0, i);
    case ALLTOALL: return value((int)(i / each), tern_rank(), i % each);
    default:
        for (int rank = 0; rank < tern_size(); rank++)
            sum += value(rank, 0, i);
        return sum;
    }
}

/* Read the result, without a call of Tern, until it is complete. */
static void await(unsigned call, const volatile double *dst, size_t count, size_t each)
{
    const struct timespec pause = { .tv_nsec = 200000 };
    time_t                begin = time(NULL);

    for (size_t i = 0; i < count;) {
        if (dst[i] == expected(call, i, each)) {
            i++;
            continue;
        }
        if (time(NULL) - begin > LIMIT)
            tern_abort(1, "the call does not complete while no rank calls Tern");
        nanosleep(&pause, NULL);
    }
}

static void run(unsigned call, size_t len)
{
    const tern_reduce_args add = TERN_REDUCE_ARGS(.type = TERN_DOUBLE, .op = TERN_SUM);
    size_t                 each = len / sizeof(double), count = call == ALLTOALL ? each * (size_t)tern_size() : each;
    double                *src = job_new(count * sizeof(*src)), *dst = job_new(count * sizeof(*dst));
    tern_event             event = TERN_EVENT_INIT;
    tern_opts              opts = TERN_OPTS(.event = &event);

    for (size_t i = 0; i < count; i++) {
        src[i] = value(tern_rank(), call == ALLTOALL ? (int)(i / each) : 0, call == ALLTOALL ? i % each : i);
        dst[i] = -1;
    }
    if (call == BROADCAST && tern_rank() == tern_size() - 1)
        memcpy(dst, src, len);
    switch (call) {
    case BROADCAST: OK(tern_broadcast_with(TERN_WORLD, tern_size() - 1, dst, len, &opts)); break;
    case ALLTOALL: OK(tern_alltoall_with(TERN_WORLD, src, dst, each * sizeof(double), &opts)); break;
    default: OK(tern_allreduce_with(TERN_WORLD, src, dst, each, &add, &opts)); break;
    }
    await(call, dst, count, each);
    OK(tern_event_wait(&event, TERN_FOREVER));
    free(src);
    free(dst);
}

int main(void)
{
    OK(tern_init());
    for (unsigned call = 0; call < CALLS; call++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            for (unsigned again = 0; again < 4; again++)
                run(call, lengths[i]);
    OK(tern_finalize());
    return 0;
}
