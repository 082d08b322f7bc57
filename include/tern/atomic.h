/* atomic.h: atomic operations on memory of other ranks.
 *
 * A domain is made collectively, for one type and a set of operations. When it is made, one mechanism is chosen for all
 * its ranks: the fastest that can do the whole set, and never two that do not see each other's work
 * (tern_atomic_domain_info tells which, and why):
 *   TERN_ATOMIC_MEMORY   the processor's atomic instructions, by the initiator, through shared memory
 *   TERN_ATOMIC_TARGET   the processor's atomic instructions: by the initiator where loads and stores reach the
 *                        target's memory, elsewhere by a thread of the target, beside its program
 *   TERN_ATOMIC_NETWORK  the network's own atomics, for all ranks, those of the same node and this one included
 * Under the first two, operations are atomic also with respect to the program's own atomic instructions, to other
 * domains of these mechanisms, and to tern_fadd_u64 and its kin, which need no domain. The network's own are atomic
 * only with respect to operations of domains that use them; a domain that is made with TERN_ATOMIC_LOADS or
 * TERN_ATOMIC_STORES never uses them.
 *
 * Forms. The typed calls, tern_atomic_fadd_u64 and so on, are inlined, take values and block. Every call returns a
 * status, so what was there comes back through a pointer; compilers keep it in a register. They are in
 * tern/atomic_integers.h, tern/atomic_floats.h and tern/rmw.h, which this header includes. tern_atomic does any
 * operation and blocks; tern_atomic_nb gives an event; tern_atomic_nbi is completed by the next tern_quiet;
 * tern_atomic_with takes options: TERN_IMMEDIATE never waits for room, TERN_ACQUIRE and TERN_RELEASE order.
 *
 * Order. Blocking calls are acquire and release: as of a C11 atomic with memory_order_acq_rel, of this thread's loads
 * and stores and of the operations that it has completed. The others are relaxed unless a flag says otherwise.
 * TERN_RELEASE: everything that the context started before is complete before the operation is done. TERN_ACQUIRE: what
 * the operation saw is visible to this thread once it knows that the operation is done. On strict contexts atomics have
 * their place among puts and gets; tern_fence and tern_quiet cover them as they cover these.
 *
 * Values. Integers wrap around, signed ones too. min and max store the operand if it compares less, or greater, than
 * what is there: a NaN that is there stays, and a NaN as the operand changes nothing. swap and cas compare and move
 * bits: a float NaN can be swapped in and compared, and 0.0 is not -0.0. Floating-point sums are rounded as by one
 * thread that adds in the order in which the operations happen. A sum that a thread of the target computes is rounded
 * to nearest; one that the caller computes itself, through shared memory, in the caller's own rounding mode.
 *
 * The target is an offset at a multiple of the type's size in the owner's address space. In handlers of active messages
 * atomics are allowed where puts are, but for memory that its owner registered (paths cma and bounce): there they wait
 * for a thread of the target.
 */
#ifndef TERN_ATOMIC_H
#define TERN_ATOMIC_H

#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/region.h>
#include <tern/rma.h>
#include <tern/status.h>
#include <tern/type.h>

TERN_BEGIN_DECLS

/* Every operation: X(name, bit, text). The first half give back nothing, but get; those with F before their name and
 * swap, cas and get give back what was there before. inc and dec take no operand; cas stores the operand if what is
 * there equals compare. and, or and xor are for integers. */
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

/* An operation is a bit, so that a set of them is their sum. */
#define TERN_ATOMIC_AS_ENUM(name, bit, text) name = 1 << (bit),
typedef enum tern_atomic_op {
    TERN_ATOMIC_OP_LIST(TERN_ATOMIC_AS_ENUM) TERN_ATOMIC_OP_RESERVED = 1 << 30
} tern_atomic_op;
#undef TERN_ATOMIC_AS_ENUM

#define TERN_ATOMIC_OPS 24u                                             /* how many there are */
#define TERN_ATOMIC_ALL ((1u << TERN_ATOMIC_OPS) - 1)                   /* the set of all of them */
#define TERN_ATOMIC_BITWISE (0x3800u | 0xe00000u)                       /* and, or, xor and their fetching forms */
#define TERN_ATOMIC_ARITHMETIC (TERN_ATOMIC_ALL & ~TERN_ATOMIC_BITWISE) /* all that float and double have */
#define TERN_ATOMIC_FETCHING (0xffc000u | 0x1u | 0x4u | 0x8u)           /* those that give back what was there */

/* Flags of a domain: the program reads, or writes, its locations also by other means than operations of domains, while
 * such operations may be under way: by loads and stores of its own, puts and gets. Accumulates are not atomic with
 * respect to domains, whatever the flags (tern/acc.h). */
#define TERN_ATOMIC_LOADS 0x1u
#define TERN_ATOMIC_STORES 0x2u

/* Flags of an operation, in tern_opts, beside TERN_IMMEDIATE and TERN_WANT_EVENT. */
#define TERN_ACQUIRE 0x4u
#define TERN_RELEASE 0x8u

typedef enum tern_atomic_mechanism {
    TERN_ATOMIC_MEMORY = 0,
    TERN_ATOMIC_TARGET = 1,
    TERN_ATOMIC_NETWORK = 2
} tern_atomic_mechanism;

typedef struct tern_atomic_domain tern_atomic_domain;

#define TERN_ATOMIC_TYPES 6 /* TERN_INT32 ... TERN_DOUBLE */

/* How a domain begins: what the inlined calls read. This layout is stable within a major version. */
struct tern_atomic_head {
    uint32_t direct[TERN_ATOMIC_TYPES]; /* by type, the operations that may be done where loads and stores reach */
};

/* What tern_atomic_domain_info tells. */
typedef struct tern_atomic_info {
    tern_type             type;
    uint32_t              ops;   /* as the domain was made */
    uint32_t              flags; /* the same */
    tern_atomic_mechanism mechanism;
    const char           *name; /* of the mechanism: "memory", "target" or "network" */
    const char           *why;  /* it was chosen; valid until the domain is freed */
} tern_atomic_info;

/* One operation. Values are of the domain's type. */
typedef struct tern_atomic_args {
    tern_atomic_op op;
    const void    *operand; /* NULL for get, inc and dec and their fetching forms; read before the call returns */
    const void    *compare; /* of cas; NULL otherwise */
    void *result; /* where what was there goes; not NULL for operations that give it back, not used otherwise */
} tern_atomic_args;

/* Memory that holds a value, whatever its type in the program. */
typedef uint32_t tern_atomic_word32 __attribute__((may_alias));
typedef uint64_t tern_atomic_word64 __attribute__((may_alias));

/* Make a domain for a type and a set of operations on the ranks of the context's team. Collective over the team; all
 * ranks pass the same type, set and flags.
 * Returns  TERN_OK and the domain in *out, on all ranks. On all ranks the same error otherwise, and nothing is left:
 *          TERN_ERR_ARG: a pointer is NULL, the type is complex or none, the set is empty or has bits that are no
 *          operations of the type, a flag is unknown, or ranks passed different ones. TERN_ERR_NOMEM. TERN_ERR_PEER: a
 *          rank died. TERN_ERR_TIMEOUT: a rank did not come in time; the team can make no more collective calls but
 *          tern_region_free. TERN_ERR_STATE: not initialized, another thread is in a collective call on the team, or an
 *          earlier one timed out.
 * Remote   returns when every rank has the domain.
 * Threads  the one that uses ctx; one collective call per team at a time. */
TERN_API tern_status tern_atomic_domain_create(tern_ctx *ctx, tern_type type, uint32_t ops, uint32_t flags,
                                               tern_atomic_domain **out);

/* Give up a domain. Each rank for itself, when its own operations with it are complete.
 * Returns  TERN_OK. TERN_ERR_ARG: domain is NULL. TERN_ERR_STATE: not initialized, or it was freed before.
 * Remote   none.
 * Threads  any; no other thread uses the domain any more. */
TERN_API tern_status tern_atomic_domain_free(tern_atomic_domain *domain);

/* What a domain is, by which mechanism its operations are done, and why.
 * Returns  TERN_OK and the answer in *info. TERN_ERR_ARG: a pointer is NULL. TERN_ERR_STATE: the domain was freed.
 * Remote   none.
 * Threads  any. */
TERN_API tern_status tern_atomic_domain_info(const tern_atomic_domain *domain, tern_atomic_info *info);

/* Do one operation on the value at byte offset of rank's part of region.
 * Returns  TERN_OK when it is done and *args->result is what was there. TERN_ERR_ARG: a pointer is NULL that the
 *          operation needs, it is not one of the domain's, or the offset is misaligned. TERN_ERR_RANGE: no such rank or
 *          offset, or the mechanism is the network's and rank is not in the domain's team. TERN_ERR_STATE: the domain
 *          was freed, or this is a handler that would have to wait. TERN_ERR_PEER: rank is gone. TERN_ERR_NOMEM. After
 *          these errors nothing was changed. TERN_ERR_TIMEOUT: the context's time limit passed; the operation may
 *          happen until tern_quiet has returned, and the result is not written. TERN_ERR_LINK: the memory that rank
 *          registered is not mapped there any more, or the network failed. A rank that dies during the call may have
 *          done the operation.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_atomic(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                 uint64_t offset, const tern_atomic_args *args);

/* Start one operation, with options; opts NULL: as tern_atomic_nbi. The operand may be overwritten when the call
 * returns, so that the local event is done from the start. The result is undefined until the operation is done.
 * Returns  TERN_OK: started, perhaps done. TERN_AGAIN: TERN_IMMEDIATE was given and there is no room, or TERN_RELEASE
 *          would have to wait; nothing was started. TERN_ERR_ARG: as tern_atomic, or a flag is unknown. Other errors as
 *          tern_atomic; TERN_ERR_TIMEOUT: no room within the context's time limit. After TERN_AGAIN and after an error
 *          nothing was changed and no event was filled.
 * Remote   visible to every rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_atomic_with(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                      uint64_t offset, const tern_atomic_args *args, const tern_opts *opts);

/* Start one operation and fill an event.
 * Returns  as tern_atomic_with.
 * Remote   visible to every rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_nb(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                       uint64_t offset, const tern_atomic_args *args, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_atomic_with(ctx, domain, region, rank, offset, args, &opts);
}

/* Start one operation, which the next tern_quiet completes.
 * Returns  as tern_atomic_with.
 * Remote   visible to every rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_nbi(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                        uint64_t offset, const tern_atomic_args *args)
{
    return tern_atomic_with(ctx, domain, region, rank, offset, args, NULL);
}

/* The part of the typed calls that is not inlined; type is the call's. Use those.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   as tern_atomic.
 * Threads  as tern_atomic. */
TERN_API tern_status tern_atomic_far(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                     uint64_t offset, tern_type type, const tern_atomic_args *args);

/* The part of tern_fadd_u32, tern_fadd_u64, tern_swap_u32 and tern_swap_u64 that is not inlined. Use those.
 * Returns  as tern_atomic.
 * Remote   as tern_atomic.
 * Threads  as tern_atomic. */
TERN_API tern_status tern_rmw_far(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, tern_type type,
                                  const tern_atomic_args *args);

/* Where an operation of a type may be done by loads and stores of this process.
 * Returns  the address; NULL: the library has to do it, or to say what is wrong.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_INLINE void *tern_atomic_direct(const tern_ctx *ctx, const tern_atomic_domain *domain, const tern_region *region,
                                     int rank, uint64_t offset, tern_type type, uint32_t op)
{
    const struct tern_atomic_head *head = (const struct tern_atomic_head *)(const void *)domain;
    uint64_t                       size = type == TERN_INT32 || type == TERN_UINT32 || type == TERN_FLOAT ? 4 : 8;
    unsigned char                 *at = tern_direct(ctx, region, rank, offset, size);

    if (TERN_UNLIKELY(at == NULL || head == NULL || (head->direct[type] & op) == 0 ||
                      ((uintptr_t)at & (size - 1)) != 0))
        return NULL;
    return at;
}

TERN_END_DECLS

#include <tern/atomic_floats.h>
#include <tern/atomic_integers.h>
#include <tern/rmw.h>

#endif
