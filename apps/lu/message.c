/* message.c: blocks by messages. The tag is the number of the block. A rank starts its sends without waiting, so that
 * no rank waits for a receiver that is still computing. */
#include <stdlib.h>

#include "common/app.h"
#include "common/message.h"
#include "lu/lu.h"

static void message_begin(struct lu *lu)
{
    message_open();
    lu->matrix = lu->others = app_memory(lu_bytes(lu));
}

static void message_give(struct lu *lu, int number, int count)
{
    for (int i = 0; i < count; i++)
        message_start(lu->to[i], number, lu->matrix + lu_offset(lu, number) / sizeof(double), lu->bytes);
}

static void message_phase(void)
{
}

static void message_need(struct lu *lu, int count)
{
    for (int i = 0; i < count; i++) {
        int number = lu->list[i];

        message_receive(lu_owner_of(lu, number), number, lu->others + lu_offset(lu, number) / sizeof(double),
                        lu->bytes);
        lu->here[number] = true;
    }
}

static void message_end(struct lu *lu)
{
    message_close();
    free(lu->matrix);
}

const struct lu_style lu_message = { message_begin, message_give,   message_phase,
                                     message_need,  message_finish, message_end };
