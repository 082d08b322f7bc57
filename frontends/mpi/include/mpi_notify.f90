! mpi_notify.f90: the Fortran module for notified access (mpi_notify.h), for programs that use mpi_f08.
!
! The module belongs to a compiler, as that of MPI does: compile this file with the program, by the wrapper of the MPI
! (mpifort), and link the library tern-notify of the same MPI. The procedures have the arguments of those in C, with the
! handles of mpi_f08 and an optional last argument ierror. Statuses are variables of type MPI_Status, which has the same
! components in C. As with MPI, buffers of outstanding accesses should have the attribute ASYNCHRONOUS.
module mpi_notify
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    private

    public :: MPIX_Notify_start, MPIX_Notify_defer, MPIX_Win_allocate_notify, MPIX_Win_create_notify, MPIX_Win_free
    public :: MPIX_Put_notify, MPIX_Get_notify, MPIX_Rput_notify, MPIX_Rget_notify, MPIX_Accumulate_notify
    public :: MPIX_Raccumulate_notify, MPIX_Get_accumulate_notify
    public :: MPIX_Fetch_and_op_notify, MPIX_Compare_and_swap_notify
    public :: MPIX_Win_flush, MPIX_Win_flush_local, MPIX_Win_flush_all, MPIX_Win_flush_local_all
    public :: MPIX_Notify_init, MPIX_Iprobe_notify, MPIX_Probe_notify
    public :: MPIX_Start, MPIX_Startall, MPIX_Wait, MPIX_Test, MPIX_Waitany, MPIX_Testany, MPIX_Waitall, MPIX_Testall
    public :: MPIX_Waitsome, MPIX_Testsome, MPIX_Request_get_status, MPIX_Cancel, MPIX_Request_free
    public :: MPIX_Win_is_notify, MPIX_Win_wait_notify, MPIX_Win_test_notify

    ! The functions behind the procedures take the handles of Fortran, which are integers.
    interface
        integer(c_int) function c_start() bind(c, name="MPIX_Notify_start")
            import :: c_int
        end function
        integer(c_int) function c_defer(flag) bind(c, name="MPIX_Notify_defer")
            import :: c_int
            integer(c_int), value :: flag
        end function
        integer(c_int) function c_allocate(size, unit, info, comm, base, win) bind(c, name="MPIX_Win_allocate_notify_f")
            import :: c_int, c_ptr, MPI_ADDRESS_KIND
            integer(MPI_ADDRESS_KIND), value :: size
            integer(c_int), value :: unit
            integer, value :: info, comm
            type(c_ptr) :: base
            integer :: win
        end function
        integer(c_int) function c_create(base, size, unit, info, comm, win) bind(c, name="MPIX_Win_create_notify_f")
            import :: c_int, MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: base
            type(*), dimension(*) :: base
            integer(MPI_ADDRESS_KIND), value :: size
            integer(c_int), value :: unit
            integer, value :: info, comm
            integer :: win
        end function
        integer(c_int) function c_free(win) bind(c, name="MPIX_Win_free_f")
            import :: c_int
            integer :: win
        end function
        ! kind: 0 put, 1 get, 2 put with a request, 3 get with a request.
        integer(c_int) function c_access(kind, origin, counts, types, rank, disp, win, tag, request) &
                bind(c, name="MPIX_Access_notify_f")
            import :: c_int, MPI_ADDRESS_KIND
            integer(c_int), value :: kind, rank, tag
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
            type(*), dimension(*) :: origin
            integer :: counts(2), types(2)
            integer(MPI_ADDRESS_KIND), value :: disp
            integer, value :: win
            integer :: request
        end function
        integer(c_int) function c_accumulate(origin, counts, types, rank, disp, op, win, tag) &
                bind(c, name="MPIX_Accumulate_notify_f")
            import :: c_int, MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
            type(*), dimension(*) :: origin
            integer :: counts(2), types(2)
            integer(c_int), value :: rank, tag
            integer(MPI_ADDRESS_KIND), value :: disp
            integer, value :: op, win
        end function
        integer(c_int) function c_raccumulate(origin, counts, types, rank, disp, op, win, tag, request) &
                bind(c, name="MPIX_Raccumulate_notify_f")
            import :: c_int, MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin
            type(*), dimension(*) :: origin
            integer :: counts(2), types(2)
            integer(c_int), value :: rank, tag
            integer(MPI_ADDRESS_KIND), value :: disp
            integer, value :: op, win
            integer :: request
        end function
        integer(c_int) function c_get_accumulate(origin, result, counts, types, rank, disp, op, win, tag) &
                bind(c, name="MPIX_Get_accumulate_notify_f")
            import :: c_int, MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin, result
            type(*), dimension(*) :: origin, result
            integer :: counts(3), types(3)
            integer(c_int), value :: rank, tag
            integer(MPI_ADDRESS_KIND), value :: disp
            integer, value :: op, win
        end function
        integer(c_int) function c_fetch_and_op(origin, result, datatype, rank, disp, op, win, tag) &
                bind(c, name="MPIX_Fetch_and_op_notify_f")
            import :: c_int, MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin, result
            type(*), dimension(*) :: origin, result
            integer, value :: datatype, op, win
            integer(c_int), value :: rank, tag
            integer(MPI_ADDRESS_KIND), value :: disp
        end function
        integer(c_int) function c_compare_and_swap(origin, compare, result, datatype, rank, disp, win, tag) &
                bind(c, name="MPIX_Compare_and_swap_notify_f")
            import :: c_int, MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin, compare, result
            type(*), dimension(*) :: origin, compare, result
            integer, value :: datatype, win
            integer(c_int), value :: rank, tag
            integer(MPI_ADDRESS_KIND), value :: disp
        end function
        ! how: 0 flush, 1 flush_local, 2 flush_all, 3 flush_local_all.
        integer(c_int) function c_flush(how, rank, win) bind(c, name="MPIX_Win_flush_f")
            import :: c_int
            integer(c_int), value :: how, rank
            integer, value :: win
        end function
        integer(c_int) function c_init(win, source, tag, count, request) bind(c, name="MPIX_Notify_init_f")
            import :: c_int
            integer, value :: win
            integer(c_int), value :: source, tag, count
            integer :: request
        end function
        ! flag: -1 asks to wait.
        integer(c_int) function c_probe(source, tag, win, flag, status) bind(c, name="MPIX_Probe_notify_f")
            import :: c_int, MPI_Status
            integer(c_int), value :: source, tag
            integer, value :: win
            integer(c_int) :: flag
            type(MPI_Status) :: status
        end function
        ! flag: -1 asks to wait.
        integer(c_int) function c_win_test(win, tag, flag) bind(c, name="MPIX_Win_test_notify_f")
            import :: c_int
            integer, value :: win
            integer(c_int), value :: tag
            integer(c_int) :: flag
        end function
        integer(c_int) function c_start_request(request) bind(c, name="MPIX_Start_f")
            import :: c_int
            integer :: request
        end function
        ! flag: -1 asks to wait.
        integer(c_int) function c_test(request, flag, status) bind(c, name="MPIX_Test_f")
            import :: c_int, MPI_Status
            integer :: request
            integer(c_int) :: flag
            type(MPI_Status) :: status
        end function
        ! flag: -1 asks to wait.
        integer(c_int) function c_testany(count, requests, index, flag, status) bind(c, name="MPIX_Testany_f")
            import :: c_int, MPI_Status
            integer(c_int), value :: count
            integer :: requests(*)
            integer(c_int) :: index, flag
            type(MPI_Status) :: status
        end function
        ! how: 0 startall, 1 waitall, 2 testall, 3 waitsome, 4 testsome.
        integer(c_int) function c_several(how, count, requests, result, indices, statuses, ignored) &
                bind(c, name="MPIX_Several_f")
            import :: c_int, MPI_Status
            integer(c_int), value :: how, count
            integer :: requests(*)
            integer(c_int) :: result, indices(*)
            type(MPI_Status) :: statuses(*)
            type(MPI_Status), intent(in) :: ignored(*)
        end function
        integer(c_int) function c_cancel(request) bind(c, name="MPIX_Cancel_f")
            import :: c_int
            integer :: request
        end function
        integer(c_int) function c_get_status(request, flag, status) bind(c, name="MPIX_Request_get_status_f")
            import :: c_int, MPI_Status
            integer, value :: request
            integer(c_int) :: flag
            type(MPI_Status) :: status
        end function
        integer(c_int) function c_is_notify(win, flag) bind(c, name="MPIX_Win_is_notify_f")
            import :: c_int
            integer, value :: win
            integer(c_int) :: flag
        end function
        integer(c_int) function c_free_request(request) bind(c, name="MPIX_Request_free_f")
            import :: c_int
            integer :: request
        end function
    end interface

contains

    subroutine give(code, ierror)
        integer(c_int), intent(in) :: code
        integer, optional, intent(out) :: ierror
        if (present(ierror)) ierror = code
    end subroutine

    subroutine MPIX_Notify_start(ierror)
        integer, optional, intent(out) :: ierror
        call give(c_start(), ierror)
    end subroutine

    subroutine MPIX_Notify_defer(flag, ierror)
        logical, intent(in) :: flag
        integer, optional, intent(out) :: ierror
        call give(c_defer(merge(1_c_int, 0_c_int, flag)), ierror)
    end subroutine

    subroutine MPIX_Win_allocate_notify(size, disp_unit, info, comm, baseptr, win, ierror)
        integer(MPI_ADDRESS_KIND), intent(in) :: size
        integer, intent(in) :: disp_unit
        type(MPI_Info), intent(in) :: info
        type(MPI_Comm), intent(in) :: comm
        type(c_ptr), intent(out) :: baseptr
        type(MPI_Win), intent(out) :: win
        integer, optional, intent(out) :: ierror
        call give(c_allocate(size, int(disp_unit, c_int), info%MPI_VAL, comm%MPI_VAL, baseptr, win%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Win_create_notify(base, size, disp_unit, info, comm, win, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: base
        type(*), dimension(*), asynchronous :: base
        integer(MPI_ADDRESS_KIND), intent(in) :: size
        integer, intent(in) :: disp_unit
        type(MPI_Info), intent(in) :: info
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Win), intent(out) :: win
        integer, optional, intent(out) :: ierror
        call give(c_create(base, size, int(disp_unit, c_int), info%MPI_VAL, comm%MPI_VAL, win%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Win_free(win, ierror)
        type(MPI_Win), intent(inout) :: win
        integer, optional, intent(out) :: ierror
        call give(c_free(win%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Put_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, &
            target_datatype, win, tag, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
        type(*), dimension(*), intent(in), asynchronous :: origin_addr
        integer, intent(in) :: origin_count, target_rank, target_count, tag
        type(MPI_Datatype), intent(in) :: origin_datatype, target_datatype
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        integer :: none
        call give(c_access(0_c_int, origin_addr, [origin_count, target_count], &
            [origin_datatype%MPI_VAL, target_datatype%MPI_VAL], int(target_rank, c_int), target_disp, win%MPI_VAL, &
            int(tag, c_int), none), ierror)
    end subroutine

    subroutine MPIX_Get_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, &
            target_datatype, win, tag, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
        type(*), dimension(*), asynchronous :: origin_addr
        integer, intent(in) :: origin_count, target_rank, target_count, tag
        type(MPI_Datatype), intent(in) :: origin_datatype, target_datatype
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        integer :: none
        call give(c_access(1_c_int, origin_addr, [origin_count, target_count], &
            [origin_datatype%MPI_VAL, target_datatype%MPI_VAL], int(target_rank, c_int), target_disp, win%MPI_VAL, &
            int(tag, c_int), none), ierror)
    end subroutine

    subroutine MPIX_Rput_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, &
            target_datatype, win, tag, request, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
        type(*), dimension(*), intent(in), asynchronous :: origin_addr
        integer, intent(in) :: origin_count, target_rank, target_count, tag
        type(MPI_Datatype), intent(in) :: origin_datatype, target_datatype
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Win), intent(in) :: win
        type(MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierror
        call give(c_access(2_c_int, origin_addr, [origin_count, target_count], &
            [origin_datatype%MPI_VAL, target_datatype%MPI_VAL], int(target_rank, c_int), target_disp, win%MPI_VAL, &
            int(tag, c_int), request%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Rget_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, &
            target_datatype, win, tag, request, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
        type(*), dimension(*), asynchronous :: origin_addr
        integer, intent(in) :: origin_count, target_rank, target_count, tag
        type(MPI_Datatype), intent(in) :: origin_datatype, target_datatype
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Win), intent(in) :: win
        type(MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierror
        call give(c_access(3_c_int, origin_addr, [origin_count, target_count], &
            [origin_datatype%MPI_VAL, target_datatype%MPI_VAL], int(target_rank, c_int), target_disp, win%MPI_VAL, &
            int(tag, c_int), request%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Accumulate_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
            target_count, target_datatype, op, win, tag, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
        type(*), dimension(*), intent(in), asynchronous :: origin_addr
        integer, intent(in) :: origin_count, target_rank, target_count, tag
        type(MPI_Datatype), intent(in) :: origin_datatype, target_datatype
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Op), intent(in) :: op
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_accumulate(origin_addr, [origin_count, target_count], &
            [origin_datatype%MPI_VAL, target_datatype%MPI_VAL], int(target_rank, c_int), target_disp, op%MPI_VAL, &
            win%MPI_VAL, int(tag, c_int)), ierror)
    end subroutine

    subroutine MPIX_Raccumulate_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
            target_count, target_datatype, op, win, tag, request, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
        type(*), dimension(*), intent(in), asynchronous :: origin_addr
        integer, intent(in) :: origin_count, target_rank, target_count, tag
        type(MPI_Datatype), intent(in) :: origin_datatype, target_datatype
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Op), intent(in) :: op
        type(MPI_Win), intent(in) :: win
        type(MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierror
        call give(c_raccumulate(origin_addr, [origin_count, target_count], &
            [origin_datatype%MPI_VAL, target_datatype%MPI_VAL], int(target_rank, c_int), target_disp, op%MPI_VAL, &
            win%MPI_VAL, int(tag, c_int), request%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Get_accumulate_notify(origin_addr, origin_count, origin_datatype, result_addr, result_count, &
            result_datatype, target_rank, target_disp, target_count, target_datatype, op, win, tag, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
        type(*), dimension(*), intent(in), asynchronous :: origin_addr
        type(*), dimension(*), asynchronous :: result_addr
        integer, intent(in) :: origin_count, result_count, target_rank, target_count, tag
        type(MPI_Datatype), intent(in) :: origin_datatype, result_datatype, target_datatype
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Op), intent(in) :: op
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_get_accumulate(origin_addr, result_addr, [origin_count, result_count, target_count], &
            [origin_datatype%MPI_VAL, result_datatype%MPI_VAL, target_datatype%MPI_VAL], int(target_rank, c_int), &
            target_disp, op%MPI_VAL, win%MPI_VAL, int(tag, c_int)), ierror)
    end subroutine

    subroutine MPIX_Fetch_and_op_notify(origin_addr, result_addr, datatype, target_rank, target_disp, op, win, tag, &
            ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
        type(*), dimension(*), intent(in), asynchronous :: origin_addr
        type(*), dimension(*), asynchronous :: result_addr
        type(MPI_Datatype), intent(in) :: datatype
        integer, intent(in) :: target_rank, tag
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Op), intent(in) :: op
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_fetch_and_op(origin_addr, result_addr, datatype%MPI_VAL, int(target_rank, c_int), target_disp, &
            op%MPI_VAL, win%MPI_VAL, int(tag, c_int)), ierror)
    end subroutine

    subroutine MPIX_Compare_and_swap_notify(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, &
            win, tag, ierror)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, compare_addr, result_addr
        type(*), dimension(*), intent(in), asynchronous :: origin_addr, compare_addr
        type(*), dimension(*), asynchronous :: result_addr
        type(MPI_Datatype), intent(in) :: datatype
        integer, intent(in) :: target_rank, tag
        integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_compare_and_swap(origin_addr, compare_addr, result_addr, datatype%MPI_VAL, &
            int(target_rank, c_int), target_disp, win%MPI_VAL, int(tag, c_int)), ierror)
    end subroutine

    subroutine MPIX_Win_flush(rank, win, ierror)
        integer, intent(in) :: rank
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_flush(0_c_int, int(rank, c_int), win%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Win_flush_local(rank, win, ierror)
        integer, intent(in) :: rank
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_flush(1_c_int, int(rank, c_int), win%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Win_flush_all(win, ierror)
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_flush(2_c_int, 0_c_int, win%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Win_flush_local_all(win, ierror)
        type(MPI_Win), intent(in) :: win
        integer, optional, intent(out) :: ierror
        call give(c_flush(3_c_int, 0_c_int, win%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Notify_init(win, source, tag, expected_count, request, ierror)
        type(MPI_Win), intent(in) :: win
        integer, intent(in) :: source, tag, expected_count
        type(MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierror
        call give(c_init(win%MPI_VAL, int(source, c_int), int(tag, c_int), int(expected_count, c_int), &
            request%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Iprobe_notify(source, tag, win, flag, status, ierror)
        integer, intent(in) :: source, tag
        type(MPI_Win), intent(in) :: win
        logical, intent(out) :: flag
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = 0
        call give(c_probe(int(source, c_int), int(tag, c_int), win%MPI_VAL, found, status), ierror)
        flag = found /= 0
    end subroutine

    subroutine MPIX_Win_wait_notify(win, tag, ierror)
        type(MPI_Win), intent(in) :: win
        integer, intent(in) :: tag
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = -1
        call give(c_win_test(win%MPI_VAL, int(tag, c_int), found), ierror)
    end subroutine

    subroutine MPIX_Win_test_notify(win, flag, tag, ierror)
        type(MPI_Win), intent(in) :: win
        logical, intent(out) :: flag
        integer, intent(in) :: tag
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = 0
        call give(c_win_test(win%MPI_VAL, int(tag, c_int), found), ierror)
        flag = found /= 0
    end subroutine

    subroutine MPIX_Probe_notify(source, tag, win, status, ierror)
        integer, intent(in) :: source, tag
        type(MPI_Win), intent(in) :: win
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = -1
        call give(c_probe(int(source, c_int), int(tag, c_int), win%MPI_VAL, found, status), ierror)
    end subroutine

    subroutine MPIX_Start(request, ierror)
        type(MPI_Request), intent(inout) :: request
        integer, optional, intent(out) :: ierror
        call give(c_start_request(request%MPI_VAL), ierror)
    end subroutine

    subroutine MPIX_Wait(request, status, ierror)
        type(MPI_Request), intent(inout) :: request
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = -1
        call give(c_test(request%MPI_VAL, found, status), ierror)
    end subroutine

    subroutine MPIX_Test(request, flag, status, ierror)
        type(MPI_Request), intent(inout) :: request
        logical, intent(out) :: flag
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = 0
        call give(c_test(request%MPI_VAL, found, status), ierror)
        flag = found /= 0
    end subroutine

    ! Test or wait for any request. flag: -1 asks to wait.
    subroutine any_of(requests, index, flag, status, ierror)
        type(MPI_Request), intent(inout) :: requests(:)
        integer, intent(out) :: index
        integer(c_int), intent(inout) :: flag
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer :: handles(size(requests))
        integer(c_int) :: found
        handles = requests%MPI_VAL
        found = MPI_UNDEFINED
        call give(c_testany(size(requests, kind=c_int), handles, found, flag, status), ierror)
        requests%MPI_VAL = handles
        index = merge(found, found + 1, found == MPI_UNDEFINED)
    end subroutine

    subroutine MPIX_Waitany(count, array_of_requests, index, status, ierror)
        integer, intent(in) :: count
        type(MPI_Request), intent(inout) :: array_of_requests(count)
        integer, intent(out) :: index
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = -1
        call any_of(array_of_requests, index, found, status, ierror)
    end subroutine

    subroutine MPIX_Testany(count, array_of_requests, index, flag, status, ierror)
        integer, intent(in) :: count
        type(MPI_Request), intent(inout) :: array_of_requests(count)
        integer, intent(out) :: index
        logical, intent(out) :: flag
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = 0
        call any_of(array_of_requests, index, found, status, ierror)
        flag = found /= 0
    end subroutine

    ! A call over several requests.
    subroutine several(how, requests, result, indices, statuses, ierror)
        integer(c_int), intent(in) :: how
        type(MPI_Request), intent(inout) :: requests(:)
        integer(c_int), intent(out) :: result, indices(*)
        type(MPI_Status) :: statuses(*)
        integer, optional, intent(out) :: ierror
        integer :: handles(size(requests))
        handles = requests%MPI_VAL
        result = 0
        call give(c_several(how, size(requests, kind=c_int), handles, result, indices, statuses, &
            MPI_STATUSES_IGNORE), ierror)
        requests%MPI_VAL = handles
    end subroutine

    subroutine MPIX_Startall(count, array_of_requests, ierror)
        integer, intent(in) :: count
        type(MPI_Request), intent(inout) :: array_of_requests(count)
        integer, optional, intent(out) :: ierror
        type(MPI_Status) :: none(1)
        integer(c_int) :: result, indices(1)
        call several(0_c_int, array_of_requests, result, indices, none, ierror)
    end subroutine

    subroutine MPIX_Waitall(count, array_of_requests, array_of_statuses, ierror)
        integer, intent(in) :: count
        type(MPI_Request), intent(inout) :: array_of_requests(count)
        type(MPI_Status) :: array_of_statuses(*)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: result, indices(1)
        call several(1_c_int, array_of_requests, result, indices, array_of_statuses, ierror)
    end subroutine

    subroutine MPIX_Testall(count, array_of_requests, flag, array_of_statuses, ierror)
        integer, intent(in) :: count
        type(MPI_Request), intent(inout) :: array_of_requests(count)
        logical, intent(out) :: flag
        type(MPI_Status) :: array_of_statuses(*)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: result, indices(1)
        call several(2_c_int, array_of_requests, result, indices, array_of_statuses, ierror)
        flag = result /= 0
    end subroutine

    ! Waitsome (how: 3) or testsome (4).
    subroutine some_of(how, requests, outcount, array_of_indices, statuses, ierror)
        integer(c_int), intent(in) :: how
        type(MPI_Request), intent(inout) :: requests(:)
        integer, intent(out) :: outcount, array_of_indices(*)
        type(MPI_Status) :: statuses(*)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: result, indices(max(size(requests), 1))
        call several(how, requests, result, indices, statuses, ierror)
        outcount = result
        if (result /= MPI_UNDEFINED) array_of_indices(:result) = indices(:result) + 1
    end subroutine

    subroutine MPIX_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror)
        integer, intent(in) :: incount
        type(MPI_Request), intent(inout) :: array_of_requests(incount)
        integer, intent(out) :: outcount, array_of_indices(*)
        type(MPI_Status) :: array_of_statuses(*)
        integer, optional, intent(out) :: ierror
        call some_of(3_c_int, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror)
    end subroutine

    subroutine MPIX_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror)
        integer, intent(in) :: incount
        type(MPI_Request), intent(inout) :: array_of_requests(incount)
        integer, intent(out) :: outcount, array_of_indices(*)
        type(MPI_Status) :: array_of_statuses(*)
        integer, optional, intent(out) :: ierror
        call some_of(4_c_int, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror)
    end subroutine

    subroutine MPIX_Request_get_status(request, flag, status, ierror)
        type(MPI_Request), intent(in) :: request
        logical, intent(out) :: flag
        type(MPI_Status) :: status
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        found = 0
        call give(c_get_status(request%MPI_VAL, found, status), ierror)
        flag = found /= 0
    end subroutine

    subroutine MPIX_Cancel(request, ierror)
        type(MPI_Request), intent(in) :: request
        integer, optional, intent(out) :: ierror
        integer :: handle
        handle = request%MPI_VAL
        call give(c_cancel(handle), ierror)
    end subroutine

    subroutine MPIX_Win_is_notify(win, flag, ierror)
        type(MPI_Win), intent(in) :: win
        logical, intent(out) :: flag
        integer, optional, intent(out) :: ierror
        integer(c_int) :: found
        call give(c_is_notify(win%MPI_VAL, found), ierror)
        flag = found /= 0
    end subroutine

    subroutine MPIX_Request_free(request, ierror)
        type(MPI_Request), intent(inout) :: request
        integer, optional, intent(out) :: ierror
        call give(c_free_request(request%MPI_VAL), ierror)
    end subroutine
end module
