/* wait.h: waits for memory that other ranks change, and for conditions.
 *
 * A rank that waits for data often waits for a word of its own memory that another rank changes: a flag behind the
 * data, or a counter. tern_word_wait and its forms for several words end when the words have the required values;
 * tern_wait_until ends when a function of the program says so; and a program that evaluates its condition by itself
 * calls tern_idle_step in a loop. All of them make progress, and run handlers, while they wait.
 *
 * A wait that takes long sleeps. Every operation of Tern that changes the memory of this rank wakes it: a put of any
 * form and shape, an atomic operation, an accumulate and a signal, from a rank of this node or of another one. So do
 * active messages, tagged messages, notifications and completed operations. An ordinary store does not wake the rank,
 * whether another thread of the program makes it or another rank makes it through an address of tern_direct or
 * tern_region_ptr. A wait sees such a store within 0.2 seconds; a tern_idle with nap_us sees it sooner. tern_wake wakes
 * a rank after such stores.
 *
 * Over a network, the progress thread of this rank sees that data has arrived, and wakes the rank. This holds for
 * providers over TCP. A network adapter that writes to memory by itself may give no sign of a put that neither notifies
 * nor signals; a wait sees such a put within 0.2 seconds.
 *
 * Where the kernel has no membarrier system call, operations through shared memory do not wake the rank, and these
 * waits sleep for at most 50 microseconds at a time. tern-info reports whether this is the case.
 */
#ifndef TERN_WAIT_H
#define TERN_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/inline.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* How a word or a signal is compared with a value. Signals are unsigned. */
typedef enum tern_compare {
    TERN_EQ = 0, /* the word equals the value */
    TERN_NE = 1, /* the word differs from the value */
    TERN_GT = 2, /* the word is greater than the value */
    TERN_GE = 3, /* the word is greater than the value, or equal */
    TERN_LT = 4, /* the word is less than the value */
    TERN_LE = 5  /* the word is less than the value, or equal */
} tern_compare;

/* A condition on a word in the memory of this process. The condition compares the word with a value. TERN_WORD()
 * describes a word by a pointer to it. */
typedef struct tern_word {
    const void *addr;      /* a multiple of bytes */
    uint64_t    value;     /* the value, converted to the type of the word */
    uint8_t     bytes;     /* 1, 2, 4 or 8 */
    uint8_t     is_signed; /* 1: the word is a signed integer; 0: unsigned */
    uint16_t    compare;   /* a tern_compare */
    uint32_t    reserved;  /* 0; later versions may use it for other conditions */
} tern_word;

TERN_INLINE tern_word tern_inline_word(const volatile void *addr, uint8_t bytes, uint8_t is_signed, uint16_t compare,
                                       uint64_t value)
{
    tern_word word;

    word.addr = (const void *)addr;
    word.value = value;
    word.bytes = bytes;
    word.is_signed = is_signed;
    word.compare = compare;
    word.reserved = 0;
    return word;
}

TERN_END_DECLS

/* Whether pointer points to a signed integer. */
#ifdef __cplusplus
template <typename T> inline uint8_t tern_inline_is_signed(const volatile T *)
{
    return static_cast<T>(-1) < static_cast<T>(1);
}
#define TERN_INLINE_IS_SIGNED(pointer) tern_inline_is_signed(pointer)
#else
#define TERN_INLINE_IS_SIGNED(pointer) (uint8_t)((__typeof__(*(pointer)))-1 < 1)
#endif

/* A condition on the integer to which pointer points: TERN_WORD(&flag, TERN_EQ, 1). */
#define TERN_WORD(pointer, compare, value)                                                                      \
    tern_inline_word(pointer, (uint8_t)sizeof(*(pointer)), TERN_INLINE_IS_SIGNED(pointer), (uint16_t)(compare), \
                     (uint64_t)(value))

TERN_BEGIN_DECLS

/* Wait until a word has the required value. The call makes progress until the condition holds or the deadline passes.
 * With TERN_NOW, the call polls once. When the call returns TERN_OK, everything that the writer of the word wrote
 * before it is visible.
 * Returns  TERN_OK: the condition holds.
 *          TERN_PENDING: the deadline is TERN_NOW, and the condition does not hold.
 *          TERN_ERR_TIMEOUT: the deadline passed, and the condition does not hold.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: a pointer is NULL, the address is not a multiple of the word's bytes, or a field of word is
 *            invalid.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_word_wait(tern_ctx *ctx, const tern_word *word, tern_deadline deadline);

/* Wait until one of several words has its required value. The call makes progress until the condition of one of n words
 * holds or the deadline passes. With TERN_NOW, the call polls once. If several conditions hold, the call selects the
 * one with the lowest index.
 * Returns  TERN_OK: the condition with index *index holds.
 *          TERN_PENDING: the deadline is TERN_NOW, and no condition holds.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no condition holds.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: a pointer is NULL, n is 0, an address is not a multiple of its word's bytes, or a field of a
 *            word is invalid.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_word_wait_any(tern_ctx *ctx, const tern_word *words, size_t n, tern_deadline deadline,
                                        size_t *index);

/* Wait until all of several words have had their required values. The call makes progress until the condition of each
 * of n words has held or the deadline passes. With TERN_NOW, the call polls once. A condition that has held during the
 * call counts, even if its word has changed since.
 * Returns  TERN_OK: all conditions have held. If n is 0, the call returns at once.
 *          TERN_PENDING: the deadline is TERN_NOW, and some conditions do not hold.
 *          TERN_ERR_TIMEOUT: the deadline passed, and some conditions have not held.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: ctx is NULL, words is NULL and n is not 0, an address is not a multiple of its word's bytes,
 *            or a field of a word is invalid.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_word_wait_all(tern_ctx *ctx, const tern_word *words, size_t n, tern_deadline deadline);

/* Wait for several words, and report all whose conditions hold. The call makes progress until the condition
 * of at least one of n words holds or the deadline passes. With TERN_NOW, the call polls once. It then reports all
 * conditions that hold: their number in *count, and their indices, in ascending order, in indices, which has space for
 * n entries.
 * Returns  TERN_OK: *count conditions hold.
 *          TERN_PENDING: the deadline is TERN_NOW, and no condition holds. *count is 0.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no condition holds. *count is 0.
 *          TERN_ERR_STATE: an active message handler made the call. *count is 0.
 *          TERN_ERR_ARG: a pointer is NULL, n is 0, an address is not a multiple of its word's bytes, or a field of a
 *            word is invalid.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_word_wait_some(tern_ctx *ctx, const tern_word *words, size_t n, tern_deadline deadline,
                                         size_t *count, size_t *indices);

/* Make progress until a condition of the program holds. The call makes progress, and runs handlers, until
 * condition(arg) is true or the deadline passes. With TERN_NOW, the call polls once. Tern calls condition(arg) after
 * each poll; the condition must be cheap, and typically tests something that handlers or puts change.
 * Returns  TERN_OK: the condition holds.
 *          TERN_PENDING: the deadline is TERN_NOW, and the condition does not hold.
 *          TERN_ERR_TIMEOUT: the deadline passed, and the condition does not hold.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: ctx or condition is NULL.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_wait_until(tern_ctx *ctx, bool (*condition)(void *arg), void *arg, tern_deadline deadline);

/* A wait whose condition the program evaluates. Initialize it with TERN_IDLE_INIT or, in C, TERN_IDLE(...). */
typedef struct tern_idle {
    uint32_t      size;     /* sizeof(tern_idle), so that later versions can add fields */
    uint32_t      nap_us;   /* longest sleep in microseconds, for conditions that ordinary stores change; 0: no bound */
    tern_deadline deadline; /* a deadline; 0, which is TERN_NOW, means none */
    const char   *name;     /* what the program waits for, for stall reports and errors; NULL: no name */
    uint64_t      state[8]; /* private to Tern; initially 0 */
} tern_idle;

/* A wait without a deadline and a bound, as an initializer or in an assignment. */
#define TERN_IDLE_INIT TERN_SIZED(tern_idle)

/* A wait with the given fields set, in C: tern_idle idle = TERN_IDLE(.name = "the next task"). */
#ifndef __cplusplus
#define TERN_IDLE(...) ((tern_idle){ .size = sizeof(tern_idle), __VA_ARGS__ })
#endif

/* Make one step of a wait whose condition the program evaluates. The program calls this function in a loop for as long
 * as its condition does not hold. The first steps poll, later ones yield the core, and then every second step sleeps
 * until the memory of this rank changes or a message arrives. The program must evaluate its condition between any two
 * steps. A wait ends when the program makes no more steps; initialize the struct again before the next wait.
 * Returns  TERN_OK: evaluate the condition again.
 *          TERN_ERR_TIMEOUT: the deadline passed.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: ctx or idle is NULL, or idle is not initialized.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_idle_step(tern_ctx *ctx, tern_idle *idle);

/* Wait until there is something to do. The call makes progress until it has delivered at least one message, or until
 * something has woken this rank; or until the deadline passes. It may also return early. With TERN_NOW, the call polls
 * once. A program that waits for memory uses another call of this header, because a word that changes just
 * before this call does not end it.
 * Returns  TERN_OK: something may have happened.
 *          TERN_PENDING: the deadline is TERN_NOW, and nothing has happened.
 *          TERN_ERR_TIMEOUT: the deadline passed.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: ctx is NULL.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_progress_wait(tern_ctx *ctx, tern_deadline deadline);

/* Wake a rank after ordinary stores to its memory. Call this after stores through an address of tern_direct or
 * tern_region_ptr for which the rank may be waiting with a call of this header. The call does not wait, and has no
 * effect if the rank is on another node or does not sleep.
 * Returns  TERN_OK: the rank has been woken, if it slept.
 *          TERN_ERR_ARG: ctx is NULL.
 *          TERN_ERR_RANGE: rank is not in the context's team.
 * Remote   A thread of the rank that sleeps in a call of this header tests its condition again.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_wake(tern_ctx *ctx, int rank);

TERN_END_DECLS

#endif
