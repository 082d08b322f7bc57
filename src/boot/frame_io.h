/* frame_io.h: nonblocking exchange of frames over a pair of pipes or a socket.
 *
 * Outgoing frames are buffered and written as far as the peer accepts them. Incoming bytes are buffered until they form
 * a frame. The owner polls the two descriptors. Only one thread at a time may use a channel.
 *
 * A channel with keys is sealed: a tag (frame.h) follows every frame, and the first frame with a wrong tag closes
 * the channel. Connections between nodes under launchers other than ternrun are sealed. The pipes of ternrun are not:
 * they lead to a process of the same user on the same machine, ssh or another agent, which is trusted to transport the
 * bytes to the other machine unchanged.
 * */
#pragma once

#include <poll.h>
#include <stdbool.h>

#include "boot/frame.h"

/* A buffer whose bytes [from, from + len) are in use. size is its capacity. */
struct tern_frame_io_buffer {
    unsigned char *data;
    size_t         from, len, size;
};

enum tern_frame_io_state {
    TERN_FRAME_IO_UP,
    TERN_FRAME_IO_CLOSED,  /* the peer closed the channel, or died */
    TERN_FRAME_IO_FOREIGN, /* the received bytes, which are at the front of get, are not a frame */
    TERN_FRAME_IO_FORGED   /* a frame with a wrong tag was received */
};

/* The keys of a sealed channel, one for each direction. */
struct tern_frame_io_keys {
    uint8_t in[TERN_SIPHASH_KEY], out[TERN_SIPHASH_KEY];
};

struct tern_frame_io {
    int                         in, out; /* descriptors; -1: none. Both are the same for a socket */
    bool                        is_socket;
    bool                        takes_start; /* the channel may receive START and BRANCH */
    bool                        is_deaf;     /* the peer accepts no more bytes; its earlier frames may still arrive */
    bool                        is_sealed;
    enum tern_frame_io_state    state;
    struct tern_frame_mac       seal_in, seal_out;
    struct tern_frame_io_buffer get, put; /* put.len is the backlog, the number of queued bytes */
};

/* Open a channel, which then owns the descriptors and makes them nonblocking. Close a channel and its descriptors. */
void tern_boot_frame_io_open(struct tern_frame_io *channel, int in, int out);
void tern_boot_frame_io_close(struct tern_frame_io *channel);

/* Seal the channel. Call this before the first frame. The peer seals its side with the two keys swapped. */
void tern_boot_frame_io_seal(struct tern_frame_io *channel, const struct tern_frame_io_keys *keys);

/* Queue a frame, and write as much as possible without blocking. If there is no memory, the channel becomes CLOSED. A
 * channel that is not UP drops the frame. */
void tern_boot_frame_io_send(struct tern_frame_io *channel, const struct tern_frame *frame);

/* Write as many queued bytes as possible without blocking. */
void tern_boot_frame_io_flush(struct tern_frame_io *channel);

/* Read the available bytes without blocking. Returns whether there were any. */
bool tern_boot_frame_io_fill(struct tern_frame_io *channel);

/* Remove the next frame from the bytes that have been read. Its body is valid until the next call for the channel.
 * Returns false if there is no complete frame. Frames that arrived before the channel was closed are still returned. */
bool tern_boot_frame_io_next(struct tern_frame_io *channel, struct tern_frame *frame);

/* Return what is wrong with the received bytes, as the end of a sentence; NULL if nothing is. Call this when there is
 * no next frame. */
const char *tern_boot_frame_io_fault(const struct tern_frame_io *channel);

/* Fill fds with the descriptors and events to poll for. Returns the number of entries, at most 2. */
size_t tern_boot_frame_io_poll(const struct tern_frame_io *channel, struct pollfd *fds);
