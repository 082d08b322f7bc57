/* listing.c: programs as users of the paper write them: its ping-pong, its pipelined stencil and its reduction tree,
 * with the prefix foMPI_. They look at no result and hold no epoch, as the listings of the paper do.
 */
#include "check.h"

#define MAX_SIZE 64
#define COLUMNS 16
#define ROWS 40

/* The ping-pong of listing 1. The ping arrives at the first half of the window, and the pong at the second. */
static void ping_pong(MPI_Comm comm)
{
    foMPI_Win     win;
    foMPI_Request notification_request;
    MPI_Status    notification_status;
    int           win_size = 2 * MAX_SIZE * sizeof(double), customTag = 99, expected_count = 1;
    int           my_rank, ranks, partner_rank, count;
    double       *buf;

    MPI_Comm_rank(comm, &my_rank);
    MPI_Comm_size(comm, &ranks);
    partner_rank = my_rank ^ 1;
    foMPI_Win_allocate(win_size, sizeof(double), MPI_INFO_NULL, comm, &buf, &win);
    if (partner_rank < ranks) {
        foMPI_Notify_init(win, partner_rank, customTag, expected_count, &notification_request);
        for (int size = 8; size < MAX_SIZE; size++) {
            if (my_rank % 2 == 0) {
                buf[size - 1] = size;
                foMPI_Put_notify(buf, size, MPI_DOUBLE, partner_rank, 0, size, MPI_DOUBLE, win, customTag);
                foMPI_Win_flush(partner_rank, win);
                foMPI_Start(&notification_request);
                foMPI_Wait(&notification_request, &notification_status);
                MUST(buf[MAX_SIZE + size - 1] == 2 * size);
            } else {
                foMPI_Start(&notification_request);
                foMPI_Wait(&notification_request, &notification_status);
                MUST(buf[size - 1] == size);
                buf[size - 1] = 2 * size;
                foMPI_Put_notify(buf, size, MPI_DOUBLE, partner_rank, MAX_SIZE, size, MPI_DOUBLE, win, customTag);
                foMPI_Win_flush(partner_rank, win);
            }
            MPI_Get_count(&notification_status, MPI_INT, &count);
            MUST(notification_status.MPI_SOURCE == partner_rank && notification_status.MPI_TAG == customTag);
            MUST(count == 1);
        }
        foMPI_Request_free(&notification_request);
    }
    foMPI_Win_free(&win);
}

/* A sweep over rows: each process computes its columns of a row from its left neighbour's last one. The tag is the row.
 */
static void stencil(MPI_Comm comm)
{
    foMPI_Win     win;
    foMPI_Request request;
    int           rank, ranks;
    double       *edge, last;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    foMPI_Win_allocate(ROWS * sizeof(double), sizeof(double), MPI_INFO_NULL, comm, &edge, &win);
    for (int row = 0; row < ROWS; row++) {
        last = row;
        if (rank > 0) {
            foMPI_Notify_init(win, rank - 1, row, 1, &request);
            foMPI_Start(&request);
            foMPI_Wait(&request, MPI_STATUS_IGNORE);
            foMPI_Request_free(&request);
            last = edge[row];
        }
        for (int column = 0; column < COLUMNS; column++)
            last += 1;
        if (rank + 1 < ranks) {
            foMPI_Put_notify(&last, 1, MPI_DOUBLE, rank + 1, row, 1, MPI_DOUBLE, win, row);
            foMPI_Win_flush_local(rank + 1, win);
        }
        MUST(last == row + (rank + 1) * COLUMNS);
    }
    foMPI_Win_free(&win);
}

/* A reduction: one request counts the values of all children, whoever comes first. */
static void tree(MPI_Comm comm)
{
    foMPI_Win     win;
    foMPI_Request request;
    MPI_Status    status;
    int           rank, ranks, count;
    double       *values, sum;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    foMPI_Win_allocate(ranks * sizeof(double), sizeof(double), MPI_INFO_NULL, comm, &values, &win);
    if (rank == 0 && ranks > 1) {
        foMPI_Notify_init(win, foMPI_ANY_SOURCE, foMPI_ANY_TAG, ranks - 1, &request);
        foMPI_Start(&request);
        foMPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        MUST(count == ranks - 1 && status.MPI_SOURCE == status.MPI_TAG);
        foMPI_Request_free(&request);
        sum = 0;
        for (int i = 1; i < ranks; i++)
            sum += values[i];
        MUST(sum == ranks * (ranks - 1) / 2);
    } else if (rank > 0) {
        sum = rank;
        foMPI_Put_notify(&sum, 1, MPI_DOUBLE, 0, rank, 1, MPI_DOUBLE, win, rank);
        foMPI_Win_flush(0, win);
    }
    foMPI_Win_free(&win);
}

void test_listing(MPI_Comm comm)
{
    ping_pong(comm);
    stencil(comm);
    tree(comm);
}
