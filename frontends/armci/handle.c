/* handle.c: the completion of operations to far ranks, and the handles of nonblocking operations.
 *
 * A blocking put or accumulate waits for its local completion, and a blocking get for its completion. A nonblocking
 * operation stores this event in the slot of its handle; without a handle, tern_quiet completes the operation. A handle
 * is the number of a slot and its generation, so that a handle whose slot has been freed, or that was never
 * initialized, is recognized. Near operations are complete when they return and need no slot. A handle that is an
 * aggregate collects events.
 *
 * If several threads call ARMCI, a thread that waits for the events of a slot holds tern_armci_lock: no operation needs
 * another thread of this process to complete.
 */
#include <stdlib.h>

#include "state.h"

struct slot {
    tern_event *events;
    int         count, space;
    int         generation; /* an even number, at least 2 */
    int         next_free;  /* index of the next slot that is free; -1: none */
    bool        used;
};

#define AGGREGATE 1 /* in armci_hdl_t.state, beside the generation */

static struct slot *slots;
static int          slot_count;
static int          first_free = -1; /* index of a slot that is free; -1: none */

/* Return the slot of a handle; NULL: the handle has no outstanding operation. */
static struct slot *slot_of(const armci_hdl_t *handle)
{
    struct slot *slot;

    if (handle->slot <= 0 || handle->slot > slot_count)
        return NULL;
    slot = &slots[handle->slot - 1];
    return slot->used && slot->generation == (handle->state & ~AGGREGATE) ? slot : NULL;
}

static void free_slot(struct slot *slot)
{
    slot->used = false;
    slot->count = 0;
    slot->generation = slot->generation < INT32_MAX - 3 ? slot->generation + 2 : 2;
    slot->next_free = first_free;
    first_free = (int)(slot - slots);
}

/* Free the slots whose operations are complete. A program may complete operations by a fence and never wait for their
 * handles. Returns the number of slots that are still used. */
static int sweep(const char *call)
{
    int used = 0;

    for (int i = 0; i < slot_count; i++) {
        tern_status status =
            slots[i].used ? tern_event_wait_all(slots[i].events, (size_t)slots[i].count, TERN_NOW) : TERN_PENDING;

        used += slots[i].used;
        if (status == TERN_PENDING)
            continue;
        used--;
        free_slot(&slots[i]);
        tern_front_check(status, call, "an earlier nonblocking operation");
    }
    return used;
}

/* Double the number of slots. */
static void grow(const char *call)
{
    int          count = slot_count > 0 ? 2 * slot_count : 64;
    struct slot *grown = realloc(slots, (size_t)count * sizeof *slots);

    if (grown == NULL)
        tern_front_die(call, "there is not enough memory for %d nonblocking operations", count);
    slots = grown;
    for (int i = count - 1; i >= slot_count; i--) {
        slots[i] = (struct slot){ .generation = 2, .next_free = first_free };
        first_free = i;
    }
    slot_count = count;
}

/* Take a slot. If none is free, at least half of the slots are free after a sweep or after growing, so that a sweep is
 * rare. */
static struct slot *new_slot(const char *call, armci_hdl_t *handle)
{
    int index;

    if (first_free < 0 && sweep(call) >= slot_count / 2)
        grow(call);
    index = first_free;
    first_free = slots[index].next_free;
    slots[index].used = true;
    handle->slot = index + 1;
    handle->state = slots[index].generation | (handle->state & AGGREGATE);
    return &slots[index];
}

static void wait_slot(const char *call, struct slot *slot)
{
    tern_status status = tern_event_wait_all(slot->events, (size_t)slot->count, TERN_FOREVER);

    free_slot(slot);
    tern_front_check(status, call, "a nonblocking operation");
}

/* Add an event to a handle. If the handle is not an aggregate and has an operation, that operation is completed
 * first. The caller has called tern_armci_enter. */
static void store_inside(const char *call, armci_hdl_t *handle, tern_event event)
{
    struct slot *slot = slot_of(handle);

    if (slot == NULL) {
        handle->slot = 0;
        handle->state &= AGGREGATE;
    } else if (!(handle->state & AGGREGATE)) {
        wait_slot(call, slot);
    }
    if (event.pending == NULL)
        return; /* complete already */
    slot = slot_of(handle);
    if (slot == NULL)
        slot = new_slot(call, handle);
    if (slot->count == slot->space) {
        int   space = slot->space > 0 ? 2 * slot->space : 4;
        void *grown = realloc(slot->events, (size_t)space * sizeof *slot->events);

        if (grown == NULL)
            tern_front_die(call, "there is not enough memory for %d operations of a handle", space);
        slot->events = grown;
        slot->space = space;
    }
    slot->events[slot->count++] = event;
}

static void store(const char *call, armci_hdl_t *handle, tern_event event)
{
    tern_armci_enter();
    store_inside(call, handle, event);
    tern_armci_leave();
}

bool tern_armci_set_done(const char *call, armci_hdl_t *handle)
{
    if (handle == NULL)
        return false;
    store(call, handle, TERN_EVENT_INIT);
    return (handle->state & AGGREGATE) != 0;
}

const tern_opts *tern_armci_opts(const struct tern_armci_op *op, struct tern_armci_end *end)
{
    end->event = (tern_event)TERN_EVENT_INIT;
    end->opts = TERN_OPTS(.call = op->call, .acc = op->acc, .signal = op->signal);
    if (!op->blocking && op->handle == NULL)
        return &end->opts;
    if (op->get) {
        end->opts.event = &end->event;
        end->opts.flags |= TERN_WANT_EVENT;
    } else {
        end->opts.local = &end->event;
    }
    return &end->opts;
}

int tern_armci_finish(const struct tern_armci_op *op, struct tern_armci_end *end, tern_status status)
{
    tern_front_check(status, op->call, "the operation");
    if (op->blocking)
        tern_front_check(tern_event_wait(&end->event, TERN_FOREVER), op->call, "the operation");
    else if (op->handle != NULL)
        store(op->call, op->handle, end->event);
    return 0;
}

ARMCI_EXPORT void ARMCI_INIT_HANDLE(armci_hdl_t *hdl)
{
    if (hdl == NULL)
        tern_front_die("ARMCI_INIT_HANDLE", "the handle is NULL");
    hdl->slot = hdl->state = 0;
}

ARMCI_EXPORT void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *handle)
{
    if (handle == NULL)
        tern_front_die("ARMCI_SET_AGGREGATE_HANDLE", "the handle is NULL");
    tern_armci_enter();
    if (slot_of(handle) == NULL)
        ARMCI_INIT_HANDLE(handle);
    tern_armci_leave();
    handle->state |= AGGREGATE;
}

ARMCI_EXPORT void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *handle)
{
    if (handle == NULL)
        tern_front_die("ARMCI_UNSET_AGGREGATE_HANDLE", "the handle is NULL");
    handle->state &= ~AGGREGATE;
}

ARMCI_EXPORT int PARMCI_Wait(armci_hdl_t *hdl)
{
    struct slot *slot;

    tern_armci_check_running("ARMCI_Wait");
    if (hdl == NULL)
        tern_front_die("ARMCI_Wait", "the handle is NULL; ARMCI_WaitAll waits for operations without a handle");
    tern_armci_enter();
    slot = slot_of(hdl);
    if (slot != NULL)
        wait_slot("ARMCI_Wait", slot);
    tern_armci_leave();
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Wait, PARMCI_Wait);

ARMCI_EXPORT int PARMCI_Test(armci_hdl_t *hdl)
{
    struct slot *slot;
    tern_status  status = TERN_OK;

    tern_armci_check_running("ARMCI_Test");
    if (hdl == NULL)
        tern_front_die("ARMCI_Test", "the handle is NULL");
    tern_armci_enter();
    slot = slot_of(hdl);
    if (slot != NULL) {
        status = tern_event_wait_all(slot->events, (size_t)slot->count, TERN_NOW);
        if (status != TERN_PENDING)
            free_slot(slot);
    }
    tern_armci_leave();
    if (status == TERN_PENDING)
        return 1;
    tern_front_check(status, "ARMCI_Test", "a nonblocking operation");
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Test, PARMCI_Test);

ARMCI_EXPORT int PARMCI_WaitProc(int proc)
{
    tern_armci_check_rank("ARMCI_WaitProc", proc);
    if (!tern_armci.near[proc])
        tern_front_check(tern_quiet_rank(tern_armci.far_ctx, proc), "ARMCI_WaitProc", "completing operations");
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_WaitProc, PARMCI_WaitProc);

ARMCI_EXPORT int PARMCI_WaitAll(void)
{
    tern_armci_check_running("ARMCI_WaitAll");
    tern_armci_enter();
    for (int i = 0; i < slot_count; i++) {
        if (slots[i].used)
            wait_slot("ARMCI_WaitAll", &slots[i]);
    }
    tern_armci_leave();
    tern_front_check(tern_quiet(tern_armci.far_ctx), "ARMCI_WaitAll", "completing operations");
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_WaitAll, PARMCI_WaitAll);

void tern_armci_free_handles(void)
{
    for (int i = 0; i < slot_count; i++)
        free(slots[i].events);
    free(slots);
    slots = NULL;
    slot_count = 0;
    first_free = -1;
}
