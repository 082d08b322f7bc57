/* progress.h: a progress line on the terminal. */
#ifndef SIM_PROGRESS_H
#define SIM_PROGRESS_H

#include "run.h"

struct sim_progress {
    bool     show;
    int64_t  start, drawn; /* nanoseconds */
    uint32_t drawn_cycle;
    double   rate; /* recent cycles per second */
};

/* Initialize the progress line. Nothing is shown if standard error is not a terminal or if quiet is set. */
void sim_progress_begin(struct sim_progress *progress, bool quiet);

/* Update the line. The signature is that of struct sim_watch. */
void sim_progress_tell(void *self, const struct sim *sim, const char *what, uint32_t until);

/* Erase the line. */
void sim_progress_end(struct sim_progress *progress);

#endif
