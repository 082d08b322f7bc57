/* notify_turns.c: notifications in ping-pong, which waits receive on their fast path.
 *
 * Promise: whichever path receives a notification, its data is in place when the wait for it returns, nothing else in
 * the region has changed, and the info is correct: when the notification is like the previous one, when only its place
 * differs, when it has more bytes or fewer or none, when it arrives late, and when unexpected notifications arrive
 * first.
 *
 * Ranks 0 and 1 notify each other in turn; the others wait at the end.
 *
 * ranks: 2 3
 * timeout: 30
 */
#include "job_test.h"

#define AREA 64u /* the destination of notified puts; behind it, data that is too long for an inline payload */
#define LONG 300u
#define TURNS 3000u
#define TAG 5u

static tern_region   *region;
static unsigned char *mine, model[AREA + LONG];
static bool           any;         /* requests match any source and any tag, and each turn has its own request */
static unsigned char  bytes[LONG]; /* of this rank's last turn, which is complete when the other rank has answered */

/* The contents of a turn, which both ranks know. There are series of equal turns, so that waits expect them. */
struct turn {
    uint64_t offset;
    size_t   len;
    uint32_t tag;
    bool     late, more;
};

static struct turn turn_of(unsigned number)
{
    uint64_t    seed = number / 5 + 1; /* five in a row have the same length and tag */
    uint64_t    kind = job_random(&seed) % 8;
    struct turn turn = { .tag = TAG, .offset = 8 * (number / 2 % 3) };

    turn.len = kind < 4 ? 8 : kind == 4 ? 0 : kind == 5 ? LONG : 1 + job_random(&seed) % 24;
    if (kind == 3)
        turn.offset = number % 4 * 8;
    if (turn.len == LONG)
        turn.offset = AREA;
    if (any || kind == 6)
        turn.tag = TAG + 1 + (any ? number : 0);
    turn.late = number % 97 == 0;
    turn.more = number % 211 == 0 && !any;
    return turn;
}

static void fill(unsigned char *to, const struct turn *turn, unsigned number)
{
    for (size_t i = 0; i < turn->len; i++)
        to[i] = (unsigned char)(number * 7 + i);
}

static void tell(unsigned number)
{
    struct turn turn = turn_of(number);
    int         peer = 1 - tern_rank();

    fill(bytes, &turn, number);
    if (turn.late)
        usleep(3000);
    if (turn.more)
        OK(tern_notify(TERN_WORLD, region, peer, TAG + 7));
    OK(tern_put_notify_nbi(TERN_WORLD, region, peer, turn.offset, bytes, turn.len, turn.tag));
}

static void hear(tern_request *request, unsigned number)
{
    struct turn       turn = turn_of(number);
    tern_request_info info = { .source = -7 };

    OK(tern_request_wait(&request, TERN_FOREVER, &info));
    fill(model + turn.offset, &turn, number);
    CHECK(job_differ(mine, model, sizeof(model)) == 0);
    SAME(info.source, 1 - tern_rank());
    SAME(info.tag, turn.tag);
    SAME(info.len, turn.len);
    SAME(info.matches, 1);
}

/* Count the unexpected notifications. */
static void count_more(void)
{
    tern_request *request;
    uint32_t      more = 0;

    for (unsigned number = 0; number < TURNS; number++)
        more += number % 2 != (unsigned)tern_rank() && turn_of(number).more;
    OK(tern_notify_create(TERN_WORLD, region, 1 - tern_rank(), TAG + 7, more, &request));
    OK(tern_request_start(request));
    OK(tern_request_wait(&request, tern_deadline_in(20), NULL));
    OK(tern_request_free(&request));
}

/* Even turns are rank 0's. */
static void take_turns(void)
{
    tern_request *one = NULL, *two;

    if (any) {
        OK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &two));
    } else {
        OK(tern_notify_create(TERN_WORLD, region, 1 - tern_rank(), TAG, 1, &one));
        OK(tern_notify_create(TERN_WORLD, region, 1 - tern_rank(), TAG + 1, 1, &two));
    }
    for (unsigned number = 0; number < TURNS; number++) {
        tern_request *request = turn_of(number).tag == TAG ? one : two;

        if (number % 2 == (unsigned)tern_rank()) {
            tell(number);
        } else {
            OK(tern_request_start(request));
            hear(request, number);
        }
    }
    OK(tern_request_free(&two));
    if (!any) {
        OK(tern_request_free(&one));
        count_more();
    }
    OK(tern_quiet(TERN_WORLD));
}

int main(void)
{
    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, AREA + LONG, NULL, &region));
    mine = tern_region_ptr(region, tern_rank());
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < 2; i++, any = true)
        if (tern_size() > 1 && tern_rank() < 2)
            take_turns();
    OK(tern_barrier(TERN_WORLD));
    OK(tern_finalize());
    return 0;
}
