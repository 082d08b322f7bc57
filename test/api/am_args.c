/* am_args.c: 64-bit arguments of active messages, and the team in which a handler sees the source.
 *
 * Promise: TERN_AM_U64 passes a 64-bit value as two arguments at any place of the list, in requests and in replies of
 * every kind, and tern_am_u64 reads it. A handler gets the team of the context with which the request was sent, and the
 * source as a rank of that team; so does the handler of the reply.
 */
#include "job_test.h"

enum { REQUEST = 1, REPLY = 2 };

#define SLOT 64u /* of a source in a part, for the payloads of long messages */

static const uint64_t values[] = { 0,         1, UINT32_MAX, 1ull << 32, 0x0123456789abcdefull, 0x8000000000000001ull,
                                   UINT64_MAX };
#define VALUES (sizeof(values) / sizeof(values[0]))

static tern_region *region;
static uint64_t     requests, replies;

static uint64_t other(uint64_t value)
{
    return value * 0x9e3779b97f4a7c15ull + 1;
}

static void check(const tern_am_event *event)
{
    int      sender = (int)event->args[0], rank = -1;
    uint64_t value = tern_am_u64(&event->args[1]); /* not aligned to 8 bytes */

    CHECK(event->team == tern_team_world() || event->team == tern_team_node());
    OK(tern_team_translate(event->team, event->source, tern_team_world(), &rank));
    SAME(rank, sender);
    SAME(event->args[3] != 0, event->team == tern_team_node());
    SAME(tern_am_u64(&event->args[4]), other(value));
    for (unsigned i = 6; i < 16; i += 2)
        SAME(tern_am_u64(&event->args[i]), value + i);
    SAME(event->nargs, 16);
}

/* Describe a message with seven 64-bit arguments. */
#define ARGS(value, node)                                                                                             \
    {                                                                                                                 \
        (uint32_t) tern_rank(), TERN_AM_U64(value), (node), TERN_AM_U64(other(value)), TERN_AM_U64((value) + 6),      \
            TERN_AM_U64((value) + 8), TERN_AM_U64((value) + 10), TERN_AM_U64((value) + 12), TERN_AM_U64((value) + 14) \
    }

static void on_request(const tern_am_event *event, void *user)
{
    const uint64_t value = other(tern_am_u64(&event->args[1]));
    const uint32_t args[] = ARGS(value, event->args[3]);
    tern_am reply = TERN_AM(.kind = event->kind == TERN_AM_SHORT ? TERN_AM_SHORT : TERN_AM_MEDIUM, .handler = REPLY,
                            .nargs = 16, .args = args);

    (void)user;
    CHECK(event->request);
    check(event);
    OK(tern_am_reply(event->token, &reply));
    requests++;
}

static void on_reply(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(!event->request);
    check(event);
    replies++;
}

/* Send each value to each rank of the context's team, in all kinds. */
static void send_all(tern_ctx *ctx)
{
    const uint32_t node = tern_ctx_team(ctx) == tern_team_node();
    uint64_t       sent = replies, payload = 9;

    for (int rank = 0; rank < job_ranks(ctx); rank++)
        for (size_t i = 0; i < VALUES; i++)
            for (unsigned kind = TERN_AM_SHORT; kind <= TERN_AM_LONG; kind++) {
                const uint32_t args[] = ARGS(values[i], node);
                tern_am        am = TERN_AM(.kind = (tern_am_kind)kind, .handler = REQUEST, .nargs = 16, .args = args);

                if (kind != TERN_AM_SHORT) {
                    am.payload = &payload;
                    am.len = sizeof(payload);
                }
                if (kind == TERN_AM_LONG) {
                    am.region = region;
                    am.offset = SLOT * (uint64_t)tern_rank();
                }
                OK(tern_am_request(ctx, rank, &am));
                sent++;
            }
    OK(job_await(&replies, sent, TERN_FOREVER));
}

int main(void)
{
    tern_ctx *node;

    OK(tern_am_register(REQUEST, on_request, NULL));
    OK(tern_am_register(REPLY, on_reply, NULL));
    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, SLOT * (uint64_t)tern_size(), NULL, &region));
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    OK(tern_barrier(TERN_WORLD));
    send_all(TERN_WORLD);
    send_all(node);
    OK(tern_barrier(TERN_WORLD));
    SAME(requests, 3 * VALUES * ((uint64_t)tern_size() + (uint64_t)tern_team_size(tern_team_node())));
    OK(tern_ctx_free(node));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
