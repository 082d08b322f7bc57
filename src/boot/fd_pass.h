/* fd_pass.h: how the ranks of a node get the descriptors of their arena where no common parent left them to be
 * inherited.
 *
 * Each rank opens a door, a unix socket with a random name, and makes it known to all ranks of the job with a random
 * key. Then it is clear which rank is the lowest of each node: it is the host there. The others, the guests, come to
 * its door, show the key, and wait. When all have come the host makes the arena and gives its descriptors to each.
 * */
#ifndef TERN_BOOT_FD_PASS_H
#define TERN_BOOT_FD_PASS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "boot/cpus.h"

#define TERN_FD_PASS_KEY 16
#define TERN_FD_PASS_FDS 3 /* descriptors: arena, huge, tell; -1: there is none */

struct tern_fd_pass_address {
    uint64_t name;
    uint8_t  key[TERN_FD_PASS_KEY];
};

struct tern_fd_pass_client {
    int   rank;
    int   fd;  /* -1: has not come */
    pid_t pid; /* by the kernel's word */
};

/* Open a door: *door is its descriptor, *address is to be made known. */
tern_status tern_boot_fd_pass_open(int *door, struct tern_fd_pass_address *address);

/* The host: wait for all guests. rank is set in each; fd and pid are filled in, and the processors that the guests may
 * use are added to cpus. Strangers, and ranks that are not expected, are turned away. On an error all are sent home. */
tern_status tern_boot_fd_pass_accept(int door, const struct tern_fd_pass_address *address,
                                     struct tern_fd_pass_client *guests, int count, struct tern_cpus *cpus);

/* The host: give the descriptors to all guests, or send them home where gifts is NULL. Closes the connections. */
tern_status tern_boot_fd_pass_send(struct tern_fd_pass_client *guests, int count, const int *gifts);

/* A guest: go to the door of the rank host, as rank, and take the descriptors, which are close-on-exec. */
tern_status tern_boot_fd_pass_receive(const struct tern_fd_pass_address *address, int host, int rank,
                                      int gifts[TERN_FD_PASS_FDS]);

#endif
