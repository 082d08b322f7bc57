/* job.c: start and end of the ARMCI front end, errors, and information about the job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

struct tern_armci tern_armci;
pthread_mutex_t   tern_armci_lock = PTHREAD_MUTEX_INITIALIZER;

void tern_armci_bad_rank(const char *call, int proc)
{
    if (tern_armci.size == 0)
        tern_front_die(call, "ARMCI is not initialized; call ARMCI_Init first");
    tern_front_die(call, "there is no rank %d; the ranks of this job are 0 to %d", proc, tern_armci.size - 1);
}

/* Read the option TERN_ARMCI_DOMAIN. */
static bool wants_split_nodes(const char *call)
{
    const char *value = getenv("TERN_ARMCI_DOMAIN");

    if (value == NULL || strcmp(value, "node") == 0)
        return false;
    if (strcmp(value, "rank") != 0)
        tern_front_die(call, "TERN_ARMCI_DOMAIN is \"%s\"; it must be \"node\" or \"rank\"", value);
    return true;
}

/* What a rank tells the others when it starts. */
struct beginning {
    bool whole_nodes; /* the rank's domain may be its node */
    bool heap;        /* the rank wants memory for ARMCI_Memget */
};

/* Let the domains be the nodes only if all ranks agree. Returns whether any rank wants memory for ARMCI_Memget. */
static bool agree(const char *call, bool heap)
{
    struct beginning  mine = { tern_armci.whole_nodes, heap };
    struct beginning *all = tern_front_alloc(call, (size_t)tern_armci.size, sizeof mine);

    tern_front_check(tern_allgather(tern_armci.near_ctx, &mine, sizeof mine, all), call, "agreeing on domains");
    for (int rank = 0; rank < tern_armci.size; rank++) {
        tern_armci.whole_nodes = tern_armci.whole_nodes && all[rank].whole_nodes;
        heap = heap || all[rank].heap;
    }
    free(all);
    return heap;
}

/* Record which ranks are near. A rank is near if this process can load from and store to its part of a region. */
static void find_near(const char *call)
{
    uint64_t bytes = (uint64_t)tern_armci.size * sizeof(uint64_t);

    tern_front_check(tern_region_create(tern_armci.near_ctx, bytes, NULL, &tern_armci.words), call,
                     "allocating the counters of notifications");
    tern_armci.near = tern_front_alloc(call, (size_t)tern_armci.size, 1);
    tern_armci.whole_nodes = !wants_split_nodes(call);
    for (int rank = 0; rank < tern_armci.size; rank++) {
        tern_armci.near[rank] = tern_region_ptr(tern_armci.words, rank) != NULL;
        if (tern_node_of(rank) == tern_node_of(tern_armci.me) && !tern_armci.near[rank])
            tern_armci.whole_nodes = false; /* for instance because of TERN_LINKS=ofi */
    }
}

static void create_contexts(const char *call)
{
    tern_team *world = tern_team_world();
    tern_order strict = TERN_STRICT, relaxed = TERN_RELAXED;

    if (tern_armci.threads) {
        strict = (tern_order)(TERN_STRICT | TERN_SHARED);
        relaxed = (tern_order)(TERN_RELAXED | TERN_SHARED);
    }
    tern_front_check(tern_ctx_create(world, strict, &tern_armci.far_ctx), call, "creating a context");
    tern_front_check(tern_ctx_create(world, relaxed, &tern_armci.near_ctx), call, "creating a context");
    tern_front_check(tern_team_dup(tern_armci.near_ctx, &tern_armci.msg_team), call, "creating a team for messages");
    tern_front_check(tern_ctx_create(tern_armci.msg_team, relaxed, &tern_armci.msg_ctx), call,
                     "creating a context for messages");
}

/* Count one more start, of a program that wants several threads to call ARMCI at the same time. */
static int start_again(const char *call, bool threads)
{
    if (!threads || tern_armci.threads)
        return 0;
    fprintf(
        stderr,
        "tern: %s: MPI_THREAD_MULTIPLE is not available: ARMCI has been started for one thread at a time; make this "
        "call first\n",
        call);
    (void)tern_front_stop(call);
    return FAIL;
}

/* Start. Several threads may call ARMCI at the same time if the program asks for that, or if MPI was initialized with
 * MPI_THREAD_MULTIPLE. */
static int start_threads(const char *call, bool threads)
{
    uint64_t heap_bytes;
    bool     heap;
    int      size;

    if (!tern_front_start(call))
        return start_again(call, threads);
    tern_armci.threads = threads || tern_front_mpi_is_multiple();
    size = tern_size();
    tern_armci.me = tern_rank();
    create_contexts(call);
    tern_armci.size = size;
    find_near(call);
    heap_bytes = tern_armci_wished_heap(call);
    heap = agree(call, heap_bytes > 0);
    tern_armci.peers = tern_front_alloc(call, (size_t)size, sizeof *tern_armci.peers);
    tern_armci.waited = tern_front_alloc(call, (size_t)size, sizeof *tern_armci.waited);
    tern_armci_start_groups();
    tern_armci_start_odd(call);
    if (heap)
        tern_armci_start_heap(call, heap_bytes);
    return 0;
}

static int start(const char *call)
{
    return start_threads(call, false);
}

ARMCI_EXPORT int PARMCI_Init(void)
{
    return start("ARMCI_Init");
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Init, PARMCI_Init);

ARMCI_EXPORT int PARMCI_Init_args(int *argc, char ***argv)
{
    (void)argc; /* ARMCI takes no arguments from the command line */
    (void)argv;
    return start("ARMCI_Init_args");
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Init_args, PARMCI_Init_args);

#define MULTIPLE 3 /* MPI_THREAD_MULTIPLE in MPI's order of the levels of threads */

/* Check a level of threads. */
static bool has_level(const char *call, int requested)
{
    if (requested >= 0 && requested <= MULTIPLE)
        return true;
    fprintf(stderr, "tern: %s: there is no thread level %d; the levels are MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE\n",
            call, requested);
    return false;
}

/* Start with a level of threads that MPI, too, must provide. */
static int start_thread(const char *call, int requested)
{
    return tern_front_mpi_provide(call, requested) ? start_threads(call, requested == MULTIPLE) : FAIL;
}

ARMCI_EXPORT int PARMCI_Init_thread(int armci_requested)
{
    const char *call = "ARMCI_Init_thread";

    return has_level(call, armci_requested) ? start_thread(call, armci_requested) : FAIL;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Init_thread, PARMCI_Init_thread);

ARMCI_EXPORT int PARMCI_Init_thread_comm(int armci_requested, armci_comm_t comm)
{
    if (!has_level("ARMCI_Init_thread_comm", armci_requested))
        return FAIL;
    tern_armci_comm_check("ARMCI_Init_thread_comm", comm);
    return start_thread("ARMCI_Init_thread_comm", armci_requested);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Init_thread_comm, PARMCI_Init_thread_comm);

ARMCI_EXPORT int PARMCI_Init_mpi_comm(armci_comm_t comm)
{
    tern_armci_comm_check("ARMCI_Init_mpi_comm", comm);
    return start("ARMCI_Init_mpi_comm");
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Init_mpi_comm, PARMCI_Init_mpi_comm);

ARMCI_EXPORT int PARMCI_Initialized(void)
{
    return tern_armci.size > 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Initialized, PARMCI_Initialized);

/* Free all objects that the start and the program have created. */
static void stop(const char *call)
{
    tern_front_check(tern_quiet(tern_armci.far_ctx), call, "completing the outstanding operations");
    tern_front_check(tern_barrier(tern_armci.near_ctx), call, "the barrier of all ranks");
    tern_armci_free_handles();
    tern_armci_drop_mutexes();
    tern_armci_stop_odd(call);
    tern_armci_drop_messages();
    tern_armci_drop_heap();
    tern_armci_drop_blocks();
    tern_armci_stop_groups();
    tern_front_check(tern_region_free(tern_armci.words), call, "freeing the counters of notifications");
    tern_front_check(tern_ctx_free(tern_armci.msg_ctx), call, "freeing the context for messages");
    tern_front_check(tern_team_free(tern_armci.msg_team), call, "freeing the team for messages");
    tern_front_check(tern_ctx_free(tern_armci.far_ctx), call, "freeing a context");
    tern_front_check(tern_ctx_free(tern_armci.near_ctx), call, "freeing a context");
    free(tern_armci.peers);
    free(tern_armci.waited);
    free(tern_armci.near);
    tern_armci = (struct tern_armci){ 0 };
}

ARMCI_EXPORT int PARMCI_Finalize(void)
{
    if (tern_armci.size == 0)
        return 0; /* several libraries of a program may end ARMCI, as Global Arrays and TCGMSG do */
    if (tern_front_last())
        stop("ARMCI_Finalize");
    (void)tern_front_stop("ARMCI_Finalize");
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Finalize, PARMCI_Finalize);

/* Do nothing: in other libraries, this call releases resources that a failing process would leave behind, and Tern
 * leaves none. */
ARMCI_EXPORT void ARMCI_Cleanup(void)
{
    (void)fflush(stdout);
}

ARMCI_EXPORT void ARMCI_Error(const char *msg, int code)
{
    char text[1024];

    (void)snprintf(text, sizeof text, "ARMCI_Error: %s (%d)", msg != NULL ? msg : "no message", code);
    (void)fflush(stdout);
    tern_abort(code, text);
}

ARMCI_EXPORT void armci_die(const char *msg, int code)
{
    ARMCI_Error(msg, code);
}

ARMCI_EXPORT void armci_die2(const char *msg, int code1, int code2)
{
    char text[1024];

    (void)snprintf(text, sizeof text, "%s (%d)", msg != NULL ? msg : "no message", code2);
    ARMCI_Error(text, code1);
}

ARMCI_EXPORT int armci_msg_me(void)
{
    tern_armci_check_running("armci_msg_me");
    return tern_armci.me;
}

ARMCI_EXPORT int armci_msg_nproc(void)
{
    tern_armci_check_running("armci_msg_nproc");
    return tern_armci.size;
}

ARMCI_EXPORT void armci_msg_abort(int code)
{
    ARMCI_Error("armci_msg_abort was called", code);
}

ARMCI_EXPORT void armci_msg_init(int *argc, char ***argv)
{
    (void)argc; /* messages start with ARMCI_Init */
    (void)argv;
    (void)start("armci_msg_init");
}

/* End ARMCI, if the program has not done so, and MPI. This is the last call of programs that have called
 * armci_msg_init. */
ARMCI_EXPORT void armci_msg_finalize(void)
{
    while (tern_armci.size > 0)
        (void)PARMCI_Finalize();
    tern_front_mpi_take();
}

ARMCI_EXPORT double armci_timer(void)
{
    return (double)tern_clock() * 1e-9;
}

ARMCI_EXPORT void ARMCIX_Progress(void)
{
    tern_armci_check_running("ARMCIX_Progress");
    tern_front_check(tern_progress(tern_armci.far_ctx), "ARMCIX_Progress", "making progress");
}
