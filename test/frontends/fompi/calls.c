/* calls.c: every call of foMPI-NA exists with the parameters that its programs pass. The compiler checks the types: a
 * call whose type differs does not initialize its pointer. The 54 calls of the paper's implementation come with
 * foMPI_Waitsome and foMPI_Testsome.
 */
#include "check.h"

#define CALL(name, ...)                    \
    do {                                   \
        int (*call)(__VA_ARGS__) = (name); \
        MUST(call != NULL);                \
        count++;                           \
    } while (0)
#define ORIGIN_AND_TARGET int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype
#define RESULT int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype

/* Check the calls for the start, the end, and requests. Returns their number. */
static int count_start(void)
{
    int count = 0;

    CALL(foMPI_Notify_init, foMPI_Win, int, int, int, foMPI_Request *);
    CALL(foMPI_Put_notify, const void *, ORIGIN_AND_TARGET, foMPI_Win, int);
    CALL(foMPI_Get_notify, void *, ORIGIN_AND_TARGET, foMPI_Win, int);
    CALL(foMPI_Rput_notify, const void *, ORIGIN_AND_TARGET, foMPI_Win, foMPI_Request *, int);
    CALL(foMPI_Rget_notify, void *, ORIGIN_AND_TARGET, foMPI_Win, foMPI_Request *, int);
    CALL(foMPI_Init, int *, char ***);
    CALL(foMPI_Finalize, void);
    CALL(foMPI_Alloc_mem, MPI_Aint, MPI_Info, void *);
    CALL(foMPI_Type_free, MPI_Datatype *);
    CALL(foMPI_Start, foMPI_Request *);
    CALL(foMPI_Wait, foMPI_Request *, MPI_Status *);
    CALL(foMPI_Test, foMPI_Request *, int *, MPI_Status *);
    CALL(foMPI_Waitany, int, foMPI_Request *, int *, MPI_Status *);
    CALL(foMPI_Testany, int, foMPI_Request *, int *, int *, MPI_Status *);
    CALL(foMPI_Waitsome, int, foMPI_Request *, int *, int *, MPI_Status *);
    CALL(foMPI_Testsome, int, foMPI_Request *, int *, int *, MPI_Status *);
    CALL(foMPI_Request_free, foMPI_Request *);
    return count;
}

/* Check the calls for windows, epochs and attributes. Returns their number. */
static int count_windows(void)
{
    int count = 0;

    CALL(foMPI_Win_create, void *, MPI_Aint, int, MPI_Info, MPI_Comm, foMPI_Win *);
    CALL(foMPI_Win_allocate, MPI_Aint, int, MPI_Info, MPI_Comm, void *, foMPI_Win *);
    CALL(foMPI_Win_create_dynamic, MPI_Info, MPI_Comm, foMPI_Win *);
    CALL(foMPI_Win_free, foMPI_Win *);
    CALL(foMPI_Win_attach, foMPI_Win, void *, MPI_Aint);
    CALL(foMPI_Win_detach, foMPI_Win, const void *);
    CALL(foMPI_Win_fence, int, foMPI_Win);
    CALL(foMPI_Win_start, MPI_Group, int, foMPI_Win);
    CALL(foMPI_Win_complete, foMPI_Win);
    CALL(foMPI_Win_post, MPI_Group, int, foMPI_Win);
    CALL(foMPI_Win_wait, foMPI_Win);
    CALL(foMPI_Win_test, foMPI_Win, int *);
    CALL(foMPI_Win_lock, int, int, int, foMPI_Win);
    CALL(foMPI_Win_unlock, int, foMPI_Win);
    CALL(foMPI_Win_lock_all, int, foMPI_Win);
    CALL(foMPI_Win_unlock_all, foMPI_Win);
    CALL(foMPI_Win_flush, int, foMPI_Win);
    CALL(foMPI_Win_flush_all, foMPI_Win);
    CALL(foMPI_Win_flush_local, int, foMPI_Win);
    CALL(foMPI_Win_flush_local_all, foMPI_Win);
    CALL(foMPI_Win_sync, foMPI_Win);
    CALL(foMPI_Win_get_group, foMPI_Win, MPI_Group *);
    CALL(foMPI_Win_set_name, foMPI_Win, const char *);
    CALL(foMPI_Win_get_name, foMPI_Win, char *, int *);
    CALL(foMPI_Win_create_keyval, MPI_Win_copy_attr_function *, MPI_Win_delete_attr_function *, int *, void *);
    CALL(foMPI_Win_free_keyval, int *);
    CALL(foMPI_Win_set_attr, foMPI_Win, int, void *);
    CALL(foMPI_Win_get_attr, foMPI_Win, int, void *, int *);
    CALL(foMPI_Win_delete_attr, foMPI_Win, int);
    return count;
}

/* Check the calls for accesses. Returns their number. */
static int count_accesses(void)
{
    int count = 0;

    CALL(foMPI_Put, const void *, ORIGIN_AND_TARGET, foMPI_Win);
    CALL(foMPI_Get, void *, ORIGIN_AND_TARGET, foMPI_Win);
    CALL(foMPI_Accumulate, const void *, ORIGIN_AND_TARGET, foMPI_Op, foMPI_Win);
    CALL(foMPI_Get_accumulate, const void *, int, MPI_Datatype, void *, ORIGIN_AND_TARGET, foMPI_Op, foMPI_Win);
    CALL(foMPI_Fetch_and_op, const void *, void *, MPI_Datatype, int, MPI_Aint, foMPI_Op, foMPI_Win);
    CALL(foMPI_Compare_and_swap, const void *, const void *, void *, MPI_Datatype, int, MPI_Aint, foMPI_Win);
    CALL(foMPI_Rput, const void *, ORIGIN_AND_TARGET, foMPI_Win, foMPI_Request *);
    CALL(foMPI_Rget, void *, ORIGIN_AND_TARGET, foMPI_Win, foMPI_Request *);
    CALL(foMPI_Raccumulate, const void *, ORIGIN_AND_TARGET, foMPI_Op, foMPI_Win, foMPI_Request *);
    CALL(foMPI_Rget_accumulate, const void *, int, MPI_Datatype, void *, ORIGIN_AND_TARGET, foMPI_Op, foMPI_Win,
         foMPI_Request *);
    return count;
}

void test_calls(MPI_Comm comm)
{
    (void)comm;
    MUST(count_start() + count_windows() + count_accesses() == 56);
    MUST(foMPI_NO_OP == 13 && foMPI_TAG_UB == 32767 && foMPI_ANY_SOURCE == -1 && foMPI_ANY_TAG == -2);
}
