! fompi_ring.f90: a Fortran program of foMPI outside the project, built with the installed module. Each rank puts its
! number to the next one and waits for the notification of the one before.
program fompi_ring
    use, intrinsic :: iso_c_binding
    use fompi
    implicit none

    integer :: win, request, status(MPI_STATUS_SIZE), me, n, next, before, ierror
    integer, asynchronous :: number
    integer, pointer :: memory
    type(c_ptr) :: base

    call foMPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
    next = modulo(me + 1, n)
    before = modulo(me - 1, n)
    number = 1000 + me
    call foMPI_Win_allocate(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call c_f_pointer(base, memory)
    call foMPI_Notify_init(win, before, 7, 1, request, ierror)
    call foMPI_Start(request, ierror)
    call foMPI_Put_notify(number, 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, 7, ierror)
    call foMPI_Wait(request, status, ierror)
    if (memory /= 1000 + before .or. status(MPI_SOURCE) /= before .or. status(MPI_TAG) /= 7) then
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end if
    if (me == 0) print '(a, i0)', 'a ring of ', n
    call foMPI_Request_free(request, ierror)
    call foMPI_Win_free(win, ierror)
    call foMPI_Finalize(ierror)
end program
