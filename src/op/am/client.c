/* client.c: see client.h. */
#include "op/am/client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "base/retired.h"
#include "core/helper.h"
#include "core/links.h"
#include "core/message.h"
#include "core/wait.h"

/* A name consists of a slot in the table (the lower bits) and the number of its use, which is never 0. */
#define SLOT_BITS 10
#define USES ((1u << (24 - SLOT_BITS)) - 1)
_Static_assert(TERN_AM_CLIENTS == 1u << SLOT_BITS, "a slot fits into a name");

static struct {
    pthread_mutex_t                lock; /* guards used and uses */
    bool                           used[TERN_AM_CLIENTS];
    uint16_t                       uses[TERN_AM_CLIENTS]; /* number of the last use of each slot, modulo USES */
    /* NULL: the slot has no client that can receive messages. Read by the thread that delivers */
    struct tern_am_client *_Atomic client[TERN_AM_CLIENTS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* clients */

/* ---- names ---- */

/* Give the client a name at this rank. */
static tern_status name_take(struct tern_am_client *client)
{
    unsigned slot = 0;

    pthread_mutex_lock(&table.lock);
    while (slot < TERN_AM_CLIENTS && table.used[slot])
        slot++;
    if (slot < TERN_AM_CLIENTS) {
        table.used[slot] = true;
        table.uses[slot] = (uint16_t)(table.uses[slot] % USES + 1);
        client->name_here = (uint32_t)table.uses[slot] << SLOT_BITS | slot;
    }
    pthread_mutex_unlock(&table.lock);
    if (slot < TERN_AM_CLIENTS)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_NOMEM, "the process has %d clients already; free some of them first",
                          TERN_AM_CLIENTS);
}

static void name_give_back(struct tern_am_client *client)
{
    unsigned slot = client->name_here % TERN_AM_CLIENTS;

    if (client->name_here == 0)
        return;
    atomic_store(&table.client[slot], NULL);
    tern_core_message_pause(); /* another thread may be handling a message of the client */
    pthread_mutex_lock(&table.lock);
    table.used[slot] = false;
    pthread_mutex_unlock(&table.lock);
    client->name_here = 0;
}

/* Return the client with the name; NULL: there is none. */
static struct tern_am_client *named(uint32_t name)
{
    /* acquire: the client. Pairs with the release in publish(). */
    struct tern_am_client *client = atomic_load_explicit(&table.client[name % TERN_AM_CLIENTS], memory_order_acquire);

    return client && client->name_here == name ? client : NULL;
}

/* Let messages find the client. */
static void publish(struct tern_am_client *client)
{
    atomic_store_explicit(&table.client[client->name_here % TERN_AM_CLIENTS], client, memory_order_release);
}

/* ---- receiving ---- */

/* The token of a request of a client. */
struct client_token {
    tern_am_token          token; /* must be first */
    struct tern_am_client *client;
};

struct tern_am_client *tern_op_am_client_of(const tern_am_token *token)
{
    return ((const struct client_token *)token)->client;
}

static __attribute__((cold, noreturn)) void refuse(int from, const char *client, unsigned handler, const char *why)
{
    tern_base_log(TERN_LOG_ERROR,
                  "rank %d was sent an active message of client \"%s\" with handler %u by rank %d, %s; ending the job",
                  tern_job.boot.rank, client, handler, from, why);
    _Exit(1);
}

/* Handle a message for a client that this rank does not have. Either the client was freed after the sender had died, or
 * the message is malformed, which ends the job. */
static __attribute__((cold)) void stray(int from, unsigned handler)
{
    tern_core_job_check_deaths();
    if (!tern_core_job_lost(from))
        refuse(from, "", handler, "which has no such client; a client is freed by all of its ranks together");
}

/* Receive a message of a client. user is not NULL for the messages of clients with by_helper, which the helper thread
 * may deliver. */
static void receive(const tern_am_event *event, void *user)
{
    int                 from = event->token->from;
    /* read once: the sender may be hostile, and may change the message */
    uint32_t            word = event->nargs > 0 ? __atomic_load_n(&event->args[0], __ATOMIC_RELAXED) : 0;
    unsigned            handler = word & 0xff;
    struct client_token token = { .token = *event->token, .client = named(word >> 8) };
    tern_am_event       mine = *event;
    tern_am_handler     function;

    if (TERN_UNLIKELY(!token.client)) {
        stray(from, handler);
        return;
    }
    if (TERN_UNLIKELY(token.client->by_helper != (user != NULL)))
        refuse(from, token.client->text, handler, "on a channel that is not for its messages");
    mine.token = &token.token;
    mine.team = token.client->team;
    mine.source = tern_core_team_rank(mine.team, from);
    mine.nargs--;
    mine.args++;
    /* acquire: pairs with tern_op_am_client_register(). */
    function = __atomic_load_n(&token.client->entry[handler].function, __ATOMIC_ACQUIRE);
    if (TERN_UNLIKELY(mine.source < 0))
        refuse(from, token.client->text, handler, "which is not in the team of the client");
    if (TERN_UNLIKELY(!function))
        refuse(from, token.client->text, handler,
               "which it has not registered; pass the handlers to tern_am_client_create, or register before a barrier");
    token.token.replied = TERN_AM_CLIENT_OPEN;
    tern_op_am_handling = mine.token;
    function(&mine, token.client->entry[handler].user);
    tern_op_am_handling = event->token;
}

static void open_entries(void)
{
    tern_op_am_register(WIRE_AM_CLIENT, receive, NULL);
    tern_op_am_register(WIRE_AM_HELPED, receive, &table);
}

/* ---- the helper thread ---- */

static int64_t poll_clients(struct tern_helper_poller *poller, bool again);

static struct {
    struct tern_helper_poller poller;
    _Atomic uint32_t          clients; /* clients whose handlers the helper thread may run */
    uint32_t                  seen;    /* number of deliveries at the end of the last poll; the helper thread's */
    int64_t                   last;    /* result of the last poll; the helper thread's */
} helper = { .poller = { .poll = poll_clients } };

/* Deliver the messages of clients whose handlers this thread may run. If the program has delivered messages since the
 * last poll, it will probably deliver the next ones, too, and two threads that do the same work are slower than one. */
static int64_t poll_clients(struct tern_helper_poller *poller, bool again)
{
    uint32_t before = tern_core_message_delivered();

    (void)poller;
    if (atomic_load_explicit(&helper.clients, memory_order_relaxed) == 0) /* a change wakes this thread */
        return TERN_HELPER_IDLE;
    if (again && helper.last == TERN_HELPER_NAP)
        return TERN_HELPER_NAP; /* the announced nap is short, so no wake has to end it */
    if (before != helper.seen) {
        helper.seen = before;
        return helper.last = TERN_HELPER_NAP;
    }
    tern_core_message_poll_channels(TERN_MESSAGES_HELPED);
    helper.seen = tern_core_message_delivered();
    if (helper.seen == before)
        return helper.last = TERN_HELPER_EVENT;
    tern_boot_wake(tern_core_job_slot(tern_job.boot.rank)); /* the program may be waiting for the handlers */
    return helper.last = 0;
}

static tern_status helper_join(void)
{
    tern_status st;

    if (tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return tern_base_fail(TERN_ERR_STATE, "by_helper is set, but TERN_PROGRESS_THREAD=off disables the thread that "
                                              "would run the handlers; remove one of the two");
    tern_core_message_help();
    atomic_fetch_add(&helper.clients, 1);
    if ((st = tern_boot_helper_add(&tern_core_helper, &helper.poller)) < 0)
        atomic_fetch_sub(&helper.clients, 1);
    else
        tern_boot_helper_wake(&tern_core_helper, &helper.poller);
    return st;
}

/* ---- creating ---- */

/* The contribution of each rank, which is sent to the other ranks. */
struct contribution {
    struct tern_team_result result;
    uint32_t                by_helper;
    uint32_t                name;
};
_Static_assert(sizeof(struct contribution) == 264, "a contribution has no padding");
_Static_assert(sizeof(struct contribution) <= TERN_TEAM_SCRATCH,
               "a contribution fits into the scratch space of the team");

static struct tern_am_client *client_new(struct tern_team *team, const tern_am_client_opts *opts)
{
    struct tern_list      *node = tern_base_retired_reuse(&freed);
    size_t                 bytes = sizeof(struct tern_am_client) + (size_t)tern_job.boot.ranks * sizeof(uint32_t);
    struct tern_am_client *client = node ? TERN_LIST_ITEM(node, struct tern_am_client, node) : malloc(bytes);

    if (!client)
        return NULL;
    memset(client, 0, bytes);
    tern_base_list_init(&client->node);
    client->team = team;
    client->by_helper = opts->by_helper != 0;
    snprintf(client->text, sizeof(client->text), "%s", opts->name ? opts->name : "");
    for (size_t i = 0; i < opts->count; i++)
        tern_op_am_client_register(client, opts->handlers[i].id, opts->handlers[i].handler, opts->handlers[i].user);
    return client;
}

/* Check that all members passed the same options. */
static tern_status check_equal(const struct contribution *all, int size)
{
    for (int i = 1; i < size; i++)
        if (all[i].by_helper != all[0].by_helper)
            return tern_base_fail(
                TERN_ERR_ARG,
                "tern_am_client_create: rank %d passed by_helper %u, rank 0 passed %u; all ranks pass "
                "the same",
                i, all[i].by_helper, all[0].by_helper);
    return TERN_OK;
}

/* Exchange the names. client may be NULL if st is an error. */
static tern_status agree(struct tern_ctx *ctx, struct tern_am_client *client, tern_status st)
{
    struct tern_team          *team = ctx->team;
    struct contribution        mine = { 0 };
    const struct contribution *all = team->scratch;

    if (st == TERN_OK) {
        mine.by_helper = client->by_helper;
        mine.name = client->name_here;
    }
    if ((st = tern_core_team_exchange(team, &mine.result, sizeof(mine), st, tern_core_ctx_deadline(ctx),
                                      TERN_COLLECTIVE_AM_CLIENT_CREATE, NULL)) < 0 ||
        (st = check_equal(all, team->size)) < 0)
        return st;
    for (int i = 0; i < team->size; i++)
        client->name_at[tern_core_team_world(team, i)] = all[i].name;
    return TERN_OK;
}

/* Undo client_begin(), and free the client, which no more messages can reach. */
static void client_end(struct tern_am_client *client, bool joined)
{
    if (joined)
        atomic_fetch_sub(&helper.clients, 1);
    name_give_back(client);
    client->freed = true;
    tern_base_retire(&freed, &client->node);
}

/* Give the client its name and, if its handlers may run in the helper thread, register it there. */
static tern_status client_begin(struct tern_am_client *client, bool *joined)
{
    tern_status st;

    open_entries();
    if (!client)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a client");
    if ((st = name_take(client)) < 0 || !client->by_helper)
        return st;
    *joined = (st = helper_join()) == TERN_OK;
    return st;
}

tern_status tern_op_am_client_create(struct tern_ctx *ctx, const tern_am_client_opts *opts, tern_status checked,
                                     struct tern_am_client **out)
{
    struct tern_am_client *client = checked == TERN_OK ? client_new(ctx->team, opts) : NULL;
    bool                   joined = false;
    tern_status            st = checked == TERN_OK ? client_begin(client, &joined) : checked;

    if ((st = agree(ctx, client, st)) == TERN_OK) {
        publish(client);
        /* A member that leaves this all-gather may send messages at once, because all members have published the client
         * by then. */
        st = tern_core_team_gather(ctx->team, NULL, 0, NULL, tern_core_ctx_deadline(ctx),
                                   TERN_COLLECTIVE_AM_CLIENT_CREATE);
    }
    if (st == TERN_OK) {
        atomic_fetch_add_explicit(&client->team->clients, 1, memory_order_relaxed); /* only counts */
        tern_base_log(TERN_LOG_DEBUG, "tern_am_client_create: client \"%s\" of %s%s", client->text,
                      tern_core_team_name(client->team).text, client->by_helper ? ", also on the helper thread" : "");
        *out = client;
    } else if (client) {
        client_end(client, joined);
    }
    return st;
}

void tern_op_am_client_register(struct tern_am_client *client, unsigned id, tern_am_handler handler, void *user)
{
    client->entry[id].user = user;
    /* release: user before the function. Pairs with the acquire in receive(). */
    __atomic_store_n(&client->entry[id].function, handler, __ATOMIC_RELEASE);
}

/* ---- freeing ---- */

/* A wait until the messages that this rank has sent have arrived at their targets, or until the messages of a channel
 * from all members have been handled. */
struct settling {
    const struct tern_team *team;
    unsigned                channel; /* TERN_CHANNELS: wait until this rank's messages have arrived */
    int                     member;  /* the first member some of whose messages may not have been handled */
};

static tern_status settle_poll(void *arg)
{
    struct settling *s = arg;

    tern_core_message_poll();
    tern_core_job_check_deaths();
    if (s->channel == TERN_CHANNELS)
        return tern_core_links_msg_flushed() ? TERN_OK : TERN_PENDING;
    for (; s->member < s->team->size; s->member++)
        if (!tern_core_job_lost(tern_core_team_world(s->team, s->member)) &&
            tern_core_message_has_from(tern_core_team_world(s->team, s->member), s->channel))
            return TERN_PENDING;
    return TERN_OK;
}

static void settle_describe(void *arg, char *text, size_t size)
{
    const struct settling *s = arg;

    if (s->channel == TERN_CHANNELS)
        snprintf(text, size,
                 "tern_am_client_free waits for its messages to be received by ranks that make no progress");
    else
        snprintf(text, size, "tern_am_client_free waits until the messages of rank %d are handled", s->member);
}

static tern_status settle(const struct tern_team *team, unsigned channel, tern_deadline deadline)
{
    struct settling  s = { .team = team, .channel = channel };
    struct tern_wait wait = { .poll = settle_poll, .describe = settle_describe, .arg = &s, .deadline = deadline };

    return tern_core_wait(&wait);
}

/* Wait until the messages of all living members on the channel have been handled. This rank must not send further
 * messages on the channel. The members meet by departing from the client, because that works after deaths, too. */
static tern_status drain(struct tern_am_client *client, unsigned channel, tern_deadline deadline)
{
    int      leader = tern_core_team_world(client->team, 0);
    uint64_t object =
        TERN_TEAM_OBJECT_CLIENT | (uint64_t)channel << 56 | (uint64_t)leader << 24 | client->name_at[leader];
    tern_status st = settle(client->team, TERN_CHANNELS, deadline);

    if (st == TERN_OK)
        st = tern_core_team_part(client->team, object, deadline, "tern_am_client_free");
    return st == TERN_OK ? settle(client->team, channel, deadline) : st;
}

tern_status tern_op_am_client_free(struct tern_am_client *client)
{
    tern_deadline deadline = tern_core_job_deadline();
    unsigned      request = client->by_helper ? TERN_CHANNEL_HELPER_REQUEST : TERN_CHANNEL_REQUEST;
    unsigned      reply = client->by_helper ? TERN_CHANNEL_HELPER_REPLY : TERN_CHANNEL_REPLY;
    tern_status   st = client->answered ? TERN_OK : drain(client, request, deadline);

    client->answered = st == TERN_OK; /* a call that times out may be repeated */
    if (st == TERN_OK)
        st = drain(client, reply, deadline);
    if (st == TERN_OK) {
        tern_base_log(TERN_LOG_DEBUG, "tern_am_client_free: client \"%s\" is freed", client->text);
        atomic_fetch_sub_explicit(&client->team->clients, 1, memory_order_relaxed); /* only counts */
        client_end(client, client->by_helper);
    }
    return st;
}

void tern_op_am_clients_close(void)
{
    for (unsigned slot = 0; slot < TERN_AM_CLIENTS; slot++) {
        struct tern_am_client *client = atomic_load(&table.client[slot]);

        if (client)
            client_end(client, client->by_helper);
    }
}

/* ---- sending ---- */

void tern_op_am_client_translate(const struct tern_am_client *client, int peer, const tern_am *message,
                                 struct tern_op_client_am *out)
{
    out->am = *message;
    out->am.handler = (uint16_t)tern_op_am_client_handler(client);
    out->am.nargs = (uint16_t)(message->nargs + 1);
    out->am.args = out->args;
    out->args[0] = tern_op_am_client_word(client, peer, message->handler);
    for (unsigned i = 0; i < message->nargs; i++)
        out->args[i + 1] = message->args[i];
}

tern_status tern_op_am_client_short(const struct tern_am_client *client, struct tern_ctx *ctx, int peer,
                                    unsigned handler, const uint32_t *args, unsigned nargs)
{
    unsigned wire = tern_op_am_client_handler(client);
    uint32_t words[WIRE_ARGS];

    if (TERN_UNLIKELY(nargs >= WIRE_ARGS || (ctx && tern_core_ctx_must_follow(ctx, peer))))
        return TERN_AGAIN;
    words[0] = tern_op_am_client_word(client, peer, handler);
    for (unsigned i = 0; i < nargs; i++)
        words[i + 1] = args[i];
    return tern_core_ops_to(peer)->msg->send_short(tern_core_link_to(peer), peer, tern_op_am_channel(wire, ctx == NULL),
                                                   wire_first(wire, nargs + 1), words, nargs + 1);
}
