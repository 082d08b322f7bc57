/* signal.h: puts that update a signal at their target, and waiting for signals.
 *
 * A signal is a word of 8 or 4 bytes in a region. A put with signal copies its data to a rank, and when the data is in
 * place, sets the signal of the same rank or adds to it, as an atomic operation. Any rank that sees the new value of
 * the signal also sees the data. The target waits until a comparison of its signal with a value holds. A signal to
 * which each put adds 1 counts the puts that have arrived. This is OpenSHMEM's put-with-signal, and serves the purpose
 * of GASPI's notifications.
 *
 * Every put that takes options updates a signal if tern_opts.signal is set: puts of every shape, with an event, counted
 * or triggered. tern_put_signal and tern_put_signal_nbi are short forms for contiguous data. A put cannot both update a
 * signal and notify.
 *
 * Notification requests (notify.h) tell which rank sent which tag, and each notification is consumed once. A signal
 * tells only that a word has changed, but needs no space at the target, is not subject to flow control, can be waited
 * for any number of times, and can be read by every rank.
 *
 * A signal has 8 bytes unless tern_signal.bytes is 4. The owner waits for a signal of 4 bytes with the calls whose
 * names end in _u32, or reads it as an ordinary 32-bit integer. A signal is aligned to its size in the address space of
 * its owner. tern_fadd, tern_swap, tern_cas, and atomic domains whose mechanism is not TERN_ATOMIC_NETWORK may also
 * update signals. A wait for a signal ends with every operation of Tern that changes the word as required, like the
 * waits of wait.h. Such a wait sees an ordinary store within 0.2 seconds, or after tern_wake.
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
#include <tern/wait.h>

TERN_BEGIN_DECLS

/* How a put with signal updates the signal. */
typedef enum tern_signal_op {
    TERN_SIGNAL_SET = 0, /* the signal is set to the value */
    TERN_SIGNAL_ADD = 1  /* the value is added to the signal */
} tern_signal_op;

/* Which signal a put updates, and how. Create it with TERN_SIGNAL or TERN_SIGNAL_INIT, which set size. */
typedef struct tern_signal {
    uint32_t       size;   /* sizeof(tern_signal), so that later versions can add fields */
    tern_signal_op op;     /* TERN_SIGNAL_SET or TERN_SIGNAL_ADD */
    tern_region   *region; /* region of the signal; it may differ from the region of the data */
    uint64_t       offset; /* byte offset of the signal in the part of the target */
    uint64_t       value;  /* value that the signal is set to, or that is added to it */
    uint32_t       bytes;  /* size of the signal: 8 or 4; 0 means 8. A signal of 4 bytes takes the low half of value */
    uint32_t       reserved; /* 0 */
} tern_signal;

#define TERN_SIGNAL_INIT TERN_SIZED(tern_signal)
#ifndef __cplusplus
#define TERN_SIGNAL(...) ((tern_signal){ .size = sizeof(tern_signal), __VA_ARGS__ })
#endif

/* Put contiguous data, and then update a signal of the target. The call copies len bytes (which may be 0) from src to
 * byte offset of rank's part of region, and then updates the signal of rank. When the call returns, the caller may
 * modify src.
 * Returns  TERN_OK: the data is in place and the signal is updated.
 *          TERN_ERR_ARG: ctx or region is NULL, src is NULL and len is not 0, signal or signal->region is NULL,
 *            signal->op or signal->bytes is invalid, or the signal is not aligned to its size. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or the signal does not
 *            lie in rank's part. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, the signal may
 *            not have been updated, and Tern may still read src until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data and the signal are visible to all ranks. The target does not have to call
 *          Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_signal(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, const tern_signal *signal);

/* Start a put with signal, which tern_quiet completes. The call starts copying len bytes (which may be 0) from src to
 * byte offset of rank's part of region. When the data is in place, the signal of rank is updated. The next tern_quiet
 * on ctx completes the operation. The call reads *signal before it returns. The caller must not modify src until
 * tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx or region is NULL, src is NULL and len is not 0, signal or signal->region is NULL,
 *            signal->op or signal->bytes is invalid, or the signal is not aligned to its size.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or the signal does not
 *            lie in rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the data and then the signal are visible to all ranks. The target
 *          does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_signal_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                         size_t len, const tern_signal *signal);

/* Test whether a signal of this rank has a value. The call makes progress once, and tests whether this rank's signal at
 * byte offset of region compares with value as compare requires. Unless seen is NULL, store the value of the signal in
 * *seen.
 * Returns  TERN_OK: the comparison holds.
 *          TERN_PENDING: the comparison does not hold.
 *          TERN_ERR_ARG: ctx or region is NULL, region is dynamic, compare is invalid, or the signal is not aligned to
 *            8 bytes.
 *          TERN_ERR_RANGE: the signal does not lie in this rank's part of region.
 * Remote   None. If the comparison holds, the data of the puts whose signals the value shows may be used.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_signal_test(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                      uint64_t value, uint64_t *seen);

/* Wait until a signal of this rank has a value. The call makes progress until this rank's signal at byte offset of
 * region compares with value as compare requires, or the deadline passes. With TERN_NOW, the call polls once. Unless
 * seen is NULL, store the value of the signal in *seen on success.
 * Returns  TERN_OK: the comparison holds.
 *          TERN_PENDING: the deadline is TERN_NOW, and the comparison does not hold.
 *          TERN_ERR_TIMEOUT: the deadline passed first.
 *          TERN_ERR_ARG: ctx or region is NULL, region is dynamic, compare is invalid, or the signal is not aligned to
 *            8 bytes.
 *          TERN_ERR_RANGE: the signal does not lie in this rank's part of region.
 *          TERN_ERR_STATE: an active message handler made the call.
 * Remote   None. The data of the puts whose signals the value shows may be used.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_signal_wait(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                      uint64_t value, tern_deadline deadline, uint64_t *seen);

/* Get an event that completes when a signal has a value. The event completes when this rank's signal at byte offset of
 * region compares with value as compare requires. With the event, the program can wait for the signal together with
 * other events. The comparison is made when the program makes progress on ctx. tern_quiet does not wait for the event.
 * The region must exist until the event is complete; if the context is freed first, the event becomes invalid.
 * Returns  TERN_OK: *event is filled, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or event is NULL, region is dynamic, compare is invalid, or the signal is not
 *            aligned to 8 bytes.
 *          TERN_ERR_RANGE: the signal does not lie in this rank's part of region.
 *          TERN_ERR_NOMEM: there is not enough memory.
 * Remote   None. When the event is complete, the data of the puts whose signals the value shows may be used.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_signal_event(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                       uint64_t value, tern_event *event);

/* Test whether a 4-byte signal of this rank has a value. The call makes progress once, and tests whether this rank's
 * 32-bit signal at byte offset of region compares with value as compare requires. Unless seen is NULL, store the value
 * of the signal in *seen.
 * Returns  TERN_OK: the comparison holds.
 *          TERN_PENDING: the comparison does not hold.
 *          TERN_ERR_ARG: ctx or region is NULL, region is dynamic, compare is invalid, or the signal is not aligned to
 *            4 bytes.
 *          TERN_ERR_RANGE: the signal does not lie in this rank's part of region.
 * Remote   None. If the comparison holds, the data of the puts whose signals the value shows may be used.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_signal_test_u32(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                          uint32_t value, uint32_t *seen);

/* Wait until a 4-byte signal of this rank has a value. The call makes progress until this rank's 32-bit signal at byte
 * offset of region compares with value as compare requires, or the deadline passes. With TERN_NOW, the call polls once.
 * Unless seen is NULL, store the value of the signal in *seen on success.
 * Returns  TERN_OK: the comparison holds.
 *          TERN_PENDING: the deadline is TERN_NOW, and the comparison does not hold.
 *          TERN_ERR_TIMEOUT: the deadline passed first.
 *          TERN_ERR_ARG: ctx or region is NULL, region is dynamic, compare is invalid, or the signal is not aligned to
 *            4 bytes.
 *          TERN_ERR_RANGE: the signal does not lie in this rank's part of region.
 *          TERN_ERR_STATE: an active message handler made the call.
 * Remote   None. The data of the puts whose signals the value shows may be used.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_signal_wait_u32(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                          uint32_t value, tern_deadline deadline, uint32_t *seen);

/* Get an event that completes when a 4-byte signal has a value. The event completes when this rank's 32-bit signal at
 * byte offset of region compares with value as compare requires. With the event, the program can wait for the signal
 * together with other events. The comparison is made when the program makes progress on ctx. tern_quiet does not wait
 * for the event. The region must exist until the event is complete; if the context is freed first, the event becomes
 * invalid.
 * Returns  TERN_OK: *event is filled, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or event is NULL, region is dynamic, compare is invalid, or the signal is not
 *            aligned to 4 bytes.
 *          TERN_ERR_RANGE: the signal does not lie in this rank's part of region.
 *          TERN_ERR_NOMEM: there is not enough memory.
 * Remote   None. When the event is complete, the data of the puts whose signals the value shows may be used.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_signal_event_u32(tern_ctx *ctx, tern_region *region, uint64_t offset, tern_compare compare,
                                           uint32_t value, tern_event *event);

TERN_END_DECLS

#endif
