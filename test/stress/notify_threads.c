/* notify_threads.c: blocking notifications of several threads, with the shortest queue and next to no storage.
 *
 * Promise: where some thread of each rank starts requests for every notification, whatever the other threads wait for,
 * no sender stalls: with several sending and receiving threads on each rank, each with its own context, requests by
 * source, by tag, by both and by neither, random targets and tags, and blocking, nonblocking and immediate forms. Every
 * notification arrives exactly once. Those of a strict context to one rank with one tag arrive in order.
 *
 * A flow is a region with a thread on each rank that receives its notifications. Whenever that thread waits, requests
 * for all notifications of the flow are started. The notifications of each thread follow from the seed, so receivers
 * know what to expect. The length of a notification encodes its number. From the second round on each rank also sends
 * itself unexpected notifications, for which it starts no request until the end: it stores as many as it may and
 * refuses the rest. In the last round there are no receiving threads: requests with a count are started before anything
 * is sent, and the sending threads receive notifications while they wait for space.
 *
 * ranks: 1 2 3 4
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_CMA=off TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_LINKS=ofi TERN_OFI_DATA=0 TERN_SPIN=0 TERN_YIELDS=0
 * sanitized: 2
 */
#include <pthread.h>
#include <sched.h>

#include "job_test.h"

#define FLOWS 4
#define SENDERS 3 /* threads; thread 0 has a relaxed context */
#define KINDS 2   /* tags of a sender */
#define TAGS (SENDERS * KINDS)
#define SENT (JOB_SANITIZED ? 100u : 300u) /* by each sending thread */
#define LENGTHS 40u
#define RANKS 64
#define KEEP 2
#define UNASKED (KEEP + 2)

static struct job_region flow_region[FLOWS];
static enum { PLAIN, REFUSING, AHEAD, ROUNDS } round_number;

static tern_ctx *make(tern_order order)
{
    tern_ctx *ctx;

    OK(tern_ctx_create(tern_team_world(), order, &ctx));
    return ctx;
}

/* The next notification of a sending thread. */
struct next {
    int      to;
    unsigned flow;
    uint32_t tag;
};

static uint64_t stream_of(int source, unsigned thread)
{
    return job_seed(1 + 7919 * (uint64_t)source + 104729 * thread + 1299709 * (uint64_t)round_number);
}

static struct next draw(uint64_t *stream, unsigned thread)
{
    uint64_t number = job_random(stream) >> 16;

    return (struct next){ .to = (int)(number % (unsigned)tern_size()),
                          .flow = (unsigned)(number / 64 % FLOWS),
                          .tag = thread * KINDS + (uint32_t)(number / 4096 % KINDS) };
}

/* A rank that refuses its own notifications cannot send more of them to itself. */
static bool is_sent(const struct next *next, int source)
{
    return round_number == PLAIN || next->to != source;
}

/* ---- sending ---- */

static void send_immediate(tern_ctx *ctx, const struct next *next, uint64_t place, const void *data, size_t len)
{
    tern_event      event;
    const tern_opts opts = TERN_OPTS(.flags = TERN_NOTIFY | TERN_IMMEDIATE, .event = &event, .tag = next->tag);
    tern_status     st;

    while ((st = tern_put_with(ctx, flow_region[next->flow].region, next->to, place, data, len, &opts)) == TERN_AGAIN) {
        OK(tern_progress(ctx));
        sched_yield();
    }
    OK(st);
    OK(tern_event_wait(&event, TERN_FOREVER));
}

static void send_one(tern_ctx *ctx, const struct next *next, size_t len, unsigned form)
{
    static unsigned char data[LENGTHS];
    tern_region         *region = flow_region[next->flow].region;
    uint64_t             place = ((uint64_t)tern_rank() * TAGS + next->tag) * LENGTHS; /* of this thread alone */
    unsigned char        sink[LENGTHS];

    if (len == 0 && form % 2)
        OK(tern_notify(ctx, region, next->to, next->tag));
    else if (form == 0)
        OK(tern_get_notify(ctx, region, next->to, place, sink, len, next->tag));
    else if (form == 1)
        send_immediate(ctx, next, place, data, len);
    else if (form == 2)
        OK(tern_put_notify_nbi(ctx, region, next->to, place, data, len, next->tag));
    else
        OK(tern_put_notify(ctx, region, next->to, place, data, len, next->tag));
#if JOB_TSAN
    /* The next put of a relaxed context may write the same bytes, which all puts of the test fill with zeros, while a
     * receiver copies the inline payload of this one. This is a race of the program, which the thread sanitizer would
     * report. */
    if (form == 2)
        OK(tern_quiet(ctx));
#endif
}

static void *sender(void *arg)
{
    unsigned  thread = (unsigned)(uintptr_t)arg, numbers[RANKS][FLOWS][TAGS] = { 0 };
    uint64_t  stream = stream_of(tern_rank(), thread), dice = stream + 1;
    tern_ctx *ctx = make(thread == 0 ? TERN_RELAXED : TERN_STRICT);

    for (unsigned i = 0; i < SENT; i++) {
        struct next next = draw(&stream, thread);
        unsigned   *number = &numbers[next.to][next.flow][next.tag];

        if (!is_sent(&next, tern_rank()))
            continue;
        send_one(ctx, &next, (*number)++ % LENGTHS, (unsigned)(job_random(&dice) >> 16) % 6);
        if (job_random(&dice) >> 16 & 1)
            OK(tern_quiet(ctx));
    }
    OK(tern_ctx_free(ctx));
    return NULL;
}

/* ---- receiving ---- */

/* The notifications that have arrived from a source with a tag, by length, and those still expected. */
struct tally {
    unsigned count, lengths[LENGTHS], expected;
};

struct receiver {
    unsigned      flow;
    tern_ctx     *ctx;
    tern_request *request[RANKS * TAGS];
    size_t        requests;
    struct tally  tally[RANKS][TAGS];
    unsigned      expected;
    pthread_t     thread;
};

static void expect(struct receiver *r)
{
    for (int source = 0; source < tern_size(); source++)
        for (unsigned thread = 0; thread < SENDERS; thread++) {
            uint64_t stream = stream_of(source, thread);

            for (unsigned i = 0; i < SENT; i++) {
                struct next next = draw(&stream, thread);

                if (next.to != tern_rank() || next.flow != r->flow || !is_sent(&next, source))
                    continue;
                r->tally[source][next.tag].expected++;
                r->expected++;
            }
        }
}

/* How many notifications of the flow a request matches in all. */
static unsigned takes(const struct receiver *r, int source, int64_t tag)
{
    unsigned sum = 0;

    for (int s = 0; s < tern_size(); s++)
        for (int64_t t = 0; t < TAGS; t++)
            if ((source == TERN_ANY_SOURCE || source == s) && (tag == TERN_ANY_TAG || tag == t))
                sum += r->tally[s][t].expected;
    return sum;
}

static void new_request(struct receiver *r, int source, int64_t tag)
{
    unsigned each = round_number == AHEAD ? takes(r, source, tag) : 1;

    if (each == 0)
        return;
    OK(tern_notify_create(r->ctx, flow_region[r->flow].region, source, tag, each, &r->request[r->requests]));
    OK(tern_request_start(r->request[r->requests++]));
}

/* Start requests that together match every notification of the flow. */
static void request_all(struct receiver *r)
{
    bool by_source = r->flow & 1, by_tag = r->flow & 2;

    for (int source = 0; source < (by_source ? tern_size() : 1); source++)
        for (int64_t tag = 0; tag < (by_tag ? TAGS : 1); tag++)
            new_request(r, by_source ? source : TERN_ANY_SOURCE, by_tag ? tag : TERN_ANY_TAG);
}

static void count(struct receiver *r, const tern_request_info *info)
{
    struct tally *tally;

    CHECK(info->source >= 0 && info->source < tern_size() && info->tag < TAGS && info->len < LENGTHS);
    tally = &r->tally[info->source][info->tag];
    if (info->tag / KINDS > 0) /* of a strict context */
        SAME(info->len, tally->count % LENGTHS);
    tally->count++;
    tally->lengths[info->len]++;
}

/* Receive one notification, by one of the ways to wait, and start its request again. */
static void receive(struct receiver *r, unsigned way)
{
    tern_event        event = TERN_EVENT_INIT;
    tern_request_info info;
    tern_status       st;
    size_t            index = 0;

    if (way == 0) {
        while ((st = tern_request_test_any(r->request, r->requests, &index, &info)) == TERN_PENDING)
            sched_yield();
        OK(st);
    } else if (way == 1 && r->requests == 1) {
        OK(tern_request_event(r->request[0], &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        OK(tern_request_wait(&r->request[0], TERN_FOREVER, &info));
    } else if (way == 2 && r->requests == 1) {
        OK(tern_request_wait(&r->request[0], TERN_FOREVER, &info));
    } else {
        OK(tern_request_wait_any(r->request, r->requests, TERN_FOREVER, &index, &info));
    }
    count(r, &info);
    OK(tern_request_start(r->request[index]));
}

/* Check that each number has arrived once, and each length as often as the numbers say. */
static void check(const struct receiver *r)
{
    for (int source = 0; source < tern_size(); source++)
        for (unsigned tag = 0; tag < TAGS; tag++) {
            const struct tally *tally = &r->tally[source][tag];

            SAME(tally->count, tally->expected);
            for (unsigned len = 0; len < LENGTHS; len++)
                SAME(tally->lengths[len], (tally->expected + LENGTHS - 1 - len) / LENGTHS);
        }
}

static void *receiver(void *arg)
{
    struct receiver *r = arg;
    uint64_t         dice = job_seed(1 + r->flow);

    for (unsigned i = 0; i < r->expected; i++)
        receive(r, (unsigned)(job_random(&dice) >> 16) % 4);
    check(r);
    return NULL;
}

static struct receiver *receiver_make(unsigned flow)
{
    struct receiver *r = job_new(sizeof(*r));

    r->flow = flow;
    r->ctx = make(TERN_RELAXED);
    expect(r);
    request_all(r);
    return r;
}

static void receiver_drop(struct receiver *r)
{
    for (size_t i = 0; i < r->requests; i++) {
        /* No notification has arrived that was not sent. */
        RETURNS(round_number == AHEAD ? TERN_ERR_STATE : TERN_PENDING, tern_request_test(&r->request[i], NULL));
        OK(tern_request_free(&r->request[i]));
    }
    OK(tern_ctx_free(r->ctx));
    free(r);
}

static void storm(void)
{
    struct receiver *receivers[FLOWS];
    pthread_t        senders[SENDERS];

    for (unsigned flow = 0; flow < FLOWS; flow++)
        receivers[flow] = receiver_make(flow);
    OK(tern_barrier(TERN_WORLD));
    for (uintptr_t thread = 0; thread < SENDERS; thread++)
        CHECK(pthread_create(&senders[thread], NULL, sender, (void *)thread) == 0);
    for (unsigned flow = 0; flow < FLOWS && round_number != AHEAD; flow++)
        CHECK(pthread_create(&receivers[flow]->thread, NULL, receiver, receivers[flow]) == 0);
    for (unsigned thread = 0; thread < SENDERS; thread++)
        CHECK(pthread_join(senders[thread], NULL) == 0);
    for (unsigned flow = 0; flow < FLOWS; flow++)
        if (round_number == AHEAD)
            OK(tern_request_wait_all(receivers[flow]->request, receivers[flow]->requests, TERN_FOREVER, NULL, NULL));
        else
            CHECK(pthread_join(receivers[flow]->thread, NULL) == 0);
    OK(tern_barrier(TERN_WORLD));
    for (unsigned flow = 0; flow < FLOWS; flow++)
        receiver_drop(receivers[flow]);
}

/* The storm of notifications, while this rank stores and refuses its own. */
static void storm_refusing(void)
{
    tern_region  *region;
    tern_request *unasked;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    for (int i = 0; i < UNASKED; i++)
        OK(tern_notify(TERN_WORLD, region, tern_rank(), 0));
    OK(tern_barrier(TERN_WORLD));
    storm();
    OK(tern_notify_create(TERN_WORLD, region, tern_rank(), 0, UNASKED, &unasked));
    OK(tern_request_start(unasked));
    OK(tern_request_wait(&unasked, TERN_FOREVER, NULL));
    OK(tern_request_free(&unasked));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

int main(void)
{
    setenv("TERN_NOTIFY_QUEUE", "4", 1);
    setenv("TERN_NOTIFY_KEEP", "2", 1);
    OK(tern_init());
    CHECK(tern_size() <= RANKS);
    for (unsigned flow = 0; flow < FLOWS; flow++)
        job_region_make(&flow_region[flow], flow % 3 ? JOB_REGISTERED : JOB_HOST, RANKS * TAGS * LENGTHS);
    storm();
    for (round_number = REFUSING; round_number < ROUNDS; round_number++)
        storm_refusing();
    for (unsigned flow = 0; flow < FLOWS; flow++)
        job_region_drop(&flow_region[flow]);
    OK(tern_finalize());
    return 0;
}
