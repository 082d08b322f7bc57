/* progress.c: a progress bar on standard error while a test runs, if that is a terminal. The bar is drawn at most
 * ten times a second and only between slices, so that it does not disturb the measurement. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

#define BAR_WIDTH 40
#define REDRAW_NS 100000000
#define AFTER_US 20000

static struct {
    bool        show;
    const char *what;
    double      from, to;
    int64_t     start, drawn;
} progress;

void perf_progress_begin(const char *what, bool show)
{
    progress.show = show && isatty(STDERR_FILENO);
    progress.what = what;
    progress.from = 0;
    progress.to = 1;
    progress.start = measure_now();
    progress.drawn = 0;
}

void perf_progress_part(double from, double to)
{
    progress.from = from;
    progress.to = to;
}

void perf_progress(double done)
{
    static const char full[] = "########################################";
    int64_t           now;
    double            share = progress.from + done * (progress.to - progress.from), left;
    int               marks = (int)(share * BAR_WIDTH);

    if (!progress.show || (now = measure_now()) - progress.drawn < REDRAW_NS)
        return;
    progress.drawn = now;
    left = share > 0.02 ? (double)(now - progress.start) / 1e9 * (1 - share) / share : 0;
    fprintf(stderr, "\r%-10s [%.*s%*s] %3.0f%%", progress.what, marks, full, BAR_WIDTH - marks, "", share * 100);
    if (left > 0)
        fprintf(stderr, " %4.0f s left ", left + 0.5);
    fflush(stderr);
}

/* Finish the line. ternrun forwards standard error and standard output separately, so this waits a moment for the
 * line to appear first. */
void perf_progress_end(void)
{
    if (progress.show && progress.drawn != 0) {
        progress.drawn = 0;
        progress.from = progress.to = 1;
        perf_progress(1);
        fprintf(stderr, " %4.1f s         \n", (double)(measure_now() - progress.start) / 1e9);
        usleep(AFTER_US);
    }
    progress.show = false;
}
