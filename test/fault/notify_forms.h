/* notify_forms.h: every form of a notified access, in one list, for the jobs in which a rank dies.
 *
 * Each form moves the same bytes: between a buffer of whole numbers and a slot of the target of the same length. The
 * slot is all zeros before, so that it holds the buffer's bytes after every form that writes, including sums and swaps;
 * the forms that work on one number change the first.
 */
#ifndef TERN_NOTIFY_FORMS_H
#define TERN_NOTIFY_FORMS_H

#include "fault/fault_job.h"

/* X(name, number of bytes it writes of len bytes) */
#define NOTIFY_FORMS(X)       \
    X(NOTHING, 0)             \
    X(PUT, len)               \
    X(GET, 0)                 \
    X(PUT_VECTOR, len)        \
    X(GET_VECTOR, 0)          \
    X(PUT_INDEXED, len)       \
    X(GET_INDEXED, 0)         \
    X(PUT_STRIDED, len)       \
    X(GET_STRIDED, 0)         \
    X(ACC, len)               \
    X(GET_ACC, len)           \
    X(ACC_VECTOR, len)        \
    X(GET_ACC_VECTOR, len)    \
    X(ACC_INDEXED, len)       \
    X(GET_ACC_INDEXED, len)   \
    X(ACC_STRIDED, len)       \
    X(GET_ACC_STRIDED, len)   \
    X(ADD, sizeof(uint64_t))  \
    X(FADD, sizeof(uint64_t)) \
    X(CAS, sizeof(uint64_t))

#define AS_ENUM(name, writes) FORM_##name,
enum notify_form { NOTIFY_FORMS(AS_ENUM) FORMS };
#undef AS_ENUM

#define AS_TEXT(name, writes) #name,
static const char *const form_name[FORMS] = { NOTIFY_FORMS(AS_TEXT) };
#undef AS_TEXT

/* Bytes of the target that an access of len bytes changes, and the length in its notification. */
static inline size_t form_writes(enum notify_form form, size_t len)
{
#define AS_CASE(name, writes) \
    case FORM_##name: return (writes);
    switch (form) {
        NOTIFY_FORMS(AS_CASE)
    default: return 0;
    }
#undef AS_CASE
}

static inline size_t form_bytes(enum notify_form form, size_t len)
{
    return form == FORM_NOTHING ? 0 : form >= FORM_ADD ? sizeof(uint64_t) : len;
}

/* The initiator's access: len is a multiple of 16. */
struct notify_access {
    tern_ctx           *ctx;
    tern_region        *region;
    tern_atomic_domain *domain; /* of TERN_UINT64: add, fadd, cas */
    int                 rank;
    uint64_t            offset;
    unsigned char      *buffer;
    size_t              len;
    uint32_t            tag;
};

static inline tern_status form_atomic(const struct notify_access *a, enum notify_form form, const tern_opts *opts)
{
    static const uint64_t         zero;
    static _Thread_local uint64_t result; /* used by one access at a time, or ignored */
    uint64_t                      operand;
    tern_atomic_args              args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .operand = &operand);

    if (form != FORM_ADD) {
        args.op = form == FORM_FADD ? TERN_ATOMIC_FADD : TERN_ATOMIC_CAS;
        args.compare = form == FORM_CAS ? &zero : NULL;
        args.result = &result;
    }
    memcpy(&operand, a->buffer, sizeof(operand));
    return tern_atomic_with(a->ctx, a->domain, a->region, a->rank, a->offset, &args, opts);
}

/* Make the access by the call with options, which must have the flag and the tag. Shapes: the second half before the
 * first, or each number by itself from the last to the first. */
static inline tern_status form_start(const struct notify_access *a, enum notify_form form, const tern_opts *opts)
{
#define CALL(call, ...) tern_##call##_with(a->ctx, a->region, a->rank, __VA_ARGS__, opts)
#define SUM(call, ...) tern_##call##_with(a->ctx, a->region, a->rank, __VA_ARGS__, &sum)
    const tern_acc_args whole = TERN_ACC_ARGS(.type = TERN_UINT64);
    tern_opts           sum = *opts;
    size_t              half = a->len / 2, last = a->len - sizeof(uint64_t);
    tern_piece          piece[] = { { a->buffer + half, half }, { a->buffer, half } };
    tern_extent         extent[] = { { a->offset + half, half }, { a->offset, half } };
    tern_vector         vector = TERN_VECTOR(.local_count = 2, .local = piece, .remote_count = 2, .remote = extent);
    void               *addr[] = { a->buffer + half, a->buffer };
    uint64_t            at[] = { a->offset + half, a->offset };
    tern_indexed        indexed = TERN_INDEXED(.local_count = 2, .local_len = half, .local = addr, .remote_count = 2,
                                               .remote_len = half, .remote = at);
    tern_strided        strided =
        TERN_STRIDED(.dims = 1, .element = sizeof(uint64_t), .count = (size_t[]){ a->len / sizeof(uint64_t) },
                     .local = a->buffer + last, .local_stride = (ptrdiff_t[]){ -(ptrdiff_t)sizeof(uint64_t) },
                     .remote = a->offset + last, .remote_stride = (int64_t[]){ -(int64_t)sizeof(uint64_t) });

    sum.acc = &whole;
    switch (form) {
    case FORM_NOTHING: return CALL(put, a->offset, NULL, 0);
    case FORM_PUT: return CALL(put, a->offset, a->buffer, a->len);
    case FORM_GET: return CALL(get, a->offset, a->buffer, a->len);
    case FORM_PUT_VECTOR: return CALL(put_vector, &vector);
    case FORM_GET_VECTOR: return CALL(get_vector, &vector);
    case FORM_PUT_INDEXED: return CALL(put_indexed, &indexed);
    case FORM_GET_INDEXED: return CALL(get_indexed, &indexed);
    case FORM_PUT_STRIDED: return CALL(put_strided, &strided);
    case FORM_GET_STRIDED: return CALL(get_strided, &strided);
    case FORM_ACC: return SUM(acc, a->offset, a->buffer, a->len);
    case FORM_GET_ACC: return SUM(get_acc, a->offset, a->buffer, a->len);
    case FORM_ACC_VECTOR: return SUM(acc_vector, &vector);
    case FORM_GET_ACC_VECTOR: return SUM(get_acc_vector, &vector);
    case FORM_ACC_INDEXED: return SUM(acc_indexed, &indexed);
    case FORM_GET_ACC_INDEXED: return SUM(get_acc_indexed, &indexed);
    case FORM_ACC_STRIDED: return SUM(acc_strided, &strided);
    case FORM_GET_ACC_STRIDED: return SUM(get_acc_strided, &strided);
    default: return form_atomic(a, form, opts);
    }
#undef SUM
#undef CALL
}

/* Make the access: if opts is NULL, complete it before returning, by the blocking call if the form has one. */
static inline tern_status form_make(const struct notify_access *a, enum notify_form form, const tern_opts *opts)
{
    tern_event  event = TERN_EVENT_INIT;
    tern_status st;

    if (opts)
        return form_start(a, form, opts);
    switch (form) {
    case FORM_NOTHING: return tern_notify(a->ctx, a->region, a->rank, a->tag);
    case FORM_PUT: return tern_put_notify(a->ctx, a->region, a->rank, a->offset, a->buffer, a->len, a->tag);
    case FORM_GET: return tern_get_notify(a->ctx, a->region, a->rank, a->offset, a->buffer, a->len, a->tag);
    default: break;
    }
    st = form_start(a, form, &TERN_OPTS(.flags = TERN_NOTIFY, .tag = a->tag, .event = &event));
    return st < 0 ? st : tern_event_wait(&event, TERN_FOREVER);
}

#endif
