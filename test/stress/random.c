/* random.c: random streams of puts and gets against a model.
 *
 * Promise: whatever the mixture of forms, sizes, offsets, regions, orderings and threads, every byte ends where the
 * program put it, a get returns the data that was put before it, and no other byte changes.
 *
 * The model: each (rank, thread) owns one slice of every rank's part of every region, and mirrors it in a plain array.
 * Only the owner accesses a slice, so the mirror is right by construction. After each round the test compares the
 * mirror with gets, and all of the rank's own memory with the mirrors of all owners, by checksums that the owners
 * publish.
 *
 * The seed is printed on failure; JOB_SEED=n or the first argument sets it.
 *
 * providers: net shm
 * hosts: a:2,b:1 a:2,b:2 a:1,b:2,c:1
 * env: TERN_CMA=off
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=1
 * env: TERN_SPIN=0 TERN_YIELDS=0
 */
#include <pthread.h>

#include "job_test.h"

#define THREADS 3
#define SLICE 40000u
#define REGIONS 6 /* the four kinds, and two more */

static struct job_region regions[REGIONS];
static uint64_t          base_seed;
static unsigned          operations, rounds;

struct stream {
    int            number; /* of the thread */
    uint64_t       seed;
    tern_ctx      *ctx;
    unsigned char *mirror; /* [REGIONS][ranks][SLICE] */
    unsigned char *source; /* [SLICE] bytes that are sent; never changed while operations are outstanding */
    unsigned char *sink;   /* [SLICE] */
    pthread_t      thread;
};

static uint64_t slice_of(int rank, int thread)
{
    return ((uint64_t)rank * THREADS + (uint64_t)thread) * SLICE;
}

/* The expected contents of the slice at a rank of the context's team. */
static unsigned char *mirror(struct stream *s, int region, int rank)
{
    return s->mirror + ((size_t)region * (size_t)tern_size() + (size_t)job_world(s->ctx, rank)) * SLICE;
}

/* Mostly short, sometimes long, sometimes 0. */
static size_t random_len(struct stream *s)
{
    switch (job_random(&s->seed) % 8) {
    case 0: return 1;
    case 1: return 8;
    case 2: return job_random(&s->seed) % SLICE;
    case 3: return 4090 + job_random(&s->seed) % 12;
    default: return job_random(&s->seed) % 300;
    }
}

struct step {
    int          region, to; /* a rank of the context's team */
    uint64_t     at;         /* in the slice */
    uint64_t     far;        /* in the part */
    size_t       len;
    tern_region *handle;
};

static void step_draw(struct stream *s, struct step *step)
{
    step->region = (int)(job_random(&s->seed) % REGIONS);
    step->to = (int)(job_random(&s->seed) % (unsigned)job_ranks(s->ctx));
    step->len = random_len(s);
    step->at = job_random(&s->seed) % (SLICE - step->len);
    step->far = slice_of(tern_rank(), s->number) + step->at;
    step->handle = regions[step->region].region;
}

/* One put of any form. A put that stays outstanding until the next quiet has no other operation outstanding on the same
 * bytes. */
static void do_put(struct stream *s, const struct step *p)
{
    unsigned char *src = s->source + job_random(&s->seed) % (SLICE - p->len);
    tern_event     event = TERN_EVENT_INIT, near = TERN_EVENT_INIT;
    tern_opts      opts = TERN_OPTS(.flags = 0, .local = &near, .event = &event);
    uint64_t       value;

    memcpy(mirror(s, p->region, p->to) + p->at, src, p->len);
    switch (job_random(&s->seed) % 6) {
    case 0: OK(tern_put(s->ctx, p->handle, p->to, p->far, src, p->len)); break;
    case 1:
        OK(tern_put_nb(s->ctx, p->handle, p->to, p->far, src, p->len, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    case 2:
        OK(tern_put_nbi(s->ctx, p->handle, p->to, p->far, src, p->len));
        if (tern_ctx_order(s->ctx) == TERN_RELAXED) /* a later operation may access the same bytes */
            OK(tern_fence(s->ctx));
        break;
    case 3:
        OK(tern_put_with(s->ctx, p->handle, p->to, p->far, src, p->len, &opts));
        OK(tern_event_wait(&event, TERN_FOREVER));
        OK(tern_event_wait(&near, TERN_NOW));
        break;
    case 4:
        if (p->len == 8) {
            memcpy(&value, src, 8);
            OK(tern_put_u64(s->ctx, p->handle, p->to, p->far, value));
            break;
        }
        /* fall through */
    default:
        opts.flags = TERN_IMMEDIATE;
        while (tern_put_with(s->ctx, p->handle, p->to, p->far, src, p->len, &opts) == TERN_AGAIN)
            OK(tern_progress(s->ctx));
        OK(tern_event_wait(&near, TERN_FOREVER));
        OK(tern_event_wait(&event, TERN_FOREVER));
    }
}

static void do_get(struct stream *s, const struct step *p)
{
    tern_event event = TERN_EVENT_INIT;
    uint64_t   value = 0;

    switch (job_random(&s->seed) % 4) {
    case 0: OK(tern_get(s->ctx, p->handle, p->to, p->far, s->sink, p->len)); break;
    case 1:
        OK(tern_get_nb(s->ctx, p->handle, p->to, p->far, s->sink, p->len, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    case 2:
        if (p->len == 8) {
            OK(tern_get_u64(s->ctx, p->handle, p->to, p->far, &value));
            memcpy(s->sink, &value, 8);
            break;
        }
        /* fall through */
    default: OK(tern_get_nbi(s->ctx, p->handle, p->to, p->far, s->sink, p->len)); OK(tern_quiet(s->ctx));
    }
    CHECK(memcmp(s->sink, mirror(s, p->region, p->to) + p->at, p->len) == 0);
}

/* Several puts at the same time to different regions or ranks, waited for together. */
static void do_burst(struct stream *s)
{
    tern_event  events[REGIONS];
    struct step p;
    size_t      index;

    for (int i = 0; i < REGIONS; i++) {
        step_draw(s, &p);
        unsigned char *src = s->source + job_random(&s->seed) % (SLICE - p.len);
        memcpy(mirror(s, i, p.to) + p.at, src, p.len);
        OK(tern_put_nb(s->ctx, regions[i].region, p.to, p.far, src, p.len, &events[i]));
    }
    if (job_random(&s->seed) % 2)
        OK(tern_event_wait_any(events, REGIONS, TERN_FOREVER, &index));
    if (job_random(&s->seed) % 2)
        OK(tern_quiet(s->ctx));
    OK(tern_event_wait_all(events, REGIONS, TERN_FOREVER));
}

/* Compare the whole slices, as they are at the targets. */
static void compare(struct stream *s)
{
    OK(tern_quiet(s->ctx));
    for (int region = 0; region < REGIONS; region++) {
        for (int to = 0; to < job_ranks(s->ctx); to++) {
            OK(tern_get(s->ctx, regions[region].region, to, slice_of(tern_rank(), s->number), s->sink, SLICE));
            CHECK(memcmp(s->sink, mirror(s, region, to), SLICE) == 0);
        }
    }
}

static void *stream_run(void *arg)
{
    struct stream *s = arg;
    struct step    p;

    for (unsigned i = 0; i < operations; i++) {
        step_draw(s, &p);
        switch (job_random(&s->seed) % 5) {
        case 0: do_burst(s); break;
        case 1:
        case 2: do_get(s, &p); break;
        default: do_put(s, &p);
        }
    }
    compare(s);
    return NULL;
}

static uint64_t sum(const unsigned char *at, size_t len)
{
    uint64_t h = 14695981039346656037ull;

    for (size_t i = 0; i < len; i++)
        h = (h ^ at[i]) * 1099511628211ull;
    return h;
}

/* Every owner publishes what each rank's memory should be; each rank checks its own by plain loads. */
static void compare_at_home(struct stream *streams)
{
    size_t    ranks = (size_t)tern_size();
    uint64_t *mine = job_new(ranks * sizeof(*mine)), *all = job_new(ranks * ranks * sizeof(*all));

    for (int region = 0; region < REGIONS; region++) {
        for (int thread = 0; thread < THREADS; thread++) {
            for (int to = 0; to < tern_size(); to++)
                mine[to] = sum(streams[thread].mirror + ((size_t)region * ranks + (size_t)to) * SLICE, SLICE);
            OK(tern_allgather(TERN_WORLD, mine, ranks * sizeof(*mine), all));
            for (int owner = 0; owner < tern_size(); owner++)
                SAME(sum(regions[region].mine + slice_of(owner, thread), SLICE),
                     all[(size_t)owner * ranks + (size_t)tern_rank()]);
        }
    }
    free(mine);
    free(all);
}

static void streams_open(struct stream *streams)
{
    for (int i = 0; i < THREADS; i++) {
        struct stream *s = &streams[i];

        *s = (struct stream){ .number = i };
        s->seed = base_seed * 1000003 + (unsigned)(tern_rank() * THREADS + i) * 7919ull + 1;
        s->mirror = job_new((size_t)REGIONS * (size_t)tern_size() * SLICE);
        s->source = job_new(SLICE);
        s->sink = job_new(SLICE);
        job_fill(s->source, SLICE, (unsigned)i, (unsigned)tern_rank());
        OK(tern_ctx_create(i % 2 ? tern_team_node() : tern_team_world(), i == 1 ? TERN_STRICT : TERN_RELAXED, &s->ctx));
    }
}

static void streams_close(struct stream *streams)
{
    for (int i = 0; i < THREADS; i++) {
        OK(tern_ctx_free(streams[i].ctx));
        free(streams[i].mirror);
        free(streams[i].source);
        free(streams[i].sink);
    }
}

static void choose_seed(int argc, char **argv)
{
    static char note[64];
    const char *given = argc > 1 ? argv[1] : getenv("JOB_SEED");
    uint64_t    mine = given ? strtoull(given, NULL, 0) : (uint64_t)tern_clock(), all[64];

    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    base_seed = all[0];
    snprintf(note, sizeof(note), "[seed %llu]", (unsigned long long)base_seed);
    job_note = note;
}

int main(int argc, char **argv)
{
    struct stream streams[THREADS];

    OK(tern_init());
    choose_seed(argc, argv);
    operations = (JOB_SANITIZED ? 400u : 5000u) / (unsigned)tern_size();
    rounds = JOB_SANITIZED ? 2 : 4;
    for (int i = 0; i < REGIONS; i++)
        job_region_make(&regions[i],
                        i < JOB_KINDS ? (enum job_kind)i
                        : i % 2       ? JOB_REGISTERED
                                      : JOB_HOST,
                        slice_of(tern_size(), 0));
    streams_open(streams);
    for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&streams[i].thread, NULL, stream_run, &streams[i]) == 0);
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_join(streams[i].thread, NULL) == 0);
        OK(tern_barrier(TERN_WORLD));
        compare_at_home(streams);
        OK(tern_barrier(TERN_WORLD)); /* no rank continues while another still compares */
    }
    streams_close(streams);
    for (int i = 0; i < REGIONS; i++)
        job_region_drop(&regions[i]);
    OK(tern_finalize());
    return 0;
}
