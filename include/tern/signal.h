/* signal.h: puts that change a word of their target behind their data, and waiting for such words.
 *
 * A signal is a 64-bit word in a region. A put with a signal copies its data to a rank, and when they are in place it
 * sets the word of the same rank, or adds to it, as an atomic operation: who sees the new value sees the data. The
 * target waits until its word compares with a value as asked; a word that is added to counts how many puts have come.
 * It is what OpenSHMEM calls put-with-signal, and what GASPI's notifications do.
 *
 * Requests for notifications (notice.h) tell who came and with which tag, and take each notification once. A signal
 * tells only that a word has changed, but it needs no room at the target, can be waited for any number of times, and
 * can be read by every rank.
 *
 * Words are aligned to 8 bytes in their owner's address space. tern_fadd_u64 and atomic domains that do not go by the
 * network's own operations may change them too. A thread that sleeps in tern_signal_wait is woken by signals, and by
 * atomic operations that a thread of the word's owner carries out (paths cma, bounce and ofi). It sees other changes
 * within a fifth of a second.
 */
#ifndef TERN_SIGNAL_H
#define TERN_SIGNAL_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/job.h>
#include <tern/region.h>
#include <tern/rma.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

typedef enum tern_signal_op { TERN_SIGNAL_SET = 0, TERN_SIGNAL_ADD = 1 } tern_signal_op;

/* How a word is compared, as unsigned numbers: word EQ value, word NE value, and so on. */
typedef enum tern_compare { TERN_EQ = 0, TERN_NE = 1, TERN_GT = 2, TERN_GE = 3, TERN_LT = 4, TERN_LE = 5 } tern_compare;

/* What is done to which word. */
typedef struct tern_signal {
    tern_region   *region; /* where the word is; may be another one than that of the data */
    uint64_t       offset; /* in the part of the put's target */
    uint64_t       value;
    tern_signal_op op;
} tern_signal;

/* Copy len bytes, which may be 0, from src to byte offset of rank's part of region, and then set rank's word or add to
 * it.
 * Returns  as tern_put. TERN_ERR_ARG: signal or its region is NULL, its op is none, or the word is misaligned, also.
 *          TERN_ERR_RANGE: the word is not in rank's part, also. TERN_ERR_TIMEOUT: the signal may not have been given,
 *          although the data is there.
 * Remote   data and word are visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_signal(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, const tern_signal *signal);

/* Start the same, with options as tern_put_with; opts NULL: as tern_put_signal_nbi. The signal is read before the call
 * returns.
 * Returns  as tern_put_with, and what tern_put_signal says of the word.
 * Remote   data and then word are visible when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_signal_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                          const void *src, size_t len, const tern_signal *signal,
                                          const tern_opts *opts);

/* Start the same and fill an event. src stays unchanged until it is done.
 * Returns  as tern_put_signal_with.
 * Remote   data and then word are visible when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_signal_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                           const void *src, size_t len, const tern_signal *signal, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_put_signal_with(ctx, region, rank, offset, src, len, signal, &opts);
}

/* Start the same. src stays unchanged until tern_quiet.
 * Returns  as tern_put_signal_with.
 * Remote   data and then word are visible after tern_quiet at the latest. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_signal_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                            const void *src, size_t len, const tern_signal *signal)
{
    return tern_put_signal_with(ctx, region, rank, offset, src, len, signal, NULL);
}

/* Make progress and see whether this rank's word at byte offset of region compares with value as asked.
 * Returns  TERN_OK: it does, and is in *seen, if seen is not NULL. TERN_PENDING: it does not; the same. TERN_ERR_ARG:
 *          ctx or region is NULL, compare is none, or the word is misaligned. TERN_ERR_RANGE: it is not in this rank's
 *          part.
 * Remote   none of its own. The data of puts whose signals the word shows may be used.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_signal_test(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                      uint64_t value, uint64_t *seen);

/* Make progress until this rank's word at byte offset of region compares with value as asked, or the deadline passes.
 * Returns  as tern_signal_test, but for TERN_PENDING. TERN_ERR_TIMEOUT: the deadline passed.
 * Remote   as tern_signal_test.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_signal_wait(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                      uint64_t value, tern_deadline deadline, uint64_t *seen);

TERN_END_DECLS

#endif
