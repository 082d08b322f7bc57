/* message.h: two-sided messages for the applications' message-passing style.
 *
 * message_mpi.c implements them with MPI, message_tern.c with Tern's tagged messages. Messages from one rank to another
 * with one tag arrive in the order in which they were sent.
 */
#ifndef APPS_MESSAGE_H
#define APPS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Collective. message_open() must be followed by a barrier before the first message. message_close() must be called
 * after the last message has been received. */
void message_open(void);
void message_close(void);

/* Send a message. The caller may overwrite data on return. The call may wait for the receiver. */
void message_send(int to, int tag, const void *data, size_t bytes);

/* Start sending a message. The call does not wait for the receiver. The caller must not modify data until
 * message_finish() returns. */
void message_start(int to, int tag, const void *data, size_t bytes);
void message_finish(void);

/* Wait for a message with this source, tag and length. */
void message_receive(int from, int tag, void *data, size_t bytes);

/* Return whether a message has arrived, and store its source and its tag: those of the next message that
 * message_receive() would find. */
bool message_look(int *from, int *tag);

/* Wait until a message has arrived, and store its source and its tag. */
void message_probe(int *from, int *tag);

#endif
