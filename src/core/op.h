/* op.h: operations.
 *
 * A struct tern_op is the one object that stands for an operation: from its start, or from the moment at which it is
 * parked on a counter, until the last event that points at it has been consumed. A const table, the kind, contains
 * everything in which operations differ; the code that creates an operation chooses the kind. The life of an operation:
 *
 *   start     op/start.h tries to start the operation until there is space and the order permits it. An operation that
 *             completes at once ends here, and may live on the stack.
 *   transfer  the operation is on its context's list of outstanding operations. It is one transfer of a link, whose
 *             record the object contains, or consists of several, each of which is an operation whose parent this is.
 *   then      an optional second step, which begins when the transfer has completed: a notification, a signal or a
 *             message
 *   end       the operation has a status, and its events are complete
 *
 * Events point at operations; the lowest bit of the pointer distinguishes an event of local completion. A triggered
 * operation is parked: the trigger engine (op/trigger/engine.h) starts it and learns of its end. Objects with a
 * describe function but no start are mere records, to which the events of requests point: the creator of such a record
 * sets status and then done, the latter with release, from any thread. */
#pragma once

#include <stdbool.h>
#include <tern/event.h>

#include "base/list.h"
#include "link/link.h"

struct tern_op;
struct tern_trigger;

/* The functions of an operation. */
struct tern_op_kind {
    /* Try to start. Returns the values of a path's start: TERN_OK (the operation, or its first step, is complete),
     * TERN_PENDING, TERN_AGAIN (nothing was started) or an error. */
    tern_status (*start)(struct tern_op *op);
    /* Start the transfers that can be started; call tern_core_op_complete() if none is left. NULL: one transfer. */
    void (*advance)(struct tern_op *op);
    /* Handle the completion of one of the transfers. The object of the transfer is dropped when this call returns.
     * NULL: one transfer. */
    void (*ended)(struct tern_op *op, struct tern_op *transfer, tern_status status);
    /* Give up the operation, for which the caller no longer waits: start no more transfers, and avoid accesses to local
     * memory as far as possible. NULL: cancel the operation's own transfer. */
    void (*cancel)(struct tern_op *op);
    /* Write a description for reports. NULL: describe the transfer. */
    void (*describe)(const struct tern_op *op, char *text, size_t size);
    /* Return the text of the error with which the operation ended. NULL: the description says what failed. */
    const char *(*explain)(const struct tern_op *op);
    /* For a record: test whether the event that the record stands for has happened. NULL: the creator sets done. */
    bool (*look)(struct tern_op *op);
    /* Free the resources of the operation, which has ended, or whose context is closed. NULL: there are none. */
    void (*release)(struct tern_op *op);
};

/* The step that follows a transfer. */
struct tern_op_step {
    /* Try to start the step; returns the same values as the start of a kind. TERN_PENDING: the transfer record of the
     * operation is outstanding again. */
    tern_status (*start)(struct tern_op *op);
    void (*ended)(struct tern_op *op); /* handles the end of the step. NULL: nothing to do */
    const char *blocked;               /* added to the description while start returns TERN_AGAIN */
};

/* The contents of a notification. */
struct tern_notification {
    uint64_t scope, bytes;
    uint32_t tag;
};

/* A signal: a word of the target that an atomic operation changes after a put. */
struct tern_op_signal {
    const struct tern_link_part *part;
    uint64_t                     offset, operand;
    uint32_t                     op;   /* tern_atomic_op */
    uint32_t                     type; /* TERN_UINT32 or TERN_UINT64 */
};

/* The operands of an atomic operation. */
struct tern_op_operands {
    uint64_t operand, compare; /* bit patterns, zero-extended */
    uint32_t op;               /* tern_atomic_op */
    uint32_t type;             /* tern_type */
};

enum tern_op_memory { TERN_OP_POOLED, TERN_OP_HEAP, TERN_OP_ON_STACK };

struct tern_op {
    struct tern_link_op        link; /* must be first: the link passes it back. Its xfer describes the operation */
    const struct tern_op_kind *kind;
    const struct tern_op_step *then;     /* the second step; NULL: none */
    struct tern_ctx           *ctx;      /* context on which the operation runs */
    struct tern_ctx           *progress; /* context on which the program makes progress for the operation's events */
    struct tern_list           node;     /* outstanding: on the list of the context or of the parent; later: see held */
    struct tern_list           active;   /* on the context's list of operations to advance */
    struct tern_op            *parent;   /* the operation that this transfer belongs to; NULL: none */
    const char                *call;     /* the public call */
    tern_status                status;
    uint8_t                    memory; /* enum tern_op_memory */
    uint8_t                    events; /* number of events that point here */
    bool                       done;
    bool                       implicit;     /* tern_quiet reports the error */
    bool                       instant;      /* the start must not wait, or leave anything outstanding */
    bool                       needs_target; /* a thread of the target must help, whatever the path is */
    bool                       cancelled;
    bool                       transferred;  /* the transfer is complete, and the second step has not started */
    bool                       step_started; /* the second step is outstanding */
    bool                       blocked;      /* the second step has found no space */
    bool                       explained;    /* reason is set */
    /* Outstanding: the numbers of the regions for which the operation is counted: the region of its transfer, and that
     * of its second step if it is another one; 0: none. */
    uint32_t                   region[2];
    union { /* data of the kind */
        uint64_t                scratch[3];
        struct tern_op_operands operands;
    };
    void *data; /* data of the kind */
    union {     /* data of the second step, or of an operation that has failed */
        struct tern_notification notification;
        struct tern_op_signal    signal;
        char                    *reason; /* text of the error; freed with the operation */
    };
    struct tern_trigger *trigger; /* the engine's functions for a parked operation; NULL: the operation is not parked */
};

/* The engine's functions for a parked operation (op/trigger/engine.c): ended takes the place of the usual end, and
 * release frees the object after the last event was consumed. */
void tern_op_parked_ended(struct tern_op *op, tern_status status);
void tern_op_parked_release(struct tern_op *op);
void tern_op_parked_describe(const struct tern_op *op, char *text, size_t size);

/* Create an operation: from the pool of the context, on the heap if the object is larger, or on the stack (for an
 * instant operation). Everything but the transfer record is zeroed. NULL: no memory. */
struct tern_op *tern_core_op_new(struct tern_ctx *ctx, const struct tern_op_kind *kind, const char *call);
void *tern_core_op_alloc(struct tern_ctx *ctx, size_t bytes, const struct tern_op_kind *kind, const char *call);
void  tern_core_op_init(struct tern_op *op, struct tern_ctx *ctx, const struct tern_op_kind *kind, const char *call);
/* Free an operation that is not outstanding. */
void  tern_core_op_drop(struct tern_op *op);

/* Return whether the context must advance the operation, besides the progress of the links. */
static inline bool tern_core_op_is_compound(const struct tern_op *op)
{
    return op->kind->advance != NULL || op->then != NULL;
}

/* The part of an operation without a transfer and without a target: a marker (core/quiet.h). */
extern const struct tern_link_part tern_core_op_nowhere;
static inline bool                 tern_core_op_is_marker(const struct tern_op *op)
{
    return op->link.xfer.part == &tern_core_op_nowhere;
}

/* Return whether the source of an outstanding put may be overwritten. */
bool tern_core_op_is_source_free(const struct tern_op *op);

/* Add a started operation to the outstanding ones of its context, and advance it if necessary. The operation may have
 * ended, and may have been freed if no event points at it, when this returns. */
void tern_core_op_enlist(struct tern_op *op);

/* Continue an outstanding operation whose transfers have completed: the second step follows, or the operation ends. */
void tern_core_op_complete(struct tern_op *op, tern_status status);

/* Advance an operation on the context's list: start further transfers, or the second step. */
void tern_core_op_advance(struct tern_op *op);

/* Keep the text of the error that this thread has just recorded, for the events of an operation that is going to end
 * with this error. Only the first text is kept. The operation must not start a second step any more. */
void tern_core_op_keep_reason(struct tern_op *op);

/* Leave the operation to itself, because the caller no longer waits for it. tern_quiet collects it when it
 * completes. */
void tern_core_op_cancel(struct tern_op *op);

/* Cancel the transfer of an operation with its link. */
void tern_core_op_cancel_transfer(struct tern_op *op);

/* Write a description of the operation. */
void tern_core_op_describe(const struct tern_op *op, char *text, size_t size);

/* The slot done of struct tern_link_up. */
void tern_core_op_done(struct tern_link_op *link, tern_status status);

/* Events. */
tern_event      tern_core_event_make(struct tern_op *op, bool local); /* the caller has counted the event */
bool            tern_core_event_done(const tern_event *event);        /* does not make progress */
/* Makes no progress; empties the event if it is complete. */
tern_status     tern_core_event_test(tern_event *event);
struct tern_op *tern_core_event_op(const tern_event *event);
