! fompi.f90: the Fortran module of foMPI: the constants of MPI and of foMPI, and the interfaces of the subroutines.
!
! The module belongs to a compiler, as that of MPI does: compile this file with the program, by the wrapper of the MPI
! (mpifort), and link the library tern-fompi of the same MPI. The subroutines have the arguments of those in C, and
! ierror as the last one. Handles are integers, as in the module mpi, which this module uses. As with MPI, buffers of
! outstanding accesses should have the attribute ASYNCHRONOUS. foMPI_Win_allocate and foMPI_Alloc_mem return the address
! as an integer of the kind MPI_ADDRESS_KIND, or as a variable of the type c_ptr.
!
! Arguments that a call leaves unchanged if it fails have the intent INOUT.
module fompi
    use, intrinsic :: iso_c_binding, only: c_ptr
    use mpi
    implicit none
    private :: c_ptr

    include 'fompi_constants.inc'

    ! The library.
    interface
        subroutine foMPI_Init(ierror)
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Finalize(ierror)
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Get_address(location, address, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: location
            type(*), dimension(*) :: location
            integer(MPI_ADDRESS_KIND), intent(out) :: address
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Type_free(datatype, ierror)
            integer, intent(inout) :: datatype
            integer, intent(out) :: ierror
        end subroutine
    end interface
    interface foMPI_Alloc_mem
        subroutine foMPI_Alloc_mem(size, info, baseptr, ierror)
            import :: MPI_ADDRESS_KIND
            integer(MPI_ADDRESS_KIND), intent(in) :: size
            integer, intent(in) :: info
            integer(MPI_ADDRESS_KIND) :: baseptr
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Alloc_mem_cptr(size, info, baseptr, ierror)
            import :: MPI_ADDRESS_KIND, c_ptr
            integer(MPI_ADDRESS_KIND), intent(in) :: size
            integer, intent(in) :: info
            type(c_ptr) :: baseptr
            integer, intent(out) :: ierror
        end subroutine
    end interface

    ! Windows, their names and their attributes.
    interface foMPI_Win_allocate
        subroutine foMPI_Win_allocate(size, disp_unit, info, comm, baseptr, win, ierror)
            import :: MPI_ADDRESS_KIND
            integer(MPI_ADDRESS_KIND), intent(in) :: size
            integer, intent(in) :: disp_unit, info, comm
            integer(MPI_ADDRESS_KIND) :: baseptr
            integer, intent(inout) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_allocate_cptr(size, disp_unit, info, comm, baseptr, win, ierror)
            import :: MPI_ADDRESS_KIND, c_ptr
            integer(MPI_ADDRESS_KIND), intent(in) :: size
            integer, intent(in) :: disp_unit, info, comm
            type(c_ptr) :: baseptr
            integer, intent(inout) :: win
            integer, intent(out) :: ierror
        end subroutine
    end interface
    interface
        subroutine foMPI_Win_create(base, size, disp_unit, info, comm, win, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: base
            type(*), dimension(*) :: base
            integer(MPI_ADDRESS_KIND), intent(in) :: size
            integer, intent(in) :: disp_unit, info, comm
            integer, intent(inout) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_create_dynamic(info, comm, win, ierror)
            integer, intent(in) :: info, comm
            integer, intent(inout) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_free(win, ierror)
            integer, intent(inout) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_attach(win, base, size, ierror)
            import :: MPI_ADDRESS_KIND
            integer, intent(in) :: win
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: base
            type(*), dimension(*) :: base
            integer(MPI_ADDRESS_KIND), intent(in) :: size
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_detach(win, base, ierror)
            integer, intent(in) :: win
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: base
            type(*), dimension(*) :: base
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_get_group(win, group, ierror)
            integer, intent(in) :: win
            integer, intent(out) :: group, ierror
        end subroutine
        subroutine foMPI_Win_set_name(win, win_name, ierror)
            integer, intent(in) :: win
            character(*), intent(in) :: win_name
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_get_name(win, win_name, resultlen, ierror)
            integer, intent(in) :: win
            character(*), intent(out) :: win_name
            integer, intent(out) :: resultlen, ierror
        end subroutine
        subroutine foMPI_Win_create_keyval(win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state, &
                ierror)
            import :: MPI_ADDRESS_KIND
            external :: win_copy_attr_fn, win_delete_attr_fn
            integer, intent(inout) :: win_keyval
            integer(MPI_ADDRESS_KIND), intent(in) :: extra_state
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_free_keyval(win_keyval, ierror)
            integer, intent(inout) :: win_keyval
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_set_attr(win, win_keyval, attribute_val, ierror)
            import :: MPI_ADDRESS_KIND
            integer, intent(in) :: win, win_keyval
            integer(MPI_ADDRESS_KIND), intent(in) :: attribute_val
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_get_attr(win, win_keyval, attribute_val, flag, ierror)
            import :: MPI_ADDRESS_KIND
            integer, intent(in) :: win, win_keyval
            integer(MPI_ADDRESS_KIND), intent(inout) :: attribute_val
            logical, intent(out) :: flag
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_delete_attr(win, win_keyval, ierror)
            integer, intent(in) :: win, win_keyval
            integer, intent(out) :: ierror
        end subroutine
    end interface

    ! Epochs, locks, and completion within an epoch.
    interface
        subroutine foMPI_Win_fence(assert, win, ierror)
            integer, intent(in) :: assert, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_start(group, assert, win, ierror)
            integer, intent(in) :: group, assert, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_complete(win, ierror)
            integer, intent(in) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_post(group, assert, win, ierror)
            integer, intent(in) :: group, assert, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_wait(win, ierror)
            integer, intent(in) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_test(win, flag, ierror)
            integer, intent(in) :: win
            logical, intent(out) :: flag
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_lock(lock_type, rank, assert, win, ierror)
            integer, intent(in) :: lock_type, rank, assert, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_unlock(rank, win, ierror)
            integer, intent(in) :: rank, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_lock_all(assert, win, ierror)
            integer, intent(in) :: assert, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_unlock_all(win, ierror)
            integer, intent(in) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_flush(rank, win, ierror)
            integer, intent(in) :: rank, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_flush_all(win, ierror)
            integer, intent(in) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_flush_local(rank, win, ierror)
            integer, intent(in) :: rank, win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_flush_local_all(win, ierror)
            integer, intent(in) :: win
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Win_sync(win, ierror)
            integer, intent(in) :: win
            integer, intent(out) :: ierror
        end subroutine
    end interface

    ! Accesses.
    interface
        subroutine foMPI_Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, op, win, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, op, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, &
                result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, win, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
            type(*), dimension(*) :: origin_addr, result_addr
            integer, intent(in) :: origin_count, origin_datatype, result_count, result_datatype
            integer, intent(in) :: target_rank, target_count, target_datatype, op, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, &
                win, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
            type(*), dimension(*) :: origin_addr, result_addr
            integer, intent(in) :: datatype, target_rank, op, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, &
                target_disp, win, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, compare_addr, result_addr
            type(*), dimension(*) :: origin_addr, compare_addr, result_addr
            integer, intent(in) :: datatype, target_rank, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Rput(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, request, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, request, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Raccumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, op, win, request, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, op, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Rget_accumulate(origin_addr, origin_count, origin_datatype, result_addr, &
                result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, win, &
                request, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr, result_addr
            type(*), dimension(*) :: origin_addr, result_addr
            integer, intent(in) :: origin_count, origin_datatype, result_count, result_datatype
            integer, intent(in) :: target_rank, target_count, target_datatype, op, win
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Put_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, tag, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win, tag
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Get_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, tag, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win, tag
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Rput_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, request, tag, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win, tag
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Rget_notify(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
                target_count, target_datatype, win, request, tag, ierror)
            import :: MPI_ADDRESS_KIND
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: origin_addr
            type(*), dimension(*) :: origin_addr
            integer, intent(in) :: origin_count, origin_datatype, target_rank, target_count, target_datatype, win, tag
            integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
    end interface

    ! Requests. Indices count from 1.
    interface
        subroutine foMPI_Notify_init(win, src_rank, tag, count, request, ierror)
            integer, intent(in) :: win, src_rank, tag, count
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Start(request, ierror)
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
        subroutine foMPI_Wait(request, status, ierror)
            import :: MPI_STATUS_SIZE
            integer, intent(inout) :: request
            integer, intent(out) :: status(MPI_STATUS_SIZE), ierror
        end subroutine
        subroutine foMPI_Test(request, flag, status, ierror)
            import :: MPI_STATUS_SIZE
            integer, intent(inout) :: request
            logical, intent(out) :: flag
            integer, intent(out) :: status(MPI_STATUS_SIZE), ierror
        end subroutine
        subroutine foMPI_Waitany(count, requests, index, status, ierror)
            import :: MPI_STATUS_SIZE
            integer, intent(in) :: count
            integer, intent(inout) :: requests(*)
            integer, intent(out) :: index, status(MPI_STATUS_SIZE), ierror
        end subroutine
        subroutine foMPI_Testany(count, requests, index, flag, status, ierror)
            import :: MPI_STATUS_SIZE
            integer, intent(in) :: count
            integer, intent(inout) :: requests(*)
            integer, intent(out) :: index, status(MPI_STATUS_SIZE), ierror
            logical, intent(out) :: flag
        end subroutine
        subroutine foMPI_Waitsome(incount, requests, outcount, indices, statuses, ierror)
            import :: MPI_STATUS_SIZE
            integer, intent(in) :: incount
            integer, intent(inout) :: requests(*)
            integer, intent(out) :: outcount, indices(*), statuses(MPI_STATUS_SIZE, *), ierror
        end subroutine
        subroutine foMPI_Testsome(incount, requests, outcount, indices, statuses, ierror)
            import :: MPI_STATUS_SIZE
            integer, intent(in) :: incount
            integer, intent(inout) :: requests(*)
            integer, intent(out) :: outcount, indices(*), statuses(MPI_STATUS_SIZE, *), ierror
        end subroutine
        subroutine foMPI_Request_free(request, ierror)
            integer, intent(inout) :: request
            integer, intent(out) :: ierror
        end subroutine
    end interface
end module
