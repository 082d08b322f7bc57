/* shapes.c: random vectors, indexed lists and strided boxes, put and got, against a naive model.
 *
 * Promise: whatever the shape, the form, the memory and the path, every byte ends where the description says, a get
 * returns the data that was put, and no other byte changes. The caller may overwrite the description when a call
 * returns.
 *
 * Each rank owns a slice of every rank's part of every region, and mirrors it in an array; only the owner accesses a
 * slice. The seed is printed on failure; JOB_SEED=n or the first argument sets it.
 *
 * env: TERN_CMA=off
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=1
 * timeout: 300
 */
#include "shape_test.h"

#define SMALL 24000u
#define LARGE 2400000u

static struct {
    enum job_kind     kind;
    size_t            slice;
    struct job_region made;
    unsigned char    *mirror; /* [ranks][slice] */
} field[] = { { .kind = JOB_HOST, .slice = SMALL },
              { .kind = JOB_REGISTERED, .slice = SMALL },
              { .kind = JOB_HOST, .slice = LARGE },
              { .kind = JOB_REGISTERED, .slice = LARGE } };
#define FIELDS (sizeof(field) / sizeof(field[0]))

static tern_ctx      *contexts[2];
static unsigned char *local, *want; /* [LARGE] */
static struct shape   shape;
static uint64_t       seed;

/* One operation. */
struct step {
    size_t       field;
    int          rank;
    bool         get;
    tern_ctx    *ctx;
    tern_region *region;
};

static unsigned char *mirror_of(const struct step *t)
{
    return field[t->field].mirror + (size_t)t->rank * field[t->field].slice;
}

static uint64_t offset_of(const struct step *t)
{
    return (uint64_t)tern_rank() * field[t->field].slice;
}

static void draw(struct step *t)
{
    t->field = job_random(&seed) % 16 == 0 ? 2 + job_random(&seed) % 2 : job_random(&seed) % 2;
    t->rank = (int)(job_random(&seed) % (unsigned)tern_size());
    t->get = job_random(&seed) % 3 == 0;
    t->ctx = contexts[job_random(&seed) % 2];
    t->region = field[t->field].made.region;
    shape_draw(&shape, &(struct shape_place){ local, field[t->field].slice, offset_of(t), field[t->field].slice },
               t->get, &seed);
}

/* Apply the operation byte by byte to the mirror, or to the expected local memory. */
static void model(const struct step *t)
{
    unsigned char *mirror = mirror_of(t);
    uint64_t       offset = offset_of(t);

    if (!t->get)
        for (size_t i = 0; i < shape.total; i++)
            mirror[shape.far[i] - offset] = local[shape.near[i]];
    else
        for (size_t i = 0; i < shape.total; i++)
            want[shape.near[i]] = mirror[shape.far[i] - offset];
}

/* The program may overwrite the description. */
static void spoil(void)
{
    memset(shape.pieces, 0xff, sizeof(shape.pieces));
    memset(shape.extents, 0xff, sizeof(shape.extents));
    memset(shape.addrs, 0xff, sizeof(shape.addrs));
    memset(shape.offsets, 0xff, sizeof(shape.offsets));
    memset(shape.count, 0xff, sizeof(shape.count));
    memset(shape.local_stride, 0xff, sizeof(shape.local_stride));
    memset(shape.remote_stride, 0xff, sizeof(shape.remote_stride));
}

static void do_it(const struct step *t)
{
    tern_event  event = TERN_EVENT_INIT, near = TERN_EVENT_INIT;
    tern_opts   opts = TERN_OPTS(.flags = 0, .local = &near, .event = &event);
    tern_status st;

    switch (job_random(&seed) % 5) {
    case 0: OK(shape_run(t->ctx, t->region, t->rank, &shape, t->get)); break;
    case 1:
        OK(shape_nb(t->ctx, t->region, t->rank, &shape, t->get, &event));
        spoil();
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    case 2:
        OK(shape_nbi(t->ctx, t->region, t->rank, &shape, t->get));
        spoil();
        OK(tern_quiet(t->ctx));
        break;
    case 3:
        OK(shape_with(t->ctx, t->region, t->rank, &shape, t->get, &opts));
        spoil();
        OK(tern_event_wait(&near, TERN_FOREVER));
        if (!t->get) { /* the program may overwrite the source, too */
            memset(local, 0x5e, field[t->field].slice);
            memset(want, 0x5e, field[t->field].slice);
        }
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    default:
        opts.flags = TERN_IMMEDIATE;
        while ((st = shape_with(t->ctx, t->region, t->rank, &shape, t->get, &opts)) == TERN_AGAIN)
            OK(tern_progress(t->ctx));
        OK(st);
        OK(tern_event_wait(&event, TERN_FOREVER));
        OK(tern_event_wait(&near, TERN_NOW));
    }
}

/* Check that the slice at its target equals the mirror. */
static void compare(const struct step *t)
{
    static unsigned char sink[LARGE];

    OK(tern_get(t->ctx, t->region, t->rank, offset_of(t), sink, field[t->field].slice));
    CHECK(memcmp(sink, mirror_of(t), field[t->field].slice) == 0);
}

static void one_case(void)
{
    struct step t;

    draw(&t);
    for (size_t i = 0; i < field[t.field].slice; i += 8) { /* mostly new values */
        uint64_t word = job_random(&seed);
        memcpy(local + i, &word, 8);
    }
    memcpy(want, local, field[t.field].slice);
    model(&t);
    do_it(&t);
    CHECK(memcmp(local, want, field[t.field].slice) == 0);
    if (!t.get)
        compare(&t);
}

/* Several puts at the same time, to different ranks. */
static void burst(void)
{
    struct step t[4];
    int         count = tern_size() < 4 ? tern_size() : 4;

    for (size_t i = 0; i < SMALL; i++)
        local[i] = (unsigned char)job_random(&seed);
    for (int i = 0; i < count; i++) {
        draw(&t[i]);
        if (t[i].get || t[i].field > 1) {
            count = i;
            break;
        }
        t[i].rank = i;
        t[i].ctx = contexts[0];
        model(&t[i]);
        OK(shape_nbi(t[i].ctx, t[i].region, t[i].rank, &shape, false));
        spoil();
    }
    OK(tern_quiet(contexts[0]));
    for (int i = 0; i < count; i++)
        compare(&t[i]);
}

static void choose_seed(int argc, char **argv)
{
    static char note[64];
    const char *given = argc > 1 ? argv[1] : getenv("JOB_SEED");
    uint64_t    mine = given ? strtoull(given, NULL, 0) : (uint64_t)tern_clock(), all[64];

    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    seed = all[0] * 1000003 + (unsigned)tern_rank() * 7919ull + 1;
    snprintf(note, sizeof(note), "[seed %llu]", (unsigned long long)all[0]);
    job_note = note;
}

int main(int argc, char **argv)
{
    unsigned cases;

    OK(tern_init());
    choose_seed(argc, argv);
    cases = (JOB_SANITIZED ? 300u : 4000u) / (unsigned)tern_size();
    shape_open(&shape, LARGE);
    local = job_new(LARGE);
    want = job_new(LARGE);
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &contexts[0]));
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &contexts[1]));
    for (size_t i = 0; i < FIELDS; i++) {
        job_region_make(&field[i].made, field[i].kind, (uint64_t)tern_size() * field[i].slice);
        field[i].mirror = job_new((size_t)tern_size() * field[i].slice);
    }
    OK(tern_barrier(TERN_WORLD));
    for (unsigned i = 0; i < cases; i++) {
        if (i % 8 == 7)
            burst();
        else
            one_case();
    }
    for (size_t i = 0; i < FIELDS; i++)
        for (int rank = 0; rank < tern_size(); rank++)
            compare(&(struct step){ i, rank, false, contexts[0], field[i].made.region });
    OK(tern_barrier(TERN_WORLD));
    for (size_t i = 0; i < FIELDS; i++) {
        job_region_drop(&field[i].made);
        free(field[i].mirror);
    }
    OK(tern_ctx_free(contexts[0]));
    OK(tern_ctx_free(contexts[1]));
    OK(tern_finalize());
    shape_close(&shape);
    free(local);
    free(want);
    return 0;
}
