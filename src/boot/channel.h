/* channel.h: frames over a pair of pipes or a socket, without ever waiting.
 *
 * What is sent goes to a buffer and from there out as far as the other side takes it; what comes is gathered until it
 * is a frame. The owner polls the two descriptors. One thread at a time.
 *
 * A channel whose owner has given it keys is sealed: a tag (seal.h) follows every frame, and the first frame with a
 * wrong tag closes the channel. Connections between nodes under other launchers than ternrun are sealed. The pipes of
 * ternrun are not: they lead to a process of the same user on the same machine, ssh or another agent, which is trusted
 * to bring the bytes to the other machine unchanged.
 */
#ifndef TERN_BOOT_CHANNEL_H
#define TERN_BOOT_CHANNEL_H

#include <poll.h>
#include <stdbool.h>

#include "boot/frame.h"
#include "boot/seal.h"

/* Bytes in order: [from, from + len) of size. */
struct tern_channel_buffer {
    unsigned char *data;
    size_t         from, len, size;
};

enum tern_channel_state {
    TERN_CHANNEL_UP,
    TERN_CHANNEL_CLOSED,  /* the other side closed it, in order or by its death */
    TERN_CHANNEL_FOREIGN, /* what came is no frame: the first bytes of it are at the front of get */
    TERN_CHANNEL_FORGED   /* what came is a frame with a wrong tag */
};

/* The keys of a sealed channel, one for each direction. */
struct tern_channel_keys {
    uint8_t in[TERN_SIPHASH_KEY], out[TERN_SIPHASH_KEY];
};

struct tern_channel {
    int                        in, out; /* -1: none; the same for a socket */
    bool                       is_socket;
    bool                       takes_start; /* START may come */
    bool                       is_deaf;     /* the other side takes no more; what it said before may still come */
    bool                       is_sealed;
    enum tern_channel_state    state;
    struct tern_seal           seal_in, seal_out;
    struct tern_channel_buffer get, put;
};

/* Take over the descriptors, which are made not to block. */
void tern_boot_channel_open(struct tern_channel *channel, int in, int out);
void tern_boot_channel_close(struct tern_channel *channel);

/* Seal the channel, before the first frame; the other side does the same with the keys exchanged. */
void tern_boot_channel_seal(struct tern_channel *channel, const struct tern_channel_keys *keys);

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

/* What is wrong with what came, as the end of a sentence; NULL: nothing. Asked when there is no next frame. */
const char *tern_boot_channel_fault(const struct tern_channel *channel);

/* What to poll for; returns the number of entries, at most 2. */
size_t tern_boot_channel_poll(const struct tern_channel *channel, struct pollfd *fds);

#endif
