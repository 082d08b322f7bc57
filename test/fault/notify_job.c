/* notify_job.c: jobs whose notifications go wrong; started by notify.sh.
 *
 *   notify_job source     rank 1 makes every form of notified access to everyone, waits for each, and is killed by
 *                         SIGKILL; the others wait for more
 *   notify_job flying     the same, but it waits for none: all are outstanding when it dies
 *   notify_job target     rank 1 makes no progress, everyone fills its queue, a thread for each form waits for space,
 *                         and rank 1 dies by SIGKILL
 *   notify_job behind     all ranks have sent all ranks more than TERN_NOTIFY_KEEP, without requests, when
 *                         rank 1 dies
 *   notify_job alone      two ranks; rank 0 waits for any source, and rank 1 dies
 *   notify_job signal     rank 1 signals all ranks and is killed; the others wait for one more until a deadline
 *   notify_job full       rank 0 stores unexpected notifications up to the limit, and waits for one behind them
 *   notify_job pushed     rank 0 starts no request while rank 1 makes more accesses than fit; then rank 0 does
 *   notify_job nonsense   two ranks notify each other in turn, and then rank 1 sends a word for a place that is not in
 *                         rank 0's memory
 *
 * A second word is the kind of memory: host, or registered. A survivor prints "survived R" if all promises to it held.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "core/region.h"
#include "fault/notify_forms.h"
#include "op/notify/notify.h"

#define SHORT 16u /* bytes */
#define LONG 65536u
#define WORDS (64 * sizeof(uint64_t)) /* in front of the slots, one for each form and length */
#define ACCESSES (2u * FORMS)

static int                 me, size;
static struct job_region   r;
static tern_region        *region;
static tern_atomic_domain *domain;
static unsigned char      *data;
static uint64_t            base; /* of the slots: each go_on() has new ones, as some ranks may still check the old */

static size_t len_of(uint32_t number)
{
    return number < FORMS ? SHORT : LONG;
}

static uint64_t slot_of(uint32_t number)
{
    return WORDS + (number < FORMS ? number * SHORT : FORMS * SHORT + (uint64_t)(number - FORMS) * LONG);
}

/* Returns the access with this number: to the slot of the number, with the number as the tag. */
static struct notify_access access_of(tern_ctx *ctx, int rank, uint32_t number, unsigned char *buffer)
{
    return (struct notify_access){ .ctx = ctx,
                                   .region = region,
                                   .domain = domain,
                                   .rank = rank,
                                   .offset = base + slot_of(number),
                                   .buffer = buffer,
                                   .len = len_of(number),
                                   .tag = number };
}

static tern_status try_access(int rank, uint32_t number, const tern_opts *opts)
{
    struct notify_access a = access_of(TERN_WORLD, rank, number, data);

    job_note = form_name[number % FORMS];
    job_fill(data, a.len, 1, number);
    return form_make(&a, number % FORMS, opts);
}

static tern_request *started(int source, int64_t tag, uint32_t count)
{
    tern_request *request = NULL;

    EXPECT(TERN_OK, tern_notify_create(TERN_WORLD, region, source, tag, count, &request));
    EXPECT(TERN_OK, tern_request_start(request));
    return request;
}

static bool names_it(void)
{
    return strstr(tern_error_detail(), "rank 1") != NULL;
}

/* Check that the access to rank 1, which is dead, is refused. */
static void is_refused(uint32_t number)
{
    tern_event event = { NULL };
    tern_opts  opts[] = { TERN_OPTS(.flags = TERN_NOTIFY, .tag = number),
                          TERN_OPTS(.flags = TERN_NOTIFY | TERN_IMMEDIATE, .tag = number),
                          TERN_OPTS(.flags = TERN_NOTIFY | TERN_WANT_EVENT, .tag = number, .event = &event) };

    EXPECT(TERN_ERR_PEER, try_access(1, number, NULL));
    REQUIRE(names_it());
    for (size_t i = 0; i < sizeof(opts) / sizeof(opts[0]); i++) {
        EXPECT(TERN_ERR_PEER, try_access(1, number, &opts[i]));
        REQUIRE(names_it());
    }
}

/* A rank that waits for rank 1, alone or with others, gets an error that names the dead rank. */
static void wait_for_dead(void)
{
    tern_request *requests[] = { started(me, 8, 1), started(1, 8, 3) };
    tern_event    events[2];
    size_t        index = 9;

    EXPECT(TERN_OK, tern_request_event(requests[0], &events[0]));
    EXPECT(TERN_OK, tern_request_event(requests[1], &events[1]));
    EXPECT(TERN_ERR_PEER, tern_request_wait(&requests[1], tern_deadline_in(20), NULL));
    REQUIRE(names_it());
    EXPECT(TERN_ERR_PEER, tern_request_test(&requests[1], NULL));
    EXPECT(TERN_ERR_PEER, tern_request_wait_any(requests, 2, tern_deadline_in(20), &index, NULL));
    REQUIRE(index == 1 && names_it());
    EXPECT(TERN_ERR_PEER, tern_request_wait_all(requests, 2, tern_deadline_in(20), NULL, NULL));
    REQUIRE(names_it());
    index = 9;
    EXPECT(TERN_ERR_PEER, tern_event_wait_any(events, 2, tern_deadline_in(20), &index));
    REQUIRE(index == 1);
    EXPECT(TERN_OK, tern_request_cancel(&requests[1], NULL));
    EXPECT(TERN_OK, tern_request_free(&requests[1]));
    EXPECT(TERN_OK, tern_notify(TERN_WORLD, region, me, 8)); /* the other request is unchanged */
    EXPECT(TERN_OK, tern_event_wait(&events[0], tern_deadline_in(20)));
    EXPECT(TERN_OK, tern_request_wait(&requests[0], tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_request_free(&requests[0]));
}

/* The survivors continue: each makes every form of access to every other. */
static void go_on(void)
{
    tern_request *request = started(TERN_ANY_SOURCE, TERN_ANY_TAG, ACCESSES * (uint32_t)(size - 1));

    base = (uint64_t)(1 + me) * slot_of(ACCESSES);
    for (uint32_t number = 0; number < ACCESSES; number++)
        for (int rank = 0; rank < size; rank++)
            if (rank != 1)
                EXPECT(TERN_OK, try_access(rank, number, NULL));
    EXPECT(TERN_OK, tern_request_wait(&request, tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_request_free(&request));
    for (uint32_t number = 0; number < ACCESSES; number++)
        is_refused(number);
    job_note = NULL;
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    wait_for_dead();
}

/* Check the info and the data of a notification of rank 1. */
static void check_notification(const tern_request_info *info)
{
    uint32_t tag = (uint32_t)info->tag;

    REQUIRE(info->source == 1 && info->tag >= 0 && info->tag < ACCESSES);
    if (info->tag < 0 || info->tag >= ACCESSES)
        return;
    job_note = form_name[tag % FORMS];
    REQUIRE(info->len == form_bytes(tag % FORMS, len_of(tag)));
    REQUIRE(job_put_holds(r.mine + slot_of(tag), form_writes(tag % FORMS, len_of(tag)), 1, tag));
}

/* Notifications sent before the death arrive once, with their data; if they were outstanding, some may be missing. Then
 * the wait ends. */
static void take_all(bool whole)
{
    bool              seen[ACCESSES] = { false };
    tern_request     *request = started(1, TERN_ANY_TAG, 1);
    tern_request_info info = { 0 };
    uint32_t          got = 0;
    tern_status       st;

    while ((st = tern_request_wait(&request, tern_deadline_in(20), &info)) == TERN_OK) {
        check_notification(&info);
        REQUIRE(!seen[info.tag % ACCESSES]);
        seen[info.tag % ACCESSES] = true;
        got++;
        EXPECT(TERN_OK, tern_request_start(request));
    }
    job_note = NULL;
    EXPECT(TERN_ERR_PEER, st);
    REQUIRE(names_it());
    REQUIRE(got == ACCESSES || !whole);
    EXPECT(TERN_OK, tern_request_free(&request));
}

static void run_source(void)
{
    for (uint32_t number = 0; number < ACCESSES && me == 1; number++)
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, try_access(rank, number, NULL));
    if (me == 1)
        fault_die();
    take_all(!job_far(1));
    go_on();
}

static void run_flying(void)
{
    unsigned char *buffer = me == 1 ? job_new((size_t)size * ACCESSES * LONG) : NULL;

    for (uint32_t number = 0; number < ACCESSES && me == 1; number++)
        for (int rank = 0; rank < size; rank++, buffer += LONG) {
            struct notify_access a = access_of(TERN_WORLD, rank, number, buffer);

            job_fill(buffer, a.len, 1, number);
            if (rank != me)
                EXPECT(TERN_OK, form_make(&a, number % FORMS, &TERN_OPTS(.flags = TERN_NOTIFY, .tag = number)));
        }
    if (me == 1)
        fault_die();
    take_all(false);
    go_on();
}

/* ---- a target that receives nothing ---- */

#define MOST 2000u /* more notifications than can be outstanding to a rank that receives none */

static _Atomic unsigned waiting;
static unsigned char   *spare; /* LONG bytes for each access: outstanding accesses need them to the end */

/* Notify by each form as long as there is space: notifications with data may have a separate queue, and an access that
 * has started continues while others do not find space yet. */
static void fill_queue(void)
{
    tern_opts opts = TERN_OPTS(.flags = TERN_IMMEDIATE | TERN_NOTIFY);

    for (uint32_t number = 0; number < ACCESSES; number++) {
        struct notify_access a = access_of(TERN_WORLD, 1, number, spare + (size_t)number * LONG);
        unsigned             most = MOST;
        tern_status          st;

        job_note = form_name[number % FORMS];
        while ((st = form_make(&a, number % FORMS, &opts)) == TERN_OK && --most > 0)
            ;
        EXPECT(TERN_AGAIN, st);
    }
    job_note = NULL;
}

/* One form: by the blocking call, or with an event. */
static void *wait_for_space(void *arg)
{
    unsigned             number = (unsigned)(uintptr_t)arg;
    unsigned char       *buffer = job_new(LONG);
    tern_event           event = { NULL };
    tern_opts            opts = TERN_OPTS(.flags = TERN_NOTIFY | TERN_WANT_EVENT, .tag = number, .event = &event);
    struct notify_access a;
    tern_ctx            *ctx;
    tern_status          st;

    EXPECT(TERN_OK, tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    a = access_of(ctx, 1, number, buffer);
    atomic_fetch_add(&waiting, 1);
    if (number < FORMS) {
        st = form_make(&a, number % FORMS, NULL);
    } else {
        st = form_make(&a, number % FORMS, &opts);
        if (st == TERN_OK)
            st = tern_event_wait(&event, tern_deadline_in(20));
    }
    if (st != TERN_ERR_PEER || !names_it())
        fprintf(stderr, "%s, by %s: status %d\n", form_name[number % FORMS], number < FORMS ? "call" : "event",
                (int)st);
    EXPECT(TERN_ERR_PEER, st);
    REQUIRE(names_it());
    EXPECT(TERN_OK, tern_ctx_free(ctx));
    free(buffer);
    return NULL;
}

/* Rank 1 writes to its memory that it makes no more calls; then all others fill its queue, write there that they have,
 * and wait for space. */
static void run_target(void)
{
    _Atomic uint64_t *who = (_Atomic uint64_t *)(void *)r.mine;
    pthread_t         thread[ACCESSES];
    uint64_t          was;
    tern_status       st;

    if (me == 1) {
        atomic_store(&who[me], 1);
        for (int rank = 0; rank < size; rank++)
            while (rank != me && atomic_load(&who[rank]) == 0)
                usleep(1000);
        fault_die();
    }
    for (uint64_t deaf = 0; deaf == 0;) /* by atomics: its helper thread may run them meanwhile */
        EXPECT(TERN_OK, tern_fadd(TERN_WORLD, region, 1, sizeof(*who), 0, &deaf));
    spare = job_new((size_t)ACCESSES * LONG);
    fill_queue();
    for (uintptr_t number = 0; number < ACCESSES; number++)
        CHECK(pthread_create(&thread[number], NULL, wait_for_space, (void *)number) == 0);
    while (atomic_load(&waiting) < ACCESSES)
        usleep(1000);
    st = tern_fadd(TERN_WORLD, region, 1, (uint64_t)me * sizeof(*who), 1, &was);
    REQUIRE(st == TERN_OK || st == TERN_ERR_PEER); /* rank 1 may die before it has confirmed the access */
    for (unsigned number = 0; number < ACCESSES; number++)
        pthread_join(thread[number], NULL);
    (void)tern_quiet(TERN_WORLD); /* it may report some outstanding accesses */
    free(spare);
    go_on();
}

static tern_status give(int rank, uint64_t value)
{
    const tern_signal signal =
        TERN_SIGNAL(.region = region, .offset = 8 * (uint64_t)me, .value = value, .op = TERN_SIGNAL_SET);

    job_fill(data, LONG, (unsigned)me, (unsigned)value);
    return tern_put_signal(TERN_WORLD, region, rank, slot_of(FORMS + (uint32_t)me), data, LONG, &signal);
}

/* The signal was complete when the call returned, so it is there after the death. A rank that waits for another signal
 * cannot know its source: the deadline ends the wait. */
static void run_signal(void)
{
    tern_status st;

    for (int rank = 0; rank < size && me == 1; rank++)
        if (rank != me)
            EXPECT(TERN_OK, give(rank, 5));
    if (me == 1)
        fault_die();
    EXPECT(TERN_OK, tern_signal_wait(TERN_WORLD, region, 8, TERN_EQ, 5, tern_deadline_in(20), NULL));
    REQUIRE(job_put_holds(r.mine + slot_of(FORMS + 1), LONG, 1, 5));
    EXPECT(TERN_ERR_TIMEOUT, tern_signal_wait(TERN_WORLD, region, 8, TERN_NE, 5, tern_deadline_in(0.1), NULL));
    while ((st = give(1, 1)) == TERN_OK)
        usleep(1000); /* the launcher has not reported the death yet */
    EXPECT(TERN_ERR_PEER, st);
    REQUIRE(names_it());
    EXPECT(TERN_ERR_PEER,
           tern_put_signal_nbi(TERN_WORLD, region, 1, 0, NULL, 0,
                               &TERN_SIGNAL(.region = region, .offset = 0, .value = 1, .op = TERN_SIGNAL_ADD)));
    for (int rank = 0; rank < size; rank++)
        if (rank != 1)
            EXPECT(TERN_OK, give(rank, 7));
    for (int rank = 0; rank < size; rank++)
        if (rank != 1)
            EXPECT(TERN_OK,
                   tern_signal_wait(TERN_WORLD, region, 8 * (uint64_t)rank, TERN_EQ, 7, tern_deadline_in(20), NULL));
}

#define BEHIND 20u

static void take(int rank, uint32_t tag, uint32_t count)
{
    tern_request *request = started(rank, tag, count);

    EXPECT(TERN_OK, tern_request_wait(&request, tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_request_free(&request));
}

/* The last notification of rank 1 can be received, although others of rank 1 and of living ranks are in front of it;
 * and a rank that waits for one more gets an error, although notifications of others cannot be stored. Rank 1 dies when
 * the others have told it, by a word in its memory, that everything has arrived. */
static void run_behind(void)
{
    const _Atomic uint64_t *heard = (const _Atomic uint64_t *)(const void *)r.mine;
    tern_request           *more;
    tern_event              event;
    tern_status             st;

    for (uint32_t i = 0; i <= BEHIND; i++)
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_notify(TERN_WORLD, region, rank, i < BEHIND ? 5 : 6));
    if (me == 1) {
        for (int rank = 0; rank < size; rank++)
            while (rank != me && atomic_load(&heard[rank]) == 0)
                EXPECT(TERN_OK, tern_progress(TERN_WORLD));
        fault_die();
    }
    fault_await_arrival(1, TERN_CHANNEL_NOTIFY, BEHIND + 1);
    st = tern_put_u64(TERN_WORLD, region, 1, (uint64_t)me * sizeof(*heard), 1);
    REQUIRE(st == TERN_OK || st == TERN_ERR_PEER); /* rank 1 may die before it has confirmed the put */
    more = started(1, 8, 1);
    EXPECT(TERN_OK, tern_request_event(more, &event));
    EXPECT(TERN_ERR_PEER, tern_request_wait(&more, tern_deadline_in(20), NULL));
    REQUIRE(names_it());
    EXPECT(TERN_ERR_PEER, tern_event_wait(&event, tern_deadline_in(20)));
    EXPECT(TERN_OK, tern_request_free(&more));
    take(1, 6, 1);
    for (int rank = 0; rank < size; rank++)
        if (rank != me)
            take(rank, 5, BEHIND);
}

static void run_alone(void)
{
    tern_request *request;

    if (me == 1)
        fault_die();
    request = started(TERN_ANY_SOURCE, TERN_ANY_TAG, 1);
    EXPECT(TERN_ERR_PEER, tern_request_wait(&request, tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_request_free(&request));
}

/* TERN_NOTIFY_KEEP is 10. Tag 1 is behind more than that; then requests for the notifications in front are started. */
static void run_full(void)
{
    tern_request *request, *first;

    if (me == 1) {
        for (int i = 0; i < 20; i++)
            EXPECT(TERN_OK, tern_notify(TERN_WORLD, region, 0, 0));
        EXPECT(TERN_OK, tern_notify(TERN_WORLD, region, 0, 1));
        return;
    }
    request = started(1, 1, 1);
    EXPECT(TERN_ERR_TIMEOUT, tern_request_wait(&request, tern_deadline_in(1), NULL));
    first = started(1, 0, 15);
    EXPECT(TERN_OK, tern_request_free(&first)); /* freed with its matches */
    EXPECT(TERN_OK, tern_request_wait(&request, tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_request_free(&request));
}

/* Start accesses until one finds no space. Returns the number started. */
static uint32_t start_many(void)
{
    const tern_opts opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = 4);
    uint32_t        count = 0;
    tern_status     st;

    while ((st = tern_get_with(TERN_WORLD, region, 0, WORDS, data, SHORT, &opts)) == TERN_OK)
        count++;
    EXPECT(TERN_ERR_TIMEOUT, st);
    return count;
}

/* The last access was started, and its notification has no space: a wait for its completion reports this. */
static uint32_t be_pushed_back(void)
{
    tern_deadline until = tern_deadline_in(20);
    uint32_t      count = 0;
    tern_status   st;

    EXPECT(TERN_OK, tern_ctx_set_timeout(TERN_WORLD, 0.2));
    do {
        count += start_many();
        st = tern_quiet(TERN_WORLD);
    } while ((st == TERN_OK || !strstr(tern_error_detail(), "notification waits")) && tern_clock() < until);
    EXPECT(TERN_ERR_TIMEOUT, st);
    REQUIRE(strstr(tern_error_detail(), "get of 16 bytes") && strstr(tern_error_detail(), "TERN_NOTIFY_KEEP"));
    EXPECT(TERN_OK, tern_ctx_set_timeout(TERN_WORLD, 20));
    return count;
}

static void run_pushed(void)
{
    uint32_t  count = 0, all[2];
    tern_ctx *meeting; /* a context without accesses to complete */

    EXPECT(TERN_OK, tern_ctx_create(tern_team_world(), TERN_RELAXED, &meeting));
    if (me == 1)
        count = be_pushed_back();
    EXPECT(TERN_OK, tern_allgather(meeting, &count, sizeof(count), all));
    if (me == 0)
        take(1, 4, all[1]);
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    EXPECT(TERN_OK, tern_ctx_free(meeting));
}

/* ---- malformed notifications of a source ---- */

/* By the fast path on both sides, if there is one; the last notification is one that no call would send. */
static void run_nonsense(void)
{
    static uint64_t word = 7;
    tern_request   *request;

    EXPECT(TERN_OK, tern_notify_create(TERN_WORLD, region, 1 - me, 3, 1, &request));
    for (unsigned turn = 0; turn < 100; turn++) {
        EXPECT(TERN_OK, tern_request_start(request));
        if (me == 1 && turn == 99) {
            const struct tern_link_part *part = &region->part[0];
            struct tern_inject_notify   *handle;
            const uint64_t forged[] = { wire_notify_first(3, WIRE_NOTIFY_INLINE, sizeof(word)), part->region,
                                        part->size - sizeof(word) + 1 };

            REQUIRE(tern_job.ops[part->link]->inject->notify(tern_job.link[part->link], 0, &handle) == TERN_OK);
            REQUIRE(tern_inject_inline(handle, forged, &word, &word, sizeof(word)));
            tern_link_ring(handle->slot);
        } else {
            EXPECT(TERN_OK, tern_put_notify_nbi(TERN_WORLD, region, 1 - me, 8, &word, sizeof(word), 3));
        }
        EXPECT(TERN_OK, tern_request_wait(&request, tern_deadline_in(20), NULL));
    }
}

static const struct fault_way ways[] = {
    { "source", run_source }, { "flying", run_flying }, { "target", run_target },
    { "signal", run_signal }, { "alone", run_alone },   { "nonsense", run_nonsense },
    { "behind", run_behind }, { "pushed", run_pushed }, { NULL, run_full },
};

int main(int argc, char **argv)
{
    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    size = tern_size();
    data = job_new(LONG);
    job_region_make(&r, argc > 2 && strcmp(argv[2], "registered") == 0 ? JOB_REGISTERED : JOB_HOST,
                    (uint64_t)(1 + size) * slot_of(ACCESSES));
    region = r.region;
    EXPECT(TERN_OK, tern_atomic_domain_create(TERN_WORLD, TERN_UINT64,
                                              TERN_ATOMIC_ADD | TERN_ATOMIC_FADD | TERN_ATOMIC_CAS, 0, &domain));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    fault_run(ways, argv[1]);
    EXPECT(TERN_OK, tern_finalize());
    free(data);
    free(r.memory);
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}
