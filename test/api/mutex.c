/* mutex.c: mutexes by example, and every refusal.
 *
 * Promise: a mutex of a rank that computes can be locked; a context holds a mutex, not a rank; a wait ends at the
 * deadline, and a waiter that gave up does not get the mutex later; an invalid call is refused with the documented
 * status, and the holder still holds the mutex. A rank that finds no place in the queue gets the mutex when it is free,
 * although no rank wakes it.
 *
 * ranks: 1 2 4
 */
#include "job_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/job.h"
#include "op/atomic/mutex.h"

#define COUNT 5

static tern_mutexes *mutexes;

static void refusals(void)
{
    tern_mutexes *none = NULL;
    int           last = tern_size() - 1;

    REFUSES(TERN_ERR_ARG, tern_mutex_create(NULL, 1, &none));
    REFUSES(TERN_ERR_ARG, tern_mutex_create(TERN_WORLD, 1, NULL));
    REFUSES(TERN_ERR_NOMEM, tern_mutex_create(TERN_WORLD, UINT64_MAX / 2, &none));
    REFUSES(TERN_ERR_NOMEM, tern_mutex_create(TERN_WORLD, tern_rank() == last ? UINT64_MAX / 2 : 1, &none));
    SAYS("mutexes are more than any memory holds");
    CHECK(none == NULL);
    REFUSES(TERN_ERR_ARG, tern_mutex_free(NULL));
    REFUSES(TERN_ERR_ARG, tern_mutex_lock(NULL, mutexes, 0, 0));
    REFUSES(TERN_ERR_ARG, tern_mutex_lock(TERN_WORLD, NULL, 0, 0));
    REFUSES(TERN_ERR_RANGE, tern_mutex_lock(TERN_WORLD, mutexes, tern_size(), 0));
    REFUSES(TERN_ERR_RANGE, tern_mutex_lock(TERN_WORLD, mutexes, -1, 0));
    REFUSES(TERN_ERR_RANGE, tern_mutex_try(TERN_WORLD, mutexes, last, COUNT, TERN_NOW));
    REFUSES(TERN_ERR_RANGE, tern_mutex_unlock(TERN_WORLD, mutexes, 0, UINT64_MAX));
    REFUSES(TERN_ERR_STATE, tern_mutex_unlock(TERN_WORLD, mutexes, last, 1));
    SAYS("nobody");
    OK(tern_barrier(TERN_WORLD));
}

/* Sets in which the ranks have different numbers of mutexes, and some have none. */
static void counts(void)
{
    int           me = tern_rank(), ranks = tern_size();
    tern_mutexes *set;
    char          text[100];

    OK(tern_mutex_create(TERN_WORLD, (uint64_t)me, &set)); /* rank 0 has none */
    for (int rank = 0; rank < ranks; rank++) {
        for (int index = 0; index < rank; index++) {
            OK(tern_mutex_lock(TERN_WORLD, set, rank, (uint64_t)index));
            OK(tern_mutex_unlock(TERN_WORLD, set, rank, (uint64_t)index));
        }
        REFUSES(TERN_ERR_RANGE, tern_mutex_lock(TERN_WORLD, set, rank, (uint64_t)rank));
        snprintf(text, sizeof(text),
                 rank > 0 ? "tern_mutex_lock: no mutex %d of rank %d, which has the mutexes 0 to %d (count %d)"
                          : "tern_mutex_lock: no mutex %d of rank %d, which created the set with 0 mutexes",
                 rank, rank, rank - 1, rank);
        SAYS(text);
    }
    OK(tern_barrier(TERN_WORLD));
    if (me == ranks - 1 && me > 0)
        OK(tern_mutex_lock(TERN_WORLD, set, me, (uint64_t)me - 1));
    if (ranks > 1) {
        REFUSES(TERN_ERR_STATE, tern_mutex_free(set));
        SAYS("is held; unlock it first");
    }
    if (me == ranks - 1 && me > 0)
        OK(tern_mutex_unlock(TERN_WORLD, set, me, (uint64_t)me - 1));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_mutex_free(set));
    OK(tern_mutex_create(TERN_WORLD, 0, &set)); /* nobody has one */
    REFUSES(TERN_ERR_RANGE, tern_mutex_try(TERN_WORLD, set, ranks - 1, 0, TERN_NOW));
    OK(tern_mutex_free(set));
}

/* Rank 0 holds a mutex of the last rank. */
static void held(void)
{
    tern_ctx *other;
    int       last = tern_size() - 1;

    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &other));
    if (tern_rank() == 0) {
        OK(tern_mutex_lock(TERN_WORLD, mutexes, last, 2));
        REFUSES(TERN_ERR_STATE, tern_mutex_lock(TERN_WORLD, mutexes, last, 2));
        SAYS("already");
        REFUSES(TERN_ERR_STATE, tern_mutex_try(TERN_WORLD, mutexes, last, 2, TERN_NOW));
    }
    OK(tern_barrier(TERN_WORLD));
    REFUSES(TERN_ERR_STATE, tern_mutex_unlock(other, mutexes, last, 2));
    SAYS(tern_rank() == 0 ? "another context" : "held by rank 0");
    RETURNS(TERN_PENDING, tern_mutex_try(other, mutexes, last, 2, TERN_NOW));
    REFUSES(TERN_ERR_TIMEOUT, tern_mutex_try(other, mutexes, last, 2, tern_deadline_in(0.002)));
    SAYS("mutex 2");
    OK(tern_ctx_set_timeout(other, 0.002));
    REFUSES(TERN_ERR_TIMEOUT, tern_mutex_lock(other, mutexes, last, 2));
    OK(tern_ctx_set_timeout(other, 0));
    REFUSES(TERN_ERR_STATE, tern_mutex_free(mutexes)); /* on all ranks */
    SAYS("held");
    if (tern_rank() == 0)
        OK(tern_mutex_unlock(TERN_WORLD, mutexes, last, 2));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_mutex_lock(other, mutexes, last, 2)); /* waiters that gave up have left nothing behind */
    OK(tern_mutex_unlock(other, mutexes, last, 2));
    OK(tern_ctx_free(other));
    OK(tern_barrier(TERN_WORLD));
}

/* The last rank computes until all others have locked its mutex, one after the other. */
static void computing(void)
{
    tern_region      *region;
    _Atomic uint64_t *count;
    uint64_t          value;
    int               last = tern_size() - 1;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    count = tern_region_ptr(region, tern_rank());
    atomic_store(count, 0);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == last) {
        while (atomic_load(count) != (uint64_t)last)
            ;
    } else {
        OK(tern_mutex_lock(TERN_WORLD, mutexes, last, 0));
        OK(tern_get_u64(TERN_WORLD, region, last, 0, &value));
        OK(tern_put_u64(TERN_WORLD, region, last, 0, value + 1));
        OK(tern_mutex_unlock(TERN_WORLD, mutexes, last, 0));
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

#define TRY 1u

static uint64_t    handled;
static tern_status locked;

static void on_try(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    locked = tern_mutex_lock(TERN_WORLD, mutexes, tern_rank(), 4);
    handled++;
}

/* A handler does not wait for a mutex, and leaves no trace in its queue. */
static void in_handler(void)
{
    tern_ctx *other;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &other));
    OK(tern_mutex_lock(other, mutexes, tern_rank(), 4));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_am_short(TERN_WORLD, (tern_rank() + 1) % tern_size(), TRY, NULL, 0));
    OK(job_await(&handled, 1, TERN_FOREVER));
    RETURNS(TERN_ERR_STATE, locked);
    OK(tern_mutex_unlock(other, mutexes, tern_rank(), 4));
    OK(tern_mutex_try(TERN_WORLD, mutexes, tern_rank(), 4, TERN_NOW));
    OK(tern_mutex_unlock(TERN_WORLD, mutexes, tern_rank(), 4));
    OK(tern_ctx_free(other));
    OK(tern_barrier(TERN_WORLD));
}

/* Contexts of rank 1 take every place in the queue of a mutex of rank 0, so that rank 0 finds none. After all of them
 * have had the mutex it is free, and rank 1 does not call Tern before rank 0 has it. */
#define PLACES 8 /* of jobs of up to 4 ranks */

static void *wait_in_line(void *arg)
{
    tern_ctx *ctx;

    (void)arg;
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    OK(tern_mutex_lock(ctx, mutexes, 0, 3));
    OK(tern_mutex_unlock(ctx, mutexes, 0, 3));
    OK(tern_ctx_free(ctx));
    return NULL;
}

static void fill_line(const _Atomic uint64_t *stage)
{
    pthread_t thread[PLACES];

    OK(tern_mutex_lock(TERN_WORLD, mutexes, 0, 3));
    for (int i = 0; i < PLACES; i++)
        CHECK(pthread_create(&thread[i], NULL, wait_in_line, NULL) == 0);
    while (atomic_load(stage) == 0 || atomic_load(&tern_core_job_slot(0)->sleepers) == 0)
        usleep(100);
    OK(tern_mutex_unlock(TERN_WORLD, mutexes, 0, 3));
    for (int i = 0; i < PLACES; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    while (atomic_load(stage) == 1)
        usleep(100);
}

static void a_full_line(void)
{
    int               me = tern_rank();
    tern_region      *region;
    _Atomic uint64_t *stage; /* of rank 0. 1: it is about to lock. 2: it has locked */

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    stage = tern_region_ptr(region, 0);
    OK(tern_barrier(TERN_WORLD));
    if (me == 1 && !job_far(0))
        fill_line(stage);
    if (me == 0 && tern_size() > 1 && !job_far(1)) {
        const unsigned char     *own = mutexes->region->own.addr;
        const struct tern_qlock *turn = (const struct tern_qlock *)(const void *)(own + 3 * mutexes->bytes);

        while (atomic_load(&turn->tail) < PLACES)
            usleep(100);
        atomic_store(stage, 1);
        OK(tern_mutex_lock(TERN_WORLD, mutexes, 0, 3));
        atomic_store(stage, 2);
        OK(tern_mutex_unlock(TERN_WORLD, mutexes, 0, 3));
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

int main(void)
{
    OK(tern_am_register(TRY, on_try, NULL));
    OK(tern_init());
    OK(tern_mutex_create(TERN_WORLD, COUNT, &mutexes));
    refusals();
    counts();
    held();
    computing();
    in_handler();
    a_full_line();
    OK(tern_mutex_free(mutexes));
    OK(tern_mutex_create(TERN_WORLD, 1, &mutexes)); /* tern_finalize frees it */
    OK(tern_finalize());
    return 0;
}
