/* atomic.h: atomic operations on the memory of other ranks.
 *
 * Atomic operations belong to a domain, which the ranks of a team create collectively for one type and a set of
 * operations. When a domain is created, Tern selects one mechanism for all of its ranks: the fastest one that supports
 * the whole set. Tern never mixes mechanisms that are not atomic with respect to each other. tern_atomic_domain_info
 * tells the mechanism and the reason for it.
 *
 *   TERN_ATOMIC_MEMORY    atomic instructions of the initiator's processor, through shared memory
 *   TERN_ATOMIC_TARGET    atomic instructions: of the initiator where loads and stores reach the memory of the target,
 *                         otherwise of a thread of the target, which runs beside its program
 *   TERN_ATOMIC_NETWORK   atomic operations of the network, for all ranks, including those of the same node
 *
 * With TERN_ATOMIC_MEMORY and TERN_ATOMIC_TARGET, operations are also atomic with respect to atomic instructions of the
 * program, to other domains with these mechanisms, and to operations without a domain (tern_fadd, tern_swap, tern_cas).
 * With TERN_ATOMIC_NETWORK, operations are atomic only with respect to other domains with that mechanism. A domain that
 * is created with TERN_ATOMIC_LOADS or TERN_ATOMIC_STORES never uses the network's operations. Accumulates (acc.h) are
 * not atomic with respect to domains.
 *
 * Forms: the typed calls, such as tern_atomic_fadd, are inlined, take values, and block. Because every call returns a
 * status, the previous value comes back through a pointer; compilers keep it in a register. tern_atomic executes any
 * operation and blocks; tern_atomic_nb fills an event; the next tern_quiet completes tern_atomic_nbi; and
 * tern_atomic_with takes options. These four take a description of the operation, and no domain (NULL) if the
 * description says the type.
 *
 * Ordering: a blocking call is an acquire and a release, like a C11 atomic operation with memory_order_acq_rel, for the
 * loads and stores of this thread and for operations that are complete. Nonblocking calls are relaxed unless a flag is
 * set. With TERN_RELEASE, everything that the context started before is complete before the operation. With
 * TERN_ACQUIRE, everything that the operation saw is visible to this thread when the thread learns that the operation
 * is complete. Strict contexts order atomic operations together with puts and gets, and tern_fence and tern_quiet cover
 * them.
 *
 * Values: integers wrap around, including signed ones. min and max store the operand if it compares less or greater
 * than the value in memory; a NaN in memory stays, and a NaN as operand changes nothing. get, put, swap and cas move
 * and compare bits: a NaN can be swapped in and compared, and 0.0 differs from -0.0. Each floating-point sum is
 * rounded: to nearest if a thread of the target computes it, and in the rounding mode of the caller if the caller
 * computes it through shared memory.
 *
 * The target value is aligned to the size of its type in the address space of its owner. In active message handlers,
 * atomic operations are allowed if tern_region_path is "self", "shm", "ofi" or "tcp"; on registered memory of the same
 * node ("cma", "bounce") they would have to wait for a thread of the target.
 */
#ifndef TERN_ATOMIC_H
#define TERN_ATOMIC_H

#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/inline.h>
#include <tern/region.h>
#include <tern/rma.h>
#include <tern/status.h>
#include <tern/type.h>

TERN_BEGIN_DECLS

/* The atomic operations: X(name, bit, text). get, swap, cas and the operations whose names begin with F (FADD, FSUB,
 * ...) return the previous value; the others return nothing. get, inc, dec, finc and fdec take no operand. cas stores
 * the operand if the value in memory equals compare. and, or, xor and their fetching forms exist only for integers. */
#define TERN_ATOMIC_OP_LIST(X)        \
    X(TERN_ATOMIC_GET, 0, "get")      \
    X(TERN_ATOMIC_PUT, 1, "put")      \
    X(TERN_ATOMIC_SWAP, 2, "swap")    \
    X(TERN_ATOMIC_CAS, 3, "cas")      \
    X(TERN_ATOMIC_ADD, 4, "add")      \
    X(TERN_ATOMIC_SUB, 5, "sub")      \
    X(TERN_ATOMIC_INC, 6, "inc")      \
    X(TERN_ATOMIC_DEC, 7, "dec")      \
    X(TERN_ATOMIC_MULT, 8, "mult")    \
    X(TERN_ATOMIC_MIN, 9, "min")      \
    X(TERN_ATOMIC_MAX, 10, "max")     \
    X(TERN_ATOMIC_AND, 11, "and")     \
    X(TERN_ATOMIC_OR, 12, "or")       \
    X(TERN_ATOMIC_XOR, 13, "xor")     \
    X(TERN_ATOMIC_FADD, 14, "fadd")   \
    X(TERN_ATOMIC_FSUB, 15, "fsub")   \
    X(TERN_ATOMIC_FINC, 16, "finc")   \
    X(TERN_ATOMIC_FDEC, 17, "fdec")   \
    X(TERN_ATOMIC_FMULT, 18, "fmult") \
    X(TERN_ATOMIC_FMIN, 19, "fmin")   \
    X(TERN_ATOMIC_FMAX, 20, "fmax")   \
    X(TERN_ATOMIC_FAND, 21, "fand")   \
    X(TERN_ATOMIC_FOR, 22, "for")     \
    X(TERN_ATOMIC_FXOR, 23, "fxor")

/* An atomic operation. Each operation is a bit, so that a set of operations is the bitwise or of its members. get,
 * swap, cas and the operations whose names begin with F (FADD, FSUB, ...) return the previous value; the others return
 * nothing. get, inc, dec, finc and fdec take no operand. cas stores the operand if the value in memory equals compare.
 * and, or, xor and their fetching forms exist only for integers. */
#define TERN_ATOMIC_AS_ENUM(name, bit, text) name = 1 << (bit),
typedef enum tern_atomic_op {
    TERN_ATOMIC_OP_LIST(TERN_ATOMIC_AS_ENUM) TERN_ATOMIC_OP_RESERVED = 1 << 30
} tern_atomic_op;
#undef TERN_ATOMIC_AS_ENUM

/* Sets of atomic operations, for tern_atomic_domain_create. */
#define TERN_ATOMIC_OPS 24u                           /* number of operations */
#define TERN_ATOMIC_ALL ((1u << TERN_ATOMIC_OPS) - 1) /* the set of all operations */
#define TERN_ATOMIC_BITWISE (0x3800u | 0xe00000u)     /* and, or, xor and their fetching forms: integers only */
#define TERN_ATOMIC_ARITHMETIC (TERN_ATOMIC_ALL & ~TERN_ATOMIC_BITWISE) /* the operations of float and double */
#define TERN_ATOMIC_FETCHING (0xffc000u | 0x1u | 0x4u | 0x8u)           /* operations that return the previous value */

/* Flags of an atomic domain. While operations of the domain may be outstanding, the program also reads (LOADS) or
 * writes (STORES) the same values by other means: loads and stores, puts and gets. Accumulates are not atomic with
 * respect to domains, whatever the flags (acc.h). */
#define TERN_ATOMIC_LOADS 0x1u  /* the program also reads the values by other means */
#define TERN_ATOMIC_STORES 0x2u /* the program also writes the values by other means */

/* Flags in tern_opts for atomic operations only. They cannot be combined with counters. */
#define TERN_ACQUIRE 0x4u /* writes that precede the value read are visible once the completion is known */
#define TERN_RELEASE 0x8u /* everything that the context started before is complete before the operation */

/* The mechanism that executes the operations of an atomic domain. */
typedef enum tern_atomic_mechanism {
    TERN_ATOMIC_MEMORY = 0, /* atomic instructions of the initiator, through shared memory */
    TERN_ATOMIC_TARGET = 1, /* atomic instructions of the initiator or of a thread of the target */
    TERN_ATOMIC_NETWORK = 2 /* atomic operations of the network */
} tern_atomic_mechanism;

/* An atomic domain. tern_atomic_domain_create makes one. */
typedef struct tern_atomic_domain tern_atomic_domain;

/* The properties of an atomic domain. tern_atomic_domain_info fills it. */
typedef struct tern_atomic_info {
    tern_type             type;
    uint32_t              ops;   /* operations with which the domain was created */
    uint32_t              flags; /* flags with which the domain was created */
    tern_atomic_mechanism mechanism;
    const char           *name;        /* name of the mechanism: "memory", "target" or "network" */
    const char           *why;         /* reason for the mechanism; valid until the domain is freed */
    uint64_t              reserved[4]; /* 0 */
} tern_atomic_info;

/* One atomic operation, with its operands. The values are of the type of the domain or, without a domain, of the type
 * given here. Create it with TERN_ATOMIC_ARGS or TERN_ATOMIC_ARGS_INIT, which set size. */
typedef struct tern_atomic_args {
    uint32_t       size; /* sizeof(tern_atomic_args), so that later versions can add fields */
    tern_atomic_op op;   /* the operation */
    tern_type      type; /* of the values, for an operation without a domain; not used with a domain */
    uint32_t       reserved;
    const void    *operand; /* the call reads it before it returns. NULL for get, inc, dec, finc and fdec */
    const void    *compare; /* for cas: the value to compare with; NULL otherwise */
    void          *result;  /* receives the previous value; needed by fetching operations, not used by others */
} tern_atomic_args;

#define TERN_ATOMIC_ARGS_INIT TERN_SIZED(tern_atomic_args)
#ifndef __cplusplus
#define TERN_ATOMIC_ARGS(...) ((tern_atomic_args){ .size = sizeof(tern_atomic_args), __VA_ARGS__ })
#endif

/* Create an atomic domain for a type and a set of operations. The domain exists on the ranks of the context's team. The
 * call is collective over the team, and all ranks pass the same type, operations and flags.
 * Returns  TERN_OK: *out is the domain. All ranks return TERN_OK.
 *          TERN_ERR_ARG: a pointer is NULL, the type is complex or unknown, ops is empty or contains an operation that
 *            the type does not have, or a flag is unknown; or, on all ranks, ranks passed different values or made
 *            different collective calls.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks.
 * Remote   When the call returns, every rank of the team has the domain.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_atomic_domain_create(tern_ctx *ctx, tern_type type, uint32_t ops, uint32_t flags,
                                               tern_atomic_domain **out);

/* Free an atomic domain. The call is local: each rank frees the domain when its own operations with it are complete.
 * Returns  TERN_OK: the domain is freed.
 *          TERN_ERR_ARG: domain is NULL.
 *          TERN_ERR_STATE: Tern is not initialized, or the domain was freed before.
 * Remote   None.
 * Threads  Any thread may call this function. No other thread may use the domain any more. */
TERN_API tern_status tern_atomic_domain_free(tern_atomic_domain *domain);

/* Get the properties and the mechanism of an atomic domain. The call returns the type, the operations and the flags of
 * the domain, its mechanism, and the reason for the mechanism.
 * Returns  TERN_OK: the information is in *info.
 *          TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_STATE: the domain was freed.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_atomic_domain_info(const tern_atomic_domain *domain, tern_atomic_info *info);

/* Execute one atomic operation, and wait until it is complete. The operation works on the value at byte offset of
 * rank's part of region. If domain is NULL, args->type is the type of the value, and the operation is atomic with
 * respect to tern_fadd, tern_swap and tern_cas, to atomic instructions of the program, and to domains whose mechanism
 * is not TERN_ATOMIC_NETWORK. A fetching operation stores the previous value in *args->result.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, region, domain, args or a pointer that the operation needs is NULL, the operation is not
 *            one of the domain, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, the value does not lie in rank's part, or the mechanism
 *            of the domain is TERN_ATOMIC_NETWORK and rank is not in the team of the domain.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and the result is not stored.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_atomic(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                 uint64_t offset, const tern_atomic_args *args);

/* Start one atomic operation, with options. The operation works on the value at byte offset of rank's part of region.
 * If domain is NULL, args->type is the type of the value, and the operation is atomic with respect to tern_fadd,
 * tern_swap and tern_cas, to atomic instructions of the program, and to domains whose mechanism is not
 * TERN_ATOMIC_NETWORK. If opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation. Flags
 * are TERN_ACQUIRE and TERN_RELEASE in addition to those of rma.h. Unless TERN_IMMEDIATE is set, the call waits until
 * there are resources for the operation and until TERN_RELEASE is fulfilled. The call reads the operand before it
 * returns, so that opts->local is complete from the start. The result is undefined until opts->event completes or
 * tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted or TERN_RELEASE would
 *            have to wait.
 *          TERN_ERR_ARG: ctx, region, domain, args or a pointer that the operation needs is NULL, the operation is not
 *            one of the domain, the value is misaligned, a field of opts is invalid (see tern_opts), a
 *            counter belongs to another context, or TERN_ACQUIRE or TERN_RELEASE is combined with a counter.
 *          TERN_ERR_RANGE: rank is not in the context's team, the value does not lie in rank's part, or the mechanism
 *            of the domain is TERN_ATOMIC_NETWORK and rank is not in the team of the domain; or TERN_NOTIFY is set and
 *            rank is not in the region's team.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          After TERN_AGAIN and after an error, nothing has changed, and no event has been filled.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the new value is visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_atomic_with(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                      uint64_t offset, const tern_atomic_args *args, const tern_opts *opts);

/* Start one atomic operation, and fill an event. The operation works on the value at byte offset of rank's part of
 * region. If domain is NULL, args->type is the type of the value, and the operation is atomic with respect to
 * tern_fadd, tern_swap and tern_cas, to atomic instructions of the program, and to domains whose mechanism is not
 * TERN_ATOMIC_NETWORK. *event completes with the operation. The call reads the operand before it returns. The result is
 * undefined until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, domain, args or a pointer that the operation needs is NULL, the operation
 *            is not one of the domain, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, the value does not lie in rank's part, or the mechanism
 *            of the domain is TERN_ATOMIC_NETWORK and rank is not in the team of the domain.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          After an error, nothing has changed, and *event is unchanged.
 * Remote   When the event completes, the new value is visible to all ranks. The target does not have to call Tern for
 *          the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_nb(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                       uint64_t offset, const tern_atomic_args *args, tern_event *event)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_WANT_EVENT;
    opts.event = event;
    opts.call = "tern_atomic_nb";
    return tern_atomic_with(ctx, domain, region, rank, offset, args, &opts);
}

/* Start one atomic operation, which tern_quiet completes. The operation works on the value at byte offset of rank's
 * part of region. If domain is NULL, args->type is the type of the value, and the operation is atomic with respect to
 * tern_fadd, tern_swap and tern_cas, to atomic instructions of the program, and to domains whose mechanism is not
 * TERN_ATOMIC_NETWORK. The next tern_quiet on ctx completes the operation. The call reads the operand before it
 * returns. The result is undefined until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, domain, args or a pointer that the operation needs is NULL, the operation is not
 *            one of the domain, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, the value does not lie in rank's part, or the mechanism
 *            of the domain is TERN_ATOMIC_NETWORK and rank is not in the team of the domain.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          After an error, nothing has changed.
 * Remote   When tern_quiet returns, the new value is visible to all ranks. The target does not have to call Tern for
 *          the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_nbi(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                        uint64_t offset, const tern_atomic_args *args)
{
    return tern_atomic_with(ctx, domain, region, rank, offset, args, NULL);
}

TERN_END_DECLS

#include <tern/inline_atomic.h>

/* Update a value atomically, without fetching the previous value. Each call executes one operation of a domain on the
 * value at byte offset of rank's part of region, and waits until the operation is complete: tern_atomic_put stores
 * value; tern_atomic_add, _sub, _mult, _min, _max, _and, _or and _xor combine the value in memory with value;
 * tern_atomic_inc and tern_atomic_dec add and subtract 1. A call is an acquire and a release for the loads and stores
 * of this thread and for its completed operations.
 *
 * TYPE is an integer type of 8, 16, 32 or 64 bits, float or double, and must be the type of the domain: write
 * (uint64_t)1 rather than 1 in a domain of uint64_t. and, or and xor exist only for integers. Within a node, the
 * compiler inlines the operation, if its mechanism is not TERN_ATOMIC_NETWORK. These calls need C11 or C++11.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, domain or region is NULL, the operation is not one of the domain, the type of value is
 *            not the type of the domain, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, the value does not lie in rank's part, or the mechanism
 *            of the domain is TERN_ATOMIC_NETWORK and rank is not in the team of the domain.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
#define tern_atomic_put(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_PUT, "tern_atomic_put", ctx, domain, region, rank, offset, value)
#define tern_atomic_add(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_ADD, "tern_atomic_add", ctx, domain, region, rank, offset, value)
#define tern_atomic_sub(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_SUB, "tern_atomic_sub", ctx, domain, region, rank, offset, value)
#define tern_atomic_inc(ctx, domain, region, rank, offset) \
    tern_inline_run(ctx, domain, region, rank, offset,     \
                    tern_inline_make(TERN_ATOMIC_INC, TERN_INLINE_ANY_TYPE, 0, 1, "tern_atomic_inc"), NULL)
#define tern_atomic_dec(ctx, domain, region, rank, offset) \
    tern_inline_run(ctx, domain, region, rank, offset,     \
                    tern_inline_make(TERN_ATOMIC_DEC, TERN_INLINE_ANY_TYPE, 0, 1, "tern_atomic_dec"), NULL)
#define tern_atomic_mult(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_MULT, "tern_atomic_mult", ctx, domain, region, rank, offset, value)
#define tern_atomic_min(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_MIN, "tern_atomic_min", ctx, domain, region, rank, offset, value)
#define tern_atomic_max(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_MAX, "tern_atomic_max", ctx, domain, region, rank, offset, value)
#define tern_atomic_and(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_AND, "tern_atomic_and", ctx, domain, region, rank, offset, value)
#define tern_atomic_or(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_OR, "tern_atomic_or", ctx, domain, region, rank, offset, value)
#define tern_atomic_xor(ctx, domain, region, rank, offset, value) \
    TERN_INLINE_UPDATE(TERN_ATOMIC_XOR, "tern_atomic_xor", ctx, domain, region, rank, offset, value)

/* Update a value atomically, and fetch the previous value. Each call executes one operation of a domain on the value at
 * byte offset of rank's part of region, waits until the operation is complete, and stores the previous value in
 * *result: tern_atomic_get changes nothing; tern_atomic_swap stores value; tern_atomic_fadd, _fsub, _fmult, _fmin,
 * _fmax, _fand, _for and _fxor combine the value in memory with value; tern_atomic_finc and tern_atomic_fdec add and
 * subtract 1. value is converted to the type of *result. A call is an acquire and a release for the loads and stores of
 * this thread and for its completed operations.
 *
 * TYPE is an integer type of 8, 16, 32 or 64 bits, float or double, and is the type of *result, which must be that of
 * the domain. and, or and xor exist only for integers. Within a node, the compiler inlines the operation, if its
 * mechanism is not TERN_ATOMIC_NETWORK. These calls need C11 or C++11.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, domain, region or result is NULL, the operation is not one of the domain, the type of
 *            *result is not the type of the domain, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, the value does not lie in rank's part, or the mechanism
 *            of the domain is TERN_ATOMIC_NETWORK and rank is not in the team of the domain.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and *result is unchanged.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
#define tern_atomic_get(ctx, domain, region, rank, offset, result) \
    TERN_INLINE_FETCH(TERN_ATOMIC_GET, "tern_atomic_get", ctx, domain, region, rank, offset, result)
#define tern_atomic_finc(ctx, domain, region, rank, offset, result) \
    TERN_INLINE_FETCH(TERN_ATOMIC_FINC, "tern_atomic_finc", ctx, domain, region, rank, offset, result)
#define tern_atomic_fdec(ctx, domain, region, rank, offset, result) \
    TERN_INLINE_FETCH(TERN_ATOMIC_FDEC, "tern_atomic_fdec", ctx, domain, region, rank, offset, result)
#define tern_atomic_swap(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_SWAP, "tern_atomic_swap", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_fadd(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FADD, "tern_atomic_fadd", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_fsub(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FSUB, "tern_atomic_fsub", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_fmult(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FMULT, "tern_atomic_fmult", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_fmin(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FMIN, "tern_atomic_fmin", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_fmax(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FMAX, "tern_atomic_fmax", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_fand(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FAND, "tern_atomic_fand", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_for(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FOR, "tern_atomic_for", 1, ctx, domain, region, rank, offset, value, result)
#define tern_atomic_fxor(ctx, domain, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FXOR, "tern_atomic_fxor", 1, ctx, domain, region, rank, offset, value, result)

/* Compare a value and swap it atomically if it is as expected. If the value at byte offset of rank's part of region
 * equals *expected, the call stores desired. In every case, it stores the previous value in *expected; the swap has
 * happened if *expected is unchanged. Values are compared bit by bit: 0.0 differs from -0.0. desired is converted to
 * the type of *expected. The call waits until the operation is complete, and is an acquire and a release for the loads
 * and stores of this thread and for its completed operations.
 *
 * TYPE is an integer type of 8, 16, 32 or 64 bits, float or double, and is the type of *expected, which must be that of
 * the domain. Within a node, the compiler inlines the operation, if its mechanism is not TERN_ATOMIC_NETWORK. The call
 * needs C11 or C++11.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, domain, region or expected is NULL, the operation is not one of the domain, the type of
 *            *expected is not the type of the domain, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, the value does not lie in rank's part, or the mechanism
 *            of the domain is TERN_ATOMIC_NETWORK and rank is not in the team of the domain.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and *expected is unchanged.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
#define tern_atomic_cas(ctx, domain, region, rank, offset, expected, desired) \
    TERN_INLINE_CAS("tern_atomic_cas", 1, ctx, domain, region, rank, offset, expected, desired)

/* Fetch and add, swap, or compare and swap without a domain. Each call works on the value at byte offset of rank's part
 * of region, and waits until the operation is complete. tern_fadd adds value, and tern_swap stores value; both store
 * the previous value in *result. tern_cas stores desired if the value equals *expected, and stores the previous value
 * in *expected in every case; the swap has happened if *expected is unchanged. A call is an acquire and a release for
 * the loads and stores of this thread and for its completed operations.
 *
 * The operations are atomic with respect to each other, to atomic instructions of the program, and to domains whose
 * mechanism is not TERN_ATOMIC_NETWORK. tern_atomic executes the other operations in this way if its domain is NULL.
 * TYPE, the type of *result or *expected, is an integer type of 8, 16, 32 or 64 bits, float or double; value and
 * desired are converted to it. Within a node, the compiler inlines the operation. These calls need C11 or C++11.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, region, result or expected is NULL, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and *result or *expected is unchanged.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
#define tern_fadd(ctx, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_FADD, "tern_fadd", 0, ctx, NULL, region, rank, offset, value, result)
#define tern_swap(ctx, region, rank, offset, value, result) \
    TERN_INLINE_BOTH(TERN_ATOMIC_SWAP, "tern_swap", 0, ctx, NULL, region, rank, offset, value, result)
#define tern_cas(ctx, region, rank, offset, expected, desired) \
    TERN_INLINE_CAS("tern_cas", 0, ctx, NULL, region, rank, offset, expected, desired)

#endif
