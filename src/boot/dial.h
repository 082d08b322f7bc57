/* dial.h: connections between the nodes of a job that a foreign launcher started.
 *
 * Rank 0 opens a port; the first rank of every other node connects to it. Anyone can connect to a port, so each side
 * proves that it has the job's key, which travels through the launcher only: it answers a random challenge of the other
 * with a keyed hash. The key itself is never sent.
 */
#ifndef TERN_BOOT_DIAL_H
#define TERN_BOOT_DIAL_H

#include <stdint.h>

#include "base/siphash.h"
#include "base/status.h"
#include "boot/pmi.h"

/* The port, as rank 0 sees it. */
struct tern_dial {
    int     door;
    uint8_t key[TERN_SIPHASH_KEY];
};

/* Open a port on all interfaces; text is what others need to find it. */
tern_status tern_boot_dial_open(struct tern_dial *dial, char text[TERN_PMI_VALUE]);

/* Wait until every node but 0 has connected and proved itself: fds[n] is the connection of node n, fds[0] is not
 * touched. On an error there are none. */
tern_status tern_boot_dial_accept(const struct tern_dial *dial, int nodes, int *fds);

void tern_boot_dial_close(struct tern_dial *dial);

/* Connect as that node to where text tells. */
tern_status tern_boot_dial_connect(const char *text, int node, int *fd);

#endif
