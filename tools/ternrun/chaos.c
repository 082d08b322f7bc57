/* chaos.c: checks TERN_CHAOS before anything is started, and makes the run repeatable: if there is no seed, ternrun
 * chooses one, prints it, and passes it to all ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/chaos.h"
#include "base/clock.h"
#include "base/options.h"
#include "ternrun.h"

static uint32_t random_seed(void)
{
    uint32_t seed;

    /* Use the time if the kernel has no random bytes yet. */
    return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed) ? seed : (uint32_t)tern_base_now();
}

/* Put a seed in front of the user's settings, and set TERN_CHAOS. Returns false if there is no memory. */
static bool add_seed(void)
{
    const char *rest = strcmp(tern_opt.chaos, "on") == 0 ? "" : tern_opt.chaos;
    char       *text;

    if (asprintf(&text, "seed=%" PRIu32 "%s%s", random_seed(), *rest ? "," : "", rest) < 0)
        return false;
    run_say("chaos: repeat this run with --chaos %s", text);
    setenv("TERN_CHAOS", text, 1);
    free(text);
    return true;
}

bool run_chaos_prepare(const struct run_config *config)
{
    struct tern_chaos chaos;

    if (*tern_opt.chaos == '\0')
        return true;
    if (tern_base_chaos_parse(tern_opt.chaos, &chaos) != TERN_OK) {
        run_say("%s", tern_base_detail());
        return false;
    }
    if (chaos.kill_rank >= config->ranks) {
        run_say("TERN_CHAOS: kill=%" PRId64 "@%" PRId64 ": the ranks of this job are 0 to %d", chaos.kill_rank,
                chaos.kill_at, config->ranks - 1);
        return false;
    }
    return chaos.seeded || add_seed();
}
