/* context.h: a stream of operations, and the operations of it that are under way.
 *
 * A pending record stands for one operation that was not done at once. It is on the context's list while the link works
 * on it; it stays until every event that points at it has been emptied. Events point at records: the lowest bit of the
 * pointer tells the event of local completion from that of completion.
 *
 * An operation that is made of several transfers is a work: its record is on the list like any other, its transfers
 * have records of their own that are not, and the context moves it on.
 */
#ifndef TERN_CORE_CONTEXT_H
#define TERN_CORE_CONTEXT_H

#include <stdbool.h>
#include <tern/context.h>
#include <tern/event.h>

#include "core/job.h"
#include "core/message.h"
#include "core/team.h"
#include "link/link.h"

struct tern_pending {
    struct tern_link_op   op; /* first: the link hands it back */
    struct tern_ctx      *ctx;
    struct tern_pending  *next, **link; /* on the context's list, or next on its free list */
    struct tern_compound *compound;     /* that it stands for; NULL: it is one transfer */
    struct tern_compound *owner;        /* of which it is one transfer; NULL: it is an operation */
    tern_status           status;
    bool                  done;
    bool                  implicit; /* its error is reported by tern_quiet */
    uint8_t               holders;  /* events that point here */
    /* What it is, in words; NULL: a transfer. One that is not is on no list: who made it sets status and done, by any
     * thread, done last and with release. */
    void (*describe)(const struct tern_pending *pending, char *text, size_t size);
    uint64_t scratch[3]; /* the owner's, of one transfer */
    void    *stage;
    /* Called when an operation has ended that was under way, instead of an event; NULL: events tell. */
    void (*on_end)(void *whom, tern_status status);
    void *on_end_arg;
};

/* An operation that is made of several transfers. Who starts it has the functions, and the memory. */
struct tern_compound {
    struct tern_pending *pending; /* what events point at; its xfer says what it is */
    /* Start what can be started, and end the work where nothing is left. */
    void (*advance)(struct tern_compound *work);
    /* One of its transfers has ended; the record is free when this returns. */
    void (*ended)(struct tern_compound *work, struct tern_pending *transfer, tern_status status);
    /* Nobody waits any more: start no more, and leave local memory alone where that can be done. */
    void (*cancel)(struct tern_compound *work);
    /* Free the memory: it has ended, or the context is closed. */
    void (*release)(struct tern_compound *work);
    struct tern_compound *next, **link;   /* on the context's list */
    bool                  notify_blocked; /* its notification finds no room at the target */
};

/* Operations of a context that any thread may move on, beside its own: op/trigger/engine.h. */
struct tern_ctx_engine {
    _Atomic uint32_t busy; /* how many have begun, or are about to, and have not ended */
    void (*progress)(struct tern_ctx_engine *aside);
    void (*describe)(struct tern_ctx_engine *aside, char *text, size_t size); /* what is under way */
    /* The first error since the last call of an operation without an event, and which. */
    tern_status (*failed)(struct tern_ctx_engine *aside, char *text, size_t size);
    void (*close)(struct tern_ctx_engine *aside);
};

/* What a layer above keeps with a context: its struct begins with this. */
struct tern_ctx_tagged {
    /* It called: move on what waits. The context's thread. */
    void (*advance)(struct tern_ctx *ctx);
    /* The context is about to be closed. TERN_OK: nothing of it is outstanding, and nothing will begin any more.
     * TERN_PENDING: something is outstanding. An error: the program has to do something first; nothing was changed. The
     * context's thread. */
    tern_status (*retire)(struct tern_ctx *ctx);
    /* Write what is outstanding. */
    void (*describe)(const struct tern_ctx *ctx, char *text, size_t size);
    /* The context is closed: free it. */
    void (*close)(struct tern_ctx *ctx);
};

struct tern_ctx {
    struct tern_ctx_head    head;
    struct tern_team       *team;
    uint32_t                number; /* no two of the process have the same */
    tern_order              order;
    double                  timeout; /* seconds; 0: none */
    struct tern_lane       *lane[TERN_LINKS_MAX];
    struct tern_pending    *outstanding;                /* newest first */
    struct tern_ctx_engine *engine;                     /* NULL: there is none */
    struct tern_compound   *compounds, **compounds_end; /* of those, oldest first */
    bool                    inline_unflushed;           /* notes were sent with data that may not be in its place */
    tern_status             failed; /* the first error of an implicit operation since the last quiet */
    char                    failed_op[120];
    struct tern_pending    *unused;
    struct pending_slab    *slabs;
    struct tern_ctx_tagged *tagged;       /* op/tagged/tagged.h; NULL: none */
    _Atomic bool            attention;    /* the guest wants to be moved on, or a rank has died. Any thread sets it */
    struct tern_ctx        *next, **link; /* on the job's list */
    struct {                              /* what tern_region_find found last */
        uint64_t            changes;
        int                 rank;
        uint64_t            addr, size;
        struct tern_region *region;
    } found;
};

tern_status tern_core_ctx_open(struct tern_team *team, tern_order order, struct tern_ctx **out);
/* Release without completing anything. */
void        tern_core_ctx_close(struct tern_ctx *ctx);
/* It is part of another one: the job does not drain and close it by itself. */
void        tern_core_ctx_unlist(struct tern_ctx *ctx);

/* The deadline of a blocking call that starts now. */
tern_deadline tern_core_ctx_deadline(const struct tern_ctx *ctx);

/* Move the operations under way forward. */
void tern_core_ctx_advance(struct tern_ctx *ctx);

/* Move the guest on, if there is one, and end what waits for the dead. */
void tern_core_ctx_attend(struct tern_ctx *ctx);

/* A rank has died: end what of a context waits for it without being a guest. True: some of it is to be looked at again.
 * Set by a layer above; the context's thread. */
extern bool (*tern_core_ctx_on_death)(struct tern_ctx *ctx);

/* Move everything forward once. */
static inline void tern_core_ctx_progress(struct tern_ctx *ctx)
{
    tern_core_job_check_deaths();
    if (ctx->outstanding)
        tern_core_ctx_advance(ctx);
    if (TERN_UNLIKELY(ctx->engine != NULL))
        ctx->engine->progress(ctx->engine);
    tern_core_message_poll();
    if (TERN_UNLIKELY(atomic_load_explicit(&ctx->attention, memory_order_relaxed))) /* its own lock orders */
        tern_core_ctx_attend(ctx);
}

/* Whether an earlier operation of a strict context to the job's rank has to finish before the next may start. */
bool               tern_core_ctx_has_earlier(const struct tern_ctx *ctx, int rank);
static inline bool tern_core_ctx_must_follow(const struct tern_ctx *ctx, int rank)
{
    return TERN_UNLIKELY(ctx->outstanding != NULL) && tern_core_ctx_has_earlier(ctx, rank);
}

/* Whether a notification of an earlier operation to the job's rank finds no room there, or will not: as many operations
 * to it are under way as its queue holds notifications. */
bool tern_core_ctx_is_stuck(const struct tern_ctx *ctx, int rank);

/* The first error of an operation without an event since the last call, with its detail. */
tern_status tern_core_ctx_failed(struct tern_ctx *ctx, const char *what);

/* Whether operations are under way. */
static inline bool tern_core_ctx_has_outstanding(const struct tern_ctx *ctx)
{
    /* acquire: what those that have ended did, by other threads. Pairs with the release in op/trigger/engine.c. */
    return ctx->outstanding ||
           (TERN_UNLIKELY(ctx->engine != NULL) && atomic_load_explicit(&ctx->engine->busy, memory_order_acquire) > 0);
}

/* Whether anything is under way, or carried by notes. */
static inline bool tern_core_ctx_is_busy(const struct tern_ctx *ctx)
{
    return tern_core_ctx_has_outstanding(ctx) || ctx->inline_unflushed;
}

/* Make progress; carried data whose target does not come to it is put in place. Whether nothing is under way any
 * more. */
bool tern_core_ctx_flush(struct tern_ctx *ctx);

/* Wait until nothing is under way. */
tern_status tern_core_ctx_drain(struct tern_ctx *ctx, tern_deadline deadline, const char *what);

/* Wait until nothing is under way and the guest has retired: then the context may be closed. After an error it may be
 * used as before. */
tern_status tern_core_ctx_retire(struct tern_ctx *ctx, tern_deadline deadline, const char *what);

/* A record for an operation that is about to start; NULL: no memory. If the start returns TERN_PENDING it is enlisted,
 * otherwise dropped. */
struct tern_pending *tern_core_pending_new(struct tern_ctx *ctx);
void                 tern_core_pending_enlist(struct tern_pending *pending);
void                 tern_core_pending_drop(struct tern_pending *pending);

/* Nobody waits for the operation any more; tern_quiet collects what is left of it. */
void tern_core_pending_cancel(struct tern_pending *pending);

/* A work whose first transfer has started, and whose record is new: it is under way. And it has ended: its record says
 * so, and it is released. */
void tern_core_compound_enlist(struct tern_compound *work);
void tern_core_compound_end(struct tern_compound *work, tern_status status);

/* Write which operation it is. */
void tern_core_pending_describe(const struct tern_pending *pending, char *text, size_t size);

/* What links report to. Who understands messages is set before the job is joined. */
extern struct tern_link_up tern_core_up;

/* Events. */
tern_event           tern_core_event_make(struct tern_pending *pending, bool local);
bool                 tern_core_event_done(const tern_event *event); /* without progress */
tern_status          tern_core_event_test(tern_event *event);       /* without progress; empties it when done */
struct tern_ctx     *tern_core_event_ctx(const tern_event *event);
struct tern_pending *tern_core_event_record(const tern_event *event);
void                 tern_core_event_describe(const tern_event *event, char *text, size_t size);

#endif
