/* am.c: active messages: writing them into the target's queue, and running handlers for incoming messages.
 *
 * A message is written where the target reads it. The payload of a long message is transferred into the target's part
 * first, by the path of that part, and the transfer is complete before the message is published. Incoming messages are
 * checked before a handler sees them.
 */
#include "op/am/am.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/read_once.h"
#include "core/group_bruck.h"
#include "core/job.h"
#include "core/message.h"
#include "core/region.h"
#include "core/wait.h"
#include "core/wire.h"
#include "op/start.h"
#include "op/am/client.h"
#include "op/am/decode.h"
#include "op/am/named.h"
#include "op/wire.h"

struct tern_op_am_entry tern_op_am_entry[TERN_OP_AM_IDS];

_Static_assert(offsetof(struct wire_am, handler) == 0 && offsetof(struct wire_am, shape) == CORE_WIRE_MARK_AT &&
                   TERN_OP_AM_IDS <= CORE_WIRE_OWN,
               "the core's own messages are no active messages, and none that is short");

_Thread_local const tern_am_token *tern_op_am_handling TERN_CORE_TLS;

void tern_op_am_register(unsigned id, tern_am_handler handler, void *user)
{
    tern_op_am_entry[id].user = user;
    /* release: user before the function. Pairs with the acquire in run(). */
    __atomic_store_n(&tern_op_am_entry[id].function, handler, __ATOMIC_RELEASE);
}

/* ---- receiving ---- */

/* End the job. A malformed message cannot be answered, and ignoring it would leave the sender waiting. */
static __attribute__((cold, noreturn)) void refuse(int from, unsigned handler, const char *why)
{
    tern_base_log(TERN_LOG_ERROR, "rank %d was sent an active message with handler %u by rank %d, %s; ending the job",
                  tern_job.boot.rank, handler, from, why);
    _Exit(1);
}

/* Find the memory of this rank that a long message refers to. */
static void *long_payload(const struct wire_long *at)
{
    struct tern_link_part part;

    if (!tern_core_region_named(at->region, -1, &part) || !tern_base_covers(part.size, at->offset, at->len))
        return NULL;
    return (void *)(uintptr_t)(part.addr + at->offset);
}

#define NO_TEAM UINT32_MAX /* result of enter_team(), in place of a handler: this rank does not have the team */

/* Remove the id of the team, which is the first argument, from the arguments, and return the team. Returns NULL if
 * there is no argument, or if this rank has no such team. */
static struct tern_team *take_team(tern_am_event *event)
{
    uint32_t id;

    if (event->nargs == 0)
        return NULL;
    id = __atomic_load_n(event->args, __ATOMIC_RELAXED); /* once: a hostile sender may change it */
    event->args++;
    event->nargs--;
    event->token->team |= (uint64_t)id << 32;
    return id >= TERN_TEAM_FIRST ? tern_core_team_numbered(id) : NULL;
}

/* Give the event the team that the handler field identifies, and the rank of the source in this team. Returns the
 * handler without the team, a number that is not a handler if the source is not in the team, or NO_TEAM. */
static __attribute__((noinline)) unsigned enter_team(unsigned handler, tern_am_event *event)
{
    unsigned          number = handler >> WIRE_TEAM_SHIFT;
    bool              named = number == WIRE_TEAM_NAMED && event->nargs > 0;
    struct tern_team *team = named ? take_team(event) : tern_core_team_numbered(number);
    int               source = team ? tern_core_team_rank(team, event->token->from) : -1;

    if (named && !team)
        return NO_TEAM;
    if (source < 0)
        return handler;
    event->team = team;
    event->source = source;
    event->token->team |= handler & ~(WIRE_TEAM(1) - 1);
    return handler & (WIRE_TEAM(1) - 1);
}

/* Report a message that names a team that this rank has freed: a reply that the program did not wait for, or a message
 * of a rank that has not noticed yet that a member of the team died. */
static __attribute__((cold)) void drop_message(const tern_am_event *event)
{
    tern_base_log(TERN_LOG_WARN,
                  "an active message of rank %d is dropped: this rank has freed its team, or a member died",
                  event->token->from);
}

/* Run the handler of a checked message. */
static inline void run(unsigned handler, tern_am_event *event)
{
    const tern_am_token *outer = tern_op_am_handling;
    tern_am_handler      function;

    if (TERN_UNLIKELY(handler >= WIRE_TEAM(1)) && (handler = enter_team(handler, event)) == NO_TEAM) {
        drop_message(event);
        return;
    }
    if (TERN_UNLIKELY(handler >= TERN_OP_AM_IDS) ||
        /* acquire: pairs with tern_op_am_register(). */
        TERN_UNLIKELY(!(function = __atomic_load_n(&tern_op_am_entry[handler].function, __ATOMIC_ACQUIRE))))
        refuse(event->token->from, handler,
               "which it has not registered; register before tern_init or before a barrier");
    tern_op_am_handling = event->token;
    function(event, tern_op_am_entry[handler].user);
    tern_op_am_handling = outer;
}

static __attribute__((noinline)) void receive_any(const struct tern_am_arrival *arrived, tern_am_event *event)
{
    unsigned         handler = wire_handler(arrived->first);
    uint32_t         args[WIRE_AM_ARGS];
    struct wire_long dest;
    bool             sound;

    if (TERN_UNLIKELY(handler == CORE_WIRE_OWN)) {
        tern_core_bruck_receive(event->source, arrived->head, arrived->data, arrived->len);
        return;
    }
    sound = tern_op_am_decode(arrived, args, event, &dest);
    if (sound && event->kind == TERN_AM_LONG) {
        const void *carried = event->payload;

        event->payload = long_payload(&dest);
        sound = event->payload != NULL || dest.len == 0;
        if (sound && carried && dest.len > 0)
            memcpy(event->payload, carried, dest.len);
    }
    if (!sound)
        refuse(event->token->from, handler, "which is invalid or names memory that this rank does not have");
    run(handler, event);
}

void tern_op_am_receive(int from, unsigned channel, const unsigned char *head_bytes, const unsigned char *data,
                        size_t len)
{
    /* read once: the checked value must not change */
    uint64_t      first = *(const uint64_t *)(const void *)head_bytes;
    tern_am_token token = { .from = from, .request = channel == TERN_CHANNEL_REQUEST };
    tern_am_event event;

    event.token = &token; /* set by field: a full initializer would clear the struct first */
    event.team = &tern_job.world;
    event.source = from;
    event.request = token.request;
    event.kind = TERN_AM_SHORT;
    event.nargs = wire_nargs(first);
    event.args = (const uint32_t *)(const void *)(head_bytes + sizeof(first));
    event.payload = NULL;
    event.len = 0;
    if (TERN_LIKELY(wire_is_short(first)))
        run(wire_handler(first), &event);
    else
        receive_any(&(struct tern_am_arrival){ head_bytes, first, data, len }, &event);
}

void tern_op_am_receive_helped(int from, unsigned channel, const unsigned char *head_bytes, const unsigned char *data,
                               size_t len)
{
    uint64_t                  first;
    _Alignas(8) unsigned char head[TERN_LINK_HEAD];

    tern_base_copy_once(head, head_bytes, sizeof(head)); /* the checked handler must not change */
    memcpy(&first, head, sizeof(first));
    if (!tern_op_am_is_helped(wire_handler(first), channel))
        refuse(from, wire_handler(first), "on a channel that is not for its messages");
    tern_op_am_receive(from, channel - TERN_CHANNEL_HELPER_REQUEST, head, data, len);
}

/* ---- sending ---- */

size_t tern_op_am_max_medium(int peer, unsigned nargs)
{
    size_t longest = tern_core_ops_to(peer)->msg->max_data(tern_core_link_to(peer), peer, TERN_CHANNEL_REQUEST);

    return longest - (nargs + 1 > WIRE_ARGS ? WIRE_SPILL : 0); /* + 1: the message may have to name its team */
}

size_t tern_op_am_max_carried(int peer)
{
    return tern_core_ops_to(peer)->msg->max_data(tern_core_link_to(peer), peer, TERN_CHANNEL_REQUEST) - WIRE_STAGE;
}

/* A message that waits for space. */
struct opening {
    struct tern_ctx      *ctx;
    struct tern_link_msg *msg;
    size_t                min, max;
    const char           *call; /* the public call, for reports */
    tern_status           result;
};

/* Reserve space now. Returns TERN_AGAIN if there is none, or if a strict context must complete an earlier transfer
 * first. */
static inline tern_status try_open(struct tern_ctx *ctx, struct tern_link_msg *msg, size_t min, size_t max)
{
    if (TERN_UNLIKELY(ctx && tern_core_ctx_must_follow(ctx, msg->peer)))
        return TERN_AGAIN;
    return tern_core_ops_to(msg->peer)->msg->open(tern_core_link_to(msg->peer), msg, min, max);
}

static tern_status opening_poll(void *arg)
{
    struct opening *o = arg;

    if (o->ctx)
        tern_core_ctx_progress(o->ctx);
    else
        tern_core_message_poll_channels(TERN_MESSAGES_REPLIES); /* within the handler of a request */
    if (tern_core_job_lost(o->msg->peer))
        o->result = tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job is gone", o->call, o->msg->peer);
    else
        o->result = try_open(o->ctx, o->msg, o->min, o->max);
    return o->result == TERN_AGAIN ? TERN_PENDING : TERN_OK;
}

static void opening_describe(void *arg, char *text, size_t size)
{
    struct opening *o = arg;

    snprintf(text, size,
             "%s of %zu bytes waits for space in the queue of rank %d of the job, which makes no progress, or has a "
             "prepared message in front that was never committed",
             o->call, o->min, o->msg->peer);
}

static __attribute__((noinline)) tern_status open_later(struct tern_ctx *ctx, struct tern_link_msg *msg, size_t min,
                                                        size_t max, const char *call)
{
    struct opening   o = { .ctx = ctx, .msg = msg, .min = min, .max = max, .call = call };
    struct tern_wait wait = { .poll = opening_poll,
                              .describe = opening_describe,
                              .arg = &o,
                              .deadline = ctx ? tern_core_ctx_deadline(ctx) : tern_core_job_deadline(),
                              .by_handler = !ctx };
    tern_status      st = tern_core_wait(&wait);

    return st < 0 ? st : o.result;
}

/* Reserve space for min to max bytes. Waits for space unless the flags contain TERN_IMMEDIATE. */
static inline tern_status open_message(struct tern_ctx *ctx, struct tern_link_msg *msg, size_t min, size_t max,
                                       uint32_t flags, const char *call)
{
    tern_status st = try_open(ctx, msg, min, max);

    return TERN_LIKELY(st != TERN_AGAIN) || (flags & TERN_IMMEDIATE) ? st : open_later(ctx, msg, min, max, call);
}

/* Write the head, for a payload of len bytes at the given location, and the arguments. Returns the address of the
 * payload. */
static inline unsigned char *write_head(const struct tern_link_msg *msg, unsigned handler, const uint32_t *args,
                                        unsigned nargs, unsigned kind, unsigned location, size_t len)
{
    uint32_t *to = (uint32_t *)(void *)(msg->head + sizeof(struct wire_am));

    *(struct wire_am *)(void *)msg->head =
        (struct wire_am){ (uint16_t)handler, (uint8_t)nargs, wire_shape(kind, location), (uint32_t)len };
    if (TERN_UNLIKELY(nargs > WIRE_ARGS)) {
        memcpy(msg->data, args + WIRE_ARGS, (nargs - WIRE_ARGS) * sizeof(*args));
        nargs = WIRE_ARGS;
    }
    for (unsigned i = 0; i < nargs; i++)
        to[i] = args[i];
    return wire_in_head(location) ? msg->head + location * sizeof(uint32_t) : msg->data + wire_before(location);
}

/* Return the number of bytes of data that a payload at this location needs, including arguments. */
static size_t data_bytes(unsigned location, size_t len)
{
    return wire_in_head(location) ? 0 : wire_before(location) + len;
}

static inline void publish(const struct tern_link_msg *msg, unsigned location, size_t len)
{
    tern_core_ops_to(msg->peer)->msg->send(tern_core_link_to(msg->peer), msg, data_bytes(location, len));
}

/* Transfer the payload of a long message into the target's part. */
static tern_status deliver_long(struct tern_ctx *ctx, int peer, struct tern_region *region, uint64_t offset,
                                const void *payload, size_t len, const char *call)
{
    struct tern_xfer xfer = {
        .part = &region->part[peer], .offset = offset, .local = (void *)(uintptr_t)payload, .len = len
    };

    if (len == 0)
        return TERN_OK;
    return tern_op_contig(ctx ? ctx : tern_job.handler_ctx, &xfer, &tern_op_blocking, call);
}

/* Publish a long message, whose payload is at its destination, or (carried) in the message's data. */
static void publish_long(const struct tern_link_msg *msg, unsigned handler, const uint32_t *args, unsigned nargs,
                         const struct wire_long *where, bool carried)
{
    unsigned location = carried ? wire_location(nargs, TERN_LINK_HEAD) : wire_location(nargs, sizeof(*where));
    unsigned kind = carried ? WIRE_CARRIED : TERN_AM_LONG;

    memcpy(write_head(msg, handler, args, nargs, kind, location, sizeof(*where)), where, sizeof(*where));
    tern_core_ops_to(msg->peer)->msg->send(tern_core_link_to(msg->peer), msg,
                                           carried ? WIRE_STAGE + where->len : data_bytes(location, sizeof(*where)));
}

/* Send a long message. It carries its payload if the transfer would need the target's help and the sender does not want
 * to wait for it. */
static inline __attribute__((always_inline)) tern_status send_long(struct tern_ctx *ctx, struct tern_link_msg *msg,
                                                                   const tern_am *m, unsigned handler, const char *call)
{
    struct wire_long where = { m->region->id, m->offset, m->len };
    bool   carried = (m->flags & TERN_IMMEDIATE) && m->len > 0 && tern_op_am_needs_help(&m->region->part[msg->peer]);
    size_t bytes = carried ? WIRE_STAGE + m->len : data_bytes(wire_location(m->nargs, sizeof(where)), sizeof(where));
    tern_status st = open_message(ctx, msg, bytes, bytes, m->flags, call);

    if (st != TERN_OK)
        return st;
    if (carried)
        memcpy(msg->data + WIRE_STAGE, m->payload, m->len);
    else
        st = deliver_long(ctx, msg->peer, m->region, m->offset, m->payload, m->len, call);
    if (st < 0)
        tern_core_ops_to(msg->peer)->msg->drop(tern_core_link_to(msg->peer), msg);
    else
        publish_long(msg, handler, m->args, m->nargs, &where, carried);
    return st;
}

/* Try to send a message whose payload is in the head, behind the arguments, in one call. */
static inline __attribute__((always_inline)) tern_status send_small(struct tern_ctx            *ctx,
                                                                    const struct tern_link_msg *msg, const tern_am *m,
                                                                    unsigned handler, unsigned location)
{
    struct wire_am head = { (uint16_t)handler, (uint8_t)m->nargs, wire_shape(m->kind, location), (uint32_t)m->len };
    unsigned       before = location - (unsigned)(sizeof(head) / sizeof(uint32_t));
    uint32_t       rest[TERN_LINK_SHORT_ARGS];
    tern_status    st;

    if (before > 0)
        rest[before - 1] = 0; /* padding between the arguments and the payload */
    for (unsigned i = 0; i < m->nargs; i++)
        rest[i] = m->args[i];
    if (m->len > 0)
        tern_copy(rest + before, m->payload, m->len);
    if (TERN_UNLIKELY(ctx && tern_core_ctx_must_follow(ctx, msg->peer)))
        return TERN_AGAIN;
    st = tern_core_ops_to(msg->peer)->msg->send_short(tern_core_link_to(msg->peer), msg->peer, msg->channel,
                                                      wire_word(head), rest,
                                                      before + (unsigned)((m->len + 3) / sizeof(uint32_t)));
    if (TERN_UNLIKELY(!atomic_load_explicit(&tern_job.pair[msg->peer], memory_order_relaxed))) /* a hint */
        tern_op_am_find_inject(msg->peer);
    return st;
}

/* Send a message by reserving space in the queue, waiting for space if necessary. */
static inline __attribute__((always_inline)) tern_status send_reserved(struct tern_ctx *ctx, struct tern_link_msg *msg,
                                                                       const tern_am *m, unsigned handler,
                                                                       unsigned location, const char *call)
{
    size_t         bytes = data_bytes(location, m->len);
    unsigned char *payload;
    tern_status    st = open_message(ctx, msg, bytes, bytes, m->flags, call);

    if (st != TERN_OK)
        return st;
    payload = write_head(msg, handler, m->args, m->nargs, m->kind, location, m->len);
    if (m->len > 0)
        tern_copy(payload, m->payload, m->len);
    publish(msg, location, m->len);
    return TERN_OK;
}

/* Send a message of any kind. handler is the handler field of the head, which may contain a team. */
static inline __attribute__((always_inline)) tern_status send(struct tern_ctx *ctx, int peer, const tern_am *m,
                                                              unsigned handler, unsigned channel, const char *call)
{
    struct tern_link_msg msg = { .peer = peer, .channel = channel };
    unsigned             location = wire_location(m->nargs, m->len);
    tern_status          st = TERN_AGAIN;

    if (TERN_UNLIKELY(m->kind == TERN_AM_LONG)) {
        st = send_long(ctx, &msg, m, handler, call);
    } else {
        if (wire_in_head(location))
            st = send_small(ctx, &msg, m, handler, location);
        if (st == TERN_AGAIN)
            st = send_reserved(ctx, &msg, m, handler, location, call);
    }
    if (m->local && st == TERN_OK)
        *m->local = TERN_EVENT_INIT; /* the payload has been copied or delivered */
    return st;
}

tern_status tern_op_am_send(struct tern_ctx *ctx, int peer, const tern_am *message, const char *call)
{
    struct named_args named;
    tern_am           copy;
    const tern_am    *m = with_name(ctx, message, &copy, &named);

    return send(ctx, peer, m, tern_op_am_with_team(ctx, m->handler), ctx ? TERN_CHANNEL_REQUEST : TERN_CHANNEL_REPLY,
                call);
}

tern_status tern_op_am_send_client(struct tern_ctx *ctx, int peer, const tern_am *m, const char *call)
{
    return send(ctx, peer, m, m->handler, tern_op_am_channel(m->handler, ctx == NULL), call);
}

tern_status tern_op_am_send_placed(struct tern_ctx *ctx, int peer, const tern_am *message)
{
    struct named_args    named;
    tern_am              copy;
    bool                 of_client = tern_op_am_is_client(message->handler);
    const tern_am       *m = of_client ? message : with_name(ctx, message, &copy, &named);
    struct tern_link_msg msg = { .peer = peer,
                                 .channel = of_client ? tern_op_am_channel(m->handler, false) : TERN_CHANNEL_REQUEST };
    struct wire_long     where = { m->region->id, m->offset, m->len };
    size_t               bytes = data_bytes(wire_location(m->nargs, sizeof(where)), sizeof(where));
    tern_status          st = try_open(ctx, &msg, bytes, bytes);

    if (st == TERN_OK)
        publish_long(&msg, of_client ? m->handler : tern_op_am_with_team(ctx, m->handler), m->args, m->nargs, &where,
                     false);
    return st;
}

/* ---- negotiated payload ---- */

/* Return whether the message carries the payload: the program writes the payload into the queue, or the commit copies
 * it there because a commit must not wait after an immediate prepare. Otherwise the payload is written directly to the
 * target's memory. */
static bool is_queued(const tern_am_prepare_opts *opts, const struct tern_link_part *part)
{
    if (!part || (!opts->buffer && !tern_link_loads(part)))
        return true;
    return (opts->flags & TERN_IMMEDIATE) && tern_op_am_needs_help(part);
}

/* Reserve space for a head, and for a payload of the requested length if the payload is in the data, and report the
 * address and the maximum length of the payload. */
static inline __attribute__((always_inline)) tern_status reserve_queued(struct tern_op_am_reservation *reservation,
                                                                        const tern_am_prepare_opts    *opts,
                                                                        tern_am_prepared *out, const char *call)
{
    struct tern_link_msg *msg = &reservation->msg;
    size_t                before = reservation->before, max = opts->max;
    bool                  in_head = wire_in_head(reservation->location);
    tern_status           st = in_head ? open_message(reservation->ctx, msg, 0, 0, opts->flags, call)
                                       : open_message(reservation->ctx, msg, before + opts->min,
                                            max < SIZE_MAX - before ? before + max : SIZE_MAX, opts->flags, call);

    if (st != TERN_OK)
        return st;
    out->addr = in_head ? msg->head + reservation->location * sizeof(uint32_t) : msg->data + before;
    out->len = in_head || msg->data_max - before >= max ? max : msg->data_max - before;
    return TERN_OK;
}

/* Prepare a long message, or a message whose payload is in the caller's buffer. */
static __attribute__((noinline)) tern_status prepare_any(const tern_am_prepare_opts    *opts,
                                                         struct tern_op_am_reservation *reservation,
                                                         tern_am_prepared *out, const char *call)
{
    struct tern_link_part *part = opts->kind == TERN_AM_LONG ? &opts->region->part[reservation->msg.peer] : NULL;
    bool                   queued = is_queued(opts, part);
    size_t                 bytes;
    tern_status            st;

    reservation->region = opts->region;
    reservation->offset = opts->offset;
    if (part) { /* the wire_long, which is followed by the payload if the message carries it */
        unsigned nargs = opts->nargs + (tern_op_am_named_team(reservation->ctx) != 0 ? 1u : 0u);

        reservation->location = (uint8_t)wire_location(nargs, queued ? TERN_LINK_HEAD : sizeof(struct wire_long));
        reservation->before = queued ? WIRE_STAGE : (uint8_t)wire_before(reservation->location);
    }
    if (queued) {
        st = reserve_queued(reservation, opts, out, call);
    } else {
        bytes = data_bytes(reservation->location, sizeof(struct wire_long));
        st = open_message(reservation->ctx, &reservation->msg, bytes, bytes, opts->flags, call);
        out->len = opts->max;
    }
    if (st == TERN_OK && opts->buffer)
        out->addr = (void *)(uintptr_t)opts->buffer;
    else if (st == TERN_OK && !queued)
        out->addr = part->base + opts->offset;
    return st;
}

/* Prepare a message on a channel. */
static inline __attribute__((always_inline)) tern_status prepare(struct tern_ctx *ctx, int peer, unsigned channel,
                                                                 const tern_am_prepare_opts    *opts,
                                                                 struct tern_op_am_reservation *reservation,
                                                                 tern_am_prepared *out, const char *call)
{
    tern_status st;

    reservation->msg.peer = peer; /* set by field: the link fills in the rest */
    reservation->msg.channel = channel;
    reservation->ctx = ctx;
    reservation->token = NULL;
    reservation->nargs = opts->nargs;
    reservation->kind = (uint8_t)opts->kind;
    reservation->location =
        (uint8_t)wire_location(opts->nargs + (tern_op_am_named_team(ctx) != 0 ? 1u : 0u), opts->max);
    reservation->before = (uint8_t)wire_before(reservation->location);
    reservation->live = 0;
    if (TERN_LIKELY(opts->kind == TERN_AM_MEDIUM && !opts->buffer))
        st = reserve_queued(reservation, opts, out, call);
    else
        st = prepare_any(opts, reservation, out, call);
    reservation->live = st == TERN_OK ? TERN_AM_LIVE : TERN_AM_DEAD;
    return st;
}

tern_status tern_op_am_prepare(struct tern_ctx *ctx, int peer, const tern_am_prepare_opts *opts,
                               struct tern_op_am_reservation *reservation, tern_am_prepared *out, const char *call)
{
    return prepare(ctx, peer, ctx ? TERN_CHANNEL_REQUEST : TERN_CHANNEL_REPLY, opts, reservation, out, call);
}

tern_status tern_op_am_prepare_client(struct tern_am_client *client, struct tern_ctx *ctx, int peer,
                                      const tern_am_prepare_opts *opts, struct tern_op_am_reservation *reservation,
                                      tern_am_prepared *out, const char *call)
{
    unsigned    handler = tern_op_am_client_handler(client);
    tern_status st = prepare(ctx, peer, tern_op_am_channel(handler, ctx == NULL), opts, reservation, out, call);

    reservation->client = client;
    if (st == TERN_OK)
        reservation->live = TERN_AM_LIVE_CLIENT;
    return st;
}

static tern_status commit_long(struct tern_op_am_reservation *reservation, unsigned handler, const uint32_t *args,
                               unsigned nargs, const void *payload, size_t len)
{
    struct tern_link_part *part = &reservation->region->part[reservation->msg.peer];
    struct wire_long       where = { reservation->region->id, reservation->offset, len };
    unsigned char         *queued = reservation->before == WIRE_STAGE ? reservation->msg.data + WIRE_STAGE : NULL;
    tern_status            st = TERN_OK;

    if (queued && len > 0 && payload != queued)
        memcpy(queued, payload, len); /* the caller's buffer */
    else if (!queued && (!tern_link_loads(part) || payload != part->base + reservation->offset))
        st = deliver_long(reservation->ctx, reservation->msg.peer, reservation->region, reservation->offset, payload,
                          len, "tern_am_commit");
    if (st == TERN_OK)
        publish_long(&reservation->msg, handler, args, nargs, &where, queued && len > 0);
    return st;
}

tern_status tern_op_am_commit(struct tern_op_am_reservation *reservation, unsigned handler, const uint32_t *args,
                              unsigned nargs, const void *payload, size_t len)
{
    struct named_args named;
    unsigned char    *at;
    tern_status       st = TERN_OK;

    if (TERN_UNLIKELY(handler >= WIRE_TEAM(WIRE_TEAM_NAMED))) {
        args = name_team(&named, tern_op_am_named_team(reservation->ctx), args, nargs);
        nargs++;
    }
    if (reservation->kind == TERN_AM_LONG) {
        st = commit_long(reservation, handler, args, nargs, payload, len);
    } else {
        at = write_head(&reservation->msg, handler, args, nargs, reservation->kind, reservation->location, len);
        if (at != payload && len > 0)
            tern_copy(at, payload, len); /* the caller's buffer */
        publish(&reservation->msg, reservation->location, len);
    }
    if (st >= 0)
        reservation->live = TERN_AM_DEAD;
    return st;
}

void tern_op_am_cancel(struct tern_op_am_reservation *reservation)
{
    tern_core_ops_to(reservation->msg.peer)->msg->drop(tern_core_link_to(reservation->msg.peer), &reservation->msg);
    reservation->live = TERN_AM_DEAD;
}
