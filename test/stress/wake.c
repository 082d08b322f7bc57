/* wake.c: a token travels around the ranks through words in memory. Each rank waits for its word, and then changes the
 * word of the next rank by an operation of a random kind: puts of every form, shape and width, accumulates, atomic
 * operations, signals, and stores followed by tern_wake.
 *
 * Promise: a wait for plain memory ends when an operation changes the memory. The waits have no safety net, so that the
 * token stops, and the test fails by its time limit, if a single wake is missed. WAKE_MEMBARRIER=all and =odd: a
 * seccomp filter refuses the system call membarrier, in all ranks or in those with odd numbers, so that ranks cannot
 * rely on being woken. WAKE_POLLER: another thread of each rank makes progress all the time, so that it may be this
 * thread that receives what the waiting one needs.
 *
 * The thread sanitizer does not see the order of the helper thread's writes for peers.
 *
 * builds: release debug asan
 * ranks: 1 2 3 4 8
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_CMA=off
 * env: WAKE_MEMBARRIER=all
 * env: WAKE_MEMBARRIER=odd
 * env: WAKE_POLLER=1
 * env: WAKE_POLLER=1 TERN_LINKS=ofi TERN_SPIN=0 TERN_YIELDS=0
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "job_test.h"

#define TOKENS (JOB_SANITIZED ? 300 : 1500)
#define BYTES 64

enum { WORD = 0, OTHER = 8, SIGNAL = 16, NARROW = 24 }; /* offsets in a part */

static tern_region        *region[2]; /* allocated, registered */
static unsigned char      *mine[2];   /* this rank's parts */
static tern_ctx           *ctx[2];    /* relaxed, strict */
static tern_atomic_domain *domain;
static int                 me, ranks;

/* ---- changing the word of a rank from token to token + 1 ---- */

struct hop {
    tern_ctx    *ctx;
    tern_region *region;
    int          to;
    uint64_t     value;
};

static void put_narrow(const struct hop *h, unsigned bytes)
{
    switch (bytes) {
    case 1: OK(tern_put_value(h->ctx, h->region, h->to, NARROW, (uint8_t)h->value)); break;
    case 2: OK(tern_put_value(h->ctx, h->region, h->to, NARROW, (uint16_t)h->value)); break;
    case 4: OK(tern_put_value(h->ctx, h->region, h->to, NARROW, (uint32_t)h->value)); break;
    default: OK(tern_put_value(h->ctx, h->region, h->to, NARROW, h->value));
    }
}

static void put_contiguous(const struct hop *h, unsigned form)
{
    tern_event event;

    switch (form) {
    case 0: OK(tern_put(h->ctx, h->region, h->to, WORD, &h->value, 8)); break;
    case 1:
        OK(tern_put_nb(h->ctx, h->region, h->to, WORD, &h->value, 8, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    case 2:
        OK(tern_put_nbi(h->ctx, h->region, h->to, WORD, &h->value, 8));
        OK(tern_quiet(h->ctx));
        break;
    case 3:
        OK(tern_put_with(h->ctx, h->region, h->to, WORD, &h->value, 8, NULL));
        OK(tern_quiet(h->ctx));
        break;
    default: OK(tern_put_value(h->ctx, h->region, h->to, WORD, h->value));
    }
}

static void put_shape(const struct hop *h, unsigned shape)
{
    uint64_t     value[2] = { h->value, h->value };
    size_t       count[] = { 2 };
    ptrdiff_t    near[] = { 8 };
    int64_t      far[] = { OTHER - WORD };
    void        *addrs[] = { &value[1], &value[0] };
    uint64_t     offsets[] = { OTHER, WORD };
    tern_piece   pieces[] = { { value, 16 } };
    tern_extent  extents[] = { { OTHER, 8 }, { WORD, 8 } };
    tern_strided strided = TERN_STRIDED(.dims = 1, .element = 8, .count = count, .local = value, .local_stride = near,
                                        .remote = WORD, .remote_stride = far);
    tern_indexed indexed = TERN_INDEXED(.local_count = 2, .local_len = 8, .local = addrs, .remote_count = 2,
                                        .remote_len = 8, .remote = offsets);
    tern_vector  vector = TERN_VECTOR(.local_count = 1, .local = pieces, .remote_count = 2, .remote = extents);

    switch (shape) {
    case 0: OK(tern_put_strided(h->ctx, h->region, h->to, &strided)); break;
    case 1: OK(tern_put_indexed(h->ctx, h->region, h->to, &indexed)); break;
    default: OK(tern_put_vector(h->ctx, h->region, h->to, &vector));
    }
}

/* The previous value of the word is one token of all ranks ago. */
static void combine(const struct hop *h, unsigned how)
{
    const tern_acc_args max = TERN_ACC_ARGS(.type = TERN_UINT64, .op = TERN_MAX);
    uint64_t            old = 0;

    switch (how) {
    case 0: OK(tern_acc(h->ctx, h->region, h->to, WORD, &h->value, 8, &max)); break;
    case 1: OK(tern_atomic_max(h->ctx, domain, h->region, h->to, WORD, h->value)); break;
    case 2: OK(tern_atomic_swap(h->ctx, domain, h->region, h->to, WORD, h->value, &old)); break;
    case 3:
        OK(tern_atomic_get(h->ctx, domain, h->region, h->to, WORD, &old));
        OK(tern_atomic_cas(h->ctx, domain, h->region, h->to, WORD, &old, h->value));
        break;
    default:
        OK(tern_atomic_get(h->ctx, domain, h->region, h->to, WORD, &old));
        OK(tern_atomic_add(h->ctx, domain, h->region, h->to, WORD, h->value - old));
    }
}

/* The kinds of operations. A rank that waits knows the kind from the token. */
enum kind { CONTIGUOUS, NARROWER, SHAPE, COMBINE, WITH_SIGNAL, STORE, KINDS };

static void hop(const struct hop *h, enum kind kind, unsigned form)
{
    tern_signal signal = TERN_SIGNAL(.op = TERN_SIGNAL_SET, .region = h->region, .offset = SIGNAL, .value = h->value);
    unsigned char *there;

    switch (kind) {
    case CONTIGUOUS: put_contiguous(h, form % 5); break;
    case NARROWER: put_narrow(h, 1u << form % 4); break;
    case SHAPE: put_shape(h, form % 3); break;
    case COMBINE: combine(h, form % 5); break;
    case WITH_SIGNAL: OK(tern_put_signal(h->ctx, h->region, h->to, WORD, &h->value, 8, &signal)); break;
    default:
        if ((there = tern_direct(h->ctx, h->region, h->to, WORD, 8)) != NULL) {
            atomic_store_explicit((_Atomic uint64_t *)(void *)there, h->value, memory_order_release);
            OK(tern_wake(h->ctx, h->to));
        } else {
            put_contiguous(h, 0);
        }
    }
}

/* ---- waiting for the word ---- */

static tern_word condition_of(unsigned char *part, uint64_t value, enum kind kind, unsigned form)
{
    if (kind == NARROWER)
        switch (1u << form % 4) {
        case 1: return TERN_WORD((int8_t *)(part + NARROW), TERN_EQ, (int8_t)value);
        case 2: return TERN_WORD((uint16_t *)(void *)(part + NARROW), TERN_EQ, (uint16_t)value);
        case 4: return TERN_WORD((int32_t *)(void *)(part + NARROW), TERN_EQ, (int32_t)value);
        default: return TERN_WORD((uint64_t *)(void *)(part + NARROW), TERN_GE, value);
        }
    return TERN_WORD((uint64_t *)(void *)(part + (kind == WITH_SIGNAL ? SIGNAL : WORD)),
                     form % 2 == 0 ? TERN_GE : TERN_EQ, value);
}

static bool holds(void *arg)
{
    return tern_word_wait(TERN_WORLD, arg, TERN_NOW) == TERN_OK;
}

/* Evaluate the condition without making progress. The caller knows the result a while after the evaluation. */
static bool held(const tern_word *word, long delay)
{
    const struct timespec while_ = { 0, delay };
    uint64_t              is = 0, value = word->value;

    switch (word->bytes) {
    case 1: is = *(const _Atomic uint8_t *)word->addr, value = (uint8_t)value; break;
    case 2: is = *(const _Atomic uint16_t *)word->addr, value = (uint16_t)value; break;
    case 4: is = *(const _Atomic uint32_t *)word->addr, value = (uint32_t)value; break;
    default: is = *(const _Atomic uint64_t *)word->addr;
    }
    if (delay > 0)
        nanosleep(&while_, NULL);
    return is == value;
}

/* Wait for the word as for a signal, if signals have its size. */
static void await_signal(const tern_word *word, unsigned memory, bool by_event)
{
    uint64_t     offset = (uint64_t)((const unsigned char *)word->addr - mine[memory]);
    tern_compare compare = (tern_compare)word->compare;
    tern_event   event = TERN_EVENT_INIT;

    if (word->bytes == 8 && by_event)
        OK(tern_signal_event(TERN_WORLD, region[memory], offset, compare, word->value, &event));
    else if (word->bytes == 8)
        OK(tern_signal_wait(TERN_WORLD, region[memory], offset, compare, word->value, TERN_FOREVER, NULL));
    else if (word->bytes == 4 && by_event)
        OK(tern_signal_event_u32(TERN_WORLD, region[memory], offset, compare, (uint32_t)word->value, &event));
    else if (word->bytes == 4)
        OK(tern_signal_wait_u32(TERN_WORLD, region[memory], offset, compare, (uint32_t)word->value, TERN_FOREVER,
                                NULL));
    else
        OK(tern_word_wait(TERN_WORLD, word, TERN_FOREVER));
    OK(tern_event_wait(&event, TERN_FOREVER));
}

/* Wait in one of ten ways for a word of one of the two parts. */
static void await(tern_word *word, unsigned memory, unsigned way)
{
    static const uint64_t zero;
    tern_word             words[] = { TERN_WORD(&zero, TERN_NE, 0), *word };
    tern_idle             idle = TERN_IDLE(.name = "the token");
    size_t                index = 9, count = 9, indices[2];

    switch (way) {
    case 0: OK(tern_word_wait(TERN_WORLD, word, TERN_FOREVER)); break;
    case 1:
        OK(tern_word_wait_any(TERN_WORLD, words, 2, TERN_FOREVER, &index));
        SAME(index, 1);
        break;
    case 2: OK(tern_word_wait_all(TERN_WORLD, &words[1], 1, TERN_FOREVER)); break;
    case 3:
        OK(tern_word_wait_some(TERN_WORLD, words, 2, TERN_FOREVER, &count, indices));
        SAME(count, 1);
        SAME(indices[0], 1);
        break;
    case 4: OK(tern_wait_until(TERN_WORLD, holds, word, TERN_FOREVER)); break;
    case 5:
        while (!holds(word))
            OK(tern_idle_step(TERN_WORLD, &idle));
        break;
    case 6:
    case 7:
        while (!held(word, way == 6 ? 0 : 200000))
            OK(tern_idle_step(TERN_WORLD, &idle));
        break;
    default: await_signal(word, memory, way == 9);
    }
}

/* ---- a thread that polls ---- */

static atomic_bool stop;

static void *poll_always(void *arg)
{
    tern_ctx *own;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &own));
    while (!atomic_load(&stop)) {
        OK(tern_progress(own));
        sched_yield();
    }
    OK(tern_ctx_free(own));
    return arg;
}

/* Let the kernel refuse membarrier. Returns false if the kernel has no filters. */
static bool refuse_membarrier(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof(rules) / sizeof(rules[0]), rules };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

int main(void)
{
    const char *refuse = getenv("WAKE_MEMBARRIER"), *rank = getenv("TERN_RANK");
    bool        polls = getenv("WAKE_POLLER") != NULL;
    uint64_t    seed = job_seed(21);
    pthread_t   poller;

    setenv("TERN_TEST", "net=off", 0);
    if (refuse && rank && (strcmp(refuse, "all") == 0 || atoi(rank) % 2 == 1) && !refuse_membarrier()) {
        fprintf(stderr, "wake: the kernel has no seccomp filters\n");
        return JOB_SKIP;
    }
    OK(tern_init());
    me = tern_rank();
    ranks = tern_size();
    mine[1] = job_new(BYTES);
    OK(tern_region_create(TERN_WORLD, BYTES, NULL, &region[0]));
    OK(tern_region_register(TERN_WORLD, mine[1], BYTES, &region[1]));
    mine[0] = tern_region_ptr(region[0], me);
    ctx[0] = TERN_WORLD;
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &ctx[1]));
    OK(tern_atomic_domain_create(
        TERN_WORLD, TERN_UINT64,
        TERN_ATOMIC_MAX | TERN_ATOMIC_SWAP | TERN_ATOMIC_GET | TERN_ATOMIC_CAS | TERN_ATOMIC_ADD, 0, &domain));
    if (polls)
        CHECK(pthread_create(&poller, NULL, poll_always, NULL) == 0);
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < TOKENS; i++) { /* every rank draws the same numbers */
        uint64_t        random = job_random(&seed);
        unsigned        memory = random >> 8 & 1, form = random >> 16 & 255, way = (unsigned)(random >> 24) % 10;
        enum kind       kind = (enum kind)((random >> 32) % KINDS);
        struct timespec delay = { 0, (long)(random >> 40) % (i % 8 == 0 ? 3000000 : 30000) };
        struct hop      h = { ctx[random >> 9 & 1], region[memory], (i + 1) % ranks, (uint64_t)i + 1 };

        if (me == i % ranks) {
            nanosleep(&delay, NULL);
            hop(&h, kind, form);
        }
        if (me == h.to) {
            tern_word word = condition_of(mine[memory], h.value, kind, form);

            await(&word, memory, way);
        }
    }
    OK(tern_barrier(TERN_WORLD));
    atomic_store(&stop, true);
    if (polls)
        pthread_join(poller, NULL);
    OK(tern_atomic_domain_free(domain));
    OK(tern_ctx_free(ctx[1]));
    OK(tern_region_free(region[1]));
    OK(tern_region_free(region[0]));
    OK(tern_finalize());
    free(mine[1]);
    return job_broken;
}
