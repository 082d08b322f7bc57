! notify_fortran.f90: the Fortran module mpi_notify: every rank accesses its right neighbour by each call, and waits for
! the notification of its left neighbour.
program notify_fortran
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use mpi_notify
    implicit none

    integer, parameter :: n = 16
    type(MPI_Win) :: win, other
    type(MPI_Request) :: request, requests(2), mixed(3)
    type(MPI_Status) :: status, statuses(2)
    type(MPI_Datatype) :: column
    type(c_ptr) :: base
    integer(c_int64_t), pointer :: memory(:)
    integer(c_int64_t), asynchronous :: buffer(n), own(n), one, two, three
    integer :: rank, ranks, left, right, ierror, count, index, i, indices(2)
    integer, asynchronous :: sent
    logical :: flag

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    left = modulo(rank - 1, ranks)
    right = modulo(rank + 1, ranks)
    call MPIX_Notify_start(ierror)
    call check(ierror == MPI_SUCCESS, 1)
    call MPIX_Win_allocate_notify(int(8 * n, MPI_ADDRESS_KIND), 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call check(ierror == MPI_SUCCESS, 2)
    call c_f_pointer(base, memory, [n])
    memory = 0
    call MPI_Barrier(MPI_COMM_WORLD)

    ! A put of a column, and its notification.
    call MPI_Type_vector(4, 1, 3, MPI_INTEGER8, column)
    call MPI_Type_commit(column)
    buffer = [(int(100 * rank + i, c_int64_t), i = 1, n)]
    call MPIX_Put_notify(buffer, 1, column, right, 2_MPI_ADDRESS_KIND, 1, column, win, 7)
    call MPIX_Notify_init(win, left, 7, 1, request)
    call MPIX_Start(request)
    call MPIX_Wait(request, status)
    call check(status%MPI_SOURCE == left .and. status%MPI_TAG == 7, 3)
    call MPI_Get_count(status, MPI_BYTE, count)
    call check(count == 1, 4)
    call check(all(memory(3:12:3) == [(int(100 * left + 1 + 3 * i, c_int64_t), i = 0, 3)]), 5)
    call check(memory(4) == 0, 6)
    call MPIX_Request_free(request)
    call check(request == MPI_REQUEST_NULL, 7)
    call MPIX_Win_flush(right, win)
    call MPI_Barrier(MPI_COMM_WORLD)

    ! A get, with and without a request; a probe.
    buffer = -1
    call MPIX_Get_notify(buffer, 1, MPI_INTEGER8, right, 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER8, win, 8)
    call MPIX_Rget_notify(buffer(2), 1, MPI_INTEGER8, right, 5_MPI_ADDRESS_KIND, 1, MPI_INTEGER8, win, 9, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPIX_Win_flush_local(right, win)
    call check(buffer(1) == 100 * rank + 1 .and. buffer(2) == 100 * rank + 4 .and. buffer(3) == -1, 8)
    call MPIX_Probe_notify(left, MPI_ANY_TAG, win, status)
    call MPIX_Notify_init(win, MPI_ANY_SOURCE, 8, 1, requests(1))
    call MPIX_Notify_init(win, MPI_ANY_SOURCE, 9, 1, requests(2))
    call MPIX_Start(requests(1))
    call MPIX_Start(requests(2))
    call MPIX_Waitany(2, requests, index, status)
    call check((index == 1 .or. index == 2) .and. status%MPI_TAG == 7 + index, 9)
    call MPIX_Waitall(2, requests, statuses)
    call MPIX_Iprobe_notify(MPI_ANY_SOURCE, MPI_ANY_TAG, win, flag, status)
    call check(.not. flag, 10)

    ! The calls over several requests; those of MPI among them.
    call MPI_Barrier(MPI_COMM_WORLD)
    do i = 1, 4
        call MPIX_Put_notify(one, 0, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, 0, MPI_INTEGER8, win, 8)
        call MPIX_Put_notify(one, 0, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, 0, MPI_INTEGER8, win, 9)
    end do
    call MPI_Irecv(sent, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, mixed(3))
    call MPI_Send(rank, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD)
    mixed(1:2) = requests
    call MPIX_Startall(2, mixed)
    call MPIX_Waitall(3, mixed, MPI_STATUSES_IGNORE)
    call check(sent == left .and. mixed(3) == MPI_REQUEST_NULL .and. mixed(1) == requests(1), 21)
    call MPIX_Startall(2, requests)
    flag = .false.
    do while (.not. flag)
        call MPIX_Testall(2, requests, flag, statuses)
    end do
    call check(statuses(1)%MPI_TAG == 8 .and. statuses(2)%MPI_TAG == 9, 22)
    call MPIX_Startall(2, requests)
    i = 0
    do while (i < 2)
        call MPIX_Waitsome(2, requests, count, indices, statuses)
        call check(count >= 1 .and. statuses(1)%MPI_TAG == 7 + indices(1), 23)
        i = i + count
    end do
    call MPIX_Testsome(2, requests, count, indices, MPI_STATUSES_IGNORE)
    call check(count == MPI_UNDEFINED, 24)
    call MPIX_Start(requests(2))
    flag = .false.
    do while (.not. flag)
        call MPIX_Request_get_status(requests(2), flag, status)
    end do
    call MPIX_Testany(2, requests, index, flag, status)
    call check(flag .and. index == 2 .and. status%MPI_TAG == 9, 25)
    call MPIX_Start(requests(2)) ! nothing will come
    call MPIX_Cancel(requests(2))
    call MPIX_Wait(requests(2), status)
    call MPI_Test_cancelled(status, flag)
    call check(flag, 26)
    call MPIX_Win_is_notify(win, flag)
    call check(flag, 27)
    call MPIX_Request_free(requests(1))
    call MPIX_Request_free(requests(2))
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPIX_Iprobe_notify(left, 8, win, flag, status)
    call check(flag, 28)
    call MPIX_Notify_init(win, left, 8, 1, request) ! no request has taken the last notification
    call MPIX_Start(request)
    call MPIX_Wait(request, MPI_STATUS_IGNORE)
    call MPIX_Request_free(request)
    call MPI_Barrier(MPI_COMM_WORLD)
    do i = 1, 2
        call MPIX_Put_notify(one, 0, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, 0, MPI_INTEGER8, win, 12)
    end do
    call MPIX_Win_wait_notify(win, 12)
    flag = .false.
    do while (.not. flag)
        call MPIX_Win_test_notify(win, flag, 12)
    end do
    call MPIX_Win_test_notify(win, flag, 12)
    call check(.not. flag, 31)
    call MPI_Barrier(MPI_COMM_WORLD)

    ! Accumulates of single elements, and a put with a request.
    memory = 10
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPIX_Notify_init(win, left, 11, 4, request)
    call MPIX_Start(request)
    one = 5
    two = 15
    call MPIX_Accumulate_notify(one, 1, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER8, MPI_SUM, win, 11)
    call MPIX_Fetch_and_op_notify(one, three, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, MPI_MAX, win, 11)
    call check(three == 15, 11)
    call MPIX_Compare_and_swap_notify(one, two, three, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, win, 11)
    call check(three == 15, 12)
    call MPIX_Rput_notify(two, 1, MPI_INTEGER8, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER8, win, 11, requests(1))
    call MPIX_Wait(requests(1), status)
    flag = .false.
    do while (.not. flag)
        call MPIX_Test(request, flag, status)
    end do
    call MPI_Get_count(status, MPI_BYTE, count)
    call check(count == 4 .and. memory(1) == 5 .and. memory(2) == 15 .and. memory(3) == 10, 13)
    call MPIX_Request_free(request)
    call MPIX_Win_flush_all(win)
    call MPIX_Win_flush_local_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)

    ! Accumulates of several elements: with a request, and with the previous values. A get that may be outstanding.
    memory = 10
    call MPI_Barrier(MPI_COMM_WORLD)
    buffer = 3
    own = 0
    call MPIX_Raccumulate_notify(buffer, n, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, n, MPI_INTEGER8, MPI_SUM, win, &
        11, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPIX_Get_accumulate_notify(buffer, 4, MPI_INTEGER8, own, 1, column, right, 0_MPI_ADDRESS_KIND, 4, &
        MPI_INTEGER8, MPI_SUM, win, 11)
    call check(all(own(1:10:3) == 13) .and. own(2) == 0 .and. own(13) == 0, 29)
    call MPIX_Notify_defer(.true., ierror)
    call check(ierror == MPI_SUCCESS, 30)
    call MPIX_Rget_notify(buffer, n, MPI_INTEGER8, right, 0_MPI_ADDRESS_KIND, n, MPI_INTEGER8, win, 11, requests(1))
    call MPIX_Wait(requests(1), MPI_STATUS_IGNORE)
    call check(all(buffer(1:4) == 16) .and. all(buffer(5:) == 13) .and. requests(1) == MPI_REQUEST_NULL, 31)
    call MPIX_Notify_init(win, left, 11, 3, request)
    call MPIX_Start(request)
    call MPIX_Wait(request, MPI_STATUS_IGNORE)
    call MPIX_Request_free(request)

    ! Memory of the program, and an error.
    own = 0
    call MPIX_Win_create_notify(own, int(8 * n, MPI_ADDRESS_KIND), 8, MPI_INFO_NULL, MPI_COMM_WORLD, other)
    call MPIX_Put_notify(two, 1, MPI_INTEGER8, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER8, other, 0)
    call MPIX_Notify_init(other, left, 0, 1, request)
    call MPIX_Start(request)
    call MPIX_Wait(request, status)
    call check(own(2) == 15 .and. own(1) == 0, 14)
    call MPIX_Request_free(request)
    call MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN)
    call MPIX_Put_notify(two, 1, MPI_INTEGER8, ranks, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER8, other, 0, ierror)
    call MPI_Error_class(ierror, i)
    call check(i == MPI_ERR_RANK, 15)
    call MPIX_Win_free(other)
    call MPIX_Win_free(win)
    call check(win == MPI_WIN_NULL, 16)
    call MPI_Type_free(column)
    call MPI_Finalize()

contains

    subroutine check(condition, number)
        logical, intent(in) :: condition
        integer, intent(in) :: number
        if (.not. condition) then
            print *, "rank", rank, "check", number, "failed"
            call MPI_Abort(MPI_COMM_WORLD, 1)
        end if
    end subroutine
end program
