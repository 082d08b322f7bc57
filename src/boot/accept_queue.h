/* accept_queue.h: accepting the connections of expected peers, beside those of strangers.
 *
 * A client that has connected but has not been identified waits in a queue, oldest first. The server never blocks on
 * one client: it reads from any client that has sent data. The number of queued clients is limited, in total and for
 * each source address. When a limit is reached, the server evicts the oldest client that has not sent a valid first
 * message (from the same source address if that source has reached its limit), after trying to read from the client
 * once more. A genuine peer that is evicted anyway connects again. So a stranger that connects and sends nothing
 * neither blocks the server nor keeps the expected peers out.
 *
 * The owner of the queue embeds the struct as its first member. It decides which clients are admitted, and what
 * identifies them.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/status.h"
#include "boot/handshake.h"

struct tern_accept_client {
    uint8_t               source[16]; /* address of the client, as far as the client cannot choose it freely */
    bool                  greeted;    /* the client has sent a valid first message */
    struct tern_handshake greet;      /* for the owner */
};

struct tern_accept_queue {
    const char *what;                        /* what the server waits for, for the report of a long wait */
    const char *peers;                       /* "other nodes", for error texts */
    int         expected, missing;           /* number of expected peers, and of those not yet identified */
    int         max_clients, max_per_source; /* limits of the queue */
    /* Initialize a client that has connected from the address. Returns false if it is to be disconnected. */
    bool (*admit)(struct tern_accept_queue *queue, int fd, const struct sockaddr *from,
                  struct tern_accept_client *client);
    /* Read from client i without blocking. A client leaves the queue when it is identified, which decrements missing,
     * and when it sends invalid data or disconnects. */
    void (*receive)(struct tern_accept_queue *queue, int i);

    struct pollfd             *fds;    /* [0] is the listening socket, then [count] clients, oldest first */
    struct tern_accept_client *client; /* same index as fds; [0] is unused */
    int                        count;
};

/* Wait until no peer is missing. The fields before fds must be set, and the rest must be zero. Disconnects all clients
 * that are still in the queue.
 * Returns TERN_OK. TERN_ERR_TIMEOUT. TERN_ERR_NOMEM. TERN_ERR_SYSTEM: there are no descriptors left. */
tern_status tern_boot_accept_all(struct tern_accept_queue *queue, int listen_fd);

/* Remove client i from the queue, and close its connection if do_close is true. */
void tern_boot_accept_remove(struct tern_accept_queue *queue, int i, bool do_close);
