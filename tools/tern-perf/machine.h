/* machine.h: the facts about the machine that a page of figures shows. */
#ifndef TERN_PERF_MACHINE_H
#define TERN_PERF_MACHINE_H

#include "compare.h"

#define MACHINE_FACTS 24

struct machine_fact {
    char name[32], value[320];
};

struct machine {
    struct machine_fact fact[MACHINE_FACTS];
    size_t              facts;
};

/* Collect the facts that are known before the measurement. commit names the measured code; NULL: the version. */
void        machine_describe(struct machine *m, const char *commit);
void        machine_network(struct machine *m, const char *network);
void        machine_peers(struct machine *m); /* the versions of the peers that compare_peer_find has found */
void        machine_load_after(struct machine *m);
/* Return a fact, or "" if it is not known. */
const char *machine_fact(const struct machine *m, const char *name);
/* Return whether other programs used more than a quarter of the CPUs before the measurement. */
bool        machine_was_busy(const struct machine *m);

#endif
