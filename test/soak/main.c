/* main.c: the soak program: epochs of random operations of all kinds. soak.h describes how it works.
 *
 *     main SEED SECONDS [deaths]
 *
 * The program begins no new epoch when SECONDS have passed. With "deaths" (and TERN_ON_FAILURE=return) ranks may be
 * killed: the survivors complete the epoch, compare the results of each other's operations, and leave. At the end each
 * rank prints its operation counts as "soak: rank R of N: KIND=COUNT ...", and with deaths whether it has seen one.
 */
#include "soak.h"

#define STEPS (JOB_SANITIZED ? 120u : 400u) /* of a worker in an epoch, for one rank; fewer with more ranks */

struct soak_epoch soak_epoch;
unsigned          soak_threads;
bool              soak_deaths;
_Atomic uint64_t  soak_counts[SOAK_KIND_COUNT];

static _Atomic unsigned running; /* workers */

bool soak_dead(int rank)
{
    return soak_deaths && tern_peer_check(rank) == TERN_ERR_PEER;
}

bool soak_anyone_dead(void)
{
    for (int rank = 0; rank < tern_size(); rank++)
        if (soak_dead(rank))
            return true;
    return false;
}

bool soak_good(const char *file, int line, int rank, tern_status got, const char *call)
{
    tern_deadline known = tern_deadline_in(5);

    if (got == TERN_OK)
        return true;
    while (got == TERN_ERR_PEER && soak_deaths && tern_clock() < known) { /* the launcher may report it later */
        if (rank < 0 ? soak_anyone_dead() : soak_dead(rank))
            return false;
        usleep(1000);
    }
    job_returns(file, line, TERN_OK, got, call, job_fail);
    return false;
}

/* ---- an epoch's memory ---- */

static enum job_kind kind_of(uint64_t number)
{
    static const enum job_kind kinds[] = { JOB_HOST, JOB_REGISTERED, JOB_HOST, JOB_REGISTERED, JOB_HUGE, JOB_FILE };

    return kinds[soak_hash(40, 0, 0, 0, number) % 6];
}

/* Create a region of the epoch. Returns false if a rank has died; then there is no region. */
static bool make(struct job_region *r, uint64_t number, uint64_t size)
{
    enum job_kind    kind = kind_of(number);
    tern_region_opts opts = TERN_REGION_OPTS(.memory = kind == JOB_HUGE   ? TERN_MEMORY_HUGE
                                                       : kind == JOB_FILE ? TERN_MEMORY_FILE
                                                                          : TERN_MEMORY_HOST);
    uint64_t         mine = (uint64_t)getpid() ^ (uint64_t)tern_clock() << 20, all[SOAK_RANKS];

    *r = (struct job_region){ .region = NULL };
    SOAK_COUNT(region);
    if (kind == JOB_REGISTERED) {
        r->memory = r->mine = job_new(size);
        if (GOOD(-1, tern_region_register(TERN_WORLD, r->memory, size, &r->region)))
            return true;
        free(r->memory);
        return false;
    }
    if (kind == JOB_FILE) { /* a name that all ranks know and no other job has */
        if (!GOOD(-1, tern_allgather(TERN_WORLD, &mine, sizeof(mine), all)))
            return false;
        snprintf(r->path, sizeof(r->path), "%s/tern-test-%016llx-%u", job_directory(), (unsigned long long)all[0],
                 (unsigned)number);
        opts.path = r->path;
    }
    if (!GOOD(-1, tern_region_create(TERN_WORLD, size, &opts, &r->region)))
        return false;
    r->mine = tern_region_ptr(r->region, tern_rank());
    CHECK(r->mine != NULL);
    return true;
}

static bool make_regions(void)
{
    uint64_t note_bytes, signal_bytes, am_bytes;

    soak_notes_size(&note_bytes, &signal_bytes, &am_bytes);
    for (unsigned i = 0; i < SOAK_SLICES; i++)
        if (!make(&soak_epoch.slices[i], i, (uint64_t)tern_size() * SOAK_THREADS * SOAK_SLICE))
            return false;
    for (unsigned i = 0; i < soak_threads; i++)
        if (!make(&soak_epoch.notes[i], 10 + i, note_bytes))
            return false;
    return make(&soak_epoch.acc, 20, ACC_PART) && make(&soak_epoch.words, 21, 4096) &&
           make(&soak_epoch.signals, 22, signal_bytes) && make(&soak_epoch.am, 23, am_bytes);
}

/* Returns false if a rank has died; then some of the epoch's memory is missing. */
static bool epoch_open(uint64_t seed, unsigned number)
{
    const uint32_t all = TERN_ATOMIC_ALL, flags = TERN_ATOMIC_LOADS | TERN_ATOMIC_STORES;

    soak_epoch = (struct soak_epoch){ .seed = seed * 1000003 + number * 7919ull, .number = number };
    soak_epoch.unexpected = soak_hash(41, 0, 0, 0, 0) % 2;
    return make_regions() &&
           GOOD(-1, tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, all, flags, &soak_epoch.u64)) &&
           GOOD(-1, tern_atomic_domain_create(TERN_WORLD, TERN_UINT32, all, flags, &soak_epoch.u32)) &&
           GOOD(-1, tern_atomic_domain_create(TERN_WORLD, TERN_INT64, all, flags, &soak_epoch.i64)) &&
           GOOD(-1, tern_mutex_create(TERN_WORLD, 2, &soak_epoch.mutexes));
}

static void drop(struct job_region *r)
{
    if (r->region)
        job_region_drop(r);
}

static void epoch_close(void)
{
    tern_atomic_domain *domains[] = { soak_epoch.u64, soak_epoch.u32, soak_epoch.i64 };

    if (soak_epoch.mutexes)
        OK(tern_mutex_free(soak_epoch.mutexes));
    for (unsigned i = 0; i < 3; i++)
        if (domains[i])
            OK(tern_atomic_domain_free(domains[i]));
    for (unsigned i = 0; i < SOAK_SLICES; i++)
        drop(&soak_epoch.slices[i]);
    for (unsigned i = 0; i < soak_threads; i++)
        drop(&soak_epoch.notes[i]);
    drop(&soak_epoch.acc);
    drop(&soak_epoch.words);
    drop(&soak_epoch.signals);
    drop(&soak_epoch.am);
}

/* ---- the workers ---- */

static void *work(void *arg)
{
    struct soak_worker *w = arg;

    for (unsigned i = 0; i < STEPS / (1 + (unsigned)tern_size() / 2); i++)
        switch (soak_dice(w, 8)) {
        case 0:
        case 1: soak_sums_step(w); break;
        case 2:
        case 3: soak_notes_step(w); break;
        case 4:
        case 5: soak_tags_step(w); break;
        default: soak_slices_step(w);
        }
    soak_tags_finish(w);
    soak_notes_finish(w);
    soak_slices_finish(w);
    soak_sums_finish(w);
    running--;
    return NULL;
}

static void workers_open(struct soak_worker *workers, uint64_t seed)
{
    for (unsigned i = 0; i < soak_threads; i++) {
        struct soak_worker *w = &workers[i];

        *w = (struct soak_worker){ .id = (int)i };
        w->seed = soak_hash(50, tern_rank(), 0, (int)i, seed) | 1;
        OK(tern_ctx_create(tern_team_world(), i % 2 ? TERN_STRICT : TERN_RELAXED, &w->ctx));
        soak_slices_open(w);
        soak_sums_open(w);
        soak_notes_open(w);
        soak_tags_open(w);
    }
}

static void workers_close(struct soak_worker *workers)
{
    for (unsigned i = 0; i < soak_threads; i++) {
        soak_slices_close(&workers[i]);
        soak_sums_close(&workers[i]);
        soak_notes_close(&workers[i]);
        soak_tags_close(&workers[i]);
        GOOD(-1, tern_ctx_free(workers[i].ctx));
    }
}

/* ---- collective calls beside the workers ---- */

/* All ranks draw from the same stream, so they make the same calls. */
static bool gather(uint64_t *seed)
{
    size_t         len = job_random(seed) % (job_random(seed) % 4 ? 200 : 6000);
    unsigned char *src = job_new(len), *all = job_new(len * (size_t)tern_size());
    bool           good;

    SOAK_COUNT(collective);
    job_fill(src, len, (unsigned)tern_rank(), soak_epoch.number);
    good = GOOD(-1, tern_allgather(TERN_WORLD, src, len, all));
    for (unsigned rank = 0; good && rank < (unsigned)tern_size(); rank++)
        HOLDS(all + rank * len, len, rank, soak_epoch.number);
    free(src);
    free(all);
    return good;
}

static bool passing_region(uint64_t *seed)
{
    uint64_t       size = 8 + job_random(seed) % 100000;
    bool           registered = job_random(seed) % 2, good;
    unsigned char *memory = registered ? job_new(size) : NULL;
    int            right = (tern_rank() + 1) % tern_size(), left = (tern_rank() + tern_size() - 1) % tern_size();
    tern_region   *region = NULL;
    uint8_t        got = 0;

    SOAK_COUNT(region);
    good = registered ? GOOD(-1, tern_region_register(TERN_WORLD, memory, size, &region))
                      : GOOD(-1, tern_region_create(TERN_WORLD, size, NULL, &region));
    if (!good) {
        free(memory);
        return false;
    }
    GOOD(right, tern_put_u8(TERN_WORLD, region, right, size - 1, (uint8_t)(tern_rank() + 1)));
    good = GOOD(-1, tern_barrier(TERN_WORLD));
    if (good) {
        OK(tern_get_u8(TERN_WORLD, region, tern_rank(), size - 1, &got));
        SAME(got, left + 1);
    }
    OK(tern_region_free(region));
    free(memory);
    return good;
}

/* Returns false if a rank has died. */
static bool collectives(uint64_t seed)
{
    bool good = true;

    for (uint64_t n = job_random(&seed) % 8; n > 0 && good; n--)
        switch (job_random(&seed) % 4) {
        case 0: good = passing_region(&seed); break;
        case 1: good = gather(&seed); break;
        default: SOAK_COUNT(collective); good = GOOD(-1, tern_barrier(TERN_WORLD));
        }
    return good;
}

/* ---- the end of an epoch ---- */

static bool workers_are_done(void *unused)
{
    (void)unused;
    return running == 0;
}

/* The offset of the words by which the ranks tell each other that they are done: behind the sums. */
#define DONE_AT 2048u

static bool all_are_done(void *unused)
{
    (void)unused;
    for (int rank = 0; rank < tern_size(); rank++) {
        uint64_t done = __atomic_load_n((uint64_t *)(void *)(soak_epoch.words.mine + DONE_AT + (unsigned)rank * 8),
                                        __ATOMIC_ACQUIRE);

        if (!done && !soak_dead(rank))
            return false;
    }
    return true;
}

/* Serve active messages until all living ranks need nothing more of this one. A barrier cannot do this when a rank has
 * died.
 */
static void await_everyone(void)
{
    while (!workers_are_done(NULL)) {
        OK(tern_progress(TERN_WORLD));
        sched_yield();
    }
    for (int rank = 0; rank < tern_size(); rank++)
        GOOD(rank, tern_put_signal(TERN_WORLD, soak_epoch.words.region, rank, 0, NULL, 0,
                                   &TERN_SIGNAL(.region = soak_epoch.words.region,
                                                .offset = DONE_AT + (uint64_t)tern_rank() * 8, .value = 1,
                                                .op = TERN_SIGNAL_SET)));
    OK(tern_wait_until(TERN_WORLD, all_are_done, NULL, TERN_FOREVER));
}

/* Returns false if a rank has died: then there are no more epochs. */
static bool epoch(uint64_t seed, unsigned number, struct soak_worker *workers)
{
    bool good;

    if (!epoch_open(seed, number)) {
        epoch_close();
        return false;
    }
    workers_open(workers, seed);
    good = GOOD(-1, tern_barrier(TERN_WORLD));
    running = soak_threads;
    for (unsigned i = 0; i < soak_threads; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    good = good && collectives(soak_hash(60, 0, 0, 0, 0) | 1);
    await_everyone();
    for (unsigned i = 0; i < soak_threads; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
    good = GOOD(-1, tern_barrier(TERN_WORLD)) && good;
    if (good)
        soak_sums_home(workers);
    workers_close(workers);
    epoch_close();
    return good;
}

static void report(void)
{
#define SOAK_AS_NAME(name) #name,
    static const char *const names[] = { SOAK_KINDS(SOAK_AS_NAME) };
#undef SOAK_AS_NAME
    char   line[1024];
    size_t n = (size_t)snprintf(line, sizeof(line), "soak: rank %d of %d:", tern_rank(), tern_size());

    for (unsigned i = 0; i < SOAK_KIND_COUNT; i++)
        n += (size_t)snprintf(line + n, sizeof(line) - n, " %s=%llu", names[i], (unsigned long long)soak_counts[i]);
    printf("%s%s\n", line, soak_anyone_dead() ? " survived=1" : "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char        note[64];
    struct soak_worker workers[SOAK_THREADS];
    uint64_t           seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    tern_deadline      end = tern_deadline_in(argc > 2 ? atof(argv[2]) : 1);
    int8_t             more = 1, all[SOAK_RANKS];
    tern_status        st = TERN_OK;

    soak_deaths = argc > 3 && strcmp(argv[3], "deaths") == 0;
    snprintf(note, sizeof(note), "[seed %llu]", (unsigned long long)seed);
    job_note = note;
    soak_notes_register();
    if (soak_deaths && (st = tern_init()) == TERN_ERR_PEER) { /* a rank died before it joined: there is no job */
        printf("soak: rank -1 of -1:\n");
        return 0;
    }
    OK(soak_deaths ? st : tern_init());
    CHECK(tern_size() <= SOAK_RANKS);
    soak_threads = 1 + (unsigned)(seed / 7 % SOAK_THREADS);
    for (unsigned number = 0; more; number++) {
        if (!epoch(seed, number, workers))
            break;
        more = tern_clock() < end;
        if (!GOOD(-1, tern_allgather(TERN_WORLD, &more, 1, all)))
            break;
        more = all[0];
    }
    report();
    OK(tern_finalize());
    return 0;
}
