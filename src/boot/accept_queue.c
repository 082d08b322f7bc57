/* accept_queue.c: the queue of clients that are not identified yet, and their eviction. See accept_queue.h. */
#include "boot/accept_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/poll_deadline.h"

#define ACCEPT_BATCH 64 /* connections accepted before the queued clients are read again */

void tern_boot_accept_remove(struct tern_accept_queue *queue, int i, bool do_close)
{
    size_t behind = (size_t)(queue->count - i);

    if (do_close)
        close(queue->fds[i].fd);
    memmove(&queue->fds[i], &queue->fds[i + 1], behind * sizeof(queue->fds[0]));
    memmove(&queue->client[i], &queue->client[i + 1], behind * sizeof(queue->client[0]));
    queue->count--;
}

/* While the queue has max clients or more (of source, unless that is NULL), evict the oldest of them, preferring
 * clients that have not sent a valid first message. The client is read once more, and stays if that made progress. */
static void make_room(struct tern_accept_queue *queue, const uint8_t *source, int max)
{
    for (;;) {
        int  found = 0, count = 0, before = queue->count;
        bool greeted;

        for (int i = queue->count; i > 0; i--)
            if (source == NULL || memcmp(queue->client[i].source, source, sizeof(queue->client[i].source)) == 0) {
                count++;
                if (found == 0 || !queue->client[i].greeted || queue->client[found].greeted)
                    found = i;
            }
        if (count < max)
            return;
        greeted = queue->client[found].greeted;
        queue->receive(queue, found);
        if (queue->count == before && queue->client[found].greeted == greeted)
            tern_boot_accept_remove(queue, found, true);
    }
}

static void add_client(struct tern_accept_queue *queue, int fd, const struct sockaddr *from)
{
    struct tern_accept_client client = { .greeted = false };

    if (!queue->admit(queue, fd, from, &client)) {
        close(fd);
        return;
    }
    make_room(queue, client.source, queue->max_per_source);
    make_room(queue, NULL, queue->max_clients);
    queue->fds[++queue->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
    queue->client[queue->count] = client;
    queue->receive(queue, queue->count);
}

/* Accept pending connections, at most ACCEPT_BATCH of them. Returns an error if there are no descriptors left and no
 * client to evict. */
static tern_status accept_connections(struct tern_accept_queue *queue)
{
    for (int i = 0; i < ACCEPT_BATCH && queue->missing > 0; i++) {
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        socklen_t               len = sizeof(from);
        int fd = accept4(queue->fds[0].fd, (struct sockaddr *)(void *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0)
            add_client(queue, fd, (struct sockaddr *)(void *)&from);
        else if (errno == EAGAIN)
            break;
        else if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
            continue;
        else if (queue->count > 0)
            make_room(queue, NULL, queue->count);
        else
            return tern_base_fail(TERN_ERR_SYSTEM, "cannot accept connections of the %d %s: %s; see 'ulimit -n'",
                                  queue->expected, queue->peers, strerror(errno));
    }
    return TERN_OK;
}

tern_status tern_boot_accept_all(struct tern_accept_queue *queue, int listen_fd)
{
    struct tern_poll_deadline deadline;
    tern_status               st = TERN_OK;

    queue->fds = calloc((size_t)queue->max_clients + 1, sizeof(*queue->fds));
    queue->client = calloc((size_t)queue->max_clients + 1, sizeof(*queue->client));
    if (queue->fds == NULL || queue->client == NULL) {
        free(queue->fds);
        free(queue->client);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to wait for the %d %s", queue->expected, queue->peers);
    }
    queue->fds[0] = (struct pollfd){ .fd = listen_fd, .events = POLLIN };
    tern_boot_poll_begin(&deadline, queue->what);
    while (st == TERN_OK && queue->missing > 0 &&
           (st = tern_boot_poll(&deadline, queue->fds, (nfds_t)queue->count + 1, INT64_MAX)) == TERN_OK) {
        for (int i = queue->count; i > 0; i--) /* downwards: removing a client shifts only the clients behind it */
            if (queue->fds[i].revents != 0)
                queue->receive(queue, i);
        if (queue->fds[0].revents != 0)
            st = accept_connections(queue);
    }
    while (queue->count > 0)
        tern_boot_accept_remove(queue, queue->count, true);
    free(queue->fds);
    free(queue->client);
    return st;
}
