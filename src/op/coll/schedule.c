/* schedule.c: writing the steps of a collective operation. See coll.h. */
#include <stdlib.h>

#include "op/coll/coll.h"

static unsigned char nothing[64]; /* the steps of a failed schedule point here; they are never executed */

static struct tern_coll_step *step_new(struct tern_coll *c, enum tern_coll_step_kind kind)
{
    static _Thread_local struct tern_coll_step lost;
    struct tern_coll_step                     *step;

    if (c->steps == c->room) {
        uint32_t room = c->room ? 2 * c->room : 16;

        if (!(step = realloc(c->step, room * sizeof(*step)))) {
            tern_op_coll_fail(c, TERN_ERR_NOMEM, "%s: no memory for %u steps", c->op.call, room);
            return &lost;
        }
        c->step = step;
        c->room = room;
    }
    step = &c->step[c->steps++];
    *step = (struct tern_coll_step){ .kind = (uint8_t)kind };
    return step;
}

static int member(const struct tern_coll *c, int rank)
{
    return c->view ? c->view[rank] : rank;
}

void tern_coll_send(struct tern_coll *c, int peer, const void *from, size_t bytes)
{
    struct tern_coll_step *step = step_new(c, TERN_COLL_SEND);

    step->peer = member(c, peer);
    step->from = from;
    step->bytes = bytes;
    c->moved += bytes;
}

void tern_coll_recv(struct tern_coll *c, int peer, void *to, size_t bytes)
{
    struct tern_coll_step *step = step_new(c, TERN_COLL_RECV);

    step->peer = member(c, peer);
    step->to = to;
    step->bytes = bytes;
    c->moved += bytes;
}

void tern_coll_step(struct tern_coll *c, enum tern_coll_step_kind kind)
{
    step_new(c, kind);
}

void tern_coll_wait(struct tern_coll *c)
{
    tern_coll_step(c, TERN_COLL_WAIT);
}

void tern_coll_copy(struct tern_coll *c, void *to, const void *from, size_t bytes)
{
    struct tern_coll_step *step;

    if (to == from || bytes == 0)
        return;
    step = step_new(c, TERN_COLL_COPY);
    step->from = from;
    step->to = to;
    step->bytes = bytes;
}

void tern_coll_combine(struct tern_coll *c, void *to, const void *lower, const void *upper, size_t bytes)
{
    struct tern_coll_step *step = step_new(c, TERN_COLL_COMBINE);

    step->from = lower;
    step->with = upper;
    step->to = to;
    step->bytes = bytes;
}

void tern_coll_pack(struct tern_coll *c, void *to, size_t to_stride, const void *from, size_t from_stride, size_t bytes,
                    size_t count)
{
    struct tern_coll_step *step = step_new(c, TERN_COLL_PACK);

    step->from = from;
    step->to = to;
    step->bytes = bytes;
    step->count = count;
    step->from_stride = from_stride;
    step->to_stride = to_stride;
}

unsigned char *tern_coll_temp(struct tern_coll *c, size_t bytes)
{
    struct tern_coll_temp *temp =
        bytes < SIZE_MAX - 256 ? aligned_alloc(64, (sizeof(*temp) + bytes + 63) / 64 * 64) : NULL;

    if (!temp) {
        tern_op_coll_fail(c, TERN_ERR_NOMEM, "%s: no memory for %zu bytes", c->op.call, bytes);
        return nothing;
    }
    temp->next = c->temps;
    c->temps = temp;
    return temp->bytes;
}

void tern_coll_write_among(struct tern_coll *c, const struct tern_coll_view *view, const struct tern_coll_args *args)
{
    int rank = c->rank, size = c->size, root = c->root;

    c->view = view->member;
    c->rank = view->rank;
    c->size = view->size;
    c->root = view->root;
    tern_op_coll_select_flat(view->size, args)->write(c, args);
    c->view = NULL;
    c->rank = rank;
    c->size = size;
    c->root = root;
}
