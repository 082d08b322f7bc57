/* sums.c: operations by which all workers change the same memory at the same time.
 *
 * Additions commute, so it suffices to know what each worker added: fetching additions and atomic operations to a few
 * words of each rank, numbers that are read and written back under a mutex, and accumulates of all types and shapes. At
 * the end of the epoch each rank compares its memory with the sum that the workers of all ranks report. Each rank
 * computes the sum of the accumulates by itself, because they follow from the seed.
 */
#include "soak.h"

#define WORDS 6   /* of each rank */
#define GUARDED 2 /* the last of them are guarded by mutexes */

struct soak_sums {
    uint64_t       added[SOAK_RANKS][WORDS];
    uint64_t       accumulates;
    struct acc     acc;
    unsigned char *buffer;
};

static uint64_t acc_seed(int rank, int thread, uint64_t number)
{
    return soak_hash(1, rank, 0, thread, number) | 1;
}

static void add(struct soak_worker *w)
{
    int          rank = (int)soak_dice(w, (unsigned)tern_size());
    uint64_t     word = soak_dice(w, WORDS - GUARDED), delta = job_random(&w->seed), was = 0;
    tern_region *region = soak_epoch.words.region;
    tern_event   event = TERN_EVENT_INIT;
    bool         good;

    SOAK_COUNT(fetch);
    switch (soak_dice(w, 4)) {
    case 0: good = GOOD(rank, tern_fadd(w->ctx, region, rank, word * 8, delta, &was)); break;
    case 1: good = GOOD(rank, tern_atomic_fadd(w->ctx, soak_epoch.u64, region, rank, word * 8, delta, &was)); break;
    case 2:
        good = GOOD(rank, tern_atomic_nb(w->ctx, soak_epoch.u64, region, rank, word * 8,
                                         &TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &delta, .result = &was),
                                         &event)) &&
               GOOD(rank, tern_event_wait(&event, TERN_FOREVER));
        break;
    default:
        good = GOOD(rank, tern_atomic_nbi(w->ctx, soak_epoch.u64, region, rank, word * 8,
                                          &TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .operand = &delta)));
    }
    if (good)
        w->sums->added[rank][word] += delta;
}

static void guarded(struct soak_worker *w)
{
    int          rank = (int)soak_dice(w, (unsigned)tern_size());
    uint64_t     index = soak_dice(w, GUARDED), word = WORDS - GUARDED + index, delta = job_random(&w->seed), value;
    tern_region *region = soak_epoch.words.region;
    tern_status  st;

    SOAK_COUNT(mutex);
    if (soak_dice(w, 4) == 0) {
        st = tern_mutex_try(w->ctx, soak_epoch.mutexes, rank, index,
                            soak_dice(w, 2) ? TERN_NOW : tern_deadline_in(1e-4));
        if (st == TERN_PENDING || st == TERN_ERR_TIMEOUT)
            return;
    } else {
        st = tern_mutex_lock(w->ctx, soak_epoch.mutexes, rank, index);
    }
    if (!GOOD(-1, st))
        return;
    if (GOOD(rank, tern_get(w->ctx, region, rank, word * 8, &value, 8))) {
        value += delta;
        if (soak_dice(w, 2) ? GOOD(rank, tern_put_nbi(w->ctx, region, rank, word * 8, &value, 8))
                            : GOOD(rank, tern_put(w->ctx, region, rank, word * 8, &value, 8)))
            w->sums->added[rank][word] += delta;
    }
    GOOD(-1, tern_mutex_unlock(w->ctx, soak_epoch.mutexes, rank, index));
}

static void accumulate(struct soak_worker *w)
{
    struct soak_sums *s = w->sums;
    uint64_t          seed = acc_seed(tern_rank(), w->id, s->accumulates), first = seed;
    int               rank = (int)(job_random(&seed) % (unsigned)tern_size());
    tern_event        event = TERN_EVENT_INIT;
    tern_opts         opts = TERN_OPTS(.flags = soak_dice(w, 2) ? TERN_IMMEDIATE : 0, .event = &event);
    tern_status       st;

    SOAK_COUNT(acc);
    acc_make(&s->acc, s->buffer, &seed);
    acc_fill(&s->acc, s->buffer, first);
    s->accumulates++;
    if (soak_dice(w, 2)) {
        GOOD(rank, acc_go(&s->acc, w->ctx, soak_epoch.acc.region, rank, s->buffer, NULL));
        return;
    }
    while ((st = acc_go(&s->acc, w->ctx, soak_epoch.acc.region, rank, s->buffer, &opts)) == TERN_AGAIN)
        OK(tern_progress(w->ctx));
    if (GOOD(rank, st))
        GOOD(rank, tern_event_wait(&event, TERN_FOREVER));
}

void soak_sums_step(struct soak_worker *w)
{
    switch (soak_dice(w, 4)) {
    case 0: guarded(w); break;
    case 1: accumulate(w); break;
    default: add(w);
    }
}

void soak_sums_finish(struct soak_worker *w)
{
    GOOD(-1, tern_quiet(w->ctx));
}

static void accumulates_home(const uint64_t *counts)
{
    struct acc_model *model = job_new(sizeof(*model));
    struct acc       *acc = job_new(sizeof(*acc));
    unsigned char    *buffer = job_new(ACC_NEAR * ACC_ELEMENT);

    for (int rank = 0; rank < tern_size(); rank++)
        for (unsigned thread = 0; thread < soak_threads; thread++)
            for (uint64_t i = 0; i < counts[(unsigned)rank * SOAK_THREADS + thread]; i++) {
                uint64_t seed = acc_seed(rank, (int)thread, i), first = seed;

                if ((int)(job_random(&seed) % (unsigned)tern_size()) != tern_rank())
                    continue;
                acc_make(acc, buffer, &seed);
                acc_apply(model, acc, first);
            }
    ACC_HOLDS(model, soak_epoch.acc.mine);
    free(model);
    free(acc);
    free(buffer);
}

void soak_sums_home(struct soak_worker *workers)
{
    static uint64_t mine[SOAK_RANKS][WORDS], all[SOAK_RANKS][SOAK_RANKS][WORDS];
    uint64_t        counts[SOAK_THREADS] = { 0 }, counts_all[SOAK_RANKS * SOAK_THREADS];
    size_t          bytes = (size_t)tern_size() * sizeof(mine[0]);

    memset(mine, 0, sizeof(mine));
    for (unsigned i = 0; i < soak_threads; i++) {
        counts[i] = workers[i].sums->accumulates;
        for (int rank = 0; rank < tern_size(); rank++)
            for (unsigned word = 0; word < WORDS; word++)
                mine[rank][word] += workers[i].sums->added[rank][word];
    }
    unsigned char *gathered = job_new(bytes * (size_t)tern_size());
    if (!GOOD(-1, tern_allgather(TERN_WORLD, mine, bytes, gathered)) ||
        !GOOD(-1, tern_allgather(TERN_WORLD, counts, sizeof(counts), counts_all))) {
        free(gathered); /* a rank has died since the operations completed: there is nothing to compare with */
        return;
    }
    for (int rank = 0; rank < tern_size(); rank++)
        memcpy(all[rank], gathered + (size_t)rank * bytes, bytes);
    for (unsigned word = 0; word < WORDS; word++) {
        uint64_t sum = 0, value;

        for (int rank = 0; rank < tern_size(); rank++)
            sum += all[rank][tern_rank()][word];
        memcpy(&value, soak_epoch.words.mine + word * 8, 8);
        SAME(value, sum);
    }
    accumulates_home(counts_all);
    free(gathered);
}

void soak_sums_open(struct soak_worker *w)
{
    w->sums = job_new(sizeof(*w->sums));
    w->sums->buffer = job_new(ACC_NEAR * ACC_ELEMENT);
}

void soak_sums_close(struct soak_worker *w)
{
    free(w->sums->buffer);
    free(w->sums);
}
