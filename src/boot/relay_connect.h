/* relay_connect.h: connections between the nodes of a job that a foreign launcher started.
 *
 * Rank 0 listens on a port, and the first rank of every other node connects to it. Any process can connect to a port,
 * so each side proves that it has the job's key (handshake.h). All later frames carry tags under keys that only the two
 * sides have (frame.h). The job's key is random and travels through the launcher. Anyone who can read the
 * launcher's traffic has the key; MPICH's mpiexec, for example, sends it in clear text. The key therefore keeps out
 * strangers, but not an eavesdropper on the launcher.
 * */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/siphash.h"
#include "base/status.h"
#include "boot/frame_io.h"
#include "boot/pmi.h"

#define TERN_RELAY_ADDRESSES 8 /* maximum number of addresses of a machine that are published */
#define TERN_RELAY_ADDRESS 46  /* bytes of an address as text, with the terminating 0 */

/* The listening socket of rank 0. */
struct tern_relay_listener {
    int     door; /* the owner closes it */
    uint8_t key[TERN_SIPHASH_KEY];
};

/* An authenticated connection. */
struct tern_relay_conn {
    int                       fd;
    struct tern_frame_io_keys keys;
};

/* Listen on a port on all interfaces. Sets text to the information that other nodes need to connect. */
tern_status tern_boot_relay_listen(struct tern_relay_listener *listener, char text[TERN_PMI_VALUE]);

/* Wait until every node except 0 has connected and authenticated itself. lines[n] is the connection of node n; lines[0]
 * is not changed. On an error no connection remains open. A client that is silent or fails to authenticate does not
 * delay the others. */
tern_status tern_boot_relay_accept(const struct tern_relay_listener *listener, int nodes,
                                   struct tern_relay_conn *lines);

/* The decoded text of tern_boot_relay_listen(): how to reach rank 0. */
struct tern_relay_target {
    unsigned port;
    uint8_t  key[TERN_SIPHASH_KEY];
    uint64_t network; /* identifies the network interfaces of rank 0: tern_boot_relay_network_id(); 0: unknown */
    int      count;
    char     address[TERN_RELAY_ADDRESSES][TERN_RELAY_ADDRESS];
};

/* Decode the text of tern_boot_relay_listen(). This is a pure function. Returns false if the text is invalid. */
bool tern_boot_relay_target_decode(const char *text, struct tern_relay_target *target);

/* Return a number that is the same for all processes with the same network interfaces (node.h) and differs for others;
 * 0 if unknown. */
uint64_t tern_boot_relay_network_id(const uint8_t key[TERN_SIPHASH_KEY]);

/* Configure a socket to send short messages immediately and to detect a broken connection. Both sides call this. */
void tern_boot_relay_socket_tune(int fd);

/* Connect this node to the rank 0 that text describes. Loopback addresses are tried only if rank 0 has the same network
 * interfaces. A connection that breaks before both sides have authenticated themselves is retried. */
tern_status tern_boot_relay_connect(const char *text, int node, struct tern_relay_conn *line);
