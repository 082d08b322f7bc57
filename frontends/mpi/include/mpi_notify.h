/* mpi_notify.h: notified access for MPI programs.
 *
 * A notified access is a put, get or accumulate on a window that notifies its target: the target waits for a number of
 * accesses by source and tag, without a message and without a synchronization of the window. The interface follows R.
 * Belli and T. Hoefler, "Notified Access: Extending Remote Memory Access Programming Models for Producer-Consumer
 * Synchronization" (IPDPS 2015), with the prefix MPIX_.
 *
 * The windows are windows of MPI: the puts, gets, locks and flushes of MPI work beside the calls of this header, on the
 * same memory. Calls return MPI_SUCCESS or an error code. Errors call the error handler of the window first; the class
 * of a code is one of MPI, and MPI_Error_string returns a text that names the call and the values.
 *
 * docs/mpi-notify.md describes what completes an access, which accumulates are atomic with which, and the limits.
 */
#ifndef MPI_NOTIFY_H
#define MPI_NOTIFY_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Start notified access. The call is collective over MPI_COMM_WORLD, and needed only if the first window that the
 * program makes does not contain all processes; otherwise the first window starts notified access. A call that makes a
 * window fails with the class MPI_ERR_COMM if notified access has not been started and the communicator does not
 * contain all processes. */
int MPIX_Notify_start(void);

/* Choose whether the requests that MPIX_Rput_notify and MPIX_Rget_notify return later may be outstanding. The call
 * concerns this process only. With a flag of 0, the setting at the start, an access is complete before its call
 * returns, so that the program may pass the request to all calls of MPI. With another flag, accesses to other nodes
 * overlap with what the program does next, and only the calls of this header complete the requests: MPI_Wait would wait
 * forever, and MPI_Test would never report completion. A program that is linked with the library tern-notify-pmpi
 * completes these requests by the names of MPI, too, and MPI_Init makes the call with the flag 1. */
int MPIX_Notify_defer(int flag);

/* Make a window with memory that MPIX_Win_free releases. The arguments are those of MPI_Win_allocate: each process
 * chooses size and disp_unit, and gets the address of its memory in *(void **)baseptr. Collective over comm. */
int MPIX_Win_allocate_notify(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win);

/* Make a window over memory of the program. The arguments are those of MPI_Win_create. Accesses within a node are
 * slower than those to memory of MPIX_Win_allocate_notify, because the kernel copies. Collective over comm. */
int MPIX_Win_create_notify(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win);

/* Free a window, and the memory that MPIX_Win_allocate_notify reserved. The arguments are those of MPI_Win_free, which
 * may be called instead; the memory is then released when a window with the same processes is made, or by MPI_Finalize.
 * The notification requests of the window become invalid, and can only be freed. Collective over the communicator of
 * the window. */
int MPIX_Win_free(MPI_Win *win);

/* Set *flag to 1 if a window is a window for notified accesses, and to 0 otherwise. */
int MPIX_Win_is_notify(MPI_Win win, int *flag);

/* Put data, and notify the target with a tag from 0 to MPIX_NOTIFY_TAG_UB. The other arguments are those of MPI_Put.
 * The target is notified when the data is in its memory. An access of no bytes notifies, too. The origin buffer must
 * not be modified until MPIX_Win_flush or MPIX_Win_flush_local. */
int MPIX_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, int tag);

/* Get data, and notify the target when the data has been read and may be overwritten. The other arguments are those of
 * MPI_Get. The data is in the origin buffer when MPIX_Win_flush or MPIX_Win_flush_local returns; a get from another
 * node may be outstanding until then. */
int MPIX_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, int tag);

/* Put or get data, notify the target, and return a request that completes when the origin buffer may be modified (put)
 * or contains the data (get). MPIX_Wait and its relatives complete and free the request. MPI_Wait does so, too, unless
 * MPIX_Notify_defer allows the request to be outstanding. If the access fails after the call has returned, the call
 * that completes the request returns the error. */
int MPIX_Rput_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, int tag,
                     MPI_Request *request);
int MPIX_Rget_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, int tag,
                     MPI_Request *request);

/* Accumulate, and notify the target. The other arguments are those of MPI_Accumulate, MPI_Raccumulate,
 * MPI_Get_accumulate, MPI_Fetch_and_op and MPI_Compare_and_swap. op is one of the predefined operations of MPI,
 * including MPI_REPLACE and MPI_NO_OP. The result of MPIX_Get_accumulate_notify has as many bytes as the target. The
 * accumulate is complete when the call returns, so the request of MPIX_Raccumulate_notify is complete, and may be
 * passed to all calls of MPI. The target is notified when all data of the accumulate is in its memory.
 * MPIX_Compare_and_swap_notify accepts integers, logical values and bytes, as MPI_Compare_and_swap does; the element at
 * the target must be aligned to its size. */
int MPIX_Accumulate_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                           MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                           int tag);
int MPIX_Raccumulate_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                            MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                            MPI_Win win, int tag, MPI_Request *request);
int MPIX_Get_accumulate_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                               void *result_addr, int result_count, MPI_Datatype result_datatype, int target_rank,
                               MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                               MPI_Win win, int tag);
int MPIX_Fetch_and_op_notify(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                             MPI_Aint target_disp, MPI_Op op, MPI_Win win, int tag);
int MPIX_Compare_and_swap_notify(const void *origin_addr, const void *compare_addr, void *result_addr,
                                 MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win, int tag);

/* The greatest tag that an access can have. */
#define MPIX_NOTIFY_TAG_UB 0x7fffffff

/* Complete the notified accesses of this process on a window: to one target (flush) or to all targets (flush_all), at
 * the origin only if the name contains local. The calls may be made at any time, also outside of an epoch. */
int MPIX_Win_flush(int rank, MPI_Win win);
int MPIX_Win_flush_local(int rank, MPI_Win win);
int MPIX_Win_flush_all(MPI_Win win);
int MPIX_Win_flush_local_all(MPI_Win win);

/* Make a request for expected_count notifications of accesses to this process on a window. source is a rank or
 * MPI_ANY_SOURCE, and tag a tag or MPI_ANY_TAG. The request is persistent: MPIX_Start starts it, any number of times,
 * the calls below wait for it, and MPIX_Request_free frees it. Starting a request that has not completed keeps the
 * notifications that have matched. A wait for a request that is not started returns at once with an empty status, as a
 * wait for any persistent request of MPI does. The status of a completed request has the source and the tag of the last
 * notification; its count, in elements of MPI_BYTE, is the number of notifications. */
int MPIX_Notify_init(MPI_Win win, int source, int tag, int expected_count, MPI_Request *request);

/* Test or wait for a notification that no request has matched. The notification stays, and a request can match the
 * notification later. The status has the source and the tag of the notification; its count, in elements of MPI_BYTE, is
 * the number of bytes that the access moved. MPI_Get_elements_x returns counts that do not fit into an int. */
int MPIX_Iprobe_notify(int source, int tag, MPI_Win win, int *flag, MPI_Status *status);
int MPIX_Probe_notify(int source, int tag, MPI_Win win, MPI_Status *status);

/* Wait for one notification with a tag, from any process, and take it; or test for it, and set *flag to 1 if there was
 * one. These are the waits of Open MPI's extension "notified_rma", whose notification_id is the tag here. Each wait
 * takes one notification, so that several notifications with the same tag are not lost. A request that was started
 * earlier and accepts the notification takes it first. */
int MPIX_Win_wait_notify(MPI_Win win, int tag);
int MPIX_Win_test_notify(MPI_Win win, int tag, int *flag);

/* Start requests, and wait for them. These are the calls of MPI without the X, which accept notification requests,
 * requests of accesses and all requests of MPI, also mixed. A program that is linked with the library tern-notify-pmpi
 * calls them by their names in MPI. Without this library, the calls of MPI do not know notification requests: MPI_Start
 * fails with the class MPI_ERR_REQUEST, MPI_Wait waits forever, and MPI_Test never reports completion. */
int MPIX_Start(MPI_Request *request);
int MPIX_Startall(int count, MPI_Request array_of_requests[]);
int MPIX_Wait(MPI_Request *request, MPI_Status *status);
int MPIX_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPIX_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status);
int MPIX_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status);
int MPIX_Waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses);
int MPIX_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses);
int MPIX_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                  MPI_Status *array_of_statuses);
int MPIX_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                  MPI_Status *array_of_statuses);
int MPIX_Request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int MPIX_Request_free(MPI_Request *request);

/* Cancel a notification request, as MPI_Cancel cancels a receive: the request completes, and MPI_Test_cancelled tells
 * whether it was cancelled. The notifications that have matched are consumed. */
int MPIX_Cancel(MPI_Request *request);

#ifdef __cplusplus
}
#endif

#endif
