/* message.h: taking messages out of the links' queues, one thread at a time, and handing them to who understands them.
 * */
#ifndef TERN_CORE_MESSAGE_H
#define TERN_CORE_MESSAGE_H

#include <stdbool.h>

#include "link/link.h"

/* Who understands messages. Set once, before the job is joined. */
typedef void (*tern_core_message_fn)(int from, unsigned channel, const unsigned char *head, const unsigned char *data,
                                     size_t len);
void tern_core_message_receiver(tern_core_message_fn receiver);

/* Deliver what has come. Does nothing inside a handler. Returns at once where another thread of the process is
 * delivering, which then rings this rank's bell when it has done so. */
void tern_core_message_poll(void);

/* Deliver replies: for the handler of a request that waits to send its own. */
void tern_core_message_poll_replies(void);

/* Whether a poll by this thread would deliver more: a poll delivers a few messages only, and nobody rings for the
 * rest. */
bool tern_core_message_left(void);

/* Deliver until nothing is left. */
void tern_core_message_drain(void);

/* Whether this thread is inside a handler. */
bool tern_core_message_handling(void);

/* For tern_link_up. */
void tern_core_message_deliver(int from, unsigned channel, const unsigned char *head, const unsigned char *data,
                               size_t len);

#endif
