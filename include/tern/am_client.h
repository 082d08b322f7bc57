/* am_client.h: clients of active messages, with handlers of their own.
 *
 * The handler ids of tern_am_register exist once in a process. A library that must not depend on the ids that other
 * libraries and the program use creates a client. A client belongs to a team and has a table of its own with the ids 0
 * to TERN_AM_HANDLERS - 1. The ranks of the team create it collectively, and the client is the same one for all of
 * them. Messages of a client are sent with the calls of this header. Everything else is as for other active messages
 * (am.h): kinds, arguments, payloads, order, flow control, and what a handler may do. A handler replies with
 * tern_am_reply or tern_am_prepare_reply, and the reply belongs to the client of its request. tern_am_event.team is the
 * team of the client, and tern_am_event.source is a rank of that team, whatever context the message was sent with.
 *
 * Messages from one rank to another are handled in the order in which they were sent, also those of different clients,
 * with one exception: messages of clients with by_helper, and all other messages, have no order between them.
 *
 * Handlers that the helper thread runs: if by_helper is set, handlers of the client may also run on a thread of Tern,
 * so that a rank that computes without calling Tern still answers. They run on the helper thread if the program has not
 * delivered messages for some time (a millisecond at the latest), and otherwise inside the program's calls, as other
 * handlers do. Such a handler may do what other handlers may do, with these differences:
 *
 *   - It may run while the program computes. Data that the handler shares with the program needs locks or atomic
 *     operations. A lock must not be held across a call of Tern that waits or makes progress, because the call may run
 *     a handler that needs the lock.
 *   - It must not use a context that the program uses, such as TERN_WORLD. Create a context for the handlers; because
 *     handlers do not run at the same time, one context serves all of them.
 *   - It delays the other work of the helper thread, and no thread of the rank handles messages in the meantime. It
 *     should return soon.
 *
 * A process never runs two handlers at the same time, whatever their clients, except that handlers of replies may run
 * inside the handler of a request that waits for space to send its reply.
 */
#ifndef TERN_AM_CLIENT_H
#define TERN_AM_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <tern/am.h>
#include <tern/context.h>
#include <tern/job.h>
#include <tern/rma.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* A client of active messages. tern_am_client_create makes one. */
typedef struct tern_am_client tern_am_client;

/* One handler of a client. An entry has no size of its own: the size in tern_am_client_opts tells its version, too. */
typedef struct tern_am_client_handler {
    unsigned        id;      /* below TERN_AM_HANDLERS */
    tern_am_handler handler; /* the function */
    void           *user;    /* the pointer that the function receives */
} tern_am_client_handler;

/* Options of a client. Create them with TERN_AM_CLIENT_OPTS or TERN_AM_CLIENT_OPTS_INIT, which set size. */
typedef struct tern_am_client_opts {
    uint32_t                      size;      /* sizeof(tern_am_client_opts), so that later versions can add fields */
    uint32_t                      by_helper; /* 1: the helper thread may run the handlers; 0: it does not */
    const char                   *name;      /* for error texts; the call copies the first 31 characters. NULL: none */
    const tern_am_client_handler *handlers;  /* [count] registered before any message can arrive; may be NULL if count
                                                is 0 */
    size_t                        count;     /* number of handlers */
} tern_am_client_opts;

#define TERN_AM_CLIENT_OPTS_INIT TERN_SIZED(tern_am_client_opts)
#ifndef __cplusplus
#define TERN_AM_CLIENT_OPTS(...) ((tern_am_client_opts){ .size = sizeof(tern_am_client_opts), __VA_ARGS__ })
#endif

/* Create a client of active messages on a team. The call is collective over the context's team. It registers
 * opts->handlers before any other rank can send a message to them. All ranks pass the same by_helper; handlers, their
 * pointers and the name may differ. If opts is NULL, no option is set. A process can have 1024 clients at a time.
 * Returns  TERN_OK: *out is the client. All ranks return TERN_OK.
 *          TERN_ERR_ARG: ctx or out is NULL, the size of *opts is not set, opts->by_helper is neither 0 nor 1,
 *            opts->handlers is NULL and opts->count is not 0, or a handler is NULL; or, on all ranks, ranks passed
 *            different by_helper or made different collective calls.
 *          TERN_ERR_RANGE: the id of a handler is not below TERN_AM_HANDLERS.
 *          TERN_ERR_NOMEM: there is not enough memory, or the process has 1024 clients.
 *          TERN_ERR_SYSTEM: the helper thread cannot be created.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, by_helper is set and the
 *            option TERN_PROGRESS_THREAD is off, another thread of this rank is in a collective call on the team, a
 *            barrier on the team timed out and was not repeated, or another collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks.
 * Remote   When the call returns, every rank of the team has the client, and runs its handlers. Handlers may run at
 *          this rank before the call returns.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_am_client_create(tern_ctx *ctx, const tern_am_client_opts *opts, tern_am_client **out);

/* Register the handler of an id of a client. If handler is NULL, messages with the id have no handler. All ranks give
 * an id the same meaning. A message whose id has no handler at its target ends the job.
 * Returns  TERN_OK: the handler is registered.
 *          TERN_ERR_ARG: client is NULL.
 *          TERN_ERR_RANGE: id is not below TERN_AM_HANDLERS.
 *          TERN_ERR_STATE: Tern is not initialized, or the client was freed.
 * Remote   None. A rank must have registered the handler before such a message arrives: pass the handlers to
 *          tern_am_client_create, or register them before a barrier that the senders also call.
 * Threads  Any thread may call this function, while no message with this id is being handled. */
TERN_API tern_status tern_am_client_register(tern_am_client *client, unsigned id, tern_am_handler handler, void *user);

/* Free a client. The call is collective over the client's team. It handles all messages of the client, and their
 * replies, before the client is freed: no message is lost. Messages that are prepared must be committed or cancelled
 * before, and no thread may use the client any more. tern_finalize frees the clients that remain.
 * Returns  TERN_OK: the client is freed. If a rank of the team has died, messages may be lost.
 *          TERN_ERR_ARG: client is NULL; or, on all ranks, ranks passed different clients.
 *          TERN_ERR_TIMEOUT: a rank did not call, or did not handle its messages, within the time that the option
 *            TERN_TIMEOUT sets. The client remains, and the call may be repeated.
 *          TERN_ERR_STATE: Tern is not initialized, the client was freed before, an active message handler made the
 *            call, another thread of this rank is in a collective call on the team, a barrier on the team timed out and
 *            was not repeated, or another collective call on the team timed out.
 * Remote   When the call returns, no rank sends messages of the client to this rank any more.
 * Threads  Any thread may call this function. A rank may make one collective call per team at a time. While the call
 *          waits, it handles incoming messages. */
TERN_API tern_status tern_am_client_free(tern_am_client *client);

/* Send an active message of a client to a rank as a request. message->handler is an id of the client. If message->local
 * is NULL, the caller may modify the payload when the call returns.
 * Returns  TERN_OK: the message was sent.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the client has no handler with this id at this rank, there are more than
 *            TERN_AM_ARGS arguments, a flag is unknown, or the kind does not allow this payload or region.
 *          TERN_ERR_RANGE: rank is not in the context's team or not in the client's team, a medium payload exceeds
 *            tern_am_max_medium(ctx, rank, TERN_AM_ARGS), or a long payload does not lie in the part of the target.
 *            With TERN_IMMEDIATE, the payload of a long message to a part whose path is "bounce", "ofi" or "tcp" is
 *            limited to about tern_am_max_medium.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call, or the client was freed.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          TERN_ERR_LINK: the transport failed while it wrote the payload of a long message.
 *          After TERN_AGAIN and after an error, no message was sent, but the payload of a long message may have been
 *            written.
 * Remote   The handler runs at rank, after the payload has arrived, when rank calls Tern and makes progress, or on
 *          rank's helper thread if the client has by_helper.
 * Threads  Only the thread that uses ctx may call this function. While the call waits for space, it handles incoming
 *          messages. */
TERN_API tern_status tern_am_client_request(tern_am_client *client, tern_ctx *ctx, int rank, const tern_am *message);

/* Send an active message of a client as a request, with options. message->handler is an id of the client. A counter may
 * count the request (opts->counter) or trigger it (opts->when and opts->threshold; see counter.h). The request is
 * complete when it has been sent; then the events of opts complete, and the caller may modify the payload. Without
 * opts->counter and opts->when, the request has been sent when the call returns. message->local is not used. If opts is
 * NULL, no option is set.
 * Returns  TERN_OK: the message was sent or, with opts->counter or opts->when, will be sent.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the client has no handler with this id at this rank, there are more than
 *            TERN_AM_ARGS arguments, a flag is unknown, the kind does not allow this payload or region, opts is invalid
 *            or contains TERN_NOTIFY, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team or not in the client's team, a medium payload exceeds
 *            tern_am_max_medium(ctx, rank, TERN_AM_ARGS), or a long payload does not lie in the part of the target.
 *            With TERN_IMMEDIATE, the payload of a long message to a part whose path is "bounce", "ofi" or "tcp" is
 *            limited to about tern_am_max_medium.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call, or the client was freed.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue, or to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_LINK: the transport failed while it wrote the payload of a long message.
 *          After TERN_AGAIN and after an error, no message was sent, but the payload of a long message may have been
 *            written.
 * Remote   The handler runs at rank, after the payload has arrived, when rank calls Tern and makes progress, or on
 *          rank's helper thread if the client has by_helper.
 * Threads  Only the thread that uses ctx may call this function. The thread that starts a triggered request sends it.
 */
TERN_API tern_status tern_am_client_request_with(tern_am_client *client, tern_ctx *ctx, int rank,
                                                 const tern_am *message, const tern_opts *opts);

/* Send a short active message of a client to a rank as a request. The message has nargs arguments and no payload. If
 * the queue of the target is full, the call waits for space.
 * Returns  TERN_OK: the message was sent.
 *          TERN_ERR_ARG: client or ctx is NULL, the client has no handler with this id at this rank, there are more
 *            than TERN_AM_ARGS arguments, or args is NULL and nargs is not 0.
 *          TERN_ERR_RANGE: rank is not in the context's team or not in the client's team.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call, or the client was freed.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          After an error, no message was sent.
 * Remote   The handler runs at rank when rank calls Tern and makes progress, or on rank's helper thread if the client
 *          has by_helper.
 * Threads  Only the thread that uses ctx may call this function. While the call waits for space, it handles incoming
 *          messages. */
TERN_API tern_status tern_am_client_short(tern_am_client *client, tern_ctx *ctx, int rank, unsigned handler,
                                          const uint32_t *args, unsigned nargs);

/* Reserve space for a request of a client with a negotiated payload. The caller then writes the payload in place. The
 * message must be committed (tern_am_commit, with an id of the client) or cancelled (tern_am_cancel); until then, later
 * messages to rank wait behind it. If the queue of the target is full, the call waits for space, unless TERN_IMMEDIATE
 * is set.
 * Returns  TERN_OK: *out describes the space.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the kind is not medium or long, a medium message has a region or a long one
 *            has none, there are more than TERN_AM_ARGS arguments, opts->min exceeds opts->max, or a flag is unknown.
 *          TERN_ERR_RANGE: rank is not in the context's team or not in the client's team, opts->min exceeds the space
 *            that a queue always has, or a long payload does not lie in the part of the target.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call, or the client was freed.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          After TERN_AGAIN and after an error, no space is reserved.
 * Remote   Later messages to rank are not handled before this one is committed or cancelled.
 * Threads  Only the thread that uses ctx may call this function. The same thread has to commit or cancel the message.
 *          While the call waits for space, it handles incoming messages. */
TERN_API tern_status tern_am_client_prepare(tern_am_client *client, tern_ctx *ctx, int rank,
                                            const tern_am_prepare_opts *opts, tern_am_prepared *out);

TERN_END_DECLS

#endif
