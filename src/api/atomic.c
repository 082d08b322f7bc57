/* atomic.c: the public calls of tern/atomic.h that are not inlined: check, read the operand, then call op/atomic. */
#include <tern/atomic.h>

#include <stdio.h>
#include <string.h>

#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "base/bits.h"
#include "base/log.h"
#include "core/domain.h"
#include "core/job.h"
#include "core/region.h"
#include "op/atomic/exec.h"
#include "op/atomic/atomic.h"
#include "op/trigger/engine.h"
#include "op/notify/notify.h"

#define TAKES_NO_OPERAND                                                                                              \
    ((uint32_t)TERN_ATOMIC_GET | (uint32_t)TERN_ATOMIC_INC | (uint32_t)TERN_ATOMIC_DEC | (uint32_t)TERN_ATOMIC_FINC | \
     (uint32_t)TERN_ATOMIC_FDEC)

#define AS_TEXT(name, bit, text) text,
static const char *const op_text[] = { TERN_ATOMIC_OP_LIST(AS_TEXT) };
_Static_assert(sizeof(op_text) / sizeof(op_text[0]) == TERN_ATOMIC_OPS, "every operation has its name");
#define AS_TYPE_TEXT(name, type, bytes, text) text,
static const char *const type_text[] = { TERN_TYPE_LIST(AS_TYPE_TEXT) };
static const char *const mechanism_text[] = {
    [TERN_ATOMIC_MEMORY] = "memory", [TERN_ATOMIC_TARGET] = "target", [TERN_ATOMIC_NETWORK] = "network"
};

/* ---- domains ---- */

/* Write the names of a set of operations. */
static void name_ops(uint32_t ops, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned bit = 0; bit < TERN_ATOMIC_OPS && used < size; bit++)
        if (ops >> bit & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", op_text[bit]);
}

static tern_status check_create(tern_type type, uint32_t ops, uint32_t flags)
{
    char names[200];

    if (tern_op_exec_ops((uint32_t)type) == 0)
        return tern_base_fail(TERN_ERR_ARG, "type %u (%s) has no atomic operations; integers, float and double have",
                              (unsigned)type, (unsigned)type < TERN_TYPES ? type_text[type] : "none");
    if (ops == 0)
        return tern_base_fail(TERN_ERR_ARG, "the set of operations is empty");
    if (ops & ~tern_op_exec_ops((uint32_t)type)) {
        name_ops(tern_op_exec_ops((uint32_t)type), names, sizeof(names));
        return tern_base_fail(TERN_ERR_ARG, "the bits 0x%x of ops are no operations of %s, which has %s",
                              ops & ~tern_op_exec_ops((uint32_t)type), type_text[type], names);
    }
    if (flags & ~(TERN_ATOMIC_LOADS | TERN_ATOMIC_STORES))
        return tern_base_fail(TERN_ERR_ARG, "unknown flags 0x%x; known are TERN_ATOMIC_LOADS and TERN_ATOMIC_STORES",
                              flags & ~(TERN_ATOMIC_LOADS | TERN_ATOMIC_STORES));
    return TERN_OK;
}

tern_status tern_atomic_domain_create(tern_ctx *ctx, tern_type type, uint32_t ops, uint32_t flags,
                                      tern_atomic_domain **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_atomic_domain_create");

    if (use.status < 0)
        return use.status;

    const struct tern_atomic_domain asked = { .type = type, .ops = ops, .flags = flags };
    tern_status                     st = tern_api_claim(ctx, out, "tern_atomic_domain_create");

    if (st < 0)
        return st;
    st = tern_core_domain_create(ctx, &asked, check_create(type, ops, flags), out);
    tern_core_team_release(ctx->team);
    if (st == TERN_OK)
        tern_base_log(TERN_LOG_DEBUG, "tern_atomic_domain_create: a domain of %s by %s: %s", type_text[type],
                      mechanism_text[(*out)->mechanism], (*out)->why);
    return st;
}

static __attribute__((cold, noinline)) tern_status was_freed(const char *what)
{
    return tern_api_freed(what, "the domain");
}

tern_status tern_atomic_domain_free(tern_atomic_domain *domain)
{
    tern_status st = tern_core_job_running("tern_atomic_domain_free");

    if (st < 0)
        return st;
    if (!domain)
        return tern_api_null("tern_atomic_domain_free", "domain");
    return tern_core_domain_free(domain) ? TERN_OK : was_freed("tern_atomic_domain_free");
}

tern_status tern_atomic_domain_info(const tern_atomic_domain *domain, tern_atomic_info *info)
{
    tern_status st;

    if (!domain || !info)
        return tern_api_null("tern_atomic_domain_info", domain ? "info" : "domain");
    if (domain->freed || (st = tern_core_job_running("tern_atomic_domain_info")) < 0)
        return domain->freed ? was_freed("tern_atomic_domain_info") : st;
    *info = (tern_atomic_info){ .type = domain->type,
                                .ops = domain->ops,
                                .flags = domain->flags,
                                .mechanism = domain->mechanism,
                                .name = mechanism_text[domain->mechanism],
                                .why = domain->why };
    return TERN_OK;
}

/* ---- checks ---- */

/* The arguments of a call. */
struct call {
    tern_ctx                 *ctx;
    const tern_atomic_domain *domain; /* NULL: the call needs no domain */
    tern_region              *region;
    int                       rank;
    const char               *what;
};

static const char *op_name(uint32_t op)
{
    unsigned bit = op != 0 ? (unsigned)__builtin_ctz(op) : TERN_ATOMIC_OPS;

    return bit < TERN_ATOMIC_OPS && (op & (op - 1)) == 0 ? op_text[bit] : "none";
}

static __attribute__((cold, noinline)) tern_status refuse_args(const struct call *c, const tern_atomic_args *args)
{
    uint32_t op = (uint32_t)args->op;

    if (!tern_op_exec_supports(TERN_UINT64, op))
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: 0x%x is no operation; args->op is one of TERN_ATOMIC_GET (0x%x) to 0x%x", c->what,
                              op, (unsigned)TERN_ATOMIC_GET, 1u << (TERN_ATOMIC_OPS - 1));
    return tern_base_fail(TERN_ERR_ARG, "%s: %s needs %s, which is NULL", c->what, op_name(op),
                          !args->operand && !(op & TAKES_NO_OPERAND) ? "an operand"
                          : op == TERN_ATOMIC_CAS && !args->compare  ? "compare"
                                                                     : "a place for the result");
}

/* Read the operands that the operation needs. */
static tern_status read_args(const struct call *c, const tern_atomic_args *args, struct tern_op_atomic *a)
{
    uint32_t op;
    size_t   size = tern_op_exec_size(a->type);

    if (!args)
        return tern_api_null(c->what, "args");
    op = (uint32_t)args->op;
    if (TERN_UNLIKELY(!tern_op_exec_supports(TERN_UINT64, op) || (!args->operand && !(op & TAKES_NO_OPERAND)) ||
                      (op == TERN_ATOMIC_CAS && !args->compare) || (!args->result && (op & TERN_ATOMIC_FETCHING))))
        return refuse_args(c, args);
    a->op = op;
    if (!(op & TAKES_NO_OPERAND))
        tern_op_exec_copy(&a->operand, args->operand, size); /* little-endian: the lower bytes */
    if (op == TERN_ATOMIC_CAS)
        tern_op_exec_copy(&a->compare, args->compare, size);
    a->result = op & TERN_ATOMIC_FETCHING ? args->result : NULL;
    return TERN_OK;
}

static tern_status check_domain(const struct call *c, tern_type type, uint32_t op)
{
    const tern_atomic_domain *d = c->domain;
    char                      names[200];

    if (d->freed)
        return was_freed(c->what);
    if (d->type != type)
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: the domain was created for the type %s, and the call is for the type %s; use a "
                              "domain of that type",
                              c->what, type_text[d->type], type_text[type]);
    if (!(d->ops & op)) {
        name_ops(d->ops, names, sizeof(names));
        return tern_base_fail(TERN_ERR_ARG, "%s: %s is not one of the operations that the domain was made for: %s",
                              c->what, op_name(op), names);
    }
    return TERN_OK;
}

static bool is_member(const struct tern_team *team, int world)
{
    for (int i = 0; i < team->size; i++)
        if (tern_core_team_world(team, i) == world)
            return true;
    return false;
}

/* Replace the part by the part through which the network's own atomics reach the memory, for domains whose operations
 * all use these atomics. */
static tern_status by_network(const struct call *c, struct tern_op_atomic *a)
{
    if (!is_member(c->domain->team, a->part->rank))
        return tern_base_fail(TERN_ERR_RANGE,
                              "%s: rank %d is not in the team of the domain, whose operations the network does",
                              c->what, c->rank);
    a->network = true;
    if (!c->region->dynamic) /* for a dynamic region, tern_api_locate has found this part */
        a->part = &c->region->net[a->part->rank];
    return TERN_OK;
}

/* Make all checks and fill in the part. */
static tern_status check_target(const struct call *c, uint64_t offset, struct tern_op_atomic *a)
{
    size_t      size = tern_op_exec_size(a->type);
    tern_status st = tern_api_part(c->ctx, c->region, c->rank, c->what, &a->part);

    if (st < 0)
        return st;
    if (tern_api_is_dynamic(a->part)) {
        struct tern_api_location location = { .part = a->part,
                                              .offset = offset,
                                              .len = size,
                                              .by_network = c->domain && c->domain->mechanism == TERN_ATOMIC_NETWORK };

        if ((st = tern_api_locate(c->ctx, c->region, c->rank, c->what, &location)) < 0)
            return st;
        a->part = location.part;
        offset = location.offset;
    }
    if (TERN_UNLIKELY(!tern_base_covers(tern_link_part_size(a->part), offset, size)))
        return tern_api_outside(a->part, c->rank, offset, size, c->what);
    if (((a->part->addr + offset) & (size - 1)) != 0) /* the size is a power of two */
        return tern_base_fail(TERN_ERR_ARG, "%s: offset %llu of rank %d is address 0x%llx there, no multiple of %zu",
                              c->what, (unsigned long long)offset, c->rank, (unsigned long long)a->part->addr + offset,
                              size);
    a->offset = offset;
    return tern_api_alive(c->ctx, c->rank, c->what);
}

static tern_status check(const struct call *c, uint64_t offset, tern_type type, const tern_atomic_args *args,
                         struct tern_op_atomic *a)
{
    tern_status st;

    *a = (struct tern_op_atomic){ .type = type };
    if ((st = read_args(c, args, a)) < 0 || (c->domain && (st = check_domain(c, type, a->op)) < 0) ||
        (st = check_target(c, offset, a)) < 0)
        return st;
    return c->domain && c->domain->mechanism == TERN_ATOMIC_NETWORK ? by_network(c, a) : TERN_OK;
}

/* ---- operations ---- */

/* Start or run a checked operation. */
static tern_status go(const struct call *c, const struct tern_op_atomic *a, const tern_opts *opts)
{
    const struct tern_link_part *home = &c->region->part[a->part->rank]; /* the part as the region describes it */

    if ((opts->flags & TERN_NOTIFY) && !tern_api_notifies(home, c->rank, c->what))
        return TERN_ERR_RANGE;
    return tern_op_atomic(c->ctx, a, home, opts, c->what);
}

/* Run an operation on the inner context of a shared context. */
static tern_status run_shared(const struct call *c, uint64_t offset, tern_type type, const tern_atomic_args *args);

static tern_status run(const struct call *c, uint64_t offset, tern_type type, const tern_atomic_args *args)
{
    struct tern_op_atomic a;
    tern_status           st = check(c, offset, type, args, &a);

    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? run_shared(c, offset, type, args) : st;
    return tern_op_atomic(c->ctx, &a, a.part, &tern_op_blocking, c->what);
}

static __attribute__((cold, noinline)) tern_status run_shared(const struct call *c, uint64_t offset, tern_type type,
                                                              const tern_atomic_args *args)
{
    struct call call = *c;

    return TERN_API_LOCKED(inner, c->ctx, (call.ctx = inner, run(&call, offset, type, args)));
}

/* Read the arguments of a call that describes its operation in a struct, and choose the type: the type of the domain,
 * if there is a domain, otherwise the type in the struct. */
static tern_status read_call(const struct call *c, const tern_atomic_args **args, tern_atomic_args *copy,
                             tern_type *type)
{
    if (!*args)
        return tern_api_null(c->what, "args");
    if (!(*args = TERN_API_SIZED(tern_atomic_args, *args, copy, c->what)))
        return TERN_ERR_ARG;
    *type = c->domain ? c->domain->type : (*args)->type;
    if (tern_op_exec_ops((uint32_t)*type) == 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: type %u has no atomic operations", c->what, (unsigned)*type);
    return TERN_OK;
}

tern_status tern_atomic(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank, uint64_t offset,
                        const tern_atomic_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_atomic");

    if (use.status < 0)
        return use.status;

    const struct call c = { ctx, domain, region, rank, "tern_atomic" };
    tern_atomic_args  copy;
    tern_type         type = TERN_INT32;
    tern_status       st = read_call(&c, &args, &copy, &type);

    return st < 0 ? st : run(&c, offset, type, args);
}

tern_status tern_inline_atomic(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                               uint64_t offset, const struct tern_inline_operation *atomic, void *result)
{
    TERN_API_USE use = tern_api_use(ctx, atomic->call);

    if (use.status < 0)
        return use.status;

    const struct call      c = { ctx, domain, region, rank, atomic->call };
    const tern_atomic_args args = { .size = sizeof(args),
                                    .op = (tern_atomic_op)atomic->op,
                                    .operand = &atomic->operand,
                                    .compare = &atomic->compare,
                                    .result = result };

    if (atomic->needs_domain && !domain)
        return tern_api_null(c.what, "domain");
    if (atomic->type == TERN_INLINE_ANY_TYPE)
        return domain->freed ? was_freed(c.what) : run(&c, offset, domain->type, &args);
    return run(&c, offset, (tern_type)atomic->type, &args);
}

/* Make the call on the inner context of a shared context. */
static __attribute__((cold, noinline)) tern_status with_shared(const struct call *c, tern_atomic_domain *domain,
                                                               uint64_t offset, const tern_atomic_args *args,
                                                               const tern_opts *opts)
{
    return TERN_API_LOCKED(inner, c->ctx, tern_atomic_with(inner, domain, c->region, c->rank, offset, args, opts));
}

tern_status tern_atomic_with(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank, uint64_t offset,
                             const tern_atomic_args *args, const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_atomic_with", "tern_atomic_nbi"));

    if (use.status < 0)
        return use.status;

    struct call           c = { ctx, domain, region, rank, opts ? "tern_atomic_with" : "tern_atomic_nbi" };
    struct tern_api_opts  o;
    tern_atomic_args      copy;
    tern_type             type = TERN_INT32;
    struct tern_op_atomic a;
    tern_status           st = tern_api_opts(ctx, opts, TERN_API_NOTIFY | TERN_API_ORDER, c.what, &o);

    c.what = o.what;
    if (st < 0 || (st = read_call(&c, &args, &copy, &type)) < 0 || (st = check(&c, offset, type, args, &a)) < 0)
        return st == TERN_API_IS_SHARED ? with_shared(&c, domain, offset, args, opts) : st;
    if (tern_op_is_parked(o.opts) && (o.opts->flags & (TERN_ACQUIRE | TERN_RELEASE)))
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: TERN_ACQUIRE and TERN_RELEASE order what the program does, and not what "
                              "a counter starts or counts",
                              c.what);
    return go(&c, &a, o.opts);
}
