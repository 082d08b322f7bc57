/* misuse.c: objects that are used or freed after they were freed, and regions that are freed too early.
 *
 * Promise: every call with a freed region, context, team, client, counter, atomic domain, set of mutexes or request
 * returns TERN_ERR_STATE, with a text that names the call and says what was freed; nothing is written. Freeing an
 * object twice is such a call. tern_region_free returns TERN_ERR_STATE, with the number of operations and their
 * context, while this rank has outstanding operations on the region, and succeeds once they are complete. Errors in
 * arguments name the argument, the rank and the limits.
 *
 * ranks: 1 2 4
 */
#include "misuse_test.h"

#define BYTES (4u << 20)
#define KEEP 2u /* id of the handler that prepares a reply and does not commit it */

static struct misuse m = { .want = TERN_ERR_STATE };

static void ignore(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
}

static void freed_region(void)
{
    tern_region     *region = m.region, *freed, *other;
    uint64_t         before = 4711;
    uint64_t        *mine;
    tern_am_prepared prepared;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &freed));
    OK(tern_am_prepare(
        TERN_WORLD, 0,
        &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .region = freed, .min = 8, .max = 8, .buffer = misuse_words),
        &prepared));
    OK(tern_region_free(freed));
    OK(tern_region_create(TERN_WORLD, 64, NULL, &other)); /* may get the same memory */
    mine = tern_region_ptr(other, tern_rank());
    *mine = before;
    m.region = freed;
    m.says = "the region was freed";
    misuse_of_region(&m);
    RETURNS(TERN_ERR_STATE, tern_region_free(freed));
    SAYS("tern_region_free: the region was freed");
    CHECK(!tern_region_ptr(freed, 0) && tern_region_size(freed, 0) == 0);
    CHECK(strcmp(tern_region_path(freed, 0), "none") == 0);
    RETURNS(TERN_ERR_STATE, tern_am_commit(&prepared, 1, NULL, 0, 8));
    SAYS("tern_am_commit: the region of the message was freed");
    RETURNS(TERN_ERR_STATE, tern_am_request(TERN_WORLD, 0,
                                            &TERN_AM(.kind = TERN_AM_LONG, .handler = 1, .region = freed,
                                                     .payload = misuse_words, .len = 8)));
    SAYS("tern_am_request: the region was freed");
    OK(tern_barrier(TERN_WORLD));
    SAME(*mine, before);
    OK(tern_region_free(other));
    m.region = region;
}

static void freed_ctx(tern_order order)
{
    tern_ctx        *freed, *other;
    tern_request    *request, *notice;
    tern_am_prepared prepared;

    OK(tern_ctx_create(tern_team_world(), order, &freed));
    OK(tern_recv_create(freed, TERN_ANY_SOURCE, 1, misuse_words, 8, &request));
    OK(tern_notify_create(freed, m.region, TERN_ANY_SOURCE, 1, 1, &notice));
    OK(tern_am_prepare(freed, tern_rank(), &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &prepared));
    OK(tern_ctx_free(freed));
    REFUSES(TERN_ERR_STATE, tern_am_commit(&prepared, 1, NULL, 0, 8));
    SAYS("the context was freed");
    OK(tern_am_cancel(&prepared)); /* later messages wait until then */
    REFUSES(TERN_ERR_STATE, tern_am_cancel(&prepared));
    OK(tern_ctx_create(tern_team_world(), order, &other));
    CHECK(freed != other && !tern_ctx_team(freed));
    m.ctx = freed;
    m.says = "the context was freed";
    misuse_of_ctx(&m);
    misuse_of_ctx_by_any(&m);
    misuse_of_region(&m);
    m.says = "the request";
    m.request = request;
    misuse_of_request(&m);
    m.request = notice;
    misuse_of_request(&m);
    m.ctx = TERN_WORLD;
    OK(tern_ctx_free(other));
}

static void freed_domain(void)
{
    tern_atomic_domain *domain = m.domain;

    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD, 0, &m.domain));
    OK(tern_atomic_domain_free(m.domain));
    m.says = "the domain was freed";
    misuse_of_domain(&m);
    m.domain = domain;
}

static void freed_mutexes(void)
{
    tern_mutexes *mutexes = m.mutexes;

    OK(tern_mutex_create(TERN_WORLD, 2, &m.mutexes));
    OK(tern_mutex_free(m.mutexes));
    m.says = "the set of mutexes was freed";
    misuse_of_mutexes(&m);
    m.mutexes = mutexes;
}

static void freed_client(void)
{
    tern_am_prepare_opts medium = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8);
    tern_am_prepared     prepared;

    OK(tern_am_client_create(TERN_WORLD, NULL, &m.client));
    OK(tern_am_client_register(m.client, 1, ignore, NULL));
    OK(tern_am_client_prepare(m.client, TERN_WORLD, tern_rank(), &medium, &prepared));
    OK(tern_am_client_free(m.client));
    REFUSES(TERN_ERR_STATE, tern_am_commit(&prepared, 1, NULL, 0, 8));
    SAYS("the client of the message was freed");
    OK(tern_am_cancel(&prepared));
    m.says = "the client was freed";
    misuse_of_client(&m);
    OK(tern_am_client_create(TERN_WORLD, NULL, &m.client)); /* for the calls with a freed context */
}

static tern_am_prepared kept_reply;
static uint64_t         prepared_replies;

static void keep_reply(const tern_am_event *event, void *user)
{
    (void)user;
    OK(tern_am_prepare_reply(event->token, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &kept_reply));
    prepared_replies++;
}

/* A reply that is committed after its handler has returned. */
static void late_reply(void)
{
    OK(tern_am_short(TERN_WORLD, tern_rank(), KEEP, NULL, 0));
    OK(job_await(&prepared_replies, 1, TERN_FOREVER));
    REFUSES(TERN_ERR_STATE, tern_am_commit(&kept_reply, 1, NULL, 0, 8));
    SAYS("the handler of the request has returned");
    OK(tern_am_cancel(&kept_reply));
}

static void freed_team(void)
{
    tern_team *freed;

    OK(tern_team_dup(TERN_WORLD, &freed));
    OK(tern_team_free(freed));
    CHECK(tern_team_rank(freed) == -1 && tern_team_size(freed) == -1);
    REFUSES(TERN_ERR_STATE, tern_team_free(freed));
    SAYS("the team was freed");
    REFUSES(TERN_ERR_STATE, tern_team_translate(tern_team_world(), 0, freed, &(int){ 0 }));
    SAYS("the team to was freed");
    REFUSES(TERN_ERR_STATE, tern_team_strided(freed, 0, 1, 1, 0, &(tern_team *){ NULL }));
    SAYS("the team parent was freed");
    REFUSES(TERN_ERR_ARG, tern_team_strided(tern_team_world(), 0, 1, INT_MIN, 0, &(tern_team *){ NULL }));
    SAYS("n is -2147483648");
}

static void freed_counter(void)
{
    tern_counter *counter = m.counter;

    OK(tern_counter_create(TERN_WORLD, &m.counter));
    OK(tern_counter_free(m.counter));
    m.says = "the counter was freed";
    misuse_of_counter(&m);
    RETURNS(TERN_ERR_STATE,
            tern_put_with(TERN_WORLD, m.region, 0, 0, misuse_words, 8, &TERN_OPTS(.counter = m.counter)));
    SAYS("tern_put_with: opts->counter was freed");
    RETURNS(TERN_ERR_STATE, tern_put_with(TERN_WORLD, m.region, 0, 0, misuse_words, 8, &TERN_OPTS(.when = m.counter)));
    SAYS("tern_put_with: opts->when was freed");
    m.counter = counter;
}

/* The copy of a handle after the request was freed, or has completed. */
static void freed_request(void)
{
    tern_request *request, *copy, *none = NULL;

    OK(tern_send_create(TERN_WORLD, tern_rank(), 1, misuse_words, 8, &request));
    copy = request;
    OK(tern_request_free(&request));
    CHECK(!request);
    m.request = copy;
    m.says = "the request";
    misuse_of_request(&m);
    OK(tern_notify_create(TERN_WORLD, m.region, TERN_ANY_SOURCE, 1, 1, &request));
    copy = request;
    OK(tern_request_free(&request));
    m.request = copy;
    misuse_of_request(&m);
    RETURNS(TERN_ERR_STATE, tern_request_wait_all(&copy, 1, TERN_FOREVER, NULL, NULL));
    SAYS("tern_request_wait_all: the request was freed");
    RETURNS(TERN_ERR_STATE, tern_notify_probe(copy, NULL));
    SAYS("tern_notify_probe: the request was freed");
    RETURNS(TERN_ERR_STATE, tern_request_wait(&none, TERN_FOREVER, NULL));
    SAYS("tern_request_wait: the request is not started: its handle is NULL");
    RETURNS(TERN_ERR_ARG, tern_request_free(&none));
    SAYS("tern_request_free: *request is NULL");
}

/* Each struct is used again after many others, and then works. */
static void many(void)
{
    for (int i = 0; i < 200; i++) {
        tern_region  *region;
        tern_ctx     *ctx;
        tern_counter *counter;
        tern_request *notice;

        OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
        OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
        OK(tern_counter_create(ctx, &counter));
        OK(tern_notify_create(ctx, region, tern_rank(), 1, 1, &notice));
        OK(tern_request_start(notice));
        OK(tern_put_notify(ctx, region, tern_rank(), 0, &(uint64_t){ (uint64_t)i }, 8, 1));
        OK(tern_request_wait(&notice, TERN_FOREVER, NULL));
        SAME(*(uint64_t *)tern_region_ptr(region, tern_rank()), i);
        OK(tern_request_free(&notice));
        OK(tern_counter_add(counter, 1));
        OK(tern_counter_free(counter));
        OK(tern_ctx_free(ctx));
        OK(tern_region_free(region));
    }
}

/* Rank 0 frees a region while operations on it are outstanding. */
static void busy_region(void)
{
    static unsigned char source[BYTES];
    tern_region         *region;
    tern_event           event;
    int                  last = tern_size() - 1;

    OK(tern_region_create(TERN_WORLD, BYTES, NULL, &region));
    if (tern_rank() == 0) {
        OK(tern_put_nb(TERN_WORLD, region, last, 0, source, BYTES, &event));
        if (event.pending) {
            RETURNS(TERN_ERR_STATE, tern_region_free(region));
            SAYS(
                "tern_region_free: rank 0 has 1 outstanding operation on the region, of TERN_WORLD; complete it first");
        }
        OK(tern_event_wait(&event, TERN_FOREVER));
        /* An operation that waits for a counter is outstanding, too. */
        OK(tern_put_with(TERN_WORLD, region, last, 0, source, 64,
                         &TERN_OPTS(.when = m.counter, .threshold = 1, .event = &event)));
        RETURNS(TERN_ERR_STATE, tern_region_free(region));
        SAYS("1 outstanding operation");
        OK(tern_counter_add(m.counter, 1));
        OK(tern_event_wait(&event, TERN_FOREVER));
    }
    OK(tern_region_free(region));
}

/* The texts of errors in arguments. */
static void texts(void)
{
    const size_t    count[] = { 4 };
    const ptrdiff_t stride[] = { 1024 }, back[] = { -1024 };
    tern_strided    box = TERN_STRIDED(.dims = 1, .element = 8, .count = count, .local = misuse_words,
                                       .local_stride = stride, .remote_stride = stride);
    tern_vector     vector = TERN_VECTOR(.local_count = 3);
    char            text[200];

    RETURNS(TERN_ERR_ARG, tern_put_vector(TERN_WORLD, m.region, 0, &vector));
    SAYS("tern_put_vector: local is NULL, but local_count is 3");
    vector = TERN_VECTOR(.remote_count = 5);
    RETURNS(TERN_ERR_ARG, tern_get_vector_nbi(TERN_WORLD, m.region, 0, &vector));
    SAYS("tern_get_vector_nbi: remote is NULL, but remote_count is 5");
    RETURNS(TERN_ERR_ARG, tern_put_vector(TERN_WORLD, m.region, 0, NULL));
    SAYS("tern_put_vector: vector is NULL");
    box.remote = 2048;
    RETURNS(TERN_ERR_RANGE, tern_put_strided(TERN_WORLD, m.region, 0, &box));
    SAYS("tern_put_strided: the box needs the bytes 2048 to 5127 of rank 0, whose part has 4096 bytes");
    box.remote_stride = back;
    RETURNS(TERN_ERR_RANGE, tern_put_strided(TERN_WORLD, m.region, 0, &box));
    SAYS("tern_put_strided: the box needs bytes from 1024 before the part of rank 0 on, which has 4096 bytes");
    box.count = NULL;
    RETURNS(TERN_ERR_ARG, tern_put_strided(TERN_WORLD, m.region, 0, &box));
    SAYS("tern_put_strided: count is NULL, but dims is 1");
    RETURNS(TERN_ERR_ARG, tern_put(TERN_WORLD, m.region, 0, 0, NULL, 8));
    SAYS("tern_put: src is NULL, but len is 8");
    RETURNS(TERN_ERR_ARG, tern_get_u64(TERN_WORLD, m.region, 0, 0, NULL));
    SAYS("tern_get_u64: dst is NULL");
    RETURNS(TERN_ERR_ARG, tern_send(TERN_WORLD, 0, 1, NULL, 8));
    SAYS("tern_send: buf is NULL, but its length is 8");
    RETURNS(TERN_ERR_ARG, tern_irecv(TERN_WORLD, 0, 1, misuse_words, 8, NULL));
    SAYS("tern_irecv: out is NULL");
    RETURNS(TERN_ERR_ARG, tern_put_with(TERN_WORLD, m.region, 0, 0, misuse_words, 8, &TERN_OPTS(.flags = 0x4000000)));
    SAYS("tern_put_with: unknown flags 0x4000000; known are TERN_IMMEDIATE");
    RETURNS(TERN_ERR_ARG,
            tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, 1u << 31, 0, &(tern_atomic_domain *){ 0 }));
    SAYS("0x80000000");
    SAYS("uint64, which has get, put, swap, cas, add");
    snprintf(text, sizeof(text), "tern_mutex_lock: no mutex 9 of rank 0, which has the mutexes 0 to 0");
    RETURNS(TERN_ERR_RANGE, tern_mutex_lock(TERN_WORLD, m.mutexes, 0, 9));
    SAYS(text);
}

/* A region of this rank's node does not reach ranks of other nodes. */
static void other_team(void)
{
    tern_ctx    *node;
    tern_region *region;

    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    OK(tern_region_create(node, 64, NULL, &region));
    for (int rank = 0; rank < tern_size(); rank++)
        if (tern_team_translate(tern_team_world(), rank, tern_team_node(), &(int){ 0 }) != TERN_OK) {
            RETURNS(TERN_ERR_RANGE, tern_put(TERN_WORLD, region, rank, 0, misuse_words, 8));
            SAYS("is in the context's team but not in the region's team");
        }
    OK(tern_region_free(region));
    OK(tern_ctx_free(node));
}

int main(void)
{
    OK(tern_am_register(0, ignore, NULL));
    OK(tern_am_register(1, ignore, NULL));
    OK(tern_am_register(KEEP, keep_reply, NULL));
    OK(tern_init());
    m.ctx = TERN_WORLD;
    m.team = tern_team_world();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &m.region));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, (1u << TERN_ATOMIC_OPS) - 1, 0, &m.domain));
    OK(tern_mutex_create(TERN_WORLD, 1, &m.mutexes));
    OK(tern_counter_create(TERN_WORLD, &m.counter));
    texts();
    other_team();
    freed_domain();
    freed_mutexes();
    freed_client();
    freed_team();
    late_reply();
    freed_counter();
    freed_request();
    freed_ctx(TERN_RELAXED);
    freed_ctx(TERN_STRICT);
    freed_ctx(TERN_RELAXED | TERN_SHARED);
    freed_region();
    many();
    busy_region();
    OK(tern_finalize());
    return 0;
}
