/* am_flood.c: all ranks flood all ranks.
 *
 * Promise: request and reply storms through queues of the minimum size never deadlock, even when every handler replies
 * with the maximum payload; no message is lost, duplicated or damaged, and each pair keeps its order. The stream is
 * random and contains all kinds; every message carries its number and a checksum of its payload.
 *
 * ranks: 1 2 3 8
 * timeout: 240
 * env: TERN_AM_QUEUE=64K
 * env: TERN_AM_QUEUE=64K TERN_CMA=off
 * env: TERN_TEST=apart=1 TERN_AM_QUEUE=64K
 */
#include "job_test.h"

#define ASK 1u
#define ANSWER 2u
#define PART 4096u /* of each source in a part, one message at a time in each of 8 places */

static uint64_t          asked[64], answered[64];
static struct job_region region;
static unsigned char    *reply_bytes;

static uint32_t sum(const unsigned char *at, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i += 1 + len / 512)
        h = (h ^ at[i]) * 16777619u;
    return h;
}

static void on_ask(const tern_am_event *event, void *user)
{
    size_t   most = tern_am_max_medium(TERN_WORLD, event->source, 2);
    uint32_t args[2] = { event->args[0], sum(reply_bytes, most) };
    tern_am  am = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ANSWER, .nargs = 2, .args = args, .payload = reply_bytes,
                          .len = most);

    (void)user;
    SAME(event->args[0], (uint32_t)asked[event->source]);
    asked[event->source]++;
    if (event->kind == TERN_AM_MEDIUM)
        SAME(event->args[1], sum(event->payload, event->len));
    OK(tern_am_reply(event->token, &am));
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)user;
    SAME(event->args[0], (uint32_t)answered[event->source]);
    SAME(event->args[1], sum(event->payload, event->len));
    answered[event->source]++;
}

static bool all_answered(void *arg)
{
    for (int rank = 0; rank < tern_size(); rank++)
        if (answered[rank] < *(uint64_t *)arg)
            return false;
    return true;
}

static void send_one(int to, uint32_t number, uint64_t *seed, unsigned char *bytes)
{
    size_t   most = tern_am_max_medium(TERN_WORLD, to, 2);
    size_t   len = job_random(seed) % (job_random(seed) % 8 ? 200 : most + 1);
    uint32_t args[2] = { number, 0 };
    tern_am  am = TERN_AM(.kind = (tern_am_kind)(job_random(seed) >> 33) % 3, .handler = ASK, .nargs = 2, .args = args);
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 2, .max = len);
    tern_am_prepared     out;

    job_fill(bytes, len, (unsigned)tern_rank(), number);
    if (job_random(seed) % 3 == 0) {
        OK(tern_am_prepare(TERN_WORLD, to, &opts, &out));
        memcpy(out.addr, bytes, out.len);
        args[1] = sum(bytes, out.len);
        OK(tern_am_commit(&out, ASK, args, 2, out.len));
        return;
    }
    if (am.kind != TERN_AM_SHORT) {
        am.payload = bytes;
        am.len = am.kind == TERN_AM_LONG && len > PART ? PART : len;
        args[1] = sum(bytes, am.len);
    }
    if (am.kind == TERN_AM_LONG) {
        am.region = region.region;
        am.offset = (uint64_t)tern_rank() * PART;
    }
    OK(tern_am_request(TERN_WORLD, to, &am));
}

int main(void)
{
    uint64_t       rounds, seed;
    unsigned char *bytes;
    int            n;

    OK(tern_am_register(ASK, on_ask, NULL));
    OK(tern_am_register(ANSWER, on_answer, NULL));
    OK(tern_init());
    n = tern_size();
    seed = job_seed(4711 + (uint64_t)tern_rank());
    rounds = (n > 16 ? 20 : JOB_SANITIZED ? 400 : 4000) / (n > 16 ? 1u : (unsigned)n);
    bytes = job_new(1 << 20);
    reply_bytes = job_new(1 << 20);
    job_fill(reply_bytes, 1 << 20, (unsigned)tern_rank(), 1);
    job_region_make(&region, n > 16 ? JOB_HOST : JOB_REGISTERED, (uint64_t)n * PART);
    for (uint32_t i = 0; i < rounds; i++)
        for (int d = 0; d < n; d++)
            send_one((tern_rank() + d) % n, i, &seed, bytes);
    OK(tern_wait_until(TERN_WORLD, all_answered, &rounds, tern_deadline_in(200)));
    OK(tern_barrier(TERN_WORLD));
    for (int rank = 0; rank < n; rank++)
        CHECK(asked[rank] == rounds && answered[rank] == rounds);
    job_region_drop(&region);
    OK(tern_finalize());
    free(bytes);
    free(reply_bytes);
    return 0;
}
