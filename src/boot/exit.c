/* exit.c: ends this process and the whole job quietly. See exit.h.
 *
 * Functions that the program has registered with atexit are not called in any rank: the caller may be a handler or any
 * thread, while the other threads of the program run, and such a function may call Tern. So the process ends with
 * _exit, after its output streams have been flushed. Another thread may hold the lock of a stream for as long as it
 * likes, for example while it reads from a terminal. Therefore a separate thread flushes the streams, and is given a
 * limited time. */
#include "boot/exit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/thread.h"
#include "boot/bell.h"
#include "boot/pmi_join.h"
#include "boot/relay_thread.h"

#define MS 1000000ll
#define FLUSH_NS (1000 * MS)  /* time to flush the output streams of this process */
#define OTHERS_NS (1000 * MS) /* time for the output of the other ranks, which may wait for their cores */
#define RELAY_NS (1000 * MS)  /* time for the relay to tell the other nodes */
#define FOLLOW_NS (5000 * MS) /* time for the launcher to end this process */

static struct {
    pthread_mutex_t         lock; /* never released by the thread that ends the process */
    const struct tern_boot *boot; /* NULL: not in a job */
} end = { .lock = PTHREAD_MUTEX_INITIALIZER };

void tern_boot_exit_open(const struct tern_boot *boot)
{
    pthread_mutex_lock(&end.lock);
    end.boot = boot;
    pthread_mutex_unlock(&end.lock);
}

void tern_boot_exit_close(void)
{
    pthread_mutex_lock(&end.lock); /* blocks for ever if the process is ending */
    end.boot = NULL;
    pthread_mutex_unlock(&end.lock);
}

static void nap(int64_t ns)
{
    struct timespec time = { ns / 1000000000, ns % 1000000000 };

    nanosleep(&time, NULL);
}

/* Call is(arg) every 0.2 ms until it returns true, for at most ns. */
static void wait_until(bool (*is)(const void *arg), const void *arg, int64_t ns)
{
    int64_t until = tern_base_now() + ns;

    while (!is(arg) && tern_base_now() < until)
        nap(MS / 5);
}

/* ---- output ---- */

static _Atomic bool is_flushed;

static void *flush_run(void *arg)
{
    (void)arg;
    fflush(NULL);
    atomic_store(&is_flushed, true);
    return NULL;
}

static bool flush_done(const void *arg)
{
    (void)arg;
    return atomic_load(&is_flushed);
}

static void flush_streams(void)
{
    pthread_t thread;

    if (tern_base_thread_start(&thread, "tern-flush", flush_run, NULL) == TERN_OK) {
        pthread_detach(thread); /* another thread may hold the lock of a stream for ever */
        wait_until(flush_done, NULL, FLUSH_NS);
    } else if (ftrylockfile(stdout) == 0) {
        fflush_unlocked(stdout);
        funlockfile(stdout);
    }
}

/* ---- the other ranks ---- */

/* Set the word unless another rank was first, and wake the ranks of this node and the relay. Returns the word. */
static uint32_t publish(struct tern_segment *segment, int code)
{
    uint32_t word = 0, mine = TERN_ENDING | ((uint32_t)code & 0xff);

    /* relaxed: the word announces no other data, and the bell follows it with a release. */
    if (atomic_compare_exchange_strong_explicit(&segment->ending, &word, mine, memory_order_relaxed,
                                                memory_order_relaxed))
        word = mine;
    for (uint32_t rank = 0; rank < segment->ranks; rank++)
        if (segment->slot[rank].node == segment->node)
            tern_boot_bell_wake(&segment->slot[rank].bell); /* after the word: a sleeper reads it after the bell */
    return word;
}

/* Return whether every living rank that is in the job has written its output. The state of the ranks of other nodes is
 * not known. */
static bool others_flushed(const void *arg)
{
    const struct tern_segment *segment = arg;

    if (segment->nodes > 1)
        return false;
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        const struct tern_slot *slot = &segment->slot[rank];
        uint32_t                life = atomic_load_explicit(&slot->life, memory_order_relaxed);

        /* relaxed: the output is not in the memory of this process. */
        if (life >= TERN_LIFE_JOINED && life < TERN_LIFE_LEFT &&
            atomic_load_explicit(&slot->fate, memory_order_relaxed) == TERN_FATE_RUNNING &&
            atomic_load_explicit(&slot->flushed, memory_order_relaxed) == 0)
            return false;
    }
    return true;
}

static bool relay_told(const void *arg)
{
    (void)arg;
    return tern_boot_relay_thread_told();
}

static bool equals(const char *name, int number)
{
    const char *text = getenv(name);
    int64_t     value;

    return text != NULL && tern_base_parse_count(text, &value) && value == number;
}

bool tern_boot_exit_by_rank(const struct tern_boot *boot)
{
    if (!boot->foreign)
        return false;
    if (boot->segment->on_failure == TERN_ON_FAILURE_RETURN)
        return true; /* a launcher that lets ranks survive a failure does not end the job when it is asked to */
    /* The variables of srun may be inherited through mpirun or mpiexec, which set their own. */
    return equals("SLURM_PROCID", boot->rank) && equals("SLURM_STEP_NUM_TASKS", boot->ranks) &&
           getenv("OMPI_COMM_WORLD_SIZE") == NULL && getenv("MPI_LOCALNRANKS") == NULL;
}

/* ---- this process ---- */

/* End this process, which has written its output. calls: this rank has called tern_exit. waits: wait until the other
 * ranks have written their output, too. */
static __attribute__((noreturn)) void end_process(int code, bool calls, bool waits)
{
    const struct tern_boot *boot = end.boot;
    bool                    by_rank = tern_boot_exit_by_rank(boot);

    atomic_store_explicit(&boot->segment->slot[boot->rank].flushed, 1, memory_order_relaxed); /* see others_flushed() */
    tern_boot_tell(boot);
    if (calls || (by_rank && waits))
        wait_until(others_flushed, boot->segment, OTHERS_NS);
    wait_until(relay_told, NULL, RELAY_NS);
    if (by_rank)
        tern_boot_pmi_end();
    else if (calls)
        tern_boot_pmi_abort(code); /* has no effect in a job of ternrun */
    else if (boot->launched)
        nap(FOLLOW_NS);
    _exit(code);
}

/* End the job from a process that is not in it: tern_exit was called before tern_init or after tern_finalize. */
static __attribute__((noreturn)) void exit_outside(int code)
{
    struct tern_segment *segment = tern_boot_peek();

    if (segment != NULL)
        publish(segment, code);
    else
        tern_boot_pmi_abort(code & 0xff);
    _exit(code & 0xff);
}

void tern_boot_exit(int code)
{
    pthread_mutex_lock(&end.lock);
    flush_streams();
    if (end.boot == NULL)
        exit_outside(code);
    end_process((int)(publish(end.boot->segment, code) & 0xff), true, true);
}

void tern_boot_exit_follow(int code, bool waits)
{
    pthread_mutex_lock(&end.lock);
    flush_streams();
    if (end.boot == NULL) /* the process has left the job meanwhile */
        _exit(code);
    end_process(code, false, waits);
}

void tern_boot_exit_alone(int code)
{
    flush_streams();
    _exit(code & 0xff);
}
