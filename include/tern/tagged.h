/* tagged.h: tagged messages: two-sided, the receiver chooses by source and tag.
 *
 * A message goes to a rank of the context's team and has a tag of 62 bits. A receive names a rank of the team or any,
 * and a tag, or any, or bits of tags. A message goes to the receive that was started first among those that take it, a
 * receive takes the message that came first, and messages of one context to one rank come in the order in which they
 * were sent: they do not overtake each other, whatever their sizes. Messages and receives of different teams do not
 * meet.
 *
 * Short messages travel with their data (TERN_MSG_EAGER): a send of one ends when it has left, whether or not somebody
 * receives it. The data of longer ones stays where it is until the receiver fetches it, in chunks where it is much
 * (TERN_MSG_CHUNKED, _CHUNK, _WINDOW): such a send ends when that is done. A receiver that does not keep up with what
 * is sent to it keeps TERN_MSG_KEEP bytes; then those that send wait.
 *
 * Messages are taken in inside calls of Tern that wait or make progress, and the data of a long one is fetched by such
 * calls on the context of its receive.
 */
#ifndef TERN_TAGGED_H
#define TERN_TAGGED_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/notice.h> /* TERN_ANY_SOURCE, TERN_ANY_TAG */
#include <tern/request.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

#define TERN_TAG_MAX INT64_C(0x3fffffffffffffff)

/* Send a message and wait until buf may be overwritten: it has left, or the receiver has fetched it.
 * Returns  TERN_OK. TERN_ERR_RANGE: no such rank, or a tag that is negative or above TERN_TAG_MAX; nothing was sent.
 *          TERN_ERR_PEER: rank is gone. TERN_ERR_TIMEOUT: the context's time limit passed; a message that was to be
 *          fetched may still be, and buf must stay as it is; any other was not sent. TERN_ERR_NOMEM. TERN_ERR_STATE:
 *          called in a handler. TERN_ERR_ARG: a pointer is NULL.
 * Remote   the message can be received.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_send(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len);

/* The same, and wait until a receive has taken the message.
 * Returns  as tern_send; after TERN_ERR_TIMEOUT the message may still be received.
 * Remote   a receive has taken it.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_ssend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len);

/* Begin to send a message. buf stays as it is until the request is done.
 * Returns  TERN_OK and the request in *out. Errors as tern_send, but for TERN_ERR_TIMEOUT and TERN_ERR_STATE; there
 *          is no request then.
 * Remote   as tern_send.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_isend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out);

/* The same; the request is done when a receive has taken the message.
 * Returns  as tern_isend.
 * Remote   as tern_ssend.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_issend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out);

/* Receive a message from source (a rank of the team, or TERN_ANY_SOURCE) with tag (or TERN_ANY_TAG) into the size
 * bytes of buf, and wait for it. What it was is written to *info, if info is not NULL.
 * Returns  TERN_OK. TERN_ERR_TRUNCATED: it was longer than buf, which has its begin; the rest is gone.
 *          TERN_ERR_RANGE: no such rank or tag. TERN_ERR_PEER: the source is gone, or all are that could send.
 *          TERN_ERR_TIMEOUT: the context's time limit passed; nothing was received, or it was being fetched, and buf
 *          may be written until tern_quiet has returned. TERN_ERR_NOMEM. TERN_ERR_STATE: called in a handler.
 *          TERN_ERR_ARG: a pointer is NULL.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_recv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_message_info *info);

/* Begin to receive a message. buf is not used for anything else until the request is done.
 * Returns  TERN_OK and the request in *out. TERN_ERR_RANGE, TERN_ERR_NOMEM and TERN_ERR_ARG as tern_recv; there is
 *          no request then.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_irecv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request **out);

/* The same for messages whose tags have the same bits as tag wherever mask has a 1.
 * Returns  as tern_irecv. TERN_ERR_RANGE: also where mask is above TERN_TAG_MAX.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_irecv_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf, size_t size,
                                       tern_request **out);

/* Make a persistent request for such a send or receive. It is not started. buf and len are those of every start.
 * Returns  TERN_OK and the request in *out. TERN_ERR_RANGE, TERN_ERR_NOMEM and TERN_ERR_ARG as tern_isend.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_send_init(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len,
                                    tern_request **out);

/* The same for a synchronous send.
 * Returns  as tern_send_init.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_ssend_init(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len,
                                     tern_request **out);

/* The same for a receive.
 * Returns  as tern_irecv.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_recv_init(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request **out);

/* The same for a receive by bits of tags.
 * Returns  as tern_irecv_masked.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_recv_init_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf, size_t size,
                                           tern_request **out);

/* Make progress until a message has come that such a receive would take, or the deadline passes (TERN_NOW: look
 * once). It stays where it is.
 * Returns  TERN_OK: there is one, and what it is is in *info, if info is not NULL. TERN_ERR_TIMEOUT: there is none.
 *          TERN_ERR_PEER: none is left that could send one. TERN_ERR_RANGE, TERN_ERR_NOMEM, TERN_ERR_ARG as
 *          tern_irecv.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_probe(tern_ctx *ctx, int source, int64_t tag, tern_deadline deadline,
                                tern_message_info *info);

/* The same by bits of tags.
 * Returns  as tern_probe.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_probe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                                       tern_message_info *info);

/* A message that a matched probe has found: only tern_mrecv and tern_imrecv receive it. */
typedef struct tern_message tern_message;

/* Make progress until a message has come that such a receive would take, or the deadline passes (TERN_NOW: look
 * once). It is taken: no other receive or probe finds it.
 * Returns  TERN_OK and the message in *out. Errors as tern_probe; there is no message then.
 * Remote   none: a synchronous send waits until it is received.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_mprobe(tern_ctx *ctx, int source, int64_t tag, tern_deadline deadline, tern_message **out,
                                 tern_message_info *info);

/* The same by bits of tags.
 * Returns  as tern_mprobe.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_mprobe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                                        tern_message **out, tern_message_info *info);

/* Receive a message that a matched probe has found, which is gone then: *message is NULL.
 * Returns  as tern_recv. TERN_ERR_ARG and TERN_ERR_NOMEM: the message is still there.
 * Remote   none.
 * Threads  the one that uses the context of the probe. */
TERN_API tern_status tern_mrecv(tern_message **message, void *buf, size_t size, tern_message_info *info);

/* Begin to receive it.
 * Returns  as tern_irecv. TERN_ERR_ARG and TERN_ERR_NOMEM: the message is still there.
 * Remote   none.
 * Threads  the one that uses the context of the probe. */
TERN_API tern_status tern_imrecv(tern_message **message, void *buf, size_t size, tern_request **out);

TERN_END_DECLS

#endif
