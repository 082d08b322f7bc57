/* sim_test.h: functions that the tests of the simulator share: they create a network from a line of parameters, and
 * send single packets. */
#ifndef SIM_TEST_H
#define SIM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit.h"
#include "report.h"
#include "run.h"
#include "sim.h"
#include "topology.h"

/* A small dragonfly on which only the packets travel that a test sends. */
#define LONE "p=2 a=4 h=2 injection=open load=0 traffic=uniform "

/* Set parameters from words "name=value". */
static inline void configure(struct sim_config *config, const char *words)
{
    char *copy = strdup(words), *keep = NULL;

    sim_config_init(config);
    for (char *word = strtok_r(copy, " ", &keep); word != NULL; word = strtok_r(NULL, " ", &keep)) {
        if (sim_config_assign(config, word) < 0)
            fail_msg("%s", tern_base_detail());
    }
    free(copy);
}

static inline struct sim *open_sim(struct sim_config *config, const char *words)
{
    struct sim *sim = NULL;

    configure(config, words);
    if (sim_open(&sim, config) < 0)
        fail_msg("%s: %s", words, tern_base_detail());
    return sim;
}

static inline void close_sim(struct sim *sim, struct sim_config *config)
{
    sim_close(sim);
    sim_config_free(config);
}

/* Run to the end, with all that a run asks for. */
static inline void run_sim(struct sim *sim, struct sim_result *result)
{
    if (sim_run(sim, NULL, result) < 0)
        fail_msg("%s", tern_base_detail());
}

/* What became of one packet. */
struct trip {
    uint32_t latency, routers;
    uint32_t sent_at; /* cycle in which its head left the source */
};

/* Send one packet over a network that is empty, and wait for it. */
static inline struct trip send_one(struct sim *sim, uint32_t from, uint32_t to)
{
    struct sim_stats totals;
    struct trip      trip = { .sent_at = sim->now };

    sim_measure(sim);
    sim_send(sim, from, to, 1);
    do
        sim_advance(sim, sim->now + 1);
    while (sim->now < trip.sent_at + 100000 && (sim->node[from].made > 0 || sim_unmeasured(sim) > 0));
    assert_int_equal(sim_totals(sim, &totals), TERN_OK);
    assert_int_equal(totals.packets, 1);
    trip.latency = totals.packet_latency->max;
    trip.routers = (uint32_t)totals.routers;
    sim_stats_free(&totals);
    return trip;
}

#endif
