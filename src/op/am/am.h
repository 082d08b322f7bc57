/* am.h: active messages, below the argument checks of the public calls. */
#pragma once

#include <tern/am.h>

#include "core/context.h"
#include "core/job.h"
#include "op/am/inject.h"
#include "op/wire.h"

/* The number of handlers that Tern reserves for itself. Their ids start at TERN_AM_HANDLERS. */
#define TERN_OP_AM_RESERVED 16
#define TERN_OP_AM_FIN TERN_AM_HANDLERS          /* FIN of a tagged message: op/tagged/send.c */
#define TERN_OP_AM_ASSIST (TERN_AM_HANDLERS + 1) /* ASSIST, which asks a sender to copy: op/tagged/rndv_assist_send.c */
#define TERN_OP_AM_IDS (TERN_AM_HANDLERS + TERN_OP_AM_RESERVED)
_Static_assert(WIRE_AM_CLIENT == TERN_AM_HANDLERS + 2 && WIRE_AM_HELPED < TERN_OP_AM_IDS &&
                   WIRE_AM_ARGS == TERN_AM_ARGS + 1,
               "messages of clients have reserved handlers, and one argument more");

/* Whether a request was replied to. A request of a client (op/am/client.h) has states of its own, so that the calls of
 * the default client need no additional check for clients. */
enum tern_am_replied { TERN_AM_OPEN, TERN_AM_REPLIED, TERN_AM_CLIENT_OPEN, TERN_AM_CLIENT_REPLIED };

/* The message that a handler is processing. */
struct tern_am_token {
    int     from; /* rank in the job */
    bool    request;
    uint8_t replied; /* enum tern_am_replied */
    uint64_t
        team; /* WIRE_TEAM of the team in which ranks are counted, which the reply also carries. With WIRE_TEAM_NAMED,
               * the upper 32 bits are the id of the team */
};

/* The private contents of a tern_am_prepared, which follow its public fields. */
struct tern_op_am_reservation {
    struct tern_link_msg   msg;
    struct tern_ctx       *ctx;    /* NULL for a reply */
    tern_am_token         *token;  /* NULL for a request */
    struct tern_region    *region; /* of a long message */
    uint64_t               offset;
    uint16_t               nargs;
    uint8_t                kind;
    uint8_t                location; /* location of the payload, or of the wire_long: see wire.h */
    uint8_t                before;   /* bytes of message data before the payload */
    uint8_t                live;     /* enum tern_am_live */
    struct tern_am_client *client;   /* for TERN_AM_LIVE_CLIENT */
};

/* The state of a prepared message: it cannot be committed any more; it can be committed; it can be committed, and is a
 * message of a client. */
enum tern_am_live { TERN_AM_DEAD, TERN_AM_LIVE, TERN_AM_LIVE_CLIENT };

/* Upcall of the links (struct tern_link_up): run the handler of a message. */
void tern_op_am_receive(int from, unsigned channel, const unsigned char *head_bytes, const unsigned char *data,
                        size_t len);

/* Upcall of the links: run the handler of a message on the channels of messages that the helper thread may receive. */
void tern_op_am_receive_helped(int from, unsigned channel, const unsigned char *head_bytes, const unsigned char *data,
                               size_t len);

/* The handlers, indexed by id. */
extern struct tern_op_am_entry {
    tern_am_handler function;
    void           *user;
} tern_op_am_entry[TERN_OP_AM_IDS];

void tern_op_am_register(unsigned id, tern_am_handler handler, void *user);

/* Return whether the program has registered a handler with this id. */
static inline bool tern_op_am_known(unsigned id)
{
    return id < TERN_AM_HANDLERS && __atomic_load_n(&tern_op_am_entry[id].function, __ATOMIC_RELAXED) != NULL;
}

/* The innermost message that this thread is handling. */
extern _Thread_local const tern_am_token *tern_op_am_handling TERN_CORE_TLS;

/* Return whether the token belongs to a request that this thread is handling. */
static inline bool tern_op_am_current(const tern_am_token *token)
{
    return token != NULL && token == tern_op_am_handling && token->request;
}

/* Return the handler field of a request of ctx, or of a reply (ctx NULL): the handler and the team. */
static inline unsigned tern_op_am_with_team(const struct tern_ctx *ctx, unsigned handler)
{
    return handler | (ctx ? ctx->am_team : (unsigned)tern_op_am_handling->team);
}

/* Return the id of the team if a request of ctx, or a reply (ctx NULL), must name it; 0: the handler field identifies
 * the team. */
static inline uint32_t tern_op_am_named_team(const struct tern_ctx *ctx)
{
    if (ctx)
        return ctx->am_short < 0 ? ctx->team->id : 0;
    return tern_op_am_handling ? (uint32_t)(tern_op_am_handling->team >> 32) : 0;
}

/* Try to send a checked message whose arguments and payload fit into one cache line. The first function sends a request
 * of ctx, the second one a reply of the thread that delivers; its `handler` contains the team of the reply. Both
 * functions return TERN_AGAIN if the caller must use tern_op_am_send. */
static inline __attribute__((always_inline)) tern_status tern_op_am_request_small(const struct tern_ctx *ctx, int peer,
                                                                                  const tern_am *message)
{
    if (TERN_UNLIKELY((int)message->nargs > ctx->am_short || tern_core_ctx_has_ops(ctx)))
        return TERN_AGAIN;
    return tern_op_am_inject(peer, TERN_CHANNEL_REQUEST, message, message->handler | ctx->am_team);
}

static inline __attribute__((always_inline)) tern_status tern_op_am_reply_small(int peer, const tern_am *message,
                                                                                unsigned handler)
{
    if (TERN_UNLIKELY(handler >= WIRE_TEAM(WIRE_TEAM_NAMED)))
        return TERN_AGAIN;
    return tern_op_am_inject(peer, TERN_CHANNEL_REPLY, message, handler);
}

/* Try to send a reply of Tern itself, without payload. Only the thread that delivers may use the channel REPLY; every
 * thread may use HELPER_REPLY. Returns TERN_AGAIN if there is no space. */
tern_status tern_op_am_reply_own(int peer, unsigned channel, unsigned handler, const uint32_t *args, unsigned nargs);

/* Send a checked message of any kind: a request of ctx, or a reply (ctx NULL) to the request that is being handled.
 * call is the public call, for errors and reports. */
tern_status tern_op_am_send(struct tern_ctx *ctx, int peer, const tern_am *message, const char *call);

/* Return the channel of a message of a client, whose handler is WIRE_AM_CLIENT or WIRE_AM_HELPED. */
static inline unsigned tern_op_am_channel(unsigned handler, bool reply)
{
    return (handler == WIRE_AM_HELPED ? TERN_CHANNEL_HELPER_REQUEST : TERN_CHANNEL_REQUEST) + (reply ? 1u : 0u);
}

static inline bool tern_op_am_is_client(unsigned handler)
{
    return handler == WIRE_AM_CLIENT || handler == WIRE_AM_HELPED;
}

/* Return whether a message of the handler may travel on the channel HELPER_REQUEST or HELPER_REPLY. */
static inline bool tern_op_am_is_helped(unsigned handler, unsigned channel)
{
    return handler == WIRE_AM_HELPED || (handler == TERN_OP_AM_FIN && channel == TERN_CHANNEL_HELPER_REPLY);
}

/* Send a message of a client, which tern_op_am_client_translate() has written: a request of ctx, or a reply (ctx NULL)
 * to the request that is being handled. */
tern_status tern_op_am_send_client(struct tern_ctx *ctx, int peer, const tern_am *message, const char *call);

/* Send a long message whose payload is already in the target's memory. The message may be that of a client. Returns
 * TERN_AGAIN if it cannot be sent now. */
tern_status tern_op_am_send_placed(struct tern_ctx *ctx, int peer, const tern_am *message);

/* tern_op_am_prepare reserves space for a message as described by checked options; peer, ctx and call are as in
 * tern_op_am_send. The caller must then either commit or cancel the reservation. */
tern_status tern_op_am_prepare(struct tern_ctx *ctx, int peer, const tern_am_prepare_opts *opts,
                               struct tern_op_am_reservation *reservation, tern_am_prepared *out, const char *call);
/* Reserve space for a message of a client. The number of arguments in the options includes the one that names the
 * client. */
tern_status tern_op_am_prepare_client(struct tern_am_client *client, struct tern_ctx *ctx, int peer,
                                      const tern_am_prepare_opts *opts, struct tern_op_am_reservation *reservation,
                                      tern_am_prepared *out, const char *call);
tern_status tern_op_am_commit(struct tern_op_am_reservation *reservation, unsigned handler, const uint32_t *args,
                              unsigned nargs, const void *payload, size_t len);
void        tern_op_am_cancel(struct tern_op_am_reservation *reservation);

size_t tern_op_am_max_medium(int peer, unsigned nargs);

/* Return the length of the longest payload that a long message can carry in its own data. A message carries its payload
 * if the transfer needs the target's help and the sender must not wait for it. */
size_t tern_op_am_max_carried(int peer);

/* Return whether a transfer to the part may have to wait for the target's help. */
static inline bool tern_op_am_needs_help(const struct tern_link_part *part)
{
    return part->path && !tern_link_loads(part) && !part->path->instant;
}
