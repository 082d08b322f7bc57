/* pmix.c: a client of PMIx, the library through which Open MPI's mpirun and 'srun --mpi=pmix' serve their processes.
 *
 * libpmix is not linked but loaded when a PMIx launcher is present, so programs that are started with ternrun do not
 * need it. Its headers provide the types at build time. PMIx counts the calls that initialize it, so an MPI library in
 * the same process is not affected.
 */
#include <dlfcn.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "boot/poll_deadline.h"
#include "boot/pmi.h"
#include "boot/segment.h"

#define LIBRARY "libpmix.so.2"
#define CALLS(X)     \
    X(PMIx_Init)     \
    X(PMIx_Finalize) \
    X(PMIx_Put)      \
    X(PMIx_Commit)   \
    X(PMIx_Fence_nb) \
    X(PMIx_Get) X(PMIx_Abort) X(PMIx_Error_string) X(PMIx_Register_event_handler) X(PMIx_Deregister_event_handler)

/* The functions of the library that Tern uses. */
#define AS_POINTER(name) __typeof__(&(name)) name;
static struct {
    CALLS(AS_POINTER)
} lib;

static struct {
    struct tern_pmi pmi;
    pmix_proc_t     self;
    int             fenced;        /* eventfd that a completed fence signals */
    _Atomic int     fence_outcome; /* status of that fence */
    pmix_status_t   handler;       /* handle of the handler for lost connections; negative: none */
} one;

static tern_status failed(const char *call, pmix_status_t code)
{
    return tern_base_fail(TERN_ERR_BOOT,
                          "the launcher offers PMIx, but %s failed: %s (%d); start the job with ternrun, or set "
                          "TERN_LAUNCHER=alone to be a job of one",
                          call, lib.PMIx_Error_string(code), code);
}

static tern_status load(void)
{
    const char *missing = NULL;
    void       *handle;

    if (getauxval(AT_BASE) == 0) /* no dynamic linker */
        return tern_base_fail(TERN_ERR_BOOT, "the launcher offers PMIx, but this program is linked statically and "
                                             "cannot load " LIBRARY "; link it dynamically, or start it with ternrun");
    handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return tern_base_fail(TERN_ERR_BOOT,
                              "the launcher offers PMIx, but " LIBRARY " cannot be loaded: %.200s; install it (Debian: "
                              "libpmix2) or name its directory in LD_LIBRARY_PATH",
                              dlerror());
#define AS_LOOKUP(name)                                                  \
    if ((lib.name = (__typeof__(lib.name))dlsym(handle, #name)) == NULL) \
        missing = #name;
    CALLS(AS_LOOKUP)
    if (missing != NULL)
        return tern_base_fail(TERN_ERR_BOOT, "the launcher offers PMIx, but " LIBRARY " has no %s; install a newer one",
                              missing);
    return TERN_OK;
}

/* Query the number of processes of the job. */
static tern_status ask_size(int *out)
{
    pmix_proc_t   all = one.self;
    pmix_value_t *value = NULL;
    pmix_status_t code;
    uint32_t      size;

    all.rank = PMIX_RANK_WILDCARD;
    code = lib.PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (code != PMIX_SUCCESS || value == NULL)
        return failed("PMIx_Get of the job's size", code);
    size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
    free(value);
    if (size < 1 || size > TERN_MAX_RANKS || one.self.rank >= size)
        return tern_base_fail(TERN_ERR_BOOT, "the launcher says that this is rank %u of %u; Tern takes up to %d",
                              one.self.rank, size, TERN_MAX_RANKS);
    *out = (int)size;
    return TERN_OK;
}

/* Record that the connection to the launcher is lost. Runs on a thread of libpmix, which defines the parameters. */
/* NOLINTNEXTLINE(readability-function-size) */
static void launcher_gone(size_t number, pmix_status_t code, const pmix_proc_t *source, pmix_info_t *info, size_t infos,
                          pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t next, void *arg)
{
    (void)number, (void)code, (void)source, (void)info, (void)infos, (void)results, (void)nresults;
    eventfd_write(one.pmi.gone, 1);
    if (next != NULL)
        next(PMIX_SUCCESS, NULL, 0, NULL, NULL, arg); /* call the next handler in the chain */
}

static void release(void)
{
    close(one.fenced);
    close(one.pmi.gone);
    one.fenced = one.pmi.gone = -1;
}

static tern_status pmix_open(struct tern_pmi **out)
{
    pmix_status_t lost[] = { PMIX_ERR_LOST_CONNECTION, PMIX_ERR_LOST_CONNECTION_TO_SERVER };
    pmix_status_t code;
    tern_status   st = load();

    if (st != TERN_OK)
        return st;
    one.pmi = (struct tern_pmi){ .ops = &tern_boot_pmix, .gone = eventfd(0, EFD_CLOEXEC), .fd = -1 };
    one.fenced = eventfd(0, EFD_CLOEXEC);
    if (one.pmi.gone < 0 || one.fenced < 0)
        st = tern_base_fail(TERN_ERR_SYSTEM, "cannot make an eventfd: see 'ulimit -n'");
    else if ((code = lib.PMIx_Init(&one.self, NULL, 0)) != PMIX_SUCCESS)
        st = failed("PMIx_Init", code);
    else
        st = ask_size(&one.pmi.ranks); /* on failure PMIx stays initialized, so that the launcher notices the failure */
    if (st != TERN_OK) {
        release();
        return st;
    }
    one.pmi.rank = (int)one.self.rank;
    one.handler =
        lib.PMIx_Register_event_handler(lost, sizeof(lost) / sizeof(lost[0]), NULL, 0, launcher_gone, NULL, NULL);
    *out = &one.pmi;
    return TERN_OK;
}

static tern_status pmix_put(const char *key, const char *value)
{
    char          name[PMIX_MAX_KEYLEN + 1], text[TERN_PMI_VALUE];
    pmix_value_t  boxed = { .type = PMIX_STRING, .data.string = text };
    pmix_status_t code;

    snprintf(text, sizeof(text), "%s", value); /* the call takes a non-const string */
    snprintf(name, sizeof(name), "tern.%s", key);
    if ((code = lib.PMIx_Put(PMIX_GLOBAL, name, &boxed)) != PMIX_SUCCESS)
        return failed("PMIx_Put", code);
    code = lib.PMIx_Commit();
    return code == PMIX_SUCCESS ? TERN_OK : failed("PMIx_Commit", code);
}

/* Completion callback of a fence. Runs on a thread of libpmix. */
static void fence_ended(pmix_status_t code, void *arg)
{
    (void)arg;
    atomic_store_explicit(&one.fence_outcome, code, memory_order_relaxed); /* relaxed: ordered by the eventfd */
    eventfd_write(one.fenced, 1);
}

static tern_status pmix_fence(void)
{
    pmix_info_t               collect = { .key = PMIX_COLLECT_DATA, .value = { .type = PMIX_BOOL, .data.flag = true } };
    struct tern_poll_deadline deadline;
    eventfd_t                 count;
    tern_status               st;
    pmix_status_t             code;

    tern_boot_poll_begin(&deadline, "the other ranks: all ranks that the launcher started have to call it");
    code = lib.PMIx_Fence_nb(NULL, 0, &collect, 1, fence_ended, NULL);
    if (code == PMIX_SUCCESS) {
        st = tern_boot_poll(&deadline, &(struct pollfd){ one.fenced, POLLIN, 0 }, 1, INT64_MAX);
        if (st != TERN_OK)
            return st;
        eventfd_read(one.fenced, &count);
        code = atomic_load_explicit(&one.fence_outcome, memory_order_relaxed); /* relaxed: ordered by the eventfd */
    }
    return code == PMIX_SUCCESS || code == PMIX_OPERATION_SUCCEEDED ? TERN_OK : failed("PMIx_Fence", code);
}

static tern_status pmix_get(int rank, const char *key, char *value)
{
    char          name[PMIX_MAX_KEYLEN + 1];
    pmix_proc_t   other = one.self;
    pmix_value_t *boxed = NULL;
    pmix_status_t code;
    bool          fits;

    other.rank = (pmix_rank_t)rank;
    snprintf(name, sizeof(name), "tern.%s", key);
    code = lib.PMIx_Get(&other, name, NULL, 0, &boxed);
    if (code != PMIX_SUCCESS || boxed == NULL)
        return failed("PMIx_Get", code);
    fits = boxed->type == PMIX_STRING && boxed->data.string != NULL && strlen(boxed->data.string) < TERN_PMI_VALUE;
    if (fits)
        strcpy(value, boxed->data.string);
    if (boxed->type == PMIX_STRING)
        free(boxed->data.string);
    free(boxed);
    return fits ? TERN_OK : tern_base_fail(TERN_ERR_BOOT, "rank %d published a PMIx value that Tern cannot read", rank);
}

static void pmix_abort(int status)
{
    lib.PMIx_Abort(status, "", NULL, 0); /* Tern has already printed the reason */
}

static void pmix_end(void)
{
    /* PMIx counts the calls of PMIx_Init. An MPI library in the process made the second one; if there is none, the
     * second call fails and has no effect. */
    lib.PMIx_Finalize(NULL, 0);
    lib.PMIx_Finalize(NULL, 0);
}

static void pmix_close(bool in_order)
{
    if (one.handler >= 0)
        lib.PMIx_Deregister_event_handler((size_t)one.handler, NULL, NULL);
    if (in_order)
        lib.PMIx_Finalize(NULL, 0);
    release();
}

const struct tern_pmi_ops tern_boot_pmix = {
    .open = pmix_open,
    .put = pmix_put,
    .fence = pmix_fence,
    .get = pmix_get,
    .abort = pmix_abort,
    .end = pmix_end,
    .close = pmix_close,
};
