/* message.c: messages between two ranks.
 *
 * Messages are tagged messages of Tern on a team of their own, so that they match no messages of the program. Tags
 * below 2^32 are tags of the program; the collective calls use one tag above. A message to this rank itself is stored
 * in a queue, because its receive follows the send. While a call waits, MPI makes progress through the idle hook.
 */
#include <stdlib.h>
#include <string.h>

#include "message_in.h"

#define COLLECTIVE_TAG (INT64_C(1) << 33)

/* A message of this rank to itself. */
struct self_message {
    struct self_message *next;
    int                  tag;
    size_t               len;
    unsigned char        data[];
};

static struct self_message *self_first;

static void send_to_self(int tag, const void *buf, size_t len)
{
    struct self_message **end = &self_first, *message = tern_front_alloc("armci_msg_snd", 1, sizeof *message + len);

    message->tag = tag;
    message->len = len;
    if (len > 0)
        memcpy(message->data, buf, len);
    tern_armci_enter();
    while (*end != NULL)
        end = &(*end)->next;
    *end = message;
    tern_armci_leave();
}

/* Take the oldest message with a tag out of the queue of messages of this rank to itself. NULL: there is none. */
static struct self_message *unlink_from_self(int tag)
{
    struct self_message **link = &self_first, *message;

    tern_armci_enter();
    while (*link != NULL && (*link)->tag != tag)
        link = &(*link)->next;
    message = *link;
    if (message != NULL)
        *link = message->next;
    tern_armci_leave();
    return message;
}

/* Receive the oldest message with a tag that this rank has sent to itself. Returns whether there is one. */
static bool take_from_self(const char *call, int tag, void *buf, size_t size, size_t *len)
{
    struct self_message *message = unlink_from_self(tag);

    if (message == NULL)
        return false;
    if (message->len > size)
        tern_front_die(call, "the message with tag %d has %zu bytes, and the buffer %zu", tag, message->len, size);
    if (message->len > 0)
        memcpy(buf, message->data, message->len);
    *len = message->len;
    free(message);
    return true;
}

void tern_armci_drop_messages(void)
{
    while (self_first != NULL) {
        struct self_message *message = self_first;

        self_first = message->next;
        free(message);
    }
}

static void check_message(const char *call, const void *buf, int len)
{
    tern_armci_check_running(call);
    if (len < 0 || (buf == NULL && len > 0))
        tern_front_die(call, "%d bytes at %p: the buffer is invalid", len, buf);
}

ARMCI_EXPORT void armci_msg_snd(int tag, void *buffer, int len, int to)
{
    const char *call = "armci_msg_snd";

    check_message(call, buffer, len);
    tern_armci_check_rank(call, to);
    if (to == tern_armci.me)
        send_to_self(tag, buffer, (size_t)len);
    else
        tern_front_check(tern_send(tern_armci.msg_ctx, to, (uint32_t)tag, buffer, (size_t)len), call, "sending");
}

/* Receive from a rank, or from any rank (-1). Returns the source. */
static int receive(const char *call, int tag, void *buf, int size, int *len, int from)
{
    tern_request_info info;
    size_t            own;

    check_message(call, buf, size);
    if (from < 0 || from == tern_armci.me) {
        if (take_from_self(call, tag, buf, (size_t)size, &own)) {
            if (len != NULL)
                *len = (int)own;
            return tern_armci.me;
        }
        if (from == tern_armci.me)
            tern_front_die(call, "this rank waits for a message with tag %d that it has not sent to itself", tag);
    }
    tern_front_check(
        tern_recv(tern_armci.msg_ctx, from < 0 ? TERN_ANY_SOURCE : from, (uint32_t)tag, buf, (size_t)size, &info), call,
        "receiving");
    if (len != NULL)
        *len = (int)info.len;
    return info.source;
}

ARMCI_EXPORT void armci_msg_rcv(int tag, void *buffer, int buflen, int *msglen, int from)
{
    tern_armci_check_rank("armci_msg_rcv", from);
    (void)receive("armci_msg_rcv", tag, buffer, buflen, msglen, from);
}

ARMCI_EXPORT int armci_msg_rcvany(int tag, void *buffer, int buflen, int *msglen)
{
    return receive("armci_msg_rcvany", tag, buffer, buflen, msglen, -1);
}

void tern_armci_send(const char *call, int to, const void *buf, size_t len)
{
    tern_front_check(tern_send(tern_armci.msg_ctx, to, COLLECTIVE_TAG, buf, len), call, "sending to another rank");
}

void tern_armci_receive(const char *call, int from, void *buf, size_t len)
{
    tern_front_check(tern_recv(tern_armci.msg_ctx, from, COLLECTIVE_TAG, buf, len, NULL), call,
                     "receiving from another rank");
}
