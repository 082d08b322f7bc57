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
    channel->seal_in = channel->seal_out = (struct tern_frame_mac){ .number = 0 };
    memcpy(channel->seal_in.key, keys->in, TERN_SIPHASH_KEY);
    memcpy(channel->seal_out.key, keys->out, TERN_SIPHASH_KEY);
}

/* Make space for len bytes after the content. Returns false if there is no memory. */
static bool buffer_grow(struct tern_frame_io_buffer *buffer, size_t len)
{
    size_t         size = buffer->size > 0 ? buffer->size : READ_BYTES;
    unsigned char *data;

    if (buffer->from > 0)
        memmove(buffer->data, buffer->data + buffer->from, buffer->len);
    buffer->from = 0;
    if (len <= buffer->size - buffer->len)
        return true;
    while (size - buffer->len < len)
        size *= 2;
    if ((data = realloc(buffer->data, size)) == NULL)
        return false;
    buffer->data = data;
    buffer->size = size;
    return true;
}

static bool buffer_add(struct tern_frame_io_buffer *buffer, const void *data, size_t len)
{
    if (len == 0)
        return true;
    if (buffer->size - buffer->from - buffer->len < len && !buffer_grow(buffer, len))
        return false;
    memcpy(buffer->data + buffer->from + buffer->len, data, len);
    buffer->len += len;
    return true;
}

static void buffer_take(struct tern_frame_io_buffer *buffer, size_t len)
{
    buffer->from += len;
    buffer->len -= len;
    if (buffer->len == 0)
        buffer->from = 0;
}

/* Append the tag of the frame of len bytes that is last in the send buffer. Returns false if there is no memory. */
static bool add_tag(struct tern_frame_io *channel, size_t len)
{
    static const unsigned char   zeros[TERN_FRAME_MAC_BYTES];
    struct tern_frame_io_buffer *put = &channel->put;

    if (!channel->is_sealed)
        return true;
    if (!buffer_add(put, zeros, sizeof(zeros)))
        return false;
    tern_boot_frame_mac_write(&channel->seal_out, put->data + put->from + put->len - sizeof(zeros) - len, len);
    return true;
}

void tern_boot_frame_io_send(struct tern_frame_io *channel, const struct tern_frame *frame)
{
    unsigned char head[TERN_FRAME_HEAD];

    if (channel->state != TERN_FRAME_IO_UP || channel->is_deaf)
        return;
    tern_boot_frame_encode(frame, head);
    if (buffer_add(&channel->put, head, sizeof(head)) && buffer_add(&channel->put, frame->body, frame->len) &&
        add_tag(channel, sizeof(head) + frame->len))
        tern_boot_frame_io_flush(channel);
    else
        channel->state = TERN_FRAME_IO_CLOSED;
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

size_t tern_boot_frame_io_backlog(const struct tern_frame_io *channel)
{
    return channel->put.len;
}

bool tern_boot_frame_io_fill(struct tern_frame_io *channel)
{
    struct tern_frame_io_buffer *get = &channel->get;
    ssize_t                      got;

    if (channel->state != TERN_FRAME_IO_UP)
        return false;
    if (get->size - get->from - get->len < READ_BYTES && !buffer_grow(get, READ_BYTES)) {
        channel->state = TERN_FRAME_IO_CLOSED;
        return false;
    }
    do
        got = read(channel->in, get->data + get->from + get->len, READ_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0)
        channel->state = TERN_FRAME_IO_CLOSED;
    else
        get->len += (size_t)got;
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
    case TERN_FRAME_IO_FOREIGN: return "is no frame of Tern";
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
