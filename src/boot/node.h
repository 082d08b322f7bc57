/* node.h: what tells whether two processes are on the same node, that is, can share memory. */
#ifndef TERN_BOOT_NODE_H
#define TERN_BOOT_NODE_H

#include <stdbool.h>

#include "base/status.h"

#define TERN_NODE_TEXT 128 /* bytes, with the closing 0 */

/* Write the identity of this process's node: letters, digits and ". _ -" only. The option TERN_NODE names it; without
 * that it is the running kernel and the namespaces through which descriptors and signals travel.
 * Returns TERN_OK. TERN_ERR_ARG: TERN_NODE cannot be used. */
tern_status tern_boot_node_identity(char text[TERN_NODE_TEXT]);

/* Write what names the running kernel and this process's network namespace, whatever TERN_NODE says: processes with the
 * same text have the same network interfaces, loopback included. False: the system does not tell, and then nothing is
 * known to be the same. */
bool tern_boot_node_network(char text[TERN_NODE_TEXT]);

#endif
