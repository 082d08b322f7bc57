/* progress.h: a line on the terminal while a run goes on. */
#ifndef SIM_PROGRESS_H
#define SIM_PROGRESS_H

#include "run.h"

struct sim_progress {
    bool     show;
    int64_t  start, drawn; /* nanoseconds */
    uint32_t drawn_cycle;
    double   rate; /* cycles per second, lately */
};

/* Begin; nothing is shown if standard error is no terminal or quiet is set. */
void sim_progress_begin(struct sim_progress *progress, bool quiet);

/* As struct sim_watch wants it. */
void sim_progress_tell(void *self, const struct sim *sim, const char *what, uint32_t until);

/* Remove the line. */
void sim_progress_end(struct sim_progress *progress);

#endif
