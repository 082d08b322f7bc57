/* mpi_armci.c: MPI and ARMCI in one program: each makes progress while a rank waits in the other, groups have
 * communicators that work, and either library may start and end first. The argument says how the program begins and
 * ends. */
#include <mpi.h>

#include "armci_test.h"

enum { LONG = 4 << 20 }; /* bytes of a message that no MPI buffers */

static char  *out, *in;
static void **memory;

/* Wait in ARMCI, in one of several ways, for something that the partner does only after it has received. */
static void wait_in_armci(int way, int partner)
{
    int value;

    switch (way) {
    case 0: ARMCI_Barrier(); break;
    case 1: armci_msg_barrier(); break;
    case 2: MUST(armci_notify_wait(partner, NULL) > 0); break;
    case 3: armci_msg_rcv(4, &value, sizeof value, NULL, partner); break;
    default:
        ARMCI_Lock(0, partner); /* the partner holds it */
        ARMCI_Unlock(0, partner);
        break;
    }
}

/* What the partner of such a rank does. */
static void release_from_armci(int way, int partner)
{
    int value = 1;

    switch (way) {
    case 0: ARMCI_Barrier(); break;
    case 1: armci_msg_barrier(); break;
    case 2: MUST(armci_notify(partner) == 0); break;
    case 3: armci_msg_snd(4, &value, sizeof value, partner); break;
    default: ARMCI_Unlock(0, me); break;
    }
}

/* Even ranks start a long MPI_Isend and wait in ARMCI; odd ranks receive, and only then let them go on. */
static void check_send(int way)
{
    int         partner = me % 2 ? me - 1 : me + 1;
    MPI_Request request;

    if (partner >= n) {
        if (way < 2)
            ARMCI_Barrier();
        return;
    }
    memset(out, 'a' + way, LONG);
    if (me % 2 == 0) {
        MPI_Isend(out, LONG, MPI_BYTE, partner, way, MPI_COMM_WORLD, &request);
        wait_in_armci(way, partner);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        memset(in, 0, LONG);
        MPI_Recv(in, LONG, MPI_BYTE, partner, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MUST(memcmp(in, out, LONG) == 0);
        release_from_armci(way, partner);
    }
}

/* A rank that waits in MPI does not delay operations on its memory. */
static void check_target(void)
{
    double one = 1, back = 0;
    long   old;

    *(double *)memory[me] = *(long *)memory[me] = 0;
    ARMCI_Barrier();
    if (me == 0) {
        for (int rank = 0; rank < n; rank++) {
            MUST(ARMCI_Put(&one, memory[rank], 8, rank) == 0);
            MUST(ARMCI_Acc(ARMCI_ACC_DBL, &one, &one, memory[rank], 8, rank) == 0);
            ARMCI_Fence(rank);
            MUST(ARMCI_Get(memory[rank], &back, 8, rank) == 0 && back == 2);
            MUST(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, (long *)memory[rank] + 1, 1, rank) == 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the others wait here all the time */
    MUST(*(double *)memory[me] == 2);
    ARMCI_Barrier();
}

/* The communicator of a group has its ranks in its order, and works while ranks outside the group wait in ARMCI. */
static void check_communicators(void)
{
    ARMCI_Group group, world;
    int        *list = malloc((size_t)n * sizeof *list), members = 0, rank, size, sum = me, expect = 0;

    MUST(list != NULL);
    for (int i = n - 1; i >= 0; i -= 2)
        list[members++] = i;
    for (int i = 0; i < members; i++)
        expect += list[i];
    ARMCI_Group_create(members, list, &group);
    if (group.rank >= 0) {
        MPI_Comm_rank(group.comm, &rank);
        MPI_Comm_size(group.comm, &size);
        MUST(rank == group.rank && size == members && list[rank] == me);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, group.comm);
        MUST(sum == expect);
    } else {
        MUST(group.comm == MPI_COMM_NULL);
    }
    ARMCI_Barrier();
    ARMCI_Group_free(&group);
    ARMCI_Group_get_world(&world);
    MPI_Comm_compare(world.comm, MPI_COMM_WORLD, &rank);
    MUST(rank == MPI_CONGRUENT);
    free(list);
}

/* ARMCI starts with the levels of threads that MPI provides, and refuses higher ones. There are four levels. */
static void check_levels(void)
{
    int provided;

    MPI_Query_thread(&provided);
    for (int level = MPI_THREAD_SINGLE; level <= MPI_THREAD_MULTIPLE; level++) {
        int available = level <= provided;

        MUST(ARMCI_Init_thread(level) == (available ? 0 : FAIL));
        MUST(ARMCI_Init_thread_comm(level, MPI_COMM_WORLD) == (available ? 0 : FAIL));
        MUST(ARMCI_Initialized() == available);
        for (int times = 0; times < 2; times++)
            MUST(ARMCI_Finalize() == 0);
        MUST(!ARMCI_Initialized());
    }
    MUST(ARMCI_Init_thread(MPI_THREAD_MULTIPLE + 1) == FAIL && ARMCI_Init_thread(-1) == FAIL);
}

/* Begin: "armci" lets ARMCI_Init initialize MPI, "messages" armci_msg_init, and "serialized" ARMCI_Init_thread;
 * "single", "funneled" and "multiple" initialize MPI with these levels. */
static void begin(const char *how)
{
    int provided = MPI_THREAD_SINGLE;

    if (strcmp(how, "messages") == 0) {
        armci_msg_init(NULL, NULL);
    } else if (strcmp(how, "serialized") == 0) {
        MUST(ARMCI_Init_thread(MPI_THREAD_SERIALIZED) == 0 && ARMCI_Finalize() == 0);
        MPI_Query_thread(&provided);
        MUST(provided >= MPI_THREAD_SERIALIZED);
    } else if (strcmp(how, "funneled") == 0) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
        check_levels();
    } else if (strcmp(how, "multiple") == 0) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
        MUST(provided == MPI_THREAD_MULTIPLE);
        check_levels();
    } else if (strcmp(how, "single") == 0) {
        MPI_Init(NULL, NULL);
        check_levels();
    } else if (strcmp(how, "armci") != 0) {
        MPI_Init(NULL, NULL);
    }
    start();
}

/* End: "late" ends MPI before ARMCI, "never" ends only MPI, "messages" and "taken" let armci_msg_finalize end both. */
static void end(const char *how)
{
    void **left;

    if (strcmp(how, "armci") == 0 || strcmp(how, "serialized") == 0) {
        finish();
    } else if (strcmp(how, "late") == 0) {
        MPI_Finalize();
        finish();
    } else if (strcmp(how, "never") == 0) {
        left = allocate(64);
        free(left);
        MPI_Finalize();
    } else if (strcmp(how, "messages") == 0 || strcmp(how, "taken") == 0) {
        armci_msg_finalize();
        MUST(!ARMCI_Initialized());
    } else {
        finish();
        MPI_Finalize();
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int         initialized;

    begin(how);
    MPI_Initialized(&initialized);
    MUST(initialized);
    out = malloc(LONG);
    in = malloc(LONG);
    MUST(out != NULL && in != NULL && ARMCI_Create_mutexes(1) == 0);
    memory = allocate(64);
    for (int way = 0; way < 5; way++) {
        if (way == 4 && me % 2 == 1)
            ARMCI_Lock(0, me);
        MPI_Barrier(MPI_COMM_WORLD);
        check_send(way);
    }
    check_target();
    check_communicators();
    release(memory);
    MUST(ARMCI_Destroy_mutexes() == 0);
    free(out);
    free(in);
    end(how);
    return 0;
}
