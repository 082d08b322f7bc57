/* am_leave.c: no message is lost at the end of the job.
 *
 * Promise: a message that was sent before tern_finalize is handled before tern_finalize of its target returns; so are
 * the replies, even when they have the maximum length and are many more than a queue holds; no rank waits for space in
 * the queue of a rank that has left.
 *
 * env: TERN_AM_QUEUE=64K
 */
#include "job_test.h"

#define ASK 1u
#define ANSWER 2u
#define EACH 200u

static uint64_t      asked, answered;
static unsigned char big[1 << 20];

static void on_ask(const tern_am_event *event, void *user)
{
    tern_am am = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ANSWER, .payload = big);

    (void)user;
    am.len = tern_am_max_medium(TERN_WORLD, event->source, 0);
    OK(tern_am_reply(event->token, &am));
    asked++;
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(memcmp(event->payload, big, event->len) == 0);
    answered++;
}

int main(void)
{
    uint64_t want;
    int      n, me;

    OK(tern_am_register(ASK, on_ask, NULL));
    OK(tern_am_register(ANSWER, on_answer, NULL));
    OK(tern_init());
    job_fill(big, sizeof(big), 1, 1);
    n = tern_size();
    me = tern_rank();
    want = (uint64_t)n * EACH;
    for (unsigned i = 0; i < EACH; i++)
        for (int d = 0; d < n; d++)
            OK(tern_am_short(TERN_WORLD, (me + d) % n, ASK, NULL, 0));
    OK(tern_finalize());
    if (asked == want && answered == want)
        return 0;
    fprintf(stderr, "rank %d: %llu requests and %llu replies, not %llu\n", me, (unsigned long long)asked,
            (unsigned long long)answered, (unsigned long long)want);
    return 1;
}
