/* notify_requests.c: notification requests: the effect of each call.
 *
 * Promise: a request completes after its count of matches, and not before; its info is that of the last match;
 * wildcards for source and tag match notifications in the order of arrival; the request that was started first is
 * matched first; a probe consumes nothing; a cancelled or freed request matches nothing more; wait_any, wait_all and
 * events see completed requests, together with operations; invalid calls are refused with a text that names the
 * mistake; waits end at their deadline; unexpected notifications of a freed region are dropped, and late ones for it
 * are written nowhere.
 *
 * The left neighbour notifies each rank through a strict context, so the order of the notifications is known.
 */
#include "job_test.h"

static tern_region *region, *other;
static tern_ctx    *strict;
static int          left, right;

static tern_request *new_request(int source, int64_t tag, uint32_t count)
{
    tern_request *request;

    OK(tern_notify_create(TERN_WORLD, region, source, tag, count, &request));
    return request;
}

static tern_request *started(int source, int64_t tag, uint32_t count)
{
    tern_request *request = new_request(source, tag, count);

    OK(tern_request_start(request));
    return request;
}

/* Every rank notifies its right neighbour, and afterwards knows that the left one has done so. */
static void all_tell(const uint32_t *tags, size_t n)
{
    tern_request *last;

    OK(tern_notify_create(TERN_WORLD, other, left, 1, 1, &last));
    OK(tern_request_start(last));
    OK(tern_barrier(TERN_WORLD)); /* all have checked the earlier notifications */
    for (size_t i = 0; i < n; i++)
        OK(tern_put_notify(strict, region, right, 8 * i, &(uint64_t){ tags[i] }, i % 9, tags[i]));
    OK(tern_notify(strict, other, right, 1));
    OK(tern_request_wait(&last, TERN_FOREVER, NULL)); /* strict: all others arrived before it */
    OK(tern_request_free(&last));
}
#define TELL(...) all_tell((const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static void found(tern_request *request, uint32_t tag, uint64_t bytes, uint32_t matches)
{
    tern_request_info info = { .source = -7 };

    OK(tern_request_test(&request, &info));
    SAME(info.source, left);
    SAME(info.tag, tag);
    SAME(info.len, bytes);
    SAME(info.matches, matches);
}

static void counts(void)
{
    tern_request *three = started(left, 9, 3), *again = new_request(left, 9, 2);

    TELL(9, 9, 8);
    RETURNS(TERN_PENDING, tern_request_test(&three, NULL));
    TELL(9);
    found(three, 9, 0, 3);
    OK(tern_request_start(three));
    TELL(9, 9, 9, 9, 9); /* three of them match, and the other two are stored */
    found(three, 9, 2, 3);
    OK(tern_request_start(again));
    found(again, 9, 4, 2);
    OK(tern_request_free(&again));
    OK(tern_request_free(&three));
    again = started(left, 8, 1); /* the one of before */
    found(again, 8, 2, 1);
    OK(tern_request_free(&again));
}

static void wildcards(void)
{
    tern_request *any_tag = started(left, TERN_ANY_TAG, 1), *exact = started(left, 3, 1);
    tern_request *any_source = started(TERN_ANY_SOURCE, 3, 2), *any = started(TERN_ANY_SOURCE, TERN_ANY_TAG, 1);

    TELL(3, 3, 3, 3, 3, 4, 0, UINT32_MAX);
    found(any_tag, 3, 0, 1); /* the oldest first, whatever it matches */
    found(exact, 3, 1, 1);
    found(any_source, 3, 3, 2);
    found(any, 3, 4, 1);
    OK(tern_request_start(any)); /* unexpected notifications match in the order of arrival */
    found(any, 4, 5, 1);
    OK(tern_request_start(any_tag));
    found(any_tag, 0, 6, 1);
    OK(tern_request_start(any));
    found(any, UINT32_MAX, 7, 1);
    OK(tern_request_start(any_source));
    RETURNS(TERN_PENDING, tern_request_test(&any_source, NULL));
    OK(tern_request_free(&any_source));
    OK(tern_request_free(&exact));
    OK(tern_request_free(&any_tag));
    OK(tern_request_free(&any));
}

static void probes(void)
{
    tern_request     *request = new_request(TERN_ANY_SOURCE, TERN_ANY_TAG, 1);
    tern_request_info info = { .source = -7 };

    RETURNS(TERN_PENDING, tern_notify_probe(request, &info));
    TELL(21, 22);
    for (int i = 0; i < 3; i++) {
        OK(tern_notify_probe(request, &info));
        SAME(info.tag, 21);
        SAME(info.source, left);
        SAME(info.len, 0);
    }
    OK(tern_request_start(request));
    found(request, 21, 0, 1);
    OK(tern_notify_probe(request, NULL));
    OK(tern_request_start(request));
    found(request, 22, 1, 1);
    RETURNS(TERN_PENDING, tern_notify_probe(request, &info));
    OK(tern_request_free(&request));
}

static void cancels(void)
{
    tern_request     *first = started(left, 31, 2), *second = started(left, 31, 2), *third = started(left, 31, 1);
    tern_request_info info = { .source = -7 };
    tern_event        event;

    OK(tern_request_event(first, &event));
    TELL(31);
    OK(tern_request_cancel(&first, &info)); /* with its matches so far */
    SAME(info.matches, 1);
    SAME(info.tag, 31);
    RETURNS(TERN_ERR_CANCELLED, tern_event_wait(&event, TERN_FOREVER));
    REFUSES(TERN_ERR_STATE, tern_request_cancel(&first, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_test(&first, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_wait(&first, TERN_NOW, NULL));
    TELL(31, 31);
    found(second, 31, 1, 2);
    OK(tern_request_free(&second)); /* done */
    OK(tern_request_free(&third));  /* started */
    TELL(31);
    OK(tern_request_start(first));
    RETURNS(TERN_PENDING, tern_request_test(&first, NULL));
    TELL(31);
    found(first, 31, 0, 2);
    OK(tern_request_free(&first));
}

static void several(void)
{
    tern_request     *request[5] = { NULL, new_request(left, 41, 1), started(left, 42, 1), started(left, 43, 1), NULL };
    tern_request_info info[5] = { 0 };
    size_t            index = 99;

    RETURNS(TERN_PENDING, tern_request_test_any(request, 5, &index, NULL));
    RETURNS(TERN_PENDING, tern_request_test_all(request, 5, info, NULL));
    RETURNS(TERN_PENDING, tern_request_wait_any(request, 5, TERN_NOW, &index, NULL));
    REFUSES(TERN_ERR_TIMEOUT, tern_request_wait_all(request, 5, tern_deadline_in(0.001), NULL, NULL));
    SAME(index, 5);
    TELL(43);
    RETURNS(TERN_PENDING, tern_request_test_all(request, 5, info, NULL));
    OK(tern_request_wait_any(request, 5, TERN_FOREVER, &index, info));
    SAME(index, 3);
    SAME(info[0].tag, 43);
    RETURNS(TERN_PENDING, tern_request_test_any(request, 5, &index, NULL));
    OK(tern_request_start(request[3]));
    TELL(42, 43);
    OK(tern_request_wait_all(request, 5, TERN_FOREVER, info, NULL));
    SAME(info[2].tag, 42);
    SAME(info[3].tag, 43);
    SAME(info[3].len, 1);
    OK(tern_request_test_all(request, 5, NULL, NULL)); /* nothing to wait for */
    OK(tern_request_wait_all(request, 5, TERN_NOW, NULL, NULL));
    OK(tern_request_test_all(NULL, 0, NULL, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_test_any(request, 5, &index, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_wait_any(request, 5, TERN_FOREVER, &index, NULL));
    SAYS("none of the requests is started");
    for (int i = 1; i < 4; i++)
        OK(tern_request_free(&request[i]));
}

/* Requests and operations, waited for together. */
static void events(void)
{
    static unsigned char big[100000];
    tern_request        *request = started(left, 51, 2);
    tern_event           event[3];
    tern_region         *large;
    size_t               index = 99;

    OK(tern_region_register(TERN_WORLD, big, sizeof(big), &large));
    OK(tern_request_event(request, &event[0]));
    OK(tern_request_event(request, &event[2])); /* one more */
    RETURNS(TERN_PENDING, tern_event_test(&event[0]));
    RETURNS(TERN_PENDING, tern_event_wait(&event[0], TERN_NOW));
    RETURNS(TERN_ERR_TIMEOUT, tern_event_wait(&event[0], tern_deadline_in(0.001)));
    SAYS("notifications");
    OK(tern_put_nb(TERN_WORLD, large, right, 0, big, sizeof(big) / 2, &event[1]));
    OK(tern_event_wait_any(event, 3, TERN_FOREVER, &index));
    SAME(index, 1);
    TELL(51);
    OK(tern_get_nb(TERN_WORLD, large, right, 0, big + 50000, sizeof(big) / 2, &event[1]));
    TELL(51);
    OK(tern_event_wait_all(event, 3, TERN_FOREVER));
    found(request, 51, 0, 2);
    TELL(51, 51);
    OK(tern_request_start(request));
    OK(tern_request_event(request, &event[0])); /* done already */
    OK(tern_event_test(&event[0]));
    found(request, 51, 1, 2);
    REFUSES(TERN_ERR_STATE, tern_request_event(request, &event[0]));
    OK(tern_request_free(&request));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(large));
}

static void refusals(void)
{
    tern_request *request = NULL, *none[] = { NULL };
    tern_event    event;
    size_t        index;

    REFUSES(TERN_ERR_ARG, tern_notify_create(NULL, region, 0, 0, 1, &request));
    REFUSES(TERN_ERR_ARG, tern_notify_create(TERN_WORLD, NULL, 0, 0, 1, &request));
    REFUSES(TERN_ERR_ARG, tern_notify_create(TERN_WORLD, region, 0, 0, 1, NULL));
    SAYS("tern_notify_create: ");
    REFUSES(TERN_ERR_ARG, tern_notify_create(TERN_WORLD, region, 0, 0, 0, &request));
    SAYS("a request for 0 notifications");
    REFUSES(TERN_ERR_RANGE, tern_notify_create(TERN_WORLD, region, tern_size(), 0, 1, &request));
    REFUSES(TERN_ERR_RANGE, tern_notify_create(TERN_WORLD, region, -2, 0, 1, &request));
    SAYS("tern_notify_create: no rank -2 in a team of");
    REFUSES(TERN_ERR_RANGE, tern_notify_create(TERN_WORLD, region, 0, -2, 1, &request));
    REFUSES(TERN_ERR_RANGE, tern_notify_create(TERN_WORLD, region, 0, 1ll << 32, 1, &request));
    SAYS("tag 4294967296; tags of notifications are 0 to 2^32 - 1");
    CHECK(request == NULL);
    REFUSES(TERN_ERR_ARG, tern_request_start(NULL));
    SAYS("tern_request_start: ");
    REFUSES(TERN_ERR_STATE, tern_request_test(none, NULL));
    SAYS("tern_request_test: ");
    REFUSES(TERN_ERR_STATE, tern_request_wait(none, TERN_FOREVER, NULL));
    SAYS("tern_request_wait: ");
    REFUSES(TERN_ERR_ARG, tern_notify_probe(NULL, NULL));
    SAYS("tern_notify_probe: ");
    REFUSES(TERN_ERR_STATE, tern_request_cancel(none, NULL));
    SAYS("tern_request_cancel: ");
    REFUSES(TERN_ERR_ARG, tern_request_free(none));
    SAYS("tern_request_free: ");
    REFUSES(TERN_ERR_ARG, tern_request_event(NULL, &event));
    SAYS("tern_request_event: ");
    REFUSES(TERN_ERR_ARG, tern_request_test_any(NULL, 1, &index, NULL));
    SAYS("tern_request_test_any: ");
    REFUSES(TERN_ERR_ARG, tern_request_wait_any(none, 0, TERN_FOREVER, &index, NULL));
    SAYS("tern_request_wait_any: n is 0");
    REFUSES(TERN_ERR_ARG, tern_request_wait_any(none, 1, TERN_FOREVER, NULL, NULL));
    SAYS("tern_request_wait_any: ");
    REFUSES(TERN_ERR_ARG, tern_request_wait_all(NULL, 1, TERN_FOREVER, NULL, NULL));
    SAYS("tern_request_wait_all: ");
    request = new_request(left, 61, 1);
    REFUSES(TERN_ERR_STATE, tern_request_test(&request, NULL));
    SAYS("tern_request_test: the request is not started");
    REFUSES(TERN_ERR_STATE, tern_request_wait(&request, TERN_FOREVER, NULL));
    SAYS("tern_request_wait: the request is not started");
    REFUSES(TERN_ERR_STATE, tern_request_cancel(&request, NULL));
    SAYS("tern_request_cancel: the request is not started");
    REFUSES(TERN_ERR_ARG, tern_request_event(request, NULL));
    OK(tern_request_start(request));
    REFUSES(TERN_ERR_STATE, tern_request_start(request));
    SAYS("the request is started; wait for it or cancel it");
    RETURNS(TERN_PENDING, tern_request_wait(&request, TERN_NOW, NULL));
    REFUSES(TERN_ERR_TIMEOUT, tern_request_wait(&request, tern_deadline_in(0.01), NULL));
    SAYS("tag 61");
    OK(tern_request_cancel(&request, NULL));
    OK(tern_request_free(&request));
}

/* Freeing a region drops its unexpected notifications; late ones are dropped; another region has its own. */
static void regions_apart(void)
{
    tern_request *request, *mine;
    tern_region  *gone;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &gone));
    OK(tern_barrier(TERN_WORLD));
    mine = started(left, TERN_ANY_TAG, 1);
    OK(tern_notify_create(TERN_WORLD, gone, left, TERN_ANY_TAG, 1, &request));
    for (int i = 0; i < 10; i++)
        OK(tern_notify(strict, gone, right, 71));
    OK(tern_request_start(request));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    RETURNS(TERN_PENDING, tern_request_test(&mine, NULL));
    OK(tern_request_free(&request));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(gone));
    TELL(72);
    found(mine, 72, 0, 1);
    OK(tern_request_free(&mine));
}

/* Unexpected notifications with the data of puts in them, whose region is freed: memory that is allocated in its place
 * keeps its contents. */
static void late_data(void)
{
    static const unsigned char full[24] = { 1, 2, 3 };
    tern_region               *gone, *fresh;

    for (int round = 0; round < 3; round++) {
        OK(tern_region_create(TERN_WORLD, 4096, NULL, &gone));
        for (uint64_t i = 0; i < 100; i++)
            OK(tern_put_notify_nbi(TERN_WORLD, gone, right, 32 * i, full, 1 + i % sizeof(full), 91));
        OK(tern_quiet(TERN_WORLD));
        OK(tern_region_free(gone));
        OK(tern_region_create(TERN_WORLD, 4096, NULL, &fresh));
        TELL(92);
        found(started(left, 92, 1), 92, 0, 1); /* freed by tern_finalize */
        for (size_t i = 0; i < 4096; i++)
            CHECK(((const unsigned char *)tern_region_ptr(fresh, tern_rank()))[i] == 0);
        OK(tern_region_free(fresh));
    }
}

/* One request at a time, for the same notification repeatedly: the wait expects it. The request matches no fewer than
 * its count, and a new request does not match what the previous one expected. */
static void expected(void)
{
    tern_region *apart;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &apart));
    for (uint32_t tag = 1; tag <= 30; tag++) {
        uint32_t      count = 1 + tag % 3;
        tern_request *request;

        OK(tern_notify_create(TERN_WORLD, apart, left, tag, count, &request));
        for (uint64_t turn = 0; turn < 4; turn++) {
            tern_request_info info = { .source = -7 };

            OK(tern_request_start(request));
            if (turn == 0) /* no request waits for it any more */
                OK(tern_put_notify_nbi(TERN_WORLD, apart, right, 8, &turn, sizeof(turn), tag - 1));
            for (uint32_t i = 0; i < count; i++)
                OK(tern_put_notify_nbi(TERN_WORLD, apart, right, 0, &turn, sizeof(turn), tag));
            OK(tern_request_wait(&request, TERN_FOREVER, &info));
            SAME(info.tag, tag);
            SAME(info.matches, count);
            OK(tern_barrier(TERN_WORLD));
        }
        OK(tern_request_free(&request));
    }
    OK(tern_region_free(apart));
}

int main(void)
{
    OK(tern_init());
    left = (tern_rank() + tern_size() - 1) % tern_size();
    right = (tern_rank() + 1) % tern_size();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    OK(tern_region_create(TERN_WORLD, 64, NULL, &other));
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    counts();
    wildcards();
    probes();
    cancels();
    several();
    events();
    refusals();
    regions_apart();
    late_data();
    expected();
    started(left, 81, 1); /* for tern_finalize to free */
    TELL(82);
    OK(tern_finalize());
    return 0;
}
