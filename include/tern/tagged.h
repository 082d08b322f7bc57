/* tagged.h: tagged messages, which a receiver selects by source and tag.
 *
 * Tagged messages are two-sided. A message goes to a rank of the context's team and has a tag of 62 bits. A receive
 * selects a source or any source, and a tag, any tag, or certain bits of the tag. Messages are matched by the rules of
 * MPI: a message matches the receive that was started first among the receives that select it; a receive matches the
 * message that arrived first; and messages of one context to one rank do not overtake each other, whatever their
 * lengths. Messages never match receives of another team. A message that matches no receive when it arrives is
 * unexpected, and is stored until a receive matches it.
 *
 * A message of up to TERN_MSG_EAGER bytes is eager: it travels with its data, and the send is complete when the message
 * has left, whether or not it has been received. A longer message is sent by rendezvous: the data stays in the buffer
 * of the sender until the receiver has matched the message and fetched the data, in chunks if it is long
 * (TERN_MSG_CHUNKED, TERN_MSG_CHUNK, TERN_MSG_WINDOW), and only then the send is complete. Each rank stores at most
 * TERN_MSG_KEEP bytes of unexpected messages. Once that space is full, senders to the rank block, and nonblocking sends
 * stay queued, until the rank receives some of the messages.
 *
 * The receiver moves the data of a rendezvous message. A rank receives messages inside Tern calls that wait or make
 * progress, and fetches the data of a rendezvous message inside such calls on the context of its receive. For a
 * nonblocking receive of more than TERN_MSG_EAGER bytes, a thread of Tern does both while the program computes, unless
 * the option TERN_PROGRESS_THREAD is off. There are two exceptions. A send that is queued for lack of space leaves
 * inside calls on its context. And on the same node, a sender that is inside a call on that context may copy part of a
 * long message, or all of it if stores reach the buffer of the receive; the receiver does not depend on this help.
 *
 * In active message handlers, nonblocking sends and receives are allowed; calls that have to wait return
 * TERN_ERR_STATE.
 */
#ifndef TERN_TAGGED_H
#define TERN_TAGGED_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/request.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* The largest tag of a message: tags have 62 bits. */
#define TERN_TAG_MAX INT64_C(0x3fffffffffffffff)

/* Send a tagged message, and wait until its buffer is free. The call sends len bytes at buf to rank with a tag, and
 * waits until the buffer may be reused: until an eager message has left, or until the receiver has fetched a rendezvous
 * message.
 * Returns  TERN_OK: the caller may modify buf.
 *          TERN_ERR_RANGE: rank is not in the context's team, or tag is negative or above TERN_TAG_MAX; nothing was
 *            sent.
 *          TERN_ERR_PEER: rank has died, or has called tern_finalize without receiving the message.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. A rendezvous message may still be received, and the
 *            caller must not modify buf until then; any other message was not sent.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if len is 0).
 * Remote   The receiver can match the message. An eager message needs no action of the receiver before the call
 *          returns, unless the receiver has no space left. For a longer message, the call returns after the receiver
 *          has received it.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_send(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len);

/* Send a tagged message, and wait until it is matched. The call sends len bytes at buf to rank with a tag in
 * synchronous mode: it waits until the receiver has matched the message with a receive, and the buffer may be reused.
 * Returns  TERN_OK: a receive has matched the message, and the caller may modify buf.
 *          TERN_ERR_RANGE: rank is not in the context's team, or tag is negative or above TERN_TAG_MAX; nothing was
 *            sent.
 *          TERN_ERR_PEER: rank has died, or has called tern_finalize without receiving the message.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The message may still be received, and the caller must
 *            not modify buf until then.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if len is 0).
 * Remote   The receiver has matched the message with a receive.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_ssend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len);

/* Start sending a tagged message. The call starts sending len bytes at buf to rank with a tag, and returns immediately.
 * The request completes when an eager message has left, or when the receiver has fetched a longer message. The caller
 * must not modify buf until then.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: rank is not in the context's team, or tag is negative or above TERN_TAG_MAX.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if len is 0).
 *          After an error, nothing was sent, and there is no request.
 * Remote   The receiver can match the message. The receiver has to receive a message that is longer than TERN_MSG_EAGER
 *          before the request completes.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_isend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out);

/* Start sending a tagged message in synchronous mode. The call starts sending len bytes at buf to rank with a tag, and
 * returns immediately. The request completes when the receiver has matched the message with a receive and the buffer
 * may be reused. The caller must not modify buf until then.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: rank is not in the context's team, or tag is negative or above TERN_TAG_MAX.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if len is 0).
 *          After an error, nothing was sent, and there is no request.
 * Remote   The receiver has to receive the message before the request completes.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_issend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out);

/* Receive a tagged message, and wait for its data. The data goes into the size bytes at buf. source is a rank of the
 * team or TERN_ANY_SOURCE; tag is a tag or TERN_ANY_TAG. Unless info is NULL, store the source, the tag and the length
 * of the message in *info.
 * Returns  TERN_OK: the message is in buf.
 *          TERN_ERR_TRUNCATED: the message is longer than size bytes. buf contains the beginning of the message; the
 *            rest is discarded, and the send succeeds.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG.
 *          TERN_ERR_PEER: the source has died, or for TERN_ANY_SOURCE all other ranks of the team have died, before a
 *            message matched; or the sender died before its data was complete.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Either no message was received, or its data was being
 *            fetched; Tern may write to buf until tern_quiet returns.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_LINK: the transport failed.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if size is 0).
 * Remote   None, except that a rendezvous or synchronous send to this receive completes.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_recv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request_info *info);

/* Start receiving a tagged message. The call starts a receive into the size bytes at buf, and returns immediately.
 * source is a rank of the team or TERN_ANY_SOURCE; tag is a tag or TERN_ANY_TAG. The request completes when the data is
 * in buf. The program must not access buf until then.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if size is 0).
 *          After an error, there is no request.
 * Remote   None, except that a rendezvous or synchronous send to this receive completes.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_irecv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request **out);

/* Start receiving a tagged message selected by bits of its tag. The call starts a receive into the size bytes at buf,
 * and returns immediately. source is a rank of the team or TERN_ANY_SOURCE. A message matches if its tag equals tag in
 * all bits that are 1 in mask. The request completes when the data is in buf. The program must not access buf until
 * then.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG, or mask is negative or above TERN_TAG_MAX.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if size is 0).
 *          After an error, there is no request.
 * Remote   None, except that a rendezvous or synchronous send to this receive completes.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_irecv_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf, size_t size,
                                       tern_request **out);

/* Create a persistent request for a send. The request sends len bytes at buf to rank with a tag. The call does not
 * start the request. Start it with tern_request_start, as often as needed, and free it with tern_request_free. From
 * each start until the request completes, the caller must not modify buf.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: rank is not in the context's team, or tag is negative or above TERN_TAG_MAX.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if len is 0).
 *          After an error, there is no request.
 * Remote   None until the request is started.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_send_create(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len,
                                      tern_request **out);

/* Create a persistent request for a synchronous send. The request sends len bytes at buf to rank with a tag. The call
 * does not start the request. Start it with tern_request_start, as often as needed, and free it with tern_request_free.
 * From each start until the request completes, the caller must not modify buf.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: rank is not in the context's team, or tag is negative or above TERN_TAG_MAX.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if len is 0).
 *          After an error, there is no request.
 * Remote   None until the request is started.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_ssend_create(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len,
                                       tern_request **out);

/* Create a persistent request for a receive. The request receives into the size bytes at buf. source is a rank of the
 * team or TERN_ANY_SOURCE; tag is a tag or TERN_ANY_TAG. The call does not start the request. Start it with
 * tern_request_start, as often as needed, and free it with tern_request_free. From each start until the request
 * completes, the program must not access buf.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if size is 0).
 *          After an error, there is no request.
 * Remote   None until the request is started.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_recv_create(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size,
                                      tern_request **out);

/* Create a persistent request for a receive by bits of the tag. The request receives into the size bytes at buf. source
 * is a rank of the team or TERN_ANY_SOURCE. A message matches if its tag equals tag in all bits that are 1 in mask. The
 * call does not start the request. Start it with tern_request_start, as often as needed, and free it with
 * tern_request_free. From each start until the request completes, the program must not access buf.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG, or mask is negative or above TERN_TAG_MAX.
 *          TERN_ERR_NOMEM: there is not enough memory for the request.
 *          TERN_ERR_ARG: a pointer is NULL (buf may be NULL if size is 0).
 *          After an error, there is no request.
 * Remote   None until the request is started.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_recv_create_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf,
                                             size_t size, tern_request **out);

/* Wait for a message without receiving it. The call makes progress until an unexpected message is stored that a receive
 * with the given source and tag would match, or the deadline passes. source is a rank of the team or TERN_ANY_SOURCE;
 * tag is a tag or TERN_ANY_TAG. With TERN_NOW, the call polls once. Unless info is NULL, store the source, the tag and
 * the length of the message in *info. The message remains stored.
 * Returns  TERN_OK: there is such a message.
 *          TERN_PENDING: the deadline is TERN_NOW, and there is no such message.
 *          TERN_ERR_TIMEOUT: the deadline passed, and there is no such message.
 *          TERN_ERR_PEER: the source has died, or for TERN_ANY_SOURCE all other ranks of the team have died, and no
 *            message matches.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG.
 *          TERN_ERR_NOMEM: there is not enough memory to look for the message.
 *          TERN_ERR_STATE: an active message handler made the call, and no message matches.
 *          TERN_ERR_ARG: ctx is NULL.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_probe(tern_ctx *ctx, int source, int64_t tag, tern_deadline deadline,
                                tern_request_info *info);

/* Wait for a message by bits of its tag without receiving it. The call makes progress until an unexpected message is
 * stored that a receive with the given source, tag and mask would match, or the deadline passes. source is a rank of
 * the team or TERN_ANY_SOURCE. A message matches if its tag equals tag in all bits that are 1 in mask. With TERN_NOW,
 * the call polls once. Unless info is NULL, store the source, the tag and the length of the message in *info. The
 * message remains stored.
 * Returns  TERN_OK: there is such a message.
 *          TERN_PENDING: the deadline is TERN_NOW, and there is no such message.
 *          TERN_ERR_TIMEOUT: the deadline passed, and there is no such message.
 *          TERN_ERR_PEER: the source has died, or for TERN_ANY_SOURCE all other ranks of the team have died, and no
 *            message matches.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG, or mask is negative or above TERN_TAG_MAX.
 *          TERN_ERR_NOMEM: there is not enough memory to look for the message.
 *          TERN_ERR_STATE: an active message handler made the call, and no message matches.
 *          TERN_ERR_ARG: ctx is NULL.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_probe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                                       tern_request_info *info);

/* A message that a matched probe has found. Only tern_mrecv and tern_imrecv can receive it. */
typedef struct tern_message tern_message;

/* Wait for a message, and reserve it for this thread. The call makes progress until an unexpected message is stored
 * that a receive with the given source and tag would match, or the deadline passes. It then removes the message from
 * the stored messages. source is a rank of the team or TERN_ANY_SOURCE; tag is a tag or TERN_ANY_TAG. With TERN_NOW,
 * the call polls once. No other receive or probe can find the message afterwards; receive it with tern_mrecv or
 * tern_imrecv. Unless info is NULL, store the source, the tag and the length of the message in *info.
 * Returns  TERN_OK: *out is the message.
 *          TERN_PENDING: the deadline is TERN_NOW, and there is no such message.
 *          TERN_ERR_TIMEOUT: the deadline passed, and there is no such message.
 *          TERN_ERR_PEER: the source has died, or for TERN_ANY_SOURCE all other ranks of the team have died, and no
 *            message matches.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG.
 *          TERN_ERR_NOMEM: there is not enough memory to look for the message.
 *          TERN_ERR_STATE: an active message handler made the call, and no message matches.
 *          TERN_ERR_ARG: ctx or out is NULL.
 *          After an error, *out is unchanged.
 * Remote   None. A synchronous send completes only when the message is received.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_mprobe(tern_ctx *ctx, int source, int64_t tag, tern_deadline deadline, tern_message **out,
                                 tern_request_info *info);

/* Wait for a message by bits of its tag, and reserve it. The call makes progress until an unexpected message is stored
 * that a receive with the given source, tag and mask would match, or the deadline passes. It then removes the message
 * from the stored messages. source is a rank of the team or TERN_ANY_SOURCE. A message matches if its tag equals tag in
 * all bits that are 1 in mask. With TERN_NOW, the call polls once. No other receive or probe can find the message
 * afterwards; receive it with tern_mrecv or tern_imrecv. Unless info is NULL, store the source, the tag and the length
 * of the message in *info.
 * Returns  TERN_OK: *out is the message.
 *          TERN_PENDING: the deadline is TERN_NOW, and there is no such message.
 *          TERN_ERR_TIMEOUT: the deadline passed, and there is no such message.
 *          TERN_ERR_PEER: the source has died, or for TERN_ANY_SOURCE all other ranks of the team have died, and no
 *            message matches.
 *          TERN_ERR_RANGE: source is not in the context's team and not TERN_ANY_SOURCE, or tag is not 0 to TERN_TAG_MAX
 *            or TERN_ANY_TAG, or mask is negative or above TERN_TAG_MAX.
 *          TERN_ERR_NOMEM: there is not enough memory to look for the message.
 *          TERN_ERR_STATE: an active message handler made the call, and no message matches.
 *          TERN_ERR_ARG: ctx or out is NULL.
 *          After an error, *out is unchanged.
 * Remote   None. A synchronous send completes only when the message is received.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_mprobe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                                        tern_message **out, tern_request_info *info);

/* Receive a message that a matched probe has found. The data goes into the size bytes at buf, and the call waits for
 * it. The call sets *message to NULL. Unless info is NULL, store the source, the tag and the length of the message in
 * *info.
 * Returns  TERN_OK: the message is in buf.
 *          TERN_ERR_TRUNCATED: the message is longer than size bytes. buf contains the beginning of the message; the
 *            rest is discarded, and the send succeeds.
 *          TERN_ERR_PEER: the sender died before its data was complete.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may write to buf until tern_quiet returns.
 *          TERN_ERR_NOMEM: there is not enough memory for the request. The message can still be received.
 *          TERN_ERR_LINK: the transport failed.
 *          TERN_ERR_STATE: an active message handler made the call. The message can still be received.
 *          TERN_ERR_ARG: message or *message is NULL, or buf is NULL and size is not 0. The message can still be
 *            received.
 * Remote   None, except that a rendezvous or synchronous send to this receive completes.
 * Threads  Only the thread that uses the context of the probe may call this function. */
TERN_API tern_status tern_mrecv(tern_message **message, void *buf, size_t size, tern_request_info *info);

/* Start receiving a message that a matched probe has found. The data goes into the size bytes at buf, and the call
 * returns immediately. The call sets *message to NULL. The request completes when the data is in buf. The program must
 * not access buf until then.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_NOMEM: there is not enough memory for the request. The message can still be received.
 *          TERN_ERR_ARG: message or *message is NULL, out is NULL, or buf is NULL and size is not 0. The message can
 *            still be received.
 * Remote   None, except that a rendezvous or synchronous send to this receive completes.
 * Threads  Only the thread that uses the context of the probe may call this function. */
TERN_API tern_status tern_imrecv(tern_message **message, void *buf, size_t size, tern_request **out);

TERN_END_DECLS

#endif
