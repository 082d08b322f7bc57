/* channel.h: frames over a pair of pipes or a socket, without ever waiting.
 *
 * What is sent goes to a buffer and from there out as far as the other side takes it; what comes is gathered until it
 * is a frame. The owner polls the two descriptors. One thread at a time.
 */
#ifndef TERN_BOOT_CHANNEL_H
#define TERN_BOOT_CHANNEL_H

#include <poll.h>
#include <stdbool.h>

#include "boot/frame.h"

/* Bytes in order: [from, from + len) of size. */
struct tern_channel_buffer {
    unsigned char *data;
    size_t         from, len, size;
};

enum tern_channel_state {
    TERN_CHANNEL_UP,
    TERN_CHANNEL_CLOSED, /* the other side closed it, in order or by its death */
    TERN_CHANNEL_FOREIGN /* what came is no frame: the first bytes of it are at the front of get */
};

struct tern_channel {
    int                        in, out; /* -1: none; the same for a socket */
    bool                       is_socket;
    bool                       takes_start; /* START may come */
    bool                       is_deaf;     /* the other side takes no more; what it said before may still come */
    enum tern_channel_state    state;
    struct tern_channel_buffer get, put;
};

/* Take over the descriptors, which are made not to block. */
void tern_boot_channel_open(struct tern_channel *channel, int in, int out);
void tern_boot_channel_close(struct tern_channel *channel);

/* Queue a frame, and send what can be sent. Without memory for it the channel is CLOSED; one that is not UP takes
 * nothing. */
void tern_boot_channel_send(struct tern_channel *channel, const struct tern_frame *frame);

/* Send what can be sent. */
void tern_boot_channel_flush(struct tern_channel *channel);

/* Bytes that wait to be sent. */
size_t tern_boot_channel_backlog(const struct tern_channel *channel);

/* Read what has come, without waiting. Returns whether anything has. */
bool tern_boot_channel_fill(struct tern_channel *channel);

/* Take the next frame off what has been read; its body is good until the next call for the channel. False: there is no
 * whole one. Frames that came before the channel was closed are still given. */
bool tern_boot_channel_next(struct tern_channel *channel, struct tern_frame *frame);

/* What to poll for; returns the number of entries, at most 2. */
size_t tern_boot_channel_poll(const struct tern_channel *channel, struct pollfd *fds);

#endif
