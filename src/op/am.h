/* am.h: active messages, below the checks of the public calls. */
#ifndef TERN_OP_AM_H
#define TERN_OP_AM_H

#include <tern/am.h>

#include "core/context.h"
#include "link/link.h"

/* Handlers that Tern keeps for itself: ids from TERN_AM_HANDLERS on. */
#define TERN_OP_AM_RESERVED 16
#define TERN_OP_AM_IDS (TERN_AM_HANDLERS + TERN_OP_AM_RESERVED)

/* The message that is being handled. */
struct tern_am_token {
    int  from;
    bool request, replied;
};

/* What a tern_am_prepared holds behind its public fields. */
struct tern_op_am_room {
    struct tern_link_msg msg;
    struct tern_ctx     *ctx;    /* NULL for a reply */
    tern_am_token       *token;  /* NULL for a request */
    const void          *buffer; /* the caller's, if it gave one */
    struct tern_region  *region; /* of a long message */
    uint64_t             offset;
    uint16_t             nargs;
    uint8_t              kind;
    uint8_t              place;  /* of the payload, or of the wire_long: see wire.h */
    uint8_t              before; /* bytes of data before the payload */
    uint8_t              live;   /* neither committed nor cancelled */
};

/* Begin to receive: called before the job is joined. */
void tern_op_am_open(void);

/* Handlers, by id. */
void tern_op_am_register(unsigned id, tern_am_handler handler, void *user);
bool tern_op_am_known(unsigned id);

/* Whether the token is that of a request which this thread is handling. */
bool tern_op_am_current(const tern_am_token *token);

/* Send a checked message: a request of ctx, or a reply (ctx NULL) to the request being handled. */
tern_status tern_op_am_send(struct tern_ctx *ctx, int peer, const tern_am *message);

/* Take room as wished, checked; peer and ctx as above. */
tern_status tern_op_am_prepare(struct tern_ctx *ctx, int peer, const tern_am_wish *wish, struct tern_op_am_room *room,
                               tern_am_prepared *out);
tern_status tern_op_am_commit(struct tern_op_am_room *room, unsigned handler, const uint32_t *args, unsigned nargs,
                              const void *payload, size_t len);
void        tern_op_am_cancel(struct tern_op_am_room *room);

size_t tern_op_am_max_medium(int peer, unsigned nargs);

#endif
