/* mutex_job.c: mutexes, atomics and accumulates in a job that continues when a rank dies; started by mutex.sh with
 * --on-failure return.
 *
 *   mutex_job HOW
 *
 * Rank 1 dies by SIGKILL; every other rank checks the promises and leaves in order. Each broken promise is a line
 * "...mutex_job.c:LINE: rank R: ..." on standard error, and status 9.
 *
 *   holder    it holds mutexes; the others wait for them, or try to lock them after its death
 *   waiter    it waits for a mutex that rank 0 holds, before the others
 *   chosen    it is stopped while it waits, is chosen as the next holder, and dies before it acquires the mutex
 *   home      it owns the memory of a mutex that others hold and wait for
 *   adding    it dies in the middle of an accumulate, holding the lock of the elements
 *   target    it is the target of the others' atomics and accumulates, some of which are outstanding
 */
#include "fault/fault_job.h"

#include "boot/robust_lock.h"
#include "op/atomic/acc.h"
#include "op/atomic/mutex.h"

#define VICTIM 1
#define LIMIT 10 /* seconds: a death that is not known by then is never known */

static int           me, size;
static tern_region  *words;
static tern_mutexes *mutexes;

static void learn(void)
{
    tern_deadline until = tern_deadline_in(LIMIT);

    while (tern_peer_check(VICTIM) == TERN_OK && tern_clock() < until)
        usleep(1000);
    EXPECT(TERN_ERR_PEER, tern_peer_check(VICTIM));
}

/* The living ranks lock another mutex, one after the other. */
static void others_go_on(void)
{
    uint64_t value;

    EXPECT(TERN_OK, tern_mutex_lock(TERN_WORLD, mutexes, 0, 2));
    EXPECT(TERN_OK, tern_get_u64(TERN_WORLD, words, 0, 0, &value));
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, words, 0, 0, value + 1));
    EXPECT(TERN_OK, tern_mutex_unlock(TERN_WORLD, mutexes, 0, 2));
}

static void holder(void)
{
    int last = size - 1;

    if (me == VICTIM) {
        OK(tern_mutex_lock(TERN_WORLD, mutexes, 0, 0));
        OK(tern_mutex_lock(TERN_WORLD, mutexes, last, 1));
    }
    OK(tern_barrier(TERN_WORLD));
    if (me == VICTIM) {
        usleep(20000); /* so that some ranks arrive before, and wait */
        fault_die();
    }
    EXPECT(TERN_ERR_PEER, tern_mutex_lock(TERN_WORLD, mutexes, me % 2 ? 0 : last, me % 2 ? 0 : 1));
    REQUIRE(strstr(tern_error_detail(), "rank 1") != NULL);
    learn();
    EXPECT(TERN_ERR_PEER, tern_mutex_lock(TERN_WORLD, mutexes, 0, 0));
    EXPECT(TERN_ERR_PEER, tern_mutex_try(TERN_WORLD, mutexes, last, 1, TERN_NOW));
    EXPECT(TERN_ERR_PEER, tern_mutex_try(TERN_WORLD, mutexes, last, 1, tern_deadline_in(0.01)));
    EXPECT(TERN_ERR_STATE, tern_mutex_unlock(TERN_WORLD, mutexes, 0, 0));
    EXPECT(TERN_ERR_PEER, tern_mutex_lock(TERN_WORLD, mutexes, VICTIM, 2));
}

/* The ranks that waited behind the victim. Over the network an RPC of the victim that was outstanding when it was
 * stopped may have acquired the mutex for it: then it died as the holder. Where memory is shared only the victim
 * acquires it. */
static void follow(bool chosen)
{
    tern_status st = tern_mutex_lock(TERN_WORLD, mutexes, 0, 0);

    if (chosen && !tern_region_ptr(words, 0) && st == TERN_ERR_PEER) {
        REQUIRE(strstr(tern_error_detail(), "rank 1 of the job died while it held") != NULL);
        return;
    }
    EXPECT(TERN_OK, st);
    EXPECT(TERN_OK, tern_mutex_unlock(TERN_WORLD, mutexes, 0, 0));
}

/* The mutexes are at rank 0, which sees the waiters in the queue. */
static void await_queue(uint32_t waiters)
{
    struct tern_qlock *turn = (struct tern_qlock *)mutexes->region->own.addr;

    while (atomic_load(&turn->tail) < waiters)
        tern_progress(TERN_WORLD);
}

static void waiter(bool chosen)
{
    int64_t pid = getpid(), all[64];

    OK(tern_allgather(TERN_WORLD, &pid, sizeof(pid), all));
    if (me == 0)
        OK(tern_mutex_lock(TERN_WORLD, mutexes, 0, 0));
    OK(tern_barrier(TERN_WORLD));
    if (me == VICTIM)
        tern_mutex_lock(TERN_WORLD, mutexes, 0, 0);
    if (me == 0) {
        await_queue(1);
        EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, words, 0, 8, 1));
        await_queue((uint32_t)size - 1);
        if (chosen) {
            fault_stop((int)all[VICTIM]);
            EXPECT(TERN_OK, tern_mutex_unlock(TERN_WORLD, mutexes, 0, 0));
        }
        kill((int)all[VICTIM], SIGKILL);
        learn();
        if (!chosen)
            EXPECT(TERN_OK, tern_mutex_unlock(TERN_WORLD, mutexes, 0, 0));
        return;
    }
    for (uint64_t first = 0; first == 0;) /* the victim is the first in the queue */
        OK(tern_get_u64(TERN_WORLD, words, 0, 8, &first));
    follow(chosen);
}

static void home(void)
{
    if (me == 0)
        OK(tern_mutex_lock(TERN_WORLD, mutexes, VICTIM, 0));
    OK(tern_barrier(TERN_WORLD));
    if (me == VICTIM) {
        usleep(20000);
        fault_die();
    }
    if (me != 0)
        EXPECT(TERN_ERR_PEER, tern_mutex_lock(TERN_WORLD, mutexes, VICTIM, 0));
    learn();
    EXPECT(TERN_ERR_PEER, tern_mutex_unlock(TERN_WORLD, mutexes, VICTIM, 0));
}

/* All locks guard elements that some rank adds to. */
static void adding(void)
{
    static int64_t       one[TERN_ACC_LOCKS * TERN_ACC_BLOCK / 8];
    const tern_acc_args  plain = TERN_ACC_ARGS(.type = TERN_INT64);
    tern_region         *area;
    struct tern_segment *segment = tern_job.boot.segment;

    OK(tern_region_create(TERN_WORLD, sizeof(one), NULL, &area));
    memset(tern_region_ptr(area, me), 0, sizeof(one));
    for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++)
        one[i] = 1;
    OK(tern_barrier(TERN_WORLD));
    if (me == VICTIM) {
        for (int i = 0; i < TERN_ACC_LOCKS; i += 5)
            tern_boot_robust_lock(segment, &segment->acc_lock[i], me);
        OK(tern_put_u64(TERN_WORLD, words, 0, 8, 1));
        usleep(20000);
        fault_die();
    }
    for (uint64_t held = 0; held == 0;)
        OK(tern_get_u64(TERN_WORLD, words, 0, 8, &held));
    EXPECT(TERN_OK, tern_acc(TERN_WORLD, area, 0, 0, one, sizeof(one), &plain));
    EXPECT(TERN_OK, tern_acc_with(TERN_WORLD, area, 0, 0, one, sizeof(one), &TERN_OPTS(.acc = &plain)));
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, words, 0, 16 + 8 * (uint64_t)me, 1));
    for (int rank = 0; me == 0 && rank < size; rank++)
        for (uint64_t done = rank == VICTIM; done == 0;)
            OK(tern_get_u64(TERN_WORLD, words, 0, 16 + 8 * (uint64_t)rank, &done));
    for (size_t i = 0; me == 0 && i < sizeof(one) / sizeof(*one); i++)
        REQUIRE(((int64_t *)tern_region_ptr(area, me))[i] == 2 * (size - 1));
    learn();
    EXPECT(TERN_OK, tern_region_free(area));
}

/* ---- atomics and accumulates whose target dies ---- */

#define FORMS 8
#define LONG (64u << 10)

static tern_atomic_domain *domain;
static tern_region        *sums;
static int64_t             summands[LONG / 8];

/* One operation, in one of the forms, that adds 1 to the value of this rank at the target. */
static tern_status add_one(int rank, int form)
{
    const uint64_t         at = LONG * (uint64_t)me, one = 1;
    const tern_acc_args    plain = TERN_ACC_ARGS(.type = TERN_INT64);
    uint64_t               was = 1;
    const tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &one, .result = &was);
    tern_event             event = TERN_EVENT_INIT;
    tern_status            st;

    switch (form) {
    case 0: return tern_atomic_fadd(TERN_WORLD, domain, sums, rank, at, 1, &was);
    case 1: return tern_fadd(TERN_WORLD, sums, rank, at, 1, &was);
    case 2: return tern_atomic(TERN_WORLD, domain, sums, rank, at, &args);
    case 3: st = tern_atomic_nb(TERN_WORLD, domain, sums, rank, at, &args, &event); break;
    case 4:
        st = tern_atomic_nbi(TERN_WORLD, domain, sums, rank, at, &args);
        return st < 0 ? st : tern_quiet(TERN_WORLD);
    case 5: return tern_acc(TERN_WORLD, sums, rank, at, summands, sizeof(*summands), &plain);
    case 6:
        st = tern_acc_with(TERN_WORLD, sums, rank, at, summands, sizeof(summands),
                           &TERN_OPTS(.acc = &plain, .event = &event));
        break;
    default: return tern_get_acc(TERN_WORLD, sums, rank, at, &was, sizeof(was), &plain);
    }
    return st < 0 ? st : tern_event_wait(&event, TERN_FOREVER);
}

static void target(void)
{
    tern_deadline until = tern_deadline_in(LIMIT);
    tern_status   st = TERN_OK;
    uint64_t      added = 0, found = 0;

    for (size_t i = 0; i < LONG / 8; i++)
        summands[i] = 1;
    OK(tern_region_create(TERN_WORLD, (uint64_t)size * LONG, NULL, &sums));
    memset(tern_region_ptr(sums, me), 0, (size_t)size * LONG);
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD, TERN_ATOMIC_LOADS | TERN_ATOMIC_STORES,
                                 &domain));
    OK(tern_barrier(TERN_WORLD));
    if (me == VICTIM) {
        usleep(20000); /* the target computes */
        fault_die();
    }
    for (int form = 0; st == TERN_OK && tern_clock() < until; form = (form + 1) % FORMS, added++) {
        st = add_one(VICTIM, form);
        EXPECT(TERN_OK, add_one(0, form));
    }
    EXPECT(TERN_ERR_PEER, st);
    learn();
    for (int form = 0; form < FORMS; form++, added++) {
        EXPECT(TERN_ERR_PEER, add_one(VICTIM, form));
        EXPECT(TERN_OK, add_one(0, form));
    }
    EXPECT(TERN_OK, tern_get_u64(TERN_WORLD, sums, 0, LONG * (uint64_t)me, &found));
    REQUIRE(found == added);
    EXPECT(TERN_OK, tern_atomic_domain_free(domain));
    EXPECT(TERN_OK, tern_region_free(sums));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    OK(tern_region_create(TERN_WORLD, 1024, NULL, &words));
    memset(tern_region_ptr(words, me), 0, 1024);
    OK(tern_mutex_create(TERN_WORLD, 3, &mutexes));
    if (strcmp(how, "holder") == 0)
        holder();
    else if (strcmp(how, "waiter") == 0 || strcmp(how, "chosen") == 0)
        waiter(how[0] == 'c');
    else if (strcmp(how, "home") == 0)
        home();
    else if (strcmp(how, "target") == 0)
        target();
    else
        adding();
    others_go_on();
    EXPECT(TERN_OK, tern_mutex_free(mutexes));
    EXPECT(TERN_OK, tern_region_free(words));
    EXPECT(TERN_OK, tern_finalize());
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}
