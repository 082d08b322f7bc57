/* am_clients.c: clients of active messages, each with its own handlers.
 *
 * Promise: clients and the default client use the same ids without interference; a handler gets the pointer, the
 * arguments, the payload and the source, as a rank of the client's team, of every kind of message with 0 to 16
 * arguments, whatever context the message was sent with; a reply goes to the same client. Messages that were sent
 * before tern_am_client_free are handled before the client is gone. A client can be used as soon as one rank has
 * created it. A wrong call is refused with the documented status and changes nothing.
 *
 * env: TERN_CMA=off
 * env: TERN_AM_QUEUE=64K
 */
#include "job_test.h"

#define ASK 7u /* the same ids everywhere */
#define ANSWER 8u
#define LONGEST 3000u
#define SLOT 4096u /* of a source in a part */

/* What the handlers of a table count. */
struct table {
    const char     *name;
    tern_am_client *client; /* NULL: the default client */
    uint64_t        asked, answered;
    bool            prepares;
};

static struct table      none = { .name = "default" }, first = { .name = "first" }, second = { .name = "second" };
static struct job_region parts;

/* The arguments and the payload depend on the table, the source in the job and the length. */
static uint32_t argument(const struct table *t, int world, unsigned i)
{
    return (uint32_t)t->name[0] << 24 | (uint32_t)world << 8 | i;
}

static void check_event(const struct table *t, const tern_am_event *event, bool request, int *world)
{
    CHECK(event->request == request);
    OK(tern_team_translate(event->team, event->source, tern_team_world(), world));
    for (unsigned i = 0; i < event->nargs; i++)
        SAME(event->args[i], argument(t, *world, i));
    if (event->kind == TERN_AM_LONG)
        CHECK(job_put_holds(event->payload, event->len, (unsigned)*world, (unsigned)t->name[0]));
    else
        HOLDS(event->payload, event->len, (unsigned)*world, (unsigned)t->name[0]);
}

static void on_answer(const tern_am_event *event, void *user)
{
    struct table *t = user;
    int           world;

    check_event(t, event, false, &world);
    t->answered++;
}

/* Reply with as many arguments as the request has, and a medium payload if it has one. */
static void on_ask(const tern_am_event *event, void *user)
{
    struct table    *t = user;
    unsigned char    bytes[LONGEST];
    uint32_t         args[TERN_AM_ARGS];
    tern_am_prepared out;
    int              world;

    check_event(t, event, true, &world);
    for (unsigned i = 0; i < event->nargs; i++)
        args[i] = argument(t, tern_rank(), i);
    job_fill(bytes, event->len, (unsigned)tern_rank(), (unsigned)t->name[0]);
    if (t->prepares && event->len > 0) {
        OK(tern_am_prepare_reply(event->token,
                                 &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = (uint16_t)event->nargs,
                                                       .min = event->len, .max = event->len),
                                 &out));
        RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.kind = TERN_AM_SHORT, .handler = ANSWER)));
        OK(tern_am_cancel(&out)); /* and again */
        OK(tern_am_prepare_reply(event->token,
                                 &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = (uint16_t)event->nargs,
                                                       .min = event->len, .max = event->len),
                                 &out));
        memcpy(out.addr, bytes, event->len);
        OK(tern_am_commit(&out, ANSWER, args, event->nargs, event->len));
    } else {
        OK(tern_am_reply(event->token, &TERN_AM(.kind = event->len > 0 ? TERN_AM_MEDIUM : TERN_AM_SHORT,
                                                .handler = ANSWER, .nargs = (uint16_t)event->nargs, .args = args,
                                                .payload = event->len > 0 ? bytes : NULL, .len = event->len)));
    }
    RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.kind = TERN_AM_SHORT, .handler = ANSWER)));
    RETURNS(TERN_ERR_STATE, tern_am_short(TERN_WORLD, 0, ASK, NULL, 0));
    if (t->client)
        RETURNS(TERN_ERR_STATE, tern_am_client_short(t->client, TERN_WORLD, 0, ASK, NULL, 0));
    t->asked++;
}

static void make(tern_ctx *ctx, struct table *t)
{
    const tern_am_client_handler handlers[] = { { ASK, on_ask, t }, { ANSWER, on_answer, t } };

    t->asked = t->answered = 0;
    OK(tern_am_client_create(ctx, &TERN_AM_CLIENT_OPTS(.name = t->name, .handlers = handlers, .count = 2), &t->client));
}

/* Send one message of each form to a rank of the context's team. */
static void send(struct table *t, tern_ctx *ctx, int rank, tern_am_kind kind, unsigned nargs, size_t len)
{
    unsigned char    bytes[LONGEST];
    uint32_t         args[TERN_AM_ARGS];
    tern_am          am = TERN_AM(.kind = kind, .handler = ASK, .nargs = (uint16_t)nargs, .args = args);
    tern_am_prepared out;

    for (unsigned i = 0; i < nargs; i++)
        args[i] = argument(t, tern_rank(), i);
    job_fill(bytes, len, (unsigned)tern_rank(), (unsigned)t->name[0]);
    if (kind != TERN_AM_SHORT) {
        am.payload = bytes;
        am.len = len;
    }
    if (kind == TERN_AM_LONG) {
        am.region = parts.region;
        am.offset = (uint64_t)tern_rank() * SLOT;
    }
    if (!t->client) {
        OK(tern_am_request(ctx, rank, &am));
    } else if (kind == TERN_AM_SHORT && nargs % 2) {
        OK(tern_am_client_short(t->client, ctx, rank, ASK, args, nargs));
    } else if (kind == TERN_AM_MEDIUM && nargs % 2) {
        OK(tern_am_client_prepare(t->client, ctx, rank,
                                  &TERN_AM_PREPARE_OPTS(.kind = kind, .nargs = (uint16_t)nargs, .min = len, .max = len),
                                  &out));
        memcpy(out.addr, bytes, len);
        REFUSES(TERN_ERR_ARG, tern_am_commit(&out, ASK, args, nargs + 1, len));
        REFUSES(TERN_ERR_ARG, tern_am_commit(&out, 3, args, nargs, len));
        SAYS("handler 3 of client");
        OK(tern_am_commit(&out, ASK, args, nargs, len));
        REFUSES(TERN_ERR_STATE, tern_am_commit(&out, ASK, args, nargs, len));
    } else if (nargs % 4 == 2) {
        OK(tern_am_client_request_with(t->client, ctx, rank, &am, NULL));
    } else {
        OK(tern_am_client_request(t->client, ctx, rank, &am));
    }
}

/* Each rank of the context's team sends every kind of message to its right, in all tables that all of them have. */
static void all_kinds(tern_ctx *ctx, struct table *const *tables, unsigned count)
{
    static const size_t lengths[] = { 0, 1, 20, 100, 1000, LONGEST };
    int                 right = (job_me(ctx) + 1) % job_ranks(ctx);
    uint64_t            sent = 0, before[2][3];

    for (unsigned i = 0; i < count; i++)
        before[0][i] = tables[i]->asked, before[1][i] = tables[i]->answered;
    OK(tern_barrier(ctx));
    for (unsigned nargs = 0; nargs <= TERN_AM_ARGS; nargs++)
        for (unsigned n = 0; n < 6; n++) {
            size_t most = tern_am_max_medium(ctx, right, TERN_AM_ARGS), len = lengths[n] < most ? lengths[n] : most;

            for (unsigned i = 0; i < count; i++) {
                if (n == 0)
                    send(tables[i], ctx, right, TERN_AM_SHORT, nargs, 0);
                send(tables[i], ctx, right, TERN_AM_MEDIUM, nargs, len);
            }
            sent += n == 0 ? 2 : 1;
        }
    for (unsigned i = 0; i < count; i++) {
        OK(job_await(&tables[i]->asked, before[0][i] + sent, TERN_FOREVER));
        OK(job_await(&tables[i]->answered, before[1][i] + sent, TERN_FOREVER));
    }
    for (unsigned i = 0; i < count; i++) /* one at a time: the payloads have the same place */
        for (unsigned nargs = 0; nargs <= TERN_AM_ARGS; nargs += 5) {
            send(tables[i], ctx, right, TERN_AM_LONG, nargs, 777);
            sent++;
            OK(job_await(&tables[i]->answered, before[1][i] + sent - i * 4, TERN_FOREVER));
            OK(tern_barrier(ctx));
        }
}

/* A request that a counter triggers. */
static void triggered(struct table *t)
{
    int           right = (tern_rank() + 1) % tern_size();
    uint32_t      args[TERN_AM_ARGS];
    uint64_t      before = t->answered;
    tern_counter *counter;
    tern_am       am = TERN_AM(.kind = TERN_AM_SHORT, .handler = ASK, .nargs = TERN_AM_ARGS, .args = args);

    for (unsigned i = 0; i < TERN_AM_ARGS; i++)
        args[i] = argument(t, tern_rank(), i);
    OK(tern_counter_create(TERN_WORLD, &counter));
    OK(tern_am_client_request_with(t->client, TERN_WORLD, right, &am, &TERN_OPTS(.when = counter, .threshold = 1)));
    memset(args, 0, sizeof(args)); /* they were copied */
    OK(tern_barrier(TERN_WORLD));
    SAME(t->answered, before);
    OK(tern_counter_add(counter, 1));
    OK(job_await(&t->answered, before + 1, TERN_FOREVER));
    OK(tern_quiet(TERN_WORLD));
    OK(tern_counter_free(counter));
    OK(tern_barrier(TERN_WORLD));
}

/* Create a client, send at once, and free it: all messages are handled. */
static void short_lives(void)
{
    int      ranks = tern_size(), right = (tern_rank() + 1) % ranks;
    unsigned each = JOB_SANITIZED ? 20 : 200;

    for (unsigned round = 0; round < 5; round++) {
        struct table one = { .name = "one" }, two = { .name = "two" };

        make(TERN_WORLD, &one);
        for (unsigned i = 0; i < each; i++)
            send(&one, TERN_WORLD, right, TERN_AM_SHORT, 1 + i % 5, 0);
        make(TERN_WORLD, &two);
        for (unsigned i = 0; i < each; i++)
            send(i % 2 ? &one : &two, TERN_WORLD, right, TERN_AM_MEDIUM, i % 5, i % 70);
        OK(tern_am_client_free(one.client));
        SAME(one.asked, each + each / 2);
        SAME(one.answered, each + each / 2);
        OK(tern_am_client_free(two.client));
        SAME(two.asked, each / 2);
        SAME(two.answered, each / 2);
        REFUSES(TERN_ERR_STATE, tern_am_client_free(one.client));
        SAYS("tern_am_client_free: the client");
        REFUSES(TERN_ERR_STATE, tern_am_client_short(one.client, TERN_WORLD, right, ASK, NULL, 0));
        OK(tern_barrier(TERN_WORLD)); /* the counts are on the stack */
    }
}

static void refuse_options(void)
{
    const tern_am_client_handler far = { TERN_AM_HANDLERS, on_ask, NULL }, empty = { ASK, NULL, NULL };
    tern_am_client              *client = NULL;
    tern_am_client_opts          opts = TERN_AM_CLIENT_OPTS_INIT;
    int                          last = tern_size() - 1;
    tern_am_client_opts          unsized = TERN_AM_CLIENT_OPTS_INIT;

    REFUSES(TERN_ERR_ARG, tern_am_client_create(NULL, NULL, &client));
    REFUSES(TERN_ERR_ARG, tern_am_client_create(TERN_WORLD, NULL, NULL));
    SAYS("out is NULL");
    REFUSES(TERN_ERR_ARG, tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.by_helper = 2), &client));
    SAYS("by_helper is 2");
    REFUSES(TERN_ERR_ARG, tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.count = 1), &client));
    SAYS("rank 0: handlers is NULL, but count is 1");
    REFUSES(TERN_ERR_RANGE,
            tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.handlers = &far, .count = 1), &client));
    SAYS("the id 256 of handlers[0] is not below 256");
    REFUSES(TERN_ERR_ARG,
            tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.handlers = &empty, .count = 1), &client));
    SAYS("the function of handlers[0] is NULL");
    opts.size = tern_rank() == last ? 0 : opts.size; /* one rank alone makes the mistake: all ranks get the error */
    REFUSES(TERN_ERR_ARG, tern_am_client_create(TERN_WORLD, &opts, &client));
    SAYS("the size in a tern_am_client_opts is 0; initialize the struct with TERN_AM_CLIENT_OPTS_INIT");
    REFUSES(TERN_ERR_ARG, /* and this one */
            tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.by_helper = tern_rank() == last ? 3 : 0), &client));
    SAYS("by_helper is 3");
    unsized.size = tern_rank() == last ? 0 : unsized.size;
    REFUSES(TERN_ERR_ARG, tern_am_client_create(TERN_WORLD, &unsized, &client));
    SAYS("the size in a tern_am_client_opts is 0");
    if (last > 0) {
        REFUSES(TERN_ERR_ARG,
                tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.by_helper = tern_rank() == last), &client));
        SAYS("passed by_helper 1, rank 0 passed 0; all ranks pass the same");
    }
    CHECK(client == NULL);
}

static void refuse_calls(const struct table *t)
{
    unsigned char    bytes[8] = { 0 };
    tern_am_prepared out;
    tern_am          am = TERN_AM(.kind = TERN_AM_SHORT, .handler = ASK);
    uint32_t         args[17] = { 0 };
    tern_event       event = TERN_EVENT_INIT;

    REFUSES(TERN_ERR_ARG, tern_am_client_free(NULL));
    REFUSES(TERN_ERR_ARG, tern_am_client_register(NULL, 0, on_ask, NULL));
    REFUSES(TERN_ERR_RANGE, tern_am_client_register(t->client, TERN_AM_HANDLERS, on_ask, NULL));
    REFUSES(TERN_ERR_ARG, tern_am_client_short(NULL, TERN_WORLD, 0, ASK, NULL, 0));
    SAYS("client is NULL");
    REFUSES(TERN_ERR_ARG, tern_am_client_short(t->client, NULL, 0, ASK, NULL, 0));
    REFUSES(TERN_ERR_RANGE, tern_am_client_short(t->client, TERN_WORLD, tern_size(), ASK, NULL, 0));
    REFUSES(TERN_ERR_ARG, tern_am_client_short(t->client, TERN_WORLD, 0, 9, NULL, 0));
    SAYS("handler 9 of client \"");
    REFUSES(TERN_ERR_ARG, tern_am_client_short(t->client, TERN_WORLD, 0, 256, NULL, 0));
    REFUSES(TERN_ERR_ARG, tern_am_client_short(t->client, TERN_WORLD, 0, ASK, args, 17));
    SAYS("nargs is 17");
    REFUSES(TERN_ERR_ARG, tern_am_client_short(t->client, TERN_WORLD, 0, ASK, NULL, 1));
    REFUSES(TERN_ERR_ARG, tern_am_client_request(t->client, TERN_WORLD, 0, NULL));
    am.flags = 8;
    REFUSES(TERN_ERR_ARG, tern_am_client_request(t->client, TERN_WORLD, 0, &am));
    am = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ASK, .payload = bytes, .len = (size_t)1 << 40);
    REFUSES(TERN_ERR_RANGE, tern_am_client_request(t->client, TERN_WORLD, 0, &am));
    am = TERN_AM(.kind = TERN_AM_LONG, .handler = ASK, .payload = bytes, .len = 8);
    REFUSES(TERN_ERR_ARG, tern_am_client_request(t->client, TERN_WORLD, 0, &am));
    am = TERN_AM(.kind = TERN_AM_SHORT, .handler = ASK);
    REFUSES(TERN_ERR_ARG, tern_am_client_request_with(t->client, TERN_WORLD, 0, &am,
                                                      &TERN_OPTS(.flags = TERN_NOTIFY, .event = &event)));
    REFUSES(TERN_ERR_ARG, tern_am_client_prepare(t->client, TERN_WORLD, 0, NULL, &out));
    REFUSES(TERN_ERR_ARG, tern_am_client_prepare(t->client, TERN_WORLD, 0,
                                                 &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 17), &out));
    OK(tern_barrier(TERN_WORLD));
}

/* A client of the ranks of a node counts its sources in that team, and is not for other ranks. */
static void on_node(void)
{
    struct table        local = { .name = "local" };
    struct table *const tables[] = { &local };
    tern_ctx           *ctx;
    int                 there;

    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &ctx));
    make(ctx, &local);
    all_kinds(ctx, tables, 1);
    OK(tern_am_client_register(local.client, 3, on_ask, &local));
    for (int rank = 0; rank < tern_size(); rank++)
        if (tern_team_translate(tern_team_world(), rank, tern_team_node(), &there) < 0) {
            REFUSES(TERN_ERR_RANGE, tern_am_client_short(local.client, TERN_WORLD, rank, ASK, NULL, 0));
            SAYS("is not in the team of client \"local\"");
        }
    OK(tern_am_client_free(local.client));
    OK(tern_ctx_free(ctx));
    OK(tern_barrier(TERN_WORLD));
}

/* A client of a team that the program created, whose ranks are those of the world in reverse order. */
static void on_created_team(void)
{
    struct table        reverse = { .name = "reverse" };
    struct table *const tables[] = { &reverse };
    tern_team          *team;
    tern_ctx           *ctx;

    OK(tern_team_strided(tern_team_world(), tern_size() - 1, -1, tern_size(), 7, &team));
    OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
    make(ctx, &reverse);
    all_kinds(ctx, tables, 1);
    OK(tern_ctx_free(ctx));
    REFUSES(TERN_ERR_STATE, tern_team_free(team));
    SAYS("and 1 clients of active messages");
    OK(tern_am_client_free(reverse.client));
    OK(tern_team_free(team));
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    struct table *const tables[] = { &none, &first, &second };
    tern_ctx           *strict;

    OK(tern_am_register(ASK, on_ask, &none));
    OK(tern_am_register(ANSWER, on_answer, &none));
    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    job_region_make(&parts, JOB_HOST, (uint64_t)tern_size() * SLOT);
    make(TERN_WORLD, &first);
    make(TERN_WORLD, &second);
    second.prepares = true;
    all_kinds(TERN_WORLD, tables, 3);
    all_kinds(strict, tables, 3);
    triggered(&first);
    refuse_options();
    refuse_calls(&second);
    short_lives();
    on_node();
    on_created_team();
    OK(tern_am_client_free(first.client));
    job_region_drop(&parts);
    OK(tern_ctx_free(strict));
    OK(tern_finalize()); /* frees the second */
    return 0;
}
