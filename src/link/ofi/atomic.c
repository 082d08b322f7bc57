/* atomic.c: atomic operations of the provider.
 *
 * Provider atomics are offered to the core if the provider supports the whole set of operations of a type, and
 * executes them without help of the target's process (FI_PROGRESS_AUTO). A provider that needs help executes them in
 * software, in its own way and on the thread that polls its queue; Tern's RPCs do the same with the processor's
 * atomic instructions. TERN_OFI_ATOMICS overrides this choice.
 *
 * Every operation is a fetching one: its completion carries the result, so that the operation is known to be
 * executed. sub adds the negated operand. Operations that only move bits (get, put, swap, cas) use an integer type
 * for all types, so that a comparison compares bits.
 */
#include <rdma/fi_atomic.h>
#include <stdio.h>
#include <string.h>
#include <tern/atomic.h>

#include "link/ofi/ofi.h"

#define MOVES \
    ((uint32_t)TERN_ATOMIC_GET | (uint32_t)TERN_ATOMIC_PUT | (uint32_t)TERN_ATOMIC_SWAP | (uint32_t)TERN_ATOMIC_CAS)
#define ADD 4        /* number of add in TERN_ATOMIC_OP_LIST */
#define COMPARE_AT 8 /* offsets in the bounce buffer, which holds the operand, the compare value and the result */
#define RESULT_AT 16

static enum fi_datatype datatype_of(unsigned type, uint32_t op)
{
    static const enum fi_datatype of[TERN_ATOMIC_TYPES] = {
        [TERN_INT32] = FI_INT32, [TERN_UINT32] = FI_UINT32, [TERN_INT64] = FI_INT64, [TERN_UINT64] = FI_UINT64,
        [TERN_FLOAT] = FI_FLOAT, [TERN_DOUBLE] = FI_DOUBLE, [TERN_INT8] = FI_INT8,   [TERN_UINT8] = FI_UINT8,
        [TERN_INT16] = FI_INT16, [TERN_UINT16] = FI_UINT16,
    };
    static const enum fi_datatype bits_of[TERN_ATOMIC_TYPES] = {
        [TERN_INT32] = FI_UINT32, [TERN_UINT32] = FI_UINT32, [TERN_INT64] = FI_UINT64, [TERN_UINT64] = FI_UINT64,
        [TERN_FLOAT] = FI_UINT32, [TERN_DOUBLE] = FI_UINT64, [TERN_INT8] = FI_UINT8,   [TERN_UINT8] = FI_UINT8,
        [TERN_INT16] = FI_UINT16, [TERN_UINT16] = FI_UINT16,
    };

    return op & MOVES ? bits_of[type] : of[type];
}

_Static_assert(TERN_ATOMIC_ADD == 1 << ADD && TERN_ATOMIC_FADD == TERN_ATOMIC_XOR << 1 &&
                   TERN_ATOMIC_FXOR / TERN_ATOMIC_FADD == TERN_ATOMIC_XOR / TERN_ATOMIC_ADD,
               "the fetching forms follow in the same order");

static enum fi_op op_of(uint32_t op)
{
    /* In the order of TERN_ATOMIC_OP_LIST, from get to xor. The fetching forms of add to xor follow there. */
    static const enum fi_op of[] = { FI_ATOMIC_READ, FI_ATOMIC_WRITE, FI_ATOMIC_WRITE, FI_CSWAP, FI_SUM,
                                     FI_SUM,         FI_SUM,          FI_SUM,          FI_PROD,  FI_MIN,
                                     FI_MAX,         FI_BAND,         FI_BOR,          FI_BXOR };
    unsigned                number = (unsigned)__builtin_ctz(op), count = sizeof(of) / sizeof(of[0]);

    return of[number < count ? number : number - count + ADD];
}

/* ---- supported operations ---- */

static bool is_valid(struct ofi_link *ofi, unsigned type, uint32_t op)
{
    enum fi_datatype datatype = datatype_of(type, op);
    size_t           count = 0;
    int              rc = op == TERN_ATOMIC_CAS ? fi_compare_atomicvalid(ofi->endpoint.ep, datatype, FI_CSWAP, &count)
                                                : fi_fetch_atomicvalid(ofi->endpoint.ep, datatype, op_of(op), &count);

    return rc == 0 && count >= 1;
}

/* Returns the first operation of the set that the provider does not support, or 0 if it supports all of them. */
static uint32_t first_lack(struct ofi_link *ofi, unsigned type, uint32_t ops)
{
    uint32_t lack = 0;

    pthread_mutex_lock(&ofi->net.lock);
    for (; ops != 0 && lack == 0; ops &= ops - 1)
        if (!is_valid(ofi, type, ops & -ops))
            lack = ops & -ops;
    pthread_mutex_unlock(&ofi->net.lock);
    return lack;
}

bool tern_ofi_atomics(struct tern_link *link, unsigned type, uint32_t ops, char *why, size_t size)
{
    struct ofi_link *ofi = tern_ofi(link);
    const char      *provider = ofi->endpoint.info->fabric_attr->prov_name;
    uint32_t         lack;

    if (tern_opt.ofi_atomics == TERN_OFI_ATOMICS_TARGET)
        snprintf(why, size, "TERN_OFI_ATOMICS leaves atomics to the target");
    else if (!ofi->endpoint.fabric.atomics)
        snprintf(why, size, "provider %s has no atomics", provider);
    else if (tern_opt.ofi_atomics == TERN_OFI_ATOMICS_AUTO &&
             ofi->endpoint.info->domain_attr->data_progress != FI_PROGRESS_AUTO)
        snprintf(why, size, "provider %s needs the help of the target's process, as Tern's own way does", provider);
    else if ((lack = first_lack(ofi, type, ops)) != 0)
        snprintf(why, size, "provider %s lacks operation 0x%x of the set", provider, lack);
    else {
        snprintf(why, size, "provider %s", provider);
        return true;
    }
    return false;
}

/* ---- one operation ---- */

/* Returns the negated value of the type, as bits. */
static uint64_t negated(unsigned type, uint64_t bits)
{
    switch (type) {
    case TERN_FLOAT: return bits ^ 0x80000000u;
    case TERN_DOUBLE: return bits ^ 0x8000000000000000u;
    default: return 0 - bits;
    }
}

static uint64_t one_of(unsigned type)
{
    return type == TERN_FLOAT ? 0x3f800000u : type == TERN_DOUBLE ? 0x3ff0000000000000u : 1;
}

/* Returns the operand that is passed to the provider. */
static uint64_t operand_of(const struct tern_link_atomic *a)
{
    switch (a->op) {
    case TERN_ATOMIC_INC:
    case TERN_ATOMIC_FINC: return one_of(a->type);
    case TERN_ATOMIC_DEC:
    case TERN_ATOMIC_FDEC: return negated(a->type, one_of(a->type));
    case TERN_ATOMIC_SUB:
    case TERN_ATOMIC_FSUB: return negated(a->type, a->operand);
    default: return a->operand;
    }
}

static int atomic_post(struct net_link *net, struct net_ctx *ctx)
{
    struct ofi_wr          *wr = (struct ofi_wr *)ctx;
    struct fid_ep          *ep = tern_ofi(net)->endpoint.ep;
    unsigned char          *buf = wr->bounce;
    void                   *desc = wr->desc;
    const struct tern_xfer *xfer;
    uint64_t                there, key;

    if (!wr->op || wr->op->net.cancelled) {
        tern_ofi_wr_end(tern_ofi(net), wr);
        return 0;
    }
    xfer = &wr->op->xfer;
    there = xfer->part->remote + xfer->offset;
    key = tern_link_part_key(xfer->part);
    if (wr->action == FI_CSWAP)
        return (int)fi_compare_atomic(ep, buf, 1, desc, buf + COMPARE_AT, desc, buf + RESULT_AT, desc, ctx->peer->addr,
                                      there, key, wr->type, FI_CSWAP, ctx);
    return (int)fi_fetch_atomic(ep, buf, 1, desc, buf + RESULT_AT, desc, ctx->peer->addr, there, key, wr->type,
                                wr->action, ctx);
}

static void atomic_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    struct ofi_wr       *wr = (struct ofi_wr *)ctx;
    struct tern_link_op *op = wr->op;

    if (op && error != 0)
        tern_net_op_fail(op, error);
    else if (op && op->on_response && !op->net.cancelled)
        op->on_response(op, wr->bounce + RESULT_AT, op->xfer.len);
    tern_ofi_wr_end(tern_ofi(net), wr);
}

tern_status tern_ofi_atomic_start(struct tern_lane *lane, const struct tern_link_atomic *atomic,
                                  struct tern_link_op *op)
{
    struct net_link *net = ((struct net_lane *)lane)->net;
    uint64_t         values[2] = { operand_of(atomic), atomic->compare };
    struct ofi_wr   *wr;
    tern_status      st;

    if (tern_boot_gone(net->boot, atomic->xfer.part->rank))
        return tern_net_peer_gone(atomic->xfer.part->rank);
    pthread_mutex_lock(&net->lock);
    if ((wr = tern_ofi_op_begin((struct net_lane *)lane, &atomic->xfer, op, atomic_post, atomic_ended, &st))) {
        memcpy(wr->bounce, values, sizeof(values)); /* little-endian: a value begins with its lowest byte */
        wr->type = (uint8_t)datatype_of(atomic->type, atomic->op);
        wr->action = (uint8_t)op_of(atomic->op);
        op->net.atomic = true;
        op->on_response = atomic->on_result;
        tern_net_post(net, &wr->ctx);
        st = TERN_PENDING;
    }
    pthread_mutex_unlock(&net->lock);
    return st;
}
