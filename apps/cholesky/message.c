/* message.c: tiles by messages. The receiver must probe for the tag of a message before it knows the receive buffer. */
#include <stdlib.h>

#include "cholesky/cholesky.h"
#include "common/app.h"
#include "common/message.h"

static void *message_begin(const struct cholesky *c, size_t bytes)
{
    (void)c;
    message_open();
    return app_memory(bytes);
}

static void send_all(const struct cholesky *c, int number, const int *to, int count)
{
    for (int i = 0; i < count; i++)
        message_start(to[i], number, cholesky_tile(c, number), c->bytes);
}

static void message_give(struct cholesky *c, int number)
{
    int to[2], count = cholesky_next(c, number, to);

    send_all(c, number, to, count);
}

static bool message_take(struct cholesky *c, bool wait)
{
    int from, number, to[2], count;

    if (wait)
        message_probe(&from, &number);
    else if (!message_look(&from, &number))
        return false;
    message_receive(from, number, cholesky_tile(c, number), c->bytes);
    count = cholesky_arrived(c, number, to);
    send_all(c, number, to, count);
    return true;
}

static void message_end(void *memory)
{
    message_close();
    free(memory);
}

const struct cholesky_style cholesky_message = { message_begin, message_give, message_take, message_finish,
                                                 message_end };
