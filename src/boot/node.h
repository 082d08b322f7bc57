/* node.h: identifiers that tell whether two processes are on the same node, that is, can share memory. */
#ifndef TERN_BOOT_NODE_H
#define TERN_BOOT_NODE_H

#include <stdbool.h>

#include "base/status.h"

#define TERN_NODE_TEXT 128 /* bytes, with the terminating 0 */

/* Write the identity of this process's node: letters, digits and ". _ -" only. The option TERN_NODE sets the identity.
 * By default it consists of the running kernel and the namespaces through which descriptors and signals travel.
 * Returns TERN_OK. TERN_ERR_ARG: the value of TERN_NODE is invalid. */
tern_status tern_boot_node_identity(char text[TERN_NODE_TEXT]);

/* Write an identifier of the running kernel and this process's network namespace, regardless of TERN_NODE. Processes
 * with the same text have the same network interfaces, loopback included. Returns false if the system does not provide
 * the identifier; the process must then be assumed to share its interfaces with no other. */
bool tern_boot_node_network(char text[TERN_NODE_TEXT]);

#endif
