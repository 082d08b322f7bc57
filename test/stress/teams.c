/* teams.c: a random program of overlapping teams, compared with a model.
 *
 * Promise: teams have the ranks that a simple model predicts, whichever way they were created, and however many exist
 * at once; all-gathers, puts through contexts of teams and tagged messages reach the ranks that the model names. All
 * ranks draw the same random numbers, so each knows what the others do.
 *
 * env: TERN_ON_FAILURE=return
 * env: TERN_TEST=apart=2
 * hosts: a:2,b:2 a:2,b:1
 * ranks: 1 2 3 5 8
 */
#include "job_test.h"

#define STEPS (JOB_SANITIZED ? 60 : 160)
#define MOST 12 /* teams of the model at once */
#define RANKS 64

/* A team, as all ranks know it. The first is the world. */
struct model {
    int        member[RANKS], size; /* ranks in the job */
    bool       used;
    int        rank; /* of this process; -1: not a member. The fields that follow are of members */
    tern_team *team;
    tern_ctx  *ctx;
};

static struct model model[MOST];
static uint64_t     seed;
static tern_region *region; /* of the world: a word for each rank */

static int draw(int below)
{
    return (int)(job_random(&seed) % (uint64_t)below);
}

static struct model *any_team(void)
{
    int i;

    do
        i = draw(MOST);
    while (!model[i].used);
    return &model[i];
}

static struct model *free_place(void)
{
    for (int i = 1; i < MOST; i++)
        if (!model[i].used)
            return &model[i];
    return NULL;
}

static int rank_in(const struct model *m, int world)
{
    for (int i = 0; i < m->size; i++)
        if (m->member[i] == world)
            return i;
    return -1;
}

/* The model is complete: check that this rank's team agrees, and open its context. */
static void adopt(struct model *m, tern_team *team)
{
    tern_order order = draw(2) ? TERN_STRICT : TERN_RELAXED;
    int        world;

    m->used = true;
    m->rank = rank_in(m, tern_rank());
    CHECK((m->rank >= 0) == (team != NULL));
    if (m->rank < 0)
        return;
    m->team = team;
    CHECK(tern_team_rank(team) == m->rank && tern_team_size(team) == m->size);
    for (int i = 0; i < m->size; i++) {
        OK(tern_team_translate(team, i, tern_team_world(), &world));
        CHECK(world == m->member[i]);
    }
    OK(tern_ctx_create(team, order, &m->ctx));
}

/* A random ordered subset, by its members alone. */
static void create(struct model *m)
{
    struct model *parent = any_team();
    int           ranks[RANKS], n = 1 + draw(parent->size), tag = draw(3), found = 0;
    bool          in[RANKS] = { false };
    tern_team    *team = NULL;

    while (found < n) {
        int r = draw(parent->size);

        if (in[r])
            continue;
        in[r] = true;
        ranks[found] = r;
        m->member[found++] = parent->member[r];
    }
    m->size = n;
    if (rank_in(m, tern_rank()) >= 0)
        OK(tern_team_create(parent->team, ranks, n, (uint64_t)tag, &team));
    adopt(m, team);
}

static void stride(struct model *m)
{
    struct model *parent = any_team();
    int           first = draw(parent->size), by = draw(7) - 3, n = 0;
    tern_team    *team = NULL;

    by = by == 0 ? 1 : by;
    for (int r = first; r >= 0 && r < parent->size; r += by)
        m->member[n++] = parent->member[r];
    m->size = n;
    if (rank_in(m, tern_rank()) >= 0)
        OK(tern_team_strided(parent->team, first, by, n, 7, &team));
    adopt(m, team);
}

/* One colour of the split is the new team; teams of other colours are freed at once. */
static void split(struct model *m)
{
    struct model *parent = any_team();
    int           colours = 1 + draw(3), colour[RANKS], chosen;
    int64_t       key[RANKS];
    tern_team    *team = NULL;

    for (int i = 0; i < parent->size; i++) {
        colour[i] = draw(colours + 1) - 1;
        key[i] = draw(5) - 2;
    }
    chosen = colour[draw(parent->size)];
    m->size = 0;
    for (int64_t k = -2; k <= 2; k++)
        for (int i = 0; i < parent->size; i++)
            if (colour[i] == chosen && key[i] == k && chosen >= 0)
                m->member[m->size++] = parent->member[i];
    if (parent->rank >= 0) {
        OK(tern_team_split(parent->ctx, colour[parent->rank], key[parent->rank], &team));
        CHECK((team == NULL) == (colour[parent->rank] < 0));
        if (team && colour[parent->rank] != chosen) {
            OK(tern_team_free(team));
            team = NULL;
        }
    }
    if (m->size > 0)
        adopt(m, team);
}

static void duplicate(struct model *m)
{
    struct model *parent = any_team();
    bool          survivors = draw(2) == 0;
    tern_team    *team = NULL;

    memcpy(m->member, parent->member, sizeof(m->member));
    m->size = parent->size;
    if (parent->rank >= 0)
        OK(survivors ? tern_team_survivors(parent->ctx, &team) : tern_team_dup(parent->ctx, &team));
    adopt(m, team);
}

static void drop(struct model *m)
{
    if (m == &model[0])
        return;
    m->used = false;
    if (m->rank < 0)
        return;
    OK(tern_ctx_free(m->ctx));
    OK(tern_team_free(m->team));
}

/* Gather, put into the memory of another member, and send a message around the team. */
static void use(const struct model *m, int step)
{
    int      size = m->size, by = draw(size), all[RANKS], got = -1, next, before;
    uint64_t value;

    if (m->rank < 0)
        return;
    next = (m->rank + by) % size;
    before = (m->rank + size - by) % size;
    OK(tern_allgather(m->ctx, &(int){ 1000 * step + tern_rank() }, sizeof(int), all));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == 1000 * step + m->member[i]);
    value = (uint64_t)step << 32 | (uint64_t)tern_rank();
    OK(tern_put(m->ctx, region, next, 0, &value, sizeof(value)));
    OK(tern_barrier(m->ctx));
    value = *(uint64_t *)tern_region_ptr(region, tern_rank());
    CHECK(value == ((uint64_t)step << 32 | (uint64_t)m->member[before]));
    if (by > 0) {
        tern_request *request;

        OK(tern_irecv(m->ctx, before, step, &got, sizeof(got), &request));
        OK(tern_send(m->ctx, next, step, &(int){ tern_rank() }, sizeof(int)));
        OK(tern_request_wait(&request, TERN_FOREVER, NULL));
        CHECK(got == m->member[before]);
    }
    OK(tern_barrier(m->ctx));
}

int main(void)
{
    static char note[64];

    OK(tern_init());
    seed = job_seed(5);
    snprintf(note, sizeof(note), "(seed %llu)", (unsigned long long)seed);
    job_note = note;
    model[0] = (struct model){
        .used = true, .size = tern_size(), .rank = tern_rank(), .team = tern_team_world(), .ctx = TERN_WORLD
    };
    for (int i = 0; i < tern_size(); i++)
        model[0].member[i] = i;
    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    for (int step = 1; step <= STEPS; step++) {
        struct model *place = free_place();
        int           what = draw(8);

        if (!place)
            drop(any_team());
        else if (what == 0)
            create(place);
        else if (what == 1)
            stride(place);
        else if (what == 2)
            split(place);
        else if (what == 3)
            duplicate(place);
        else
            use(any_team(), step);
    }
    OK(tern_barrier(TERN_WORLD));
    for (int i = 1; i < MOST; i += 2) /* tern_finalize frees the rest */
        if (model[i].used)
            drop(&model[i]);
    OK(tern_finalize());
    return 0;
}
