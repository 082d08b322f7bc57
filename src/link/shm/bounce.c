/* bounce.c: the initiator's half of transfers to a peer's private memory where the kernel forbids cross-memory
 * attach.
 *
 * A transfer is split into chunks. The initiator fills a chunk (put) or leaves it empty (get), pushes it to the
 * target's inbox, and rings the target's bell. The target's helper thread (bounce_serve.c) copies the data and
 * marks the chunk done. The initiator fills the next chunk while the target copies the previous one, so the two
 * copies overlap. All threads of the process share the first TERN_BOUNCE_CHUNKS chunks; each lane may hold one of
 * the remaining chunks while it has outstanding transfers. A transfer that finds no free chunk waits in its lane, in
 * order. An RPC uses one chunk, which holds the request and the response buffer.
 *
 * A thread that does not collect its finished transfers does not block the others: a lane that holds no chunk and
 * finds none collects the finished chunks of all lanes, under the locks of those lanes. The chunks that remain busy
 * are then those that a target has not finished, and the target rings the bell when it does.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/read_once.h"
#include "base/options.h"
#include "boot/bell.h"
#include "link/none.h"
#include "link/shm/shm.h"

/* Allocate this rank's chunks. The caller holds chunks_lock. */
static tern_status make_chunks(struct shm_link *shm)
{
    struct shm_bounce_ctl *ctl = &shm->bounce_ctl[shm->local];
    unsigned               chunks = (unsigned)tern_opt.bounce_chunks;
    tern_status            st;

    shm->chunk_bytes = tern_base_round_up(tern_opt.bounce_chunk, TERN_CACHE_LINE);
    st = tern_boot_space_check((uint64_t)shm->locals * SHM_CHUNKS * shm->chunk_bytes, /* peers allocate as much now */
                               "the bounce buffer (TERN_BOUNCE_CHUNK)");
    if (st == TERN_OK)
        st = tern_boot_space_take(shm->boot, shm->boot->arena, SHM_CHUNKS * shm->chunk_bytes, &shm->data_space);
    if (st < 0)
        return st;
    shm->data = mmap(NULL, shm->data_space.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shm->data_space.file,
                     (off_t)shm->data_space.offset);
    if (shm->data == MAP_FAILED) {
        shm->data = NULL;
        tern_boot_space_give(&shm->data_space);
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: cannot map %llu bytes of bounce buffer",
                              (unsigned long long)shm->data_space.bytes);
    }
    for (unsigned i = 0; i < SHM_CHUNKS; i++)
        ctl->chunk[i].data = shm->data_space.offset + i * shm->chunk_bytes;
    atomic_store_explicit(&ctl->data_bytes, shm->data_space.bytes, memory_order_relaxed);
    /* release: the description of the chunks before the offset that publishes them. Pairs with the acquire in
     * peer_map(), bounce_serve.c. */
    atomic_store_explicit(&ctl->data, shm->data_space.offset, memory_order_release);
    atomic_store_explicit(&shm->free_chunks, (1ull << chunks) - 1, memory_order_relaxed);
    atomic_store_explicit(&shm->lane_chunks, ~((1ull << chunks) - 1), memory_order_relaxed);
    return TERN_OK;
}

tern_status tern_shm_bounce_open(struct shm_link *shm)
{
    tern_status st = TERN_OK;

    pthread_mutex_lock(&shm->chunks_lock);
    if (!shm->data)
        st = make_chunks(shm);
    pthread_mutex_unlock(&shm->chunks_lock);
    return st;
}

void tern_shm_bounce_close(struct shm_link *shm)
{
    for (int peer = 0; peer < shm->locals; peer++)
        if (shm->peer_data[peer].map)
            munmap(shm->peer_data[peer].map, shm->peer_data[peer].bytes);
    if (shm->data) {
        munmap(shm->data, shm->data_space.bytes);
        tern_boot_space_give(&shm->data_space);
    }
}

/* Take one bit out of a mask. Returns its index, or -1 if the mask is empty. */
static int mask_take(_Atomic uint64_t *mask)
{
    uint64_t seen = atomic_load_explicit(mask, memory_order_relaxed);

    while (seen != 0) {
        /* acquire: the previous holder's use of the chunk before this thread overwrites it. Pairs with mask_give(). */
        if (atomic_compare_exchange_weak_explicit(mask, &seen, seen & (seen - 1), memory_order_acquire,
                                                  memory_order_relaxed))
            return __builtin_ctzll(seen);
    }
    return -1;
}

static void mask_give(_Atomic uint64_t *mask, int chunk)
{
    /* release: this thread's use of the chunk before the next holder's. Pairs with mask_take(). */
    atomic_fetch_or_explicit(mask, 1ull << chunk, memory_order_release);
}

/* Take a shared chunk, or else the lane's own chunk unless the lane already holds it. Returns -1 if there is none.
 * The caller holds the lane's lock, here and in the functions below. */
static int chunk_take(struct shm_lane *lane)
{
    int chunk = mask_take(&lane->link->free_chunks);

    if (chunk < 0 && lane->own < 0)
        chunk = lane->own = mask_take(&lane->link->lane_chunks);
    lane->held += chunk >= 0;
    return chunk;
}

static void chunk_give(struct shm_lane *lane, int chunk)
{
    bool own = chunk == lane->own;

    if (own)
        lane->own = -1;
    lane->held--;
    mask_give(own ? &lane->link->lane_chunks : &lane->link->free_chunks, chunk);
}

tern_status tern_shm_lane_open(struct tern_link *link, struct tern_lane **out)
{
    struct shm_link *shm = tern_shm(link);
    struct shm_lane *lane = malloc(sizeof(*lane));

    if (!lane)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for %zu bytes", sizeof(*lane));
    *lane = (struct shm_lane){ .link = shm, .own = -1 };
    tern_base_list_init(&lane->ops);
    pthread_mutex_init(&lane->lock, NULL);
    pthread_mutex_lock(&shm->lanes_lock);
    tern_base_list_push(&shm->lanes, &lane->node);
    pthread_mutex_unlock(&shm->lanes_lock);
    *out = (struct tern_lane *)lane;
    return TERN_OK;
}

void tern_shm_lane_close(struct tern_lane *lane)
{
    struct shm_lane *l = (struct shm_lane *)lane;

    pthread_mutex_lock(&l->link->lanes_lock);
    tern_base_list_remove(&l->node);
    pthread_mutex_unlock(&l->link->lanes_lock);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* Push a chunk to the target's inbox and wake the target's helper thread. */
static void chunk_post(struct shm_link *shm, unsigned index, int target)
{
    struct shm_chunk *chunk = &shm->bounce_ctl[shm->local].chunk[index];
    struct tern_slot *slot = tern_shm_slot(shm, target);
    _Atomic uint32_t *inbox = &shm->bounce_ctl[shm->local_of[target]].inbox;
    uint32_t          number = (uint32_t)shm->local * SHM_CHUNKS + index + 1;
    uint32_t          newest = atomic_load_explicit(inbox, memory_order_relaxed);

    atomic_store_explicit(&chunk->state, SHM_CHUNK_POSTED, memory_order_relaxed);
    do {
        chunk->next = newest;
        /* release: the chunk's content before its number. Pairs with the acquire exchange in tern_shm_serve(). */
    } while (
        !atomic_compare_exchange_weak_explicit(inbox, &newest, number, memory_order_release, memory_order_relaxed));
    tern_boot_wake_service(slot);
}

static unsigned char *chunk_data(struct shm_link *shm, unsigned index)
{
    return shm->data + index * shm->chunk_bytes;
}

/* Post as much of the transfer as there are free chunks. */
static void op_pump(struct shm_lane *lane, struct tern_link_op *op)
{
    struct shm_link        *shm = lane->link;
    const struct tern_xfer *xfer = &op->xfer;
    int                     index;

    while (op->copied < xfer->len && (index = chunk_take(lane)) >= 0) {
        struct shm_chunk *chunk = &shm->bounce_ctl[shm->local].chunk[index];
        size_t            left = xfer->len - op->copied, len = left < shm->chunk_bytes ? left : shm->chunk_bytes;

        shm->range[index] = (struct shm_chunk_range){ op->copied, len };
        chunk->len = len;
        chunk->verb = xfer->get ? SHM_GET : SHM_PUT;
        chunk->region = xfer->part->region;
        chunk->offset = xfer->offset + op->copied;
        if (!xfer->get)
            memcpy(chunk_data(shm, (unsigned)index), (unsigned char *)xfer->local + op->copied, len);
        op->copied += len;
        op->chunks |= 1ull << index;
        chunk_post(shm, (unsigned)index, xfer->part->rank);
    }
}

/* Process a chunk that the target has finished. The target can write the chunk at any time, even after marking it
 * done. Only the status and the length of an RPC response are read from the chunk's header, each once; the range of
 * the transfer comes from this rank's own record. */
static void chunk_collect(struct shm_link *shm, struct tern_link_op *op, unsigned index)
{
    const struct tern_xfer       *xfer = &op->xfer;
    const struct shm_chunk       *chunk = &shm->bounce_ctl[shm->local].chunk[index];
    const struct shm_chunk_range *range = &shm->range[index];
    bool                          rpc = op->rpc_buf != NULL;
    int32_t                       status = TERN_READ_ONCE(chunk->status);
    uint64_t                      answered = rpc ? TERN_READ_ONCE(chunk->offset) : 0;

    if (status != TERN_OK || (rpc && answered > op->response_max))
        op->status = TERN_ERR_LINK;
    else if (rpc && op->on_response)
        op->on_response(op, chunk_data(shm, index) + tern_link_response_at(op->request_len), answered);
    else if (!rpc && xfer->get && xfer->local)
        memcpy((unsigned char *)xfer->local + range->at, chunk_data(shm, index), range->len);
}

/* Collect the chunks that the target has finished, or all chunks if the target is gone. Any thread may call this. */
static void op_reap(struct shm_lane *lane, struct tern_link_op *op)
{
    struct shm_link *shm = lane->link;
    bool             lost = tern_boot_gone(shm->boot, op->xfer.part->rank);

    for (uint64_t left = op->chunks; left != 0; left &= left - 1) {
        unsigned          index = (unsigned)__builtin_ctzll(left);
        struct shm_chunk *chunk = &shm->bounce_ctl[shm->local].chunk[index];

        /* acquire: the target's copy before this thread's. Pairs with the release in answer(), bounce_serve.c. */
        if (atomic_load_explicit(&chunk->state, memory_order_acquire) == SHM_CHUNK_DONE)
            chunk_collect(shm, op, index);
        else if (lost)
            op->status = TERN_ERR_PEER;
        else
            continue;
        op->chunks &= ~(1ull << index);
        chunk_give(lane, (int)index);
    }
}

/* Stop sending the rest of a transfer that has failed. Only the thread that uses the lane calls this. */
static void op_judge(struct shm_lane *lane, struct tern_link_op *op)
{
    if (op->copied < op->xfer.len && tern_boot_gone(lane->link->boot, op->xfer.part->rank))
        op->status = TERN_ERR_PEER;
    if (op->status < 0)
        op->copied = op->xfer.len;
}

/* Collect finished chunks for all lanes. Returns whether a chunk is free afterwards. The caller holds no lane's
 * lock. */
static bool collect_all(struct shm_link *shm)
{
    pthread_mutex_lock(&shm->lanes_lock);
    TERN_LIST_EACH(struct shm_lane, lane, &shm->lanes, node) {
        pthread_mutex_lock(&lane->lock);
        TERN_LIST_EACH(struct tern_link_op, op, &lane->ops, node)
            op_reap(lane, op);
        pthread_mutex_unlock(&lane->lock);
    }
    pthread_mutex_unlock(&shm->lanes_lock);
    /* relaxed: only a hint; mask_take() decides. */
    return (atomic_load_explicit(&shm->free_chunks, memory_order_relaxed) |
            atomic_load_explicit(&shm->lane_chunks, memory_order_relaxed)) != 0;
}

/* Return whether a new operation may take chunks, because no earlier operation of the lane is waiting for chunks. */
static bool may_take(const struct shm_lane *lane)
{
    TERN_LIST_EACH(struct tern_link_op, other, &lane->ops, node)
        if (other->copied < other->xfer.len)
            return false; /* it waits for chunks */
    return true;
}

/* Start a transfer, or take a chunk for an RPC. Returns false if that is not possible now; *starved then tells
 * whether the lane holds no chunk at all. */
static bool begin(struct shm_lane *lane, struct tern_link_op *op, bool rpc, bool *starved)
{
    struct shm_link *shm = lane->link;
    int              index = -1;
    bool             begun = false;

    pthread_mutex_lock(&lane->lock);
    if (may_take(lane) && !rpc) {
        op_pump(lane, op);
        if ((begun = op->chunks != 0))
            tern_base_list_append(&lane->ops, &op->node);
    } else if (may_take(lane) && (index = chunk_take(lane)) >= 0) {
        begun = true;
        op->link_data = &shm->bounce_ctl[shm->local].chunk[index];
        op->rpc_buf = chunk_data(shm, (unsigned)index);
        op->rpc_bytes = shm->chunk_bytes;
    }
    *starved = lane->held == 0;
    pthread_mutex_unlock(&lane->lock);
    return begun;
}

/* Begin an operation; if the lane holds no chunk, and finds none, collect finished chunks first. An RPC changes op only
 * if it begins. */
static tern_status begin_any(struct shm_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op, bool rpc)
{
    struct tern_link_op new = { .xfer = *xfer, .status = TERN_OK };
    bool starved;

    if (!rpc)
        *op = new; /* begin() puts op into the list */
    if (!begin(lane, rpc ? &new : op, rpc, &starved) &&
        !(starved && collect_all(lane->link) && begin(lane, rpc ? &new : op, rpc, &starved)))
        return TERN_AGAIN;
    if (rpc)
        *op = new;
    return rpc ? TERN_OK : TERN_PENDING;
}

static tern_status bounce_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    return begin_any((struct shm_lane *)lane, xfer, op, false);
}

static tern_status rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct shm_lane *l = (struct shm_lane *)lane;
    tern_status      st = tern_shm_bounce_open(l->link); /* if CMA copies, an RPC is the first to use chunks */

    return st == TERN_OK ? begin_any(l, xfer, op, true) : st;
}

static void rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect)
{
    struct shm_lane  *l = (struct shm_lane *)lane;
    struct shm_chunk *chunk = op->link_data;
    unsigned          index = (unsigned)(chunk - l->link->bounce_ctl[l->link->local].chunk);

    op->request_len = request;
    op->response_max = expect;
    op->copied = op->xfer.len;
    op->chunks = 1ull << index;
    chunk->verb = SHM_RPC;
    chunk->region = op->xfer.part->region;
    chunk->len = request;
    chunk->offset = expect;
    pthread_mutex_lock(&l->lock);
    tern_base_list_append(&l->ops, &op->node);
    chunk_post(l->link, index, op->xfer.part->rank);
    pthread_mutex_unlock(&l->lock);
}

void tern_shm_lane_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    struct shm_lane *l = (struct shm_lane *)lane;

    pthread_mutex_lock(&l->lock);
    op->xfer.local = NULL;     /* drop the data of a get */
    op->on_response = NULL;    /* drop the response of an RPC */
    op->copied = op->xfer.len; /* send no more of a put */
    pthread_mutex_unlock(&l->lock);
}

/* Return the status of a completed operation. Sets the error text here, because another thread may have collected the
 * chunks. */
static tern_status op_status(const struct tern_link_op *op)
{
    if (op->status == TERN_ERR_PEER)
        return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", op->xfer.part->rank);
    if (op->status < 0)
        return tern_base_fail(op->status,
                              "the memory that rank %d registered is not mapped there "
                              "any more; keep it until the region is freed",
                              op->xfer.part->rank);
    return TERN_OK;
}

/* Advance every operation of the lane, and move the completed ones to another list, oldest first. Returns true if an
 * operation is incomplete while the lane holds no chunk. */
static bool advance_all(struct shm_lane *lane, struct tern_list *ended)
{
    bool starved = false;

    pthread_mutex_lock(&lane->lock);
    TERN_LIST_EACH(struct tern_link_op, op, &lane->ops, node) {
        op_reap(lane, op);
        op_judge(lane, op);
        op_pump(lane, op);
        if (op->copied < op->xfer.len || op->chunks != 0) {
            starved |= lane->held == 0;
            continue;
        }
        tern_base_list_remove(&op->node);
        tern_base_list_append(ended, &op->node);
    }
    pthread_mutex_unlock(&lane->lock);
    return starved;
}

static bool advance(struct shm_lane *lane)
{
    struct tern_list  ended = TERN_LIST_INIT(ended);
    bool              starved = advance_all(lane, &ended);
    struct tern_list *node;

    while ((node = tern_base_list_pop(&ended))) {
        struct tern_link_op *op = TERN_LIST_ITEM(node, struct tern_link_op, node);

        /* seq_cst: the data of a put is in the target's memory before anything that follows. The acquire in
         * op_reap() ordered this thread after the target's copy. */
        atomic_thread_fence(memory_order_seq_cst);
        lane->link->up->done(op, op_status(op));
    }
    return starved;
}

void tern_shm_lane_progress(struct tern_lane *lane)
{
    struct shm_lane *l = (struct shm_lane *)lane;

    if (!tern_base_list_empty(&l->ops) && advance(l) && collect_all(l->link))
        advance(l);
}

const struct tern_link_path tern_shm_bounce_path = {
    .name = "bounce",
    .rpc = true,
    .prefers_packing = true,
    .start = bounce_start,
    .keeps_order = tern_link_no_order,
    .can_notify = tern_link_no_notify,
    .start_iov = tern_link_no_iov,
};

const struct tern_rpc_ops tern_shm_rpc = { .open = rpc_open, .send = rpc_send };
