/* frame_io.h: frames over a pair of pipes or a socket, without ever waiting.
 *
 * What is sent goes to a buffer and from there out as far as the other side takes it; what comes is gathered until
 * it is a frame. The owner polls the two descriptors. One thread at a time.
 *
 * A channel whose owner has given it keys is sealed: a tag (frame_mac.h) follows every frame, and the first frame
 * with a wrong tag closes the channel. Connections between nodes under other launchers than ternrun are sealed. The
 * pipes of ternrun are not: they lead to a process of the same user on the same machine, ssh or another agent, which
 * is trusted to bring the bytes to the other machine unchanged.
 * */
#ifndef TERN_BOOT_FRAME_IO_H
#define TERN_BOOT_FRAME_IO_H

#include <poll.h>
#include <stdbool.h>

#include "boot/frame.h"
#include "boot/frame_mac.h"

/* Bytes in order: [from, from + len) of size. */
struct tern_frame_io_buffer {
    unsigned char *data;
    size_t         from, len, size;
};

enum tern_frame_io_state {
    TERN_FRAME_IO_UP,
    TERN_FRAME_IO_CLOSED,  /* the other side closed it, in order or by its death */
    TERN_FRAME_IO_FOREIGN, /* what came is no frame: the first bytes of it are at the front of get */
    TERN_FRAME_IO_FORGED   /* what came is a frame with a wrong tag */
};

/* The keys of a sealed channel, one for each direction. */
struct tern_frame_io_keys {
    uint8_t in[TERN_SIPHASH_KEY], out[TERN_SIPHASH_KEY];
};

struct tern_frame_io {
    int                         in, out; /* -1: none; the same for a socket */
    bool                        is_socket;
    bool                        takes_start; /* START may come */
    bool                        is_deaf;     /* the other side takes no more; what it said before may still come */
    bool                        is_sealed;
    enum tern_frame_io_state    state;
    struct tern_frame_mac       seal_in, seal_out;
    struct tern_frame_io_buffer get, put;
};

/* Take over the descriptors, which are made not to block. */
void tern_boot_frame_io_open(struct tern_frame_io *channel, int in, int out);
void tern_boot_frame_io_close(struct tern_frame_io *channel);

/* Seal the channel, before the first frame; the other side does the same with the keys exchanged. */
void tern_boot_frame_io_seal(struct tern_frame_io *channel, const struct tern_frame_io_keys *keys);

/* Queue a frame, and send what can be sent. Without memory for it the channel is CLOSED; one that is not UP takes
 * nothing. */
void tern_boot_frame_io_send(struct tern_frame_io *channel, const struct tern_frame *frame);

/* Send what can be sent. */
void tern_boot_frame_io_flush(struct tern_frame_io *channel);

/* Bytes that wait to be sent. */
size_t tern_boot_frame_io_backlog(const struct tern_frame_io *channel);

/* Read what has come, without waiting. Returns whether anything has. */
bool tern_boot_frame_io_fill(struct tern_frame_io *channel);

/* Take the next frame off what has been read; its body is good until the next call for the channel. False: there is no
 * whole one. Frames that came before the channel was closed are still given. */
bool tern_boot_frame_io_next(struct tern_frame_io *channel, struct tern_frame *frame);

/* What is wrong with what came, as the end of a sentence; NULL: nothing. Asked when there is no next frame. */
const char *tern_boot_frame_io_fault(const struct tern_frame_io *channel);

/* What to poll for; returns the number of entries, at most 2. */
size_t tern_boot_frame_io_poll(const struct tern_frame_io *channel, struct pollfd *fds);

#endif
