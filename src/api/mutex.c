/* mutex.c: the public calls of tern/mutex.h: check, find the mutex, then call op/atomic/mutex. */
#include <tern/mutex.h>

#include <stdlib.h>

#include "api/check.h"
#include "core/job.h"
#include "core/region.h"
#include "op/atomic/mutex.h"

/* ---- creating and destroying ---- */

static tern_status check_create(uint64_t count, size_t bytes)
{
    if (count == 0)
        return tern_base_fail(TERN_ERR_ARG, "count is 0");
    if (count > UINT64_MAX / 2 / bytes)
        return tern_base_fail(TERN_ERR_NOMEM, "%llu mutexes are more than any memory holds", (unsigned long long)count);
    return TERN_OK;
}

/* Create a set of mutexes. The set is part of its region and is freed with the region. */
static tern_status create(tern_ctx *ctx, uint64_t count, tern_mutexes **out)
{
    const tern_region_opts host = TERN_REGION_OPTS_INIT;
    unsigned               log = tern_op_mutex_log(ctx->team->size);
    struct tern_mutexes   *m = malloc(sizeof(*m));
    tern_status            st = check_create(count, tern_base_qlock_bytes(log));

    if (!m && st == TERN_OK)
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory for %zu bytes", sizeof(*m));
    if (m)
        *m = (struct tern_mutexes){ .count = count, .log = log, .bytes = tern_base_qlock_bytes(log) };
    st = tern_core_region_alloc(ctx, st == TERN_OK ? count * tern_base_qlock_bytes(log) : 1, &host, "tern_mutex_create",
                                st, m ? &m->region : NULL);
    if (st < 0) {
        free(m);
        return st;
    }
    m->region->kept = m;
    *out = m;
    return TERN_OK;
}

tern_status tern_mutex_create(tern_ctx *ctx, uint64_t count, tern_mutexes **out)
{
    tern_status st = tern_core_job_running();

    if (st < 0)
        return st;
    if (!ctx || !out)
        return tern_base_fail(TERN_ERR_ARG, "tern_mutex_create: %s is NULL", ctx ? "out" : "ctx");
    if ((st = tern_core_team_claim(ctx->team, ctx, "tern_mutex_create")) < 0)
        return st;
    st = create(ctx, count, out);
    tern_core_team_release(ctx->team);
    return st;
}

/* Agree on freeing the set. After all ranks have arrived here no rank locks any more, and each rank checks its own
 * mutexes. */
static tern_status agree_free(const struct tern_mutexes *m)
{
    struct tern_team *team = m->region->team;
    tern_deadline     deadline = tern_core_job_deadline();
    uint64_t          held, *all = team->scratch;
    tern_status       st = tern_core_team_gather(team, NULL, 0, NULL, deadline, "tern_mutex_free");

    held = tern_op_mutex_held(m);
    if (st == TERN_OK)
        st = tern_core_team_gather(team, &held, sizeof(held), all, deadline, "tern_mutex_free");
    for (int i = 0; i < team->size && st == TERN_OK; i++)
        if (all[i] < m->count)
            st = tern_base_fail(TERN_ERR_STATE, "tern_mutex_free: mutex %llu of rank %d is held; unlock it first",
                                (unsigned long long)all[i], i);
    return st;
}

tern_status tern_mutex_free(tern_mutexes *mutexes)
{
    tern_status       st = tern_core_job_running();
    struct tern_team *team;

    if (st < 0)
        return st;
    if (!mutexes)
        return tern_base_fail(TERN_ERR_ARG, "tern_mutex_free: mutexes is NULL");
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

static tern_status find(tern_ctx *ctx, const tern_mutexes *mutexes, int rank, uint64_t index, const char *what,
                        struct tern_op_mutex *out)
{
    tern_status st;

    if (TERN_UNLIKELY(!mutexes))
        return tern_base_fail(TERN_ERR_ARG, "%s: mutexes is NULL", what);
    if ((st = tern_api_part(ctx, mutexes->region, rank, what, &out->part)) < 0)
        return st;
    if (TERN_UNLIKELY(index >= mutexes->count || out->part->size == 0))
        return tern_base_fail(TERN_ERR_RANGE, "%s: no mutex %llu of the %llu of rank %d", what,
                              (unsigned long long)index,
                              (unsigned long long)(out->part->size == 0 ? 0 : mutexes->count), rank);
    *out = (struct tern_op_mutex){ ctx, out->part, index * mutexes->bytes, index, mutexes->log, rank, what };
    return tern_api_alive(ctx, rank, what);
}

tern_status tern_mutex_lock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index)
{
    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_lock", &mutex);

    return st < 0 ? st : tern_op_mutex_lock(&mutex, tern_core_ctx_deadline(ctx));
}

tern_status tern_mutex_try(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index, tern_deadline deadline)
{
    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_try", &mutex);

    return st < 0 ? st : tern_op_mutex_lock(&mutex, deadline);
}

tern_status tern_mutex_unlock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index)
{
    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_unlock", &mutex);

    return st < 0 ? st : tern_op_mutex_unlock(&mutex);
}
