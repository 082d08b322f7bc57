/* adaptive.c: packets that choose their route again while they wait (route_at=turn). Promise: a packet that waits on
 * its minimal route takes a non-minimal route as soon as the queues favour that.
 *
 * One pair of groups has all the traffic, so that minimal routes are full. A packet that chooses once, when it arrives
 * or at the front of its buffer, may then have to wait while non-minimal routes are free. If packets choose again, more
 * flits arrive.
 *
 * builds: release debug asan
 */
#include "sim_test.h"

struct outcome {
    double share, accepted;
};

static struct outcome outcome(const char *more)
{
    struct sim_config config;
    struct sim_result result;
    struct sim       *sim;
    struct outcome    outcome;
    char              words[256];

    snprintf(words, sizeof(words),
             "p=2 a=4 h=2 traffic=shift shift=8 threads=1 stop=cycles warmup=2000 measure=4000 drain=0 %s", more);
    sim = open_sim(&config, words);
    run_sim(sim, &result);
    assert_true(result.totals.packets > 0);
    outcome.share = (double)result.totals.rounds / (double)result.totals.packets;
    outcome.accepted = result.accepted;
    sim_result_free(&result);
    close_sim(sim, &config);
    return outcome;
}

static void asked_again(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char    *flow = i == 0 ? "flow=cutthrough" : "flow=wormhole";
        char           words[64];
        struct outcome once, again;

        snprintf(words, sizeof(words), "%s route_at=front", flow);
        once = outcome(words);
        snprintf(words, sizeof(words), "%s route_at=turn", flow);
        again = outcome(words);
        print_message("%s: %.3f of packets go round, %.3f arrive; asked again %.3f, %.3f\n", flow, once.share,
                      once.accepted, again.share, again.accepted);
        assert_true(again.accepted > once.accepted);
    }
}

/* Minimal routing has nothing to ask. */
static void minimal_stays(void **state)
{
    (void)state;
    assert_true(outcome("routing=min route_at=turn").share == 0);
    assert_true(outcome("routing=min route_at=turn").accepted == outcome("routing=min route_at=front").accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_again),
        cmocka_unit_test(minimal_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
