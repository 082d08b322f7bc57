/* message.h: two-sided messages for the applications' message-passing style.
 *
 * message_mpi.c hands them to MPI, message_tern.c to Tern's tagged messages. Messages from one rank to another with one
 * tag arrive in the order in which they were sent.
 */
#ifndef APPS_MESSAGE_H
#define APPS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* All ranks, before a barrier that comes before the first message; and after the last one has been received. */
void message_open(void);
void message_close(void);

/* data may be overwritten on return. May wait for the receiver. */
void message_send(int to, int tag, const void *data, size_t bytes);

/* The same, but data stays unchanged until message_finish(), and nobody waits for the receiver. */
void message_start(int to, int tag, const void *data, size_t bytes);
void message_finish(void);

/* Wait for a message with this source, tag and length. */
void message_receive(int from, int tag, void *data, size_t bytes);

/* Whether there is a message, from whom and with which tag: the next one that message_receive() would find. */
bool message_look(int *from, int *tag);

/* The same, and wait for it. */
void message_probe(int *from, int *tag);

#endif
