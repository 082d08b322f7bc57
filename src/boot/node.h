/* node.h: identifiers that tell whether two processes are on the same node, that is, can share memory; and which
 * processors of the node a process may use, and how many a group of processes may use together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#define TERN_CPUS_MOST 65536

/* One bit for each processor, in the order of the kernel's own masks. */
struct tern_cpus {
    _Alignas(8) uint8_t bits[TERN_CPUS_MOST / 8];
};

/* Set *cpus to the processors that this thread may use; to the empty set if the kernel does not report them. */
void tern_boot_cpus_own(struct tern_cpus *cpus);

/* Add the processors in the first len bytes of other. */
void tern_boot_cpus_add(struct tern_cpus *cpus, const uint8_t *other, size_t len);

/* Return the number of bytes up to the last byte that is not 0. */
size_t tern_boot_cpus_length(const struct tern_cpus *cpus);

/* Return the number of processors; at least 1. */
int tern_boot_cpus_count(const struct tern_cpus *cpus);
