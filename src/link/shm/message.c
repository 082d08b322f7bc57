/* message.c: messages between ranks of a node.
 *
 * Each rank that has ever sent to another has rings to it in memory of its own choice, two for requests and replies,
 * and from the first notification and the first tagged message on one for those; a post tells the receiver where. So
 * memory grows with the pairs that talk: TERN_AM_QUEUE bytes per rank when all talk to it, divided evenly among the
 * pairs, half as much again for tagged messages, and a cell for each of TERN_NOTIFY_QUEUE notifications of a pair. A
 * sender that dies leaves at most its own rings unfinished. A receiver polls the rings of those who have ever sent to
 * it, and whether there is one more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/sanitize.h"
#include "boot/bell.h"
#include "link/shm/shm.h"

#define SMALLEST_RING 4096u
#define LARGEST_RING (1u << 20)
#define LARGEST_TAGGED (4u << 20)                             /* the same of tagged messages */
#define MOST_BYTES (65536u * TERN_RING_LINE + LARGEST_TAGGED) /* that a ring of any kind has */
#define BATCH 16                                              /* messages from one ring in one poll */

static tern_status meet_senders(struct tern_link_watch *news);

static const unsigned rings_of[SHM_POSTS] = { TERN_CHANNELS_PAIR, 1, 1 };
/* The channel of the first ring of a post. */
static const unsigned channel_of[SHM_POSTS] = { TERN_CHANNEL_REQUEST, TERN_CHANNEL_NOTE, TERN_CHANNEL_TAGGED };

static inline enum shm_post_kind kind_of(unsigned channel)
{
    static const uint8_t kind[TERN_CHANNELS] = { SHM_POST_PAIR, SHM_POST_PAIR, SHM_POST_NOTES, SHM_POST_TAGGED };

    return (enum shm_post_kind)kind[channel];
}

static struct tern_ring_shape shape_of(enum shm_post_kind kind, uint64_t bytes)
{
    if (kind == SHM_POST_NOTES)
        return tern_base_ring_bare(bytes);
    /* Active messages come sooner side by side: who delivers them mostly waits for the next. */
    return kind == SHM_POST_TAGGED ? tern_base_ring_apart(tern_base_ring_shape(bytes)) : tern_base_ring_shape(bytes);
}

/* Bytes of a ring that is one of so many for which there are bytes in all. */
static size_t ring_share(uint64_t bytes, size_t rings, size_t most)
{
    size_t share = (size_t)(bytes / rings);

    share = share < SMALLEST_RING ? SMALLEST_RING : share > most ? most : share;
    return share & ~(size_t)(TERN_RING_LINE - 1);
}

static void choose_rings(struct shm_messages *m, size_t locals)
{
    m->ring_bytes[SHM_POST_PAIR] = ring_share(tern_opt.am_queue, TERN_CHANNELS_PAIR * locals, LARGEST_RING);
    m->ring_bytes[SHM_POST_TAGGED] = ring_share(tern_opt.msg_queue, locals, LARGEST_TAGGED);
    m->ring_bytes[SHM_POST_NOTES] = tern_base_ring_bare_bytes((size_t)tern_opt.notify_queue);
    for (unsigned kind = 0; kind < SHM_POSTS; kind++)
        m->shape[kind] = shape_of(kind, m->ring_bytes[kind]);
}

static void tables_free(struct shm_messages *m)
{
    for (unsigned kind = 0; kind < SHM_POSTS; kind++)
        free(m->outbox[kind]);
    free(m->inbox);
}

tern_status tern_shm_messages_open(struct shm_link *shm)
{
    struct shm_messages *m = &shm->messages;
    size_t               locals = (size_t)shm->locals;

    choose_rings(m, locals);
    m->carries = tern_opt.notify_inline > 0 && tern_base_carry_open();
    atomic_store_explicit(&shm->desk[shm->local].carries, m->carries, memory_order_relaxed); /* joining orders */
    m->post = (struct shm_post *)(void *)(shm->control + tern_shm_hall_offset(shm->locals, SHM_GROUPS));
    for (unsigned kind = 0; kind < SHM_POSTS; kind++)
        m->outbox[kind] = calloc((size_t)shm->ranks, sizeof(*m->outbox[kind]));
    m->inbox = calloc(locals * SHM_POSTS, sizeof(*m->inbox));
    pthread_mutex_init(&m->outbox_lock, NULL);
    m->news = (struct tern_link_watch){ .word = &shm->desk[shm->local].senders,
                                        .channel = TERN_CHANNEL_NEWS,
                                        .deliver = meet_senders,
                                        .link = (struct tern_link *)shm };
    if (m->outbox[SHM_POST_PAIR] && m->outbox[SHM_POST_NOTES] && m->outbox[SHM_POST_TAGGED] && m->inbox)
        return shm->up->watch(&m->news);
    tables_free(m);
    return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for tables of %d ranks", shm->ranks);
}

/* A new one, with everything but its rings. */
static struct shm_outbox *outbox_new(const struct shm_messages *m, enum shm_post_kind kind)
{
    struct shm_outbox      *outbox = calloc(1, sizeof(*outbox));
    struct tern_carry_load *load = NULL;

    if (!outbox || kind != SHM_POST_NOTES)
        return outbox;
    if (!(load = calloc(m->shape[kind].cells, sizeof(*load)))) {
        free(outbox);
        return NULL;
    }
    tern_base_carry_begin(&outbox->port.carry, load);
    return outbox;
}

static void outbox_free(struct shm_outbox *outbox)
{
    if (outbox)
        free(outbox->port.carry.load);
    free(outbox);
}

/* The space stays: the peer may still be reading the last messages. It goes with the job. */
static void outbox_close(struct shm_outbox *outbox)
{
    if (!outbox)
        return;
    munmap(outbox->map, outbox->space.bytes);
    outbox_free(outbox);
}

void tern_shm_messages_close(struct shm_link *shm)
{
    struct shm_messages *m = &shm->messages;

    for (uint32_t i = 0; i < m->inboxes; i++)
        munmap(m->inbox[i].map, m->inbox[i].bytes);
    for (int peer = 0; peer < shm->ranks; peer++)
        for (unsigned kind = 0; kind < SHM_POSTS; kind++)
            outbox_close(atomic_load(&m->outbox[kind][peer]));
    pthread_mutex_destroy(&m->outbox_lock);
    tables_free(m);
}

/* Make the rings of a post to a peer and tell it where they are. */
static tern_status outbox_make(struct shm_link *shm, int peer, enum shm_post_kind kind, struct shm_outbox *outbox)
{
    struct shm_messages *m = &shm->messages;
    int                  local = shm->local_of[peer];
    struct shm_post     *post = tern_shm_post_between(shm, local, shm->local, kind);
    size_t               bytes = m->ring_bytes[kind];
    tern_status          st = tern_boot_space_take(shm->boot, shm->boot->arena, rings_of[kind] * bytes, &outbox->space);

    if (st < 0)
        return st;
    outbox->map = mmap(NULL, outbox->space.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, outbox->space.file,
                       (off_t)outbox->space.offset);
    if (outbox->map == MAP_FAILED) {
        tern_boot_space_give(&outbox->space);
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: cannot map the message queue to rank %d: %s", peer,
                              strerror(errno));
    }
    outbox->port.slot = tern_shm_slot(shm, peer);
    for (unsigned c = 0; c < rings_of[kind]; c++)
        tern_base_ring_produce(&outbox->port.outlet[c].producer, outbox->map + c * bytes, m->shape[kind]);
    atomic_store_explicit(&post->bytes, bytes, memory_order_relaxed);
    /* release: the size before the offset, and both before the count. Pair with the acquires in inbox_add() and
     * meet_senders(). */
    atomic_store_explicit(&post->offset, outbox->space.offset, memory_order_release);
    atomic_fetch_add_explicit(&shm->desk[local].senders, 1, memory_order_release);
    return TERN_OK;
}

static __attribute__((noinline, cold)) tern_status outbox_first(struct shm_link *shm, int peer, enum shm_post_kind kind)
{
    struct shm_messages *m = &shm->messages;
    struct shm_outbox   *outbox;
    tern_status          st = TERN_OK;

    pthread_mutex_lock(&m->outbox_lock);
    if (!atomic_load(&m->outbox[kind][peer])) {
        outbox = outbox_new(m, kind);
        st = outbox ? outbox_make(shm, peer, kind, outbox)
                    : tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for a queue to rank %d", peer);
        if (st == TERN_OK)
            atomic_store_explicit(&m->outbox[kind][peer], outbox, memory_order_release); /* pairs with outbox_to() */
        else
            outbox_free(outbox);
    }
    pthread_mutex_unlock(&m->outbox_lock);
    return st;
}

size_t tern_shm_msg_longest(struct tern_link *link, int peer, unsigned channel)
{
    (void)peer;
    return tern_base_ring_longest(tern_shm(link)->messages.shape[kind_of(channel)]);
}

/* The outbox of a kind to a peer, made with the first message. NULL: *st says why not. */
static inline struct shm_outbox *outbox_to(struct shm_link *shm, int peer, enum shm_post_kind kind, tern_status *st)
{
    struct shm_outbox *outbox;

    /* acquire: the outbox before the pointer. Pairs with outbox_first(). */
    while (TERN_UNLIKELY(!(outbox = atomic_load_explicit(&shm->messages.outbox[kind][peer], memory_order_acquire))))
        if ((*st = outbox_first(shm, peer, kind)) < 0)
            return NULL;
    return outbox;
}

/* The same of a channel, the outlet. */
static inline struct tern_ring_outlet *outlet_to(struct shm_link *shm, int peer, unsigned channel, tern_status *st)
{
    enum shm_post_kind kind = kind_of(channel);
    struct shm_outbox *outbox = outbox_to(shm, peer, kind, st);

    return outbox ? &outbox->port.outlet[channel - channel_of[kind]] : NULL;
}

/* Replies are sent by one thread at a time anyway. */
static inline bool lock(struct tern_ring_outlet *outlet, unsigned channel)
{
    return channel == TERN_CHANNEL_REPLY || tern_base_lone_lock(&outlet->lock);
}

static inline void unlock(struct tern_ring_outlet *outlet, unsigned channel, bool alone)
{
    if (channel != TERN_CHANNEL_REPLY)
        tern_base_lone_unlock(&outlet->lock, alone);
}

tern_status tern_shm_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    tern_status              st = TERN_OK;
    struct tern_ring_outlet *outlet = outlet_to(tern_shm(link), msg->peer, msg->channel, &st);
    struct tern_ring_room    room;
    bool                     alone, taken;

    if (!outlet)
        return st;
    alone = lock(outlet, msg->channel);
    taken = tern_base_ring_take(&outlet->producer, min, max, &room);
    unlock(outlet, msg->channel, alone);
    if (!taken)
        return TERN_AGAIN;
    msg->place = room.place;
    msg->head = room.place.cell->head;
    msg->data = room.data;
    msg->room = room.len;
    return TERN_OK;
}

static void ring_peer(struct shm_link *shm, int peer)
{
    tern_link_ring(tern_shm_slot(shm, peer));
}

void tern_shm_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_order_before(link); /* the service thread, when it copies for the peer that was told to come */
    tern_base_ring_publish(&msg->place, len);
    ring_peer(tern_shm(link), msg->peer);
}

void tern_shm_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(&msg->place);
    ring_peer(tern_shm(link), msg->peer); /* what is behind it can be read now */
}

/* What a post has to offer is known where this is compiled. */
static inline __attribute__((always_inline)) tern_status brief(struct shm_link *shm, int peer, unsigned channel,
                                                               enum shm_post_kind kind, uint64_t first,
                                                               const uint32_t *rest, unsigned count)
{
    tern_status              st = TERN_OK;
    struct shm_outbox       *outbox = outbox_to(shm, peer, kind, &st);
    struct tern_ring_outlet *outlet;
    bool                     alone, sent;

    if (TERN_UNLIKELY(!outbox))
        return st;
    outlet = &outbox->port.outlet[channel - channel_of[kind]];
    alone = lock(outlet, channel);
    sent = tern_base_ring_put(&outlet->producer, first, rest, count, kind == SHM_POST_TAGGED);
    unlock(outlet, channel, alone);
    if (TERN_UNLIKELY(!sent))
        return TERN_AGAIN;
    tern_link_ring(outbox->port.slot);
    return TERN_OK;
}

tern_status tern_shm_msg_brief(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                               unsigned count)
{
    if (channel == TERN_CHANNEL_TAGGED)
        return brief(tern_shm(link), peer, TERN_CHANNEL_TAGGED, SHM_POST_TAGGED, first, rest, count);
    return brief(tern_shm(link), peer, channel, kind_of(channel), first, rest, count);
}

tern_status tern_shm_note_port(struct tern_link *link, int peer, struct tern_link_port **out)
{
    tern_status        st = TERN_OK;
    struct shm_outbox *outbox = outbox_to(tern_shm(link), peer, SHM_POST_NOTES, &st);

    if (outbox)
        *out = &outbox->port;
    return st;
}

static bool is_settled(struct shm_outbox *outbox, bool help)
{
    struct tern_ring_outlet *outlet = &outbox->port.outlet[0];
    bool                     alone = tern_base_lone_lock(&outlet->lock);
    bool                     settled = tern_base_carry_settle(&outlet->producer, &outbox->port.carry, help);

    if (settled)
        atomic_store_explicit(&outbox->port.carrying, false, memory_order_relaxed); /* the lock orders */
    tern_base_lone_unlock(&outlet->lock, alone);
    return settled;
}

bool tern_shm_note_settled(struct tern_link *link, bool help)
{
    struct shm_link *shm = tern_shm(link);
    bool             settled = true;

    for (int local = 0; local < shm->locals; local++) {
        int                peer = shm->rank_of[local];
        struct shm_outbox *outbox = atomic_load_explicit(&shm->messages.outbox[SHM_POST_NOTES][peer],
                                                         memory_order_acquire); /* pairs with outbox_first() */

        /* What this thread has sent it sees. Of the dead nobody wants to know. */
        if (outbox && atomic_load_explicit(&outbox->port.carrying, memory_order_relaxed) && !tern_shm_gone(shm, peer))
            settled &= is_settled(outbox, help);
    }
    return settled;
}

/* Watch a cell. */
static inline void watch_at(struct shm_inlet *inlet, uint64_t position)
{
    uint32_t                idle;
    const _Atomic uint32_t *mark = tern_base_ring_mark(&inlet->ring, position, &idle);

    tern_link_watch_move(&inlet->watch, mark, idle);
}

/* Consumed: wake the sender where it waits for room. */
static inline void wake_for_room(struct shm_inlet *inlet)
{
    if (TERN_UNLIKELY(tern_base_ring_wanted(&inlet->ring)))
        ring_peer(tern_shm(inlet->watch.link), inlet->from); /* it may sleep until there is room */
}

/* The same, and move on. */
static inline tern_status delivered(struct shm_inlet *inlet, int found)
{
    watch_at(inlet, inlet->ring.next);
    wake_for_room(inlet);
    if (TERN_LIKELY(found >= 0))
        return TERN_OK;
    return tern_base_fail(TERN_ERR_LINK, "the message queue from rank %d is damaged", inlet->from);
}

static tern_status deliver(struct tern_link_watch *watch)
{
    struct shm_inlet     *inlet = (struct shm_inlet *)watch;
    struct shm_link      *shm = tern_shm(watch->link);
    struct tern_ring_item item;
    int                   found = 0;

    for (int i = 0; i < BATCH && (found = tern_base_ring_peek(&inlet->ring, &item)) > 0; i++) {
        shm->up->message(inlet->from, watch->channel, item.head, item.data, item.len);
        tern_base_ring_consume(&inlet->ring, item.span);
    }
    return delivered(inlet, found);
}

/* One note. LEFT: it stays in the ring. */
static inline enum tern_link_took take_note(struct shm_link *shm, struct shm_inlet *inlet,
                                            const struct tern_ring_item *item)
{
    enum tern_carry_turn turn = tern_base_carry_turn(&inlet->ring, tern_base_ring_at(item));
    enum tern_link_took  took;

    /* A sender that died while it put the bytes in place has told nobody that they are there: do it. */
    if (TERN_UNLIKELY(turn == TERN_CARRY_LATER) && !tern_shm_gone(shm, inlet->from))
        return TERN_LINK_LEFT;
    took = shm->up->note(inlet->from, item->head, turn == TERN_CARRY_PLACE || turn == TERN_CARRY_LATER);
    if (TERN_UNLIKELY(took == TERN_LINK_LEFT && turn == TERN_CARRY_PLACE))
        tern_base_carry_undo(&inlet->ring);
    return took;
}

/* Until someone has what it waited for: it is to go on, and what is behind costs least where it is. */
static tern_status deliver_notes(struct tern_link_watch *watch)
{
    struct shm_inlet     *inlet = (struct shm_inlet *)watch;
    struct shm_link      *shm = tern_shm(watch->link);
    struct tern_ring_item item;
    enum tern_link_took   took;
    int                   found, left = BATCH;

    tern_base_order_after(shm); /* what the service thread has copied for peers that tell of it now */
    while ((found = tern_base_ring_peek(&inlet->ring, &item)) > 0) {
        if (TERN_UNLIKELY((took = take_note(shm, inlet, &item)) == TERN_LINK_LEFT))
            break;
        tern_base_ring_consume(&inlet->ring, item.span);
        if (took == TERN_LINK_DONE || --left == 0)
            break;
    }
    return delivered(inlet, found);
}

/* It was not taken. */
static __attribute__((noinline)) bool stays(struct shm_inlet *inlet)
{
    watch_at(inlet, inlet->ring.next);
    return false;
}

/* The shortest way for a note: nobody else waits, and it is as the last one was. What can be known before it comes is
 * worked out before; the place of what it carries above all, or the program's next look at that place would be tried
 * before the store to it has an address, and tried again. What is looked at twice is a copy. */
static bool expect_note(struct tern_link_watch *watch, struct tern_link_want *want, unsigned looks)
{
    struct shm_inlet            *inlet = (struct shm_inlet *)watch;
    struct tern_ring_consumer   *ring = &inlet->ring;
    const struct tern_ring_cell *cell = tern_base_ring_cell(ring->ring, ring->next, ring->shape);
    const volatile uint64_t     *word = (const volatile uint64_t *)(const volatile void *)cell->head;
    const uint64_t               region = want->region, care = want->care;
    const uint32_t               idle = watch->idle, len = want->len;
    uint64_t                     first, third;
    uint32_t                     mark;

    if (TERN_UNLIKELY(inlet->from != want->from))
        return false;
    watch_at(inlet, ring->next + 1);
    /* acquire: the message after its mark. Pairs with the releases in tern_base_ring_publish() and carry_put(). */
    while ((mark = atomic_load_explicit(&cell->mark, memory_order_acquire)) == idle && --looks > 0)
        tern_base_relax(); /* a reader that never rests takes the line from the writer */
    first = word[0];
    if (TERN_UNLIKELY(mark != idle + 1 || !tern_base_ring_holds(cell, len > 0) || ((first ^ want->first) & care) != 0 ||
                      word[1] != region))
        return stays(inlet);
    third = word[2];
    if (TERN_UNLIKELY(third != want->third)) {
        if (len > 0 && third > want->reach)
            return stays(inlet);
        want->third = third;
        want->to = len > 0 ? want->base + third : NULL;
    }
    if (TERN_LIKELY(len > 0)) {
        if (TERN_UNLIKELY(tern_base_carry_turn(ring, 1) != TERN_CARRY_PLACE))
            return stays(inlet);
        tern_base_carry_place(want->to, cell->head + TERN_CARRY_WORDS * sizeof(uint64_t), len);
    }
    if (TERN_UNLIKELY(first != want->first))
        want->first = first;
    tern_base_ring_consume(ring, 0);
    wake_for_room(inlet);
    return true;
}

/* What cannot be taken now stays in the ring. */
static tern_status deliver_tagged(struct tern_link_watch *watch)
{
    struct shm_inlet     *inlet = (struct shm_inlet *)watch;
    struct shm_link      *shm = tern_shm(watch->link);
    struct tern_ring_item item;
    bool                  many = inlet->many;
    int                   found = 0, i;

    tern_base_order_after(shm); /* what the service thread has copied for peers that tell of it now */
    for (i = 0; i < BATCH && (found = tern_base_ring_peek(&inlet->ring, &item)) > 0; i++) {
        if (many)
            tern_base_ring_fetch_ahead(&inlet->ring);
        if (TERN_UNLIKELY(!shm->up->tagged(inlet->from, item.head, item.data, item.len)))
            break;
        tern_base_ring_consume(&inlet->ring, item.span);
    }
    inlet->many = i == BATCH;
    return delivered(inlet, found);
}

static tern_status (*const deliver_of[SHM_POSTS])(struct tern_link_watch *) = { deliver, deliver_notes,
                                                                                deliver_tagged };

/* The rings of a sender, mapped. */
static tern_status inbox_open(struct shm_link *shm, struct shm_inbox *inbox, struct tern_ring_shape shape)
{
    size_t      bytes = inbox->bytes / rings_of[inbox->kind];
    tern_status st = TERN_OK;

    for (unsigned c = 0; c < rings_of[inbox->kind] && st == TERN_OK; c++) {
        struct shm_inlet *inlet = &inbox->inlet[c];

        inlet->from = inbox->from;
        inlet->watch = (struct tern_link_watch){ .channel = channel_of[inbox->kind] + c,
                                                 .deliver = deliver_of[inbox->kind],
                                                 .expect = inbox->kind == SHM_POST_NOTES ? expect_note : NULL,
                                                 .link = (struct tern_link *)shm };
        tern_base_ring_consume_from(&inlet->ring, inbox->map + c * bytes, shape);
        watch_at(inlet, 0);
        st = shm->up->watch(&inlet->watch);
    }
    return st;
}

static bool is_known(const struct shm_messages *m, int from, enum shm_post_kind kind)
{
    for (uint32_t i = 0; i < m->inboxes; i++)
        if (m->inbox[i].from == from && m->inbox[i].kind == kind)
            return true;
    return false;
}

/* Map the rings of a post that is new. */
static tern_status inbox_add(struct shm_link *shm, int local, enum shm_post_kind kind)
{
    int                    from = shm->rank_of[local];
    struct shm_messages   *m = &shm->messages;
    struct shm_inbox      *inbox = &m->inbox[m->inboxes];
    struct shm_post       *post = tern_shm_post_between(shm, shm->local, local, kind);
    uint64_t               offset = atomic_load_explicit(&post->offset, memory_order_acquire); /* see outbox_make() */
    uint64_t               bytes = atomic_load_explicit(&post->bytes, memory_order_relaxed), all;
    struct tern_ring_shape shape;
    struct stat            arena;
    void                  *map;

    if (offset == 0 || is_known(m, from, kind))
        return TERN_OK;
    shape = shape_of(kind, bytes);
    all = rings_of[kind] * bytes;
    if (shape.cells == 0 || bytes > MOST_BYTES || bytes % TERN_RING_LINE != 0 || fstat(shm->boot->arena, &arena) != 0 ||
        !tern_base_covers((uint64_t)arena.st_size, offset, all))
        return tern_base_fail(TERN_ERR_LINK, "rank %d announced message queues of %llu bytes at %llu", from,
                              (unsigned long long)bytes, (unsigned long long)offset);
    map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, shm->boot->arena, (off_t)offset);
    if (map == MAP_FAILED)
        return tern_base_fail(errno == EINVAL ? TERN_ERR_LINK : TERN_ERR_NOMEM,
                              "link shm: cannot map the message queue of rank %d: %s", from, strerror(errno));
    *inbox = (struct shm_inbox){ .from = from, .kind = kind, .map = map, .bytes = all };
    m->inboxes++;
    return inbox_open(shm, inbox, shape);
}

/* Look at all posts. A sender may have died between its post and the count: the number says that something is new, no
 * more. */
static tern_status meet_senders(struct tern_link_watch *news)
{
    struct shm_link *shm = tern_shm(news->link);
    /* acquire: the posts before their number. Pairs with outbox_make(). */
    uint32_t         senders = atomic_load_explicit(&shm->desk[shm->local].senders, memory_order_acquire);
    tern_status      st = TERN_OK;

    for (int local = 0; local < shm->locals && st == TERN_OK; local++)
        for (unsigned kind = 0; kind < SHM_POSTS && st == TERN_OK; kind++)
            st = inbox_add(shm, local, kind);
    if (st == TERN_OK)
        tern_link_watch_move(news, news->word, senders);
    return st;
}
