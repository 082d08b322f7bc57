/* soak.h: declarations shared by the parts of the soak program.
 *
 * The program runs a random mixture of all operations in one job, with several threads, against models that are simple
 * enough to be right by construction. The work is divided into epochs. At the beginning of an epoch the ranks create
 * regions, mutexes and atomic domains; then the worker threads of each rank run random steps, each worker with its own
 * context, while the main thread makes collective calls; at the end all results are compared with the models.
 *
 * All random choices follow from the seed of the job. Everything that two workers must agree on (how many messages one
 * sends to the other, their lengths and contents) follows from the seed and from soak_hash(), so that the workers need
 * not communicate it.
 *
 * The worker with number t of a rank communicates with the workers with number t of all ranks, itself included. A
 * worker never blocks in the random steps on anything that needs a step of another worker, so that the program cannot
 * deadlock by itself. At the end of the epoch, when a worker has sent or posted everything that it can send, it blocks.
 *
 * With deaths, operations on a rank that is dead may return TERN_ERR_PEER. Operations on ranks that live may not, and
 * the results among living ranks are compared as usual.
 */
#ifndef TERN_SOAK_H
#define TERN_SOAK_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "acc_test.h"
#include "job_test.h"
#include "shape_test.h"

#define SOAK_RANKS 16
#define SOAK_THREADS 3
#define SOAK_SLICES 3     /* regions of the slices */
#define SOAK_SLICE 16384u /* bytes that one worker owns in each part of such a region */

/* The counted kinds of operations: X(name). */
#define SOAK_KINDS(X) \
    X(put)            \
    X(get)            \
    X(shape)          \
    X(acc)            \
    X(atomic)         \
    X(fetch)          \
    X(signal)         \
    X(notify)         \
    X(request)        \
    X(am)             \
    X(reply)          \
    X(send)           \
    X(receive)        \
    X(cancel)         \
    X(probe)          \
    X(mutex)          \
    X(trigger)        \
    X(context)        \
    X(collective)     \
    X(region)
#define SOAK_AS_ENUM(name) SOAK_##name,
enum soak_kind { SOAK_KINDS(SOAK_AS_ENUM) SOAK_KIND_COUNT };
#undef SOAK_AS_ENUM

struct soak_slices;
struct soak_sums;
struct soak_notes;
struct soak_tags;

struct soak_worker {
    int                 id;
    uint64_t            seed;
    tern_ctx           *ctx;
    pthread_t           thread;
    struct soak_slices *slices;
    struct soak_sums   *sums;
    struct soak_notes  *notes;
    struct soak_tags   *tags;
};

/* The objects that all workers of a rank use. The main thread creates them at the beginning of an epoch. */
struct soak_epoch {
    uint64_t            seed; /* the same on all ranks */
    unsigned            number;
    bool                unexpected; /* notifications arrive before their requests, and no worker blocks for space */
    struct job_region   slices[SOAK_SLICES];
    struct job_region   acc, words, signals, am;
    struct job_region   notes[SOAK_THREADS];
    tern_atomic_domain *u64, *u32, *i64;
    tern_mutexes       *mutexes;
};

extern struct soak_epoch soak_epoch;
extern unsigned          soak_threads;
extern bool              soak_deaths; /* ranks may die */
extern _Atomic uint64_t  soak_counts[SOAK_KIND_COUNT];

#define SOAK_COUNT(kind) (void)atomic_fetch_add_explicit(&soak_counts[SOAK_##kind], 1, memory_order_relaxed)

/* Returns true if the call returns TERN_OK. Returns false if it returns TERN_ERR_PEER because the rank (a rank of the
 * world; -1: any rank) is dead. Any other status is a failed check. */
#define GOOD(rank, call) soak_good(__FILE__, __LINE__, rank, call, #call)
bool soak_good(const char *file, int line, int rank, tern_status got, const char *call);

/* Whether a rank is dead, as far as this rank knows. */
bool soak_dead(int rank);
bool soak_anyone_dead(void);

static inline unsigned soak_dice(struct soak_worker *w, unsigned n)
{
    return (unsigned)((job_random(&w->seed) >> 20) % n);
}

/* A number that all ranks compute alike from the epoch and the arguments. */
static inline uint64_t soak_hash(uint64_t what, int from, int to, int thread, uint64_t number)
{
    uint64_t h = soak_epoch.seed + what * UINT64_C(0x9e3779b97f4a7c15) +
                 (uint64_t)(unsigned)from * UINT64_C(0xbf58476d1ce4e5b9) +
                 (uint64_t)(unsigned)to * UINT64_C(0x94d049bb133111eb) +
                 (uint64_t)(unsigned)thread * UINT64_C(0xd6e8feb86659fd93) + number * UINT64_C(0xa0761d6478bd642f);

    h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
    return h ^ (h >> 31);
}

/* The functions of each part. open, close: the main thread calls them at the two ends of an epoch, while no other rank
 * is in the random steps. step: the worker makes one random operation. finish: the worker completes everything and
 * compares. home: the main thread compares the effects of other workers on this rank, when all are done. */
void soak_slices_open(struct soak_worker *w);
void soak_slices_step(struct soak_worker *w);
void soak_slices_finish(struct soak_worker *w);
void soak_slices_close(struct soak_worker *w);

void soak_sums_open(struct soak_worker *w);
void soak_sums_step(struct soak_worker *w);
void soak_sums_finish(struct soak_worker *w);
void soak_sums_home(struct soak_worker *workers);
void soak_sums_close(struct soak_worker *w);

void soak_notes_size(uint64_t *note_bytes, uint64_t *signal_bytes, uint64_t *am_bytes);
void soak_notes_register(void);
void soak_notes_open(struct soak_worker *w);
void soak_notes_step(struct soak_worker *w);
void soak_notes_finish(struct soak_worker *w);
void soak_notes_close(struct soak_worker *w);

void soak_tags_open(struct soak_worker *w);
void soak_tags_step(struct soak_worker *w);
void soak_tags_finish(struct soak_worker *w);
void soak_tags_close(struct soak_worker *w);

#endif
