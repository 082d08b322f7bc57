/* conservation.c: every flit that is injected is ejected once, in order; buffers do not overflow; credits are not lost.
 *
 * The simulator is compiled with its assertions here: a flit beyond a buffer, a credit too many, or a flit between the
 * flits of another packet ends the test. audit=1 adds up the flits and credits of every link after each iteration. At
 * the end, the test silences the sources, and the network must become empty.
 *
 * labels: tools
 */
#include "sim_test.h"

#define SHORT "stop=steady period=700 max_cycles=2800 tolerance=0 measure=700 drain=0 audit=1 threads=2 "

static const char *const networks[] = {
    "p=2 a=4 h=2 routing=min traffic=uniform",
    "p=2 a=4 h=2 routing=valiant via=router traffic=permutation",
    "p=2 a=4 h=2 routing=ugal traffic=pairs packet=1 buffer=20",
    "p=2 a=4 h=2 routing=ugal via=router traffic=shift shift=8",
    "p=2 a=4 h=2 routing=ugal_g traffic=shift shift=8 speedup=1",
    "p=2 a=4 h=2 routing=par traffic=pairs slow_share=0.1 slow_factor=8",
    "p=2 a=4 h=2 routing=par via=router traffic=alltoall buffer=16",
    "p=2 a=4 h=2 routing=par traffic=pairs fecn=1 slow_share=0.1 slow_factor=4",
    "p=2 a=4 h=2 routing=par traffic=uniform fecn=1 fecn_seen=arrival fecn_queue=port slow_share=0.1",
    "p=2 a=4 h=2 routing=par traffic=pairs rdrp=6 slow_share=0.1 slow_factor=8",
    "p=2 a=4 h=2 routing=par traffic=uniform rdrp=1",
    "p=2 a=4 h=2 routing=par traffic=pairs fecn=1 rdrp=10 rdrp_ack=3",
    "p=2 a=4 h=2 routing=par traffic=pairs rdrp=2 rdrp_ack=64 slow_share=0.1 slow_factor=8",
    "p=2 a=4 h=2 routing=par traffic=pairs flow=cutthrough buffer=20",
    "p=2 a=4 h=2 routing=par traffic=pairs flow=wormhole buffer=10 slow_share=0.1",
    "p=2 a=4 h=2 routing=ugal traffic=shift shift=8 flow=wormhole route_at=arrival",
    "p=2 a=4 h=2 routing=par traffic=pairs route_at=front slow_share=0.1",
    "p=3 a=3 h=2 groups=3 routing=par traffic=uniform",
    "p=2 a=4 h=2 routing=ugal traffic=pairs vcs=7",
    "p=2 a=4 h=2 routing=par traffic=pairs vcs=16 slow_share=0.1",
    "p=1 a=1 h=2 groups=3 routing=par traffic=uniform",
    "p=2 a=3 h=1 groups=1 routing=min traffic=uniform",
    "p=2 a=4 h=2 latency_local=1 latency_global=1 latency_terminal=1 credit_delay=0 routing=par",
    "p=2 a=4 h=2 latency_local=20 latency_global=3 latency_terminal=9 routing=par",
    "topology=torus k=4 n=2 p=2 routing=min traffic=uniform",
    "topology=torus k=2 n=3 p=1 routing=min traffic=permutation flow=cutthrough buffer=16",
    "topology=torus k=3 n=1 p=1 vcs=5 routing=min traffic=uniform",
    "topology=fattree k=3 n=3 routing=min traffic=uniform vcs=3",
    "topology=fattree k=4 n=1 routing=min traffic=hotspot",
    "topology=single p=7 routing=min traffic=uniform vcs=8",
    "topology=single p=1 routing=min traffic=uniform self=1",
};

static void everything_arrives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        char              words[512];
        struct sim_config config;
        struct sim       *sim;
        struct sim_result result;

        snprintf(words, sizeof(words), SHORT "%s", networks[i]);
        sim = open_sim(&config, words);
        run_sim(sim, &result);
        if (result.deadlock > 0 || result.stuck || result.totals.packets == 0)
            fail_msg("%s: %zu VCs in deadlock, %s, %lu packets measured", networks[i], result.deadlock,
                     result.stuck ? "stuck" : "not stuck", (unsigned long)result.totals.packets);
        sim_silence(sim);
        for (int wait = 0; wait < 60 && sim_in_flight(sim) > 0; wait++)
            sim_advance(sim, sim->now + 1000);
        assert_int_equal(sim_in_flight(sim), 0);
        assert_int_equal(sim_unmeasured(sim), 0);
        assert_int_equal(sim_audit(sim), TERN_OK);
        sim_result_free(&result);
        close_sim(sim, &config);
    }
}

/* The audit sees a credit that is lost, and one too many. */
static void audit_sees(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "p=2 a=4 h=2");

    (void)state;
    sim_advance(sim, 500);
    assert_int_equal(sim_audit(sim), TERN_OK);
    sim->router[3].out[2 << sim->shift].credits--;
    assert_int_equal(sim_audit(sim), TERN_ERR_STATE);
    assert_non_null(strstr(tern_base_detail(), "router 3, port 2, VC 0"));
    sim->router[3].out[2 << sim->shift].credits += 2;
    assert_int_equal(sim_audit(sim), TERN_ERR_STATE);
    sim->router[3].out[2 << sim->shift].credits--;
    sim->worker[0].stats.ejected++;
    assert_int_equal(sim_audit(sim), TERN_ERR_STATE);
    assert_non_null(strstr(tern_base_detail(), "injected and not ejected"));
    close_sim(sim, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives),
        cmocka_unit_test(audit_sees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
