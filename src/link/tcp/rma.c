/* rma.c: puts and gets, and the verbs of link/net.
 *
 * A transfer consists of pieces of at most TERN_NET_CHUNK bytes, so that messages and other transfers to the same peer
 * are sent in between. A put has one work request, which queues the next piece when the previous one is sent, and is
 * complete when the peer has acknowledged the last one. A get has a work request for each piece that is outstanding.
 *
 * The process has TERN_NET_WINDOW work requests. A peer that does not respond keeps its work requests, and may come to
 * hold all of them. So each peer is guaranteed a few in addition, and no peer waits because of another.
 */
#include <stdlib.h>
#include <string.h>

#include "link/none.h"
#include "link/tcp/tcp.h"

#define SHARE 4u /* work requests guaranteed to a peer: the default pipeline depth of one transfer */

/* ---- work requests ---- */

static tern_status wrs_add(struct tcp_link *tcp, unsigned count)
{
    struct tcp_wr **table = realloc(tcp->wr, (tcp->wrs + count) * sizeof(*table));

    tcp->wr = table ? table : tcp->wr;
    for (unsigned i = 0; table && i < count; i++) {
        struct tcp_wr *wr = calloc(1, sizeof(*wr));

        if (!wr)
            break;
        wr->index = tcp->wrs;
        tern_net_ctx_init(&wr->ctx, NULL, NULL, NULL);
        tern_base_list_append(&tcp->free_wrs, &wr->node);
        tcp->wr[tcp->wrs++] = wr;
    }
    if (!table || tern_base_list_empty(&tcp->free_wrs))
        return tern_base_fail(TERN_ERR_NOMEM, "link tcp: no memory for %u transfers (TERN_NET_WINDOW)", count);
    return TERN_OK;
}

tern_status tern_tcp_wr_pool_open(struct tcp_link *tcp)
{
    tcp->window = (unsigned)tern_opt.net_window;
    tcp->share = tcp->window < SHARE ? tcp->window : SHARE;
    tcp->chunk = tern_opt.net_chunk < TCP_WIRE_DATA ? tern_opt.net_chunk : TCP_WIRE_DATA;
    return wrs_add(tcp, tcp->window);
}

void tern_tcp_wr_pool_close(struct tcp_link *tcp)
{
    for (unsigned i = 0; i < tcp->wrs; i++)
        free(tcp->wr[i]);
    free(tcp->wr);
}

/* Return a work request for the peer, or NULL if none is available; in that case this rank's bell rings when one is
 * freed. */
static struct tcp_wr *wr_take(struct tcp_link *tcp, struct net_peer *peer, net_post_fn *post, net_ended_fn *ended)
{
    bool           may = tcp->wrs_taken < tcp->window || peer->wrs < tcp->share;
    struct tcp_wr *wr;

    if (TERN_UNLIKELY(may && tern_base_list_empty(&tcp->free_wrs)))
        may = wrs_add(tcp, tcp->share) == TERN_OK;
    if (TERN_UNLIKELY(!may)) {
        tcp->wr_wanted = true;
        return NULL;
    }
    wr = TERN_LIST_ITEM(tern_base_list_pop(&tcp->free_wrs), struct tcp_wr, node);
    wr->ctx.peer = peer;
    wr->ctx.post = post;
    wr->ctx.ended = ended;
    wr->owner = NULL;
    wr->op = NULL;
    wr->local = NULL;
    wr->number = 0;
    wr->error = 0;
    wr->get = wr->unsent = false;
    peer->wrs++;
    tcp->wrs_taken++;
    return wr;
}

static void wr_free(struct tcp_link *tcp, struct tcp_wr *wr)
{
    wr->ctx.peer->wrs--;
    wr->ctx.peer = NULL;
    tcp->wrs_taken--;
    tern_base_list_push(&tcp->free_wrs, &wr->node);
    if (TERN_UNLIKELY(tcp->wr_wanted)) {
        tcp->wr_wanted = false;
        tern_net_ring(&tcp->net); /* a thread may sleep until a work request is free */
    }
}

/* Free a work request of an operation, and finish the operation if it was its last one. */
static void wr_end(struct tcp_link *tcp, struct tcp_wr *wr)
{
    struct tern_link_op *op = wr->op;

    wr->op = NULL;
    wr_free(tcp, wr);
    if (op && --op->net.in_flight == 0)
        tern_net_op_finish(&tcp->net, op);
}

/* ---- frames ---- */

/* Queue a WRITE of the given kind. If the data are not copied, wr->unsent is set, and tern_tcp_wr_sent() is called when
 * they are sent. more is the notification or the RPC that the kind needs. last: this is the last WRITE of the work
 * request. */
static int queue_write(struct tcp_wr *wr, const struct net_remote *to, const void *data, enum tcp_kind kind,
                       const void *more, bool last)
{
    struct tcp_conn  *conn = tern_tcp_conn(wr->ctx.peer);
    uint64_t          later = wr->op && wr->op->net.started > 0 ? TCP_WIRE_CONTINUES : 0;
    struct tcp_head   head = { .kind = kind, .len = (uint32_t)to->len, .number = wr->index | later };
    struct tcp_remote remote = { .key = to->key, .offset = to->addr };
    unsigned char     bytes[TCP_WIRE_LONGEST];
    size_t            len = tern_tcp_wire_encode(bytes, &head, &remote, more);
    bool              copied = last && to->len <= TCP_COPIED; /* otherwise its end causes the next WRITE */

    if (!conn)
        return -ENOTCONN;
    if (tern_tcp_queue(conn, bytes, len, data, copied ? to->len : 0, false) != 0)
        return -EAGAIN;
    if (!copied) {
        tern_tcp_refer(conn, &(struct tcp_segment){ .bytes = data, .len = to->len, .wr = wr });
        wr->unsent = true;
    }
    wr->number = ++conn->writes_sent;
    if (last)
        tern_base_list_append(&conn->unacked, &wr->node);
    return 0;
}

static int queue_read(struct tcp_wr *wr, const struct net_remote *from, void *local)
{
    struct tcp_conn  *conn = tern_tcp_conn(wr->ctx.peer);
    struct tcp_head   head = { .kind = TCP_READ, .len = (uint32_t)from->len };
    struct tcp_remote remote = { .key = from->key, .offset = from->addr };
    unsigned char     bytes[TCP_WIRE_LONGEST];
    size_t            len = tern_tcp_wire_encode(bytes, &head, &remote, NULL);

    if (!conn)
        return -ENOTCONN;
    if (conn->reads == TCP_READS || tern_tcp_queue(conn, bytes, len, NULL, 0, false) != 0)
        return -EAGAIN;
    wr->get = true;
    wr->local = local;
    wr->len = from->len;
    conn->reads++;
    tern_base_list_append(&conn->unread, &wr->node);
    return 0;
}

static void push(struct tcp_link *tcp, const struct net_peer *peer)
{
    struct tcp_conn *conn = tern_tcp_conn(peer);

    if (conn)
        tern_tcp_push(tcp, conn);
}

/* ---- puts and gets ---- */

/* Returns true if a piece of the transfer must be posted. */
static bool has_more(const struct tern_link_op *op)
{
    return op && op->net.started < op->xfer.len && op->net.error == 0 && !op->net.cancelled;
}

static int post_put(struct tcp_wr *wr, const struct net_remote *remote, unsigned char *local)
{
    const struct tern_link_op *op = wr->op;
    bool                       last = op->net.started + remote->len == op->xfer.len;
    struct tcp_notify          notify = { .tag = op->xfer.tag,
                                          .region = tern_link_region_of(op->xfer.part->rank, op->xfer.part->scope),
                                          .bytes = op->xfer.len };

    struct tcp_rpc rpc = { .region = 0 };

    if (last && op->xfer.put_rpc) {
        rpc = (struct tcp_rpc){ .region = op->xfer.put_rpc->region, .len = op->xfer.put_rpc->len };
        memcpy(rpc.request, op->xfer.put_rpc->request, sizeof(rpc.request));
        return queue_write(wr, remote, local, TCP_WRITE_RPC, &rpc, last);
    }
    return queue_write(wr, remote, local, last && op->xfer.notify ? TCP_WRITE_NOTIFY : TCP_WRITE, &notify, last);
}

/* End a work request that has nothing more to post. The peer may still refuse the WRITEs that were sent, so that their
 * number is not used again before the peer has acknowledged them. */
static void wr_stop(struct tcp_link *tcp, struct tcp_wr *wr)
{
    struct tcp_conn *conn = tern_tcp_conn(wr->ctx.peer);

    if (conn && wr->number > conn->writes_acked)
        tern_base_list_append(&conn->unacked, &wr->node);
    else
        wr_end(tcp, wr);
}

/* Post the next piece of the transfer. */
static int wr_post(struct net_link *net, struct net_ctx *ctx)
{
    struct tcp_link     *tcp = tern_tcp(net);
    struct tcp_wr       *wr = (struct tcp_wr *)ctx;
    struct tern_link_op *op = wr->op;
    struct net_remote    remote;
    unsigned char       *local;
    int                  rc;

    if (!has_more(op)) { /* another work request has posted the rest, or the operation has failed or was given up */
        wr_stop(tcp, wr);
        return 0;
    }
    remote = (struct net_remote){ .key = op->xfer.part->key,
                                  .addr = op->xfer.offset + op->net.started,
                                  .len = op->xfer.len - op->net.started };
    remote.len = remote.len < tcp->chunk ? remote.len : tcp->chunk;
    local = (unsigned char *)op->xfer.local + op->net.started;
    rc = op->xfer.get ? queue_read(wr, &remote, local) : post_put(wr, &remote, local);
    if (rc == 0) {
        op->net.started += remote.len;
        if (op->xfer.get)
            tern_tcp_push(tcp, tern_tcp_conn(ctx->peer));
        else
            tern_tcp_push_put(tcp, tern_tcp_conn(ctx->peer));
    }
    return rc;
}

/* Fail the operation, because a piece of it could not be posted. */
static void wr_failed(struct net_link *net, struct net_ctx *ctx, int error)
{
    struct tcp_wr *wr = (struct tcp_wr *)ctx;

    if (wr->op)
        tern_net_op_fail(wr->op, error);
    wr_end(tern_tcp(net), wr);
}

void tern_tcp_wr_sent(struct tcp_link *tcp, struct tcp_wr *wr)
{
    struct tcp_conn *conn = tern_tcp_conn(wr->ctx.peer);

    wr->unsent = false;
    if (!tern_base_list_empty(&wr->node))
        return; /* everything is sent; the acknowledgement follows */
    if (wr->owner) {
        tern_base_list_append(&tcp->sent, &wr->node); /* a message */
        if (!tcp->draining)
            tern_tcp_progress_thread_wake(tcp); /* the program may not poll again */
    } else if (has_more(wr->op)) {
        tern_net_post(&tcp->net, &wr->ctx);
    } else if (conn) {
        tern_base_list_append(&conn->unacked, &wr->node); /* the rest is not sent, because the operation was given up */
    }
}

void tern_tcp_tell_sent(struct tcp_link *tcp)
{
    struct tern_list *node;

    while ((node = tern_base_list_pop(&tcp->sent))) {
        struct tcp_wr  *wr = TERN_LIST_ITEM(node, struct tcp_wr, node);
        struct net_ctx *owner = wr->owner;

        wr_free(tcp, wr);
        owner->ended(&tcp->net, owner, 0);
    }
}

void tern_tcp_wr_done(struct tcp_link *tcp, struct tcp_wr *wr, int error)
{
    struct net_ctx *owner = wr->owner;

    if (owner) {
        wr_free(tcp, wr);
        owner->ended(&tcp->net, owner, error);
        return;
    }
    if (wr->op && error != 0)
        tern_net_op_fail(wr->op, error);
    if (wr->get && has_more(wr->op))
        tern_net_post(&tcp->net, &wr->ctx);
    else
        wr_end(tcp, wr);
}

/* Post a work request of the operation and, for a get, more as long as pieces are left. */
static void op_start(struct tcp_link *tcp, struct tern_link_op *op, struct tcp_wr *wr)
{
    struct net_peer *peer = op->net.peer;
    unsigned         most = op->xfer.get ? (unsigned)tern_opt.net_pipeline : 1;
    size_t           pieces = (op->xfer.len + tcp->chunk - 1) / tcp->chunk;

    for (size_t i = 1;; i++) {
        wr->op = op;
        op->net.in_flight++;
        if (tern_net_post(&tcp->net, &wr->ctx) != 0 || i >= most || i >= pieces || !has_more(op) ||
            !(wr = wr_take(tcp, peer, wr_post, wr_failed)))
            return;
    }
}

/* Return the first work request of a transfer; NULL: none is available now, or there is no credit for its
 * notification. */
static struct tcp_wr *wr_begin(struct tcp_link *tcp, struct net_peer *peer, const struct tern_xfer *xfer)
{
    struct tcp_wr *wr = NULL;

    if (!xfer->notify || tern_net_notify_credit_take(&tcp->net, peer)) {
        wr = wr_take(tcp, peer, wr_post, wr_failed);
        if (!wr && xfer->notify)
            tern_net_notify_credit_return(peer);
    }
    if (!wr)
        tern_tcp_drain(&tcp->net); /* the next call may find more */
    return wr;
}

static tern_status tcp_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct net_lane *l = (struct net_lane *)lane;
    struct net_link *net = l->net;
    struct tcp_link *tcp = tern_tcp(net);
    struct net_peer *peer;
    struct tcp_wr   *wr = NULL;
    tern_status      st = TERN_AGAIN;

    if (xfer->len == 0)
        return TERN_OK;
    if (tern_boot_gone(net->boot, xfer->part->rank))
        return tern_net_peer_gone(xfer->part->rank);
    pthread_mutex_lock(&net->lock);
    if (!(peer = tern_net_peer(net, xfer->part->rank)))
        st = TERN_ERR_NOMEM;
    else
        wr = wr_begin(tcp, peer, xfer);
    if (wr) {
        tern_net_op_init(op, xfer, l, peer);
        tern_base_list_push(&l->ops, &op->node);
        op->net.in_flight = 1; /* keeps the operation while it is posted */
        op_start(tcp, op, wr);
        if (!xfer->get && xfer->len <= TCP_COPIED && op->net.started == xfer->len)
            op->copied = xfer->len;
        if (--op->net.in_flight == 0)
            tern_net_op_finish(net, op);
        st = TERN_PENDING; /* even after an error: the peer may be dying */
    }
    pthread_mutex_unlock(&net->lock);
    return st;
}

/* Return whether xfer, posted now, cannot overtake op. Frames are executed in their order. But a get of much data is
 * answered from the memory as it is when the data are sent, so that a put behind it must wait. */
static bool is_behind(const struct tern_link_op *op, const struct tern_xfer *xfer)
{
    return !op->link_data && op->net.started == op->xfer.len &&
           (!op->xfer.get || xfer->get || op->xfer.len <= TCP_COPIED);
}

static bool tcp_keeps_order(struct tern_lane *lane, const struct tern_xfer *xfer)
{
    struct net_lane *l = (struct net_lane *)lane;
    bool             follows = true;

    pthread_mutex_lock(&l->net->lock);
    TERN_LIST_EACH(const struct tern_link_op, op, &l->ops, node)
        follows = follows && (op->xfer.part->rank != xfer->part->rank || is_behind(op, xfer));
    pthread_mutex_unlock(&l->net->lock);
    return follows;
}

static bool tcp_can_notify(struct tern_lane *lane, struct tern_xfer *xfer)
{
    (void)lane;
    return !xfer->get && xfer->len > 0;
}

const struct tern_link_path tern_tcp_path = { .name = "tcp",
                                              .self_progress = true,
                                              .rpc = true,
                                              .put_rpc = true,
                                              .prefers_packing = true,
                                              .start = tcp_start,
                                              .keeps_order = tcp_keeps_order,
                                              .can_notify = tcp_can_notify,
                                              .start_iov = tern_link_no_iov };

/* ---- giving up ---- */

/* Make the work requests of an operation stop using its memory. */
static void release_memory(struct tcp_link *tcp, const struct tern_link_op *op)
{
    for (unsigned i = 0; i < tcp->wrs; i++) {
        struct tcp_wr   *wr = tcp->wr[i];
        struct tcp_conn *conn = wr->ctx.peer && wr->op == op ? tern_tcp_conn(wr->ctx.peer) : NULL;

        if (!conn)
            continue;
        wr->local = NULL;
        if (conn->body.wr == wr)
            conn->body.to = NULL;
        if (wr->unsent)
            tern_tcp_detach(tcp, conn, wr, NULL);
    }
}

void tern_tcp_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    struct net_link *net = ((struct net_lane *)lane)->net;

    pthread_mutex_lock(&net->lock);
    op->net.cancelled = true;
    if (!op->link_data)
        release_memory(tern_tcp(net), op);
    pthread_mutex_unlock(&net->lock);
}

static void verb_abandon(struct net_link *net, const struct tern_link_op *op)
{
    struct tcp_link *tcp = tern_tcp(net);

    release_memory(tcp, op);
    for (unsigned i = 0; i < tcp->wrs; i++)
        if (tcp->wr[i]->op == op)
            tcp->wr[i]->op = NULL;
    if (op->buffer_in_use)
        free(op->xfer.local); /* nothing uses it any more */
}

/* ---- the verbs of link/net ---- */

static int verb_rma(struct net_link *net, struct net_ctx *ctx, bool get, void *local, const struct net_mr *mr,
                    const struct net_remote *remote)
{
    struct tcp_link *tcp = tern_tcp(net);
    struct tcp_wr   *wr;
    int              rc;

    (void)mr;
    if (remote->len > TCP_WIRE_DATA)
        return -EMSGSIZE;
    if (!(wr = wr_take(tcp, ctx->peer, NULL, NULL)))
        return -EAGAIN;
    rc = get ? queue_read(wr, remote, local) : queue_write(wr, remote, local, TCP_WRITE, NULL, true);
    if (rc == 0) {
        wr->owner = ctx;
        push(tcp, ctx->peer);
    } else {
        wr_free(tcp, wr);
    }
    return rc;
}

static int verb_inject(struct net_link *net, struct net_peer *peer, const void *bytes, size_t len)
{
    struct tcp_conn *conn = tern_tcp_conn(peer);
    struct tcp_head  head = { .kind = TCP_MESSAGE, .len = (uint32_t)len };

    if (!conn)
        return -ENOTCONN;
    if (tern_tcp_queue(conn, &head, sizeof(head), bytes, len, false) != 0)
        return -EAGAIN;
    tern_tcp_push(tern_tcp(net), conn);
    return 0;
}

/* Send a message whose bytes stay valid until its context has ended. */
static int verb_send(struct net_link *net, struct net_ctx *ctx, const void *bytes, size_t len, const struct net_mr *mr)
{
    struct tcp_link *tcp = tern_tcp(net);
    struct tcp_wr   *wr = wr_take(tcp, ctx->peer, NULL, NULL);
    struct tcp_conn *conn = tern_tcp_conn(ctx->peer);
    struct tcp_head  head = { .kind = TCP_MESSAGE, .len = (uint32_t)len };
    int              rc = !wr ? -EAGAIN : !conn ? -ENOTCONN : tern_tcp_queue(conn, &head, sizeof(head), NULL, 0, false);

    (void)mr;
    if (rc != 0) {
        if (wr)
            wr_free(tcp, wr);
        return rc;
    }
    wr->owner = ctx;
    wr->unsent = true;
    tern_tcp_refer(conn, &(struct tcp_segment){ .bytes = bytes, .len = len, .wr = wr });
    tern_tcp_push(tcp, conn);
    return 0;
}

static const char *verb_why(const struct net_link *net, int error)
{
    (void)net;
    return error == EMFILE ? "too many open files; see 'ulimit -n'" : strerror(error);
}

const struct net_verbs tern_tcp_verbs = { .resolve = tern_tcp_resolve,
                                          .send = verb_send,
                                          .inject = verb_inject,
                                          .rma = verb_rma,
                                          .reg = tern_tcp_register,
                                          .dereg = tern_tcp_unregister,
                                          .poll = tern_tcp_poll,
                                          .drain = tern_tcp_drain,
                                          .why = verb_why,
                                          .abandon = verb_abandon };
