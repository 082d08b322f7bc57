/* progress.c: the progress line: a bar, the number of cycles done, the rate, and the remaining time. While the network
 * has not become steady, the end is unknown; the bar then extends to max_cycles and says so. The line is drawn at most
 * five times per second.
 */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define BAR_WIDTH 30
#define REDRAW_NS 200000000

void sim_progress_begin(struct sim_progress *progress, bool quiet)
{
    *progress = (struct sim_progress){ .show = !quiet && isatty(STDERR_FILENO), .start = tern_base_now() };
}

/* Format a number of seconds for people. */
static void duration(char text[32], double seconds)
{
    if (seconds < 100)
        snprintf(text, 32, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(text, 32, "%.0f min", seconds / 60);
    else
        snprintf(text, 32, "%.1f h", seconds / 3600);
}

void sim_progress_tell(void *self, const struct sim *sim, const char *what, uint32_t until)
{
    static const char    full[] = "##############################";
    struct sim_progress *progress = self;
    int64_t              now;
    uint32_t             aim = until > 0 ? until : (uint32_t)sim->config->max_cycles;
    double               share, rate;
    char                 left[32];

    if (!progress->show || (now = tern_base_now()) - progress->drawn < REDRAW_NS)
        return;
    if (progress->drawn != 0) {
        rate = (sim->now - progress->drawn_cycle) / ((double)(now - progress->drawn) / 1e9);
        progress->rate = progress->rate > 0 ? 0.8 * progress->rate + 0.2 * rate : rate;
    }
    progress->drawn = now;
    progress->drawn_cycle = sim->now;
    share = aim > sim->now ? (double)sim->now / aim : 1;
    duration(left, progress->rate > 0 ? (aim - sim->now) / progress->rate : 0);
    fprintf(stderr, "\r%-9s [%.*s%*s] cycle %u, %.0f per second, %s%s left   ", what, (int)(share * BAR_WIDTH), full,
            BAR_WIDTH - (int)(share * BAR_WIDTH), "", sim->now, progress->rate, until > 0 ? "" : "at most ", left);
    fflush(stderr);
}

void sim_progress_end(struct sim_progress *progress)
{
    if (progress->show && progress->drawn != 0)
        fprintf(stderr, "\r%79s\r", "");
}
