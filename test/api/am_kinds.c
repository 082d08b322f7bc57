/* am_kinds.c: every kind of active message arrives as it was sent.
 *
 * Promise: a handler sees source, kind, arguments and payload as they were sent, for all kinds, 0 to 16 arguments,
 * lengths around every limit, fixed and negotiated payload, in request and reply, to the rank itself and to others; a
 * long payload is in the region before the handler runs, whatever the path; a payload one byte above the maximum is
 * refused.
 *
 * All ranks go through the same list of cases, so that a handler knows the next message of each source.
 *
 * providers: net shm
 * timeout: 240
 * hosts: a:2,b:1 a:2,b:2 a:1,b:2,c:1
 * env: TERN_CMA=off
 * env: TERN_AM_QUEUE=64K
 */
#include "job_test.h"

#define SLOT 70016u /* of a source in a part; requests in the first half, replies in the second */
#define REQUEST 3u
#define REPLY 200u
#define STEP (JOB_SANITIZED ? 5u : 1u) /* from case to case */
enum { MEDIUM_SIZES = 13, LONG_SIZES = 14 };

static const size_t sizes[] = { 0, 1, 7, 8, 47, 48, 49, 56, 63, 64, 65, 4096, SIZE_MAX, SLOT };

static struct job_region region[2]; /* allocated by Tern, and registered */
static unsigned          requests[64], replies[64];

struct shape {
    tern_am_kind  kind;
    unsigned      nargs, which; /* region */
    size_t        len;
    bool          negotiated;
    unsigned char number;
};

static unsigned cases(void)
{
    return (17 + 17 * MEDIUM_SIZES * 2 + 17 * LONG_SIZES * 4) / STEP;
}

/* Returns the case with a number, between this rank and a peer; the maximum is the same in both directions. */
static struct shape shape_of(unsigned nth, int peer)
{
    unsigned     i = nth * STEP;
    struct shape s = { .kind = TERN_AM_SHORT, .nargs = i % 17, .number = (unsigned char)i };

    if (i < 17)
        return s;
    i = i / 17 - 1;
    s.kind = i < MEDIUM_SIZES * 2 ? TERN_AM_MEDIUM : TERN_AM_LONG;
    if (s.kind == TERN_AM_LONG)
        i -= MEDIUM_SIZES * 2;
    s.negotiated = i % 2;
    i /= 2;
    s.which = s.kind == TERN_AM_LONG ? i % 2 : 0;
    s.len = sizes[s.kind == TERN_AM_LONG ? i / 2 : i];
    if (s.len == SIZE_MAX || (s.kind == TERN_AM_MEDIUM && s.len > tern_am_max_medium(TERN_WORLD, peer, s.nargs)))
        s.len = s.kind == TERN_AM_LONG ? 5000 : tern_am_max_medium(TERN_WORLD, peer, s.nargs);
    return s;
}

static uint32_t argument(const struct shape *s, int from, unsigned i, bool request)
{
    return (uint32_t)from * 1000003u + s->number * 7919u + i * 104729u + request;
}

static unsigned writer(int from, bool request)
{
    return (unsigned)from * 2 + request;
}

static uint64_t offset_of(int from, bool request)
{
    return ((uint64_t)from * 2 + !request) * SLOT;
}

/* The message that this rank is about to send. */
struct parcel {
    uint32_t       args[16];
    unsigned char *payload;
    tern_am        am;
};

static void parcel_fill(struct parcel *p, const struct shape *s, bool request)
{
    for (unsigned i = 0; i < s->nargs; i++)
        p->args[i] = argument(s, tern_rank(), i, request);
    p->am = TERN_AM(.kind = s->kind, .handler = request ? REQUEST : REPLY, .nargs = (uint16_t)s->nargs,
                    .args = s->nargs ? p->args : NULL, .len = s->len);
    if (s->kind == TERN_AM_SHORT)
        return;
    p->payload = job_new(s->len);
    job_fill(p->payload, s->len, writer(tern_rank(), request), s->number);
    p->am.payload = s->len ? p->payload : NULL;
    if (s->kind == TERN_AM_LONG) {
        p->am.region = region[s->which].region;
        p->am.offset = offset_of(tern_rank(), request);
    }
}

static void send_negotiated(tern_am_token *token, int peer, const struct parcel *p, const struct shape *s)
{
    const void          *mine = s->number % 3 == 0 ? p->am.payload : NULL; /* sometimes the caller's buffer */
    tern_am_prepare_opts opts =
        TERN_AM_PREPARE_OPTS(.kind = s->kind, .nargs = p->am.nargs, .min = p->am.len, .max = p->am.len, .buffer = mine,
                             .region = p->am.region, .offset = p->am.offset);
    tern_am_prepared out;

    if (s->number % 2 && s->kind == TERN_AM_MEDIUM && !mine)
        opts.max = SIZE_MAX; /* as much as there is */
    if (s->kind == TERN_AM_LONG && !mine && !tern_region_ptr(p->am.region, peer)) {
        size_t most = tern_am_max_medium(TERN_WORLD, peer, p->am.nargs); /* the queue must hold it */
        if (opts.min > most) {
            RETURNS(TERN_ERR_RANGE,
                    token ? tern_am_prepare_reply(token, &opts, &out) : tern_am_prepare(TERN_WORLD, peer, &opts, &out));
            opts.buffer = mine = p->am.payload;
        }
    }
    OK(token ? tern_am_prepare_reply(token, &opts, &out) : tern_am_prepare(TERN_WORLD, peer, &opts, &out));
    CHECK(out.len >= opts.min && out.len <= opts.max);
    CHECK(!mine || out.addr == mine);
    if (s->kind == TERN_AM_LONG && !mine && tern_region_ptr(p->am.region, peer))
        CHECK(out.addr == (unsigned char *)tern_region_ptr(p->am.region, peer) + p->am.offset);
    if (!mine && p->am.len > 0)
        memcpy(out.addr, p->am.payload, p->am.len);
    OK(tern_am_commit(&out, p->am.handler, p->am.args, p->am.nargs, p->am.len));
    RETURNS(TERN_ERR_STATE, tern_am_commit(&out, p->am.handler, p->am.args, p->am.nargs, p->am.len));
    RETURNS(TERN_ERR_STATE, tern_am_cancel(&out));
}

/* Send the case. token: send it as a reply. */
static void send_shape(tern_am_token *token, int peer, const struct shape *s)
{
    struct parcel p = { .payload = NULL };
    tern_event    local = { .pending = (struct tern_pending *)(void *)&p };

    parcel_fill(&p, s, !token);
    if (s->negotiated && s->kind != TERN_AM_SHORT) {
        send_negotiated(token, peer, &p, s);
    } else {
        if (s->kind == TERN_AM_MEDIUM) { /* one byte too many, before and in place of the valid one */
            tern_am too = p.am;
            too.payload = &too;
            too.len = tern_am_max_medium(TERN_WORLD, peer, s->nargs) + 1;
            RETURNS(TERN_ERR_RANGE, token ? tern_am_reply(token, &too) : tern_am_request(TERN_WORLD, peer, &too));
        }
        p.am.local = s->number % 2 ? &local : NULL;
        OK(token ? tern_am_reply(token, &p.am) : tern_am_request(TERN_WORLD, peer, &p.am));
        if (p.am.local) {
            OK(tern_event_wait(&local, TERN_FOREVER));
            if (p.payload)
                memset(p.payload, 0, s->len); /* the sender may overwrite it */
        }
    }
    free(p.payload);
}

static void check(const tern_am_event *event, unsigned i)
{
    struct shape s = shape_of(i, event->source);

    SAME(event->kind, s.kind);
    SAME(event->nargs, s.nargs);
    SAME(event->len, s.len);
    CHECK(event->token != NULL);
    CHECK((uintptr_t)event->args % 4 == 0);
    for (unsigned a = 0; a < s.nargs; a++)
        SAME(event->args[a], argument(&s, event->source, a, event->request));
    if (s.kind == TERN_AM_LONG && s.len > 0)
        CHECK(event->payload == region[s.which].mine + offset_of(event->source, event->request));
    if (s.kind == TERN_AM_LONG)
        CHECK(job_put_holds(event->payload, s.len, writer(event->source, event->request), s.number));
    if (s.kind == TERN_AM_MEDIUM)
        HOLDS(event->payload, s.len, writer(event->source, event->request), s.number);
}

static void on_request(const tern_am_event *event, void *user)
{
    unsigned     i = requests[event->source]++;
    struct shape s = shape_of(i, event->source);

    CHECK(user == requests && event->request && tern_rank() >= 0);
    check(event, i);
    send_shape(event->token, event->source, &s);
    RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.handler = REPLY)));
}

static void on_reply(const tern_am_event *event, void *user)
{
    CHECK(user == replies && !event->request);
    check(event, replies[event->source]++);
    RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.handler = REPLY)));
}

static bool all_answered(void *arg)
{
    for (int peer = 0; peer < tern_size(); peer++)
        if (replies[peer] <= *(unsigned *)arg)
            return false;
    return true;
}

int main(void)
{
    int n;

    OK(tern_am_register(REQUEST, on_request, requests));
    OK(tern_am_register(REPLY, on_reply, replies));
    OK(tern_init());
    n = tern_size();
    job_region_make(&region[0], JOB_HOST, (uint64_t)n * 2 * SLOT);
    job_region_make(&region[1], JOB_REGISTERED, (uint64_t)n * 2 * SLOT);
    for (unsigned i = 0; i < cases(); i++) {
        for (int d = 0; d < n; d++) {
            int          peer = (tern_rank() + d) % n;
            struct shape s = shape_of(i, peer);
            send_shape(NULL, peer, &s);
        }
        OK(tern_wait_until(TERN_WORLD, all_answered, &i, tern_deadline_in(100)));
    }
    OK(tern_barrier(TERN_WORLD));
    for (int peer = 0; peer < n; peer++)
        CHECK(requests[peer] == cases() && replies[peer] == cases());
    job_region_drop(&region[0]);
    job_region_drop(&region[1]);
    OK(tern_finalize());
    return 0;
}
