/* team_table.c: the table of the teams that the program has created, and their end.
 *
 * The delivering thread finds the team of an active message in a hash table, without a lock: entries are added at the
 * front of a chain, and a team that was removed stays valid until no thread delivers (tern_core_message_pause). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/retired.h"
#include "core/context.h"
#include "core/domain.h"
#include "core/group_segment.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"
#include "core/region.h"
#include "core/team_create.h"
#include "core/wait.h"

#define BUCKETS 256u
#define NUMBERS 32700u /* ids that a rank proposes before it begins again */

/* The id of a team has 31 bits, because collective calls use the highest bit (tern_op_coll_scope). */
_Static_assert(TERN_TEAM_FIRST + NUMBERS <= 1u << TERN_TEAM_RANK, "the numbers of a rank do not reach the next rank's");
_Static_assert(TERN_MAX_RANKS <= 1u << (31 - TERN_TEAM_RANK), "ids have 31 bits");

static struct {
    pthread_mutex_t   lock; /* guards the fields that follow; chains are read without it */
    struct tern_list  all;
    uint32_t          proposed;        /* number of ids that this rank has proposed */
    bool              spoilt[NUMBERS]; /* this rank does not propose the id again */
    struct tern_team *bucket[BUCKETS];
} teams = { .lock = PTHREAD_MUTEX_INITIALIZER, .all = TERN_LIST_INIT(teams.all) };

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* teams */

static struct tern_team **bucket_of(uint32_t id)
{
    return &teams.bucket[(id ^ id >> 16) % BUCKETS];
}

struct tern_team *tern_core_team_numbered(uint32_t id)
{
    struct tern_team *team;

    if (id < TERN_TEAM_FIRST)
        return id == 0                ? &tern_job.world
               : id == TERN_TEAM_NODE ? &tern_job.node
               : id == TERN_TEAM_SELF ? &tern_job.self
                                      : NULL;
    /* acquire: the contents of the team. Pairs with the release in tern_core_team_list(). */
    team = __atomic_load_n(bucket_of(id), __ATOMIC_ACQUIRE);
    while (team && team->id != id)
        team = __atomic_load_n(&team->chain, __ATOMIC_ACQUIRE);
    return team;
}

/* Return the first id that this rank proposes. */
static uint32_t first_id(void)
{
    return TERN_TEAM_FIRST + ((uint32_t)tern_job.boot.rank << TERN_TEAM_RANK);
}

tern_status tern_core_team_propose(uint32_t *id)
{
    bool used = true;

    pthread_mutex_lock(&teams.lock);
    for (uint32_t tried = 0; used && tried < NUMBERS; tried++) {
        uint32_t number = teams.proposed++ % NUMBERS;

        *id = first_id() + number;
        used = teams.spoilt[number] || tern_core_team_numbered(*id);
    }
    pthread_mutex_unlock(&teams.lock);
    return used ? tern_base_fail(
                      TERN_ERR_NOMEM,
                      "this rank has chosen the numbers of %u teams that exist or have failed, and there are no more "
                      "numbers; free teams with tern_team_free",
                      NUMBERS)
                : TERN_OK;
}

void tern_core_team_spoil(uint32_t id)
{
    if (id < first_id() || id - first_id() >= NUMBERS)
        return;
    pthread_mutex_lock(&teams.lock);
    teams.spoilt[id - first_id()] = true;
    pthread_mutex_unlock(&teams.lock);
}

struct tern_team *tern_core_team_new(void)
{
    struct tern_list *node = tern_base_retired_reuse(&freed);
    struct tern_team *team = node ? TERN_LIST_ITEM(node, struct tern_team, node) : malloc(sizeof(*team));

    if (!team)
        return NULL;
    *team = (struct tern_team){ 0 };
    tern_base_list_init(&team->node);
    return team;
}

void tern_core_team_delete(struct tern_team *team)
{
    tern_core_team_close(team);
    team->freed = true;
    team->rank = -1;
    tern_base_retire(&freed, &team->node);
}

void tern_core_team_list(struct tern_team *team)
{
    struct tern_team **bucket = bucket_of(team->id);

    pthread_mutex_lock(&teams.lock);
    tern_base_list_push(&teams.all, &team->node);
    team->chain = *bucket;
    /* release: the contents of the team. Pairs with the acquire in tern_core_team_numbered(). */
    __atomic_store_n(bucket, team, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&teams.lock);
}

static void unlist(struct tern_team *team)
{
    struct tern_team **at = bucket_of(team->id);

    pthread_mutex_lock(&teams.lock);
    while (*at && *at != team)
        at = &(*at)->chain;
    if (*at)
        /* release: readers that find the next team see its contents. Pairs as above. */
        __atomic_store_n(at, team->chain, __ATOMIC_RELEASE);
    tern_base_list_remove(&team->node);
    pthread_mutex_unlock(&teams.lock);
    tern_core_message_pause(); /* another thread may have found the team */
}

static bool is_identity(const struct tern_team_plan *plan)
{
    if (plan->size != tern_job.boot.ranks)
        return false;
    for (int i = 0; i < plan->size; i++)
        if (plan->members[i] != i)
            return false;
    return true;
}

/* Return the tables for the members; NULL: no memory, or none is needed. */
static struct tern_team_map *map_for(const struct tern_team_plan *plan)
{
    const struct tern_team *like = plan->like;

    if (like && like->map && like->size == plan->size &&
        memcmp(like->world_rank, plan->members, (size_t)plan->size * sizeof(plan->members[0])) == 0) {
        atomic_fetch_add_explicit(&like->map->users, 1, memory_order_relaxed); /* the team like holds a reference */
        return like->map;
    }
    return tern_core_team_map(plan->members, plan->size);
}

tern_status tern_core_team_make(const struct tern_team_plan *plan, struct tern_team **out)
{
    struct tern_team     *team;
    bool                  identity = is_identity(plan);
    struct tern_team_map *map;
    tern_status           st;

    if (plan->id < TERN_TEAM_FIRST) /* proposed by another rank */
        return tern_base_fail(TERN_ERR_LINK, "another rank proposes %u as the id of a team, which no created team has",
                              plan->id);
    team = tern_core_team_new();
    map = identity ? NULL : map_for(plan);
    if (!team || (!map && !identity)) {
        free(team);
        tern_core_team_map_drop(map);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a team of %d ranks", plan->size);
    }
    st = tern_core_team_open(team, plan->id, map, plan->size, plan->rank, plan->space);
    if (st < 0) {
        tern_core_team_delete(team);
        return st;
    }
    tern_core_team_list(team);
    *out = team;
    return TERN_OK;
}

/* A rank that leaves a team in the boot segment gives up its seat. The others must have found the seat before. */
tern_status tern_core_team_greet(struct tern_team *team, tern_deadline deadline, const char *what)
{
    return team->group->ops == &tern_core_segment_group ? tern_core_team_barrier(team, deadline, what) : TERN_OK;
}

void tern_core_team_abandon(struct tern_team *team)
{
    tern_core_team_give_up(team);
    team->group->abandons = true;
    tern_core_team_leave(team, TERN_TEAM_OBJECT_SELF | team->id);
    tern_core_team_drop(team);
}

void tern_core_team_drop(struct tern_team *team)
{
    unlist(team);
    tern_core_team_delete(team);
}

/* ---- the end of a team ---- */

/* Count the objects of this rank that belong to the team. */
static void count_users(const struct tern_team *team, unsigned *contexts, unsigned *regions)
{
    *contexts = *regions = 0;
    pthread_mutex_lock(&tern_job.lock);
    TERN_LIST_EACH(struct tern_ctx, ctx, &tern_job.contexts, node)
        *contexts += ctx->team == team;
    TERN_LIST_EACH(struct tern_region, region, &tern_job.regions, node)
        *regions += region->team == team;
    pthread_mutex_unlock(&tern_job.lock);
}

static tern_status check_unused(const struct tern_team *team, const char *what)
{
    unsigned contexts, regions, domains = tern_core_domains_of(team);
    unsigned clients = atomic_load_explicit(&team->clients, memory_order_relaxed); /* only counts */

    count_users(team, &contexts, &regions);
    if (contexts + regions + domains + clients == 0)
        return TERN_OK;
    return tern_base_fail(
        TERN_ERR_STATE,
        "%s: rank %d of %s still has %u contexts, %u regions or sets of mutexes, %u atomic domains, and %u clients of "
        "active messages of the team; free them first",
        what, team->rank, tern_core_team_name(team).text, contexts, regions, domains, clients);
}

struct settling {
    const struct tern_team *team;
    const char             *what;
};

static tern_status settle_poll(void *arg)
{
    struct settling *s = arg;

    tern_core_team_progress(s->team);
    return tern_core_links_msg_flushed() ? TERN_OK : TERN_PENDING;
}

static void settle_describe(void *arg, char *text, size_t size)
{
    struct settling *s = arg;

    snprintf(text, size, "%s waits for active messages to arrive at ranks that make no progress", s->what);
}

/* Wait until the messages of this rank have arrived: departures may be faster. */
static tern_status settle(const struct tern_team *team, const char *what)
{
    struct settling  s = { team, what };
    struct tern_wait wait = {
        .poll = settle_poll, .describe = settle_describe, .arg = &s, .deadline = tern_core_job_deadline()
    };

    return tern_core_links_msg_flushed() ? TERN_OK : tern_core_wait(&wait);
}

/* The messages of all members arrive before they depart. They are delivered before the team is removed. */
tern_status tern_core_team_free(struct tern_team *team, const char *what)
{
    tern_status st = check_unused(team, what);

    if (st < 0)
        return st;
    tern_core_job_check_deaths();
    if (tern_core_team_lost(team) < 0 && (st = settle(team, what)) < 0)
        return st;
    if (tern_core_team_give_up_if_lost(team))
        tern_core_team_leave(team, TERN_TEAM_OBJECT_SELF | team->id);
    else if ((st = tern_core_team_part(team, TERN_TEAM_OBJECT_SELF | team->id, tern_core_job_deadline(), what)) < 0)
        return st;
    tern_core_message_drain();
    tern_base_log(TERN_LOG_DEBUG, "%s: %s is freed", what, tern_core_team_name(team).text);
    tern_core_team_drop(team);
    return TERN_OK;
}

void tern_core_teams_close(void)
{
    TERN_LIST_EACH(struct tern_team, team, &teams.all, node)
        tern_core_team_drop(team);
    tern_core_team_create_close();
}
