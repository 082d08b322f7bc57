/* am.h: active messages, which run a handler at the target.
 *
 * The sender of an active message names the handler. There are three kinds. A short message has arguments only (up to
 * 16 arguments of 32 bits). A medium message also has a payload, which the handler may read until it returns. A long
 * message has a payload that is in place at an offset of the target's part of a region before the handler runs.
 *
 * A message is a request or a reply. Requests can be sent from anywhere except a handler. The handler of a request may
 * send one reply to the source of the request; the handler of a reply may send nothing. Messages from one rank to
 * another are handled in the order in which they were sent, requests and replies each in their own order. A prepared
 * message counts from the time of its preparation.
 *
 * Handlers run inside Tern calls that wait or make progress, on the thread that makes the call, whatever context the
 * call uses. A rank that computes without calling Tern runs no handlers, unless a client asks for that. A process never
 * runs two handlers at the same time, with one exception: while the handler of a request waits for space to send its
 * reply, handlers of replies may run inside it.
 *
 * A handler may do the following. Every other call that would have to wait, and every collective call, returns
 * TERN_ERR_STATE. In a strict context, a put or get also returns TERN_ERR_STATE if it has to wait for an earlier
 * operation on a part whose path is "bounce".
 *
 *   - reply to a request
 *   - call functions that only return information (ranks, sizes, pointers, clock)
 *   - put and get, in every shape, on parts whose tern_region_path is "self", "shm", "cma", "ofi" or "tcp"
 *   - atomic operations and accumulates on parts whose tern_region_path is "self", "shm", "ofi" or "tcp"
 *   - start nonblocking sends and receives of tagged messages
 *   - read, set and add to counters; operations that this triggers start after the handler has returned
 *   - try (with TERN_NOW) and unlock mutexes of ranks on the same node
 *
 * Flow control: the queues are bounded. A sender that finds the queue of the target full handles its own incoming
 * messages until there is space, or returns TERN_AGAIN if it set TERN_IMMEDIATE. Requests and replies have separate
 * queues, so that replies always drain.
 *
 * The handlers of this header exist once in a process. A library that needs handler ids of its own, or handlers that
 * also run while the program computes, creates a client (am_client.h).
 */
#ifndef TERN_AM_H
#define TERN_AM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/job.h>
#include <tern/region.h>
#include <tern/rma.h>
#include <tern/status.h>
#include <tern/team.h>

TERN_BEGIN_DECLS

/* Limits of active messages. */
#define TERN_AM_HANDLERS 256 /* ids 0 to 255 belong to the program, higher ids to Tern */
#define TERN_AM_ARGS 16      /* maximum number of arguments */

/* The kind of an active message. */
typedef enum tern_am_kind {
    TERN_AM_SHORT = 0,  /* arguments only */
    TERN_AM_MEDIUM = 1, /* arguments and a payload, which the handler may read until it returns */
    TERN_AM_LONG = 2    /* arguments and a payload, which is stored in a region before the handler runs */
} tern_am_kind;

/* A token, which stands for the request that is being handled. A token is valid until the handler returns. */
typedef struct tern_am_token tern_am_token;

/* The message that Tern passes to a handler. */
typedef struct tern_am_event {
    tern_am_token  *token;   /* for tern_am_reply and tern_am_prepare_reply */
    tern_team      *team;    /* team of the context with which the request was sent, also for its reply */
    int             source;  /* rank of the sender in that team */
    bool            request; /* true: a request; false: a reply */
    tern_am_kind    kind;    /* short, medium or long */
    unsigned        nargs;   /* number of arguments */
    const uint32_t *args;    /* [nargs] the arguments; valid until the handler returns */
    void           *payload; /* medium: valid until the handler returns; long: in this rank's part of the region */
    size_t          len;     /* length of the payload in bytes */
} tern_am_event;

/* A handler of active messages. user is the pointer that was passed to tern_am_register. */
typedef void (*tern_am_handler)(const tern_am_event *event, void *user);

/* An active message to send. Create it with TERN_AM or TERN_AM_INIT, which set size. */
typedef struct tern_am {
    uint32_t        size;    /* sizeof(tern_am), so that later versions can add fields */
    tern_am_kind    kind;    /* short, medium or long */
    uint16_t        handler; /* id of the handler at the target */
    uint16_t        nargs;   /* number of arguments, up to TERN_AM_ARGS */
    const uint32_t *args;    /* [nargs] the arguments */
    const void     *payload; /* for medium and long messages; NULL otherwise */
    size_t          len;     /* length of the payload in bytes */
    tern_region    *region;  /* for long messages: the region of the payload; NULL otherwise */
    uint64_t        offset;  /* for long messages: the byte offset of the payload in the part of the target */
    uint32_t        flags;   /* 0 or TERN_IMMEDIATE */
    tern_event     *local;   /* receives the event of local completion. NULL: the payload may be modified on return */
} tern_am;

#define TERN_AM_INIT TERN_SIZED(tern_am)
#ifndef __cplusplus
#define TERN_AM(...) ((tern_am){ .size = sizeof(tern_am), __VA_ARGS__ })
#endif

/* Pass a 64-bit value as two arguments of an active message. An example is const uint32_t args[] = { 7,
 * TERN_AM_U64(offset) }. The handler reads the value with tern_am_u64(&event->args[1]). The macro evaluates value
 * twice.
 */
#define TERN_AM_U64(value) (uint32_t)(uint64_t)(value), (uint32_t)((uint64_t)(value) >> 32)

/* Read a 64-bit value that was passed as two arguments by TERN_AM_U64.
 * Returns  The value.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_INLINE uint64_t tern_am_u64(const uint32_t *args)
{
    return args[0] | (uint64_t)args[1] << 32;
}

/* A prepared message. The program writes the payload directly into the queue of the target or, for a long message, into
 * the memory of the target. */
typedef struct tern_am_prepared {
    void    *addr;         /* where to write the payload: tern_am_prepare_opts.buffer if that is not NULL */
    size_t   len;          /* maximum length of the payload in bytes: at least tern_am_prepare_opts.min */
    uint64_t reserved[14]; /* for Tern */
} tern_am_prepared;

/* A description of a message to prepare. Create it with TERN_AM_PREPARE_OPTS or TERN_AM_PREPARE_OPTS_INIT, which set
 * size. */
typedef struct tern_am_prepare_opts {
    uint32_t     size;   /* sizeof(tern_am_prepare_opts), so that later versions can add fields */
    tern_am_kind kind;   /* TERN_AM_MEDIUM or TERN_AM_LONG */
    uint16_t     nargs;  /* maximum number of arguments that tern_am_commit will pass */
    size_t       min;    /* minimum space for the payload, in bytes */
    size_t       max;    /* maximum useful space, in bytes; may exceed tern_am_max_medium */
    const void  *buffer; /* contains the payload when tern_am_commit is called. NULL: Tern provides the space */
    tern_region *region; /* for long messages: the region of the payload; NULL otherwise */
    uint64_t     offset; /* for long messages: the byte offset of the payload in the part of the target */
    uint32_t     flags;  /* 0 or TERN_IMMEDIATE */
} tern_am_prepare_opts;

#define TERN_AM_PREPARE_OPTS_INIT TERN_SIZED(tern_am_prepare_opts)
#ifndef __cplusplus
#define TERN_AM_PREPARE_OPTS(...) ((tern_am_prepare_opts){ .size = sizeof(tern_am_prepare_opts), __VA_ARGS__ })
#endif

/* Register the handler of an active message id. The call registers the function that handles messages with the id, and
 * the pointer that the function receives. If handler is NULL, messages with the id have no handler. All ranks give an
 * id the same meaning. A message whose id has no handler at its target ends the job.
 * Returns  TERN_OK: the handler is registered.
 *          TERN_ERR_RANGE: id is not below TERN_AM_HANDLERS.
 * Remote   None. A rank must have registered the handler before it makes progress while such a message is in its queue:
 *          register before tern_init, or before a barrier that the senders also call.
 * Threads  Any thread may call this function, even before tern_init, while no message with this id is being handled. */
TERN_API tern_status tern_am_register(unsigned id, tern_am_handler handler, void *user);

/* Send an active message to a rank as a request. The call sends *message as a request to rank. If message->local is
 * NULL, the caller may modify the payload when the call returns.
 * Returns  TERN_OK: the message was sent.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the handler is not registered at this rank, there are more than
 *            TERN_AM_ARGS arguments, a flag is unknown, or the kind does not allow this payload or region.
 *          TERN_ERR_RANGE: rank is not in the context's team, a medium payload exceeds tern_am_max_medium, or a long
 *            payload does not lie in the part of the target. With TERN_IMMEDIATE, the payload of a long message to a
 *            part whose path is "bounce", "ofi" or "tcp" is limited to about tern_am_max_medium.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          TERN_ERR_LINK: the transport failed while it wrote the payload of a long message.
 *          After TERN_AGAIN and after an error, no message was sent, but the payload of a long message may have been
 *            written.
 * Remote   The handler runs at rank, after the payload has arrived, when rank calls Tern and makes progress.
 * Threads  Only the thread that uses ctx may call this function. While the call waits for space, it handles incoming
 *          messages. */
TERN_API tern_status tern_am_request(tern_ctx *ctx, int rank, const tern_am *message);

/* Send an active message as a request, with options. A counter may count the request (opts->counter) or trigger it
 * (opts->when and opts->threshold; see counter.h). The request is complete when it has been sent; then the events of
 * opts complete, and the caller may modify the payload. Without opts->counter and opts->when, the request has been sent
 * when the call returns. message->local is not used. If opts is NULL, no option is set.
 * Returns  TERN_OK: the message was sent or, with opts->counter or opts->when, will be sent.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the handler is not registered at this rank, there are more than
 *            TERN_AM_ARGS arguments, a flag is unknown, the kind does not allow this payload or region, opts is invalid
 *            or contains TERN_NOTIFY, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a medium payload exceeds tern_am_max_medium, or a long
 *            payload does not lie in the part of the target. With TERN_IMMEDIATE, the payload of a long message to a
 *            part whose path is "bounce", "ofi" or "tcp" is limited to about tern_am_max_medium.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue, or to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_LINK: the transport failed while it wrote the payload of a long message.
 *          After TERN_AGAIN and after an error, no message was sent, but the payload of a long message may have been
 *            written.
 * Remote   The handler runs at rank, after the payload has arrived, when rank calls Tern and makes progress.
 * Threads  Only the thread that uses ctx may call this function. The thread that starts a triggered request sends it.
 */
TERN_API tern_status tern_am_request_with(tern_ctx *ctx, int rank, const tern_am *message, const tern_opts *opts);

/* Send the reply to the request that is being handled. A handler can reply once. If message->local is NULL, the caller
 * may modify the payload when the call returns.
 * Returns  TERN_OK: the reply was sent.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the handler is not registered at this rank, there are more than
 *            TERN_AM_ARGS arguments, a flag is unknown, or the kind does not allow this payload or region.
 *          TERN_ERR_RANGE: a medium payload exceeds tern_am_max_medium, or a long payload does not lie in the part of
 *            the target. With TERN_IMMEDIATE, the payload of a long message to a part whose path is "bounce", "ofi" or
 *            "tcp" is limited to about tern_am_max_medium.
 *          TERN_ERR_PEER: the source of the request has died.
 *          TERN_ERR_STATE: token is not the token of a request that this thread is handling, the request has already
 *            been replied to, or the payload of a long message cannot be written without waiting for the target.
 *          TERN_ERR_TIMEOUT: the time that the option TERN_TIMEOUT sets passed before the queue of the target had
 *            space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          TERN_ERR_LINK: the transport failed while it wrote the payload of a long message.
 *          After TERN_AGAIN and after an error, no message was sent, but the payload of a long message may have been
 *            written.
 * Remote   The handler runs at the source of the request, after the payload has arrived, when the source calls Tern and
 *          makes progress.
 * Threads  Only the thread that runs the handler may call this function. While the call waits for space, it handles
 *          incoming replies. */
TERN_API tern_status tern_am_reply(tern_am_token *token, const tern_am *message);

/* Send a short active message to a rank as a request. The message has nargs arguments and no payload. If the queue of
 * the target is full, the call waits for space.
 * Returns  TERN_OK: the message was sent.
 *          TERN_ERR_ARG: ctx is NULL, the handler is not registered at this rank, there are more than TERN_AM_ARGS
 *            arguments, or args is NULL and nargs is not 0.
 *          TERN_ERR_RANGE: rank is not in the context's team.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          After an error, no message was sent.
 * Remote   The handler runs at rank when rank calls Tern and makes progress.
 * Threads  Only the thread that uses ctx may call this function. While the call waits for space, it handles incoming
 *          messages. */
TERN_API tern_status tern_am_short(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs);

/* Send a medium active message to a rank as a request. The message has nargs arguments and a payload of len bytes. If
 * the queue of the target is full, the call waits for space. When the call returns, the caller may modify the payload.
 * Returns  TERN_OK: the message was sent.
 *          TERN_ERR_ARG: ctx is NULL, the handler is not registered at this rank, there are more than TERN_AM_ARGS
 *            arguments, or args is NULL and nargs is not 0, or payload is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the context's team, or len exceeds tern_am_max_medium.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          After an error, no message was sent.
 * Remote   The handler runs at rank when rank calls Tern and makes progress.
 * Threads  Only the thread that uses ctx may call this function. While the call waits for space, it handles incoming
 *          messages. */
TERN_API tern_status tern_am_medium(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs,
                                    const void *payload, size_t len);

/* Reserve space for a request with a negotiated payload. The caller then writes the payload in place. The message must
 * be committed (tern_am_commit) or cancelled (tern_am_cancel); until then, later messages to rank wait behind it. If
 * the queue of the target is full, the call waits for space, unless TERN_IMMEDIATE is set.
 * Returns  TERN_OK: *out describes the space.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the kind is not medium or long, a medium message has a region or a long one
 *            has none, there are more than TERN_AM_ARGS arguments, opts->min exceeds opts->max, or a flag is unknown.
 *          TERN_ERR_RANGE: rank is not in the context's team, opts->min exceeds the space that a queue always has, or a
 *            long payload does not lie in the part of the target.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the queue of the target had space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          After TERN_AGAIN and after an error, no space is reserved.
 * Remote   Later messages to rank are not handled before this one is committed or cancelled.
 * Threads  Only the thread that uses ctx may call this function. The same thread has to commit or cancel the message.
 *          While the call waits for space, it handles incoming messages. */
TERN_API tern_status tern_am_prepare(tern_ctx *ctx, int rank, const tern_am_prepare_opts *opts, tern_am_prepared *out);

/* Reserve space for a reply with a negotiated payload. The reply answers the request that is being handled, and the
 * caller then writes its payload in place. The reply must be committed or cancelled before the handler returns. If the
 * queue of the target is full, the call waits for space, unless TERN_IMMEDIATE is set.
 * Returns  TERN_OK: *out describes the space.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the queue of the target is full.
 *          TERN_ERR_ARG: a pointer is NULL, the kind is not medium or long, a medium message has a region or a long one
 *            has none, there are more than TERN_AM_ARGS arguments, opts->min exceeds opts->max, or a flag is unknown.
 *          TERN_ERR_RANGE: opts->min exceeds the space that a queue always has, or a long payload does not lie in the
 *            part of the target.
 *          TERN_ERR_PEER: the source of the request has died.
 *          TERN_ERR_STATE: token is not the token of a request that this thread is handling, or the request has already
 *            been replied to.
 *          TERN_ERR_TIMEOUT: the time that the option TERN_TIMEOUT sets passed before the queue of the target had
 *            space.
 *          TERN_ERR_NOMEM: there is no memory for a message queue.
 *          After TERN_AGAIN and after an error, no space is reserved.
 * Remote   None until the reply is committed.
 * Threads  Only the thread that runs the handler may call this function. While the call waits for space, it handles
 *          incoming replies. */
TERN_API tern_status tern_am_prepare_reply(tern_am_token *token, const tern_am_prepare_opts *opts,
                                           tern_am_prepared *out);

/* Send a prepared message. The message carries the first len bytes of its payload.
 * Returns  TERN_OK: the message was sent.
 *          TERN_ERR_RANGE: len exceeds the prepared length.
 *          TERN_ERR_ARG: the handler is not registered at this rank, there are more arguments than were prepared, or a
 *            pointer is NULL.
 *          TERN_ERR_STATE: the message has already been committed or cancelled; its context, region or client was
 *            freed; the message is a reply whose handler has returned; or Tern is not initialized.
 *          TERN_ERR_PEER, TERN_ERR_TIMEOUT, TERN_ERR_LINK, TERN_ERR_NOMEM: the payload of a long message could not be
 *            written to the memory of the target.
 *          After an error, a message that was prepared is still prepared: commit it again, or cancel it.
 * Remote   The handler runs at the target, after the payload has arrived, when the target calls Tern and makes
 *          progress.
 * Threads  Only the thread that prepared the message may call this function. */
TERN_API tern_status tern_am_commit(tern_am_prepared *prepared, unsigned handler, const uint32_t *args, unsigned nargs,
                                    size_t len);

/* Cancel a prepared message and release its space. After a reply has been cancelled, another reply may be prepared or
 * sent.
 * Returns  TERN_OK: the message is cancelled.
 *          TERN_ERR_STATE: the message has already been committed or cancelled, or Tern is not initialized.
 *          TERN_ERR_ARG: prepared is NULL.
 * Remote   None. Messages that waited behind the cancelled one can be handled.
 * Threads  Only the thread that prepared the message may call this function. */
TERN_API tern_status tern_am_cancel(tern_am_prepared *prepared);

/* Get the maximum payload of a medium message to a rank. The message has nargs arguments. The limit is the same for
 * requests and replies. tern_am_prepare may provide more space.
 * Returns  The maximum in bytes; 0 if ctx is NULL, rank is not in the context's team, or nargs exceeds TERN_AM_ARGS.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API size_t tern_am_max_medium(const tern_ctx *ctx, int rank, unsigned nargs);

/* Get the maximum payload of a long message to a rank. The message has nargs arguments. The limit is the same for
 * requests and replies.
 * Returns  The maximum in bytes; 0 if ctx is NULL, rank is not in the context's team, or nargs exceeds TERN_AM_ARGS.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API size_t tern_am_max_long(const tern_ctx *ctx, int rank, unsigned nargs);

TERN_END_DECLS

#endif
