/* output.c: writes the lines of the ranks one after the other, never splitting one.
 *
 * The standard output and standard error of each rank are streams; those of ternrun are the sinks. A stream is read
 * into a buffer that holds one line of maximum length. Complete lines go to the sink's buffer and are written from
 * there without blocking. While a sink does not accept data, its buffer is not filled further and its streams are not
 * read. This back-pressure finally blocks the rank, while ternrun itself never blocks. On a terminal, an unfinished
 * line (which may be a prompt) is shown after a moment, and ended by a newline when another stream has to write.
 *
 * A stream may come from a remote host instead. Flow control is by credits: the host sends no more than the head has
 * space for, and the head returns credit for what it has consumed. On that host, a node, streams have no sink: the data
 * that is read is sent to the head unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

#define SINK_BYTES (4 * LINE_BYTES)
#define SAY_BYTES 16384                 /* additional space for ternrun's own lines, which grows */
#define SAY_MAX (32u << 20)             /* up to this size of the buffer */
#define SHOW_IDLE_NS (200 * NS_PER_MS)  /* an unfinished line is shown when it has not grown for this long, */
#define SHOW_RETURN_NS (50 * NS_PER_MS) /* or, with a carriage return (progress bars), this long after it began */

static struct run_sink *say_sink; /* where run_say writes while there is output; NULL: directly to standard error */
static struct run_up   *say_up;   /* on a node, where run_say sends its text */

/* ---- sinks ---- */

/* Set up writing without blocking. Pipes and terminals are opened a second time, so that O_NONBLOCK does not affect the
 * descriptor that other processes share. */
static void sink_open(struct run_sink *sink, int fd)
{
    char        path[32];
    struct stat about;
    int         again;

    sink->fd = fd;
    if (fstat(fd, &about) != 0 || S_ISREG(about.st_mode)) {
        sink->piece = SIZE_MAX; /* regular files never block */
        return;
    }
    sink->is_socket = S_ISSOCK(about.st_mode);
    sink->piece = 4096; /* a pipe that is writable takes at least this much */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = sink->is_socket ? -1 : open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again >= 0) {
        sink->fd = again;
        sink->piece = SIZE_MAX;
    }
}

static bool sink_start(struct run_sink *sink, int fd)
{
    *sink = (struct run_sink){ .is_tty = isatty(fd) };
    sink->size = SINK_BYTES + SAY_BYTES;
    sink->data = malloc(sink->size);
    sink_open(sink, fd);
    return sink->data != NULL;
}

/* Write without blocking. Returns like write(2). */
static ssize_t sink_write(const struct run_sink *sink, const char *data, size_t len)
{
    struct pollfd space = { .fd = sink->fd, .events = POLLOUT };

    if (sink->is_socket)
        return send(sink->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sink->piece != SIZE_MAX && poll(&space, 1, 0) == 0)
        return errno = EAGAIN, -1;
    return write(sink->fd, data, len < sink->piece ? len : sink->piece);
}

static void sink_flush(struct run_sink *sink)
{
    while (sink->len > 0 && !sink->is_broken) {
        ssize_t sent = sink_write(sink, sink->data + sink->from, sink->len);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0) {
            sink->error = errno;
            sink->is_broken = true;
            return;
        }
        sink->from += (size_t)sent;
        sink->len -= (size_t)sent;
    }
    sink->from = 0;
    if (sink->is_broken)
        sink->len = 0;
}

static void sink_append(struct run_sink *sink, const char *data, size_t len)
{
    memcpy(sink->data + sink->from + sink->len, data, len);
    sink->len += len;
}

/* Make the free space contiguous. Returns whether len more bytes fit below limit. */
static bool sink_has_room(struct run_sink *sink, size_t len, size_t limit)
{
    if (sink->from > 0)
        memmove(sink->data, sink->data + sink->from, sink->len);
    sink->from = 0;
    return sink->len <= limit && len <= limit - sink->len;
}

/* Make space for len more bytes of ternrun's own lines, of which there are as many as ranks. Returns false if that is
 * impossible. The data begins at the start of the buffer. */
static bool sink_grow(struct run_sink *sink, size_t len)
{
    size_t size = sink->size;
    char  *data;

    while (size - sink->len < len && size < SAY_MAX)
        size *= 2;
    data = size - sink->len < len ? NULL : realloc(sink->data, size);
    if (data == NULL)
        return false;
    sink->data = data;
    sink->size = size;
    return true;
}

/* Add a line, or a part of one, of a stream (NULL: ternrun's own). Returns false if there is no space now. */
static bool sink_add(struct run_sink *sink, struct run_stream *stream, const char *prefix, const char *data, size_t len)
{
    bool   closes = sink->open != NULL && sink->open != stream;
    bool   continues = sink->open != NULL && sink->open == stream;
    size_t prefix_len = continues ? 0 : strlen(prefix);

    if (sink->is_broken)
        return true; /* discarded */
    if (!sink_has_room(sink, closes + prefix_len + len, stream != NULL ? SINK_BYTES : sink->size) &&
        (stream != NULL || !sink_grow(sink, closes + prefix_len + len)))
        return false;
    if (closes)
        sink_append(sink, "\n", 1);
    sink_append(sink, prefix, prefix_len);
    sink_append(sink, data, len);
    sink->open = data[len - 1] == '\n' ? NULL : stream;
    return true;
}

/* ---- streams ---- */

/* Give the complete lines to the sink, or everything if all is set. */
static void stream_pass(const struct run_output *output, struct run_stream *stream, bool all)
{
    char   prefix[32] = "";
    size_t done = 0;

    if (output->label)
        snprintf(prefix, sizeof(prefix), "[%d] ", stream->rank);
    while (done < stream->len) {
        const char *from = stream->data + done;
        const char *end = memchr(from, '\n', stream->len - done);
        size_t      len = end != NULL ? (size_t)(end - from) + 1 : stream->len - done;

        if (end == NULL && !all && len < LINE_BYTES)
            break;
        if (!sink_add(stream->sink, stream, prefix, from, len))
            break;
        done += len;
    }
    stream->len -= done;
    if (done > 0 && stream->len > 0) {
        memmove(stream->data, stream->data + done, stream->len);
        stream->first = stream->last;
    }
}

static void stream_end(const struct run_output *output, struct run_stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
    stream->is_remote = false;
    if (output->label && stream->len > 0 && stream->len < LINE_BYTES && stream->data[stream->len - 1] != '\n')
        stream->data[stream->len++] = '\n';
}

static bool stream_is_open(const struct run_stream *stream)
{
    return stream->fd >= 0 || stream->is_remote;
}

/* Account for len bytes that were appended to the buffer. */
static void stream_grow(struct run_output *output, struct run_stream *stream, size_t len)
{
    output->has_moved = true;
    if (output->record.file != NULL)
        run_record_write(&output->record, stream->rank, stream->which, stream->data + stream->len, len);
    if (output->record.file != NULL && !output->label)
        return; /* the file is the only destination */
    stream->last = tern_base_now();
    if (stream->len == 0)
        stream->first = stream->last;
    stream->len += len;
}

static void stream_read(struct run_output *output, struct run_stream *stream)
{
    size_t  space = output->up != NULL && stream->credit < LINE_BYTES ? stream->credit : LINE_BYTES - stream->len;
    ssize_t got;

    do
        got = read(stream->fd, stream->data + stream->len, space);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) /* end of file; a pseudo-terminal reports it as EIO */
        stream_end(output, stream);
    else
        stream_grow(output, stream, (size_t)got);
    if (output->up == NULL)
        return;
    run_up_output(output->up, stream); /* an empty frame means the end */
    stream->credit -= stream->len;
    stream->len = 0;
}

/* Return whether the stream may be read: its sink or the head keeps up. */
static bool stream_is_due(const struct run_output *output, const struct run_stream *stream)
{
    if (output->up != NULL)
        return stream->fd >= 0 && stream->credit > 0 && run_up_has_room(output->up);
    return stream->fd >= 0 && stream->len < LINE_BYTES && stream->sink->len < LINE_BYTES;
}

/* Return the time at which an unfinished line has to be shown. */
static int64_t stream_show_at(const struct run_stream *stream)
{
    if (stream->sink == NULL || !stream->sink->is_tty || stream->len == 0 || stream->sink->len >= LINE_BYTES)
        return NEVER;
    if (memchr(stream->data, '\r', stream->len) != NULL)
        return stream->first + SHOW_RETURN_NS;
    return stream->last + SHOW_IDLE_NS;
}

/* ---- all streams ---- */

static bool same_file(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool run_output_start(struct run_output *output, int ranks, bool label, struct run_up *up)
{
    *output = (struct run_output){ .label = label, .up = up };
    output->stream = calloc((size_t)ranks * 2, sizeof(output->stream[0]));
    if (output->stream == NULL)
        return false;
    if (up != NULL)
        return true;
    if (!sink_start(&output->sink[0], STDOUT_FILENO))
        return false;
    output->out = output->err = &output->sink[0];
    if (!same_file(STDOUT_FILENO, STDERR_FILENO)) {
        if (!sink_start(&output->sink[1], STDERR_FILENO))
            return false;
        output->err = &output->sink[1];
    }
    say_sink = output->err;
    return true;
}

void run_output_add(struct run_output *output, int rank, int which, int fd)
{
    struct run_stream *stream = &output->stream[output->streams++];

    *stream = (struct run_stream){ .fd = fd, .is_remote = fd < 0, .rank = rank, .which = which };
    stream->sink = which == STDOUT_FILENO ? output->out : output->err;
    stream->credit = output->up != NULL ? LINE_BYTES : 0;
    stream->data = malloc(LINE_BYTES);
    if (stream->data != NULL)
        return;
    run_say("no memory for the output of rank %d, which is lost", rank);
    stream_end(output, stream);
}

/* Return the stream of that file of the rank, or NULL if there is none. All ranks have both streams, in rank order. */
static struct run_stream *find(struct run_output *output, int64_t rank, int which)
{
    int64_t at = output->streams == 0 ? -1 : 2 * (rank - output->stream[0].rank) + which - 1;

    if (at < 0 || at >= output->streams || output->stream[at].rank != rank || output->stream[at].which != which)
        return NULL;
    return &output->stream[at];
}

bool run_output_feed(struct run_output *output, int64_t rank, int which, const void *data, size_t len)
{
    struct run_stream *stream = find(output, rank, which);

    if (stream == NULL || len > LINE_BYTES - stream->len)
        return false;
    if (!stream->is_remote)
        return stream->data == NULL; /* true if its buffer could not be allocated: the data is dropped */
    if (len == 0) {
        stream_end(output, stream);
        return true;
    }
    memcpy(stream->data + stream->len, data, len);
    stream_grow(output, stream, len);
    stream->credit += len;
    return true;
}

bool run_output_credit(struct run_output *output, int64_t rank, int which, size_t bytes)
{
    struct run_stream *stream = find(output, rank, which);

    if (stream == NULL || bytes > LINE_BYTES - stream->credit)
        return false;
    stream->credit += bytes;
    return true;
}

size_t run_output_taken(struct run_stream *stream)
{
    size_t taken = stream->credit > stream->len ? stream->credit - stream->len : 0;

    if (taken < LINE_BYTES / 4 && stream->len > 0)
        return 0; /* too little for a frame yet */
    stream->credit -= taken;
    return taken;
}

size_t run_output_poll(struct run_output *output, struct pollfd *fds)
{
    size_t count = 0;

    for (int i = 0; i < 2; i++)
        if (output->sink[i].len > 0)
            fds[count++] = (struct pollfd){ .fd = output->sink[i].fd, .events = POLLOUT };
    for (int i = 0; i < output->streams; i++)
        if (stream_is_due(output, &output->stream[i]))
            fds[count++] = (struct pollfd){ .fd = output->stream[i].fd, .events = POLLIN };
    return count;
}

void run_output_serve(struct run_output *output)
{
    int64_t now = tern_base_now();

    sink_flush(&output->sink[0]);
    sink_flush(&output->sink[1]);
    for (int i = 0; i < output->streams; i++) {
        struct run_stream *stream = &output->stream[(output->turn + i) % output->streams];

        if (stream_is_due(output, stream)) /* none of these descriptors blocks */
            stream_read(output, stream);
        if (stream->len > 0)
            stream_pass(output, stream, !stream_is_open(stream) || stream_show_at(stream) <= now);
    }
    output->turn = output->streams > 0 ? (output->turn + 1) % output->streams : 0; /* round robin */
    sink_flush(&output->sink[0]);
    sink_flush(&output->sink[1]);
}

void run_output_resize(const struct run_output *output, const struct winsize *window)
{
    for (int i = 0; i < output->streams; i++)
        if (output->stream[i].fd >= 0)
            ioctl(output->stream[i].fd, TIOCSWINSZ, window); /* fails for a pipe, which has no size */
}

int64_t run_output_deadline(const struct run_output *output)
{
    int64_t first = NEVER;

    for (int i = 0; i < output->streams; i++) {
        int64_t at = stream_show_at(&output->stream[i]);
        first = at < first ? at : first;
    }
    return first;
}

bool run_output_at_end(const struct run_output *output)
{
    for (int i = 0; i < output->streams; i++)
        if (stream_is_open(&output->stream[i]))
            return false;
    return true;
}

bool run_output_is_moving(struct run_output *output)
{
    bool moving = output->has_moved;

    output->has_moved = false;
    for (int i = 0; i < output->streams && !moving; i++)
        moving = output->stream[i].fd >= 0 && !stream_is_due(output, &output->stream[i]);
    return moving;
}

void run_output_end(struct run_output *output)
{
    for (int i = 0; i < output->streams; i++)
        if (stream_is_open(&output->stream[i]))
            stream_end(output, &output->stream[i]);
}

bool run_output_flushed(const struct run_output *output)
{
    for (int i = 0; i < output->streams; i++)
        if (output->stream[i].len > 0 && !output->stream[i].sink->is_broken) /* on a node the streams are empty */
            return false;
    return output->up != NULL ? run_up_flushed(output->up) : output->sink[0].len == 0 && output->sink[1].len == 0;
}

void run_output_free(struct run_output *output)
{
    run_record_end(&output->record);
    say_sink = NULL;
    for (int i = 0; i < output->streams; i++) {
        if (output->stream[i].fd >= 0)
            close(output->stream[i].fd);
        free(output->stream[i].data);
    }
    free(output->stream);
    free(output->sink[0].data);
    free(output->sink[1].data);
}

void run_output_say_to(struct run_up *up)
{
    say_up = up;
}

void run_say(const char *format, ...)
{
    char    line[1024] = "ternrun: ";
    size_t  len = strlen(line);
    va_list args;

    va_start(args, format);
    vsnprintf(line + len, sizeof(line) - 1 - len, format, args);
    va_end(args);
    len = strlen(line);
    if (say_up != NULL) {
        run_up_say(say_up, line + strlen("ternrun: "));
        return;
    }
    line[len++] = '\n';
    if (say_sink != NULL) {
        sink_add(say_sink, NULL, "", line, len);
        sink_flush(say_sink);
    } else if (write(STDERR_FILENO, line, len) < 0) {
        return; /* there is no other place to report it */
    }
}
