/* relay.c: a token that travels around the ranks by notified puts, and a counter of passes by signals.
 *
 *     ternrun -n 4 relay
 *
 * Each rank waits for a notification from its left neighbour, adds its rank to the sum that arrived with the
 * notification, and puts the sum to its right neighbour with the next tag. Data and notification are one message. No
 * rank polls memory, and no rank waits for an acknowledgement. Meanwhile every pass adds 1 to a word of rank 0, and
 * rank 0 waits until all passes have been counted.
 */
#include <stdio.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

enum { SUM = 0, PASSES = 64 }; /* offsets in each rank's part */

#define LAPS 1000u

int main(void)
{
    tern_region      *region;
    tern_request     *from_left;
    tern_request_info info;
    uint64_t          sum = 0, passes = 0;
    tern_signal       count = TERN_SIGNAL(.offset = PASSES, .value = 1, .op = TERN_SIGNAL_ADD);
    int               me, ranks;

    CHECK(tern_init());
    me = tern_rank();
    ranks = tern_size();
    CHECK(tern_region_create(TERN_WORLD, 128, NULL, &region));
    CHECK(tern_notify_create(TERN_WORLD, region, (me + ranks - 1) % ranks, TERN_ANY_TAG, 1, &from_left));
    count.region = region;
    for (uint32_t lap = 0; lap < LAPS; lap++) {
        if (me > 0 || lap > 0) { /* rank 0 starts the first lap */
            CHECK(tern_request_start(from_left));
            CHECK(tern_request_wait(&from_left, TERN_FOREVER, &info));
            CHECK(tern_get_value(TERN_WORLD, region, me, SUM, &sum));
        }
        sum += (uint64_t)me;
        CHECK(tern_put_notify_nbi(TERN_WORLD, region, (me + 1) % ranks, SUM, &sum, sizeof(sum), lap));
        CHECK(tern_put_signal_nbi(TERN_WORLD, region, 0, 0, NULL, 0, &count));
    }
    CHECK(tern_quiet(TERN_WORLD));
    if (me == 0) {
        CHECK(tern_request_start(from_left)); /* the token returns from the last lap */
        CHECK(tern_request_wait(&from_left, TERN_FOREVER, &info));
        CHECK(tern_get_value(TERN_WORLD, region, me, SUM, &sum));
        CHECK(tern_signal_wait(TERN_WORLD, region, PASSES, TERN_GE, (uint64_t)ranks * LAPS, TERN_FOREVER, &passes));
        printf("after %u laps (the last tag is %lld, from rank %d) the sum is %llu, in %llu passes\n", LAPS,
               (long long)info.tag, info.source, (unsigned long long)sum, (unsigned long long)passes);
    }
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_request_free(&from_left));
    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    return 0;
}
