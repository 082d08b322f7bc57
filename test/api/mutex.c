/* mutex.c: mutexes by example, and every refusal.
 *
 * ranks: 1 2 4
 *
 * Promise: a mutex of a rank that computes can be locked; a context holds a mutex, not a rank; waiting ends at the
 * deadline, and who gave up is not given the mutex later; what cannot be right is refused with the documented status,
 * and who held what still does.
 */
#include "job_test.h"

#include <stdatomic.h>

#define COUNT 5

static tern_mutexes *mutexes;

static void refusals(void)
{
    tern_mutexes *none = NULL;
    int           last = tern_size() - 1;

    REFUSES(TERN_ERR_ARG, tern_mutex_create(NULL, 1, &none));
    REFUSES(TERN_ERR_ARG, tern_mutex_create(TERN_WORLD, 1, NULL));
    REFUSES(TERN_ERR_ARG, tern_mutex_create(TERN_WORLD, 0, &none));
    REFUSES(TERN_ERR_NOMEM, tern_mutex_create(TERN_WORLD, UINT64_MAX / 2, &none));
    if (tern_size() > 1)
        REFUSES(TERN_ERR_ARG, tern_mutex_create(TERN_WORLD, tern_rank() == 0 ? 1 : 2, &none));
    CHECK(none == NULL);
    REFUSES(TERN_ERR_ARG, tern_mutex_destroy(NULL));
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
    RETURNS(TERN_AGAIN, tern_mutex_try(other, mutexes, last, 2, TERN_NOW));
    REFUSES(TERN_ERR_TIMEOUT, tern_mutex_try(other, mutexes, last, 2, tern_deadline_in(0.002)));
    SAYS("mutex 2");
    OK(tern_ctx_set_timeout(other, 0.002));
    REFUSES(TERN_ERR_TIMEOUT, tern_mutex_lock(other, mutexes, last, 2));
    OK(tern_ctx_set_timeout(other, 0));
    REFUSES(TERN_ERR_STATE, tern_mutex_destroy(mutexes)); /* on all ranks */
    SAYS("held");
    if (tern_rank() == 0)
        OK(tern_mutex_unlock(TERN_WORLD, mutexes, last, 2));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_mutex_lock(other, mutexes, last, 2)); /* those who gave up have left nothing behind */
    OK(tern_mutex_unlock(other, mutexes, last, 2));
    OK(tern_ctx_destroy(other));
    OK(tern_barrier(TERN_WORLD));
}

/* The last rank computes until all others have locked its mutex, one after the other. */
static void computing(void)
{
    tern_region      *region;
    _Atomic uint64_t *count;
    uint64_t          value;
    int               last = tern_size() - 1;

    OK(tern_region_alloc(TERN_WORLD, 64, NULL, &region));
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
    OK(tern_ctx_destroy(other));
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    OK(tern_am_register(TRY, on_try, NULL));
    OK(tern_init());
    OK(tern_mutex_create(TERN_WORLD, COUNT, &mutexes));
    refusals();
    held();
    computing();
    in_handler();
    OK(tern_mutex_destroy(mutexes));
    OK(tern_mutex_create(TERN_WORLD, 1, &mutexes)); /* tern_finalize gives it up */
    OK(tern_finalize());
    return 0;
}
