/* team.c: the public calls of tern/team.h. */
#include <tern/context.h>
#include <tern/team.h>

#include <stdlib.h>

#include "api/check.h"
#include "api/use.h"
#include "core/job.h"
#include "core/message.h"
#include "core/team_create.h"
#include "op/tagged/tagged.h"

static tern_team *if_running(tern_team *team)
{
    return tern_core_job_is_running() ? team : NULL;
}

tern_team *tern_team_world(void)
{
    return if_running(&tern_job.world);
}

tern_team *tern_team_node(void)
{
    return if_running(&tern_job.node);
}

tern_team *tern_team_self(void)
{
    return if_running(&tern_job.self);
}

int tern_team_rank(const tern_team *team)
{
    return tern_core_job_is_running() && team && !team->freed ? team->rank : -1;
}

int tern_team_size(const tern_team *team)
{
    return tern_core_job_is_running() && team && !team->freed ? team->size : -1;
}

tern_status tern_team_translate(const tern_team *from, int rank, const tern_team *to, int *out)
{
    tern_status st;
    int         found;

    if (!from || !to || !out)
        return tern_api_null("tern_team_translate", !from ? "from" : !to ? "to" : "out");
    if ((st = tern_core_job_running("tern_team_translate")) < 0)
        return st;
    if (from->freed || to->freed)
        return tern_api_freed("tern_team_translate", from->freed ? "the team from" : "the team to");
    if (rank < 0 || rank >= from->size)
        return tern_base_fail(TERN_ERR_RANGE, "tern_team_translate: no rank %d in a team of %d", rank, from->size);
    found = tern_core_team_rank(to, tern_core_team_world(from, rank));
    if (found < 0 || found >= to->size)
        return tern_base_fail(TERN_ERR_RANGE, "tern_team_translate: rank %d of the team from is not in the team to",
                              rank);
    *out = found;
    return TERN_OK;
}

/* ---- creation by the members ---- */

static tern_status check_parent(const tern_team *parent, int n, tern_team **out, const char *what)
{
    tern_status st = tern_core_job_running(what);

    if (st < 0)
        return st;
    if (!parent || !out)
        return tern_api_null(what, parent ? "out" : "parent");
    if (parent->freed)
        return tern_api_freed(what, "the team parent");
    if (tern_core_in_handler())
        return tern_base_fail(TERN_ERR_STATE, "%s: %s must not create teams", what, tern_core_handler_kind());
    if (n < 1 || n > parent->size)
        return tern_base_fail(TERN_ERR_ARG, "%s: n is %d; a team of ranks of %s has 1 to %d ranks", what, n,
                              tern_core_team_name(parent).text, parent->size);
    return TERN_OK;
}

/* Check that the ranks exist, are different, and that this rank is one of them. */
static tern_status check_ranks(const tern_team *parent, const int *ranks, int n, const char *what)
{
    int        *listed = calloc((size_t)parent->size, sizeof(*listed)); /* index of each rank in the list, + 1 */
    tern_status st = TERN_OK;

    if (!listed)
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for tables of %d ranks", what, parent->size);
    for (int i = 0; i < n && st == TERN_OK; i++) {
        if (ranks[i] < 0 || ranks[i] >= parent->size)
            st = tern_base_fail(TERN_ERR_RANGE, "%s: ranks[%d] is %d, but %s has no such rank", what, i, ranks[i],
                                tern_core_team_name(parent).text);
        else if (listed[ranks[i]] > 0)
            st = tern_base_fail(TERN_ERR_ARG, "%s: ranks[%d] and ranks[%d] are both %d; a rank is in a team once", what,
                                listed[ranks[i]] - 1, i, ranks[i]);
        else
            listed[ranks[i]] = i + 1;
    }
    if (st == TERN_OK && listed[parent->rank] == 0)
        st = tern_base_fail(TERN_ERR_ARG,
                            "%s: rank %d of %s is not one of the %d ranks; only the members of the new team make this "
                            "call",
                            what, parent->rank, tern_core_team_name(parent).text, n);
    free(listed);
    return st;
}

tern_status tern_team_create(tern_team *parent, const int *ranks, int n, uint64_t tag, tern_team **out)
{
    tern_status st = check_parent(parent, n, out, "tern_team_create");

    if (st < 0)
        return st;
    if (!ranks)
        return tern_api_null("tern_team_create", "ranks");
    if ((st = check_ranks(parent, ranks, n, "tern_team_create")) < 0)
        return st;
    return tern_core_team_create(parent, ranks, n, tag, "tern_team_create", out);
}

tern_status tern_team_strided(tern_team *parent, int first, int stride, int n, uint64_t tag, tern_team **out)
{
    tern_status st = check_parent(parent, n, out, "tern_team_strided");
    int64_t     last;
    int        *ranks;

    if (st < 0)
        return st;
    last = (int64_t)first + (int64_t)stride * (n - 1);
    if (first < 0 || first >= parent->size || last < 0 || last >= parent->size)
        return tern_base_fail(
            TERN_ERR_RANGE,
            "tern_team_strided: %d ranks from rank %d on at a distance of %d end at rank %lld, but %s "
            "has ranks 0 to %d",
            n, first, stride, (long long)last, tern_core_team_name(parent).text, parent->size - 1);
    if (stride == 0 && n > 1)
        return tern_base_fail(TERN_ERR_ARG, "tern_team_strided: stride is 0, but n is %d", n);
    if (!(ranks = calloc((size_t)n, sizeof(*ranks))))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_team_strided: no memory for a list of %d ranks", n);
    for (int i = 0; i < n; i++)
        ranks[i] = first + i * stride;
    st = check_ranks(parent, ranks, n, "tern_team_strided");
    if (st == TERN_OK)
        st = tern_core_team_create(parent, ranks, n, tag, "tern_team_strided", out);
    free(ranks);
    return st;
}

/* ---- creation by all members of a team ---- */

tern_status tern_team_split(tern_ctx *ctx, int colour, int64_t key, tern_team **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_team_split");

    if (use.status < 0)
        return use.status;

    tern_status st = tern_api_claim(ctx, out, "tern_team_split");

    if (st < 0)
        return st;
    st = tern_core_team_split(ctx, colour, key, TERN_COLLECTIVE_TEAM_SPLIT, out);
    tern_core_team_release(ctx->team);
    return st;
}

tern_status tern_team_dup(tern_ctx *ctx, tern_team **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_team_dup");

    if (use.status < 0)
        return use.status;

    tern_status st = tern_api_claim(ctx, out, "tern_team_dup");

    if (st < 0)
        return st;
    st = tern_core_team_split(ctx, 0, 0, TERN_COLLECTIVE_TEAM_DUP, out);
    tern_core_team_release(ctx->team);
    return st;
}

tern_status tern_team_survivors(tern_ctx *ctx, tern_team **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_team_survivors");

    if (use.status < 0)
        return use.status;

    tern_status st = tern_api_claim(ctx, out, "tern_team_survivors");

    if (st < 0)
        return st;
    st = tern_core_team_survivors(ctx, out);
    tern_core_team_release(ctx->team);
    return st;
}

tern_status tern_team_free(tern_team *team)
{
    tern_status st;
    uint32_t    id;

    if (!team)
        return tern_api_null("tern_team_free", "team");
    if ((st = tern_core_job_running("tern_team_free")) < 0)
        return st;
    if (team->freed)
        return tern_api_freed("tern_team_free", "the team");
    if (team->id < TERN_TEAM_FIRST)
        return tern_base_fail(TERN_ERR_ARG, "tern_team_free: %s stays until tern_finalize",
                              tern_core_team_name(team).text);
    if ((st = tern_core_team_claim(team, NULL, "tern_team_free")) < 0)
        return st;
    id = team->id;
    if ((st = tern_core_team_free(team, "tern_team_free")) < 0) {
        tern_core_team_release(team);
        return st;
    }
    while (tern_op_tagged_forget_scope(id) + tern_op_tagged_forget_scope(tern_op_coll_scope(id)) > 0)
        tern_core_message_drain(); /* the queues may contain further messages of the team */
    return TERN_OK;
}
