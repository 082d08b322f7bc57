/* op_mutex.c: mutexes whose memory a peer has damaged.
 *
 * Promise: a mutex names its owner by a rank that every peer can overwrite. A rank that the job does not have is never
 * used as an index: such an owner counts as dead. The table of dead ranks lies between pages that are not mapped, so
 * that an access outside the table ends the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/job.h"
#include "core/region.h"
#include "op/atomic/mutex.h"

#define PAGE 4096u
#define RANKS ((int)PAGE)   /* the table of dead ranks has one byte for each, and fills a page */
#define AROUND (64u * PAGE) /* bytes in front of the table and behind it: more than a damaged rank can reach */
#define LOG 3u
#define COUNT 4u
#define ME 1u
#define LIVING 17u
#define DEAD 18u

_Static_assert(sizeof(_Atomic bool) == 1, "the table of dead ranks fills a page");

/* Ranks that the job does not have. The first is the rank of a name without a rank. */
static const unsigned none[] = { UINT32_MAX, RANKS, RANKS + 1, 65535, (1u << 17) - 2 };

#define NONE (sizeof(none) / sizeof(none[0]))

static unsigned char      *pages;
static struct tern_qlock  *turns[COUNT];
static struct tern_region  region;
static struct tern_mutexes mutexes = { .region = &region, .log = LOG, .count = { [ME] = COUNT } };

static int job_make(void **state)
{
    static const struct tern_link_ops maps = { .name = "none", .maps = true };

    (void)state;
    pages = mmap(NULL, 2 * AROUND + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)pages == MAP_FAILED || mprotect(pages + AROUND, PAGE, PROT_READ | PROT_WRITE) != 0)
        return -1;
    tern_job.lost = (_Atomic bool *)(void *)(pages + AROUND);
    atomic_store(&tern_job.lost[DEAD], true);
    tern_job.boot.ranks = tern_job.boot.locals = RANKS;
    tern_job.boot.rank = ME;
    tern_job.boot.segment = aligned_alloc(64, tern_segment_bytes(RANKS, false));
    tern_job.peer_link = calloc((size_t)RANKS, sizeof(*tern_job.peer_link));
    mutexes.bytes = tern_base_qlock_bytes(LOG);
    region.own.addr = aligned_alloc(64, COUNT * mutexes.bytes);
    if (!tern_job.boot.segment || !tern_job.peer_link || !region.own.addr)
        return -1;
    memset((void *)tern_job.boot.segment, 0, tern_segment_bytes(RANKS, false));
    tern_job.boot.segment->ranks = tern_job.boot.segment->locals = (uint32_t)RANKS;
    tern_job.ops[0] = &maps;
    for (unsigned i = 0; i < COUNT; i++)
        turns[i] = (struct tern_qlock *)(void *)((unsigned char *)region.own.addr + i * mutexes.bytes);
    return 0;
}

static int job_remove(void **state)
{
    (void)state;
    free((void *)tern_job.boot.segment);
    free(tern_job.peer_link);
    free(region.own.addr);
    return munmap(pages, 2 * AROUND + PAGE);
}

static int begin(void **state)
{
    (void)state;
    memset(region.own.addr, 0, COUNT * mutexes.bytes);
    return 0;
}

static enum tern_qlock_state step(unsigned rank, enum tern_mutex_step which, uint32_t *ticket)
{
    struct wire_mutex_response done = { .ticket = *ticket };

    tern_op_mutex_step(turns[0], LOG, which, tern_base_qlock_id(rank, 7), &done);
    *ticket = done.ticket;
    return done.state;
}

/* The search for mutexes that are still held, which decides whether they may be destroyed. */
static void who_holds_one(void **state)
{
    (void)state;
    assert_int_equal(tern_op_mutex_held(&mutexes), UINT64_MAX);
    atomic_store(&turns[1]->word, tern_base_qlock_id(DEAD, 7));
    assert_int_equal(tern_op_mutex_held(&mutexes), UINT64_MAX);
    atomic_store(&turns[2]->word, tern_base_qlock_id(LIVING, 7));
    assert_int_equal(tern_op_mutex_held(&mutexes), 2);
    for (size_t i = 0; i < NONE; i++) {
        atomic_store(&turns[0]->word, tern_base_qlock_id(none[i], 7));
        assert_int_equal(tern_op_mutex_held(&mutexes), 2); /* the search continues behind a damaged mutex */
        atomic_store(&turns[0]->word, tern_base_qlock_id(none[i], 7) | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER);
        assert_int_equal(tern_op_mutex_held(&mutexes), 2);
    }
}

/* Every step that a rank makes on a mutex whose word names such an owner. */
static void steps_behind_a_damaged_owner(void **state)
{
    for (size_t i = 0; i < NONE; i++) {
        uint32_t ticket = 0;

        begin(state);
        atomic_store(&turns[0]->word, tern_base_qlock_id(none[i], 7));
        assert_int_equal(step(ME, TERN_MUTEX_TRY, &ticket), TERN_QLOCK_OWNER_DEAD);
        assert_int_equal(step(ME, TERN_MUTEX_ACQUIRE, &ticket), TERN_QLOCK_OWNER_DEAD);
        assert_int_equal(step(ME, TERN_MUTEX_RELEASE, &ticket), TERN_QLOCK_NOT_OWNER);
        /* The owner was chosen and has not acquired the mutex: the next rank gets it. */
        atomic_store(&turns[0]->word, tern_base_qlock_id(none[i], 7) | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER);
        assert_int_equal(step(ME, TERN_MUTEX_ACQUIRE, &ticket), TERN_QLOCK_ACQUIRED);
        assert_int_equal(step(ME, TERN_MUTEX_RELEASE, &ticket), TERN_QLOCK_ACQUIRED);
    }
}

/* A waiter whose name was damaged is skipped, and no rank is woken for it. */
static void damaged_waiters(void **state)
{
    for (size_t i = 0; i < NONE; i++) {
        uint32_t ticket[2] = { 0 };

        begin(state);
        assert_int_equal(step(ME, TERN_MUTEX_ACQUIRE, &ticket[0]), TERN_QLOCK_ACQUIRED);
        assert_int_equal(step(LIVING + 1000, TERN_MUTEX_ACQUIRE, &ticket[1]), TERN_QLOCK_WAITING);
        assert_int_equal(step(LIVING, TERN_MUTEX_ACQUIRE, &ticket[1]), TERN_QLOCK_WAITING);
        atomic_store(&turns[0]->queue[0], tern_base_qlock_id(none[i], 7) & TERN_QLOCK_ID_MASK);
        assert_int_equal(step(ME, TERN_MUTEX_RELEASE, &ticket[0]), TERN_QLOCK_ACQUIRED);
        assert_int_equal(step(LIVING, TERN_MUTEX_POLL, &ticket[1]), TERN_QLOCK_ACQUIRED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(who_holds_one, begin),
        cmocka_unit_test_setup(steps_behind_a_damaged_owner, begin),
        cmocka_unit_test_setup(damaged_waiters, begin),
    };

    return cmocka_run_group_tests_name("damaged mutexes", tests, job_make, job_remove);
}
