/* mutex.c: the public calls of tern/mutex.h: check, find the mutex, then call op/atomic/mutex. */
#include <tern/mutex.h>

#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "core/job.h"
#include "core/region.h"
#include "op/atomic/mutex.h"

/* ---- creating and destroying ---- */

static tern_status check_create(uint64_t count, size_t bytes)
{
    if (count > UINT64_MAX / 2 / bytes)
        return tern_base_fail(TERN_ERR_NOMEM, "%llu mutexes are more than any memory holds", (unsigned long long)count);
    return TERN_OK;
}

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* sets of mutexes */

static struct tern_mutexes *mutexes_new(void)
{
    struct tern_list *node = tern_base_retired_reuse(&freed);

    return node ? (struct tern_mutexes *)TERN_LIST_ITEM(node, struct tern_region_owned, node)
                : malloc(sizeof(struct tern_mutexes) + (size_t)tern_job.boot.ranks * sizeof(uint64_t));
}

/* Exchange the counts of all members. *most receives the largest count. A rank that could not allocate m takes part,
 * too. */
static tern_status gather_counts(tern_ctx *ctx, uint64_t count, tern_mutexes *m, uint64_t *most)
{
    struct tern_team *team = ctx->team;
    uint64_t         *all = team->scratch;
    tern_status       st = tern_core_team_gather(team, &count, sizeof(count), all, tern_core_ctx_deadline(ctx),
                                                 TERN_COLLECTIVE_MUTEX_CREATE);

    *most = 0;
    for (int i = 0; i < team->size && st == TERN_OK; i++) {
        *most = all[i] > *most ? all[i] : *most;
        if (m)
            m->count[tern_core_team_world(team, i)] = all[i];
    }
    return st;
}

/* Create a set of mutexes. The set belongs to its region and is freed with the region. All parts have the size of the
 * largest part. */
static tern_status create(tern_ctx *ctx, uint64_t count, tern_mutexes **out)
{
    const tern_region_opts host = TERN_REGION_OPTS_INIT;
    unsigned               log = tern_op_mutex_log(ctx->team->size);
    size_t                 bytes = tern_base_qlock_bytes(log);
    struct tern_mutexes   *m = mutexes_new();
    uint64_t               most = 0;
    tern_status            st;

    if (m) {
        memset(m, 0, sizeof(*m) + (size_t)tern_job.boot.ranks * sizeof(uint64_t));
        m->owned.retired = &freed;
        m->log = log;
        m->bytes = bytes;
    }
    if ((st = gather_counts(ctx, count, m, &most)) < 0) {
        free(m);
        return st;
    }
    if ((st = check_create(most, bytes)) == TERN_OK && !m)
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory for the counts of %d ranks", ctx->team->size);
    st = tern_core_region_alloc(ctx, st == TERN_OK && most > 0 ? most * bytes : bytes, &host,
                                TERN_COLLECTIVE_MUTEX_CREATE, st, m ? &m->region : NULL);
    if (st < 0) {
        free(m);
        return st;
    }
    tern_base_list_init(&m->owned.node);
    m->region->owned = &m->owned;
    *out = m;
    return TERN_OK;
}

tern_status tern_mutex_create(tern_ctx *ctx, uint64_t count, tern_mutexes **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mutex_create");

    if (use.status < 0)
        return use.status;

    tern_status st = tern_api_claim(ctx, out, "tern_mutex_create");

    if (st < 0)
        return st;
    st = create(ctx, count, out);
    tern_core_team_release(ctx->team);
    return st;
}

/* Agree on freeing the set. Once all ranks have made the call, no rank locks a mutex any more, and each rank checks its
 * own mutexes. */
static tern_status agree_free(const struct tern_mutexes *m)
{
    struct tern_team *team = m->region->team;
    tern_deadline     deadline = tern_core_job_deadline();
    uint64_t          held, *all = team->scratch;
    tern_status       st = tern_core_team_gather(team, NULL, 0, NULL, deadline, TERN_COLLECTIVE_MUTEX_FREE);

    held = tern_op_mutex_held(m);
    if (st == TERN_OK)
        st = tern_core_team_gather(team, &held, sizeof(held), all, deadline, TERN_COLLECTIVE_MUTEX_FREE);
    for (int i = 0; i < team->size && st == TERN_OK; i++)
        if (all[i] != UINT64_MAX)
            st = tern_base_fail(TERN_ERR_STATE, "tern_mutex_free: mutex %llu of rank %d is held; unlock it first",
                                (unsigned long long)all[i], i);
    return st;
}

tern_status tern_mutex_free(tern_mutexes *mutexes)
{
    tern_status       st = tern_core_job_running("tern_mutex_free");
    struct tern_team *team;

    if (st < 0)
        return st;
    if (!mutexes)
        return tern_api_null("tern_mutex_free", "mutexes");
    if (mutexes->owned.freed)
        return tern_api_freed("tern_mutex_free", "the set of mutexes");
    team = mutexes->region->team;
    if ((st = tern_core_team_claim(team, NULL, "tern_mutex_free")) < 0)
        return st;
    st = agree_free(mutexes);
    if (st == TERN_OK || st == TERN_ERR_PEER)
        st = tern_core_region_free(mutexes->region, "tern_mutex_free");
    tern_core_team_release(team);
    return st;
}

/* ---- locking and unlocking ---- */

static __attribute__((cold, noinline)) tern_status no_such(uint64_t count, int rank, uint64_t index, const char *what)
{
    if (count == 0)
        return tern_base_fail(TERN_ERR_RANGE, "%s: no mutex %llu of rank %d, which created the set with 0 mutexes",
                              what, (unsigned long long)index, rank);
    return tern_base_fail(TERN_ERR_RANGE, "%s: no mutex %llu of rank %d, which has the mutexes 0 to %llu (count %llu)",
                          what, (unsigned long long)index, rank, (unsigned long long)count - 1,
                          (unsigned long long)count);
}

static tern_status find(tern_ctx *ctx, const tern_mutexes *mutexes, int rank, uint64_t index, const char *what,
                        struct tern_op_mutex *out)
{
    tern_status st;

    if (TERN_UNLIKELY(!mutexes))
        return tern_api_null(what, "mutexes");
    if (TERN_UNLIKELY(mutexes->owned.freed))
        return tern_api_freed(what, "the set of mutexes");
    if ((st = tern_api_part(ctx, mutexes->region, rank, what, &out->part)) < 0)
        return st;
    if (TERN_UNLIKELY(out->part->size == 0))
        return tern_base_fail(TERN_ERR_RANGE,
                              "%s: rank %d is in the context's team but not in the team of the mutexes, and has none",
                              what, rank);
    if (TERN_UNLIKELY(index >= mutexes->count[out->part->rank]))
        return no_such(mutexes->count[out->part->rank], rank, index, what);
    *out = (struct tern_op_mutex){ ctx, out->part, index * mutexes->bytes, index, mutexes->log, rank, what };
    return tern_api_alive(ctx, rank, what);
}

/* A mutex that a thread is about to lock through a shared context. */
struct locking {
    struct tern_list             node;
    const struct tern_link_part *part;
    uint64_t                     index;
};

/* Lock a mutex through a shared context. The holder is the context, so that only one of its threads at a time may lock
 * the same mutex. */
static __attribute__((cold, noinline)) tern_status lock_in_turn(const struct tern_op_mutex *mutex,
                                                                tern_deadline               deadline)
{
    struct tern_shared *shared = mutex->ctx->shared;
    struct locking      mine = { .part = mutex->part, .index = mutex->index };
    tern_status         st;

    TERN_LIST_EACH(const struct locking, other, &shared->locking, node)
        if (other->part == mine.part && other->index == mine.index)
            return tern_base_fail(
                TERN_ERR_STATE,
                "%s: another thread is locking mutex %llu of rank %d through the same shared context; "
                "threads that compete for a mutex need a context each",
                mutex->what, (unsigned long long)mine.index, mutex->rank);
    tern_base_list_push(&shared->locking, &mine.node);
    st = tern_op_mutex_lock(mutex, deadline);
    tern_base_list_remove(&mine.node);
    return st;
}

static inline tern_status lock(const struct tern_op_mutex *mutex, tern_deadline deadline)
{
    return TERN_LIKELY(!mutex->ctx->shared) ? tern_op_mutex_lock(mutex, deadline) : lock_in_turn(mutex, deadline);
}

/* Make the calls on a shared context. */
static __attribute__((cold, noinline)) tern_status lock_shared(tern_ctx *ctx, tern_mutexes *mutexes, int rank,
                                                               uint64_t index)
{
    return TERN_API_LOCKED(inner, ctx, tern_mutex_lock(inner, mutexes, rank, index));
}

static __attribute__((cold, noinline)) tern_status unlock_shared(tern_ctx *ctx, tern_mutexes *mutexes, int rank,
                                                                 uint64_t index)
{
    return TERN_API_LOCKED(inner, ctx, tern_mutex_unlock(inner, mutexes, rank, index));
}

tern_status tern_mutex_lock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mutex_lock");

    if (use.status < 0)
        return use.status;

    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_lock", &mutex);

    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? lock_shared(ctx, mutexes, rank, index) : st;
    return lock(&mutex, tern_core_ctx_deadline(ctx));
}

tern_status tern_mutex_try(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mutex_try");

    if (use.status < 0)
        return use.status;

    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_try", &mutex);

    if (st == TERN_API_IS_SHARED)
        return TERN_API_LOCKED(inner, ctx, tern_mutex_try(inner, mutexes, rank, index, deadline));
    return st < 0 ? st : lock(&mutex, deadline);
}

tern_status tern_mutex_unlock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_mutex_unlock");

    if (use.status < 0)
        return use.status;

    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_unlock", &mutex);

    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? unlock_shared(ctx, mutexes, rank, index) : st;
    return tern_op_mutex_unlock(&mutex);
}
