/* snippets.c: the examples in the manual pages of section 3. scripts/man-pages.awk shows the body of each function on
 * the pages of the calls that its comment names, or that it uses. scripts/check-headers compiles this file; nothing
 * calls the functions.
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

/* ---- the job, teams and contexts ---- */

/* tern_version: Compare the version of the library with that of the headers. */
static void version(void)
{
    if (strcmp(tern_version(), TERN_VERSION) != 0)
        printf("compiled with Tern %s, running with Tern %s\n", TERN_VERSION, tern_version());
}

/* tern_clock, tern_deadline_in, tern_deadline, TERN_FOREVER: Wait for an event for half a second, and then give up. */
static tern_status deadline(tern_event *event)
{
    int64_t       start = tern_clock();
    tern_deadline end = tern_deadline_in(0.5);
    tern_status   st = tern_event_wait(event, end);

    if (st == TERN_ERR_TIMEOUT)
        printf("not complete after %lld ns\n", (long long)(tern_clock() - start));
    return st;
}

/* tern_peer_check: Go on without a rank that has died (option TERN_ON_FAILURE=return). */
static void survive(tern_region *region, int rank, const void *data, size_t len)
{
    if (tern_put(TERN_WORLD, region, rank, 0, data, len) == TERN_ERR_PEER && tern_peer_check(rank) == TERN_ERR_PEER)
        printf("rank %d has died: %s\n", rank, tern_error_detail());
}

/* tern_team, tern_team_node, tern_team_rank, tern_team_size, tern_team_translate: Find the first rank of this node, and
 * its rank in the job. */
static int first_of_node(void)
{
    tern_team *node = tern_team_node();
    int        leader;

    CHECK(tern_team_translate(node, 0, tern_team_world(), &leader));
    if (tern_team_rank(node) == 0)
        printf("rank %d leads %d ranks\n", leader, tern_team_size(node));
    return leader;
}

/* tern_order, tern_ctx_create, tern_ctx_set_timeout, tern_ctx_team, tern_ctx_order: Create an ordered context for a
 * thread, whose blocking calls give up after ten seconds. */
static void own_context(void)
{
    tern_ctx *ctx;

    CHECK(tern_ctx_create(tern_team_world(), TERN_STRICT, &ctx));
    CHECK(tern_ctx_set_timeout(ctx, 10.0));
    if (tern_ctx_team(ctx) == tern_team_world() && tern_ctx_order(ctx) == TERN_STRICT)
        printf("operations to one rank stay in order\n");
    CHECK(tern_ctx_free(ctx));
}

/* tern_world, TERN_WORLD: Use the context of all ranks. */
static void world(void)
{
    CHECK(tern_barrier(TERN_WORLD)); /* TERN_WORLD is tern_world */
}

/* tern_progress: Let messages arrive while the program computes. */
static void long_loop(void)
{
    for (int i = 0; i < 1000; i++) {
        compute();
        CHECK(tern_progress(TERN_WORLD));
    }
}

static bool is_ten(void *arg)
{
    return *(int *)arg >= 10;
}

/* tern_wait_until: Wait until handlers of active messages have counted to ten. is_ten returns *(int *)arg >= 10. */
static void wait_for_ten(int *counted)
{
    tern_status st = tern_wait_until(TERN_WORLD, is_ten, counted, tern_deadline_in(5));

    if (st == TERN_ERR_TIMEOUT)
        printf("only %d arrived\n", *counted);
}

/* ---- regions ---- */

/* tern_memory, tern_region_opts, TERN_REGION_OPTS: Keep the parts of a region in the files /tmp/parts.0, /tmp/parts.1
 * and so on. */
static tern_region *in_files(void)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = "/tmp/parts");
    tern_region     *region;

    CHECK(tern_region_create(TERN_WORLD, 1 << 20, &opts, &region));
    return region;
}

/* tern_region_find, tern_region_size, tern_region_path: Put to an address in the address space of another rank. */
static void put_to_address(int rank, const void *address, const void *data, size_t len)
{
    tern_region *region;
    uint64_t     offset;

    CHECK(tern_region_find(TERN_WORLD, rank, address, &region, &offset));
    printf("%llu bytes, reached through %s\n", (unsigned long long)tern_region_size(region, rank),
           tern_region_path(region, rank));
    CHECK(tern_put(TERN_WORLD, region, rank, offset, data, len));
}

/* tern_cache_invalidate: Free a buffer while the option TERN_OFI_CACHE is set. */
static void release(void *buffer, size_t len)
{
    CHECK(tern_cache_invalidate(buffer, len));
    free(buffer);
}

/* ---- put and get ---- */

/* tern_get_nb, tern_put_nb, tern_event_wait, tern_event: Compute while a get is outstanding. */
static void overlap(tern_region *region, int rank, double *block, size_t n)
{
    tern_event event;

    CHECK(tern_get_nb(TERN_WORLD, region, rank, 0, block, n * sizeof(*block), &event));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    use(block, n * sizeof(*block));
}

/* tern_get_nbi, tern_put_nbi, tern_quiet: Fetch a block from every rank, and wait for all of them together. */
static void fetch_all(tern_region *region, char *blocks, size_t len)
{
    for (int rank = 0; rank < tern_size(); rank++)
        CHECK(tern_get_nbi(TERN_WORLD, region, rank, 0, blocks + (size_t)rank * len, len));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_put_with, tern_opts, TERN_OPTS, TERN_IMMEDIATE: Put only if there is room now, and learn when the source may be
 * reused. */
static bool try_put(tern_region *region, int rank, const void *src, size_t len, tern_event *local, tern_event *done)
{
    tern_opts   opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .local = local, .event = done);
    tern_status st = tern_put_with(TERN_WORLD, region, rank, 0, src, len, &opts);

    if (st == TERN_AGAIN)
        return false; /* nothing was started */
    CHECK(st);
    return true;
}

/* tern_put_value, tern_get_value: Exchange a double without a buffer. */
static double exchange_value(tern_region *region, int rank, double mine)
{
    double theirs;

    CHECK(tern_put_value(TERN_WORLD, region, rank, 8 * (uint64_t)tern_rank(), mine));
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_get_value(TERN_WORLD, region, tern_rank(), 8 * (uint64_t)rank, &theirs));
    return theirs;
}

/* tern_put_u8, tern_get_u8, tern_put_u16, tern_get_u16, tern_put_u32, tern_get_u32, tern_put_u64, tern_get_u64: Store
 * values of several widths at a rank, and read one of them back. */
static uint32_t widths(tern_region *region, int rank)
{
    uint8_t  flag = 0;
    uint16_t half = 0;
    uint32_t count = 0;
    uint64_t sum = 0;

    CHECK(tern_put_u8(TERN_WORLD, region, rank, 0, 1));
    CHECK(tern_put_u16(TERN_WORLD, region, rank, 2, 500));
    CHECK(tern_put_u32(TERN_WORLD, region, rank, 4, 70000));
    CHECK(tern_put_u64(TERN_WORLD, region, rank, 8, 1ull << 40));
    CHECK(tern_get_u8(TERN_WORLD, region, rank, 0, &flag));
    CHECK(tern_get_u16(TERN_WORLD, region, rank, 2, &half));
    CHECK(tern_get_u32(TERN_WORLD, region, rank, 4, &count));
    CHECK(tern_get_u64(TERN_WORLD, region, rank, 8, &sum));
    return flag + half + count + (uint32_t)(sum >> 32);
}

/* ---- shapes ---- */

/* tern_vector, TERN_VECTOR, tern_piece, tern_extent, tern_put_vector, tern_get_vector, tern_put_vector_with,
 * tern_get_vector_with: Put a header and a body, which are apart in local memory, to two places of a rank. */
static void vectors(tern_region *region, int rank, void *header, void *body, const tern_opts *opts)
{
    const tern_piece  local[] = { { header, 64 }, { body, 4000 } };
    const tern_extent remote[] = { { 0, 64 }, { 8192, 4000 } };
    const tern_vector vector = TERN_VECTOR(.local_count = 2, .local = local, .remote_count = 2, .remote = remote);

    CHECK(tern_put_vector(TERN_WORLD, region, rank, &vector));
    CHECK(tern_get_vector(TERN_WORLD, region, rank, &vector));            /* and back */
    CHECK(tern_put_vector_with(TERN_WORLD, region, rank, &vector, opts)); /* with options */
    CHECK(tern_get_vector_with(TERN_WORLD, region, rank, &vector, opts));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_put_vector_nb, tern_get_vector_nb, tern_put_vector_nbi, tern_get_vector_nbi: Start transfers of two pieces, with
 * an event and without. */
static void vectors_nb(tern_region *region, int rank, void *header, void *body)
{
    const tern_piece  local[] = { { header, 64 }, { body, 4000 } };
    const tern_extent remote[] = { { 0, 4064 } };
    const tern_vector vector = TERN_VECTOR(.local_count = 2, .local = local, .remote_count = 1, .remote = remote);
    tern_event        event;

    CHECK(tern_put_vector_nb(TERN_WORLD, region, rank, &vector, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_get_vector_nb(TERN_WORLD, region, rank, &vector, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_put_vector_nbi(TERN_WORLD, region, rank, &vector));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_get_vector_nbi(TERN_WORLD, region, rank, &vector));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_indexed, TERN_INDEXED, tern_put_indexed, tern_get_indexed, tern_put_indexed_with, tern_get_indexed_with: Gather
 * three doubles from a rank's part, and scatter them again. */
static void indexed(tern_region *region, int rank, double *a, double *b, double *c, const tern_opts *opts)
{
    void *const        local[] = { a, b, c };
    const uint64_t     remote[] = { 0, 800, 1600 };
    const tern_indexed list = TERN_INDEXED(.local_count = 3, .local_len = sizeof(double), .local = local,
                                           .remote_count = 3, .remote_len = sizeof(double), .remote = remote);

    CHECK(tern_get_indexed(TERN_WORLD, region, rank, &list));
    CHECK(tern_put_indexed(TERN_WORLD, region, rank, &list));
    CHECK(tern_put_indexed_with(TERN_WORLD, region, rank, &list, opts)); /* with options */
    CHECK(tern_get_indexed_with(TERN_WORLD, region, rank, &list, opts));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_put_indexed_nb, tern_get_indexed_nb, tern_put_indexed_nbi, tern_get_indexed_nbi: Start transfers of pieces of
 * equal length, with an event and without. */
static void indexed_nb(tern_region *region, int rank, const tern_indexed *list)
{
    tern_event event;

    CHECK(tern_get_indexed_nb(TERN_WORLD, region, rank, list, &event));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_put_indexed_nb(TERN_WORLD, region, rank, list, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_get_indexed_nbi(TERN_WORLD, region, rank, list));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_put_indexed_nbi(TERN_WORLD, region, rank, list));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_strided, TERN_STRIDED, tern_put_strided, tern_get_strided, tern_put_strided_with, tern_get_strided_with: Put a
 * block of 10 by 20 doubles of a local array with 100 columns into a matrix with 1000 columns. */
static void strided(tern_region *region, int rank, double local[][100], const tern_opts *opts)
{
    const size_t       count[] = { 10, 20 };
    const ptrdiff_t    near_stride[] = { 100 * sizeof(double), sizeof(double) };
    const int64_t      far_stride[] = { 1000 * sizeof(double), sizeof(double) };
    const tern_strided block = TERN_STRIDED(.dims = 2, .element = sizeof(double), .count = count, .local = local,
                                            .local_stride = near_stride, .remote = 0, .remote_stride = far_stride);

    CHECK(tern_put_strided(TERN_WORLD, region, rank, &block));
    CHECK(tern_get_strided(TERN_WORLD, region, rank, &block));            /* and back */
    CHECK(tern_put_strided_with(TERN_WORLD, region, rank, &block, opts)); /* with options */
    CHECK(tern_get_strided_with(TERN_WORLD, region, rank, &block, opts));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_put_strided_nb, tern_get_strided_nb, tern_put_strided_nbi, tern_get_strided_nbi: Start transfers of an array
 * section, with an event and without. */
static void strided_nb(tern_region *region, int rank, const tern_strided *block)
{
    tern_event event;

    CHECK(tern_put_strided_nb(TERN_WORLD, region, rank, block, &event));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_get_strided_nb(TERN_WORLD, region, rank, block, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_put_strided_nbi(TERN_WORLD, region, rank, block));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_get_strided_nbi(TERN_WORLD, region, rank, block));
    CHECK(tern_quiet(TERN_WORLD));
}

/* ---- events and requests ---- */

/* tern_event_wait_any, tern_event_wait_all: Handle the first of several gets that completes, then wait for the rest. */
static void any_then_all(tern_event *events, size_t n)
{
    size_t first;

    CHECK(tern_event_wait_any(events, n, TERN_FOREVER, &first));
    printf("event %zu is complete\n", first);
    CHECK(tern_event_wait_all(events, n, TERN_FOREVER));
}

/* tern_event_wait_some: Handle operations in the order in which they complete. */
static void as_they_complete(tern_event *events, size_t n)
{
    size_t done[16], count;

    while (n > 0) {
        CHECK(tern_event_wait_some(events, n, TERN_FOREVER, &count, done, NULL));
        for (size_t i = count; i-- > 0;) /* indices are in ascending order: remove the last first */
            events[done[i]] = events[--n];
    }
}

/* tern_event_wait_all, tern_request_event: Wait for a receive and a put together. */
static void together(tern_region *region, int rank, const void *src, size_t len, tern_request *receive)
{
    tern_event events[2];

    CHECK(tern_put_nb(TERN_WORLD, region, rank, 0, src, len, &events[0]));
    CHECK(tern_request_event(receive, &events[1]));
    CHECK(tern_event_wait_all(events, 2, TERN_FOREVER));
    CHECK(tern_request_test(&receive, NULL)); /* the result, and the end of the request */
}

/* tern_request_test, tern_request_cancel: Give up a receive if no message has arrived. */
static bool receive_or_cancel(tern_request *receive)
{
    tern_status st = tern_request_test(&receive, NULL);

    if (st == TERN_PENDING && tern_request_cancel(&receive, NULL) == TERN_OK)
        return false;
    if (st == TERN_PENDING) /* too late: a message has matched */
        st = tern_request_wait(&receive, TERN_FOREVER, NULL);
    CHECK(st);
    return true;
}

/* tern_request_wait_any, tern_request_info: Handle messages in the order in which they arrive. */
static void first_message(tern_request **receives, size_t n)
{
    tern_request_info info;
    size_t            index;

    CHECK(tern_request_wait_any(receives, n, TERN_FOREVER, &index, &info));
    printf("request %zu: %llu bytes with tag %lld from rank %d\n", index, (unsigned long long)info.len,
           (long long)info.tag, info.source);
}

/* tern_request_test_any, tern_request_test_all: Compute until one request is complete, then until all are. */
static void poll_requests(tern_request **requests, size_t n)
{
    size_t index;

    while (tern_request_test_any(requests, n, &index, NULL) == TERN_PENDING)
        compute();
    while (tern_request_test_all(requests, n, NULL, NULL) == TERN_PENDING)
        compute();
}

/* tern_request_wait_all, tern_request_wait_some: Report every message once; NULL entries are skipped. */
static void some_messages(tern_request **requests, size_t n)
{
    tern_request_info infos[16];
    size_t            indices[16], count, missing = n;

    while (missing > 0) {
        CHECK(tern_request_wait_some(requests, n, TERN_FOREVER, &count, indices, infos, NULL));
        for (size_t i = 0; i < count; i++)
            printf("request %zu received %llu bytes\n", indices[i], (unsigned long long)infos[i].len);
        missing -= count;
    }
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

/* ---- layers above Tern ---- */

/* tern_direct, tern_copy: Write 64 bytes with this process's own stores where these reach the memory of rank 1, and
 * with a put elsewhere. */
static void layer(tern_region *region, const void *data)
{
    void *there = tern_direct(TERN_WORLD, region, 1, 128, 64);

    if (there != NULL)
        tern_copy(there, data, 64);
    else
        CHECK(tern_put(TERN_WORLD, region, 1, 128, data, 64));
}
