/* am.h: active messages: a handler that the sender names runs at the target.
 *
 * Three kinds. Short: arguments only. Medium: with a payload that the handler may read until it returns. Long: with a
 * payload that lies at an offset of the target's part of a region before the handler runs. Up to 16 arguments of 32
 * bits.
 *
 * Requests may be sent from anywhere but a handler. A request's handler may send one reply, to the request's source; a
 * reply's handler may send nothing. Messages from one rank to another are handled in the order in which they were sent,
 * requests and replies each for themselves; a prepared message counts from its preparation.
 *
 * Handlers run inside calls of Tern that wait or make progress, on the thread that makes them, whichever context it
 * uses; never two at the same time in one process, except that a reply's handler may run inside a request's handler
 * that waits to send its own reply. A handler may reply, ask (ranks, sizes, pointers, clock), and use tern_put and
 * tern_get on parts whose tern_region_path is "self", "shm" or "cma". Anything that would have to wait returns
 * TERN_ERR_STATE there.
 *
 * The queues are bounded: a sender that finds the target's queue full serves its own incoming messages until there is
 * room, or returns TERN_AGAIN at once if TERN_IMMEDIATE was given.
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

TERN_BEGIN_DECLS

#define TERN_AM_HANDLERS 256 /* ids 0 ... 255 are the program's; those above are Tern's own */
#define TERN_AM_ARGS 16

typedef enum tern_am_kind { TERN_AM_SHORT = 0, TERN_AM_MEDIUM = 1, TERN_AM_LONG = 2 } tern_am_kind;

/* The message that is being handled. Valid until the handler returns. */
typedef struct tern_am_token tern_am_token;

/* What a handler gets. */
typedef struct tern_am_event {
    tern_am_token  *token;   /* to reply with */
    int             source;  /* rank in the job */
    bool            request; /* or a reply */
    tern_am_kind    kind;
    unsigned        nargs;
    const uint32_t *args;
    void           *payload; /* medium: until the handler returns; long: in this rank's part of the region */
    size_t          len;
} tern_am_event;

typedef void (*tern_am_handler)(const tern_am_event *event, void *user);

/* A message to send. */
typedef struct tern_am {
    tern_am_kind    kind;
    uint16_t        handler;
    uint16_t        nargs;
    const uint32_t *args;
    const void     *payload; /* medium, long */
    size_t          len;
    tern_region    *region; /* long: where the payload goes */
    uint64_t        offset;
    uint32_t        flags; /* TERN_IMMEDIATE */
    tern_event     *local; /* filled with the event that the payload may be overwritten; NULL: it may be on return */
} tern_am;

/* A message in the making: its payload is written straight into the queue that the target reads, or for a long message
 * into the target's memory. */
typedef struct tern_am_prepared {
    void    *addr; /* where to write the payload; the caller's own buffer if it gave one */
    size_t   len;  /* bytes that it may have: at least the minimum that was asked for */
    uint64_t reserved[14];
} tern_am_prepared;

/* What to prepare. */
typedef struct tern_am_wish {
    tern_am_kind kind;   /* medium or long */
    uint16_t     nargs;  /* that commit will have at most */
    size_t       min;    /* fewer bytes of payload are of no use */
    size_t       max;    /* more are not needed; may exceed the usual maximum */
    const void  *buffer; /* the payload is here already, or will be by commit; NULL: give me room */
    tern_region *region; /* long: where the payload goes */
    uint64_t     offset;
    uint32_t     flags; /* TERN_IMMEDIATE */
} tern_am_wish;

/* Say which function handles messages with an id, and what pointer it gets; handler NULL: none. All ranks give an id
 * the same meaning; a message whose id its target does not know ends the job. May be called before tern_init.
 * Returns  TERN_OK. TERN_ERR_RANGE: the id is not below TERN_AM_HANDLERS.
 * Remote   none. A rank must have done this before it makes progress with such a message in its queue: register before
 *          tern_init, or before a barrier that the senders share.
 * Threads  any, while no message with this id is being handled. */
TERN_API tern_status tern_am_register(unsigned id, tern_am_handler handler, void *user);

/* Send a request to rank.
 * Returns  TERN_OK: sent. TERN_AGAIN: TERN_IMMEDIATE was given and there is no room; nothing was sent. TERN_ERR_ARG:
 *          the handler is not registered here, there are too many arguments, a pointer is NULL, a flag is unknown or
 *          the kind has no such payload. TERN_ERR_RANGE: no such rank, the payload is longer than the maximum (an
 *          immediate long message to memory that only its rank can reach has that of a medium one, about), or it does
 *          not lie in the region's part. TERN_ERR_PEER: rank is gone. TERN_ERR_STATE: called by a handler.
 *          TERN_ERR_TIMEOUT: no room within the context's time limit. Nothing was sent after an error; the payload of
 *          a long message may have been written.
 * Remote   the handler runs at rank when rank makes progress, after the payload has arrived.
 * Threads  the one that uses ctx. Serves incoming messages while it waits for room. */
TERN_API tern_status tern_am_request(tern_ctx *ctx, int rank, const tern_am *message);

/* Send a request to rank, with options: one that a counter counts, or triggers (counter.h); message->local is not used.
 * It is complete when it has been sent: then its payload may be overwritten, and the events of opts are done. opts
 * NULL: as tern_am_request.
 * Returns  as tern_am_request; without opts->counter and opts->when it has been sent. TERN_ERR_ARG also: opts are not
 *          valid, or a counter is of another context. TERN_ERR_NOMEM.
 * Remote   as tern_am_request.
 * Threads  the one that uses ctx. One that is triggered is sent by whoever starts it. */
TERN_API tern_status tern_am_request_with(tern_ctx *ctx, int rank, const tern_am *message, const tern_opts *opts);

/* Send the reply to the request that is being handled. Once.
 * Returns  as tern_am_request. TERN_ERR_STATE: the token is not that of a request that is being handled by this thread,
 *          or it has been replied to.
 * Remote   the handler runs at the source of the request when that makes progress.
 * Threads  the one that runs the handler. Serves incoming replies while it waits for room. */
TERN_API tern_status tern_am_reply(tern_am_token *token, const tern_am *message);

/* Send a short request.
 * Returns  as tern_am_request.
 * Remote   as tern_am_request.
 * Threads  as tern_am_request. */
TERN_API tern_status tern_am_short(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs);

/* Send a medium request; the payload may be overwritten on return.
 * Returns  as tern_am_request.
 * Remote   as tern_am_request.
 * Threads  as tern_am_request. */
TERN_API tern_status tern_am_medium(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs,
                                    const void *payload, size_t len);

/* Take room for a request to rank whose payload the caller writes in place. It must be committed or cancelled; until
 * then later messages to rank wait behind it.
 * Returns  TERN_OK and the room in *out. Otherwise as tern_am_request, and nothing is taken.
 * Remote   none.
 * Threads  the one that uses ctx; commit and cancel by the same. */
TERN_API tern_status tern_am_prepare(tern_ctx *ctx, int rank, const tern_am_wish *wish, tern_am_prepared *out);

/* Take room for the reply to the request that is being handled. Must be committed or cancelled before the handler
 * returns.
 * Returns  as tern_am_prepare and tern_am_reply.
 * Remote   none.
 * Threads  the one that runs the handler. */
TERN_API tern_status tern_am_prepare_reply(tern_am_token *token, const tern_am_wish *wish, tern_am_prepared *out);

/* Send a prepared message with len bytes of payload.
 * Returns  TERN_OK: sent. TERN_ERR_RANGE: len is above the prepared length. TERN_ERR_ARG: the handler is not registered
 *          here, more arguments than were prepared, or a pointer is NULL. TERN_ERR_STATE: committed or cancelled
 *          before. After TERN_ERR_RANGE and TERN_ERR_ARG it is still prepared.
 * Remote   as tern_am_request.
 * Threads  the one that prepared it. */
TERN_API tern_status tern_am_commit(tern_am_prepared *prepared, unsigned handler, const uint32_t *args, unsigned nargs,
                                    size_t len);

/* Give up a prepared message. A reply that was cancelled may be prepared or sent again.
 * Returns  TERN_OK. TERN_ERR_STATE: committed or cancelled before. TERN_ERR_ARG: prepared is NULL.
 * Remote   none.
 * Threads  the one that prepared it. */
TERN_API tern_status tern_am_cancel(tern_am_prepared *prepared);

/* The longest payload of a medium message to rank that has nargs arguments; the same for requests and replies. What
 * tern_am_prepare gives may be more.
 * Returns  bytes; 0 when ctx is NULL, there is no such rank, or nargs is above TERN_AM_ARGS.
 * Remote   none.
 * Threads  any. */
TERN_API size_t tern_am_max_medium(const tern_ctx *ctx, int rank, unsigned nargs);

/* The longest payload of a long message to rank that has nargs arguments; the same for requests and replies.
 * Returns  bytes; 0 as tern_am_max_medium.
 * Remote   none.
 * Threads  any. */
TERN_API size_t tern_am_max_long(const tern_ctx *ctx, int rank, unsigned nargs);

/* Make progress, running handlers, until the condition holds or the deadline passes. The condition is evaluated after
 * each poll and must be cheap; typically it looks at something that handlers change. A wait that lasts longer sleeps,
 * and is woken by active messages, tagged messages, notifications and signals that come to this rank, and by the end of
 * its own operations, and by atomic operations that a thread of this rank carries out for others (paths cma, bounce and
 * ofi). What puts, atomic operations through shared memory and other threads of the program change wakes nobody: the
 * condition sees it within a fifth of a second.
 * Returns  TERN_OK: it holds. TERN_ERR_TIMEOUT: it does not. TERN_ERR_STATE: called by a handler. TERN_ERR_ARG: a
 *          pointer is NULL.
 * Remote   none of its own.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_wait_until(tern_ctx *ctx, bool (*condition)(void *arg), void *arg, tern_deadline deadline);

TERN_END_DECLS

#endif
