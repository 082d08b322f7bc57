/* request_arrays.c: arrays that mix requests of messages and notification requests.
 *
 * Promise: test_any, wait_any, test_all, wait_all and wait_some report requests of both kinds in one array, each once,
 * with its status and what it received. A request of a message is freed, and its pointer becomes NULL; a persistent
 * request, and a notification request, stays and can be started again. NULL entries and requests that are not started
 * are skipped. A sleeping wait is woken by either kind.
 *
 * ranks: 1 2 4
 * env: TERN_SPIN=0 TERN_YIELDS=0
 */
#include "job_test.h"

enum { RECV, NOTIFIED, PERSISTENT, NOTHING, SEND, COUNTED, IDLE, ENTRIES }; /* entries of the array */
enum { TAG_RECV = 5, TAG_NOTIFIED, TAG_PERSISTENT, TAG_SEND, TAG_COUNTED, TAG_IDLE };

#define ROUNDS (JOB_SANITIZED ? 5u : 20u)
#define LONGEST 100000u

struct scene {
    struct job_region r;
    tern_request     *all[ENTRIES];
    unsigned char    *got, *long_got, *sent;
    int               left, right;
    unsigned          round;
};

static void scene_open(struct scene *s)
{
    s->left = (tern_rank() + tern_size() - 1) % tern_size();
    s->right = (tern_rank() + 1) % tern_size();
    s->got = job_new(LONGEST);
    s->long_got = job_new(LONGEST);
    s->sent = job_new(LONGEST);
    job_region_make(&s->r, JOB_HOST, 4096);
    OK(tern_notify_create(TERN_WORLD, s->r.region, s->left, TAG_NOTIFIED, 1, &s->all[NOTIFIED]));
    OK(tern_notify_create(TERN_WORLD, s->r.region, TERN_ANY_SOURCE, TAG_COUNTED, 3, &s->all[COUNTED]));
    OK(tern_notify_create(TERN_WORLD, s->r.region, s->left, TAG_IDLE, 1, &s->all[IDLE]));
    OK(tern_recv_create(TERN_WORLD, s->left, TAG_PERSISTENT, s->long_got, LONGEST, &s->all[PERSISTENT]));
}

static void scene_close(struct scene *s)
{
    OK(tern_barrier(TERN_WORLD));
    OK(tern_request_free(&s->all[NOTIFIED]));
    OK(tern_request_free(&s->all[COUNTED]));
    OK(tern_request_free(&s->all[IDLE]));
    OK(tern_request_free(&s->all[PERSISTENT]));
    job_region_drop(&s->r);
    free(s->got);
    free(s->long_got);
    free(s->sent);
}

/* Start everything but the idle request. The send is synchronous, so that it waits for its receive. */
static void start_all(struct scene *s, size_t space)
{
    job_fill(s->sent, LONGEST, (unsigned)tern_rank(), ++s->round);
    OK(tern_irecv(TERN_WORLD, s->left, TAG_RECV, s->got, space, &s->all[RECV]));
    OK(tern_request_start(s->all[NOTIFIED]));
    OK(tern_request_start(s->all[COUNTED]));
    OK(tern_request_start(s->all[PERSISTENT]));
    OK(tern_issend(TERN_WORLD, s->right, TAG_SEND, s->sent, 16, &s->all[SEND]));
    OK(tern_barrier(TERN_WORLD));
}

/* Make one of the entries complete at the right neighbour. */
static void give(struct scene *s, int entry)
{
    static const uint64_t word = 9;

    switch (entry) {
    case RECV: OK(tern_send(TERN_WORLD, s->right, TAG_RECV, s->sent, 100)); break;
    case NOTIFIED: OK(tern_put_notify(TERN_WORLD, s->r.region, s->right, 0, &word, 8, TAG_NOTIFIED)); break;
    case COUNTED:
        for (int i = 0; i < 3; i++)
            OK(tern_notify(TERN_WORLD, s->r.region, s->right, TAG_COUNTED));
        break;
    default: break;
    }
}

static tern_request *give_long(struct scene *s)
{
    tern_request *request;

    OK(tern_isend(TERN_WORLD, s->right, TAG_PERSISTENT, s->sent, LONGEST, &request));
    return request;
}

/* Complete the send of the left neighbour. */
static void take_send(struct scene *s)
{
    unsigned char bytes[16];

    OK(tern_recv(TERN_WORLD, s->left, TAG_SEND, bytes, sizeof(bytes), NULL));
    HOLDS(bytes, sizeof(bytes), (unsigned)s->left, s->round);
}

static void check_info(const struct scene *s, size_t entry, const tern_request_info *info)
{
    static const int64_t  tags[] = { TAG_RECV, TAG_NOTIFIED, TAG_PERSISTENT, -1, TAG_SEND, TAG_COUNTED };
    static const uint64_t lens[] = { 100, 8, LONGEST, 0, 16, 0 };

    SAME(info->source, entry == SEND ? s->right : s->left);
    SAME(info->tag, tags[entry]);
    SAME(info->len, lens[entry]);
    SAME(info->matches, entry == COUNTED ? 3 : 1);
    if (entry == PERSISTENT)
        HOLDS(s->long_got, LONGEST, (unsigned)s->left, s->round);
    CHECK((s->all[entry] == NULL) == (entry == RECV || entry == SEND));
}

/* Whether every started request was reported; afterwards there is nothing to wait for. */
static void nothing_left(struct scene *s)
{
    size_t index = 99, count = 99, indices[ENTRIES];

    REFUSES(TERN_ERR_STATE, tern_request_test_any(s->all, ENTRIES, &index, NULL));
    SAME(index, ENTRIES);
    REFUSES(TERN_ERR_STATE, tern_request_wait_any(s->all, ENTRIES, TERN_FOREVER, &index, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_wait_some(s->all, ENTRIES, TERN_FOREVER, &count, indices, NULL, NULL));
    SAME(count, 0);
    OK(tern_request_test_all(s->all, ENTRIES, NULL, NULL));
    OK(tern_request_wait_all(s->all, ENTRIES, TERN_FOREVER, NULL, NULL));
    OK(tern_barrier(TERN_WORLD));
}

/* One after the other, in this order; each neighbour is late, so that the wait may sleep. */
static void any(struct scene *s, bool wait)
{
    static const int  order[] = { NOTIFIED, RECV, COUNTED };
    tern_request_info info;
    tern_request     *sent;
    size_t            index;

    start_all(s, LONGEST);
    RETURNS(TERN_PENDING, tern_request_test_any(s->all, ENTRIES, &index, &info));
    SAME(index, ENTRIES);
    for (size_t i = 0; i < 5; i++) {
        size_t      entry = i < 3 ? (size_t)order[i] : i == 3 ? PERSISTENT : SEND;
        tern_status st;

        OK(tern_barrier(TERN_WORLD));
        if (s->round % 4 == 0)
            usleep(5000);
        if (entry == PERSISTENT)
            sent = give_long(s);
        else if (entry == SEND)
            take_send(s);
        else
            give(s, (int)entry);
        do
            st = wait ? tern_request_wait_any(s->all, ENTRIES, TERN_FOREVER, &index, &info)
                      : tern_request_test_any(s->all, ENTRIES, &index, &info);
        while (st == TERN_PENDING && !wait);
        OK(st);
        SAME(index, entry);
        check_info(s, index, &info);
        if (entry == PERSISTENT)
            OK(tern_request_wait(&sent, TERN_FOREVER, NULL));
    }
    nothing_left(s);
}

static void give_all(struct scene *s, tern_request **sent)
{
    give(s, COUNTED);
    *sent = give_long(s);
    give(s, RECV);
    take_send(s);
}

/* wait_all and test_all: nothing is reported before everything is complete. */
static void all(struct scene *s, bool wait)
{
    tern_request_info infos[ENTRIES];
    tern_status       statuses[ENTRIES], st;
    tern_request     *sent;

    start_all(s, LONGEST);
    give_all(s, &sent);
    OK(tern_barrier(TERN_WORLD));
    RETURNS(TERN_PENDING, tern_request_test_all(s->all, ENTRIES, infos, statuses));
    RETURNS(TERN_PENDING, tern_request_wait_all(s->all, ENTRIES, TERN_NOW, infos, statuses));
    CHECK(s->all[RECV] && s->all[SEND]);
    OK(tern_barrier(TERN_WORLD));
    give(s, NOTIFIED);
    memset(statuses, 0x7f, sizeof(statuses));
    infos[NOTHING].tag = infos[IDLE].tag = 4711;
    do
        st = wait ? tern_request_wait_all(s->all, ENTRIES, TERN_FOREVER, infos, statuses)
                  : tern_request_test_all(s->all, ENTRIES, infos, statuses);
    while (st == TERN_PENDING && !wait);
    OK(st);
    for (size_t i = 0; i < ENTRIES; i++)
        if (i != NOTHING && i != IDLE) {
            OK(statuses[i]);
            check_info(s, i, &infos[i]);
        }
    CHECK(infos[NOTHING].tag == 4711 && infos[IDLE].tag == 4711);
    OK(tern_request_wait(&sent, TERN_FOREVER, NULL));
    nothing_left(s);
}

static void some(struct scene *s)
{
    size_t            count, indices[ENTRIES], left = 5;
    tern_request_info infos[ENTRIES];
    tern_status       statuses[ENTRIES];
    tern_request     *sent;
    unsigned          seen = 0;

    start_all(s, LONGEST);
    RETURNS(TERN_PENDING, tern_request_wait_some(s->all, ENTRIES, TERN_NOW, &count, indices, infos, statuses));
    SAME(count, 0);
    OK(tern_barrier(TERN_WORLD));
    give(s, NOTIFIED);
    give_all(s, &sent);
    for (; left > 0; left -= count) {
        OK(tern_request_wait_some(s->all, ENTRIES, TERN_FOREVER, &count, indices, infos, statuses));
        CHECK(count > 0 && count <= left);
        for (size_t i = 0; i < count; i++) {
            CHECK((seen >> indices[i] & 1) == 0);
            seen |= 1u << indices[i];
            OK(statuses[i]);
            check_info(s, indices[i], &infos[i]);
        }
    }
    SAME(seen, 1u << RECV | 1u << NOTIFIED | 1u << PERSISTENT | 1u << SEND | 1u << COUNTED);
    OK(tern_request_wait(&sent, TERN_FOREVER, NULL));
    nothing_left(s);
}

/* One request fails; the others are reported as they are. */
static void failing(struct scene *s)
{
    tern_request_info infos[ENTRIES];
    tern_status       statuses[ENTRIES];
    tern_request     *sent;

    start_all(s, 10); /* too short */
    give(s, NOTIFIED);
    give_all(s, &sent);
    REFUSES(TERN_ERR_TRUNCATED, tern_request_wait_all(s->all, ENTRIES, TERN_FOREVER, infos, statuses));
    RETURNS(TERN_ERR_TRUNCATED, statuses[RECV]);
    OK(statuses[NOTIFIED]);
    OK(statuses[PERSISTENT]);
    OK(statuses[SEND]);
    OK(statuses[COUNTED]);
    for (size_t i = 0; i < ENTRIES; i++)
        if (i != NOTHING && i != IDLE)
            check_info(s, i, &infos[i]);
    OK(tern_request_wait(&sent, TERN_FOREVER, NULL));
    nothing_left(s);
}

int main(void)
{
    struct scene s = { .round = 0 };

    OK(tern_init());
    scene_open(&s);
    for (unsigned i = 0; i < ROUNDS; i++) {
        any(&s, i % 2);
        all(&s, i % 2);
        some(&s);
    }
    failing(&s);
    scene_close(&s);
    OK(tern_finalize());
    return 0;
}
