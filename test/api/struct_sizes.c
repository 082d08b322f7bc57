/* struct_sizes.c: structs of programs that were compiled with another version of Tern.
 *
 * Promise: a struct without a size is refused. A struct of an older program, which lacks fields at its end, is read as
 * if these fields were zero. A struct of a newer program is accepted if the fields that this library does not know are
 * zero, and refused otherwise. The text of a refusal names the call and the struct. A call that fills a struct sets
 * the reserved words of the struct to 0.
 *
 * ranks: 1 2
 */
#include "job_test.h"

#define HANDLER 3
#define MORE 16 /* bytes that a newer version may have added */
#define LINE 64u

static tern_region *region;
static int          right;
static uint64_t     handled;

static void handler(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
    handled++;
}

/* Check a call with structs of every size. in is a valid struct in which all fields from cut on are zero; call uses a
 * struct by the pointer s. */
#define SIZES(type, in, cut, call)                                                                \
    do {                                                                                          \
        struct {                                                                                  \
            type          known;                                                                  \
            unsigned char more[MORE];                                                             \
        } x = { in, { 0 } };                                                                      \
        const type *s = &x.known;                                                                 \
                                                                                                  \
        OK(call);                                                                                 \
        x.known.size = 0;                                                                         \
        REFUSES(TERN_ERR_ARG, call);                                                              \
        SAYS(" " #type " is 0");                                                                  \
        x.known.size = sizeof(uint32_t); /* too small to have any field */                        \
        REFUSES(TERN_ERR_ARG, call);                                                              \
        SAYS(" " #type " is 4");                                                                  \
        x.known.size = 0x07070707; /* not initialized: nothing is read behind the struct */       \
        REFUSES(TERN_ERR_ARG, call);                                                              \
        SAYS("_INIT");                                                                            \
        x.known.size = sizeof(type) + MORE;                                                       \
        OK(call);                                                                                 \
        x.more[MORE - 1] = 1;                                                                     \
        REFUSES(TERN_ERR_ARG, call);                                                              \
        SAYS("fields of " #type " that Tern");                                                    \
        x.known.size = sizeof(type) + MORE - 1; /* ends before that byte */                       \
        OK(call);                                                                                 \
        x.known.size = offsetof(type, cut);                                                       \
        memset((unsigned char *)&x + offsetof(type, cut), 0xa5, sizeof(x) - offsetof(type, cut)); \
        OK(call);                                                                                 \
        CHECK(x.more[0] == 0xa5);                                                                 \
    } while (0)

static void operations(void)
{
    uint64_t          word = 7;
    tern_event        event = TERN_EVENT_INIT;
    const tern_signal signal = TERN_SIGNAL(.op = TERN_SIGNAL_ADD, .region = region, .offset = 8);
    const tern_opts   sum = TERN_OPTS(.acc = &TERN_ACC_ARGS(.type = TERN_UINT64));

    SIZES(tern_opts, TERN_OPTS(.event = &event), counter,
          tern_put_with(TERN_WORLD, region, right, LINE, &word, sizeof(word), s));
    SIZES(tern_opts, TERN_OPTS(.event = &event), counter,
          tern_get_with(TERN_WORLD, region, right, LINE, &word, sizeof(word), s));
    OK(tern_quiet(TERN_WORLD)); /* the gets write to word */
    SIZES(tern_opts, sum, call, tern_acc_with(TERN_WORLD, region, right, LINE, &word, sizeof(word), s));
    SIZES(tern_signal, signal, value, tern_put_signal(TERN_WORLD, region, right, LINE, &word, sizeof(word), s));
    SIZES(tern_signal, signal, bytes, tern_put_signal(TERN_WORLD, region, right, LINE, &word, sizeof(word), s));
    SIZES(tern_signal, signal, value,
          tern_put_with(TERN_WORLD, region, right, LINE, &word, sizeof(word), &TERN_OPTS(.signal = s)));
    SIZES(tern_acc_args, TERN_ACC_ARGS(.type = TERN_UINT64), factor,
          tern_acc(TERN_WORLD, region, right, LINE, &word, sizeof(word), s));
    SIZES(tern_acc_args, TERN_ACC_ARGS(.type = TERN_UINT64), factor,
          tern_acc_with(TERN_WORLD, region, right, LINE, &word, sizeof(word), &TERN_OPTS(.acc = s)));
    SIZES(tern_atomic_args, TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .type = TERN_UINT64, .operand = &word), result,
          tern_atomic(TERN_WORLD, NULL, region, right, LINE, s));
    OK(tern_quiet(TERN_WORLD));
}

static void shapes(void)
{
    uint64_t word = 7;

    SIZES(tern_vector, TERN_VECTOR(.local_count = 0), remote_count, tern_put_vector(TERN_WORLD, region, right, s));
    SIZES(tern_vector, TERN_VECTOR(.local_count = 0), remote_count, tern_get_vector(TERN_WORLD, region, right, s));
    SIZES(tern_indexed, TERN_INDEXED(.local_count = 0), remote_count, tern_put_indexed(TERN_WORLD, region, right, s));
    SIZES(tern_indexed, TERN_INDEXED(.local_count = 0), remote_count, tern_get_indexed(TERN_WORLD, region, right, s));
    SIZES(tern_strided, TERN_STRIDED(.dims = 0, .element = 8, .local = &word, .remote = LINE), remote_stride,
          tern_put_strided(TERN_WORLD, region, right, s));
    SIZES(tern_strided, TERN_STRIDED(.dims = 0, .element = 8, .local = &word, .remote = LINE), remote_stride,
          tern_get_strided(TERN_WORLD, region, right, s));
}

static tern_status prepare_and_cancel(const tern_am_prepare_opts *opts)
{
    tern_am_prepared prepared;
    tern_status      st = tern_am_prepare(TERN_WORLD, right, opts, &prepared);

    return st == TERN_OK ? tern_am_cancel(&prepared) : st;
}

static tern_status create_and_free_client(const tern_am_client_opts *opts)
{
    tern_am_client *made = NULL;
    tern_status     st = tern_am_client_create(TERN_WORLD, opts, &made);

    return st == TERN_OK ? tern_am_client_free(made) : st;
}

static tern_status create_and_free(const tern_region_opts *opts)
{
    tern_region *made = NULL;
    tern_status  st = tern_region_create(TERN_WORLD, 4096, opts, &made);

    return st == TERN_OK ? tern_region_free(made) : st;
}

/* Calls that the functions above make are named in the texts instead of these functions. */
#undef REFUSES
#define REFUSES(status, call) RETURNS(status, call)

static void messages_and_regions(void)
{
    const unsigned sent = 4; /* the accepted ones of SIZES */

    SIZES(tern_am, TERN_AM(.kind = TERN_AM_SHORT, .handler = HANDLER), flags, tern_am_request(TERN_WORLD, right, s));
    SIZES(tern_am_prepare_opts, TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = 8, .max = 8), flags,
          prepare_and_cancel(s));
    OK(job_await(&handled, sent, TERN_FOREVER));
    SIZES(tern_region_opts, TERN_REGION_OPTS(.memory = TERN_MEMORY_HOST), path, create_and_free(s));
    SIZES(tern_am_client_opts, TERN_AM_CLIENT_OPTS_INIT, name, create_and_free_client(s));
    SAME(handled, sent);
}

/* A tern_idle is changed by each step, so that its private state is part of every version. */
static void steps(void)
{
    struct {
        tern_idle     known;
        unsigned char more[MORE];
    } x = { TERN_IDLE_INIT, { 0 } };

    OK(tern_idle_step(TERN_WORLD, &x.known));
    x.known.size = 0;
    REFUSES(TERN_ERR_ARG, tern_idle_step(TERN_WORLD, &x.known));
    SAYS(" tern_idle is 0");
    SAYS("TERN_IDLE_INIT");
    x.known.size = sizeof(tern_idle) - 1;
    REFUSES(TERN_ERR_ARG, tern_idle_step(TERN_WORLD, &x.known));
    x.known.size = UINT32_MAX;
    REFUSES(TERN_ERR_ARG, tern_idle_step(TERN_WORLD, &x.known));
    x.known.size = sizeof(tern_idle) + MORE;
    OK(tern_idle_step(TERN_WORLD, &x.known));
    x.more[MORE - 1] = 1;
    REFUSES(TERN_ERR_ARG, tern_idle_step(TERN_WORLD, &x.known));
    SAYS("fields of tern_idle that Tern");
    x.known.size = sizeof(tern_idle) + MORE - 1; /* ends before that byte */
    OK(tern_idle_step(TERN_WORLD, &x.known));
}

static bool is_zero(const void *words, size_t len)
{
    static const unsigned char zeros[64];

    return len > 0 && len <= sizeof(zeros) && memcmp(words, zeros, len) == 0;
}

/* Fill an info with ones before each call that returns it, and check the reserved words after it. */
#define FILLS(info, call)                                        \
    do {                                                         \
        memset(&(info), 0xff, sizeof(info));                     \
        OK(call);                                                \
        CHECK(is_zero(&(info).reserved, sizeof(info.reserved))); \
    } while (0)

static void outputs(void)
{
    uint64_t            word = 7, got = 0;
    tern_request_info   info;
    tern_atomic_info    properties;
    tern_atomic_domain *domain;
    tern_request       *request;
    tern_message       *message;

    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD, 0, &domain));
    FILLS(properties, tern_atomic_domain_info(domain, &properties));
    OK(tern_atomic_domain_free(domain));
    OK(tern_isend(TERN_WORLD, right, 1, &word, sizeof(word), &request));
    FILLS(info, tern_probe(TERN_WORLD, TERN_ANY_SOURCE, 1, TERN_FOREVER, &info));
    FILLS(info, tern_mprobe(TERN_WORLD, TERN_ANY_SOURCE, 1, TERN_FOREVER, &message, &info));
    FILLS(info, tern_mrecv(&message, &got, sizeof(got), &info));
    FILLS(info, tern_request_wait(&request, TERN_FOREVER, &info));
    OK(tern_irecv(TERN_WORLD, TERN_ANY_SOURCE, 2, &got, sizeof(got), &request));
    FILLS(info, tern_request_cancel(&request, &info));
    OK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, 3, 1, &request));
    OK(tern_notify(TERN_WORLD, region, right, 3));
    while (tern_notify_probe(request, NULL) == TERN_PENDING)
        ;
    FILLS(info, tern_notify_probe(request, &info));
    OK(tern_request_start(request));
    FILLS(info, tern_request_wait(&request, TERN_FOREVER, &info));
    OK(tern_request_free(&request));
}

int main(void)
{
    OK(tern_am_register(HANDLER, handler, NULL));
    OK(tern_init());
    right = (tern_rank() + 1) % tern_size();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    operations();
    shapes();
    steps();
    messages_and_regions();
    outputs();
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
