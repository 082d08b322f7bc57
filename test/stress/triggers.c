/* triggers.c: random programs of operations that trigger each other.
 *
 * Promise: each operation is performed once, after everything that its counter had to count, and counts once, whatever
 * the operations, the shape of the program, and the thread that drives it.
 *
 * A program consists of layers. The operations of a layer wait until a counter has counted all of the previous layer,
 * or, in a chain, one more of their own; they copy, add or send a value that an earlier operation has brought to
 * another rank, so that a wrong value shows that an operation started too early, or twice. Some operations are
 * cancelled before the program begins: these, and no others, leave no trace. Then each rank either waits, or only reads
 * memory.
 *
 * ranks: 1 4
 * network: 2
 */
#include <sched.h>

#include "job_test.h"

#define LAYERS 6
#define MOST 64 /* in a layer */
#define HANDLER 3
#define PROGRAMS 12

static tern_region        *region[2];
static uint64_t           *part[2];                /* [LAYERS][MOST] of this rank, in both regions */
static uint64_t            mine[LAYERS + 1][MOST]; /* the results of gets */
static tern_atomic_domain *domain;
static tern_counter       *own[LAYERS][MOST], *told; /* told: counts messages */
static uint64_t            sent, came, messages;
static uint64_t            seed;
static int                 right;

static void on_message(const tern_am_event *event, void *user)
{
    (void)user;
    came += event->args[0];
}

static uint64_t at(unsigned layer, unsigned i)
{
    return 8 * ((uint64_t)layer * MOST + i);
}

/* Operation i of a layer: moves mine[layer][i] to the right, and back into mine[layer + 1][i]; two steps. */
static void add_pair(unsigned layer, unsigned i, const tern_opts *first, const tern_opts *second)
{
    tern_region *where = region[job_random(&seed) % 2];
    tern_opts    sum = *first;

    sum.acc = &TERN_ACC_ARGS(.type = TERN_UINT64);
    if (job_random(&seed) % 3 > 0)
        OK(tern_put_with(TERN_WORLD, where, right, at(layer, i), &mine[layer][i], 8, first));
    else
        OK(tern_acc_with(TERN_WORLD, where, right, at(layer, i), &mine[layer][i], 8, &sum));
    if (job_random(&seed) % 3 > 0)
        OK(tern_get_with(TERN_WORLD, where, right, at(layer, i), &mine[layer + 1][i], 8, second));
    else
        OK(tern_atomic_with(
            TERN_WORLD, domain, where, right, at(layer, i),
            &TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &(uint64_t){ 1 }, .result = &mine[layer + 1][i]),
            second));
}

/* An operation that is cancelled; it would overwrite the values of others. */
static void add_victim(unsigned layer, unsigned i, const tern_opts *first)
{
    static uint64_t bad = 0xbad;
    tern_event      event;
    tern_opts       opts = *first;

    opts.event = &event;
    OK(tern_put_with(TERN_WORLD, region[job_random(&seed) % 2], right, at(layer, i), &bad, 8, &opts));
    OK(tern_triggered_cancel(&event));
    RETURNS(TERN_ERR_CANCELLED, tern_event_wait(&event, TERN_FOREVER));
}

static void add_message(const tern_opts *first)
{
    uint32_t value = (uint32_t)(job_random(&seed) % 1000);
    tern_am  am = TERN_AM(.kind = TERN_AM_SHORT, .handler = HANDLER, .nargs = 1, .args = &value);

    sent += value;
    messages++;
    OK(tern_am_request_with(TERN_WORLD, right, &am,
                            &TERN_OPTS(.counter = told, .when = first->when, .threshold = first->threshold)));
}

/* Add a layer that starts when from has reached the threshold; to counts its operations. Returns the value that to will
 * reach. */
static uint64_t add_layer(unsigned layer, unsigned n, tern_counter *from, uint64_t threshold, tern_counter *to)
{
    bool chain = job_random(&seed) % 2;

    if (chain) /* each waits for its predecessor, and the first for the previous layer */
        OK(tern_counter_add_with(to, 1, &TERN_OPTS(.when = from, .threshold = threshold)));
    for (unsigned i = 0; i < n; i++) {
        tern_opts first = TERN_OPTS(.counter = to, .when = from, .threshold = threshold), second = first;

        if (chain) {
            first.when = second.when = to;
            first.threshold = 1 + 2ull * i;
            second.threshold = 2 + 2ull * i;
        } else {
            OK(tern_counter_set(own[layer][i], 0));
            first.counter = second.when = own[layer][i];
            second.threshold = 1;
            OK(tern_counter_add_with(to, 1, &TERN_OPTS(.when = own[layer][i], .threshold = 1)));
        }
        if (job_random(&seed) % 8 == 0)
            add_victim(layer, i, &first);
        if (job_random(&seed) % 8 == 0)
            add_message(&first);
        add_pair(layer, i, &first, &second);
    }
    return 2ull * n + chain;
}

static void program(bool look)
{
    tern_counter *counter[LAYERS + 1];
    uint64_t      expected[LAYERS + 1] = { 1 }, value = 0;
    unsigned      layers = 1 + (unsigned)(job_random(&seed) % LAYERS), n = 1 + (unsigned)(job_random(&seed) % MOST);

    memset(part[0], 0, LAYERS * MOST * 8);
    memset(part[1], 0, LAYERS * MOST * 8);
    memset(mine, 0, sizeof(mine));
    for (unsigned i = 0; i < n; i++)
        mine[0][i] = 1 + job_random(&seed) % 1000000;
    for (unsigned i = 0; i <= layers; i++)
        OK(tern_counter_create(TERN_WORLD, &counter[i]));
    OK(tern_barrier(TERN_WORLD));
    for (unsigned layer = 0; layer < layers; layer++)
        expected[layer + 1] = add_layer(layer, n, counter[layer], expected[layer], counter[layer + 1]);
    OK(tern_counter_add(counter[0], 1));
    while (look && value < expected[layers]) {
        OK(tern_counter_read(counter[layers], &value, NULL));
        sched_yield();
    }
    OK(tern_counter_wait(counter[layers], expected[layers], TERN_FOREVER));
    OK(tern_counter_wait(told, messages, TERN_FOREVER));
    OK(tern_quiet(TERN_WORLD));
    OK(tern_counter_read(counter[layers], &value, NULL));
    SAME(value, expected[layers]);
    for (unsigned i = 0; i < n; i++)
        SAME(mine[layers][i], mine[0][i]);
    for (unsigned i = 0; i <= layers; i++)
        OK(tern_counter_free(counter[i]));
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    bool beside = getenv("TERN_PROGRESS_THREAD") == NULL; /* the helper thread drives the program while it only reads */
    uint64_t all[64];
    int      left;

    OK(tern_am_register(HANDLER, on_message, NULL));
    OK(tern_init());
    CHECK(tern_size() <= 64);
    seed = job_seed(77 + (uint64_t)tern_rank());
    right = (tern_rank() + 1) % tern_size();
    left = (tern_rank() + tern_size() - 1) % tern_size();
    OK(tern_region_create(TERN_WORLD, LAYERS * MOST * 8, NULL, &region[0]));
    part[0] = tern_region_ptr(region[0], tern_rank());
    part[1] = job_new(LAYERS * MOST * 8);
    OK(tern_region_register(TERN_WORLD, part[1], LAYERS * MOST * 8, &region[1]));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD, 0, &domain));
    OK(tern_counter_create(TERN_WORLD, &told));
    for (unsigned i = 0; i < LAYERS * MOST; i++)
        OK(tern_counter_create(TERN_WORLD, &own[i / MOST][i % MOST]));
    for (int i = 0; i < PROGRAMS; i++)
        program(beside && job_random(&seed) % 2);
    OK(tern_allgather(TERN_WORLD, &sent, sizeof(sent), all));
    OK(tern_region_free(region[1]));
    OK(tern_region_free(region[0]));
    OK(tern_finalize()); /* all messages have been handled after it */
    SAME(came, all[left]);
    free(part[1]);
    return 0;
}
