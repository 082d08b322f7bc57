/* teams.c: teams of every kind.
 *
 * Promise: a team has the ranks, in the order, that its creation defines, and ranks are translated both ways.
 * Everything works on every team: contexts, regions, puts, barriers, all-gathers, notifications, tagged messages,
 * active messages, atomic domains and mutexes. Messages of one team do not match receives of another with the same
 * ranks. More than 64 overlapping teams exist at once, and are freed in any order; a team outlives the team it was
 * created from. Ranks that are not members take no part in tern_team_create. A team with contexts, regions or domains
 * is not freed.
 */
#include <unistd.h>

#include "job_test.h"

#include "core/job.h"
#include "core/team_create.h"
#include "core/wire.h"
#include "op/tagged/tagged.h"

#define MANY 70

static int got, replied, got_source, reply_source;

static void on_reply(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(event->nargs == 1);
    reply_source = event->source;
    replied = (int)event->args[0];
}

static void on_request(const tern_am_event *event, void *user)
{
    uint32_t arg = event->args[0] + 1;

    (void)user;
    CHECK(event->nargs >= 1 && event->nargs <= 16);
    for (unsigned i = 0; i < event->nargs; i++)
        CHECK(event->args[i] == event->args[0] + i);
    got_source = event->source;
    got = (int)event->nargs;
    CHECK(tern_team_size(event->team) > event->source);
    OK(tern_am_reply(event->token, &TERN_AM(.kind = TERN_AM_SHORT, .handler = 2, .nargs = 1, .args = &arg)));
}

static bool is_handled(void *arg)
{
    (void)arg;
    return got > 0 && replied > 0;
}

/* Send an active message with nargs arguments to the next member, and wait for that of the one before, and the
 * reply. */
static void handle(tern_ctx *ctx, unsigned nargs)
{
    tern_team *team = tern_ctx_team(ctx);
    int        rank = tern_team_rank(team), size = tern_team_size(team);
    uint32_t   args[16];

    for (unsigned i = 0; i < 16; i++)
        args[i] = 100 * nargs + i;
    OK(tern_am_request(ctx, (rank + 1) % size,
                       &TERN_AM(.kind = TERN_AM_MEDIUM, .handler = 1, .nargs = (uint16_t)nargs, .args = args,
                                .payload = args, .len = nargs % 3 * 20)));
    OK(tern_wait_until(ctx, is_handled, NULL, TERN_FOREVER));
    CHECK(got == (int)nargs && got_source == (rank + size - 1) % size);
    CHECK(replied == 100 * (int)nargs + 1 && reply_source == (rank + 1) % size);
    got = replied = 0;
    OK(tern_barrier(ctx));
    OK(tern_am_short(ctx, (rank + 1) % size, 1, args, nargs));
    OK(tern_wait_until(ctx, is_handled, NULL, TERN_FOREVER));
    CHECK(got == (int)nargs && got_source == (rank + size - 1) % size);
    got = replied = 0;
    OK(tern_barrier(ctx));
}

static void exchange_messages(tern_ctx *ctx)
{
    tern_team        *team = tern_ctx_team(ctx);
    int               rank = tern_team_rank(team), size = tern_team_size(team), from = -1;
    tern_request     *request;
    tern_request_info info;

    OK(tern_irecv(ctx, TERN_ANY_SOURCE, 5, &from, sizeof(from), &request));
    OK(tern_send(ctx, (rank + 1) % size, 5, &rank, sizeof(rank)));
    OK(tern_request_wait(&request, TERN_FOREVER, &info));
    CHECK(from == (rank + size - 1) % size && info.source == from);
}

static void notify(tern_ctx *ctx, tern_region *region)
{
    tern_team        *team = tern_ctx_team(ctx);
    int               rank = tern_team_rank(team), size = tern_team_size(team);
    uint64_t          value = 1000 + (uint64_t)rank, *mine = tern_region_ptr(region, rank);
    tern_request     *request;
    tern_request_info info;

    OK(tern_notify_create(ctx, region, TERN_ANY_SOURCE, 9, 1, &request));
    OK(tern_request_start(request));
    OK(tern_put_notify(ctx, region, (rank + 1) % size, 64, &value, sizeof(value), 9));
    OK(tern_request_wait(&request, TERN_FOREVER, &info));
    CHECK(info.source == (rank + size - 1) % size);
    CHECK(mine[8] == 1000 + (uint64_t)info.source);
    OK(tern_request_free(&request));
}

static void update(tern_ctx *ctx, tern_region *region)
{
    tern_team          *team = tern_ctx_team(ctx);
    int                 size = tern_team_size(team);
    tern_atomic_domain *domain;
    tern_mutexes       *mutexes;
    uint64_t            value;

    OK(tern_atomic_domain_create(ctx, TERN_UINT64, TERN_ATOMIC_ADD | TERN_ATOMIC_FADD, 0, &domain));
    OK(tern_mutex_create(ctx, 1, &mutexes));
    OK(tern_atomic_add(ctx, domain, region, size - 1, 128, (uint64_t)1));
    OK(tern_mutex_lock(ctx, mutexes, 0, 0));
    OK(tern_get(ctx, region, 0, 136, &value, sizeof(value)));
    value++;
    OK(tern_put(ctx, region, 0, 136, &value, sizeof(value)));
    OK(tern_mutex_unlock(ctx, mutexes, 0, 0));
    OK(tern_barrier(ctx));
    OK(tern_get(ctx, region, size - 1, 128, &value, sizeof(value)));
    CHECK(value == (uint64_t)size);
    OK(tern_get(ctx, region, 0, 136, &value, sizeof(value)));
    CHECK(value == (uint64_t)size);
    OK(tern_mutex_free(mutexes));
    OK(tern_atomic_domain_free(domain));
}

/* Do everything on a team whose ranks in the job are known. */
static void use(tern_team *team, const int *members, int size, tern_order order)
{
    int          rank = tern_team_rank(team), to, all[64];
    tern_ctx    *ctx;
    tern_region *region;
    uint64_t     value = 77 + (uint64_t)rank, *mine;

    CHECK(tern_team_size(team) == size && members[rank] == tern_rank());
    for (int i = 0; i < size; i++) {
        OK(tern_team_translate(team, i, tern_team_world(), &to));
        CHECK(to == members[i]);
        OK(tern_team_translate(tern_team_world(), to, team, &to));
        CHECK(to == i);
    }
    OK(tern_ctx_create(team, order, &ctx));
    OK(tern_barrier(ctx));
    OK(tern_allgather(ctx, &(int){ tern_rank() }, sizeof(int), all));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == members[i]);
    OK(tern_region_create(ctx, 4096, NULL, &region));
    mine = tern_region_ptr(region, rank);
    OK(tern_put(ctx, region, (rank + 1) % size, 0, &value, sizeof(value)));
    OK(tern_barrier(ctx));
    CHECK(*mine == 77 + (uint64_t)((rank + size - 1) % size));
    exchange_messages(ctx);
    notify(ctx, region);
    handle(ctx, 1);
    handle(ctx, 10);
    handle(ctx, 16);
    update(ctx, region);
    OK(tern_region_free(region));
    OK(tern_ctx_free(ctx));
}

static void made_by_split(void)
{
    int        size = tern_size(), members[64], n = 0;
    tern_team *team, *none;

    for (int i = size - 1; i >= 0; i--)
        if (i % 2 == tern_rank() % 2)
            members[n++] = i;
    OK(tern_team_split(TERN_WORLD, tern_rank() % 2, -tern_rank(), &team));
    use(team, members, n, TERN_RELAXED);
    OK(tern_team_free(team));
    OK(tern_team_split(TERN_WORLD, tern_rank() == 0 ? 7 : TERN_NO_COLOUR, 0, &none));
    CHECK((none != NULL) == (tern_rank() == 0));
    if (none) {
        use(none, (int[]){ 0 }, 1, TERN_STRICT);
        OK(tern_team_free(none));
    }
}

/* Messages with the same tag between the same ranks, on two teams. */
static void made_by_dup(void)
{
    int           size = tern_size(), next = (tern_rank() + 1) % size, before = (tern_rank() + size - 1) % size;
    int           members[64];
    tern_team    *team;
    tern_ctx     *ctx;
    tern_request *here, *there;
    int           from_here = -1, from_there = -1;

    for (int i = 0; i < size; i++)
        members[i] = i;
    OK(tern_team_dup(TERN_WORLD, &team));
    use(team, members, size, TERN_STRICT);
    OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
    OK(tern_irecv(TERN_WORLD, before, 3, &from_here, sizeof(int), &here));
    OK(tern_irecv(ctx, before, 3, &from_there, sizeof(int), &there));
    OK(tern_send(ctx, next, 3, &(int){ 2 }, sizeof(int)));
    OK(tern_send(TERN_WORLD, next, 3, &(int){ 1 }, sizeof(int)));
    OK(tern_request_wait(&there, TERN_FOREVER, NULL));
    OK(tern_request_wait(&here, TERN_FOREVER, NULL));
    CHECK(from_here == 1 && from_there == 2);
    OK(tern_ctx_free(ctx));
    OK(tern_team_free(team));
}

/* All ranks but the last, in reverse order; the last one sleeps and makes no call. */
static void made_by_members(void)
{
    int        size = tern_size(), n = size > 1 ? size - 1 : 1, ranks[64];
    tern_team *team, *inner;

    for (int i = 0; i < n; i++)
        ranks[i] = n - 1 - i;
    if (tern_rank() < n) {
        OK(tern_team_create(tern_team_world(), ranks, n, 42, &team));
        use(team, ranks, n, TERN_RELAXED);
        /* rank i of this team is rank n - 1 - i of the job; a reversed team of the first ones */
        if (tern_team_rank(team) < (n + 1) / 2) {
            int want[64], m = (n + 1) / 2;

            for (int i = 0; i < m; i++)
                want[i] = ranks[m - 1 - i];
            OK(tern_team_strided(team, m - 1, -1, m, 0, &inner));
            use(inner, want, m, TERN_RELAXED);
            OK(tern_team_free(team)); /* before the team that was made of it */
            use(inner, want, m, TERN_RELAXED);
            OK(tern_team_free(inner));
        } else
            OK(tern_team_free(team));
    } else
        usleep(50000);
}

static void alone(void)
{
    tern_team *team;

    CHECK(tern_team_rank(tern_team_self()) == 0 && tern_team_size(tern_team_self()) == 1);
    use(tern_team_self(), (int[]){ tern_rank() }, 1, TERN_RELAXED);
    OK(tern_team_create(tern_team_world(), (int[]){ tern_rank() }, 1, 0, &team));
    use(team, (int[]){ tern_rank() }, 1, TERN_RELAXED);
    OK(tern_team_free(team));
}

static void many(void)
{
    int        size = tern_size(), all[64];
    tern_team *team[MANY];
    tern_ctx  *ctx[MANY];

    for (int i = 0; i < MANY; i++) {
        OK(tern_team_split(TERN_WORLD, (tern_rank() + i) % (1 + i % size), i % 2 ? tern_rank() : -tern_rank(),
                           &team[i]));
        OK(tern_ctx_create(team[i], TERN_RELAXED, &ctx[i]));
    }
    for (int i = MANY - 1; i >= 0; i--) {
        OK(tern_allgather(ctx[i], &(int){ tern_rank() }, sizeof(int), all));
        for (int r = 0; r < tern_team_size(team[i]); r++)
            CHECK((all[r] + i) % (1 + i % size) == (tern_rank() + i) % (1 + i % size));
        CHECK(all[tern_team_rank(team[i])] == tern_rank());
        if (i % 10 == 0)
            handle(ctx[i], 3);
    }
    for (int i = 0; i < MANY; i++)
        OK(tern_ctx_free(ctx[i]));
    for (int i = 0; i < MANY; i += 2)
        OK(tern_team_free(team[i]));
    for (int i = MANY - 1; i > 0; i -= 4) /* tern_finalize frees the others */
        OK(tern_team_free(team[i]));
}

static void mistakes(void)
{
    int                 size = tern_size(), me = tern_rank(), out;
    tern_team          *team, *world = tern_team_world();
    tern_ctx           *ctx;
    tern_region        *region;
    tern_atomic_domain *domain;

    REFUSES(TERN_ERR_ARG, tern_team_create(NULL, &me, 1, 0, &team));
    REFUSES(TERN_ERR_ARG, tern_team_create(world, NULL, 1, 0, &team));
    REFUSES(TERN_ERR_ARG, tern_team_create(world, &me, 1, 0, NULL));
    REFUSES(TERN_ERR_ARG, tern_team_create(world, &me, 0, 0, &team));
    REFUSES(TERN_ERR_RANGE, tern_team_create(world, &size, 1, 0, &team));
    REFUSES(TERN_ERR_RANGE, tern_team_create(world, (int[]){ -1 }, 1, 0, &team));
    if (size > 1) {
        REFUSES(TERN_ERR_ARG, tern_team_create(world, (int[]){ me, me }, 2, 0, &team));
        REFUSES(TERN_ERR_ARG, tern_team_create(world, (int[]){ (me + 1) % size }, 1, 0, &team));
        SAYS("only the members");
        REFUSES(TERN_ERR_ARG, tern_team_strided(world, 0, 0, 2, 0, &team));
        REFUSES(TERN_ERR_RANGE, tern_team_translate(world, (me + 1) % size, tern_team_self(), &out));
    }
    REFUSES(TERN_ERR_ARG, tern_team_create(world, &me, size + 1, 0, &team));
    REFUSES(TERN_ERR_RANGE, tern_team_strided(world, size, 1, 1, 0, &team));
    REFUSES(TERN_ERR_ARG, tern_team_strided(world, 0, 1, 1, 0, NULL));
    REFUSES(TERN_ERR_ARG, tern_team_split(NULL, 0, 0, &team));
    REFUSES(TERN_ERR_ARG, tern_team_split(TERN_WORLD, 0, 0, NULL));
    REFUSES(TERN_ERR_ARG, tern_team_dup(TERN_WORLD, NULL));
    REFUSES(TERN_ERR_ARG, tern_team_survivors(TERN_WORLD, NULL));
    REFUSES(TERN_ERR_ARG, tern_team_free(NULL));
    REFUSES(TERN_ERR_ARG, tern_team_free(world));
    REFUSES(TERN_ERR_ARG, tern_team_free(tern_team_node()));
    REFUSES(TERN_ERR_ARG, tern_team_free(tern_team_self()));
    OK(tern_team_dup(TERN_WORLD, &team));
    OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
    REFUSES(TERN_ERR_STATE, tern_team_free(team));
    SAYS("1 contexts");
    OK(tern_region_create(ctx, 64, NULL, &region));
    OK(tern_atomic_domain_create(ctx, TERN_UINT64, TERN_ATOMIC_ADD, 0, &domain));
    OK(tern_ctx_free(ctx));
    REFUSES(TERN_ERR_STATE, tern_team_free(team));
    OK(tern_region_free(region));
    REFUSES(TERN_ERR_STATE, tern_team_free(team));
    OK(tern_atomic_domain_free(domain));
    OK(tern_team_free(team));
    REFUSES(TERN_ERR_STATE, tern_team_free(team));
    REFUSES(TERN_ERR_STATE, tern_ctx_create(team, TERN_RELAXED, &ctx));
    REFUSES(TERN_ERR_STATE, tern_team_create(team, &me, 1, 0, &team));
    REFUSES(TERN_ERR_STATE, tern_team_translate(team, 0, world, &out));
    CHECK(tern_team_rank(team) == -1 && tern_team_size(team) == -1);
}

/* A message of another rank about the creation of a team says that the creation has failed, but not why: it would have
 * no team, and no error. */
static void strange_messages(void)
{
    struct core_team_wire wire = { .whose = CORE_WIRE_OWN, .mark = CORE_WIRE_MARK, .attempt = UINT32_MAX };
    const unsigned char  *bytes = (const unsigned char *)&wire;

    for (unsigned way = CORE_TEAM_JOIN; way <= CORE_TEAM_ABORT + 1; way++) {
        wire.way = (uint8_t)way;
        wire.status = TERN_ERR_ARG;
        if (way == CORE_TEAM_REFUSED || way == CORE_TEAM_ABORT) {
            CHECK(tern_core_team_receive(0, bytes));
            wire.status = TERN_OK;
            CHECK(!tern_core_team_receive(0, bytes));
        }
        wire.status = 1;
        CHECK(!tern_core_team_receive(0, bytes));
    }
}

/* Messages that no rank has received when the team is freed take no space afterwards. */
static void unreceived(void)
{
    uint64_t   kept = tern_op_tagged_kept_bytes, word = 7;
    tern_team *team;
    tern_ctx  *ctx;

    for (int i = 0; i < 3; i++) {
        OK(tern_team_dup(TERN_WORLD, &team));
        OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
        OK(tern_send(ctx, (tern_rank() + 1) % tern_size(), i, &word, sizeof(word)));
        OK(tern_ctx_free(ctx));
        OK(tern_team_free(team));
    }
    SAME(tern_op_tagged_kept_bytes, kept);
}

/* Another rank proposes the id of a team that every job has. */
static void strange_ids(void)
{
    const int32_t         member = tern_rank();
    struct tern_team     *team = NULL;
    struct tern_team_plan plan = { .members = &member, .size = 1 };

    for (plan.id = 0; plan.id < TERN_TEAM_FIRST; plan.id++)
        RETURNS(TERN_ERR_LINK, tern_core_team_make(&plan, &team));
    CHECK(team == NULL);
}

int main(void)
{
    tern_team *team;
    int        members[64];

    CHECK(tern_team_self() == NULL);
    OK(tern_am_register(1, on_request, NULL));
    OK(tern_am_register(2, on_reply, NULL));
    OK(tern_init());
    alone();
    made_by_split();
    made_by_dup();
    made_by_members();
    OK(tern_barrier(TERN_WORLD));
    many();
    mistakes();
    strange_ids();
    strange_messages();
    unreceived();
    for (int i = 0; i < tern_size(); i++)
        members[i] = i;
    OK(tern_team_survivors(TERN_WORLD, &team)); /* nobody has died */
    use(team, members, tern_size(), TERN_RELAXED);
    OK(tern_team_free(team));
    OK(tern_finalize());
    return 0;
}
