/* wait.c: the public calls of tern/wait.h. */
#include <tern/wait.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/check.h"
#include "api/use.h"
#include "api/word.h"
#include "boot/bell.h"
#include "core/context.h"
#include "core/job.h"
#include "core/message.h"
#include "core/wait.h"

/* ---- words ---- */

/* Several conditions on words, and the public call that waits for them. */
struct words {
    tern_ctx        *ctx;
    const tern_word *word;
    size_t           n, index; /* index: of the first condition that holds; if all: number of leading conditions that
                                * have held */
    bool             all;
    const char      *what, *argument; /* the public call, and the name of its argument with the words */
};

/* Return a number of the given width such that an unsigned comparison of two of them compares the words: the upper
 * bits are removed, and the range of signed numbers is shifted. */
static uint64_t comparable(const tern_word *w, uint64_t bits)
{
    unsigned unused = 64 - 8u * w->bytes;

    return (bits << unused) ^ ((uint64_t)(w->is_signed != 0) << 63);
}

static bool holds(const tern_word *w)
{
    uint64_t bits = tern_api_word_load(w->addr, w->bytes);

    return tern_api_word_holds(comparable(w, bits), (tern_compare)w->compare, comparable(w, w->value));
}

static bool words_hold(struct words *words)
{
    if (words->all) {
        while (words->index < words->n && holds(&words->word[words->index]))
            words->index++;
        return words->index == words->n;
    }
    for (size_t i = 0; i < words->n; i++)
        if (holds(&words->word[i]))
            return words->index = i, true;
    return false;
}

static tern_status words_poll(void *arg)
{
    struct words *words = arg;

    tern_core_ctx_progress(words->ctx);
    return words_hold(words) ? TERN_OK : TERN_PENDING;
}

static void words_describe(void *arg, char *text, size_t size)
{
    const struct words *words = arg;
    const tern_word    *w = &words->word[words->all && words->index < words->n ? words->index : 0];
    const unsigned      unused = 64 - 8u * w->bytes;
    const uint64_t      is = tern_api_word_load(w->addr, w->bytes) << unused, value = w->value << unused;
    const char         *sign = tern_api_word_sign((tern_compare)w->compare);
    char                more[64] = "";

    if (words->n > 1)
        snprintf(more, sizeof(more), ", and %zu other words", words->n - 1);
    if (w->is_signed)
        snprintf(text, size, "%s, for the word at %p, which is %lld, to be %s %lld%s", words->what, w->addr,
                 (long long)((int64_t)is >> unused), sign, (long long)((int64_t)value >> unused), more);
    else
        snprintf(text, size, "%s, for the word at %p, which is %llu, to be %s %llu%s", words->what, w->addr,
                 (unsigned long long)(is >> unused), sign, (unsigned long long)(value >> unused), more);
}

static tern_status check_word(const tern_word *w, size_t i, const char *what)
{
    if (w->bytes != 1 && w->bytes != 2 && w->bytes != 4 && w->bytes != 8)
        return tern_base_fail(TERN_ERR_ARG, "%s: word %zu has %u bytes, instead of 1, 2, 4 or 8", what, i, w->bytes);
    if (!w->addr)
        return tern_base_fail(TERN_ERR_ARG, "%s: the address of word %zu is NULL", what, i);
    if ((uintptr_t)w->addr % w->bytes != 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: the address of word %zu, %p, is not a multiple of its %u bytes", what,
                              i, w->addr, w->bytes);
    if (w->compare > TERN_LE)
        return tern_base_fail(TERN_ERR_ARG, "%s: %u, the comparison of word %zu, is no tern_compare", what, w->compare,
                              i);
    if (w->is_signed > 1 || w->reserved != 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: a field of word %zu that must be 0 is not: use TERN_WORD()", what, i);
    return TERN_OK;
}

static tern_status check_waiting(tern_ctx *ctx, const char *what)
{
    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, what);
    if (tern_core_in_handler())
        return tern_base_fail(TERN_ERR_STATE, "%s: %s must not wait", what, tern_core_handler_kind());
    return TERN_OK;
}

static tern_status words_wait(struct words *words, tern_deadline deadline)
{
    struct tern_wait wait = {
        .poll = words_poll, .describe = words_describe, .arg = words, .deadline = deadline, .on_memory = true
    };
    tern_status st = check_waiting(words->ctx, words->what);

    if (st < 0)
        return st;
    if (!words->word && (words->n > 0 || !words->all))
        return tern_api_null(words->what, words->argument);
    if (words->n == 0)
        return words->all ? TERN_OK : tern_base_fail(TERN_ERR_ARG, "%s: n is 0", words->what);
    for (size_t i = 0; i < words->n; i++)
        if ((st = check_word(&words->word[i], i, words->what)) < 0)
            return st;
    return words_hold(words) ? TERN_OK : tern_core_wait(&wait);
}

tern_status tern_word_wait(tern_ctx *ctx, const tern_word *word, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_word_wait");

    if (use.status < 0)
        return use.status;

    struct words words = { .ctx = ctx, .word = word, .n = 1, .what = "tern_word_wait", .argument = "word" };

    return words_wait(&words, deadline);
}

tern_status tern_word_wait_any(tern_ctx *ctx, const tern_word *words, size_t n, tern_deadline deadline, size_t *index)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_word_wait_any");

    if (use.status < 0)
        return use.status;

    struct words any = { .ctx = ctx, .word = words, .n = n, .what = "tern_word_wait_any", .argument = "words" };
    tern_status  st;

    if (!index)
        return tern_api_null("tern_word_wait_any", "index");
    if ((st = words_wait(&any, deadline)) == TERN_OK)
        *index = any.index;
    return st;
}

tern_status tern_word_wait_all(tern_ctx *ctx, const tern_word *words, size_t n, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_word_wait_all");

    if (use.status < 0)
        return use.status;

    struct words all = {
        .ctx = ctx, .word = words, .n = n, .all = true, .what = "tern_word_wait_all", .argument = "words"
    };

    return words_wait(&all, deadline);
}

tern_status tern_word_wait_some(tern_ctx *ctx, const tern_word *words, size_t n, tern_deadline deadline, size_t *count,
                                size_t *indices)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_word_wait_some");

    if (use.status < 0)
        return use.status;

    struct words some = { .ctx = ctx, .word = words, .n = n, .what = "tern_word_wait_some", .argument = "words" };
    size_t       found = 0;
    tern_status  st;

    if (!count || !indices)
        return tern_api_null("tern_word_wait_some", count ? "indices" : "count");
    *count = 0;
    if ((st = words_wait(&some, deadline)) != TERN_OK)
        return st;
    indices[found++] = some.index; /* the word may have changed since */
    for (size_t i = some.index + 1; i < n; i++)
        if (holds(&words[i]))
            indices[found++] = i;
    *count = found;
    return TERN_OK;
}

/* ---- a condition of the program ---- */

struct until {
    tern_ctx *ctx;
    bool (*condition)(void *arg);
    void *arg;
};

static tern_status until_poll(void *arg)
{
    struct until *until = arg;

    tern_core_ctx_progress(until->ctx);
    return until->condition(until->arg) ? TERN_OK : TERN_PENDING;
}

static void until_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "tern_wait_until: the program's condition does not hold");
}

tern_status tern_wait_until(tern_ctx *ctx, bool (*condition)(void *arg), void *arg, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_wait_until");

    if (use.status < 0)
        return use.status;

    struct until     until = { ctx, condition, arg };
    struct tern_wait wait = { .poll = until_poll,
                              .describe = until_describe,
                              .arg = &until,
                              .deadline = deadline,
                              .on_memory = true,
                              .for_reply = true };
    tern_status      st = check_waiting(ctx, "tern_wait_until");

    if (st < 0)
        return st;
    if (!condition)
        return tern_api_null("tern_wait_until", "condition");
    return condition(arg) ? TERN_OK : tern_core_wait(&wait);
}

/* ---- a condition that the program evaluates ---- */

_Static_assert(sizeof(struct tern_wait_state) <= sizeof(((tern_idle *)0)->state), "the state has space in a tern_idle");

struct idling {
    tern_ctx   *ctx;
    const char *name;
};

static tern_status idle_poll(void *arg)
{
    tern_core_ctx_progress(((const struct idling *)arg)->ctx);
    return TERN_PENDING;
}

static void idle_describe(void *arg, char *text, size_t size)
{
    const struct idling *idling = arg;

    if (idling->name)
        snprintf(text, size, "tern_idle_step, for %.200s", idling->name);
    else
        snprintf(text, size, "tern_idle_step: the program's condition does not hold");
}

/* Check a struct whose size is not the size of this version of Tern. A newer program may use it, unless it sets fields
 * that this version does not know. Steps change the struct, so that it cannot be copied as other structs are. */
static __attribute__((cold, noinline)) tern_status check_idle(const tern_idle *idle)
{
    const unsigned char *bytes = (const unsigned char *)idle;

    if (idle->size < sizeof(*idle) || idle->size > TERN_API_LARGEST)
        return tern_api_bad_size(idle->size, "tern_idle_step", "tern_idle");
    for (size_t i = sizeof(*idle); i < idle->size; i++)
        if (bytes[i] != 0)
            return tern_api_unknown_fields("tern_idle_step", "tern_idle");
    return TERN_OK;
}

tern_status tern_idle_step(tern_ctx *ctx, tern_idle *idle)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_idle_step");

    if (use.status < 0)
        return use.status;

    tern_status st = check_waiting(ctx, "tern_idle_step");

    if (st < 0)
        return st;
    if (!idle)
        return tern_api_null("tern_idle_step", "idle");
    if (TERN_UNLIKELY(idle->size != sizeof(*idle)) && (st = check_idle(idle)) < 0)
        return st;

    struct idling          idling = { ctx, idle->name };
    const struct tern_wait wait = { .poll = idle_poll,
                                    .describe = idle_describe,
                                    .arg = &idling,
                                    .deadline = idle->deadline == TERN_NOW ? TERN_FOREVER : idle->deadline,
                                    .on_memory = true,
                                    .by_caller = true,
                                    .nap = 1000 * (int64_t)idle->nap_us };

    st = tern_core_wait_step(&wait, (struct tern_wait_state *)(void *)idle->state);
    return st == TERN_PENDING ? TERN_OK : st;
}

/* ---- a blocking poll ---- */

struct polling {
    tern_ctx *ctx;
    uint32_t  delivered, bell;
};

static uint32_t own_bell(void)
{
    return atomic_load_explicit(&tern_core_job_slot(tern_job.boot.rank)->bell, memory_order_relaxed);
}

static tern_status polling_poll(void *arg)
{
    const struct polling *polling = arg;

    tern_core_ctx_progress(polling->ctx);
    return polling->delivered != tern_core_message_delivered() || polling->bell != own_bell() ? TERN_OK : TERN_PENDING;
}

static void polling_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "tern_progress_wait, for something to do");
}

tern_status tern_progress_wait(tern_ctx *ctx, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_progress_wait");

    if (use.status < 0)
        return use.status;

    struct polling   polling = { .ctx = ctx };
    struct tern_wait wait = {
        .poll = polling_poll, .describe = polling_describe, .arg = &polling, .deadline = deadline
    };
    tern_status st = check_waiting(ctx, "tern_progress_wait");

    if (st < 0)
        return st;
    polling.delivered = tern_core_message_delivered();
    polling.bell = own_bell();
    return tern_core_wait(&wait);
}

tern_status tern_wake(tern_ctx *ctx, int rank)
{
    int world;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_wake");
    if ((uint32_t)rank >= (uint32_t)ctx->team->size)
        return tern_api_no_rank(ctx, rank, "tern_wake");
    world = tern_core_team_world(ctx->team, rank);
    if (tern_boot_same_node(&tern_job.boot, world)) {
        /* seq_cst: the stores of the program before the load of memory_waits, also without a membarrier. Pairs with the
         * fence in the announcement. */
        atomic_thread_fence(memory_order_seq_cst);
        tern_boot_written(tern_core_job_slot(world));
    }
    return TERN_OK;
}
