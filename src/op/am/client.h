/* client.h: clients of active messages, each with a table of handlers of its own.
 *
 * A message of a client is an active message with the reserved handler WIRE_AM_CLIENT or WIRE_AM_HELPED. Its first
 * argument is the name of the client at the target, and the id of the handler in the client's table; the arguments of
 * the program follow. Messages of the default client have no such argument, and therefore do not become slower.
 *
 * Each rank chooses the names of its clients: a name consists of a slot in the table of this rank, and the number of
 * the use of the slot. The members of the team exchange the names when they create the client, so that a message needs
 * no lookup at its target.
 *
 * If the helper thread may run the handlers, the messages of the client have the handler WIRE_AM_HELPED and travel on
 * channels of their own, because the helper thread must not take messages whose handlers only the program may run.
 */
#pragma once

#include <tern/am_client.h>

#include "core/context.h"
#include "op/am/am.h"

#define TERN_AM_CLIENTS 1024 /* maximum number of clients that a process has at a time */

struct tern_am_client {
    struct tern_list        node;  /* on the list of freed clients */
    bool                    freed; /* the memory is kept for a while, so that use after free is detected */
    bool                    by_helper;
    bool                    answered;  /* tern_am_client_free has handled the requests, but not the replies */
    uint32_t                name_here; /* the name at this rank; 0: none yet */
    struct tern_team       *team;
    char                    text[32]; /* the name that the program gave, for error texts */
    struct tern_op_am_entry entry[TERN_AM_HANDLERS];
    uint32_t                name_at[]; /* [ranks of the job] the name at each member; 0: not a member */
};

/* A message of a client as it is sent: the name of the client is the first argument. */
struct tern_op_client_am {
    tern_am  am;
    uint32_t args[WIRE_AM_ARGS];
};

/* Create a client. Collective, on a claimed team. checked is TERN_OK, or the error in this rank's arguments, which is
 * sent to all members, so that no member waits for this rank in vain. */
tern_status tern_op_am_client_create(struct tern_ctx *ctx, const tern_am_client_opts *opts, tern_status checked,
                                     struct tern_am_client **out);

/* Free a client after all of its messages were handled. Collective, on a claimed team. */
tern_status tern_op_am_client_free(struct tern_am_client *client);

/* Free all clients, at the end of the job. */
void tern_op_am_clients_close(void);

void tern_op_am_client_register(struct tern_am_client *client, unsigned id, tern_am_handler handler, void *user);

static inline bool tern_op_am_client_knows(const struct tern_am_client *client, unsigned id)
{
    return id < TERN_AM_HANDLERS && __atomic_load_n(&client->entry[id].function, __ATOMIC_RELAXED) != NULL;
}

/* Return the first argument of a message to a rank of the job. */
static inline uint32_t tern_op_am_client_word(const struct tern_am_client *client, int peer, unsigned handler)
{
    return client->name_at[peer] << 8 | handler;
}

static inline unsigned tern_op_am_client_handler(const struct tern_am_client *client)
{
    return client->by_helper ? WIRE_AM_HELPED : WIRE_AM_CLIENT;
}

/* Write a message as it is sent, with the name of the client. The handler and arguments of the message must be
 * valid. */
void tern_op_am_client_translate(const struct tern_am_client *client, int peer, const tern_am *message,
                                 struct tern_op_client_am *out);

/* Try to send a message without payload immediately. Returns TERN_AGAIN if this is not possible now. */
tern_status tern_op_am_client_short(const struct tern_am_client *client, struct tern_ctx *ctx, int peer,
                                    unsigned handler, const uint32_t *args, unsigned nargs);

/* Return the client of a request that is being handled. The token must have the state TERN_AM_CLIENT_OPEN or
 * TERN_AM_CLIENT_REPLIED. */
struct tern_am_client *tern_op_am_client_of(const tern_am_token *token);
