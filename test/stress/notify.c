/* notify.c: random programs of notification requests, against two plain lists; and storms of notifications.
 *
 * Promise: a notification goes to the request, and a request finds the notification, that a walk along a list of
 * requests and a list of unexpected notifications would find. When all ranks notify all ranks faster than they poll,
 * with queues of any length and little storage for unexpected notifications, none is lost, none arrives twice, and no
 * rank waits for ever; a notification arrives after its data; notifications of a strict context arrive in order. An
 * immediate access that finds no space has no effect.
 *
 * sanitized: 2 8
 * env: TERN_NOTIFY_QUEUE=4 TERN_NOTIFY_KEEP=500
 * env: TERN_NOTIFY_QUEUE=128 TERN_NOTIFY_KEEP=500
 * env: TERN_CMA=off TERN_NOTIFY_QUEUE=8 TERN_NOTIFY_KEEP=500
 * env: TERN_LINKS=ofi TERN_NOTIFY_QUEUE=4 TERN_NOTIFY_KEEP=500
 * env: TERN_LINKS=ofi TERN_OFI_DATA=0 TERN_NOTIFY_QUEUE=32 TERN_NOTIFY_KEEP=500
 */
#include <sched.h>

#include "job_test.h"

static tern_ctx    *strict;
static tern_region *region, *other; /* other: to learn that everything has arrived */
static uint64_t     seed;

static unsigned dice(unsigned n)
{
    return (unsigned)(job_random(&seed) % n);
}

/* ---- the lists ---- */

#define MOST 24  /* requests */
#define KEPT 400 /* notifications */
#define TAGS 4

struct arrival {
    int      source;
    uint32_t tag;
    uint64_t bytes;
};

struct model {
    tern_request *request;
    int           source;
    int64_t       tag;
    uint32_t      count, left;
    enum { IDLE, STARTED, DONE } state;
    uint64_t       turn; /* when it was started */
    struct arrival last;
};

static struct model   models[MOST];
static struct arrival kept[KEPT];
static unsigned       kept_count;
static uint64_t       turns;

static bool takes(const struct model *m, const struct arrival *a)
{
    return (m->source == TERN_ANY_SOURCE || m->source == a->source) &&
           (m->tag == TERN_ANY_TAG || m->tag == (int64_t)a->tag);
}

static void model_take(struct model *m, const struct arrival *a)
{
    m->last = *a;
    if (--m->left == 0)
        m->state = DONE;
}

static void model_comes(const struct arrival *a)
{
    struct model *oldest = NULL;

    for (unsigned i = 0; i < MOST; i++)
        if (models[i].request && models[i].state == STARTED && takes(&models[i], a) &&
            (!oldest || models[i].turn < oldest->turn))
            oldest = &models[i];
    if (oldest) {
        model_take(oldest, a);
        return;
    }
    CHECK(kept_count < KEPT);
    kept[kept_count++] = *a;
}

/* The first stored notification that matches the request; -1: none. */
static int model_oldest(const struct model *m)
{
    for (unsigned i = 0; i < kept_count; i++)
        if (takes(m, &kept[i]))
            return (int)i;
    return -1;
}

static void model_start(struct model *m)
{
    int i;

    m->left = m->count;
    m->state = STARTED;
    m->turn = ++turns;
    while (m->state == STARTED && (i = model_oldest(m)) >= 0) {
        model_take(m, &kept[i]);
        memmove(&kept[i], &kept[i + 1], (--kept_count - (unsigned)i) * sizeof(kept[0]));
    }
}

/* ---- both ---- */

static void same_info(const tern_request_info *info, const struct arrival *a)
{
    SAME(info->source, a->source);
    SAME(info->tag, a->tag);
    SAME(info->len, a->bytes);
}

static void init(struct model *m)
{
    *m = (struct model){ .source = dice(2) ? TERN_ANY_SOURCE : (int)dice((unsigned)tern_size()),
                         .tag = dice(2) ? TERN_ANY_TAG : (int64_t)dice(TAGS),
                         .count = dice(3) ? 1 : 1 + dice(5) };
    OK(tern_notify_create(TERN_WORLD, region, m->source, m->tag, m->count, &m->request));
}

static void test(struct model *m)
{
    tern_request_info info;

    RETURNS(m->state == DONE   ? TERN_OK
            : m->state == IDLE ? TERN_ERR_STATE
                               : TERN_PENDING,
            tern_request_test(&m->request, &info));
    if (m->state != DONE)
        return;
    same_info(&info, &m->last);
    SAME(info.matches, m->count);
    m->state = IDLE;
}

static void probe(struct model *m)
{
    int               i = model_oldest(m);
    tern_request_info info;

    RETURNS(i >= 0 ? TERN_OK : TERN_PENDING, tern_notify_probe(m->request, &info));
    if (i >= 0)
        same_info(&info, &kept[i]);
}

static void cancel(struct model *m)
{
    tern_request_info info;

    RETURNS(m->state == STARTED ? TERN_OK
            : m->state == IDLE  ? TERN_ERR_STATE
                                : TERN_PENDING,
            tern_request_cancel(&m->request, &info));
    if (m->state != STARTED)
        return;
    SAME(info.matches, m->count - m->left);
    m->state = IDLE;
}

/* One step of a random program. */
static void step(void)
{
    struct model *m = &models[dice(MOST)];

    if (!m->request) {
        init(m);
        return;
    }
    switch (dice(16)) {
    case 0: cancel(m); break;
    case 1:
        OK(tern_request_free(&m->request)); /* whatever its state */
        m->request = NULL;
        break;
    case 2:
    case 3: probe(m); break;
    case 4:
    case 5:
    case 6:
    case 7: test(m); break;
    default:
        RETURNS(m->state == STARTED ? TERN_ERR_STATE : TERN_OK, tern_request_start(m->request));
        if (m->state != STARTED)
            model_start(m);
    }
}

/* The notifications of a rank in a round follow from the round, so that the others know them. */
static struct arrival arrival_of(uint64_t *numbers, int source)
{
    uint64_t number = job_random(numbers);

    return (struct arrival){ .source = source, .tag = (uint32_t)(number % TAGS), .bytes = number / TAGS % 40 };
}

/* One rank notifies all, then all check the result. */
static void round_of(int source, unsigned round)
{
    static unsigned char data[64];
    uint64_t             numbers = 1 + round * 1000003u;
    unsigned             count = 1 + (unsigned)(job_random(&numbers) % 60);
    tern_request        *last;

    OK(tern_notify_create(TERN_WORLD, other, source, round, 1, &last));
    OK(tern_request_start(last));
    OK(tern_barrier(TERN_WORLD)); /* all have finished their earlier steps */
    for (unsigned i = 0; i < count; i++) {
        struct arrival a = arrival_of(&numbers, source);

        model_comes(&a);
        for (int to = 0; to < tern_size() && source == tern_rank(); to++)
            OK(tern_put_notify_nbi(strict, region, to, 0, data, a.bytes, a.tag));
    }
    for (int to = 0; to < tern_size() && source == tern_rank(); to++)
        OK(tern_notify(strict, other, to, round));
    OK(tern_request_wait(&last, TERN_FOREVER, NULL));
    OK(tern_request_free(&last));
}

static void against_lists(void)
{
    const unsigned rounds = JOB_SANITIZED ? 30 : 100;

    for (unsigned round = 0; round < rounds; round++) {
        round_of((int)(round % (unsigned)tern_size()), round);
        for (unsigned i = 100; i > 0 || kept_count > KEPT / 2; i -= i > 0)
            step();
    }
    for (unsigned i = 0; i < MOST; i++)
        if (models[i].request)
            OK(tern_request_free(&models[i].request));
    OK(tern_barrier(TERN_WORLD));
}

/* ---- storms ---- */

#define STORM 200 /* to each rank */

/* All to all; every rank sends everything before it waits, or waits in between. One request for each source counts the
 * arrivals, and nothing has to be stored. */
static void storm_counted(struct job_region *r)
{
    int             ranks = tern_size();
    static uint64_t number[STORM + 1];
    tern_request   *request[64];

    for (int from = 0; from < ranks; from++) {
        OK(tern_notify_create(TERN_WORLD, r->region, from, TERN_ANY_TAG, STORM, &request[from]));
        OK(tern_request_start(request[from]));
    }
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t i = 1; i <= STORM; i++) {
        number[i] = i;
        for (int to = 0; to < ranks; to++)
            OK(tern_put_notify_nbi(strict, r->region, to, 8u * (unsigned)tern_rank(), &number[i], 8, i));
    }
    OK(tern_quiet(strict));
    OK(tern_request_wait_all(request, (size_t)ranks, TERN_FOREVER, NULL, NULL));
    for (int from = 0; from < ranks; from++) {
        uint64_t seen;

        OK(tern_get(TERN_WORLD, r->region, tern_rank(), 8u * (unsigned)from, &seen, 8));
        SAME(seen, STORM); /* it was the last: strict */
        OK(tern_request_free(&request[from]));
    }
    OK(tern_barrier(TERN_WORLD));
}

/* All to all, and every notification is checked: those of one source arrive in order, after their data. */
static void storm_watched(struct job_region *r)
{
    int           ranks = tern_size();
    uint32_t      next[64] = { 0 };
    tern_request *request;
    uint32_t      sent = 0, to_send = STORM * (uint32_t)ranks;

    OK(tern_notify_create(TERN_WORLD, r->region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &request));
    OK(tern_request_start(request));
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t got = 0; got < to_send || sent < to_send;) {
        tern_request_info info;
        tern_opts         opts = TERN_OPTS(.flags = TERN_IMMEDIATE | TERN_NOTIFY, .tag = 1 + sent / (uint32_t)ranks);
        uint64_t          value = opts.tag, seen = 0;

        if (sent < to_send) {
            tern_event  event;
            tern_status st;

            opts.event = &event;
            st = tern_put_with(strict, r->region, (int)(sent % (uint32_t)ranks), 8u * (unsigned)tern_rank(), &value, 8,
                               &opts);
            CHECK(st == TERN_OK || st == TERN_AGAIN);
            if (st == TERN_OK)
                OK(tern_event_wait(&event, TERN_FOREVER));
            sent += st == TERN_OK;
        }
        if (tern_request_test(&request, &info) != TERN_OK) {
            sched_yield();
            continue;
        }
        SAME(info.tag, ++next[info.source]);
        OK(tern_get(TERN_WORLD, r->region, tern_rank(), 8u * (unsigned)info.source, &seen, 8));
        CHECK(seen >= (uint64_t)info.tag);
        OK(tern_request_start(request));
        got++;
    }
    OK(tern_request_free(&request));
    OK(tern_barrier(TERN_WORLD));
}

/* No request is started until all possible notifications have been sent: then all of them are there. */
static void storm_kept(struct job_region *r)
{
    const char   *keep = getenv("TERN_NOTIFY_KEEP");
    int           ranks = tern_size(), from;
    uint32_t      each = keep ? (uint32_t)atoi(keep) / (uint32_t)ranks : 8000 / (uint32_t)ranks;
    tern_request *request;

    each = JOB_SANITIZED && each > 100 ? 100 : each;
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t i = 0; i < each; i++)
        for (int to = 0; to < ranks; to++)
            OK(tern_notify(strict, r->region, to, i));
    for (uint32_t i = each; i-- > 0;) { /* backwards, one source after the other */
        from = (int)(i % (uint32_t)ranks);
        for (int k = 0; k < ranks; k++, from = (from + 1) % ranks) {
            OK(tern_notify_create(TERN_WORLD, r->region, from, i, 1, &request));
            OK(tern_request_start(request));
            OK(tern_request_wait(&request, TERN_FOREVER, NULL));
            OK(tern_request_free(&request));
        }
    }
    OK(tern_barrier(TERN_WORLD));
}

/* Which accesses, once they are accepted, complete without any further action of their target. NOTHING: none is known
 * to, because an access may complete only when its notification has found space. PUTS: puts. ALL: puts, gets and
 * accumulates. */
enum known { NOTHING, PUTS, ALL };

static enum known known_of(const struct job_region *r, int to)
{
    const char *path = tern_region_path(r->region, to);

    if (job_chaos() || strcmp(path, "bounce") == 0)
        return NOTHING;
    return job_far(to) || strcmp(path, "cma") == 0 ? PUTS : ALL;
}

/* Whether accesses to some ranks may be accepted and then not complete before their target has space: over a network
 * without completion data the notification of a put is a separate message, which is sent when the put has completed.
 * The answer is the same on all ranks. */
static bool notifications_follow(void)
{
    for (int rank = 0; getenv("TERN_OFI_DATA") && rank < tern_size(); rank++)
        if (job_far(rank))
            return true;
    return false;
}

/* The next access of a storm, which does not wait: an empty put, or a put of its number; a get of the data of the last
 * put, and an addition of one to a sum. */
static tern_status storm_access(const struct job_region *r, int to, uint64_t number, enum known known)
{
    static const uint64_t one = 1;
    static uint64_t       numbers[8192]; /* twice the largest TERN_NOTIFY_KEEP of scripts/soak */
    uint64_t              place = 16u * (unsigned)tern_rank(), got = UINT64_MAX;
    tern_opts             opts = TERN_OPTS(.flags = TERN_IMMEDIATE | TERN_NOTIFY, .tag = (uint32_t)number);
    tern_status           st;

    CHECK(number < sizeof(numbers) / sizeof(numbers[0]));
    numbers[number] = number;
    if (known == ALL && number % 3 == 1) {
        st = tern_get_with(TERN_WORLD, r->region, to, place, &got, 8, &opts);
        SAME(got, st == TERN_OK ? number - 1 : UINT64_MAX);
    } else if (known == ALL && number % 3 == 2) {
        opts.acc = &TERN_ACC_ARGS(.type = TERN_UINT64);
        st = tern_acc_with(TERN_WORLD, r->region, to, place + 8, &one, 8, &opts);
    } else {
        st = tern_put_with(TERN_WORLD, r->region, to, place, &numbers[number], known == NOTHING ? 0 : 8, &opts);
    }
    CHECK(st == TERN_OK || st == TERN_AGAIN);
    return st;
}

/* Check the result of this many accesses: the number of the last put, and the sum. */
static void storm_left(const uint64_t *word, uint64_t accesses, enum known known)
{
    CHECK(accesses > 0);
    SAME(word[0], known == NOTHING ? 0 : known == PUTS ? accesses - 1 : (accesses - 1) / 3 * 3);
    SAME(word[1], known == ALL ? accesses / 3 : 0);
}

/* More than a rank stores: its peers get back-pressure, nothing is lost, and a refused access has no effect. */
static void storm_full(const struct job_region *r)
{
    const char     *keep = getenv("TERN_NOTIFY_KEEP");
    uint64_t        each = 2 * (uint64_t)(keep ? atoi(keep) : 0), i = 0, got = 0, accepted[64];
    const uint64_t *mine = (const uint64_t *)(void *)r->mine;
    int             right = (tern_rank() + 1) % tern_size(), left = (tern_rank() + tern_size() - 1) % tern_size();
    enum known      known = known_of(r, right), from_left = known_of(r, left);
    tern_request   *request, *go;
    unsigned        refused = 0;

    if (!keep)
        return;
    memset(r->mine, 0, 4096);
    OK(tern_notify_create(TERN_WORLD, r->region, left, TERN_ANY_TAG, 1, &request));
    OK(tern_notify_create(TERN_WORLD, other, left, 5, 1, &go));
    OK(tern_request_start(go));
    OK(tern_barrier(TERN_WORLD));
    while (i < each && refused < 500) { /* in a row */
        tern_status st = storm_access(r, right, i, known);

        i += st == TERN_OK;
        refused = st == TERN_AGAIN ? refused + 1 : 0;
        OK(tern_progress(TERN_WORLD));
        sched_yield();
    }
    CHECK(i < each);             /* no more fit */
    if (!notifications_follow()) /* otherwise all ranks would wait for space, which none of them makes */
        OK(tern_quiet(TERN_WORLD));
    OK(tern_allgather(strict, &i, sizeof(i), accepted)); /* completes nothing of TERN_WORLD, nor does the barrier */
    if (!notifications_follow())
        storm_left(mine + 2 * left, accepted[left], from_left);
    OK(tern_barrier(strict));
    OK(tern_request_start(request));
    while (got < each || i < each) { /* the rest, while the other side makes space */
        if (i < each && storm_access(r, right, i, known) == TERN_OK)
            i++;
        if (tern_request_test(&request, NULL) == TERN_OK) {
            OK(tern_request_start(request));
            got++;
        } else {
            sched_yield();
        }
    }
    OK(tern_notify(TERN_WORLD, other, right, 5));
    OK(tern_request_wait(&go, TERN_FOREVER, NULL));
    OK(tern_barrier(TERN_WORLD));
    storm_left(mine + 2 * left, each, from_left);
    OK(tern_request_free(&go));
    OK(tern_request_free(&request));
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    struct job_region r;

    OK(tern_init());
    seed = job_seed(1000 + (uint64_t)tern_rank());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    OK(tern_region_create(TERN_WORLD, 64, NULL, &other));
    against_lists();
    OK(tern_region_free(region)); /* with the notifications stored for it */
    for (unsigned kind = 0; kind < 2; kind++) {
        job_region_make(&r, kind ? JOB_REGISTERED : JOB_HOST, 4096);
        storm_counted(&r);
        storm_watched(&r);
        storm_kept(&r);
        storm_full(&r);
        job_region_drop(&r);
    }
    OK(tern_finalize());
    return 0;
}
