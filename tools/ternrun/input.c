/* input.c: forwards standard input to rank 0.
 *
 * On one host, only a terminal has to be forwarded: the ranks are in their own process groups and cannot read it
 * themselves. Rank 0 inherits any other standard input. ternrun reads a terminal only while it is in the foreground,
 * because a read from the background would stop it. On a node, the input comes from the head, which sends no more than
 * there is space for here (flow control by credits).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ternrun.h"

#define RETRY_NS (500 * NS_PER_MS)

bool run_input_may_read(void)
{
    return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void stop(struct run_input *input)
{
    close(input->to);
    input->to = -1;
}

size_t run_input_poll(struct run_input *input, struct pollfd *fds)
{
    if (input->to < 0)
        return 0;
    /* The pipe is always polled, because rank 0 may close its end. */
    fds[0] = (struct pollfd){ .fd = input->to, .events = input->len > 0 ? POLLOUT : 0 };
    if (input->is_fed || input->len > 0 || tern_base_now() < input->retry_at)
        return 1;
    fds[1] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
    return 2;
}

static void fill(struct run_input *input)
{
    struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
    ssize_t       got;

    if (poll(&ready, 1, 0) <= 0)
        return;
    if (!run_input_may_read()) {
        input->retry_at = tern_base_now() + RETRY_NS;
        return;
    }
    got = read(STDIN_FILENO, input->data, sizeof(input->data));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        stop(input); /* end of file, for example control-D, or the terminal is gone */
        return;
    }
    input->from = 0;
    input->len = (size_t)got;
}

static void drain(struct run_input *input)
{
    ssize_t sent = write(input->to, input->data + input->from, input->len);

    if (sent < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (sent < 0) {
        stop(input); /* rank 0 does not read any more */
        return;
    }
    input->from += (size_t)sent;
    input->len -= (size_t)sent;
    input->taken += (size_t)sent;
    if (input->len == 0 && input->is_ended)
        stop(input);
}

bool run_input_feed(struct run_input *input, const void *data, size_t len)
{
    if (len > INPUT_BYTES - input->len)
        return false;
    if (input->to < 0)
        return true; /* rank 0 does not read any more */
    memmove(input->data, input->data + input->from, input->len);
    input->from = 0;
    memcpy(input->data + input->len, data, len);
    input->len += len;
    input->is_ended = len == 0;
    if (input->len == 0 && input->is_ended)
        stop(input);
    return true;
}

void run_input_serve(struct run_input *input)
{
    struct pollfd rank = { .fd = input->to };

    if (input->to < 0)
        return;
    if (poll(&rank, 1, 0) > 0 && (rank.revents & POLLERR) != 0)
        stop(input);
    if (input->to >= 0 && !input->is_fed && input->len == 0 && tern_base_now() >= input->retry_at)
        fill(input);
    if (input->to >= 0 && input->len > 0)
        drain(input);
}

int64_t run_input_deadline(const struct run_input *input)
{
    return input->to >= 0 && !input->is_fed && input->len == 0 && tern_base_now() < input->retry_at ? input->retry_at
                                                                                                    : NEVER;
}
