/* misuse_test.h: every public call that returns a status, for tests in which all of them are refused.
 *
 * The lists name each call with arguments that are valid in themselves. A test passes a context, a region or another
 * object that cannot be used, and checks that each call returns the same status and a text that begins with the name of
 * the call. test/fault/misuse.sh checks that the lists are complete.
 */
#ifndef TERN_MISUSE_TEST_H
#define TERN_MISUSE_TEST_H

#include "job_test.h"

/* The objects that the calls use. */
struct misuse {
    tern_ctx           *ctx;
    tern_region        *region;
    tern_atomic_domain *domain;
    tern_mutexes       *mutexes;
    tern_am_client     *client;
    tern_counter       *counter;
    tern_request       *request; /* persistent */
    tern_event         *event;
    tern_team          *team;
    const char         *says; /* each text contains these words */
    tern_status         want;
    int                 calls; /* number of calls that were checked */
};

static inline bool misuse_never(void *arg)
{
    (void)arg;
    return false;
}

static inline void misuse_check(struct misuse *m, const char *name, tern_status got)
{
    char why[256];

    m->calls++;
    if (got == m->want && strncmp(tern_error_detail(), name, strlen(name)) == 0 &&
        tern_error_detail()[strlen(name)] == ':' && strstr(tern_error_detail(), m->says))
        return;
    snprintf(why, sizeof(why), "returned %d, \"%.60s\"; its text should begin with its name and say \"%.60s\"",
             (int)got, tern_strerror(got), m->says);
    job_fail(__FILE__, __LINE__, name, why);
}

/* Arguments that are valid. */
static uint64_t          misuse_word, misuse_words[8], misuse_others[8];
static uint64_t          misuse_offset[1];
static void             *misuse_addr[1] = { misuse_words };
static const tern_piece  misuse_piece[1] = { { misuse_words, 8 } };
static const tern_extent misuse_extent[1] = { { 0, 8 } };
static const size_t      misuse_count[1] = { 1 };
static const ptrdiff_t   misuse_stride[1] = { 8 };
static tern_event        misuse_event;
static tern_request     *misuse_out;
static tern_message     *misuse_message;
static tern_request_info misuse_info;
static size_t            misuse_index;
static size_t            misuse_indices[1];
#define MISUSE_WORD                                  \
    &(tern_word)                                     \
    {                                                \
        .addr = &misuse_word, .value = 1, .bytes = 8 \
    }
#define MISUSE_VECTOR &TERN_VECTOR(.local = misuse_piece, .local_count = 1, .remote = misuse_extent, .remote_count = 1)
#define MISUSE_INDEXED                                                                                                \
    &TERN_INDEXED(.local = misuse_addr, .local_count = 1, .local_len = 8, .remote = misuse_offset, .remote_count = 1, \
                  .remote_len = 8)
#define MISUSE_STRIDED                                                                   \
    &TERN_STRIDED(.dims = 1, .element = 8, .count = misuse_count, .local = misuse_words, \
                  .local_stride = misuse_stride, .remote_stride = misuse_stride)
#define MISUSE_ACC &TERN_ACC_ARGS(.type = TERN_UINT64)
#define MISUSE_ADDS &TERN_OPTS(.acc = MISUSE_ACC)
#define MISUSE_OPTS &TERN_OPTS(.event = &misuse_event)
#define MISUSE_ATOMIC &TERN_ATOMIC_ARGS(.type = TERN_UINT64, .op = TERN_ATOMIC_ADD, .operand = &misuse_word)
#define MISUSE_SIGNAL &TERN_SIGNAL(.region = m->region, .value = 1)
#define MISUSE_AT m->ctx, m->region, 0
static const size_t misuse_lengths[64] = { [0 ... 63] = 8 };
#define MISUSE_SUM &TERN_REDUCE_ARGS(.type = TERN_UINT64)
#define MISUSE_BLOCKS &TERN_BLOCKS(.len = misuse_lengths)
#define MISUSE_EVERY &TERN_ALLTOALLS_ARGS(.elem = 8, .src_stride = 1, .dst_stride = 1)

/* The collective calls of tern/coll.h on a context. */
#define MISUSE_COLLS(X, context)                                                                                \
    X(tern_sync, (context))                                                                                     \
    X(tern_sync_with, (context, MISUSE_OPTS))                                                                   \
    X(tern_barrier_with, (context, MISUSE_OPTS))                                                                \
    X(tern_broadcast, (context, 0, misuse_words, 8))                                                            \
    X(tern_broadcast_with, (context, 0, misuse_words, 8, MISUSE_OPTS))                                          \
    X(tern_reduce, (context, 0, misuse_words, misuse_words, 1, MISUSE_SUM))                                     \
    X(tern_reduce_with, (context, 0, misuse_words, misuse_words, 1, MISUSE_SUM, MISUSE_OPTS))                   \
    X(tern_allreduce, (context, misuse_words, misuse_words, 1, MISUSE_SUM))                                     \
    X(tern_allreduce_with, (context, misuse_words, misuse_words, 1, MISUSE_SUM, MISUSE_OPTS))                   \
    X(tern_reduce_scatter, (context, misuse_words, misuse_words, 0, MISUSE_SUM))                                \
    X(tern_reduce_scatter_with, (context, misuse_words, misuse_words, 0, MISUSE_SUM, MISUSE_OPTS))              \
    X(tern_reduce_scatterv, (context, misuse_words, &misuse_word, MISUSE_BLOCKS, MISUSE_SUM))                   \
    X(tern_reduce_scatterv_with, (context, misuse_words, &misuse_word, MISUSE_BLOCKS, MISUSE_SUM, MISUSE_OPTS)) \
    X(tern_gather, (context, 0, &misuse_word, 8, misuse_words))                                                 \
    X(tern_gather_with, (context, 0, &misuse_word, 8, misuse_words, MISUSE_OPTS))                               \
    X(tern_gatherv, (context, 0, &misuse_word, 8, misuse_words, MISUSE_BLOCKS))                                 \
    X(tern_gatherv_with, (context, 0, &misuse_word, 8, misuse_words, MISUSE_BLOCKS, MISUSE_OPTS))               \
    X(tern_scatter, (context, 0, misuse_words, &misuse_word, 8))                                                \
    X(tern_scatter_with, (context, 0, misuse_words, &misuse_word, 8, MISUSE_OPTS))                              \
    X(tern_scatterv, (context, 0, misuse_words, MISUSE_BLOCKS, &misuse_word, 8))                                \
    X(tern_scatterv_with, (context, 0, misuse_words, MISUSE_BLOCKS, &misuse_word, 8, MISUSE_OPTS))              \
    X(tern_allgather_with, (context, &misuse_word, 8, misuse_words, MISUSE_OPTS))                               \
    X(tern_allgatherv, (context, &misuse_word, 8, misuse_words, MISUSE_BLOCKS))                                 \
    X(tern_allgatherv_with, (context, &misuse_word, 8, misuse_words, MISUSE_BLOCKS, MISUSE_OPTS))               \
    X(tern_alltoall, (context, NULL, NULL, 0))                                                                  \
    X(tern_alltoall_with, (context, NULL, NULL, 0, MISUSE_OPTS))                                                \
    X(tern_alltoallv, (context, misuse_others, MISUSE_BLOCKS, misuse_words, MISUSE_BLOCKS))                     \
    X(tern_alltoallv_with, (context, misuse_others, MISUSE_BLOCKS, misuse_words, MISUSE_BLOCKS, MISUSE_OPTS))   \
    X(tern_alltoalls, (context, NULL, NULL, MISUSE_EVERY))                                                      \
    X(tern_alltoalls_with, (context, NULL, NULL, MISUSE_EVERY, MISUSE_OPTS))                                    \
    X(tern_scan, (context, misuse_words, misuse_words, 1, MISUSE_SUM))                                          \
    X(tern_scan_with, (context, misuse_words, misuse_words, 1, MISUSE_SUM, MISUSE_OPTS))                        \
    X(tern_exscan, (context, misuse_words, misuse_words, 1, MISUSE_SUM))                                        \
    X(tern_exscan_with, (context, misuse_words, misuse_words, 1, MISUSE_SUM, MISUSE_OPTS))

#define MISUSE_SHAPES(X, kind, what)                          \
    X(tern_put_##kind, (MISUSE_AT, what))                     \
    X(tern_put_##kind##_with, (MISUSE_AT, what, MISUSE_OPTS)) \
    X(tern_put_##kind##_nb, (MISUSE_AT, what, &misuse_event)) \
    X(tern_put_##kind##_nbi, (MISUSE_AT, what))               \
    X(tern_get_##kind, (MISUSE_AT, what))                     \
    X(tern_get_##kind##_with, (MISUSE_AT, what, MISUSE_OPTS)) \
    X(tern_get_##kind##_nb, (MISUSE_AT, what, &misuse_event)) \
    X(tern_get_##kind##_nbi, (MISUSE_AT, what))               \
    X(tern_acc_##kind, (MISUSE_AT, what, MISUSE_ACC))         \
    X(tern_acc_##kind##_with, (MISUSE_AT, what, MISUSE_ADDS)) \
    X(tern_get_acc_##kind, (MISUSE_AT, what, MISUSE_ACC))     \
    X(tern_get_acc_##kind##_with, (MISUSE_AT, what, MISUSE_ADDS))

#define MISUSE_ATOMICS(X)                                                                 \
    X(tern_atomic_put, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                 \
    X(tern_atomic_add, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                 \
    X(tern_atomic_sub, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                 \
    X(tern_atomic_inc, (m->ctx, m->domain, m->region, 0, 0))                              \
    X(tern_atomic_dec, (m->ctx, m->domain, m->region, 0, 0))                              \
    X(tern_atomic_mult, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                \
    X(tern_atomic_min, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                 \
    X(tern_atomic_max, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                 \
    X(tern_atomic_and, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                 \
    X(tern_atomic_or, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                  \
    X(tern_atomic_xor, (m->ctx, m->domain, m->region, 0, 0, misuse_word))                 \
    X(tern_atomic_get, (m->ctx, m->domain, m->region, 0, 0, &misuse_word))                \
    X(tern_atomic_finc, (m->ctx, m->domain, m->region, 0, 0, &misuse_word))               \
    X(tern_atomic_fdec, (m->ctx, m->domain, m->region, 0, 0, &misuse_word))               \
    X(tern_atomic_swap, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))  \
    X(tern_atomic_fadd, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))  \
    X(tern_atomic_fsub, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))  \
    X(tern_atomic_fmult, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word)) \
    X(tern_atomic_fmin, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))  \
    X(tern_atomic_fmax, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))  \
    X(tern_atomic_fand, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))  \
    X(tern_atomic_for, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))   \
    X(tern_atomic_fxor, (m->ctx, m->domain, m->region, 0, 0, misuse_word, &misuse_word))  \
    X(tern_atomic_cas, (m->ctx, m->domain, m->region, 0, 0, &misuse_word, misuse_word))   \
    X(tern_atomic, (m->ctx, m->domain, m->region, 0, 0, MISUSE_ATOMIC))                   \
    X(tern_atomic_with, (m->ctx, m->domain, m->region, 0, 0, MISUSE_ATOMIC, MISUSE_OPTS)) \
    X(tern_atomic_nb, (m->ctx, m->domain, m->region, 0, 0, MISUSE_ATOMIC, &misuse_event)) \
    X(tern_atomic_nbi, (m->ctx, m->domain, m->region, 0, 0, MISUSE_ATOMIC))

/* Calls on a context and a region. */
#define MISUSE_OF_REGION(X)                                                         \
    X(tern_put, (MISUSE_AT, 0, misuse_words, 8))                                    \
    X(tern_get, (MISUSE_AT, 0, misuse_words, 8))                                    \
    X(tern_put_nb, (MISUSE_AT, 0, misuse_words, 8, &misuse_event))                  \
    X(tern_get_nb, (MISUSE_AT, 0, misuse_words, 8, &misuse_event))                  \
    X(tern_put_nbi, (MISUSE_AT, 0, misuse_words, 8))                                \
    X(tern_get_nbi, (MISUSE_AT, 0, misuse_words, 8))                                \
    X(tern_put_with, (MISUSE_AT, 0, misuse_words, 8, MISUSE_OPTS))                  \
    X(tern_get_with, (MISUSE_AT, 0, misuse_words, 8, MISUSE_OPTS))                  \
    X(tern_put_u8, (MISUSE_AT, 0, 1))                                               \
    X(tern_put_u16, (MISUSE_AT, 0, 1))                                              \
    X(tern_put_u32, (MISUSE_AT, 0, 1))                                              \
    X(tern_put_u64, (MISUSE_AT, 0, 1))                                              \
    X(tern_get_u8, (MISUSE_AT, 0, (uint8_t *)misuse_words))                         \
    X(tern_get_u16, (MISUSE_AT, 0, (uint16_t *)misuse_words))                       \
    X(tern_get_u32, (MISUSE_AT, 0, (uint32_t *)misuse_words))                       \
    X(tern_get_u64, (MISUSE_AT, 0, misuse_words))                                   \
    X(tern_put_value, (MISUSE_AT, 0, misuse_word))                                  \
    X(tern_get_value, (MISUSE_AT, 0, &misuse_word))                                 \
    MISUSE_SHAPES(X, vector, MISUSE_VECTOR)                                         \
    MISUSE_SHAPES(X, indexed, MISUSE_INDEXED)                                       \
    MISUSE_SHAPES(X, strided, MISUSE_STRIDED)                                       \
    X(tern_acc, (MISUSE_AT, 0, misuse_words, 8, MISUSE_ACC))                        \
    X(tern_acc_with, (MISUSE_AT, 0, misuse_words, 8, MISUSE_ADDS))                  \
    X(tern_get_acc, (MISUSE_AT, 0, misuse_words, 8, MISUSE_ACC))                    \
    X(tern_get_acc_with, (MISUSE_AT, 0, misuse_words, 8, MISUSE_ADDS))              \
    MISUSE_ATOMICS(X)                                                               \
    X(tern_fadd, (MISUSE_AT, 0, 1, &misuse_word))                                   \
    X(tern_swap, (MISUSE_AT, 0, 1, &misuse_word))                                   \
    X(tern_cas, (MISUSE_AT, 0, &misuse_word, 1))                                    \
    X(tern_notify, (MISUSE_AT, 1))                                                  \
    X(tern_put_notify, (MISUSE_AT, 0, misuse_words, 8, 1))                          \
    X(tern_put_notify_nb, (MISUSE_AT, 0, misuse_words, 8, 1, &misuse_event))        \
    X(tern_put_notify_nbi, (MISUSE_AT, 0, misuse_words, 8, 1))                      \
    X(tern_get_notify, (MISUSE_AT, 0, misuse_words, 8, 1))                          \
    X(tern_get_notify_nb, (MISUSE_AT, 0, misuse_words, 8, 1, &misuse_event))        \
    X(tern_get_notify_nbi, (MISUSE_AT, 0, misuse_words, 8, 1))                      \
    X(tern_notify_create, (MISUSE_AT, 1, 1, &misuse_out))                           \
    X(tern_put_signal, (MISUSE_AT, 0, misuse_words, 8, MISUSE_SIGNAL))              \
    X(tern_put_signal_nbi, (MISUSE_AT, 0, misuse_words, 8, MISUSE_SIGNAL))          \
    X(tern_signal_test, (m->ctx, m->region, 0, TERN_EQ, 1, NULL))                   \
    X(tern_signal_wait, (m->ctx, m->region, 0, TERN_EQ, 1, TERN_FOREVER, NULL))     \
    X(tern_signal_event, (m->ctx, m->region, 0, TERN_EQ, 1, &misuse_event))         \
    X(tern_signal_test_u32, (m->ctx, m->region, 0, TERN_EQ, 1, NULL))               \
    X(tern_signal_wait_u32, (m->ctx, m->region, 0, TERN_EQ, 1, TERN_FOREVER, NULL)) \
    X(tern_signal_event_u32, (m->ctx, m->region, 0, TERN_EQ, 1, &misuse_event))

/* Calls with a context and a client of active messages. */
#define MISUSE_CLIENT(X)                                                                          \
    X(tern_am_client_request, (m->client, m->ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT)))            \
    X(tern_am_client_request_with, (m->client, m->ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT), NULL)) \
    X(tern_am_client_short, (m->client, m->ctx, 0, 0, NULL, 0))                                   \
    X(tern_am_client_prepare,                                                                     \
      (m->client, m->ctx, 0, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &(tern_am_prepared){ 0 }))

/* Calls on a context. */
#define MISUSE_OF_CTX(X)                                                                                               \
    X(tern_ctx_free, (m->ctx))                                                                                         \
    X(tern_ctx_set_timeout, (m->ctx, 1.0))                                                                             \
    X(tern_progress, (m->ctx))                                                                                         \
    X(tern_fence, (m->ctx))                                                                                            \
    X(tern_quiet, (m->ctx))                                                                                            \
    X(tern_quiet_rank, (m->ctx, 0))                                                                                    \
    X(tern_quiet_nb, (m->ctx, &misuse_event))                                                                          \
    X(tern_quiet_local, (m->ctx))                                                                                      \
    X(tern_barrier, (m->ctx))                                                                                          \
    X(tern_allgather, (m->ctx, &misuse_word, 8, misuse_words))                                                         \
    MISUSE_COLLS(X, m->ctx)                                                                                            \
    X(tern_wait_until, (m->ctx, misuse_never, NULL, TERN_FOREVER))                                                     \
    X(tern_word_wait, (m->ctx, MISUSE_WORD, TERN_FOREVER))                                                             \
    X(tern_word_wait_any, (m->ctx, MISUSE_WORD, 1, TERN_FOREVER, &misuse_index))                                       \
    X(tern_word_wait_all, (m->ctx, MISUSE_WORD, 1, TERN_FOREVER))                                                      \
    X(tern_word_wait_some, (m->ctx, MISUSE_WORD, 1, TERN_FOREVER, &misuse_index, &misuse_indices[0]))                  \
    X(tern_idle_step, (m->ctx, &TERN_IDLE(.name = "nothing")))                                                         \
    X(tern_progress_wait, (m->ctx, TERN_FOREVER))                                                                      \
    X(tern_region_create, (m->ctx, 64, NULL, &(tern_region *){ NULL }))                                                \
    X(tern_region_register, (m->ctx, misuse_words, 64, &(tern_region *){ NULL }))                                      \
    X(tern_region_find, (m->ctx, 0, misuse_words, &(tern_region *){ NULL }, &misuse_word))                             \
    X(tern_region_adopt, (m->ctx, misuse_words, 64, &(tern_region *){ NULL }))                                         \
    X(tern_region_open, (m->ctx, &(tern_region *){ NULL }))                                                            \
    X(tern_team_split, (m->ctx, 0, 0, &(tern_team *){ NULL }))                                                         \
    X(tern_team_dup, (m->ctx, &(tern_team *){ NULL }))                                                                 \
    X(tern_team_survivors, (m->ctx, &(tern_team *){ NULL }))                                                           \
    X(tern_atomic_domain_create, (m->ctx, TERN_UINT64, TERN_ATOMIC_ADD, 0, &(tern_atomic_domain *){ NULL }))           \
    X(tern_mutex_create, (m->ctx, 1, &(tern_mutexes *){ NULL }))                                                       \
    X(tern_mutex_lock, (m->ctx, m->mutexes, 0, 0))                                                                     \
    X(tern_mutex_try, (m->ctx, m->mutexes, 0, 0, TERN_NOW))                                                            \
    X(tern_mutex_unlock, (m->ctx, m->mutexes, 0, 0))                                                                   \
    X(tern_counter_create, (m->ctx, &(tern_counter *){ NULL }))                                                        \
    X(tern_am_request, (m->ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT)))                                                   \
    X(tern_am_request_with, (m->ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT), NULL))                                        \
    X(tern_am_short, (m->ctx, 0, 0, NULL, 0))                                                                          \
    X(tern_am_medium, (m->ctx, 0, 0, NULL, 0, misuse_words, 8))                                                        \
    X(tern_am_prepare, (m->ctx, 0, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &(tern_am_prepared){ 0 })) \
    X(tern_am_client_create, (m->ctx, NULL, &(tern_am_client *){ NULL }))                                              \
    MISUSE_CLIENT(X)                                                                                                   \
    X(tern_send, (m->ctx, 0, 1, misuse_words, 8))                                                                      \
    X(tern_ssend, (m->ctx, 0, 1, misuse_words, 8))                                                                     \
    X(tern_isend, (m->ctx, 0, 1, misuse_words, 8, &misuse_out))                                                        \
    X(tern_issend, (m->ctx, 0, 1, misuse_words, 8, &misuse_out))                                                       \
    X(tern_send_create, (m->ctx, 0, 1, misuse_words, 8, &misuse_out))                                                  \
    X(tern_ssend_create, (m->ctx, 0, 1, misuse_words, 8, &misuse_out))                                                 \
    X(tern_recv, (m->ctx, TERN_ANY_SOURCE, 1, misuse_words, 8, NULL))                                                  \
    X(tern_irecv, (m->ctx, TERN_ANY_SOURCE, 1, misuse_words, 8, &misuse_out))                                          \
    X(tern_irecv_masked, (m->ctx, TERN_ANY_SOURCE, 1, 1, misuse_words, 8, &misuse_out))                                \
    X(tern_recv_create, (m->ctx, TERN_ANY_SOURCE, 1, misuse_words, 8, &misuse_out))                                    \
    X(tern_recv_create_masked, (m->ctx, TERN_ANY_SOURCE, 1, 1, misuse_words, 8, &misuse_out))                          \
    X(tern_probe, (m->ctx, TERN_ANY_SOURCE, 1, TERN_FOREVER, NULL))                                                    \
    X(tern_probe_masked, (m->ctx, TERN_ANY_SOURCE, 1, 1, TERN_FOREVER, NULL))                                          \
    X(tern_mprobe, (m->ctx, TERN_ANY_SOURCE, 1, TERN_FOREVER, &misuse_message, NULL))                                  \
    X(tern_mprobe_masked, (m->ctx, TERN_ANY_SOURCE, 1, 1, TERN_FOREVER, &misuse_message, NULL))

/* Calls on a context that any thread may make. */
#define MISUSE_OF_CTX_BY_ANY(X) X(tern_wake, (m->ctx, 0))

#define MISUSE_OF_DOMAIN(X)                                           \
    MISUSE_ATOMICS(X)                                                 \
    X(tern_atomic_domain_info, (m->domain, &(tern_atomic_info){ 0 })) \
    X(tern_atomic_domain_free, (m->domain))

#define MISUSE_OF_MUTEXES(X)                                \
    X(tern_mutex_lock, (m->ctx, m->mutexes, 0, 0))          \
    X(tern_mutex_try, (m->ctx, m->mutexes, 0, 0, TERN_NOW)) \
    X(tern_mutex_unlock, (m->ctx, m->mutexes, 0, 0))        \
    X(tern_mutex_free, (m->mutexes))

#define MISUSE_OF_CLIENT(X)                                \
    MISUSE_CLIENT(X)                                       \
    X(tern_am_client_register, (m->client, 0, NULL, NULL)) \
    X(tern_am_client_free, (m->client))

#define MISUSE_OF_COUNTER(X)                               \
    X(tern_counter_set, (m->counter, 1))                   \
    X(tern_counter_add, (m->counter, 1))                   \
    X(tern_counter_add_with, (m->counter, 1, NULL))        \
    X(tern_counter_read, (m->counter, &misuse_word, NULL)) \
    X(tern_counter_wait, (m->counter, 7, TERN_FOREVER))    \
    X(tern_counter_event, (m->counter, 7, &misuse_event))  \
    X(tern_counter_cancel, (m->counter, NULL))             \
    X(tern_counter_free, (m->counter))

/* Calls on a persistent request that is not started. */
#define MISUSE_OF_REQUEST(X)                                                                           \
    X(tern_request_test, (&m->request, NULL))                                                          \
    X(tern_request_wait, (&m->request, TERN_FOREVER, NULL))                                            \
    X(tern_request_test_any, (&m->request, 1, &misuse_index, NULL))                                    \
    X(tern_request_wait_any, (&m->request, 1, TERN_FOREVER, &misuse_index, NULL))                      \
    X(tern_request_wait_some, (&m->request, 1, TERN_FOREVER, &misuse_index, &misuse_word, NULL, NULL)) \
    X(tern_request_start, (m->request))                                                                \
    X(tern_request_cancel, (&m->request, NULL))                                                        \
    X(tern_request_event, (m->request, &misuse_event))                                                 \
    X(tern_request_free, (&m->request))

/* The other calls, which have no object that can be freed, or none that is used here. */
#define MISUSE_OF_JOB(X)                                                                    \
    X(tern_finalize, ())                                                                    \
    X(tern_peer_check, (0))                                                                 \
    X(tern_ctx_create, (m->team, TERN_RELAXED, &(tern_ctx *){ NULL }))                      \
    X(tern_team_translate, (m->team, 0, m->team, &(int){ 0 }))                              \
    X(tern_cache_invalidate, (misuse_words, 8))                                             \
    X(tern_region_free, (m->region))                                                        \
    X(tern_region_grow, (m->region, 64))                                                    \
    X(tern_region_attach, (m->region, misuse_words, 8))                                     \
    X(tern_region_detach, (m->region, misuse_words))                                        \
    X(tern_team_create, (m->team, &(int){ 0 }, 1, 0, &(tern_team *){ NULL }))               \
    X(tern_team_strided, (m->team, 0, 1, 1, 0, &(tern_team *){ NULL }))                     \
    X(tern_team_free, (m->team))                                                            \
    X(tern_request_test_all, (NULL, 1, &misuse_info, NULL))                                 \
    X(tern_request_wait_all, (NULL, 1, TERN_FOREVER, &misuse_info, NULL))                   \
    X(tern_event_test, (m->event))                                                          \
    X(tern_event_peek, (m->event))                                                          \
    X(tern_event_wait, (m->event, TERN_FOREVER))                                            \
    X(tern_event_wait_any, (m->event, 1, TERN_FOREVER, &misuse_index))                      \
    X(tern_event_wait_all, (m->event, 1, TERN_FOREVER))                                     \
    X(tern_event_wait_some, (m->event, 1, TERN_FOREVER, &misuse_index, &misuse_word, NULL)) \
    X(tern_triggered_cancel, (m->event))                                                    \
    X(tern_notify_probe, (NULL, NULL))                                                      \
    X(tern_mrecv, (NULL, misuse_words, 8, NULL))                                            \
    X(tern_imrecv, (NULL, misuse_words, 8, &misuse_out))                                    \
    X(tern_am_reply, (NULL, &TERN_AM(.kind = TERN_AM_SHORT)))                               \
    X(tern_am_prepare_reply, (NULL, &TERN_AM_PREPARE_OPTS_INIT, &(tern_am_prepared){ 0 }))  \
    X(tern_am_commit, (NULL, 0, NULL, 0, 0))                                                \
    X(tern_am_cancel, (NULL))

#define MISUSE_CHECK(name, arguments) misuse_check(m, #name, name arguments);
#define MISUSE_FUNCTION(name, LIST)                    \
    static inline void misuse_##name(struct misuse *m) \
    {                                                  \
        LIST(MISUSE_CHECK)                             \
    }
MISUSE_FUNCTION(of_region, MISUSE_OF_REGION)
MISUSE_FUNCTION(of_ctx, MISUSE_OF_CTX)
MISUSE_FUNCTION(of_ctx_by_any, MISUSE_OF_CTX_BY_ANY)
MISUSE_FUNCTION(of_domain, MISUSE_OF_DOMAIN)
MISUSE_FUNCTION(of_mutexes, MISUSE_OF_MUTEXES)
MISUSE_FUNCTION(of_client, MISUSE_OF_CLIENT)
MISUSE_FUNCTION(of_counter, MISUSE_OF_COUNTER)
MISUSE_FUNCTION(of_request, MISUSE_OF_REQUEST)
MISUSE_FUNCTION(of_job, MISUSE_OF_JOB)

/* Every call: the job is not running. */
static inline void misuse_of_all(struct misuse *m)
{
    misuse_of_region(m);
    misuse_of_ctx(m);
    misuse_of_ctx_by_any(m);
    misuse_of_domain(m);
    misuse_of_mutexes(m);
    misuse_of_client(m);
    misuse_of_counter(m);
    misuse_of_request(m);
    misuse_of_job(m);
}

#endif
