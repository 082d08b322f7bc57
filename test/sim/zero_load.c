/* zero_load.c: on an empty network the latency of a packet is the sum of its parts, to the cycle, on every class of
 * path.
 *
 * The parts: two cycles of each link to and from a node (latency_terminal + 1), L+1 of each other link, two cycles of
 * each router without speed-up, and a cycle for each flit after the first. The test computes the paths independently,
 * from the wiring rules alone.
 *
 * labels: tools
 *
 * builds: release debug asan
 */
#include "sim_test.h"

#define LOCAL 2
#define GLOBAL 10

struct path {
    unsigned routers, locals, globals;
};

/* The router of a group that has the link to another group: index q = i*h + c leads to group q, or q+1 from there
 * on. */
static uint32_t gate(uint32_t group, uint32_t to, uint32_t h)
{
    return (to > group ? to - 1 : to) / h;
}

static struct path minimal(uint32_t from, uint32_t to, uint32_t p, uint32_t a, uint32_t h)
{
    uint32_t    r = from / p, s = to / p, group = r / a, target = s / a;
    struct path path = { .routers = 1 };

    if (group == target) {
        path.locals = r != s;
    } else {
        path.globals = 1;
        path.locals = (unsigned)(r % a != gate(group, target, h)) + (unsigned)(s % a != gate(target, group, h));
    }
    path.routers += path.locals + path.globals;
    return path;
}

static uint32_t expected(struct path path, uint32_t packet)
{
    return 4 + 2 * path.routers + (LOCAL + 1) * path.locals + (GLOBAL + 1) * path.globals + packet - 1;
}

/* From a node of each group of a small dragonfly to all nodes: every class of minimal path is among them. */
static void minimal_paths(const char *words, uint32_t packet)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, words);
    unsigned          classes[3][2] = { { 0 } };

    for (uint32_t from = 0; from < sim->shape.nodes; from += 9) {
        for (uint32_t to = 0; to < sim->shape.nodes; to++) {
            struct path path = minimal(from, to, 2, 4, 2);
            struct trip trip = send_one(sim, from, to);

            assert_int_equal(trip.routers, path.routers);
            assert_int_equal(trip.latency, expected(path, packet));
            classes[path.locals][path.globals]++;
        }
    }
    assert_true(classes[0][0] > 0 && classes[1][0] > 0);
    assert_true(classes[0][1] > 0 && classes[1][1] > 0 && classes[2][1] > 0);
    close_sim(sim, &config);
}

static void flits(void **state)
{
    (void)state;
    minimal_paths(LONE "routing=min packet=1 speedup=1", 1);
}

static void packets(void **state)
{
    (void)state;
    minimal_paths(LONE "routing=min packet=16 speedup=1", 16);
}

static void adaptive_is_minimal_when_empty(void **state)
{
    (void)state;
    minimal_paths(LONE "routing=par packet=16 speedup=1", 16);
    minimal_paths(LONE "routing=ugal packet=16 speedup=1", 16);
    minimal_paths(LONE "routing=par packet=16 speedup=1 route_at=front", 16);
    minimal_paths(LONE "routing=ugal_g packet=16 speedup=1", 16);
}

static void cut_through(void **state)
{
    (void)state;
    minimal_paths(LONE "routing=min packet=16 speedup=1 flow=cutthrough", 16);
}

/* With two global links the number of routers tells how many local ones there were. */
static void ways_round(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, LONE "routing=valiant packet=16 speedup=1");
    unsigned          seen[8] = { 0 };

    (void)state;
    for (int i = 0; i < 400; i++) {
        struct trip trip = send_one(sim, 0, 70);
        struct path path = minimal(0, 70, 2, 4, 2);

        if (trip.routers != path.routers || trip.latency != expected(path, 16)) { /* it went round */
            assert_in_range(trip.routers, 3, 6);
            path = (struct path){ trip.routers, trip.routers - 3, 2 };
            seen[trip.routers]++;
        }
        assert_int_equal(trip.latency, expected(path, 16));
    }
    assert_true(seen[4] + seen[5] + seen[6] > 200);
    close_sim(sim, &config);
}

/* Steps that a router makes in a cycle. */
static uint32_t steps(uint32_t cycle, uint32_t thousandths)
{
    return (uint32_t)(((uint64_t)cycle + 1) * thousandths / 1000 - (uint64_t)cycle * thousandths / 1000);
}

/* With a speed-up of 2.4 a router costs no cycle where it makes three steps, and one where it makes two. */
static void internal_speedup(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, LONE "routing=min packet=1 speedup=2.4");
    unsigned          cost[2] = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        struct trip trip = send_one(sim, 0, 3); /* one local link, two routers */
        uint32_t    at = trip.sent_at + 2, spent = 0;

        for (unsigned router = 0; router < 2; router++) {
            uint32_t here = steps(at, 2400) == 3 ? 0 : 1;

            spent += here;
            cost[here]++;
            at += here + (router == 0 ? LOCAL + 1 : 0);
        }
        assert_int_equal(trip.latency, 4 + LOCAL + 1 + spent);
        sim_advance(sim, sim->now + i % 3);
    }
    assert_true(cost[0] > 0 && cost[1] > 0);
    close_sim(sim, &config);
}

static void other_topologies(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "topology=single p=5 routing=min injection=open load=0 traffic=uniform "
                                                    "packet=4 speedup=1");

    (void)state;
    assert_int_equal(send_one(sim, 0, 4).latency, 4 + 2 + 3);
    close_sim(sim, &config);

    sim = open_sim(&config, "topology=torus k=5 n=2 p=1 routing=min injection=open load=0 traffic=uniform packet=4 "
                            "speedup=1");
    for (uint32_t to = 0; to < 25; to++) { /* from the corner; each ring is gone round the shorter way */
        uint32_t x = to % 5, y = to / 5, hops = (x > 2 ? 5 - x : x) + (y > 2 ? 5 - y : y);

        assert_int_equal(send_one(sim, 0, to).latency, 4 + 2 * (hops + 1) + 3 * hops + 3);
    }
    close_sim(sim, &config);

    sim = open_sim(&config, "topology=fattree k=3 n=3 routing=min injection=open load=0 traffic=uniform packet=4 "
                            "speedup=1");
    for (uint32_t to = 0; to < 27; to++) { /* up to the first common level, and down again */
        uint32_t up = to < 3 ? 0 : to < 9 ? 1 : 2;

        assert_int_equal(send_one(sim, 0, to).latency, 4 + 2 * (2 * up + 1) + 3 * 2 * up + 3);
    }
    close_sim(sim, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flits),
        cmocka_unit_test(packets),
        cmocka_unit_test(adaptive_is_minimal_when_empty),
        cmocka_unit_test(cut_through),
        cmocka_unit_test(ways_round),
        cmocka_unit_test(internal_speedup),
        cmocka_unit_test(other_topologies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
