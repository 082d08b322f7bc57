/* message.c: messages between the ranks of a node. For notifications see notify.c.
 *
 * A sender allocates the rings to a receiver at the first message between them: two rings for requests and replies,
 * one ring for tagged messages at the first tagged message, and two more rings for the requests and replies that the
 * helper thread of the receiver may take. A queue_ref tells the receiver where the rings are.
 * So memory grows with the number of pairs that communicate. If all ranks of the node send to one rank, the rings to
 * that rank take TERN_AM_QUEUE bytes, divided evenly among the senders, and TERN_MSG_QUEUE bytes for tagged
 * messages. A sender that dies leaves at most its own rings unfinished. A receiver polls the rings of the ranks that
 * have ever sent to it, and the count of announced queues.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/clock.h"
#include "base/sanitize.h"
#include "boot/bell.h"
#include "link/none.h"
#include "link/shm/shm.h"

#define SMALLEST_RING 4096u
#define LARGEST_RING (1u << 20)
#define LARGEST_TAGGED (4u << 20) /* maximum size of a ring for tagged messages */

static tern_status attach_senders(struct tern_link_watch *watch);

/* The number of rings, by kind of queue. */
static const unsigned rings_of[SHM_RINGS] = { TERN_CHANNELS_PAIR, 1, TERN_CHANNELS_PAIR };
/* The channel of the first ring, by kind of queue. */
static const unsigned channel_of[SHM_RINGS] = { TERN_CHANNEL_REQUEST, TERN_CHANNEL_TAGGED,
                                                TERN_CHANNEL_HELPER_REQUEST };

/* Return the kind of queue that has the ring of a channel. Notifications have no ring. */
static inline enum shm_queue_kind kind_of(unsigned channel)
{
    static const uint8_t of[TERN_CHANNELS] = { [TERN_CHANNEL_TAGGED] = SHM_QUEUE_TAGGED,
                                               [TERN_CHANNEL_HELPER_REQUEST] = SHM_QUEUE_HELPER,
                                               [TERN_CHANNEL_HELPER_REPLY] = SHM_QUEUE_HELPER };

    return (enum shm_queue_kind)of[channel];
}

/* Return the shape of a ring. All ranks of the node compute the same shape. */
static struct tern_ring_shape shape_of(const struct shm_link *shm, enum shm_queue_kind kind, uint64_t bytes)
{
    const struct tern_segment *segment = shm->boot->segment;

    /* Ranks that share a core run in turn, and a sender that finds no cell must let its receiver run. */
    if (kind == SHM_QUEUE_TAGGED && segment->locals > segment->cores)
        return tern_base_ring_shape_long(bytes);
    /* Active messages arrive sooner in adjacent cells, because their receiver is mostly waiting for the next one. */
    return kind == SHM_QUEUE_TAGGED ? tern_base_ring_spread(tern_base_ring_shape(bytes)) : tern_base_ring_shape(bytes);
}

static void choose_rings(struct shm_link *shm)
{
    struct shm_msg *m = &shm->msg;
    size_t          locals = (size_t)shm->locals;

    m->ring_bytes[SHM_QUEUE_PAIR] =
        tern_link_ring_bytes(tern_opt.am_queue / (TERN_CHANNELS_PAIR * locals), SMALLEST_RING, LARGEST_RING);
    m->ring_bytes[SHM_QUEUE_HELPER] = m->ring_bytes[SHM_QUEUE_PAIR];
    m->ring_bytes[SHM_QUEUE_TAGGED] = tern_link_ring_bytes(tern_opt.msg_queue / locals, SMALLEST_RING, LARGEST_TAGGED);
    for (unsigned kind = 0; kind < SHM_RINGS; kind++)
        m->shape[kind] = shape_of(shm, kind, m->ring_bytes[kind]);
}

static void tables_free(struct shm_link *shm)
{
    for (unsigned kind = 0; kind < SHM_QUEUES; kind++)
        free(shm->msg.tx[kind]);
    for (unsigned kind = 0; kind < SHM_RINGS; kind++)
        free(shm->msg.rx[kind]);
    free(shm->notify.rx);
}

tern_status tern_shm_messages_open(struct shm_link *shm)
{
    struct shm_msg *m = &shm->msg;
    size_t          locals = (size_t)shm->locals;
    bool            good;

    choose_rings(shm);
    m->queue_ref =
        (struct shm_queue_ref *)(void *)(shm->control + tern_shm_barrier_block_offset(shm->locals, SHM_GROUPS));
    shm->notify.rx = calloc(locals, sizeof(struct shm_notify_rx *));
    good = shm->notify.rx != NULL;
    for (unsigned kind = 0; kind < SHM_QUEUES; kind++)
        good &= (m->tx[kind] = calloc((size_t)shm->ranks, sizeof(*m->tx[kind]))) != NULL;
    for (unsigned kind = 0; kind < SHM_RINGS; kind++)
        good &= (m->rx[kind] = calloc(locals, sizeof(*m->rx[kind]))) != NULL;
    tern_shm_notify_open(shm);
    pthread_mutex_init(&m->tx_lock, NULL);
    m->directory = (struct tern_link_watch){ .word = &shm->bounce_ctl[shm->local].senders,
                                             .channel = TERN_CHANNEL_DIRECTORY,
                                             .deliver = attach_senders,
                                             .expect = tern_link_no_expect,
                                             .link = (struct tern_link *)shm };
    if (good)
        return shm->up->watch(&m->directory);
    tables_free(shm);
    return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for tables of %d ranks", shm->ranks);
}

/* Unmap the queues to the peers, but keep their space: a peer may still be reading the last messages. The space is
 * freed with the job. */
static void tx_close(struct shm_link *shm, int peer)
{
    for (unsigned kind = 0; kind < SHM_RINGS; kind++) {
        struct shm_tx *tx = atomic_load(&shm->msg.tx[kind][peer]);

        if (tx)
            munmap(tx->map, tx->space.bytes);
        free(tx);
    }
    tern_shm_notify_tx_close(atomic_load(&shm->msg.tx[SHM_QUEUE_NOTIFY][peer]));
}

void tern_shm_messages_close(struct shm_link *shm)
{
    struct shm_msg *m = &shm->msg;

    for (int local = 0; local < shm->locals; local++) {
        for (unsigned kind = 0; kind < SHM_RINGS; kind++)
            if (m->rx[kind][local].map)
                munmap(m->rx[kind][local].map, m->rx[kind][local].bytes);
        tern_shm_notify_rx_close(shm->notify.rx[local]);
    }
    for (int peer = 0; peer < shm->ranks; peer++)
        tx_close(shm, peer);
    pthread_mutex_destroy(&m->tx_lock);
    tables_free(shm);
}

tern_status tern_shm_space_map(struct shm_link *shm, int peer, size_t bytes, struct tern_space *space,
                               unsigned char **map)
{
    tern_status st = tern_boot_space_take(shm->boot, shm->boot->arena, bytes, space);

    if (st < 0)
        return st;
    *map = mmap(NULL, space->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, space->file, (off_t)space->offset);
    if (*map != MAP_FAILED)
        return TERN_OK;
    tern_boot_space_give(space);
    return tern_base_fail(TERN_ERR_NOMEM, "link shm: cannot map the message queue to rank %d: %s", peer,
                          strerror(errno));
}

void tern_shm_announce(struct shm_link *shm, int peer, enum shm_queue_kind kind, uint64_t offset, uint64_t bytes)
{
    int                   local = shm->local_of[peer];
    struct shm_queue_ref *ref = tern_shm_queue_ref_between(shm, local, shm->local, kind);

    atomic_store_explicit(&ref->bytes, bytes, memory_order_relaxed);
    /* release: the size before the offset, and both before the count. Pairs with the acquires in rx_check() and
     * attach_senders(). */
    atomic_store_explicit(&ref->offset, offset, memory_order_release);
    atomic_fetch_add_explicit(&shm->bounce_ctl[local].senders, 1, memory_order_release);
}

/* Create the rings of the given kind to a peer and announce them to the peer. */
static tern_status tx_make(struct shm_link *shm, int peer, enum shm_queue_kind kind, struct shm_tx *tx)
{
    struct shm_msg *m = &shm->msg;
    size_t          bytes = m->ring_bytes[kind];
    tern_status     st = tern_shm_space_map(shm, peer, rings_of[kind] * bytes, &tx->space, &tx->map);

    if (st < 0)
        return st;
    tx->inject.slot = tern_shm_slot(shm, peer);
    for (unsigned c = 0; c < rings_of[kind]; c++)
        tern_base_ring_producer_init(&tx->inject.producer[c].producer, tx->map + c * bytes, m->shape[kind]);
    tern_shm_announce(shm, peer, kind, tx->space.offset, bytes);
    tern_base_log(TERN_LOG_DEBUG, "link shm: connected to rank %d for %s, by a queue of %zu bytes", peer,
                  kind == SHM_QUEUE_TAGGED   ? "tagged messages"
                  : kind == SHM_QUEUE_HELPER ? "active messages that the helper thread may take"
                                             : "active messages",
                  rings_of[kind] * bytes);
    return TERN_OK;
}

__attribute__((noinline, cold)) tern_status tern_shm_tx_first(struct shm_link *shm, int peer, enum shm_queue_kind kind)
{
    _Atomic(void *) *to = &shm->msg.tx[kind][peer];
    bool             notify = kind == SHM_QUEUE_NOTIFY;
    tern_status      st = TERN_OK;
    void            *tx;

    pthread_mutex_lock(&shm->msg.tx_lock);
    if (!atomic_load(to)) {
        if (!(tx = calloc(1, notify ? sizeof(struct shm_notify_tx) : sizeof(struct shm_tx))))
            st = tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for a queue to rank %d", peer);
        else
            st = notify ? tern_shm_notify_tx_make(shm, peer, tx) : tx_make(shm, peer, kind, tx);
        if (st == TERN_OK)
            atomic_store_explicit(to, tx, memory_order_release); /* pairs with tern_shm_tx() */
        else
            free(tx);
    }
    pthread_mutex_unlock(&shm->msg.tx_lock);
    return st;
}

static size_t shm_msg_max_data(struct tern_link *link, int peer, unsigned channel)
{
    (void)peer;
    return channel == TERN_CHANNEL_NOTIFY ? 0 : tern_base_ring_max_data(tern_shm(link)->msg.shape[kind_of(channel)]);
}

static tern_status shm_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    enum shm_queue_kind kind = kind_of(msg->channel);
    tern_status         st = TERN_OK;
    struct shm_tx      *tx;

    if (msg->channel == TERN_CHANNEL_NOTIFY)
        return tern_shm_notify_reserve(tern_shm(link), msg);
    tx = tern_shm_tx(tern_shm(link), msg->peer, kind, &st);
    return tx ? tern_link_ring_open(&tx->inject.producer[msg->channel - channel_of[kind]], msg, min, max) : st;
}

static void shm_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_order_before_peers(); /* before the copies that the helper thread makes for the peer once it reads
                                       this message */
    if (msg->channel == TERN_CHANNEL_NOTIFY)
        tern_base_nq_publish(&msg->cell, 0);
    else
        tern_base_ring_publish(&msg->claim, len);
    tern_link_ring(tern_shm_slot(tern_shm(link), msg->peer));
}

static void shm_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    if (msg->channel == TERN_CHANNEL_NOTIFY)
        tern_base_nq_publish(&msg->cell, TERN_NQ_SKIP);
    else
        tern_base_ring_skip(&msg->claim);
    tern_link_ring(tern_shm_slot(tern_shm(link), msg->peer)); /* the peer can read the messages behind this one now */
}

/* Send a message without data. The callers pass a constant kind, so the compiler specializes this function for each
 * kind. */
static inline __attribute__((always_inline)) tern_status send_short(struct shm_link *shm, int peer, unsigned channel,
                                                                    enum shm_queue_kind kind, uint64_t first,
                                                                    const uint32_t *rest, unsigned count)
{
    tern_status    st = TERN_OK;
    struct shm_tx *tx = tern_shm_tx(shm, peer, kind, &st);

    if (TERN_UNLIKELY(!tx))
        return st;
    if (TERN_UNLIKELY(!tern_link_ring_push(&tx->inject.producer[channel - channel_of[kind]], channel, first, rest,
                                           count, kind == SHM_QUEUE_TAGGED)))
        return TERN_AGAIN;
    tern_link_ring(tx->inject.slot);
    return TERN_OK;
}

static tern_status shm_msg_send_short(struct tern_link *link, int peer, unsigned channel, uint64_t first,
                                      const uint32_t *rest, unsigned count)
{
    struct tern_link_msg msg;
    tern_status          st;

    if (channel == TERN_CHANNEL_TAGGED)
        return send_short(tern_shm(link), peer, TERN_CHANNEL_TAGGED, SHM_QUEUE_TAGGED, first, rest, count);
    if (channel < TERN_CHANNELS_PAIR)
        return send_short(tern_shm(link), peer, channel, SHM_QUEUE_PAIR, first, rest, count);
    if (channel >= TERN_CHANNEL_HELPER_REQUEST)
        return send_short(tern_shm(link), peer, channel, SHM_QUEUE_HELPER, first, rest, count);
    msg = (struct tern_link_msg){ .peer = peer, .channel = TERN_CHANNEL_NOTIFY };
    if ((st = tern_shm_notify_reserve(tern_shm(link), &msg)) != TERN_OK)
        return st;
    memcpy(msg.head, &first, sizeof(first));
    memcpy(msg.head + sizeof(first), rest, count * sizeof(*rest));
    shm_msg_send(link, &msg, 0);
    return TERN_OK;
}

static tern_status shm_notify_inject(struct tern_link *link, int peer, struct tern_inject_notify **out)
{
    tern_status st = TERN_OK;

    *out = tern_shm_tx(tern_shm(link), peer, SHM_QUEUE_NOTIFY, &st); /* inject is the first field */
    return st;
}

static tern_status shm_tagged_inject(struct tern_link *link, int peer, struct tern_inject_tagged *out)
{
    tern_status    st = TERN_OK;
    struct shm_tx *tx = tern_shm_tx(tern_shm(link), peer, SHM_QUEUE_TAGGED, &st);

    if (tx)
        *out = (struct tern_inject_tagged){ .producer = &tx->inject.producer[0], .slot = tx->inject.slot };
    return st;
}

static tern_status shm_pair_inject(struct tern_link *link, int peer, struct tern_inject_pair **out)
{
    tern_status st = TERN_OK;

    *out = tern_shm_tx(tern_shm(link), peer, SHM_QUEUE_PAIR, &st); /* inject is the first field */
    return st;
}

static tern_status deliver(struct tern_link_watch *watch)
{
    unsigned channel = watch->channel == TERN_CHANNEL_REPLY ? TERN_CHANNEL_REPLY : TERN_CHANNEL_REQUEST;

    return tern_link_rx_deliver((struct tern_link_rx *)watch, tern_shm(watch->link)->up, channel);
}

static tern_status deliver_tagged(struct tern_link_watch *watch)
{
    return tern_link_rx_deliver((struct tern_link_rx *)watch, tern_shm(watch->link)->up, TERN_CHANNEL_TAGGED);
}

static tern_status deliver_helper(struct tern_link_watch *watch)
{
    return tern_link_rx_deliver((struct tern_link_rx *)watch, tern_shm(watch->link)->up, watch->channel);
}

static tern_status (*const deliver_of[SHM_RINGS])(struct tern_link_watch *) = { deliver, deliver_tagged,
                                                                                deliver_helper };

/* Start to receive from the mapped rings of a sender, which have this many bytes each. */
static tern_status rx_open(struct shm_link *shm, int from, enum shm_queue_kind kind, struct shm_rx *rx, size_t bytes)
{
    tern_status st = TERN_OK;

    for (unsigned c = 0; c < rings_of[kind] && st == TERN_OK; c++) {
        rx->channel[c] = (struct tern_link_rx){ .watch = { .channel = channel_of[kind] + c,
                                                           .deliver = deliver_of[kind],
                                                           .expect = tern_link_no_expect,
                                                           .link = (struct tern_link *)shm },
                                                .from = from,
                                                .slot = tern_shm_slot(shm, from) };
        st = tern_link_rx_open(&rx->channel[c], shm->up, rx->map + c * bytes, shape_of(shm, kind, bytes));
    }
    return st;
}

static bool shm_msg_pending(struct tern_link *link, int peer, unsigned channel)
{
    struct shm_link            *shm = tern_shm(link);
    enum shm_queue_kind         kind = kind_of(channel);
    const struct shm_rx        *rx = &shm->msg.rx[kind][shm->local_of[peer]];
    const struct shm_notify_rx *notify = shm->notify.rx[shm->local_of[peer]];

    if (channel == TERN_CHANNEL_NOTIFY)
        return notify && tern_link_watch_ready(&notify->watch);
    return rx->map && tern_link_watch_ready(&rx->channel[channel - channel_of[kind]].watch);
}

tern_status tern_shm_invalid_queue(int from, uint64_t offset, uint64_t bytes)
{
    return tern_base_fail(TERN_ERR_LINK, "rank %d announced an invalid queue: %llu bytes at offset %llu", from,
                          (unsigned long long)bytes, (unsigned long long)offset);
}

tern_status tern_shm_queue_map(struct shm_link *shm, int from, uint64_t offset, uint64_t bytes, unsigned char **map)
{
    struct stat arena;
    void       *at;

    if (bytes == 0 || fstat(shm->boot->arena, &arena) != 0 || !tern_base_covers((uint64_t)arena.st_size, offset, bytes))
        return tern_shm_invalid_queue(from, offset, bytes);
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shm->boot->arena, (off_t)offset);
    if (at == MAP_FAILED)
        return tern_base_fail(errno == EINVAL ? TERN_ERR_LINK : TERN_ERR_NOMEM,
                              "link shm: cannot map the message queue of rank %d: %s", from, strerror(errno));
    *map = at;
    return TERN_OK;
}

/* Map the rings of the given kind that a peer has announced, and start to receive from them. */
static tern_status rx_add(struct shm_link *shm, int local, enum shm_queue_kind kind, uint64_t offset, uint64_t bytes)
{
    int            from = shm->rank_of[local];
    struct shm_rx *rx = &shm->msg.rx[kind][local];
    tern_status    st;

    if (rx->map)
        return TERN_OK;
    if (shape_of(shm, kind, bytes).cells == 0 || bytes > LARGEST_TAGGED || bytes % TERN_RING_LINE != 0)
        return tern_shm_invalid_queue(from, offset, bytes);
    rx->bytes = rings_of[kind] * bytes;
    st = tern_shm_queue_map(shm, from, offset, rx->bytes, &rx->map);
    return st < 0 ? st : rx_open(shm, from, kind, rx, bytes);
}

/* Map the queue, or queues, of the given kind from a peer, if the peer has announced them. */
static tern_status rx_check(struct shm_link *shm, int local, enum shm_queue_kind kind)
{
    struct shm_queue_ref *ref = tern_shm_queue_ref_between(shm, shm->local, local, kind);
    uint64_t offset = atomic_load_explicit(&ref->offset, memory_order_acquire); /* pairs with tern_shm_announce() */
    uint64_t bytes = atomic_load_explicit(&ref->bytes, memory_order_relaxed);

    if (offset == 0)
        return TERN_OK;
    return kind == SHM_QUEUE_NOTIFY ? tern_shm_notify_attach(shm, local, offset, bytes)
                                    : rx_add(shm, local, kind, offset, bytes);
}

/* Map all newly announced queues. The count only says that something may be new: a sender may have died between
 * writing its queue_ref and incrementing the count. */
static tern_status attach_senders(struct tern_link_watch *watch)
{
    struct shm_link *shm = tern_shm(watch->link);
    /* acquire: the queue_refs before their count. Pairs with tern_shm_announce(). */
    uint32_t         senders = atomic_load_explicit(&shm->bounce_ctl[shm->local].senders, memory_order_acquire);
    tern_status      st = TERN_OK;

    for (int local = 0; local < shm->locals; local++)
        for (unsigned kind = 0; kind < SHM_QUEUES && st == TERN_OK; kind++)
            st = rx_check(shm, local, kind);
    if (st == TERN_OK)
        tern_link_watch_move(watch, watch->word, senders);
    return st;
}

static struct tern_work_split *shm_work_splits(struct tern_link *link, int rank)
{
    return tern_shm(link)->bounce_ctl[tern_shm(link)->local_of[rank]].split;
}

const struct tern_msg_ops tern_shm_msg = {
    .max_data = shm_msg_max_data,
    .open = shm_msg_open,
    .send = shm_msg_send,
    .drop = shm_msg_drop,
    .send_short = shm_msg_send_short,
    .poll = tern_link_no_poll,
    .flushed = tern_link_no_unflushed,
    .pending = shm_msg_pending,
};

const struct tern_inject_ops tern_shm_inject = {
    .notify = shm_notify_inject,
    .notify_flushed = tern_shm_notify_flushed,
    .tagged = shm_tagged_inject,
    .pair = shm_pair_inject,
    .work_splits = shm_work_splits,
};
