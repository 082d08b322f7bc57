/* notify_sums.c: accumulates, get-accumulates and atomic operations that notify, of every shape.
 *
 * Promise: when the notification arrives the sums are in place, and it reports the initiator, the tag, and the number
 * of bytes; it arrives once, whether the operation has an event, is completed by tern_quiet, or is counted. A
 * get-accumulate or an atomic operation returns the old values. A refused operation sends
 * no notification.
 *
 * ranks: 2 4
 * env: TERN_CMA=off
 */
#include "job_test.h"

#define LONGEST 4000u /* numbers */

static const size_t lengths[] = { 0, 1, 3, 500, LONGEST };
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

enum form { EVENT, IMPLICIT, COUNTED, FORMS };
enum verb {
    ACC,
    GET_ACC,
    ACC_VECTOR, /* the shapes: every second number of the target */
    GET_ACC_VECTOR,
    ACC_INDEXED,
    GET_ACC_INDEXED,
    ACC_STRIDED,
    GET_ACC_STRIDED,
    ADD, /* one number */
    FADD,
    CAS,
    VERBS
};

struct scene {
    tern_ctx           *ctx;
    tern_atomic_domain *domain;
    tern_counter       *counter; /* NULL: the context is strict and has no counters */
    uint64_t            counted; /* number of operations that the counter has counted */
    struct job_region   r;
    uint64_t           *local, *want; /* LONGEST numbers each */
    tern_piece         *pieces;       /* local as a list of extents, one for each number */
    void              **places;
    tern_extent        *extents; /* every second number of the region */
    uint64_t           *offsets;
    int                 left, right;
    uint32_t            tag;
};

static bool brings_back(enum verb verb)
{
    return verb == GET_ACC || verb == GET_ACC_VECTOR || verb == GET_ACC_INDEXED || verb == GET_ACC_STRIDED ||
           verb == FADD || verb == CAS;
}

/* The distance between the numbers of the target. */
static size_t step_of(enum verb verb)
{
    return verb >= ACC_VECTOR && verb < ADD ? 2 : 1;
}

static void shapes_make(struct scene *s)
{
    s->pieces = job_new(LONGEST * sizeof(*s->pieces));
    s->places = job_new(LONGEST * sizeof(*s->places));
    s->extents = job_new(LONGEST * sizeof(*s->extents));
    s->offsets = job_new(LONGEST * sizeof(*s->offsets));
    for (size_t i = 0; i < LONGEST; i++) {
        s->pieces[i] = (tern_piece){ s->local + i, sizeof(uint64_t) };
        s->places[i] = s->local + i;
        s->offsets[i] = 2 * i * sizeof(uint64_t);
        s->extents[i] = (tern_extent){ s->offsets[i], sizeof(uint64_t) };
    }
}

/* Wait for an operation that was started in a form. */
static tern_status finish(struct scene *s, enum form form, tern_event *event)
{
    if (form == EVENT)
        return tern_event_wait(event, TERN_FOREVER);
    if (form == COUNTED)
        OK(tern_counter_wait(s->counter, ++s->counted, TERN_FOREVER));
    return tern_quiet(s->ctx);
}

static tern_opts form_opts(const struct scene *s, enum form form, tern_event *event)
{
    return TERN_OPTS(.flags = TERN_NOTIFY, .tag = s->tag, .event = form == EVENT ? event : NULL,
                     .counter = form == COUNTED ? s->counter : NULL);
}

static tern_status sum(struct scene *s, enum verb verb, enum form form, size_t n)
{
    size_t       len = n * sizeof(uint64_t);
    tern_region *region = s->r.region;
    tern_vector  vector = TERN_VECTOR(.local_count = n, .local = s->pieces, .remote_count = n, .remote = s->extents);
    tern_indexed indexed = TERN_INDEXED(.local_count = n, .local_len = sizeof(uint64_t), .local = s->places,
                                        .remote_count = n, .remote_len = sizeof(uint64_t), .remote = s->offsets);
    tern_strided strided = TERN_STRIDED(.dims = 1, .element = sizeof(uint64_t), .count = (size_t[]){ n },
                                        .local = s->local, .local_stride = (ptrdiff_t[]){ sizeof(uint64_t) },
                                        .remote = 0, .remote_stride = (int64_t[]){ 2 * sizeof(uint64_t) });
    tern_event   event = TERN_EVENT_INIT;
    tern_opts    opts = form_opts(s, form, &event);
    int          to = s->right;

    opts.acc = &TERN_ACC_ARGS(.type = TERN_UINT64);
    switch (verb) {
    case ACC: OK(tern_acc_with(s->ctx, region, to, 0, s->local, len, &opts)); break;
    case GET_ACC: OK(tern_get_acc_with(s->ctx, region, to, 0, s->local, len, &opts)); break;
    case ACC_VECTOR: OK(tern_acc_vector_with(s->ctx, region, to, &vector, &opts)); break;
    case GET_ACC_VECTOR: OK(tern_get_acc_vector_with(s->ctx, region, to, &vector, &opts)); break;
    case ACC_INDEXED: OK(tern_acc_indexed_with(s->ctx, region, to, &indexed, &opts)); break;
    case GET_ACC_INDEXED: OK(tern_get_acc_indexed_with(s->ctx, region, to, &indexed, &opts)); break;
    case ACC_STRIDED: OK(tern_acc_strided_with(s->ctx, region, to, &strided, &opts)); break;
    default: OK(tern_get_acc_strided_with(s->ctx, region, to, &strided, &opts)); break;
    }
    return finish(s, form, &event);
}

/* An atomic operation on the first number. The old value goes to its place in local. */
static tern_status atomically(struct scene *s, enum verb verb, enum form form)
{
    uint64_t         operand = s->local[0], there = s->want[0] - operand;
    tern_atomic_args args = TERN_ATOMIC_ARGS(.op = verb == ADD    ? TERN_ATOMIC_ADD
                                                   : verb == FADD ? TERN_ATOMIC_FADD
                                                                  : TERN_ATOMIC_CAS,
                                             .operand = &operand);
    tern_event       event = TERN_EVENT_INIT;
    tern_opts        opts = form_opts(s, form, &event);

    if (verb == CAS) {
        operand = s->want[0];
        args.compare = &there;
    }
    args.result = verb != ADD ? s->local : NULL;
    OK(tern_atomic_with(s->ctx, s->domain, s->r.region, s->right, 0, &args, &opts));
    return finish(s, form, &event);
}

static void one_case(struct scene *s, enum verb verb, enum form form, size_t n)
{
    uint64_t         *mine = (uint64_t *)(void *)s->r.mine;
    size_t            step = step_of(verb);
    tern_request     *request;
    tern_request_info info = { 0 };

    s->tag++;
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__); /* a thread of Tern adds to it */
    for (size_t i = 0; i < step * n; i++)
        mine[i] = i / step + s->tag; /* the same on all ranks */
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    for (size_t i = 0; i < n; i++) {
        s->local[i] = 5 * i + 3 * s->tag + 1;
        s->want[i] = i + s->tag + s->local[i];
    }
    OK(tern_notify_create(s->ctx, s->r.region, s->left, s->tag, 1, &request));
    if (s->tag % 2)
        OK(tern_request_start(request));
    OK(tern_barrier(s->ctx));
    OK(verb >= ADD ? atomically(s, verb, form) : sum(s, verb, form, n));
    for (size_t i = 0; i < n && brings_back(verb); i++)
        SAME(s->local[i], i + s->tag);
    if (!(s->tag % 2))
        OK(tern_request_start(request));
    OK(tern_request_wait(&request, TERN_FOREVER, &info));
    SAME(info.source, s->left);
    SAME(info.tag, s->tag);
    SAME(info.len, n * sizeof(uint64_t));
    for (size_t i = 0; i < n; i++) {
        CHECK(job_differ(mine + step * i, &s->want[i], sizeof(uint64_t)) == 0);
        CHECK(step == 1 || job_differ(mine + step * i + 1, &(uint64_t){ i + s->tag }, sizeof(uint64_t)) == 0);
    }
    OK(tern_request_start(request)); /* it arrived once */
    RETURNS(TERN_PENDING, tern_request_test(&request, NULL));
    OK(tern_request_free(&request));
    OK(tern_barrier(s->ctx));
}

static void all_cases(struct scene *s, enum job_kind kind)
{
    job_region_make(&s->r, kind, 2 * LONGEST * sizeof(uint64_t));
    OK(tern_atomic_domain_create(s->ctx, TERN_UINT64, TERN_ATOMIC_ADD | TERN_ATOMIC_FADD | TERN_ATOMIC_CAS, 0,
                                 &s->domain));
    for (unsigned verb = 0; verb < VERBS; verb++)
        for (unsigned form = 0; form < FORMS; form++)
            for (size_t i = 0; i < LENGTHS; i++)
                if ((verb < ADD || lengths[i] == 1) && (form != COUNTED || s->counter))
                    one_case(s, verb, form, lengths[i]);
    OK(tern_atomic_domain_free(s->domain));
    job_region_drop(&s->r);
}

static void refusals(struct scene *s)
{
    const tern_acc_args    sum = TERN_ACC_ARGS(.type = TERN_UINT64);
    const tern_opts        plain = TERN_OPTS(.flags = TERN_NOTIFY, .tag = 1);
    const tern_opts        opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = 1, .acc = &sum);
    const tern_atomic_args none = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = s->local);
    const tern_atomic_args good = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = s->local, .result = s->want);
    tern_request          *request;

    job_region_make(&s->r, JOB_HOST, 64);
    OK(tern_atomic_domain_create(s->ctx, TERN_UINT64, TERN_ATOMIC_FADD, 0, &s->domain));
    OK(tern_notify_create(s->ctx, s->r.region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &request));
    REFUSES(TERN_ERR_RANGE, tern_acc_with(s->ctx, s->r.region, s->right, 64, s->local, 8, &opts));
    SAYS("tern_acc_with: 8 bytes at offset 64 do not lie in the 64 bytes of rank");
    REFUSES(TERN_ERR_ARG, tern_get_acc_with(s->ctx, s->r.region, s->right, 0, s->local, 7, &opts));
    REFUSES(TERN_ERR_ARG, tern_acc_vector_with(s->ctx, s->r.region, s->right, NULL, &opts));
    REFUSES(TERN_ERR_ARG, tern_acc_with(s->ctx, s->r.region, s->right, 0, s->local, 8, &plain));
    SAYS("opts->acc is NULL");
    REFUSES(TERN_ERR_ARG, tern_atomic_with(s->ctx, s->domain, s->r.region, s->right, 0, &none, &plain));
    SAYS("tern_atomic_with: fadd needs a place for the result");
    REFUSES(TERN_ERR_RANGE, tern_atomic_with(s->ctx, s->domain, s->r.region, tern_size(), 0, &good, &plain));
    SAYS("tern_atomic_with: no rank ");
    OK(tern_barrier(s->ctx));
    RETURNS(TERN_PENDING, tern_notify_probe(request, NULL)); /* no rank was notified */
    OK(tern_request_free(&request));
    OK(tern_atomic_domain_free(s->domain));
    job_region_drop(&s->r);
}

int main(void)
{
    struct scene s = { .ctx = NULL };

    OK(tern_init());
    s.ctx = TERN_WORLD;
    s.local = job_new(LONGEST * sizeof(uint64_t));
    s.want = job_new(LONGEST * sizeof(uint64_t));
    shapes_make(&s);
    s.left = (tern_rank() + tern_size() - 1) % tern_size();
    s.right = (tern_rank() + 1) % tern_size();
    OK(tern_counter_create(s.ctx, &s.counter));
    all_cases(&s, JOB_HOST);
    all_cases(&s, JOB_REGISTERED);
    OK(tern_counter_free(s.counter));
    s.counter = NULL;
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &s.ctx));
    all_cases(&s, JOB_REGISTERED);
    OK(tern_ctx_free(s.ctx));
    s.ctx = TERN_WORLD;
    refusals(&s);
    free(s.local);
    free(s.want);
    free(s.pieces);
    free(s.places);
    free(s.extents);
    free(s.offsets);
    OK(tern_finalize());
    return 0;
}
