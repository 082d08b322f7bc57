/* fd_pass.h: how the ranks of a node receive the descriptors of their arena if they cannot inherit them from a common
 * parent.
 *
 * Each rank listens on a unix socket with a random name, and publishes the name and a random key to all ranks of the
 * job. From what is published, all ranks know the lowest rank of each node, which is the host of that node. The other
 * ranks, the clients, connect to the host's socket, present the key, and wait. When all clients have connected, the
 * host creates the arena and sends its descriptors to each client.
 * */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "boot/node.h"

#define TERN_FD_PASS_KEY 16
#define TERN_FD_PASS_FDS 3 /* number of descriptors: arena, huge, tell; -1: there is none */

struct tern_fd_pass_address {
    uint64_t name;
    uint8_t  key[TERN_FD_PASS_KEY];
};

struct tern_fd_pass_client {
    int   rank;
    int   fd;          /* connection; -1: the client has not connected */
    pid_t pid;         /* as reported by the kernel */
    int   launcher_fd; /* descriptor of its connection to the launcher, which the client reports; -1: none */
};

/* Listen on a unix socket. *listen_fd is its descriptor; the caller must publish *address. */
tern_status tern_boot_fd_pass_open(int *listen_fd, struct tern_fd_pass_address *address);

/* Host: wait until all clients have connected. The caller sets rank in each element of clients; the function sets the
 * other fields, and adds the processors that the clients may use to cpus. Connections without the key, and from
 * unexpected ranks, are refused. On an error all clients are dismissed. */
tern_status tern_boot_fd_pass_accept(int listen_fd, const struct tern_fd_pass_address *address,
                                     struct tern_fd_pass_client *clients, int count, struct tern_cpus *cpus);

/* Host: send the descriptors in fds to all clients, or dismiss the clients if fds is NULL. Closes the connections.
 */
tern_status tern_boot_fd_pass_send(struct tern_fd_pass_client *clients, int count, const int *fds);

/* Client: connect as rank to the socket of the rank host, and receive the descriptors, which are close-on-exec.
 * launcher_fd is reported to the host. */
tern_status tern_boot_fd_pass_receive(const struct tern_fd_pass_address *address, int host, int rank, int launcher_fd,
                                      int fds[TERN_FD_PASS_FDS]);
