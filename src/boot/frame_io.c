/* frame_io.c: buffered reading and writing of frames over two descriptors.
 *
 * Buffers grow as needed: the receive buffer up to the longest frame that is allowed, the send buffer as far as its
 * owner permits (by credits and by checking the backlog). Writing to a socket never raises SIGPIPE; an owner that uses
 * pipes must ignore SIGPIPE.
 */
#include "boot/frame_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536u /* bytes per read */

void tern_boot_frame_io_open(struct tern_frame_io *channel, int in, int out)
{
    struct stat about;

    *channel = (struct tern_frame_io){ .in = in, .out = out, .state = TERN_FRAME_IO_UP };
    channel->is_socket = fstat(out, &about) == 0 && S_ISSOCK(about.st_mode);
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
}

void tern_boot_frame_io_close(struct tern_frame_io *channel)
{
    if (channel->in >= 0)
        close(channel->in);
    if (channel->out >= 0 && channel->out != channel->in)
        close(channel->out);
    free(channel->get.data);
    free(channel->put.data);
    *channel = (struct tern_frame_io){ .in = -1, .out = -1, .state = TERN_FRAME_IO_CLOSED };
}

void tern_boot_frame_io_seal(struct tern_frame_io *channel, const struct tern_frame_io_keys *keys)
{
    channel->is_sealed = true;
    memcpy(channel->seal_in.key, keys->in, TERN_SIPHASH_KEY);
    memcpy(channel->seal_out.key, keys->out, TERN_SIPHASH_KEY);
}

/* Return the address of len free bytes behind the content; NULL if there is no memory. */
static unsigned char *buffer_space(struct tern_frame_io_buffer *buffer, size_t len)
{
    size_t         size = buffer->size > 0 ? buffer->size : READ_BYTES;
    unsigned char *data;

    if (buffer->size - buffer->from - buffer->len >= len)
        return buffer->data + buffer->from + buffer->len;
    if (buffer->from > 0)
        memmove(buffer->data, buffer->data + buffer->from, buffer->len);
    buffer->from = 0;
    while (size - buffer->len < len)
        size *= 2;
    if (size > buffer->size) {
        if ((data = realloc(buffer->data, size)) == NULL)
            return NULL;
        buffer->data = data;
        buffer->size = size;
    }
    return buffer->data + buffer->len;
}

static void buffer_take(struct tern_frame_io_buffer *buffer, size_t len)
{
    buffer->from += len;
    buffer->len -= len;
    if (buffer->len == 0)
        buffer->from = 0;
}

void tern_boot_frame_io_send(struct tern_frame_io *channel, const struct tern_frame *frame)
{
    size_t         len = TERN_FRAME_HEAD + (size_t)frame->len, tag = channel->is_sealed ? TERN_FRAME_MAC_BYTES : 0;
    unsigned char *bytes;

    if (channel->state != TERN_FRAME_IO_UP || channel->is_deaf)
        return;
    if ((bytes = buffer_space(&channel->put, len + tag)) == NULL) {
        channel->state = TERN_FRAME_IO_CLOSED;
        return;
    }
    tern_boot_frame_encode(frame, bytes);
    if (frame->len > 0)
        memcpy(bytes + TERN_FRAME_HEAD, frame->body, frame->len);
    if (channel->is_sealed)
        tern_boot_frame_mac_write(&channel->seal_out, bytes, len);
    channel->put.len += len + tag;
    tern_boot_frame_io_flush(channel);
}

void tern_boot_frame_io_flush(struct tern_frame_io *channel)
{
    struct tern_frame_io_buffer *put = &channel->put;

    while (put->len > 0 && !channel->is_deaf) {
        const unsigned char *data = put->data + put->from;
        ssize_t              sent = channel->is_socket ? send(channel->out, data, put->len, MSG_DONTWAIT | MSG_NOSIGNAL)
                                                       : write(channel->out, data, put->len);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        channel->is_deaf = sent < 0;
        buffer_take(put, sent < 0 ? put->len : (size_t)sent);
    }
}

bool tern_boot_frame_io_fill(struct tern_frame_io *channel)
{
    unsigned char *space;
    ssize_t        got;

    if (channel->state != TERN_FRAME_IO_UP)
        return false;
    space = buffer_space(&channel->get, READ_BYTES);
    do
        got = space != NULL ? read(channel->in, space, READ_BYTES) : 0;
    while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        channel->state = TERN_FRAME_IO_CLOSED;
    channel->get.len += got > 0 ? (size_t)got : 0;
    return got > 0;
}

bool tern_boot_frame_io_next(struct tern_frame_io *channel, struct tern_frame *frame)
{
    struct tern_frame_io_buffer *get = &channel->get;
    size_t                       used, tag = channel->is_sealed ? TERN_FRAME_MAC_BYTES : 0;

    if (channel->state == TERN_FRAME_IO_FOREIGN || channel->state == TERN_FRAME_IO_FORGED || get->len == 0)
        return false;
    used = tern_boot_frame_decode(get->data + get->from, get->len, channel->takes_start, frame);
    if (used == TERN_FRAME_BAD)
        channel->state = TERN_FRAME_IO_FOREIGN;
    if (used == TERN_FRAME_BAD || used == TERN_FRAME_SHORT || get->len - used < tag)
        return false;
    if (channel->is_sealed && !tern_boot_frame_mac_check(&channel->seal_in, get->data + get->from, used)) {
        channel->state = TERN_FRAME_IO_FORGED;
        return false;
    }
    used += tag;
    get->from += used; /* not buffer_take(): the body must stay in place until the next call */
    get->len -= used;
    return true;
}

const char *tern_boot_frame_io_fault(const struct tern_frame_io *channel)
{
    switch (channel->state) {
    case TERN_FRAME_IO_FOREIGN: return "is not a frame of Tern";
    case TERN_FRAME_IO_FORGED: return "was changed, repeated, left out or made up on its way: a frame has a wrong tag";
    case TERN_FRAME_IO_CLOSED: return channel->get.len > 0 ? "ends in the middle of a frame" : NULL;
    default: return NULL;
    }
}

size_t tern_boot_frame_io_poll(const struct tern_frame_io *channel, struct pollfd *fds)
{
    short out = channel->put.len > 0 ? POLLOUT : 0;

    if (channel->state != TERN_FRAME_IO_UP)
        return 0;
    fds[0] = (struct pollfd){ .fd = channel->in, .events = POLLIN };
    fds[1] = (struct pollfd){ .fd = channel->out, .events = out };
    return out != 0 ? 2 : 1;
}
