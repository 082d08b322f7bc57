/* domain.c: creation of atomic domains.
 *
 * Each rank contributes its arguments, whether loads and stores reach the memory of all members, and whether the
 * network itself executes the whole set of operations. From the contributions all ranks derive the same mechanism. The
 * memory of a freed domain is reused only after many others have been freed, so that a use after free is reported. */
#include "core/domain.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/retired.h"
#include "core/job.h"
#include "core/links.h"

/* The contribution of each rank. Travels between processes. */
struct contribution {
    struct tern_team_result result; /* result.why: without an error, the reason for the network's answer */
    uint32_t                type, ops, flags;
    uint32_t                memory, network; /* whether each mechanism is possible */
    int32_t                 beyond; /* memory: the first member whose memory loads and stores do not reach; -1: none */
};
_Static_assert(sizeof(struct contribution) == 280, "a contribution has no padding");
_Static_assert(sizeof(struct contribution) <= TERN_TEAM_SCRATCH,
               "a contribution fits into the scratch space of the team");

static struct {
    pthread_mutex_t  lock; /* guards the fields that follow, and freed and node of every domain */
    struct tern_list used;
} domains = { .lock = PTHREAD_MUTEX_INITIALIZER, .used = TERN_LIST_INIT(domains.used) };

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* domains */

/* ---- memory ---- */

static struct tern_atomic_domain *domain_new(void)
{
    struct tern_list *node = tern_base_retired_reuse(&freed);

    return node ? TERN_LIST_ITEM(node, struct tern_atomic_domain, node) : malloc(sizeof(struct tern_atomic_domain));
}

static void domain_add(struct tern_atomic_domain *domain)
{
    pthread_mutex_lock(&domains.lock);
    tern_base_list_push(&domains.used, &domain->node);
    pthread_mutex_unlock(&domains.lock);
}

/* Mark the domain as freed. The caller holds the lock. */
static void retire(struct tern_atomic_domain *domain)
{
    domain->head = (struct tern_atomic_head){ { 0 } }; /* inlined calls enter the library, which reports the error */
    domain->freed = true;
    tern_base_list_remove(&domain->node);
    tern_base_retire(&freed, &domain->node);
}

bool tern_core_domain_free(struct tern_atomic_domain *domain)
{
    bool found = false;

    pthread_mutex_lock(&domains.lock);
    TERN_LIST_EACH(struct tern_atomic_domain, one, &domains.used, node)
        found |= one == domain;
    if (found)
        retire(domain);
    pthread_mutex_unlock(&domains.lock);
    return found;
}

unsigned tern_core_domains_of(const struct tern_team *team)
{
    unsigned count = 0;

    pthread_mutex_lock(&domains.lock);
    TERN_LIST_EACH(struct tern_atomic_domain, domain, &domains.used, node)
        count += domain->team == team;
    pthread_mutex_unlock(&domains.lock);
    return count;
}

void tern_core_domains_close(void)
{
    pthread_mutex_lock(&domains.lock);
    TERN_LIST_EACH(struct tern_atomic_domain, domain, &domains.used, node)
        retire(domain);
    pthread_mutex_unlock(&domains.lock);
}

/* ---- agreement ---- */

/* Return the first member whose memory, if Tern allocates it, is not mapped here; -1: none. */
static int first_beyond(const struct tern_team *team)
{
    for (int i = 0; i < team->size; i++)
        if (!tern_core_ops_to(tern_core_team_world(team, i))->maps)
            return i;
    return -1;
}

/* Return whether one network reaches all members and executes the whole set itself; why is the reason. */
static bool is_offered(const struct tern_team *team, const struct tern_atomic_domain *asked, char *why, size_t size)
{
    int link = tern_core_links_atomic(tern_core_team_world(team, 0));

    if (asked->flags != 0) {
        snprintf(why, size, "the program's loads and stores would not see the network's atomics, nor these them");
        return false;
    }
    for (int i = 1; i < team->size && link >= 0; i++)
        if (tern_core_links_atomic(tern_core_team_world(team, i)) != link)
            link = -1;
    if (link >= 0)
        return tern_job.ops[link]->atomic->offers(tern_job.link[link], asked->type, asked->ops, why, size);
    snprintf(why, size, "there is no network link that offers atomics to all ranks");
    return false;
}

/* Check that all ranks passed the same arguments. */
static tern_status check_equal(const struct contribution *all, int size)
{
    for (int i = 1; i < size; i++)
        if (all[i].type != all[0].type || all[i].ops != all[0].ops || all[i].flags != all[0].flags)
            return tern_base_fail(
                TERN_ERR_ARG,
                "tern_atomic_domain_create: ranks %d and 0 passed different types, operations or flags; "
                "all ranks pass the same",
                i);
    return TERN_OK;
}

/* Choose the mechanism, and write the reason. Every rank gets the same result. */
static void conclude(struct tern_atomic_domain *d, const struct contribution *all)
{
    int distant = -1, lacks = -1;

    for (int i = d->team->size - 1; i >= 0; i--) {
        distant = all[i].memory ? distant : i;
        lacks = all[i].network ? lacks : i;
    }
    if (distant < 0) {
        d->mechanism = TERN_ATOMIC_MEMORY;
        snprintf(d->why, sizeof(d->why), "loads and stores reach the memory of all %d ranks", d->team->size);
    } else if (lacks < 0) {
        d->mechanism = TERN_ATOMIC_NETWORK;
        snprintf(d->why, sizeof(d->why), "the network does all of these operations by itself, for all %d ranks: %.*s",
                 d->team->size, (int)sizeof(all[0].result.why), all[0].result.why);
    } else {
        d->mechanism = TERN_ATOMIC_TARGET;
        snprintf(d->why, sizeof(d->why), "no loads and stores from rank %d to rank %d; rank %d: %.*s", distant,
                 all[distant].beyond, lacks, (int)sizeof(all[lacks].result.why), all[lacks].result.why);
    }
    d->head = (struct tern_atomic_head){ { 0 } };
    if (d->mechanism != TERN_ATOMIC_NETWORK)
        d->head.direct[d->type] = d->ops;
}

static tern_status agree(struct tern_ctx *ctx, const struct tern_atomic_domain *asked, tern_status st)
{
    struct contribution mine = { .type = (uint32_t)asked->type, .ops = asked->ops, .flags = asked->flags };

    mine.beyond = first_beyond(ctx->team);
    mine.memory = mine.beyond < 0;
    if (st == TERN_OK)
        mine.network = is_offered(ctx->team, asked, mine.result.why, sizeof(mine.result.why));
    st = tern_core_team_exchange(ctx->team, &mine.result, sizeof(mine), st, tern_core_ctx_deadline(ctx),
                                 TERN_COLLECTIVE_ATOMIC_DOMAIN_CREATE, NULL);
    return st < 0 ? st : check_equal(ctx->team->scratch, ctx->team->size);
}

tern_status tern_core_domain_create(struct tern_ctx *ctx, const struct tern_atomic_domain *asked, tern_status checked,
                                    struct tern_atomic_domain **out)
{
    struct tern_atomic_domain *domain = domain_new();
    tern_status                st;

    if (!domain && checked == TERN_OK)
        checked = tern_base_fail(TERN_ERR_NOMEM, "no memory for a domain of %zu bytes", sizeof(*domain));
    st = agree(ctx, asked, checked);
    if (st < 0) {
        free(domain);
        return st;
    }
    *domain = *asked;
    domain->team = ctx->team;
    conclude(domain, ctx->team->scratch);
    domain_add(domain);
    *out = domain;
    return TERN_OK;
}
