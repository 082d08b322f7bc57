/* relay_connect.h: connections between the nodes of a job that a foreign launcher started.
 *
 * Rank 0 opens a port; the first rank of every other node connects to it. Anyone can connect to a port, so each side
 * proves that it has the job's key (handshake.h), and what they say after that carries tags under keys that only
 * they have (frame_mac.h). The job's key is random and passes through the launcher. Whoever can read what the
 * launcher transports, as it does in clear text in MPICH's mpiexec, has the key: it keeps off strangers, and not who
 * listens to the launcher.
 * */
#ifndef TERN_BOOT_RELAY_CONNECT_H
#define TERN_BOOT_RELAY_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/siphash.h"
#include "base/status.h"
#include "boot/frame_io.h"
#include "boot/pmi.h"

#define TERN_RELAY_ADDRESSES 8 /* of a machine that are made known */
#define TERN_RELAY_ADDRESS 46  /* bytes of one as text, with the closing 0 */

/* The port, as rank 0 sees it. */
struct tern_relay_listener {
    int     door;
    uint8_t key[TERN_SIPHASH_KEY];
};

/* A connection whose two sides have proved themselves. */
struct tern_relay_conn {
    int                       fd;
    struct tern_frame_io_keys keys;
};

/* Open a port on all interfaces; text is what others need to find it. */
tern_status tern_boot_relay_listen(struct tern_relay_listener *dial, char text[TERN_PMI_VALUE]);

/* Wait until every node but 0 has connected and proved itself: lines[n] is the connection of node n, lines[0] is not
 * touched. On an error there are none. Whoever is silent or wrong meanwhile holds up nobody. */
tern_status tern_boot_relay_accept(const struct tern_relay_listener *dial, int nodes, struct tern_relay_conn *lines);

void tern_boot_relay_listen_close(struct tern_relay_listener *dial);

/* Where a text says that rank 0 is. */
struct tern_relay_target {
    unsigned port;
    uint8_t  key[TERN_SIPHASH_KEY];
    uint64_t network; /* names the network interfaces of rank 0: tern_boot_relay_network_id(); 0: not known */
    int      count;
    char     address[TERN_RELAY_ADDRESSES][TERN_RELAY_ADDRESS];
};

/* Read such a text: a pure function. False: it is none. */
bool tern_boot_relay_target_decode(const char *text, struct tern_relay_target *target);

/* A number that processes with the same network interfaces have in common (node.h), and others do not; 0: not known. */
uint64_t tern_boot_relay_network_id(const uint8_t key[TERN_SIPHASH_KEY]);

/* Make a connection's short messages leave at once, and its death known: for both sides. */
void tern_boot_relay_socket_tune(int fd);

/* Connect as that node to where text tells. Addresses that mean this machine are called only where rank 0 has the same
 * network interfaces. A connection that ends before both sides have proved themselves is made again. */
tern_status tern_boot_relay_connect(const char *text, int node, struct tern_relay_conn *line);

#endif
