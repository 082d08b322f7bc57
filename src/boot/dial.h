/* dial.h: connections between the nodes of a job that a foreign launcher started.
 *
 * Rank 0 opens a port; the first rank of every other node connects to it. Anyone can connect to a port, so each side
 * proves that it has the job's key, which travels through the launcher only: it answers a random challenge of the other
 * with a keyed hash. The key itself is never sent.
 */
#ifndef TERN_BOOT_DIAL_H
#define TERN_BOOT_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/siphash.h"
#include "base/status.h"
#include "boot/pmi.h"

#define TERN_DIAL_ADDRESSES 8 /* of a machine that are made known */
#define TERN_DIAL_ADDRESS 46  /* bytes of one as text, with the closing 0 */

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

/* Where a text says that rank 0 is. */
struct tern_dial_target {
    unsigned port;
    uint8_t  key[TERN_SIPHASH_KEY];
    int      count;
    char     address[TERN_DIAL_ADDRESSES][TERN_DIAL_ADDRESS];
};

/* Read such a text: a pure function. False: it is none. */
bool tern_boot_dial_read(const char *text, struct tern_dial_target *target);

/* Connect as that node to where text tells. */
tern_status tern_boot_dial_connect(const char *text, int node, int *fd);

#endif
