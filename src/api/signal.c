/* signal.c: the public calls of tern/signal.h. */
#include <tern/signal.h>

#include <inttypes.h>
#include <stdio.h>

#include "api/check.h"
#include "api/signal.h"
#include "api/use.h"
#include "base/bits.h"
#include "core/region.h"
#include "core/wait.h"
#include "op/notify/signal.h"

static tern_status check_word(const struct tern_link_part *part, uint64_t offset, int rank, const char *what)
{
    if (!tern_base_covers(part->size, offset, sizeof(uint64_t)))
        return tern_base_fail(TERN_ERR_RANGE, "%s: no word at offset %llu of the %llu bytes of rank %d", what,
                              (unsigned long long)offset, (unsigned long long)part->size, rank);
    if ((part->addr + offset) % sizeof(uint64_t) != 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: the word at offset %llu of rank %d is not aligned to 8 bytes", what,
                              (unsigned long long)offset, rank);
    return TERN_OK;
}

/* ---- sending signals ---- */

tern_status tern_api_signal(const tern_ctx *ctx, int rank, const tern_signal *signal, const char *what,
                            struct tern_op_atomic *word)
{
    tern_signal copy;
    tern_status st;

    if (!signal)
        return tern_api_null(what, "signal");
    if (!(signal = TERN_API_SIZED(tern_signal, signal, &copy, what)))
        return TERN_ERR_ARG;
    if (!signal->region)
        return tern_api_null(what, "signal->region");
    if (signal->op != TERN_SIGNAL_SET && signal->op != TERN_SIGNAL_ADD)
        return tern_base_fail(TERN_ERR_ARG, "%s: a signal sets or adds; %u is neither", what, (unsigned)signal->op);
    *word = (struct tern_op_atomic){ .offset = signal->offset,
                                     .type = TERN_UINT64,
                                     .op = signal->op == TERN_SIGNAL_SET ? TERN_ATOMIC_PUT : TERN_ATOMIC_ADD,
                                     .operand = signal->value };
    if ((st = tern_api_part(ctx, signal->region, rank, what, &word->part)) < 0)
        return st;
    return check_word(word->part, signal->offset, rank, what);
}

/* Complete the put and the signal now, if loads and stores reach both locations and nothing has to be waited for.
 * Returns false, with no effect, otherwise. */
static inline bool at_once(const tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                           size_t len, const tern_signal *signal)
{
    unsigned char *to = len > 0 ? tern_direct(ctx, region, rank, offset, len) : NULL;
    uint64_t      *word;

    if (!signal || signal->size != sizeof(*signal) || (len > 0 && (!to || !src)))
        return false;
    word = (uint64_t *)(void *)tern_direct(ctx, signal->region, rank, signal->offset, sizeof(*word));
    if (!word || (uintptr_t)word % sizeof(*word) != 0 || (unsigned)signal->op > TERN_SIGNAL_ADD)
        return false;
    if (len > 0)
        tern_copy(to, src, len);
    /* release: the data before the word. Pairs with the acquire in look(). */
    if (signal->op == TERN_SIGNAL_SET)
        __atomic_store_n(word, signal->value, __ATOMIC_RELEASE);
    else
        __atomic_fetch_add(word, signal->value, __ATOMIC_RELEASE);
    tern_op_signal_wake(tern_core_team_world(ctx->team, rank));
    return true;
}

tern_status tern_api_put_signal(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer,
                                const struct tern_api_opts *o)
{
    struct tern_op_atomic word;
    tern_status           st;

    if (TERN_LIKELY(!tern_op_is_parked(o->opts) && ctx && region &&
                    at_once(ctx, region, rank, xfer->offset, xfer->local, xfer->len, o->opts->signal))) {
        tern_op_no_events(o->opts);
        return TERN_OK;
    }
    if ((st = tern_api_xfer(ctx, region, rank, xfer, o->what)) < 0 ||
        (st = tern_api_signal(ctx, rank, o->opts->signal, o->what, &word)) < 0)
        return st;
    return tern_op_put_signal(ctx, xfer, &word, o->opts, o->what);
}

static tern_status put(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, const tern_signal *signal,
                       bool blocking, const char *what)
{
    const tern_opts            opts = TERN_OPTS(.flags = blocking ? TERN_OP_BLOCKING : 0, .signal = signal);
    const struct tern_api_opts o = { .opts = &opts, .what = what };

    return tern_api_put_signal(ctx, region, rank, xfer, &o);
}

tern_status tern_put_signal(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                            const tern_signal *signal)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_put_signal");

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    if (TERN_LIKELY(ctx && region && at_once(ctx, region, rank, offset, src, len, signal)))
        return TERN_OK;
    return put(ctx, region, rank, &xfer, signal, true, "tern_put_signal");
}

tern_status tern_put_signal_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                size_t len, const tern_signal *signal)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_put_signal_nbi");

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    return put(ctx, region, rank, &xfer, signal, false, "tern_put_signal_nbi");
}

/* ---- waiting for signals ---- */

struct await {
    tern_ctx       *ctx;
    const uint64_t *word;
    tern_compare    compare;
    uint64_t        value, seen;
    uint64_t        offset;
};

static bool holds(uint64_t word, tern_compare compare, uint64_t value)
{
    switch (compare) {
    case TERN_EQ: return word == value;
    case TERN_NE: return word != value;
    case TERN_GT: return word > value;
    case TERN_GE: return word >= value;
    case TERN_LT: return word < value;
    default: return word <= value;
    }
}

static tern_status look(struct await *a)
{
    /* acquire: the data after the word. Pairs with the release of the rank that sent the signal. */
    a->seen = __atomic_load_n(a->word, __ATOMIC_ACQUIRE);
    return holds(a->seen, a->compare, a->value) ? TERN_OK : TERN_PENDING;
}

static tern_status await_poll(void *arg)
{
    struct await *a = arg;

    if (look(a) == TERN_OK)
        return TERN_OK;
    tern_core_ctx_progress(a->ctx);
    return look(a);
}

static void describe(const struct await *a, const char *what, char *text, size_t size)
{
    static const char *const names[] = { "==", "!=", ">", ">=", "<", "<=" };

    snprintf(text, size, "%s for the word at offset %" PRIu64 ", which is %" PRIu64 ", to be %s %" PRIu64, what,
             a->offset, a->seen, names[a->compare], a->value);
}

static void await_describe(void *arg, char *text, size_t size)
{
    describe(arg, "tern_signal_wait waits", text, size);
}

static tern_status await_begin(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                               uint64_t value, const char *what, struct await *a)
{
    const struct tern_link_part *part;
    tern_status                  st;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, what);
    if (!region || !region->part)
        return region ? tern_api_freed(what, "the region") : tern_api_null(what, "region");
    if ((unsigned)compare > TERN_LE)
        return tern_base_fail(TERN_ERR_ARG, "%s: %u is no way to compare", what, (unsigned)compare);
    part = &region->part[tern_job.boot.rank];
    if ((st = check_word(part, offset, tern_job.boot.rank, what)) < 0)
        return st;
    *a = (struct await){ .ctx = ctx,
                         .word = (const uint64_t *)(uintptr_t)(part->addr + offset),
                         .compare = compare,
                         .value = value,
                         .offset = offset };
    return TERN_OK;
}

tern_status tern_signal_test(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare, uint64_t value,
                             uint64_t *seen)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_signal_test");

    if (use.status < 0)
        return use.status;

    struct await a;
    tern_status  st = await_begin(ctx, region, offset, compare, value, "tern_signal_test", &a);

    if (st < 0)
        return st;
    st = await_poll(&a);
    if (seen)
        *seen = a.seen;
    return st;
}

tern_status tern_signal_wait(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare, uint64_t value,
                             tern_deadline deadline, uint64_t *seen)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_signal_wait");

    if (use.status < 0)
        return use.status;

    struct await     a;
    struct tern_wait wait = { .poll = await_poll, .describe = await_describe, .arg = &a, .deadline = deadline };
    tern_status      st = await_begin(ctx, region, offset, compare, value, "tern_signal_wait", &a);

    if (st < 0)
        return st;
    st = tern_core_wait(&wait);
    if (seen && st == TERN_OK)
        *seen = a.seen;
    return st;
}

/* The record to which the event of a signal points. */
struct watch {
    struct tern_op op; /* must be first */
    struct await   await;
};

static bool watch_look(struct tern_op *op)
{
    return look(&((struct watch *)op)->await) == TERN_OK;
}

static void watch_describe(const struct tern_op *op, char *text, size_t size)
{
    describe(&((const struct watch *)op)->await, "tern_signal_event", text, size);
}

static const struct tern_op_kind watch_kind = { .look = watch_look, .describe = watch_describe };

tern_status tern_signal_event(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare, uint64_t value,
                              tern_event *event)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_signal_event");

    if (use.status < 0)
        return use.status;

    struct await  a;
    struct watch *watch;
    tern_status   st = await_begin(ctx, region, offset, compare, value, "tern_signal_event", &a);

    if (st < 0)
        return st;
    if (!event)
        return tern_api_null("tern_signal_event", "event");
    *event = TERN_EVENT_INIT;
    if (look(&a) == TERN_OK)
        return TERN_OK;
    if (!(watch = tern_core_op_alloc(ctx, sizeof(*watch), &watch_kind, "tern_signal_event")))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_signal_event: no memory for an event");
    watch->await = a;
    watch->op.events = 1;
    tern_base_list_append(&ctx->held, &watch->op.node);
    *event = tern_core_event_make(&watch->op, false);
    return TERN_OK;
}
