/* signal.c: the public calls of tern/signal.h. */
#include <tern/signal.h>

#include <inttypes.h>
#include <stdio.h>

#include "api/check.h"
#include "api/shared.h"
#include "api/signal.h"
#include "api/use.h"
#include "api/word.h"
#include "base/bits.h"
#include "core/region.h"
#include "core/wait.h"
#include "op/notify/signal.h"

static tern_status check_word(const struct tern_link_part *part, uint64_t offset, size_t bytes, int rank,
                              const char *what)
{
    if (!tern_base_covers(tern_link_part_size(part), offset, bytes))
        return tern_base_fail(TERN_ERR_RANGE, "%s: no word at offset %llu of the %llu bytes of rank %d", what,
                              (unsigned long long)offset, (unsigned long long)tern_link_part_size(part), rank);
    if (((part->addr + offset) & (bytes - 1)) != 0) /* bytes is 4 or 8 */
        return tern_base_fail(TERN_ERR_ARG, "%s: the word at offset %llu of rank %d is not aligned to %zu bytes", what,
                              (unsigned long long)offset, rank, bytes);
    return TERN_OK;
}

/* ---- sending signals ---- */

tern_status tern_api_signal(const tern_ctx *ctx, int rank, const tern_signal *signal, const char *what,
                            struct tern_op_atomic *word)
{
    tern_signal copy;
    size_t      bytes;
    tern_status st;

    if (!signal)
        return tern_api_null(what, "signal");
    if (!(signal = TERN_API_SIZED(tern_signal, signal, &copy, what)))
        return TERN_ERR_ARG;
    if (!signal->region)
        return tern_api_null(what, "signal->region");
    if (signal->op != TERN_SIGNAL_SET && signal->op != TERN_SIGNAL_ADD)
        return tern_base_fail(TERN_ERR_ARG, "%s: a signal sets or adds; %u is neither", what, (unsigned)signal->op);
    if (signal->bytes != 0 && signal->bytes != 4 && signal->bytes != 8)
        return tern_base_fail(TERN_ERR_ARG, "%s: signal->bytes is %u; a signal has 4 or 8 bytes (0 means 8)", what,
                              signal->bytes);
    *word = (struct tern_op_atomic){ .offset = signal->offset,
                                     .type = signal->bytes == 4 ? TERN_UINT32 : TERN_UINT64,
                                     .op = signal->op == TERN_SIGNAL_SET ? TERN_ATOMIC_PUT : TERN_ATOMIC_ADD,
                                     .operand = signal->value };
    if ((st = tern_api_part(ctx, signal->region, rank, what, &word->part)) < 0)
        return st;
    bytes = signal->bytes == 4 ? 4 : 8;
    if (tern_api_is_dynamic(word->part)) {
        struct tern_api_location location = { .part = word->part, .offset = word->offset, .len = bytes };

        if ((st = tern_api_locate(ctx, signal->region, rank, what, &location)) < 0)
            return st;
        word->part = location.part;
        word->offset = location.offset;
    }
    return check_word(word->part, word->offset, bytes, rank, what);
}

/* Update a signal of 8 or 4 bytes that loads and stores reach. */
static inline __attribute__((always_inline)) void update(void *word, size_t bytes, const tern_signal *signal)
{
    /* release: the data before the word. Pairs with the acquire in look(). */
    if (bytes == 4 && signal->op == TERN_SIGNAL_SET)
        __atomic_store_n((uint32_t *)word, (uint32_t)signal->value, __ATOMIC_RELEASE);
    else if (bytes == 4)
        __atomic_fetch_add((uint32_t *)word, (uint32_t)signal->value, __ATOMIC_RELEASE);
    else if (signal->op == TERN_SIGNAL_SET)
        __atomic_store_n((uint64_t *)word, signal->value, __ATOMIC_RELEASE);
    else
        __atomic_fetch_add((uint64_t *)word, signal->value, __ATOMIC_RELEASE);
}

/* Complete the put and the signal, which has the given size, if loads and stores reach both locations and no wait is
 * necessary. Otherwise return false, with no effect. */
static inline __attribute__((always_inline)) bool now(const tern_ctx *ctx, tern_region *region, int rank,
                                                      const struct tern_xfer *put, const tern_signal *signal,
                                                      size_t bytes)
{
    unsigned char *to = put->len > 0 ? tern_direct(ctx, region, rank, put->offset, put->len) : NULL;
    unsigned char *word;

    if (put->len > 0 && (!to || !put->local))
        return false;
    word = tern_direct(ctx, signal->region, rank, signal->offset, bytes);
    if (!word || ((uintptr_t)word & (bytes - 1)) != 0 || (unsigned)signal->op > TERN_SIGNAL_ADD)
        return false;
    if (put->len > 0)
        tern_copy(to, put->local, put->len);
    update(word, bytes, signal);
    tern_op_signal_wake(tern_core_team_world(ctx->team, rank));
    return true;
}

/* Complete a put with a signal of 4 bytes as now() does. Returns false for a signal of another size. */
static __attribute__((noinline)) bool now_u32(const tern_ctx *ctx, tern_region *region, int rank,
                                              const struct tern_xfer *put, const tern_signal *signal)
{
    return signal->bytes == 4 && now(ctx, region, rank, put, signal, 4);
}

static inline __attribute__((always_inline)) bool at_once(const tern_ctx *ctx, tern_region *region, int rank,
                                                          const struct tern_xfer *put, const tern_signal *signal)
{
    if (!signal || signal->size != sizeof(*signal))
        return false;
    if (TERN_UNLIKELY((signal->bytes & ~8u) != 0))
        return now_u32(ctx, region, rank, put, signal);
    return now(ctx, region, rank, put, signal, 8);
}

static __attribute__((cold, noinline)) tern_status put_signal_shared(tern_ctx *ctx, tern_region *region, int rank,
                                                                     struct tern_xfer           *xfer,
                                                                     const struct tern_api_opts *o)
{
    return TERN_API_LOCKED(inner, ctx, tern_api_put_signal(inner, region, rank, xfer, o));
}

tern_status tern_api_put_signal(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer,
                                const struct tern_api_opts *o)
{
    struct tern_op_atomic word;
    tern_status           st;

    if (TERN_LIKELY(!tern_op_is_parked(o->opts) && ctx && region &&
                    at_once(ctx, region, rank, xfer, o->opts->signal))) {
        tern_op_no_events(o->opts);
        return TERN_OK;
    }
    if ((st = tern_api_xfer(ctx, region, rank, xfer, o->what)) < 0 ||
        (st = tern_api_signal(ctx, rank, o->opts->signal, o->what, &word)) < 0)
        return st == TERN_API_IS_SHARED ? put_signal_shared(ctx, region, rank, xfer, o) : st;
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

    if (TERN_LIKELY(ctx && region && at_once(ctx, region, rank, &xfer, signal)))
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

/* A wait for a signal of this rank, or a test of it. */
struct await {
    tern_ctx    *ctx;
    tern_region *region;
    uint64_t     offset;
    unsigned     bytes; /* 4 or 8 */
    tern_compare compare;
    uint64_t     value;
    const char  *call;
    const void  *word; /* the word, and the value that it had last: set by await_begin() and look() */
    uint64_t     seen;
};

static inline tern_status look(struct await *a)
{
    /* acquire, in both loads: the data after the word. Pairs with the release of the rank that sent the signal. Signals
     * of 8 bytes take no other branch. */
    a->seen = TERN_LIKELY(a->bytes == 8) ? tern_api_word_load(a->word, 8) : tern_api_word_load(a->word, 4);
    return tern_api_word_holds(a->seen, a->compare, a->value) ? TERN_OK : TERN_PENDING;
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
    snprintf(text, size, "%s%s for the word at offset %" PRIu64 ", which is %" PRIu64 ", to be %s %" PRIu64, a->call,
             what, a->offset, a->seen, tern_api_word_sign(a->compare), a->value);
}

static void await_describe(void *arg, char *text, size_t size)
{
    describe(arg, " waits", text, size);
}

/* Check the arguments, and find the word. */
static tern_status await_begin(struct await *a)
{
    const struct tern_link_part *part;
    tern_status                  st;

    if (!a->ctx || a->ctx->gone)
        return tern_core_ctx_check(a->ctx, a->call);
    if (!a->region || !a->region->part)
        return a->region ? tern_api_freed(a->call, "the region") : tern_api_null(a->call, "region");
    if ((unsigned)a->compare > TERN_LE)
        return tern_base_fail(TERN_ERR_ARG, "%s: %u is no way to compare", a->call, (unsigned)a->compare);
    part = &a->region->part[tern_job.boot.rank];
    if (tern_api_is_dynamic(part))
        return tern_base_fail(TERN_ERR_ARG, "%s: the region is dynamic; wait for the word by tern_word_wait", a->call);
    if ((st = check_word(part, a->offset, a->bytes, tern_job.boot.rank, a->call)) < 0)
        return st;
    if (!tern_link_loads(part))
        return tern_base_fail(TERN_ERR_ARG, "%s: the memory of this region cannot be read by the processor", a->call);
    a->word = part->base + a->offset;
    return TERN_OK;
}

static tern_status test(struct await *a)
{
    TERN_API_USE use = tern_api_use(a->ctx, a->call);

    if (use.status < 0)
        return use.status;

    tern_status st = await_begin(a);

    return st < 0 ? st : await_poll(a);
}

tern_status tern_signal_test(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare, uint64_t value,
                             uint64_t *seen)
{
    struct await a = { ctx, region, offset, 8, compare, value, "tern_signal_test", NULL, 0 };
    tern_status  st = test(&a);

    if (seen && st >= 0)
        *seen = a.seen;
    return st;
}

tern_status tern_signal_test_u32(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                 uint32_t value, uint32_t *seen)
{
    struct await a = { ctx, region, offset, 4, compare, value, "tern_signal_test_u32", NULL, 0 };
    tern_status  st = test(&a);

    if (seen && st >= 0)
        *seen = (uint32_t)a.seen;
    return st;
}

static tern_status wait_for(struct await *a, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(a->ctx, a->call);

    if (use.status < 0)
        return use.status;

    struct tern_wait wait = {
        .poll = await_poll, .describe = await_describe, .arg = a, .deadline = deadline, .on_memory = true
    };
    tern_status st = await_begin(a);

    return st < 0 ? st : tern_core_wait(&wait);
}

tern_status tern_signal_wait(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare, uint64_t value,
                             tern_deadline deadline, uint64_t *seen)
{
    struct await a = { ctx, region, offset, 8, compare, value, "tern_signal_wait", NULL, 0 };
    tern_status  st = wait_for(&a, deadline);

    if (seen && st == TERN_OK)
        *seen = a.seen;
    return st;
}

tern_status tern_signal_wait_u32(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                 uint32_t value, tern_deadline deadline, uint32_t *seen)
{
    struct await a = { ctx, region, offset, 4, compare, value, "tern_signal_wait_u32", NULL, 0 };
    tern_status  st = wait_for(&a, deadline);

    if (seen && st == TERN_OK)
        *seen = (uint32_t)a.seen;
    return st;
}

/* The record that the event of a signal points to. */
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
    describe(&((const struct watch *)op)->await, "", text, size);
}

static void watch_release(struct tern_op *op)
{
    (void)op;
    atomic_fetch_sub_explicit(&tern_core_wait_watches, 1, memory_order_relaxed); /* only a count */
}

static const struct tern_op_kind watch_kind = { .look = watch_look,
                                                .describe = watch_describe,
                                                .release = watch_release };

static tern_status get_event(struct await *a, tern_event *event)
{
    TERN_API_USE use = tern_api_use(a->ctx, a->call);

    if (use.status < 0)
        return use.status;

    if (tern_api_is_shared(a->ctx))
        return TERN_API_LOCKED(inner, a->ctx, (a->ctx = inner, get_event(a, event)));

    struct watch *watch;
    tern_status   st = await_begin(a);

    if (st < 0)
        return st;
    if (!event)
        return tern_api_null(a->call, "event");
    *event = TERN_EVENT_INIT;
    if (look(a) == TERN_OK)
        return TERN_OK;
    if (!(watch = tern_core_op_alloc(a->ctx, sizeof(*watch), &watch_kind, a->call)))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for an event", a->call);
    atomic_fetch_add_explicit(&tern_core_wait_watches, 1, memory_order_relaxed); /* only a count */
    watch->await = *a;
    watch->op.events = 1;
    tern_base_list_append(&a->ctx->held, &watch->op.node);
    *event = tern_core_event_make(&watch->op, false);
    return TERN_OK;
}

tern_status tern_signal_event(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare, uint64_t value,
                              tern_event *event)
{
    struct await a = { ctx, region, offset, 8, compare, value, "tern_signal_event", NULL, 0 };

    return get_event(&a, event);
}

tern_status tern_signal_event_u32(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                  uint32_t value, tern_event *event)
{
    struct await a = { ctx, region, offset, 4, compare, value, "tern_signal_event_u32", NULL, 0 };

    return get_event(&a, event);
}
