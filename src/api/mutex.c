/* mutex.c: the public calls of tern/mutex.h: check, find the mutex, then call op/atomic/mutex. */
#include <tern/mutex.h>

#include <stdlib.h>

#include "api/check.h"
#include "api/use.h"
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

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* sets of mutexes */

static struct tern_mutexes *mutexes_new(void)
{
    struct tern_list *node = tern_base_retired_reuse(&freed);

    return node ? (struct tern_mutexes *)TERN_LIST_ITEM(node, struct tern_region_owned, node)
                : malloc(sizeof(struct tern_mutexes));
}

/* Create a set of mutexes. The set is part of its region and is freed with the region. */
static tern_status create(tern_ctx *ctx, uint64_t count, tern_mutexes **out)
{
    const tern_region_opts host = TERN_REGION_OPTS_INIT;
    unsigned               log = tern_op_mutex_log(ctx->team->size);
    struct tern_mutexes   *m = mutexes_new();
    tern_status            st = check_create(count, tern_base_qlock_bytes(log));

    if (!m && st == TERN_OK)
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory for %zu bytes", sizeof(*m));
    if (m)
        *m = (struct tern_mutexes){
            .owned.retired = &freed, .count = count, .log = log, .bytes = tern_base_qlock_bytes(log)
        };
    st = tern_core_region_alloc(ctx, st == TERN_OK ? count * tern_base_qlock_bytes(log) : 1, &host, "tern_mutex_create",
                                st, m ? &m->region : NULL);
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

    tern_status st = tern_core_ctx_check(ctx, "tern_mutex_create");

    if (st < 0)
        return st;
    if (!out)
        return tern_api_null("tern_mutex_create", "out");
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
    if (TERN_UNLIKELY(index >= mutexes->count))
        return tern_base_fail(TERN_ERR_RANGE, "%s: no mutex %llu of rank %d, which has the mutexes 0 to %llu", what,
                              (unsigned long long)index, rank, (unsigned long long)mutexes->count - 1);
    *out = (struct tern_op_mutex){ ctx, out->part, index * mutexes->bytes, index, mutexes->log, rank, what };
    return tern_api_alive(ctx, rank, what);
}

tern_status tern_mutex_lock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mutex_lock");

    if (use.status < 0)
        return use.status;

    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_lock", &mutex);

    return st < 0 ? st : tern_op_mutex_lock(&mutex, tern_core_ctx_deadline(ctx));
}

tern_status tern_mutex_try(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mutex_try");

    if (use.status < 0)
        return use.status;

    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_try", &mutex);

    return st < 0 ? st : tern_op_mutex_lock(&mutex, deadline);
}

tern_status tern_mutex_unlock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_mutex_unlock");

    if (use.status < 0)
        return use.status;

    struct tern_op_mutex mutex;
    tern_status          st = find(ctx, mutexes, rank, index, "tern_mutex_unlock", &mutex);

    return st < 0 ? st : tern_op_mutex_unlock(&mutex);
}
