/* counters.c: counters, and operations that they trigger.
 *
 * Promise: a counter counts completions, by operations or by bytes; a triggered operation of any kind starts when the
 * counter reaches its threshold and not before; chains and fans of thousands of operations work, also while the program
 * computes; an operation that has not started can be cancelled, and then has no effect; tern_quiet completes the
 * operations that have started and waits for nothing else; events of counters can be waited for together with others;
 * handlers and other threads may add; invalid calls are refused, and so is an operation that would need a thread that
 * the system refuses.
 *
 * ranks: 1 2 4
 * network: 2
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "job_test.h"

#define SLOTS 4096
#define HANDLER 7
#define HANDLER_LONG 8
#define HANDLER_BRIEF 9

static tern_region  *region, *far; /* allocated by Tern, and registered */
static uint64_t     *mine;
static uint64_t      registered[SLOTS];
static uint64_t      source[SLOTS], target[SLOTS];
static int           left, right;
static tern_counter *heard; /* the counter that handlers add to */
static tern_counter *brief; /* a counter that handlers add to and reset at once */
static unsigned      handled;

static tern_counter *counter(void)
{
    tern_counter *c = NULL;

    OK(tern_counter_create(TERN_WORLD, &c));
    return c;
}

static uint64_t value(const tern_counter *c)
{
    uint64_t v = 77, failures = 77;

    OK(tern_counter_read(c, &v, &failures));
    SAME(failures, 0);
    return v;
}

/* Wait until the counter has the value, and check that it has no other. */
static void reach(tern_counter *c, uint64_t v)
{
    OK(tern_counter_wait(c, v, TERN_FOREVER));
    SAME(value(c), v);
}

static void meet(void)
{
    OK(tern_barrier(TERN_WORLD));
}

static void counts(void)
{
    tern_counter *ops = counter(), *bytes = counter();
    tern_opts     by_op = TERN_OPTS(.counter = ops), by_byte = TERN_OPTS(.flags = TERN_COUNT_BYTES, .counter = bytes);

    SAME(value(ops), 0);
    for (uint64_t i = 0; i < 300; i++) {
        source[i] = 1000 * (uint64_t)tern_rank() + i;
        OK(tern_put_with(TERN_WORLD, i % 2 ? region : far, right, 8 * i, &source[i], 8, &by_op));
    }
    OK(tern_put_with(TERN_WORLD, region, right, 0, source, 0, &by_op)); /* an empty put is an operation too */
    reach(ops, 301);
    OK(tern_get_with(TERN_WORLD, region, right, 8, target, 16, &by_byte));
    OK(tern_get_with(TERN_WORLD, far, right, 16, target + 2, 8, &by_byte));
    reach(bytes, 24);
    SAME(target[0], source[1]);
    SAME(target[2], source[2]);
    meet();
    for (uint64_t i = 0; i < 300; i++)
        SAME((i % 2 ? mine : registered)[i], 1000 * (uint64_t)left + i);
    OK(tern_counter_set(ops, 5));
    SAME(value(ops), 5);
    OK(tern_counter_add(ops, 2));
    reach(ops, 7);
    OK(tern_counter_free(ops));
    OK(tern_counter_free(bytes));
    meet();
}

/* What the operations of kinds() have left at this rank, before and after they started. */
static void kinds_missing(const tern_counter *done)
{
    SAME(mine[0] + mine[8] + mine[16] + mine[32] + mine[50] + registered[50] + registered[200], 0);
    SAME(handled + value(done), 0);
}

static void kinds_here(void)
{
    SAME(mine[0], 1);
    SAME(mine[2], 3);
    SAME(mine[8], 1);
    SAME(mine[10], 2);
    SAME(mine[16], 5);
    SAME(mine[17], 6);
    SAME(mine[32], 3);
    SAME(mine[50], 9);
    SAME(registered[50], 1);
    SAME(handled, 11 + 12 + 1000);
}

static void kinds_begin(void)
{
    memset(mine, 0, SLOTS * 8);
    memset(registered, 0, sizeof(registered));
    handled = 0;
    meet();
    for (size_t i = 0; i < SLOTS; i++)
        source[i] = i + 1;
}

/* Two active messages, of which the short one has an event. */
static void send_kinds(const tern_opts *opts, const tern_opts *with_event)
{
    uint32_t args[2] = { 11, 12 };
    tern_am  small = TERN_AM(.kind = TERN_AM_SHORT, .handler = HANDLER, .nargs = 2, .args = args);
    tern_am  large = TERN_AM(.kind = TERN_AM_LONG, .handler = HANDLER_LONG, .nargs = 2, .args = args,
                             .payload = source + 100, .len = 800, .region = far, .offset = 1600);

    OK(tern_am_request_with(TERN_WORLD, right, &small, with_event));
    OK(tern_am_request_with(TERN_WORLD, right, &large, opts));
    args[0] = args[1] = 0;
}

/* One operation of each kind waits for the same counter; none starts before the threshold, and each counts one or its
 * bytes. */
static void kinds(bool by_bytes)
{
    static const uint64_t offset[2] = { 64, 80 };
    static uint64_t       sums[2] = { 5, 6 }, operand, was;
    const void           *pieces[2] = { &source[0], &source[1] };
    tern_counter         *go = counter(), *done = counter(), *added = counter();
    tern_atomic_domain   *domain;
    tern_event            events[3];
    tern_opts     opts = TERN_OPTS(.flags = by_bytes * TERN_COUNT_BYTES, .counter = done, .when = go, .threshold = 2);
    tern_opts     with_event = opts, with_signal = opts, with_sum = opts;
    tern_indexed  indexed = TERN_INDEXED(.local_count = 2, .local_len = 8, .local = (void *const *)pieces,
                                         .remote_count = 2, .remote_len = 8, .remote = offset);
    tern_signal   signal = TERN_SIGNAL(.region = region, .offset = 400, .value = 9, .op = TERN_SIGNAL_ADD);
    tern_acc_args sum = TERN_ACC_ARGS(.type = TERN_UINT64);

    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD, 0, &domain));
    operand = 3;
    kinds_begin();
    OK(tern_put_with(TERN_WORLD, region, right, 0, source, 24, &opts));
    OK(tern_get_with(TERN_WORLD, far, tern_rank(), 0, target, 8, &opts));
    OK(tern_put_indexed_with(TERN_WORLD, region, right, &indexed, &opts));
    indexed.local_count = indexed.remote_count = 0; /* the program may change the description again */
    pieces[0] = pieces[1] = NULL;
    with_signal.signal = &signal;
    OK(tern_put_with(TERN_WORLD, far, right, 400, source, 8, &with_signal));
    signal.value = 0;
    with_sum.acc = &sum;
    OK(tern_acc_with(TERN_WORLD, region, right, 128, sums, 16, &with_sum));
    with_event.event = &events[0];
    OK(tern_atomic_with(TERN_WORLD, domain, region, right, 256,
                        &TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &operand, .result = &was), &with_event));
    with_event.event = &events[1];
    send_kinds(&opts, &with_event);
    operand = 0;
    with_event.event = &events[2];
    OK(tern_counter_add_with(added, 40, &with_event));
    OK(tern_counter_add(go, 1));
    OK(tern_quiet(TERN_WORLD)); /* does not wait for operations that have not started */
    RETURNS(TERN_PENDING, tern_event_test(&events[1]));
    meet();
    kinds_missing(done);
    meet();
    OK(tern_counter_add(go, 1));
    OK(tern_event_wait_all(events, 3, TERN_FOREVER));
    reach(done, by_bytes ? 24 + 8 + 16 + 8 + 16 + 8 + 0 + 800 + 0 : 9);
    SAME(value(added), 40);
    SAME(was, 0);
    OK(tern_counter_wait(heard, 2, TERN_FOREVER));
    meet();
    kinds_here();
    OK(tern_counter_set(heard, 0));
    OK(tern_atomic_domain_free(domain));
    OK(tern_counter_free(added));
    OK(tern_counter_free(go));
    OK(tern_counter_free(done));
    meet();
}

/* Each operation moves the data of the previous one: a put to the right, then a get of it, and so on. */
static void chain(tern_region *where, uint64_t length, bool compute)
{
    tern_counter *c = counter();

    source[0] = 4711 + (uint64_t)tern_rank();
    memset(target, 0, sizeof(target));
    for (uint64_t i = 0; i < length; i++) {
        tern_opts opts = TERN_OPTS(.counter = c, .when = c, .threshold = i + 1);

        if (i % 2 == 0)
            OK(tern_put_with(TERN_WORLD, where, right, 8 * i, i == 0 ? source : &target[i - 1], 8, &opts));
        else
            OK(tern_get_with(TERN_WORLD, where, right, 8 * (i - 1), &target[i], 8, &opts));
    }
    OK(tern_counter_add(c, 1));
    while (compute && !getenv("TERN_PROGRESS_THREAD") && value(c) <= length)
        sched_yield(); /* no call that makes progress */
    reach(c, length + 1);
    SAME(target[length - 1], 4711 + (uint64_t)tern_rank());
    OK(tern_counter_free(c));
    meet();
}

/* Many operations count on one counter, which triggers many, which count on another. */
static void fans(void)
{
    enum { MANY = 1000 };
    tern_counter *go = counter(), *in = counter(), *out = counter();
    tern_opts     first = TERN_OPTS(.counter = in, .when = go, .threshold = 1);
    tern_opts     second = TERN_OPTS(.counter = out, .when = in, .threshold = MANY);

    for (uint64_t i = 0; i < MANY; i++) {
        source[i] = 3 * i + (uint64_t)tern_rank();
        target[i] = 0;
        OK(tern_get_with(TERN_WORLD, region, right, 8 * i, &target[i], 8, &second));
        OK(tern_put_with(TERN_WORLD, region, right, 8 * i, &source[i], 8, &first));
    }
    OK(tern_counter_add_with(go, 1, &TERN_OPTS(.when = go, .threshold = 0))); /* already reached: starts at once */
    reach(in, MANY);
    reach(out, MANY);
    for (uint64_t i = 0; i < MANY; i++)
        SAME(target[i], source[i]);
    OK(tern_counter_free(go));
    OK(tern_counter_free(in));
    OK(tern_counter_free(out));
    meet();
}

/* A chain of additions, which uses only the trigger engine. */
static void additions(void)
{
    enum { LONG = 100000 };
    tern_counter *c = counter();

    for (uint64_t i = LONG; i > 0; i--) /* the last first, so that the heap has to sort */
        OK(tern_counter_add_with(c, 1, &TERN_OPTS(.when = c, .threshold = i)));
    OK(tern_counter_add(c, 1));
    SAME(value(c), LONG + 1);
    OK(tern_counter_free(c));
}

static void cancels(void)
{
    tern_counter *go = counter(), *done = counter();
    tern_event    event[3];
    size_t        n = 77;

    source[5] = 55;
    mine[0] = mine[1] = mine[2] = 0;
    meet();
    for (uint64_t i = 0; i < 3; i++)
        OK(tern_put_with(TERN_WORLD, region, right, 8 * i, &source[5], 8,
                         &TERN_OPTS(.event = &event[i], .counter = done, .when = go, .threshold = 1)));
    REFUSES(TERN_ERR_STATE, tern_counter_free(done));
    SAYS("count on it");
    OK(tern_triggered_cancel(&event[1]));
    REFUSES(TERN_ERR_STATE, tern_triggered_cancel(&event[1]));
    RETURNS(TERN_ERR_CANCELLED, tern_event_wait(&event[1], TERN_FOREVER));
    REFUSES(TERN_ERR_STATE, tern_triggered_cancel(&event[1]));
    OK(tern_counter_add(go, 1));
    REFUSES(TERN_ERR_STATE, tern_triggered_cancel(&event[0]));
    OK(tern_event_wait(&event[0], TERN_FOREVER));
    OK(tern_event_wait(&event[2], TERN_FOREVER));
    reach(done, 2);
    meet();
    CHECK(mine[0] == source[5] && mine[1] == 0 && mine[2] == source[5]);
    for (uint64_t i = 0; i < 100; i++)
        OK(tern_put_with(TERN_WORLD, region, right, 8, &source[5], 8,
                         &TERN_OPTS(.counter = done, .when = go, .threshold = 2 + i % 3)));
    OK(tern_counter_cancel(go, &n));
    SAME(n, 100);
    OK(tern_put_with(TERN_WORLD, region, right, 8, &source[5], 8,
                     &TERN_OPTS(.event = &event[0], .counter = done, .when = go, .threshold = 9)));
    OK(tern_counter_free(go)); /* cancels it */
    RETURNS(TERN_ERR_CANCELLED, tern_event_test(&event[0]));
    SAME(value(done), 2);
    OK(tern_counter_free(done));
    OK(tern_quiet(TERN_WORLD));
    meet();
    SAME(mine[1], 0);
    meet();
}

static void events(void)
{
    tern_counter *c = counter();
    tern_event    event[3];
    size_t        index = 77;

    OK(tern_counter_event(c, 2, &event[0]));
    OK(tern_counter_event(c, 1, &event[1]));
    OK(tern_counter_event(c, 0, &event[2]));
    CHECK(event[2].pending == NULL);
    RETURNS(TERN_ERR_TIMEOUT, tern_event_wait(&event[0], tern_deadline_in(0.001)));
    SAYS("to reach 2");
    RETURNS(TERN_PENDING, tern_counter_wait(c, 1, TERN_NOW));
    OK(tern_put_with(TERN_WORLD, far, right, 0, source, 8, &TERN_OPTS(.counter = c)));
    OK(tern_event_wait_any(event, 2, TERN_FOREVER, &index));
    SAME(index, 1);
    OK(tern_put_with(TERN_WORLD, far, right, 0, source, 8, &TERN_OPTS(.counter = c)));
    OK(tern_event_wait_all(event, 2, TERN_FOREVER));
    OK(tern_counter_add_with(c, UINT64_MAX - 1, &TERN_OPTS(.event = &event[0], .counter = c))); /* a failure */
    RETURNS(TERN_ERR_RANGE, tern_event_wait(&event[0], TERN_FOREVER));
    REFUSES(TERN_ERR_RANGE, tern_counter_wait(c, 3, TERN_FOREVER));
    OK(tern_counter_wait(c, 2, TERN_FOREVER));
    OK(tern_counter_event(c, 3, &event[1]));
    RETURNS(TERN_ERR_RANGE, tern_event_test(&event[1]));
    OK(tern_counter_add_with(c, UINT64_MAX - 1, &TERN_OPTS(.when = c, .threshold = 1)));
    REFUSES(TERN_ERR_RANGE, tern_quiet(TERN_WORLD)); /* the operation had no event */
    SAYS("tern_counter_add");
    OK(tern_quiet(TERN_WORLD));
    OK(tern_counter_set(c, 0));
    SAME(value(c), 0);
    OK(tern_counter_event(c, 5, &event[0]));
    OK(tern_get_with(TERN_WORLD, region, right, 0, target, 8,
                     &TERN_OPTS(.event = &event[1], .when = c, .threshold = 4)));
    OK(tern_counter_set(c, 3));
    RETURNS(TERN_PENDING, tern_event_test(&event[1]));
    OK(tern_counter_set(c, 5)); /* a set also reaches the threshold */
    OK(tern_event_wait_all(event, 2, TERN_FOREVER));
    OK(tern_counter_free(c));
    meet();
}

static void refused(void)
{
    tern_counter *c = counter(), *other;
    tern_ctx     *strict, *relaxed;
    tern_event    event;
    tern_am       am = TERN_AM(.kind = TERN_AM_SHORT, .handler = HANDLER);
    tern_signal   signal = TERN_SIGNAL(.region = region, .offset = 8, .value = 1);

    OK(tern_ctx_create(tern_ctx_team(TERN_WORLD), TERN_STRICT, &strict));
    OK(tern_ctx_create(tern_ctx_team(TERN_WORLD), TERN_RELAXED, &relaxed));
    REFUSES(TERN_ERR_ARG, tern_counter_create(strict, &other));
    SAYS("strict");
    OK(tern_counter_create(relaxed, &other));
    REFUSES(TERN_ERR_ARG, tern_put_with(TERN_WORLD, region, right, 0, source, 8, &TERN_OPTS(.counter = other)));
    REFUSES(TERN_ERR_ARG, tern_put_with(TERN_WORLD, region, right, 0, source, 8, &TERN_OPTS(.when = other)));
    SAYS("another context");
    REFUSES(TERN_ERR_ARG, tern_am_request_with(TERN_WORLD, right, &am, &TERN_OPTS(.when = other)));
    REFUSES(TERN_ERR_ARG, tern_am_request_with(TERN_WORLD, right, NULL, &TERN_OPTS(.when = c)));
    REFUSES(TERN_ERR_ARG, tern_counter_add_with(c, 1, &TERN_OPTS(.when = other)));
    REFUSES(TERN_ERR_ARG, tern_counter_add_with(c, 1, &TERN_OPTS(.flags = TERN_NOTIFY)));
    REFUSES(TERN_ERR_ARG,
            tern_put_with(TERN_WORLD, region, right, 0, source, 8, &TERN_OPTS(.signal = &signal, .when = other)));
    signal.offset = 1;
    REFUSES(TERN_ERR_ARG,
            tern_put_with(TERN_WORLD, region, right, 0, source, 8, &TERN_OPTS(.signal = &signal, .when = c)));
    REFUSES(TERN_ERR_RANGE, tern_put_with(TERN_WORLD, region, right, 8 * SLOTS, source, 8, &TERN_OPTS(.when = c)));
    REFUSES(TERN_ERR_RANGE, tern_put_with(TERN_WORLD, region, tern_size(), 0, source, 8, &TERN_OPTS(.when = c)));
    REFUSES(TERN_ERR_ARG, tern_put_with(TERN_WORLD, region, right, 0, NULL, 8, &TERN_OPTS(.when = c)));
    REFUSES(TERN_ERR_ARG, tern_counter_create(NULL, &other));
    REFUSES(TERN_ERR_ARG, tern_counter_free(NULL));
    REFUSES(TERN_ERR_ARG, tern_counter_add(NULL, 1));
    REFUSES(TERN_ERR_ARG, tern_counter_set(NULL, 1));
    REFUSES(TERN_ERR_ARG, tern_counter_read(NULL, NULL, NULL));
    REFUSES(TERN_ERR_ARG, tern_counter_wait(NULL, 1, TERN_NOW));
    REFUSES(TERN_ERR_ARG, tern_counter_event(c, 1, NULL));
    REFUSES(TERN_ERR_ARG, tern_counter_cancel(NULL, NULL));
    REFUSES(TERN_ERR_ARG, tern_triggered_cancel(NULL));
    OK(tern_counter_add(c, 1));
    REFUSES(TERN_ERR_RANGE, tern_counter_add(c, UINT64_MAX));
    SAME(value(c), 1);
    OK(tern_counter_event(other, 5, &event)); /* freed with its context, like the operations that wait for it */
    OK(tern_put_with(relaxed, far, right, 0, source, 8, &TERN_OPTS(.when = other, .threshold = 5)));
    OK(tern_ctx_free(relaxed));
    OK(tern_ctx_free(strict));
    OK(tern_counter_free(c));
    meet();
}

/* A handler at the right neighbour adds, which triggers a put back to this rank. */
/* A list of many extents, and a box of many dimensions whose elements are in reverse order: both are stored until they
 * start. */
static void large_shapes(void)
{
    enum { PIECES = 1500, DIMS = 11 }; /* 2^11 elements */
    static uint64_t offset[PIECES], value[PIECES], box[1u << DIMS], back[1u << DIMS];
    void          **piece = job_new(PIECES * sizeof(void *));
    size_t          count[DIMS];
    int64_t         up[DIMS];
    ptrdiff_t       down[DIMS];
    tern_counter   *go = counter(), *done = counter();
    tern_opts       put = TERN_OPTS(.counter = done, .when = go, .threshold = 1),
              get = TERN_OPTS(.when = done, .threshold = 2);
    tern_indexed indexed = TERN_INDEXED(.local_count = PIECES, .local_len = 8, .local = piece, .remote_count = PIECES,
                                        .remote_len = 8, .remote = offset);
    tern_strided strided =
        TERN_STRIDED(.element = 8, .dims = DIMS, .local = box + (1u << DIMS) - 1, .remote = 8 * PIECES);

    for (size_t i = 0; i < PIECES; i++) {
        value[i] = 1000 + i;
        piece[i] = &value[PIECES - 1 - i];
        offset[i] = 8 * (i % 2 ? PIECES - i : i);
    }
    for (unsigned d = 0; d < DIMS; d++) {
        count[d] = 2;
        up[d] = (int64_t)8 << d;
        down[d] = -up[d];
    }
    for (size_t i = 0; i < 1u << DIMS; i++)
        box[i] = i * i + 1;
    strided.count = count;
    strided.local_stride = down;
    strided.remote_stride = up;
    meet();
    OK(tern_put_indexed_with(TERN_WORLD, far, right, &indexed, &put));
    OK(tern_put_strided_with(TERN_WORLD, far, right, &strided, &put));
    strided.local = back + (1u << DIMS) - 1;
    OK(tern_get_strided_with(TERN_WORLD, far, right, &strided, &get));
    memset(count, 0, sizeof(count)); /* the program may change the descriptions again */
    memset(up, 0, sizeof(up));
    memset(down, 0, sizeof(down));
    memset(offset, 0, sizeof(offset));
    free(piece);
    OK(tern_counter_add(go, 1));
    OK(tern_counter_wait(done, 2, TERN_FOREVER));
    OK(tern_quiet(TERN_WORLD));
    meet();
    for (size_t i = 0; i < PIECES; i++)
        SAME(registered[i % 2 ? PIECES - i : i], 1000 + PIECES - 1 - i);
    for (size_t i = 0; i < 1u << DIMS; i++)
        CHECK(registered[PIECES + i] == box[(1u << DIMS) - 1 - i] && back[i] == box[i]);
    OK(tern_counter_free(go));
    OK(tern_counter_free(done));
    meet();
}

/* The first triggered operation finds that no more thread can be created: it is refused, and leaves nothing behind. */
static void no_thread(void)
{
    struct rlimit before, now;
    tern_counter *go;
    tern_event    event = TERN_EVENT_INIT;
    uint64_t      pages = 0;
    FILE         *file = fopen("/proc/self/statm", "r");

    if (JOB_SANITIZED || job_network() || !file) { /* these need address space of their own */
        if (file)
            fclose(file);
        return;
    }
    go = counter();
    CHECK(fscanf(file, "%" SCNu64, &pages) == 1);
    fclose(file);
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    now = before;
    now.rlim_cur = (pages + 256) * (uint64_t)sysconf(_SC_PAGESIZE); /* no stack fits */
    CHECK(setrlimit(RLIMIT_AS, &now) == 0);
    RETURNS(TERN_ERR_SYSTEM, tern_put_with(TERN_WORLD, region, right, 0, source, 8,
                                           &TERN_OPTS(.when = go, .threshold = 1, .event = &event)));
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(event.pending == NULL);
    OK(tern_counter_free(go));
}

static void handlers(void)
{
    tern_am am = TERN_AM(.kind = TERN_AM_SHORT, .handler = HANDLER);

    OK(tern_counter_set(heard, 0));
    mine[SLOTS - 1] = 0;
    meet();
    source[9] = 99;
    OK(tern_put_with(TERN_WORLD, region, left, 8 * (SLOTS - 1), &source[9], 8,
                     &TERN_OPTS(.when = heard, .threshold = 1)));
    OK(tern_am_request(TERN_WORLD, right, &am));
    OK(tern_counter_wait(heard, 1, TERN_FOREVER));
    meet(); /* completes the operations that have started */
    SAME(mine[SLOTS - 1], 99);
    meet();
    am.handler = HANDLER_BRIEF;
    OK(tern_put_with(TERN_WORLD, far, left, 8 * (SLOTS - 2), &source[9], 8, &TERN_OPTS(.when = brief, .threshold = 1)));
    meet(); /* no message arrives before that */
    OK(tern_am_request(TERN_WORLD, right, &am));
    OK(tern_counter_wait(heard, 2, TERN_FOREVER));
    SAME(value(brief), 0);
    OK(tern_quiet(TERN_WORLD));
    OK(tern_get(TERN_WORLD, far, left, 8 * (SLOTS - 2), target, 8));
    SAME(target[0], 99);
    meet();
}

static void *adder(void *arg)
{
    for (int i = 0; i < 100; i++)
        OK(tern_counter_add(arg, 1));
    return NULL;
}

static void threads(void)
{
    tern_counter *go = counter(), *done = counter();
    pthread_t     thread[2];

    for (uint64_t i = 1; i <= 200; i++)
        OK(tern_put_with(TERN_WORLD, far, right, 8 * i, &source[i], 8,
                         &TERN_OPTS(.counter = done, .when = go, .threshold = i)));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, adder, go) == 0);
    reach(done, 200);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    SAME(value(go), 200);
    OK(tern_counter_free(go));
    OK(tern_counter_free(done));
    meet();
}

static void on_message(const tern_am_event *event, void *user)
{
    (void)user;
    for (unsigned i = 0; i < event->nargs; i++)
        handled += event->args[i];
    if (event->kind == TERN_AM_LONG) {
        handled += 1000 - 11 - 12;
        CHECK(event->payload == &registered[200] && event->len == 800);
        CHECK(registered[200] == 101 && registered[299] == 200);
    }
    OK(tern_counter_add(heard, 1));
}

static void on_brief(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
    OK(tern_counter_add(brief, 1));
    OK(tern_counter_set(brief, 0));
    OK(tern_counter_add(heard, 1));
}

int main(void)
{
    OK(tern_am_register(HANDLER, on_message, NULL));
    OK(tern_am_register(HANDLER_LONG, on_message, NULL));
    OK(tern_am_register(HANDLER_BRIEF, on_brief, NULL));
    OK(tern_init());
    left = (tern_rank() + tern_size() - 1) % tern_size();
    right = (tern_rank() + 1) % tern_size();
    heard = counter();
    brief = counter();
    OK(tern_region_create(TERN_WORLD, SLOTS * 8, NULL, &region));
    mine = tern_region_ptr(region, tern_rank());
    no_thread(); /* before the thread exists: it may have to serve peers that access registered memory */
    OK(tern_region_register(TERN_WORLD, registered, sizeof(registered), &far));
    counts();
    kinds(false);
    kinds(true);
    large_shapes();
    chain(region, 400, false);
    chain(far, 400, false);
    chain(region, 40, true);
    chain(far, 40, true);
    fans();
    additions();
    cancels();
    events();
    refused();
    handlers();
    threads();
    OK(tern_region_free(far));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
