/* snippets_messages.c: the examples in the manual pages of messages, notifications, counters, atomic operations,
 * accumulates and mutexes. See snippets.c.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>

#pragma GCC diagnostic ignored "-Wunused-function"

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

void compute(void);
void use(const void *data, size_t len);

/* ---- clients of active messages ---- */

/* tern_am_client_create, tern_am_client, tern_am_client_opts, TERN_AM_CLIENT_OPTS, tern_am_client_handler: Give a
 * library handler ids of its own. The library answers while the program computes. */
static tern_am_client *open_library(tern_am_handler on_task, tern_am_handler on_result, void *state)
{
    const tern_am_client_handler handlers[] = { { 0, on_task, state }, { 1, on_result, state } };
    tern_am_client              *client;

    CHECK(tern_am_client_create(
        TERN_WORLD, &TERN_AM_CLIENT_OPTS(.name = "tasks", .handlers = handlers, .count = 2, .by_helper = 1), &client));
    return client;
}

/* tern_am_client_short, tern_am_client_request, tern_am_client_request_with, tern_am_client_prepare: Send messages of a
 * client: arguments, a payload, a payload that a counter triggers, and a payload that is written in place. */
static void send_task(tern_am_client *client, int rank, const void *task, size_t len, tern_counter *ready)
{
    const uint32_t       args[] = { 4 };
    tern_am              message = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = 0, .payload = task, .len = len);
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = len, .max = len);
    tern_am_prepared     prepared;

    CHECK(tern_am_client_short(client, TERN_WORLD, rank, 0, args, 1));
    CHECK(tern_am_client_request(client, TERN_WORLD, rank, &message));
    CHECK(tern_am_client_request_with(client, TERN_WORLD, rank, &message, &TERN_OPTS(.when = ready, .threshold = 1)));
    CHECK(tern_am_client_prepare(client, TERN_WORLD, rank, &opts, &prepared));
    memcpy(prepared.addr, task, len);
    CHECK(tern_am_commit(&prepared, 0, NULL, 0, len));
}

/* tern_am_client_register, tern_am_client_free: Register another handler of a client, and free the client. */
static void close_library(tern_am_client *client, tern_am_handler on_last)
{
    CHECK(tern_am_client_register(client, 2, on_last, NULL));
    CHECK(tern_barrier(TERN_WORLD)); /* before any rank sends to it */
    CHECK(tern_am_client_short(client, TERN_WORLD, 0, 2, NULL, 0));
    CHECK(tern_am_client_free(client)); /* after the message was handled */
}

/* ---- notified access and signals ---- */

/* tern_notify_create, tern_request_start, tern_request_wait, tern_request_free, tern_put_notify, tern_request: Wait for
 * a block from the left neighbour, while this rank sends one to the right. */
static void shift(tern_region *region, int left, int right, const void *block, size_t len)
{
    tern_request     *arrived;
    tern_request_info info;

    CHECK(tern_notify_create(TERN_WORLD, region, left, 7, 1, &arrived)); /* one notification with tag 7 */
    CHECK(tern_request_start(arrived));
    CHECK(tern_put_notify(TERN_WORLD, region, right, 0, block, len, 7));
    CHECK(tern_request_wait(&arrived, TERN_FOREVER, &info));
    printf("rank %d put %llu bytes\n", info.source, (unsigned long long)info.len);
    CHECK(tern_request_free(&arrived));
}

/* tern_notify, tern_get_notify, tern_get_notify_nbi: Fetch data, and tell its owner that it may be overwritten. */
static void consume(tern_region *region, int rank, void *dst, size_t len)
{
    CHECK(tern_get_notify(TERN_WORLD, region, rank, 0, dst, len, 1));
    CHECK(tern_get_notify_nbi(TERN_WORLD, region, rank, len, dst, len, 2));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_notify(TERN_WORLD, region, rank, 3)); /* no data: everything has been fetched */
}

/* tern_put_notify_nb, tern_get_notify_nb, TERN_NOTIFY: Start notified accesses, with events. A notified access of any
 * other kind is a call with options. */
static void notified_nb(tern_region *region, int rank, void *buffer, size_t len, const tern_strided *block)
{
    tern_event events[3];
    tern_opts  opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = 9, .event = &events[2]);

    CHECK(tern_put_notify_nb(TERN_WORLD, region, rank, 0, buffer, len, 7, &events[0]));
    CHECK(tern_get_notify_nb(TERN_WORLD, region, rank, len, buffer, len, 8, &events[1]));
    CHECK(tern_put_strided_with(TERN_WORLD, region, rank, block, &opts));
    CHECK(tern_event_wait_all(events, 3, TERN_FOREVER));
}

/* tern_notify_probe: Look for a notification without taking it. */
static bool has_arrived(tern_request *request)
{
    tern_request_info info;

    return tern_notify_probe(request, &info) == TERN_OK && info.len > 0;
}

/* tern_signal, TERN_SIGNAL, tern_signal_op, tern_put_signal: Put a block, and add 1 to a word of the target. */
static void put_and_count(tern_region *region, int rank, uint64_t word, const void *block, size_t len)
{
    tern_signal signal = TERN_SIGNAL(.op = TERN_SIGNAL_ADD, .region = region, .offset = word, .value = 1);

    CHECK(tern_put_signal(TERN_WORLD, region, rank, 0, block, len, &signal));
}

/* tern_signal_wait, tern_signal_test, tern_signal_event, tern_compare: Wait until four puts with signal have arrived.
 * */
static void four_arrived(tern_region *region, uint64_t word, tern_event *event)
{
    uint64_t seen;

    if (tern_signal_test(TERN_WORLD, region, word, TERN_GE, 4, &seen) == TERN_PENDING)
        CHECK(tern_signal_wait(TERN_WORLD, region, word, TERN_GE, 4, TERN_FOREVER, &seen));
    CHECK(tern_signal_event(TERN_WORLD, region, word, TERN_GE, 8, event)); /* for the next four */
}

/* tern_signal_wait_u32, tern_signal_test_u32, tern_signal_event_u32: Wait for a signal of 4 bytes, which the source
 * updates with tern_signal.bytes = 4. */
static void wait_for_int(tern_region *region, uint64_t word, tern_event *event)
{
    uint32_t seen;

    if (tern_signal_test_u32(TERN_WORLD, region, word, TERN_EQ, 1, &seen) == TERN_PENDING)
        CHECK(tern_signal_wait_u32(TERN_WORLD, region, word, TERN_EQ, 1, TERN_FOREVER, &seen));
    CHECK(tern_signal_event_u32(TERN_WORLD, region, word, TERN_EQ, 2, event)); /* for the next signal */
}

/* ---- counters ---- */

/* tern_counter_create, tern_counter_set, tern_counter_add, tern_counter_event, tern_counter_cancel: Start a put when
 * the counter reaches 2, and wait for it. */
static void triggered(tern_region *region, int rank, const void *src, size_t len)
{
    tern_counter *ready;
    tern_event    event;
    tern_opts     opts = TERN_OPTS_INIT;
    size_t        cancelled;

    CHECK(tern_counter_create(TERN_WORLD, &ready));
    opts.when = ready;
    opts.threshold = 2;
    opts.event = &event;
    CHECK(tern_put_with(TERN_WORLD, region, rank, 0, src, len, &opts));
    CHECK(tern_counter_set(ready, 1));
    CHECK(tern_counter_add(ready, 1)); /* the put starts */
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_counter_event(ready, 3, &event));   /* an event for a later threshold */
    CHECK(tern_counter_cancel(ready, &cancelled)); /* operations that still wait: none */
    CHECK(tern_counter_free(ready));
}

/* tern_counter_add_with, tern_triggered_cancel: Let one counter advance another, unless it is cancelled first. */
static void chain(tern_counter *first, tern_counter *second)
{
    tern_event event;
    tern_opts  opts = TERN_OPTS(.when = first, .threshold = 10, .event = &event);

    CHECK(tern_counter_add_with(second, 1, &opts));
    if (tern_triggered_cancel(&event) == TERN_ERR_STATE)
        printf("the first counter has already reached 10\n");
}

/* ---- atomic operations, accumulates, mutexes ---- */

/* tern_atomic_add, tern_atomic_put, tern_atomic_fadd, tern_atomic_get, tern_atomic_domain_create, tern_atomic_op:
 * Count in a domain of 64-bit integers. */
static uint64_t count(tern_region *region)
{
    tern_atomic_domain *domain;
    uint64_t            before;

    CHECK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD | TERN_ATOMIC_FADD, 0, &domain));
    CHECK(tern_atomic_add(TERN_WORLD, domain, region, 0, 0, (uint64_t)1));
    CHECK(tern_atomic_fadd(TERN_WORLD, domain, region, 0, 0, 1, &before));
    CHECK(tern_atomic_domain_free(domain));
    return before;
}

/* tern_atomic_cas: Raise a shared maximum. */
static void raise_maximum(tern_atomic_domain *domain, tern_region *region, int64_t mine)
{
    int64_t seen = 0;

    while (seen < mine) {
        int64_t expected = seen;

        CHECK(tern_atomic_cas(TERN_WORLD, domain, region, 0, 0, &seen, mine));
        if (seen == expected)
            break; /* the value was as expected, and is now mine */
    }
}

/* tern_fadd, tern_swap, tern_cas: Take tickets without a domain. */
static uint64_t ticket(tern_region *region)
{
    uint64_t mine, previous, expected = 0;

    CHECK(tern_fadd(TERN_WORLD, region, 0, 0, 1, &mine));
    CHECK(tern_swap(TERN_WORLD, region, 0, 8, mine, &previous));
    CHECK(tern_cas(TERN_WORLD, region, 0, 16, &expected, mine)); /* expected is 0 if this rank was the first */
    return mine;
}

/* tern_atomic_args, TERN_ATOMIC_ARGS, tern_atomic, tern_atomic_nb, tern_atomic_nbi, tern_atomic_with, TERN_RELEASE:
 * Describe an operation, and execute it in several ways. */
static void atomics(tern_atomic_domain *domain, tern_region *region, int rank)
{
    uint64_t         one = 1, before;
    tern_event       event;
    tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &one, .result = &before);
    tern_opts        opts = TERN_OPTS(.flags = TERN_RELEASE, .event = &event); /* after all earlier operations */

    CHECK(tern_atomic(TERN_WORLD, domain, region, rank, 0, &args));
    CHECK(tern_atomic_nb(TERN_WORLD, domain, region, rank, 0, &args, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_atomic_nbi(TERN_WORLD, domain, region, rank, 0, &args));
    CHECK(tern_atomic_with(TERN_WORLD, domain, region, rank, 0, &args, &opts));
    CHECK(tern_quiet(TERN_WORLD));
    args.type = TERN_UINT64; /* without a domain, the description has the type */
    CHECK(tern_atomic(TERN_WORLD, NULL, region, rank, 0, &args));
}

/* tern_atomic_domain_info, tern_atomic_mechanism, tern_atomic_info: Print how a domain works. */
static void mechanism(tern_atomic_domain *domain)
{
    tern_atomic_info info;

    CHECK(tern_atomic_domain_info(domain, &info));
    printf("%s: %s\n", info.name, info.why);
    if (info.mechanism == TERN_ATOMIC_NETWORK)
        printf("do not access these values by loads and stores\n");
}

/* tern_acc, tern_get_acc, tern_acc_args, TERN_ACC_ARGS, tern_reduction, tern_type: Add an array to that of another
 * rank, and fetch what was there. */
static void add_arrays(tern_region *region, int rank, double *values, size_t n)
{
    const double        half = 0.5;
    const tern_acc_args sum = TERN_ACC_ARGS(.type = TERN_DOUBLE, .op = TERN_SUM, .factor = &half);
    const tern_acc_args max = TERN_ACC_ARGS(.type = TERN_DOUBLE, .op = TERN_MAX);

    CHECK(tern_acc(TERN_WORLD, region, rank, 0, values, n * sizeof(double), &sum));     /* target += 0.5 * values */
    CHECK(tern_get_acc(TERN_WORLD, region, rank, 0, values, n * sizeof(double), &max)); /* values = what was there */
}

/* tern_acc_with, tern_get_acc_with: Start accumulates with options: one notifies its target, one fills an event. */
static void add_with(tern_region *region, int rank, int64_t *values, size_t len, tern_event *event)
{
    const tern_acc_args sum = TERN_ACC_ARGS(.type = TERN_INT64);

    CHECK(tern_acc_with(TERN_WORLD, region, rank, 0, values, len,
                        &TERN_OPTS(.acc = &sum, .flags = TERN_NOTIFY, .tag = 4)));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_get_acc_with(TERN_WORLD, region, rank, 0, values, len, &TERN_OPTS(.acc = &sum, .event = event)));
}

/* tern_acc_vector, tern_acc_indexed, tern_acc_strided, tern_get_acc_vector, tern_get_acc_indexed, tern_get_acc_strided:
 * Accumulate data of every shape. The lists are those of the corresponding puts. */
static void add_shapes(tern_region *region, int rank, const tern_vector *vector, const tern_indexed *list,
                       const tern_strided *block)
{
    const tern_acc_args sum = TERN_ACC_ARGS(.type = TERN_DOUBLE);

    CHECK(tern_acc_vector(TERN_WORLD, region, rank, vector, &sum));
    CHECK(tern_acc_indexed(TERN_WORLD, region, rank, list, &sum));
    CHECK(tern_acc_strided(TERN_WORLD, region, rank, block, &sum));
    CHECK(tern_get_acc_vector(TERN_WORLD, region, rank, vector, &sum)); /* local memory gets the previous values */
    CHECK(tern_get_acc_indexed(TERN_WORLD, region, rank, list, &sum));
    CHECK(tern_get_acc_strided(TERN_WORLD, region, rank, block, &sum));
}

/* tern_acc_vector_with, tern_acc_indexed_with, tern_acc_strided_with, tern_get_acc_vector_with,
 * tern_get_acc_indexed_with, tern_get_acc_strided_with: Start accumulates of every shape, which tern_quiet completes.
 * */
static void add_shapes_with(tern_region *region, int rank, const tern_vector *vector, const tern_indexed *list,
                            const tern_strided *block)
{
    const tern_acc_args sum = TERN_ACC_ARGS(.type = TERN_DOUBLE);
    const tern_opts     opts = TERN_OPTS(.acc = &sum);

    CHECK(tern_acc_vector_with(TERN_WORLD, region, rank, vector, &opts));
    CHECK(tern_acc_indexed_with(TERN_WORLD, region, rank, list, &opts));
    CHECK(tern_acc_strided_with(TERN_WORLD, region, rank, block, &opts));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_get_acc_vector_with(TERN_WORLD, region, rank, vector, &opts));
    CHECK(tern_get_acc_indexed_with(TERN_WORLD, region, rank, list, &opts));
    CHECK(tern_get_acc_strided_with(TERN_WORLD, region, rank, block, &opts));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_mutex_try, tern_mutex_lock, tern_mutex_unlock, tern_mutexes: Do something else while a mutex is held. */
static void critical(tern_mutexes *mutexes)
{
    tern_status st;

    while ((st = tern_mutex_try(TERN_WORLD, mutexes, 0, 0, TERN_NOW)) == TERN_PENDING)
        compute();
    CHECK(st);
    compute(); /* the context holds mutex 0 of rank 0 */
    CHECK(tern_mutex_unlock(TERN_WORLD, mutexes, 0, 0));
}

/* ---- active messages ---- */

#define SUM_ID 1
#define ANSWER_ID 2

/* tern_am_event, tern_am_handler, tern_am_u64, tern_am_token, tern_am_reply: A handler that adds an argument to a
 * total, and replies with the total. user points to the total. */
static void sum_handler(const tern_am_event *event, void *user)
{
    uint64_t *total = user;

    *total += tern_am_u64(&event->args[0]);
    const uint32_t args[] = { TERN_AM_U64(*total) };
    const tern_am  reply = TERN_AM(.kind = TERN_AM_SHORT, .handler = ANSWER_ID, .nargs = 2, .args = args);
    CHECK(tern_am_reply(event->token, &reply));
}

/* tern_am_register, tern_am_short, TERN_AM_U64: Register a handler at all ranks, and send a message to rank 0. */
static void send_short(uint64_t *total, uint64_t value)
{
    const uint32_t args[] = { TERN_AM_U64(value) };

    CHECK(tern_am_register(SUM_ID, sum_handler, total));
    CHECK(tern_barrier(TERN_WORLD)); /* from now on, every rank has the handler */
    CHECK(tern_am_short(TERN_WORLD, 0, SUM_ID, args, 2));
}

/* tern_am_medium, tern_am_max_medium, tern_am_max_long: Send a payload that is not longer than the queues permit. */
static void send_medium(int rank, unsigned id, const void *data, size_t len)
{
    if (len > tern_am_max_medium(TERN_WORLD, rank, 0))
        printf("send it as a long message, of up to %zu bytes\n", tern_am_max_long(TERN_WORLD, rank, 0));
    else
        CHECK(tern_am_medium(TERN_WORLD, rank, id, NULL, 0, data, len));
}

/* tern_am, TERN_AM, tern_am_kind, tern_am_request, tern_am_request_with: Put a payload into a region and run a handler;
 * then do it once more when a counter reaches 1. */
static void send_long(tern_region *region, int rank, unsigned id, const void *data, size_t len, tern_counter *ready)
{
    tern_am message = TERN_AM(.kind = TERN_AM_LONG, .handler = (uint16_t)id, .payload = data, .len = len,
                              .region = region, .offset = 0);

    CHECK(tern_am_request(TERN_WORLD, rank, &message));
    CHECK(tern_am_request_with(TERN_WORLD, rank, &message, &TERN_OPTS(.when = ready, .threshold = 1)));
}

/* tern_am_prepare, tern_am_commit, tern_am_cancel, tern_am_prepared, tern_am_prepare_opts, TERN_AM_PREPARE_OPTS: Write
 * numbers directly into the queue of the target. */
static void send_prepared(int rank, unsigned id, const uint32_t *numbers, size_t n)
{
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = 64, .max = n * sizeof(*numbers));
    tern_am_prepared     space;

    CHECK(tern_am_prepare(TERN_WORLD, rank, &opts, &space));
    if (n == 0) {
        CHECK(tern_am_cancel(&space));
        return;
    }
    if (n > space.len / sizeof(*numbers))
        n = space.len / sizeof(*numbers);
    memcpy(space.addr, numbers, n * sizeof(*numbers));
    CHECK(tern_am_commit(&space, id, NULL, 0, n * sizeof(*numbers)));
}

/* tern_am_prepare_reply: A handler that replies with a copy of the payload. */
static void echo_handler(const tern_am_event *event, void *user)
{
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = event->len, .max = event->len);
    tern_am_prepared     space;

    CHECK(tern_am_prepare_reply(event->token, &opts, &space));
    memcpy(space.addr, event->payload, event->len);
    CHECK(tern_am_commit(&space, ANSWER_ID, NULL, 0, event->len));
    (void)user;
}

/* ---- tagged messages ---- */

/* tern_ssend, tern_issend, tern_isend: Learn that a message has been matched. */
static void synchronous(int rank, const void *buf, size_t len)
{
    tern_request *send;

    CHECK(tern_ssend(TERN_WORLD, rank, 5, buf, len)); /* returns when a receive has matched */
    CHECK(tern_issend(TERN_WORLD, rank, 5, buf, len, &send));
    compute();
    CHECK(tern_request_wait(&send, TERN_FOREVER, NULL));
}

/* tern_irecv_masked, TERN_ANY_SOURCE, tern_irecv: Receive a message whose tag has the value 3 in its upper bits. */
static void receive_class(void *buf, size_t size)
{
    tern_request     *receive;
    tern_request_info info;

    CHECK(tern_irecv_masked(TERN_WORLD, TERN_ANY_SOURCE, 3 << 16, 0xffff0000, buf, size, &receive));
    CHECK(tern_request_wait(&receive, TERN_FOREVER, &info));
    printf("tag %llx from rank %d\n", (unsigned long long)info.tag, info.source);
}

/* tern_send_create, tern_recv_create, tern_request_start, tern_request_wait_all: Exchange the same buffers in every
 * step with persistent requests. */
static void persistent(int rank, const void *out, void *in, size_t len, int steps)
{
    tern_request *requests[2];

    CHECK(tern_recv_create(TERN_WORLD, rank, 0, in, len, &requests[0]));
    CHECK(tern_send_create(TERN_WORLD, rank, 0, out, len, &requests[1]));
    while (steps-- > 0) {
        CHECK(tern_request_start(requests[0]));
        CHECK(tern_request_start(requests[1]));
        CHECK(tern_request_wait_all(requests, 2, TERN_FOREVER, NULL, NULL));
    }
    CHECK(tern_request_free(&requests[0]));
    CHECK(tern_request_free(&requests[1]));
}

/* tern_ssend_create, tern_recv_create_masked: Create persistent requests for a synchronous send, and for a receive by
 * the lower bits of the tag. */
static void persistent_variants(int rank, const void *out, void *in, size_t len, tern_request *requests[2])
{
    CHECK(tern_ssend_create(TERN_WORLD, rank, 0x100, out, len, &requests[0]));
    CHECK(tern_recv_create_masked(TERN_WORLD, rank, 0, 0xff, in, len, &requests[1]));
}

/* tern_probe, tern_probe_masked: Allocate a buffer for a message of unknown length. */
static void *receive_any_length(size_t *len)
{
    tern_request_info info;
    void             *buf;

    if (tern_probe_masked(TERN_WORLD, TERN_ANY_SOURCE, 1, 0xff, TERN_NOW, &info) == TERN_PENDING)
        CHECK(tern_probe(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, TERN_FOREVER, &info));
    buf = malloc(info.len);
    CHECK(tern_recv(TERN_WORLD, info.source, info.tag, buf, info.len, NULL));
    *len = info.len;
    return buf;
}

/* tern_mprobe, tern_mrecv, tern_message: Receive a message of unknown length. No other receive can take it in between.
 * */
static void *receive_matched(size_t *len)
{
    tern_message     *message;
    tern_request_info info;
    void             *buf;

    CHECK(tern_mprobe(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, TERN_FOREVER, &message, &info));
    buf = malloc(info.len);
    CHECK(tern_mrecv(&message, buf, info.len, NULL));
    *len = info.len;
    return buf;
}

/* tern_mprobe_masked, tern_imrecv: Start to receive a message, selected by the lower bits of its tag, if there is one.
 * */
static tern_request *start_if_there(void *buf, size_t size)
{
    tern_message *message;
    tern_request *request;

    if (tern_mprobe_masked(TERN_WORLD, TERN_ANY_SOURCE, 2, 0xff, TERN_NOW, &message, NULL) == TERN_PENDING)
        return NULL;
    CHECK(tern_imrecv(&message, buf, size, &request));
    return request;
}
