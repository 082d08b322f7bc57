/* congestion.c: FECN/BECN and RDRP follow the rules of the RDRP paper, section 4.1, one by one.
 *
 * builds: release debug asan
 */
#include "congestion.h"

#include <math.h>

#include "sim_test.h"

#define PAPER "p=2 a=4 h=2 fecn=1 "
#define DRAWS 20000

/* The share of packets that are marked when the queue at the other end has so many flits of 256. */
static double marked(struct sim *sim, unsigned flits)
{
    struct sim_router *router = &sim->router[0];
    struct sim_out_vc  to = { .credits = (uint16_t)(256 - flits) };
    struct sim_port    port = { .used = flits };
    unsigned           count = 0;

    for (int i = 0; i < DRAWS; i++) {
        struct sim_packet packet = { .size = 16 };

        sim_congestion_mark(sim, router, &port, &to, &packet);
        count += packet.flags & SIM_FECN;
    }
    return (double)count / DRAWS;
}

static void marking(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, PAPER);

    (void)state;
    assert_true(marked(sim, 0) == 0);
    assert_true(marked(sim, 128) == 0); /* 50% */
    assert_true(fabs(marked(sim, 160) - 0.25) < 0.02);
    assert_true(fabs(marked(sim, 192) - 0.5) < 0.02);
    assert_true(fabs(marked(sim, 224) - 0.75) < 0.02);
    assert_true(marked(sim, 256) == 1);
    close_sim(sim, &config);

    sim = open_sim(&config, PAPER "fecn_rate=2"); /* the aggressive set */
    assert_true(marked(sim, 128) == 0);
    assert_true(fabs(marked(sim, 160) - 0.5) < 0.02);
    assert_true(marked(sim, 192) == 1);
    close_sim(sim, &config);
}

/* Where the packet's own flits count, the last place that cut-through leaves for a packet means a mark. */
static void own_flits(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, PAPER "fecn_counts=packet");

    (void)state;
    assert_true(marked(sim, 112) == 0);
    assert_true(fabs(marked(sim, 176) - 0.5) < 0.02);
    assert_true(marked(sim, 240) == 1);
    close_sim(sim, &config);
}

static void arrive(struct sim *sim, struct sim_node *node, unsigned flags, uint32_t now)
{
    struct sim_packet packet = { .flags = (uint8_t)flags, .size = 16 };

    sim_congestion_arrive(sim, node, &packet, now);
}

static void counter(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, PAPER);
    struct sim_node  *node = &sim->node[0];

    (void)state;
    arrive(sim, node, SIM_BECN, 100);
    assert_int_equal(node->becn, 8);
    arrive(sim, node, 0, 100);
    assert_int_equal(node->becn, 7);
    arrive(sim, node, SIM_BECN, 100);
    arrive(sim, node, SIM_BECN, 100);
    assert_int_equal(node->becn, 20); /* not 23 */
    arrive(sim, node, 0, 103);        /* 100 to 103 are in the same four cycles */
    assert_int_equal(node->becn, 19);
    arrive(sim, node, 0, 104);
    assert_int_equal(node->becn, 17); /* one by itself, one by the packet */
    arrive(sim, node, 0, 4000);
    assert_int_equal(node->becn, 0);
    arrive(sim, node, 0, 4000);
    assert_int_equal(node->becn, 0);
    close_sim(sim, &config);

    sim = open_sim(&config, PAPER "becn_decay=50");
    node = &sim->node[0];
    arrive(sim, node, SIM_BECN, 0);
    arrive(sim, node, 0, 49);
    assert_int_equal(node->becn, 7);
    arrive(sim, node, 0, 50);
    assert_int_equal(node->becn, 5);
    close_sim(sim, &config);
}

/* Flits that a node sends in 32000 cycles at one level of its counter. */
static unsigned sent_at(struct sim *sim, struct sim_node *node, uint32_t level)
{
    unsigned sent = 0;

    node->becn = level;
    node->tokens = 0;
    node->size = 16;
    node->sent = 0;
    for (uint32_t now = 0; now < 32000; now++) {
        if (!sim_congestion_may_send(sim, node, now))
            continue;
        sim_congestion_sent(sim, node);
        node->sent = (uint8_t)((node->sent + 1) % 16);
        sent++;
    }
    node->size = 0;
    return sent;
}

/* The rate at which a node may send falls linearly from 1 at 0 to 0 at 20. */
static void throttling(void **state)
{
    static const char *const ways[] = { PAPER "becn_decay=1000000 becn_per=packet",
                                        PAPER "becn_decay=1000000 becn_per=flit" };

    (void)state;
    for (int way = 0; way < 2; way++) {
        struct sim_config config;
        struct sim       *sim = open_sim(&config, ways[way]);

        for (uint32_t level = 0; level <= 20; level++)
            assert_in_range(sent_at(sim, &sim->node[0], level), level < 20 ? 1600 * (20 - level) - 32 : 0,
                            1600 * (20 - level));
        close_sim(sim, &config);
    }
}

/* For each marked packet one packet to its source has BECN, and no packet to another node. */
static void answers(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, PAPER);
    struct sim_node  *node = &sim->node[0];
    struct sim_packet marked_packet = { .source = 5, .flags = SIM_FECN }, plain = { .source = 5 };
    unsigned          answered = 0;

    (void)state;
    sim_congestion_seen(node, &marked_packet, 0);
    sim_congestion_seen(node, &marked_packet, 0);
    sim_congestion_seen(node, &plain, 0);
    for (int i = 0; i < 6; i++) {
        struct sim_packet back = { .target = i % 2 ? 5 : 6 };

        sim_congestion_leave(node, &back);
        assert_true(i % 2 || !(back.flags & SIM_BECN));
        answered += (back.flags & SIM_BECN) != 0;
    }
    assert_int_equal(answered, 2);
    close_sim(sim, &config);
}

/* A node never has more than c packets outstanding, and has c when it can. */
static void limit(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "p=2 a=4 h=2 rdrp=5 slow_share=0.1 slow_factor=8 traffic=pairs");
    uint32_t          most = 0;

    (void)state;
    for (uint32_t now = 1; now < 6000; now++) {
        sim_advance(sim, now);
        for (uint32_t i = 0; i < sim->shape.nodes; i++) {
            assert_true(sim->node[i].outstanding <= 5);
            most = sim->node[i].outstanding > most ? sim->node[i].outstanding : most;
        }
    }
    assert_int_equal(most, 5);
    close_sim(sim, &config);
}

/* Two nodes at one switch: with c packets outstanding a node sends c packets in the time of a round trip. A data packet
 * of 16 flits takes 4 + 15 cycles, and one or two in the switch; the credit comes back with the next packet of the
 * other side, whose last flit is awaited, or, where that has no credit, alone, in one flit. */
static void round_trip(void **state)
{
    static const struct {
        const char *words;
        double      least, most;
    } cases[] = {
        { "rdrp=1", 16.0 / (21 + 21), 16.0 / (19 + 4) },
        { "rdrp=2", 0.75, 1 },
        { "rdrp=8", 0.999, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char              words[256];
        struct sim_config config;
        struct sim       *sim;
        struct sim_result result;

        snprintf(words, sizeof(words),
                 "topology=single p=2 routing=min traffic=shift stop=cycles warmup=1000 measure=10000 %s",
                 cases[i].words);
        sim = open_sim(&config, words);
        run_sim(sim, &result);
        if (result.accepted < cases[i].least || result.accepted > cases[i].most)
            fail_msg("%s: %f", cases[i].words, result.accepted);
        sim_result_free(&result);
        close_sim(sim, &config);
    }
}

/* Credits come back whatever the length of the packets that bring them, also of packets that are still being sent as
 * their head arrives. */
static void long_acks(void **state)
{
    static const unsigned flits[] = { 1, 16, 32, 64 };

    (void)state;
    for (size_t i = 0; i < sizeof(flits) / sizeof(flits[0]); i++) {
        char              words[256];
        struct sim_config config;
        struct sim       *sim;
        struct sim_result result;

        snprintf(words, sizeof(words), "p=2 a=4 h=2 rdrp=2 stop=cycles warmup=2000 measure=4000 audit=1 rdrp_ack=%u",
                 flits[i]);
        sim = open_sim(&config, words);
        run_sim(sim, &result);
        assert_false(result.stuck);
        assert_true(result.totals.acks > 0);
        if (result.sorted_accepted[0] < 0.02) /* of the node that received least */
            fail_msg("rdrp_ack=%u: a node accepted %f", flits[i], result.sorted_accepted[0]);
        sim_result_free(&result);
        close_sim(sim, &config);
    }
}

/* A network without flits is stuck where nodes wait for credits that nobody will return. */
static void lost_credits(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "p=2 a=4 h=2 rdrp=2 stop=cycles warmup=4000 measure=4000");
    struct sim_result result;

    (void)state;
    for (uint32_t i = 0; i < sim->shape.nodes; i++)
        sim->node[i].outstanding = 2;
    run_sim(sim, &result);
    assert_true(result.stuck);
    assert_false(result.complete);
    sim_result_free(&result);
    close_sim(sim, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marking),   cmocka_unit_test(counter),      cmocka_unit_test(throttling),
        cmocka_unit_test(answers),   cmocka_unit_test(limit),        cmocka_unit_test(round_trip),
        cmocka_unit_test(long_acks), cmocka_unit_test(lost_credits), cmocka_unit_test(own_flits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
