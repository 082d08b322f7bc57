! notify_ring.f90: a Fortran program of notified access outside the project, built with the installed module. Each rank
! puts its number to the next one and waits for the notification of the one before.
program notify_ring
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use mpi_notify
    implicit none

    type(MPI_Win) :: win
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    type(c_ptr) :: base
    integer, pointer :: memory
    integer, asynchronous :: number
    integer :: me, n, next, before

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_size(MPI_COMM_WORLD, n)
    next = modulo(me + 1, n)
    before = modulo(me - 1, n)
    number = 1000 + me
    call MPIX_Win_allocate_notify(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory)
    call MPIX_Notify_init(win, before, 7, 1, request)
    call MPIX_Start(request)
    call MPIX_Put_notify(number, 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, 7)
    call MPIX_Wait(request, status)
    if (memory /= 1000 + before .or. status%MPI_SOURCE /= before .or. status%MPI_TAG /= 7) then
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    if (me == 0) print '(a, i0)', 'a ring of ', n
    call MPIX_Request_free(request)
    call MPIX_Win_free(win)
    call MPI_Finalize()
end program
