/* link.c: opening and closing the shared-memory link, and its operation table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "link/none.h"
#include "link/shm/shm.h"

#define PAGE 4096ull

static uint64_t control_offset(const struct tern_segment *segment)
{
    return tern_base_round_up(tern_segment_bytes(segment->ranks, segment->contributions != 0), PAGE);
}

size_t tern_shm_barrier_block_offset(int locals, uint32_t id)
{
    return (size_t)locals * (sizeof(struct shm_bounce_ctl) + id * (sizeof(struct shm_barrier_slot) + TERN_LINK_BOARD));
}

/* Reserve the control memory, unless another rank has done so; reserving memory that is reserved already takes time,
 * because the kernel checks every page. Ranks that start at the same time may all reserve it. */
static tern_status reserve_control(struct shm_link *shm, uint64_t offset)
{
    _Atomic uint32_t *done = &shm->boot->segment->has_control;
    tern_status       st;

    if (atomic_load_explicit(done, memory_order_relaxed) != 0) /* the pages have no content that would need an order */
        return TERN_OK;
    st = tern_boot_space_reserve(shm->boot->arena, offset, shm->control_bytes, "control memory of the node");
    if (st == TERN_OK)
        atomic_store_explicit(done, 1, memory_order_relaxed); /* see above */
    return st;
}

static tern_status map_control(struct shm_link *shm)
{
    uint64_t    offset = control_offset(shm->boot->segment);
    tern_status st;

    shm->control_bytes =
        tern_base_round_up(tern_shm_barrier_block_offset(shm->locals, SHM_GROUPS) +
                               (size_t)shm->locals * (size_t)shm->locals * SHM_QUEUES * sizeof(struct shm_queue_ref),
                           PAGE);
    if ((st = reserve_control(shm, offset)) < 0)
        return st;
    shm->control = mmap(NULL, shm->control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shm->boot->arena, (off_t)offset);
    if (shm->control == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: cannot map %zu bytes of control memory: %s",
                              shm->control_bytes, strerror(errno));
    shm->bounce_ctl = (struct shm_bounce_ctl *)(void *)shm->control;
    return TERN_OK;
}

/* Build the tables that map ranks to local ranks and back. The tables are private, so later changes to the segment
 * by other processes do not matter. Returns false if there is no memory. */
static bool find_locals(struct shm_link *shm)
{
    int found = 0;

    shm->local_of = malloc((size_t)shm->ranks * sizeof(*shm->local_of));
    shm->rank_of = calloc((size_t)shm->locals, sizeof(*shm->rank_of));
    if (!shm->local_of || !shm->rank_of)
        return false;
    for (int rank = 0; rank < shm->ranks; rank++) {
        shm->local_of[rank] = tern_boot_same_node(shm->boot, rank) && found < shm->locals ? found : -1;
        if (shm->local_of[rank] >= 0)
            shm->rank_of[found++] = rank;
    }
    return true;
}

static void tables_free(struct shm_link *shm)
{
    free(shm->local_of);
    free(shm->rank_of);
    free(shm->cma);
    free(shm->peer_data);
    free(shm);
}

static tern_status link_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    struct shm_link *shm = calloc(1, sizeof(*shm));
    tern_status      st;

    if (!shm)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for %zu bytes", sizeof(*shm));
    *shm =
        (struct shm_link){ .boot = boot, .up = up, .ranks = boot->ranks, .local = boot->local, .locals = boot->locals };
    tern_link_probe = (struct tern_link_probe){ boot->segment->job, boot->segment->job };
    pthread_mutex_init(&shm->exposed_lock, NULL);
    pthread_mutex_init(&shm->chunks_lock, NULL);
    pthread_mutex_init(&shm->lanes_lock, NULL);
    tern_base_list_init(&shm->lanes);
    tern_base_list_init(&shm->exposed);
    shm->cma = calloc((size_t)boot->locals, sizeof(*shm->cma));
    shm->peer_data = calloc((size_t)boot->locals, sizeof(*shm->peer_data));
    if (!find_locals(shm) || !shm->cma || !shm->peer_data) {
        st = tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for tables of %d ranks", boot->ranks);
        goto err_free;
    }
    if ((st = map_control(shm)) < 0)
        goto err_free;
    if ((st = tern_shm_messages_open(shm)) < 0)
        goto err_unmap;
    *out = (struct tern_link *)shm;
    return TERN_OK;
err_unmap:
    munmap(shm->control, shm->control_bytes);
err_free:
    tables_free(shm);
    return st;
}

static void link_close(struct tern_link *link)
{
    struct shm_link *shm = tern_shm(link);

    tern_shm_messages_close(shm);
    tern_shm_bounce_close(shm);
    munmap(shm->control, shm->control_bytes);
    pthread_mutex_destroy(&shm->exposed_lock);
    pthread_mutex_destroy(&shm->chunks_lock);
    pthread_mutex_destroy(&shm->lanes_lock);
    tables_free(shm);
}

static bool link_reaches(const struct tern_link *link, int peer)
{
    const struct shm_link *shm = (const struct shm_link *)link;

    return peer >= 0 && peer < shm->ranks && shm->local_of[peer] >= 0;
}

const struct tern_link_ops tern_shm_ops = {
    .name = "shm",
    .maps = true,
    .msg = &tern_shm_msg,
    .rpc = &tern_shm_rpc,
    .inject = &tern_shm_inject,
    .group = &tern_shm_group,
    .open = link_open,
    .close = link_close,
    .reaches = link_reaches,
    .attach = tern_shm_attach,
    .detach = tern_shm_detach,
    .grown = tern_link_no_grown,
    .expose = tern_shm_expose,
    .unexpose = tern_shm_unexpose,
    .lane_open = tern_shm_lane_open,
    .lane_close = tern_shm_lane_close,
    .progress = tern_shm_lane_progress,
    .cancel = tern_shm_lane_cancel,
    .invalidate = tern_link_no_invalidate,
    .serve = tern_shm_serve,
    .service_needed = tern_shm_service_needed,
    .may_sleep = tern_link_no_sleep_limit, /* peers ring the bell after every store that this rank waits for */
};
