/* notification.c: counts the cache lines that a target accesses for a notification.
 *
 * Promise: from the arrival of a notified put of 8 bytes through shared memory until the wait for it returns, the
 * target accesses one line that the source has written, which is the cell with notification and data, one line of the
 * request, and, if other requests are started, one line of the list of requests with that name, however many requests
 * there are. In addition, it accesses the line in which it reports its position in the queue to the source, the line in
 * which the source may claim the inline payload, which it seldom does, the line of the data, and lines of its own
 * process that every notification uses. A notification that no request waits for accesses no line of a request, and
 * also the next cell, which may contain a notification.
 *
 * The source files on this path are compiled so that every load and store is recorded (trace.h). To print the lines,
 * run: ternrun -n 2 build/test/lines/notification
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/request.h"
#include "core/message.h"
#include "job_test.h"
#include "lines/trace.h"
#include "link/shm/shm.h"
#include "op/notify/notify.h"

#define MANY 64 /* requests that are started, of which one is waited for */
#define SIZE 8192u

/* Whose a line is. */
enum owner { CELL, PROGRESS, CLAIM, REQUEST, OTHERS, LIST, DATA, STACK, STATE, OWNERS };
static const char *const owner_name[OWNERS] = { "the cell of the queue",   "the queue's head, which the target writes",
                                                "the claim of its source", "the request",
                                                "other requests",          "the list of requests of its name",
                                                "the data's place",        "the stack",
                                                "state of the process" };

static struct job_region r;
static tern_request     *requests[MANY];
static unsigned          made;
static uint64_t          turn;

static bool is_in(uintptr_t line, const volatile void *from, size_t len)
{
    return line + TRACE_LINE > (uintptr_t)from && line < (uintptr_t)from + len;
}

static enum owner request_of(uintptr_t line, const struct tern_notify_request *mine)
{
    if (is_in(line, mine, sizeof(*mine)))
        return REQUEST;
    for (unsigned i = 0; i < made; i++)
        if (is_in(line, tern_api_notify_request(requests[i]), sizeof(*mine)))
            return OTHERS;
    return STATE;
}

static enum owner owner_of(uintptr_t line, const struct tern_notify_request *mine)
{
    const struct shm_notify_rx *rx =
        (const struct shm_notify_rx *)(const void *)atomic_load(&tern_core_message_notify_last);
    struct tern_nq *cells = rx->queue.shared;
    uintptr_t       here = (uintptr_t)__builtin_frame_address(0);

    if (is_in(line, cells->primary, TERN_NQ_PRIMARY_MAX * sizeof(cells->primary[0])))
        return CELL;
    if (is_in(line, &cells->done, sizeof(cells->done)))
        return PROGRESS;
    if (is_in(line, &cells->claimed, sizeof(cells->claimed)))
        return CLAIM;
    if (is_in(line, mine->request.queue, sizeof(*mine->request.queue)))
        return LIST;
    if (is_in(line, r.mine, SIZE))
        return DATA;
    if (line > here - 65536 && line < here + 65536)
        return STACK;
    return request_of(line, mine);
}

/* How many lines each owner has, printed. */
static void sort(const struct trace *trace, const tern_request *handle, const char *what, unsigned count[OWNERS])
{
    const struct tern_notify_request *mine = tern_api_notify_request(handle);

    CHECK(trace->lines < TRACE_MOST);
    for (unsigned i = 0; i < trace->lines; i++)
        count[owner_of(trace->line[i].at, mine)]++;
    printf("%s: %u lines\n", what, trace->lines);
    for (unsigned o = 0; o < OWNERS; o++)
        printf("    %2u %s\n", count[o], owner_name[o]);
}

/* ---- the two ranks ---- */

static uint64_t *word(unsigned i)
{
    return (uint64_t *)(void *)(r.mine + 4096) + 8 * (size_t)i;
}

/* Rank 0 waits for a word of its own, puts with that tag and says in a word of rank 1 that it has. */
static void serve_puts(unsigned puts)
{
    for (uint64_t i = 0; i < puts; i++) {
        uint64_t tag;

        while ((tag = __atomic_load_n(word(0), __ATOMIC_ACQUIRE)) == 0)
            sched_yield();
        *word(0) = 0;
        turn++;
        OK(tern_put_notify_nbi(TERN_WORLD, r.region, 1, 0, &turn, sizeof(turn), (uint32_t)tag));
        OK(tern_put_u64(TERN_WORLD, r.region, 1, 4096, turn));
    }
    /* Stay out of the barrier until rank 1 has counted: the barrier copies payload that rank 1 has not copied yet. */
    while (__atomic_load_n(word(0), __ATOMIC_ACQUIRE) == 0)
        sched_yield();
}

/* Rank 1: the note with this tag is in the queue when this returns, and nothing was looked for. */
static void have_put(uint32_t tag)
{
    turn++;
    OK(tern_put_u64(TERN_WORLD, r.region, 0, 4096, tag));
    while (__atomic_load_n(word(0), __ATOMIC_ACQUIRE) != turn)
        sched_yield();
}

static void make(unsigned n)
{
    for (made = 0; made < n; made++)
        OK(tern_notify_create(TERN_WORLD, r.region, 0, 100 + made, 1, &requests[made]));
}

static void drop(void)
{
    for (unsigned i = 0; i < made; i++)
        OK(tern_request_free(&requests[i]));
    made = 0;
}

/* A request that waits, among so many others. The first turns make everything known that is kept from turn to turn. */
static void expected(unsigned n, unsigned count[OWNERS])
{
    struct trace trace;
    char         what[80];

    make(n);
    for (unsigned i = 0; i < n; i++)
        OK(tern_request_start(requests[i]));
    for (unsigned i = 0; i < 4; i++) {
        tern_request *request = requests[n / 2];

        have_put(100 + n / 2);
        trace = (struct trace){ .lines = 0 };
        trace_begin(&trace);
        OK(tern_request_wait(&request, TERN_FOREVER, NULL));
        trace_end();
        CHECK(job_differ(r.mine, &turn, sizeof(turn)) == 0);
        if (i < 3)
            OK(tern_request_start(request));
    }
    snprintf(what, sizeof(what), "a started request, of %u, until its wait returns", n);
    sort(&trace, requests[n / 2], what, count);
    drop();
}

/* A notification that comes before its request is started: what it costs to keep it, and then to find it. */
static void unexpected(unsigned keep[OWNERS], unsigned find[OWNERS])
{
    struct trace kept, found;

    make(1);
    for (unsigned i = 0; i < 4; i++) {
        have_put(100);
        kept = found = (struct trace){ .lines = 0 };
        trace_begin(&kept);
        tern_core_message_poll_notify();
        trace_end();
        trace_begin(&found);
        OK(tern_request_start(requests[0]));
        OK(tern_request_wait(&requests[0], TERN_FOREVER, NULL));
        trace_end();
    }
    sort(&kept, requests[0], "an unexpected notification, until it is kept", keep);
    sort(&found, requests[0], "its request, started then, until its wait returns", find);
    drop();
}

static void count_lines(void)
{
    unsigned alone[OWNERS] = { 0 }, many[OWNERS] = { 0 }, keep[OWNERS] = { 0 }, find[OWNERS] = { 0 };

    expected(1, alone);
    expected(MANY, many);
    unexpected(keep, find);
    for (unsigned i = 0; i < 2; i++) {
        const unsigned *count = i ? many : alone;

        SAME(count[CELL], 1);
        SAME(count[PROGRESS], 1);
        SAME(count[REQUEST], 1);
        SAME(count[OTHERS], 0);
        SAME(count[LIST], i); /* the only request is in no list */
    }
    SAME(keep[CELL], 2);
    SAME(keep[REQUEST], 0);
    SAME(find[CELL], 0);
    SAME(find[REQUEST], 2);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    OK(tern_init());
    job_region_make(&r, JOB_HOST, SIZE);
    if (tern_rank() == 0)
        serve_puts(12);
    else {
        count_lines();
        OK(tern_put_u64(TERN_WORLD, r.region, 0, 4096, 1)); /* any value but 0 */
    }
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&r);
    OK(tern_finalize());
    return 0;
}
