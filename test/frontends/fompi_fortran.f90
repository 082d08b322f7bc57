! fompi_fortran.f90: the Fortran module of foMPI: every rank accesses its right neighbour by each call, and checks what
! its left neighbour has done.
module attribute_functions
    use fompi
    implicit none
    integer :: deleted = 0
    logical :: refuse = .false.
    integer(MPI_ADDRESS_KIND) :: deleted_value = 0, deleted_extra = 0

contains

    subroutine delete_attribute(win, keyval, value, extra, ierror)
        integer :: win, keyval, ierror
        integer(MPI_ADDRESS_KIND) :: value, extra
        if (win == MPI_WIN_NULL .and. keyval > 0) deleted = deleted + 1
        deleted_value = value
        deleted_extra = extra
        ierror = MPI_SUCCESS
        if (refuse) ierror = MPI_ERR_OTHER
    end subroutine
end module

program fompi_fortran
    use, intrinsic :: iso_c_binding
    use fompi
    use attribute_functions
    implicit none

    interface
        subroutine c_free(memory) bind(c, name="free")
            import :: c_ptr
            type(c_ptr), value :: memory
        end subroutine
    end interface

    integer, parameter :: n = 16, kind_a = MPI_ADDRESS_KIND
    integer :: win, rank, ranks, left, right, ierror, neighbours
    integer, pointer :: memory(:)
    integer, asynchronous :: buffer(n), own(n)
    type(c_ptr) :: base

    call foMPI_Init(ierror)
    call check(ierror == MPI_SUCCESS, "foMPI_Init")
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    left = modulo(rank - 1, ranks)
    right = modulo(rank + 1, ranks)
    call foMPI_Win_allocate(int(4 * n, kind_a), 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call check(ierror == MPI_SUCCESS .and. win /= foMPI_WIN_NULL, "foMPI_Win_allocate, c_ptr")
    call c_f_pointer(base, memory, [n])
    call windows()
    call dynamic_windows()
    call names_and_groups()
    call attributes()
    call fences_and_types()
    call general_epochs()
    call locks()
    call operations()
    call accumulates()
    call types_of_accumulates()
    call requests_of_accesses()
    call requests_of_accumulates()
    call notifications()
    call notified_requests()
    call several_requests()
    call some_requests()
    call errors()
    call foMPI_Win_free(win, ierror)
    call check(ierror == MPI_SUCCESS .and. win == foMPI_WIN_NULL, "foMPI_Win_free")
    if (rank == 0) print '(a)', "all tests passed"
    call foMPI_Finalize(ierror)

contains

    subroutine check(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        integer :: ierror
        if (.not. condition) then
            print '(a, i0, 3a)', "rank ", rank, ": ", what, " failed"
            call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
        end if
    end subroutine

    ! Give all elements of the window a value, when no rank accesses the window.
    subroutine fill(value)
        integer, intent(in) :: value
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        memory = value
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end subroutine

    ! Wait until all accesses to the window are complete everywhere.
    subroutine complete()
        call foMPI_Win_flush_all(win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_flush_all")
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end subroutine

    subroutine windows()
        integer :: first, second
        integer(kind_a) :: address, expected
        integer, pointer :: words(:)
        type(c_ptr) :: allocated

        call foMPI_Alloc_mem(int(4 * n, kind_a), MPI_INFO_NULL, allocated, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Alloc_mem, c_ptr")
        call c_f_pointer(allocated, words, [n])
        words = -1
        own = -1
        call foMPI_Win_create(words, int(4 * n, kind_a), 4, MPI_INFO_NULL, MPI_COMM_WORLD, first, ierror)
        call check(ierror == MPI_SUCCESS .and. first /= win, "foMPI_Win_create")
        call foMPI_Win_create(own, int(4 * n, kind_a), 4, MPI_INFO_NULL, MPI_COMM_WORLD, second, ierror)
        call foMPI_Win_fence(foMPI_MODE_NOPRECEDE, first, ierror)
        call foMPI_Win_fence(foMPI_MODE_NOPRECEDE, second, ierror)
        call foMPI_Put(rank, 1, MPI_INTEGER, right, 1_kind_a, 1, MPI_INTEGER, first, ierror)
        call foMPI_Put(rank, 1, MPI_INTEGER, right, 2_kind_a, 1, MPI_INTEGER, second, ierror)
        call foMPI_Win_fence(foMPI_MODE_NOSUCCEED, second, ierror)
        call foMPI_Win_fence(foMPI_MODE_NOSUCCEED, first, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_fence")
        call check(words(2) == left .and. own(3) == left .and. words(3) == -1 .and. own(2) == -1, "foMPI_Put")
        call foMPI_Win_free(second, ierror)
        call foMPI_Win_free(first, ierror)
        call check(ierror == MPI_SUCCESS .and. first == foMPI_WIN_NULL, "foMPI_Win_free")
        call c_free(allocated)

        ! Addresses as integers.
        call foMPI_Alloc_mem(64_kind_a, MPI_INFO_NULL, address, ierror)
        call check(ierror == MPI_SUCCESS .and. address /= 0, "foMPI_Alloc_mem, address")
        call c_free(transfer(address, allocated))
        call foMPI_Win_allocate(64_kind_a, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, first, ierror)
        call c_f_pointer(transfer(address, allocated), words, [n])
        call foMPI_Get_address(words, expected, ierror)
        call check(ierror == MPI_SUCCESS .and. expected == address, "foMPI_Win_allocate, address")
        call foMPI_Win_free(first, ierror)
    end subroutine

    subroutine dynamic_windows()
        integer :: dynamic
        integer(kind_a) :: mine, theirs

        own = rank
        call foMPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, dynamic, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_create_dynamic")
        call foMPI_Win_attach(dynamic, own, int(4 * n, kind_a), ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_attach")
        call foMPI_Get_address(own(5), mine, ierror)
        call MPI_Sendrecv(mine, 1, MPI_AINT, left, 1, theirs, 1, MPI_AINT, right, 1, MPI_COMM_WORLD, &
            MPI_STATUS_IGNORE, ierror)
        call foMPI_Win_lock_all(0, dynamic, ierror)
        call foMPI_Get(buffer, 4, MPI_INTEGER, right, theirs, 4, MPI_INTEGER, dynamic, ierror)
        call foMPI_Win_unlock_all(dynamic, ierror)
        call check(all(buffer(1:4) == right), "foMPI_Get from a dynamic window")
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call foMPI_Win_detach(dynamic, own, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_detach")
        call foMPI_Win_free(dynamic, ierror)
    end subroutine

    subroutine names_and_groups()
        character(len=MPI_MAX_OBJECT_NAME) :: name
        character(len=4) :: short
        integer :: length, group, world, result

        call foMPI_Win_set_name(win, " a name  ", ierror)
        call foMPI_Win_get_name(win, name, length, ierror)
        call check(ierror == MPI_SUCCESS .and. length == 7 .and. name == " a name", "foMPI_Win_get_name")
        call foMPI_Win_get_name(win, short, length, ierror)
        call check(length == 4 .and. short == " a n", "foMPI_Win_get_name with a short variable")
        call foMPI_Win_set_name(win, repeat("n", 2 * MPI_MAX_OBJECT_NAME), ierror)
        call check(ierror == foMPI_NAME_ABBREVIATED, "foMPI_Win_set_name with a long name")
        call foMPI_Win_get_group(win, group, ierror)
        call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
        call MPI_Group_compare(group, world, result, ierror)
        call check(result == MPI_IDENT, "foMPI_Win_get_group")
        call MPI_Group_incl(world, merge(1, 2, left == right), [left, right], neighbours, ierror)
        call MPI_Group_free(group, ierror)
        call MPI_Group_free(world, ierror)
    end subroutine

    subroutine attributes()
        integer :: key, other
        integer(kind_a) :: value
        logical :: flag

        call foMPI_Win_get_attr(win, foMPI_WIN_BASE, value, flag, ierror)
        call check(flag .and. c_associated(base, transfer(value, base)), "foMPI_WIN_BASE")
        call foMPI_Win_get_attr(win, foMPI_WIN_SIZE, value, flag, ierror)
        call check(flag .and. value == 4 * n, "foMPI_WIN_SIZE")
        call foMPI_Win_get_attr(win, foMPI_WIN_DISP_UNIT, value, flag, ierror)
        call check(flag .and. value == 4, "foMPI_WIN_DISP_UNIT")
        call foMPI_Win_get_attr(win, foMPI_WIN_CREATE_FLAVOR, value, flag, ierror)
        call check(flag .and. value == foMPI_WIN_FLAVOR_ALLOCATE, "foMPI_WIN_CREATE_FLAVOR")
        call foMPI_Win_get_attr(win, foMPI_WIN_MODEL, value, flag, ierror)
        call check(flag .and. value == foMPI_WIN_UNIFIED, "foMPI_WIN_MODEL")

        call foMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, key, 2_kind_a ** 40, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_create_keyval")
        call foMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, other, 0_kind_a, ierror)
        call foMPI_Win_get_attr(win, key, value, flag, ierror)
        call check(ierror == MPI_SUCCESS .and. .not. flag, "foMPI_Win_get_attr without an attribute")
        call foMPI_Win_set_attr(win, key, 2_kind_a ** 41, ierror)
        call foMPI_Win_set_attr(win, other, 7_kind_a, ierror)
        call foMPI_Win_get_attr(win, key, value, flag, ierror)
        call check(flag .and. value == 2_kind_a ** 41 .and. deleted == 0, "foMPI_Win_get_attr")
        call foMPI_Win_set_attr(win, key, 13_kind_a, ierror)
        call check(deleted == 1 .and. deleted_value == 2_kind_a ** 41, "foMPI_Win_set_attr")
        call check(deleted_extra == 2_kind_a ** 40, "the extra state of a keyval")
        refuse = .true.
        call foMPI_Win_delete_attr(win, key, ierror)
        call check(ierror == MPI_ERR_OTHER .and. deleted == 2, "a delete function that fails")
        call foMPI_Win_get_attr(win, key, value, flag, ierror)
        call check(flag .and. value == 13, "the attribute after its delete function has failed")
        refuse = .false.
        call leave_attribute(other)
    end subroutine

    ! An attribute whose delete function does nothing, and one that foMPI_Win_free deletes.
    subroutine leave_attribute(null_key)
        integer, intent(inout) :: null_key
        integer :: key, memory_win
        logical :: flag
        integer(kind_a) :: value

        call foMPI_Win_delete_attr(win, null_key, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_delete_attr")
        call foMPI_Win_get_attr(win, null_key, value, flag, ierror)
        call check(.not. flag, "the attribute after foMPI_Win_delete_attr")
        call foMPI_Win_free_keyval(null_key, ierror)
        call check(ierror == MPI_SUCCESS .and. null_key == MPI_KEYVAL_INVALID, "foMPI_Win_free_keyval")
        call foMPI_Win_create(own, int(4 * n, kind_a), 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory_win, ierror)
        call foMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, key, 5_kind_a, ierror)
        call foMPI_Win_set_attr(memory_win, key, 6_kind_a, ierror)
        call foMPI_Win_free_keyval(key, ierror)
        deleted = 0
        call foMPI_Win_free(memory_win, ierror)
        call check(deleted == 1 .and. deleted_value == 6 .and. deleted_extra == 5, "foMPI_Win_free of attributes")
    end subroutine

    ! A put of a column, and one from MPI_BOTTOM.
    subroutine fences_and_types()
        integer :: column, absolute, freed, i
        integer(kind_a) :: address(1)

        call MPI_Type_vector(4, 1, 3, MPI_INTEGER, column, ierror)
        call MPI_Type_commit(column, ierror)
        buffer = [(100 * rank + i, i = 1, n)]
        call foMPI_Get_address(buffer(16), address(1), ierror)
        call MPI_Type_create_hindexed(1, [1], address, MPI_INTEGER, absolute, ierror)
        call MPI_Type_commit(absolute, ierror)
        call fill(0)
        call foMPI_Win_fence(0, win, ierror)
        call foMPI_Put(buffer, 1, column, right, 2_kind_a, 1, column, win, ierror)
        call foMPI_Put(MPI_BOTTOM, 1, absolute, right, 0_kind_a, 1, MPI_INTEGER, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Put from MPI_BOTTOM")
        call foMPI_Win_fence(0, win, ierror)
        call check(all(memory(3:12:3) == [(100 * left + 1 + 3 * i, i = 0, 3)]), "foMPI_Put of a column")
        call check(memory(1) == 100 * left + 16 .and. memory(2) == 0 .and. memory(4) == 0, "foMPI_Put of two types")
        own = 0
        call foMPI_Get(own, 4, MPI_INTEGER, right, 2_kind_a, 1, column, win, ierror)
        call foMPI_Win_fence(foMPI_MODE_NOSUCCEED + foMPI_MODE_NOSTORE + foMPI_MODE_NOPUT, win, ierror)
        call check(all(own(1:4) == [(100 * rank + 1 + 3 * i, i = 0, 3)]), "foMPI_Get of a column")
        freed = absolute
        call foMPI_Type_free(freed, ierror)
        call check(ierror == MPI_SUCCESS .and. freed == MPI_DATATYPE_NULL, "foMPI_Type_free")
        call MPI_Type_free(column, ierror)
    end subroutine

    subroutine general_epochs()
        integer :: i
        logical :: flag

        call fill(0)
        do i = 1, 2
            call foMPI_Win_post(neighbours, foMPI_MODE_NOCHECK * 0, win, ierror)
            call check(ierror == MPI_SUCCESS, "foMPI_Win_post")
            call foMPI_Win_start(neighbours, 0, win, ierror)
            call check(ierror == MPI_SUCCESS, "foMPI_Win_start")
            call foMPI_Put(100 * i + rank, 1, MPI_INTEGER, right, int(i, kind_a), 1, MPI_INTEGER, win, ierror)
            call foMPI_Win_complete(win, ierror)
            call check(ierror == MPI_SUCCESS, "foMPI_Win_complete")
            flag = .false.
            if (i == 1) then
                call foMPI_Win_wait(win, ierror)
            else
                do while (.not. flag)
                    call foMPI_Win_test(win, flag, ierror)
                end do
            end if
            call check(ierror == MPI_SUCCESS .and. memory(i + 1) == 100 * i + left, "foMPI_Win_wait, foMPI_Win_test")
        end do
        call MPI_Group_free(neighbours, ierror)
    end subroutine

    subroutine locks()
        integer :: i

        call fill(0)
        call foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, right, 0, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_lock")
        call foMPI_Put(rank + 1, 1, MPI_INTEGER, right, 0_kind_a, 1, MPI_INTEGER, win, ierror)
        call foMPI_Win_flush(right, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_flush")
        call foMPI_Get(i, 1, MPI_INTEGER, right, 0_kind_a, 1, MPI_INTEGER, win, ierror)
        call foMPI_Win_flush_local(right, win, ierror)
        call check(i == rank + 1, "foMPI_Win_flush_local")
        call foMPI_Win_unlock(right, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_unlock")
        call foMPI_Win_lock(foMPI_LOCK_SHARED, left, 0, win, ierror)
        call foMPI_Win_unlock(left, win, ierror)
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call foMPI_Win_lock_all(0, win, ierror)
        call check(ierror == MPI_SUCCESS .and. memory(1) == left + 1, "foMPI_Win_lock_all")
        call foMPI_Put(rank, 1, MPI_INTEGER, right, 1_kind_a, 1, MPI_INTEGER, win, ierror)
        call foMPI_Win_flush_local_all(win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_flush_local_all")
        call foMPI_Win_flush_all(win, ierror)
        call foMPI_Win_sync(win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_sync")
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call check(memory(2) == left, "foMPI_Win_flush_all")
        call foMPI_Win_unlock_all(win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Win_unlock_all")
    end subroutine

    ! Each operation on numbers, with 12 at the target and 10 at the origin.
    subroutine operations()
        integer, parameter :: numbers(9) = [foMPI_SUM, foMPI_PROD, foMPI_MAX, foMPI_MIN, foMPI_BAND, foMPI_BOR, &
            foMPI_BXOR, foMPI_REPLACE, foMPI_NO_OP]
        integer, parameter :: pairs(2) = [foMPI_MAXLOC, foMPI_MINLOC]
        integer :: i

        call fill(12)
        call foMPI_Win_lock_all(0, win, ierror)
        do i = 1, 9
            call foMPI_Accumulate(10, 1, MPI_INTEGER, right, int(i - 1, kind_a), 1, MPI_INTEGER, numbers(i), win, &
                ierror)
            call check(ierror == MPI_SUCCESS, "foMPI_Accumulate")
        end do
        do i = 1, 2 ! pairs of 12 and 12 at the target, and of 10 and 3 at the origin
            call foMPI_Accumulate([10, 3], 1, MPI_2INTEGER, right, int(10 + 2 * i, kind_a), 1, MPI_2INTEGER, &
                pairs(i), win, ierror)
            call check(ierror == MPI_SUCCESS, "foMPI_Accumulate of pairs")
        end do
        call complete()
        call check(all(memory(1:12) == [22, 120, 12, 10, 8, 14, 6, 10, 12, 12, 12, 12]), "the operations")
        call check(all(memory(13:16) == [12, 12, 10, 3]), "foMPI_MAXLOC, foMPI_MINLOC")
        call logical_operations()
        call foMPI_Win_unlock_all(win, ierror)
    end subroutine

    ! Each operation on logical values, with .true. at the target.
    subroutine logical_operations()
        integer, parameter :: ops(4) = [foMPI_LAND, foMPI_LOR, foMPI_LXOR, foMPI_LXOR]
        logical, parameter :: origins(4) = [.false., .false., .true., .false.]
        logical, pointer :: values(:)
        integer :: i

        call c_f_pointer(base, values, [n])
        call fill(0)
        values = .true.
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        do i = 1, 4
            call foMPI_Accumulate(origins(i), 1, MPI_LOGICAL, right, int(i - 1, kind_a), 1, MPI_LOGICAL, ops(i), win, &
                ierror)
            call check(ierror == MPI_SUCCESS, "foMPI_Accumulate of logical values")
        end do
        call complete()
        call check(all(values(1:5) .eqv. [.false., .true., .false., .true., .true.]), "the logical operations")
    end subroutine

    subroutine accumulates()
        integer :: previous(n), i

        call fill(10)
        call foMPI_Win_lock_all(0, win, ierror)
        buffer = [(i, i = 1, n)]
        call foMPI_Get_accumulate(buffer, 4, MPI_INTEGER, previous, 4, MPI_INTEGER, right, 0_kind_a, 4, MPI_INTEGER, &
            foMPI_SUM, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Get_accumulate")
        call foMPI_Fetch_and_op(buffer(5), previous(5), MPI_INTEGER, right, 4_kind_a, foMPI_PROD, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Fetch_and_op")
        call foMPI_Compare_and_swap(buffer(6), 10, previous(6), MPI_INTEGER, right, 5_kind_a, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Compare_and_swap")
        call foMPI_Compare_and_swap(buffer(7), 11, previous(7), MPI_INTEGER, right, 6_kind_a, win, ierror)
        call complete()
        call check(all(previous(1:7) == 10), "the previous values of accumulates")
        call check(all(memory(1:8) == [11, 12, 13, 14, 50, 6, 10, 10]), "the results of accumulates")
        call foMPI_Win_unlock_all(win, ierror)
    end subroutine

    ! Accumulates of types that only Fortran has, in a window that each type reads in its way.
    subroutine types_of_accumulates()
        real, pointer :: pair(:)
        double precision, pointer :: number
        complex, pointer :: value
        integer(c_int64_t), pointer :: word
        integer(c_int64_t) :: previous
        real :: previous_pair(2)

        call c_f_pointer(c_loc(memory(1)), pair, [2])
        call c_f_pointer(c_loc(memory(3)), number)
        call c_f_pointer(c_loc(memory(5)), value)
        call c_f_pointer(c_loc(memory(7)), word)
        call fill(0)
        pair = [1.5, 7.0]
        number = 0.5d0
        value = (1.0, 2.0)
        word = 2_c_int64_t ** 33
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call foMPI_Win_lock_all(0, win, ierror)
        call foMPI_Get_accumulate([2.5, 3.0], 1, MPI_2REAL, previous_pair, 1, MPI_2REAL, right, 0_kind_a, 1, &
            MPI_2REAL, foMPI_MAXLOC, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_MAXLOC of MPI_2REAL")
        call foMPI_Accumulate(1.0d0, 1, MPI_DOUBLE_PRECISION, right, 2_kind_a, 1, MPI_DOUBLE_PRECISION, foMPI_SUM, &
            win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_SUM of MPI_DOUBLE_PRECISION")
        call foMPI_Accumulate((0.0, 1.0), 1, MPI_COMPLEX, right, 4_kind_a, 1, MPI_COMPLEX, foMPI_PROD, win, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_PROD of MPI_COMPLEX")
        call foMPI_Compare_and_swap(5_c_int64_t, 2_c_int64_t ** 33, previous, MPI_INTEGER8, right, 6_kind_a, win, &
            ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Compare_and_swap of MPI_INTEGER8")
        call complete()
        call check(all(previous_pair == [1.5, 7.0]) .and. previous == 2_c_int64_t ** 33, "the previous values of types")
        call check(all(pair == [2.5, 3.0]) .and. number == 1.5d0, "MPI_2REAL, MPI_DOUBLE_PRECISION")
        call check(value == (-2.0, 1.0) .and. word == 5, "MPI_COMPLEX, MPI_INTEGER8")
        call foMPI_Win_unlock_all(win, ierror)
    end subroutine

    subroutine requests_of_accesses()
        integer :: request, status(MPI_STATUS_SIZE), copy
        logical :: flag

        call fill(10)
        call foMPI_Win_lock_all(0, win, ierror)
        buffer = rank
        call foMPI_Rput(buffer, n, MPI_INTEGER, right, 0_kind_a, n, MPI_INTEGER, win, request, ierror)
        call check(ierror == MPI_SUCCESS .and. request /= foMPI_REQUEST_NULL, "foMPI_Rput")
        copy = request
        call foMPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call check(ierror == MPI_SUCCESS .and. request == foMPI_REQUEST_NULL, "foMPI_Wait")
        call foMPI_Win_flush(right, win, ierror)
        call foMPI_Rget(own, n, MPI_INTEGER, right, 0_kind_a, n, MPI_INTEGER, win, request, ierror)
        call check(ierror == MPI_SUCCESS .and. request == copy, "foMPI_Rget")
        flag = .false.
        do while (.not. flag)
            call foMPI_Test(request, flag, status, ierror)
        end do
        call check(ierror == MPI_SUCCESS .and. request == foMPI_REQUEST_NULL .and. all(own == rank), "foMPI_Test")
        call check(status(MPI_SOURCE) == MPI_ANY_SOURCE .and. status(MPI_TAG) == MPI_ANY_TAG, "an empty status")
        call foMPI_Rget(own, n, MPI_INTEGER, right, 0_kind_a, n, MPI_INTEGER, win, request, ierror)
        call foMPI_Request_free(request, ierror)
        call check(ierror == MPI_SUCCESS .and. request == foMPI_REQUEST_NULL, "foMPI_Request_free")
        status = -77
        call foMPI_Wait(request, status, ierror)
        call check(ierror == MPI_SUCCESS .and. status(MPI_TAG) == MPI_ANY_TAG, "foMPI_Wait for no request")
        call complete()
        call check(all(memory == left), "the memory after foMPI_Rput")
        call foMPI_Win_unlock_all(win, ierror)
    end subroutine

    subroutine requests_of_accumulates()
        integer :: request

        call fill(10)
        call foMPI_Win_lock_all(0, win, ierror)
        buffer = 3
        own = 0
        call foMPI_Raccumulate(buffer, n, MPI_INTEGER, right, 0_kind_a, n, MPI_INTEGER, foMPI_SUM, win, request, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Raccumulate")
        call foMPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call foMPI_Rget_accumulate(buffer, n, MPI_INTEGER, own, n, MPI_INTEGER, right, 0_kind_a, n, MPI_INTEGER, &
            foMPI_MAX, win, request, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Rget_accumulate")
        call foMPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call complete()
        call check(request == foMPI_REQUEST_NULL .and. all(own == 13) .and. all(memory == 13), "foMPI_Raccumulate")
        call foMPI_Win_unlock_all(win, ierror)
    end subroutine

    subroutine notifications()
        integer :: request, copy, status(MPI_STATUS_SIZE), count
        logical :: flag

        call fill(10)
        call foMPI_Notify_init(win, left, 7, 2, request, ierror)
        call check(ierror == MPI_SUCCESS .and. request /= foMPI_REQUEST_NULL, "foMPI_Notify_init")
        copy = request
        call foMPI_Start(request, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Start")
        buffer = rank
        own = -1
        call foMPI_Put_notify(buffer, 4, MPI_INTEGER, right, 0_kind_a, 4, MPI_INTEGER, win, 7, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Put_notify")
        call foMPI_Get_notify(own, 2, MPI_INTEGER, right, 8_kind_a, 2, MPI_INTEGER, win, 7, ierror)
        call check(ierror == MPI_SUCCESS, "foMPI_Get_notify")
        call foMPI_Wait(request, status, ierror)
        call check(ierror == MPI_SUCCESS .and. request == copy, "foMPI_Wait for notifications")
        call check(status(MPI_SOURCE) == left .and. status(MPI_TAG) == 7, "the status of notifications")
        call MPI_Get_count(status, MPI_INTEGER, count, ierror)
        call check(count == 2 .and. all(memory(1:4) == left) .and. memory(5) == 10, "the count of notifications")
        call complete()
        call check(all(own(1:2) == 10) .and. own(3) == -1, "the memory after foMPI_Get_notify")
        call foMPI_Start(request, ierror)
        call foMPI_Test(request, flag, status, ierror)
        call check(ierror == MPI_SUCCESS .and. .not. flag, "foMPI_Test without notifications")
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call foMPI_Put_notify(buffer, 0, MPI_INTEGER, right, 0_kind_a, 0, MPI_INTEGER, win, 7, ierror)
        call foMPI_Put_notify(buffer, 0, MPI_INTEGER, right, 0_kind_a, 0, MPI_INTEGER, win, 7, ierror)
        do while (.not. flag)
            call foMPI_Test(request, flag, MPI_STATUS_IGNORE, ierror)
        end do
        call check(all(MPI_STATUS_IGNORE == 0), "foMPI_Test with MPI_STATUS_IGNORE")
        call foMPI_Request_free(request, ierror)
        call check(ierror == MPI_SUCCESS .and. request == foMPI_REQUEST_NULL, "foMPI_Request_free of notifications")
    end subroutine

    subroutine notified_requests()
        integer :: request, access, status(MPI_STATUS_SIZE)

        call fill(10)
        call foMPI_Notify_init(win, foMPI_ANY_SOURCE, foMPI_ANY_TAG, 2, request, ierror)
        call foMPI_Start(request, ierror)
        buffer = rank
        own = -1
        call foMPI_Rput_notify(buffer, 4, MPI_INTEGER, right, 0_kind_a, 4, MPI_INTEGER, win, access, foMPI_TAG_UB, &
            ierror)
        call check(ierror == MPI_SUCCESS .and. access /= foMPI_REQUEST_NULL, "foMPI_Rput_notify")
        call foMPI_Wait(access, MPI_STATUS_IGNORE, ierror)
        call foMPI_Rget_notify(own, 4, MPI_INTEGER, right, 8_kind_a, 4, MPI_INTEGER, win, access, foMPI_TAG_UB, ierror)
        call check(ierror == MPI_SUCCESS .and. access /= foMPI_REQUEST_NULL, "foMPI_Rget_notify")
        call foMPI_Wait(access, MPI_STATUS_IGNORE, ierror)
        call check(access == foMPI_REQUEST_NULL .and. all(own(1:4) == 10), "foMPI_Wait for foMPI_Rget_notify")
        call foMPI_Wait(request, status, ierror)
        call check(status(MPI_SOURCE) == left .and. status(MPI_TAG) == foMPI_TAG_UB, "notifications from any rank")
        call check(all(memory(1:4) == left), "the memory after foMPI_Rput_notify")
        call foMPI_Request_free(request, ierror)
        call complete()
    end subroutine

    ! More requests than the table has places at first.
    subroutine several_requests()
        integer, parameter :: many = 200
        integer :: requests(many), status(MPI_STATUS_SIZE), index, i
        logical :: flag

        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        do i = 1, many
            call foMPI_Notify_init(win, left, i, 1, requests(i), ierror)
            call foMPI_Start(requests(i), ierror)
        end do
        call foMPI_Testany(many, requests, index, flag, status, ierror)
        call check(ierror == MPI_SUCCESS .and. .not. flag .and. index == foMPI_UNDEFINED, "foMPI_Testany, nothing")
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        do i = 1, many
            call foMPI_Put_notify(buffer, 0, MPI_INTEGER, right, 0_kind_a, 0, MPI_INTEGER, win, i, ierror)
        end do
        do i = 1, many - 20
            call foMPI_Waitany(many, requests, index, status, ierror)
            call check(ierror == MPI_SUCCESS .and. status(MPI_TAG) == index, "foMPI_Waitany")
            call foMPI_Request_free(requests(index), ierror)
        end do
        do i = 1, 20
            flag = .false.
            do while (.not. flag)
                call foMPI_Testany(many, requests, index, flag, status, ierror)
            end do
            call check(ierror == MPI_SUCCESS .and. status(MPI_TAG) == index, "foMPI_Testany")
            call foMPI_Request_free(requests(index), ierror)
        end do
        call check(all(requests == foMPI_REQUEST_NULL), "the requests")
        call foMPI_Waitany(many, requests, index, MPI_STATUS_IGNORE, ierror)
        call check(ierror == MPI_SUCCESS .and. index == MPI_UNDEFINED, "foMPI_Waitany for no request")
        call foMPI_Testany(many, requests, index, flag, MPI_STATUS_IGNORE, ierror)
        call check(flag .and. index == MPI_UNDEFINED, "foMPI_Testany of no request")
    end subroutine

    subroutine some_requests()
        integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), indices(4), count, done, i

        call fill(0)
        call foMPI_Win_lock_all(0, win, ierror)
        requests(3) = foMPI_REQUEST_NULL
        do i = 1, 2
            call foMPI_Notify_init(win, left, 10 + i, 1, requests(i), ierror)
            call foMPI_Start(requests(i), ierror)
            call foMPI_Put_notify(i, 0, MPI_INTEGER, right, 0_kind_a, 0, MPI_INTEGER, win, 10 + i, ierror)
        end do
        call foMPI_Rput(rank, 1, MPI_INTEGER, right, 0_kind_a, 1, MPI_INTEGER, win, requests(4), ierror)
        done = 0
        do while (done < 3)
            call foMPI_Waitsome(4, requests, count, indices, statuses, ierror)
            call check(ierror == MPI_SUCCESS .and. count >= 1, "foMPI_Waitsome")
            do i = 1, count
                call check(indices(i) == 4 .or. statuses(MPI_TAG, i) == 10 + indices(i), "a status of foMPI_Waitsome")
            end do
            done = done + count
        end do
        call check(requests(4) == foMPI_REQUEST_NULL, "an access that foMPI_Waitsome completes")
        call foMPI_Testsome(4, requests, count, indices, MPI_STATUSES_IGNORE, ierror)
        call check(ierror == MPI_SUCCESS .and. count == MPI_UNDEFINED, "foMPI_Testsome of no request")
        call foMPI_Start(requests(2), ierror)
        call foMPI_Put_notify(i, 0, MPI_INTEGER, right, 0_kind_a, 0, MPI_INTEGER, win, 12, ierror)
        count = 0
        do while (count == 0)
            call foMPI_Testsome(4, requests, count, indices, statuses, ierror)
        end do
        call check(count == 1 .and. indices(1) == 2 .and. statuses(MPI_TAG, 1) == 12, "foMPI_Testsome")
        call foMPI_Start(requests(2), ierror)
        call foMPI_Put_notify(i, 0, MPI_INTEGER, right, 0_kind_a, 0, MPI_INTEGER, win, 12, ierror)
        call foMPI_Waitsome(4, requests, count, indices, MPI_STATUSES_IGNORE, ierror)
        call check(count == 1 .and. indices(1) == 2, "foMPI_Waitsome")
        call check(all(MPI_STATUSES_IGNORE == 0), "foMPI_Waitsome with MPI_STATUSES_IGNORE")
        call foMPI_Request_free(requests(1), ierror)
        call foMPI_Request_free(requests(2), ierror)
        call foMPI_Win_unlock_all(win, ierror)
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end subroutine

    ! Wrong handles and arguments: each call returns the class of the error, and the library prints a line.
    subroutine errors()
        integer :: wrong, request, freed
        logical :: flag

        wrong = foMPI_WIN_NULL
        call foMPI_Put(rank, 1, MPI_INTEGER, right, 0_kind_a, 1, MPI_INTEGER, wrong, ierror)
        call check(ierror == MPI_ERR_WIN, "foMPI_Put with foMPI_WIN_NULL")
        wrong = 4711
        call foMPI_Win_free(wrong, ierror)
        call check(ierror == MPI_ERR_WIN .and. wrong == 4711, "foMPI_Win_free with a wrong handle")
        call foMPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, wrong, ierror)
        freed = wrong
        call foMPI_Win_free(wrong, ierror)
        call foMPI_Win_fence(0, freed, ierror)
        call check(ierror == MPI_ERR_WIN, "foMPI_Win_fence of a window that is freed")
        request = 0
        call foMPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call check(ierror == MPI_ERR_REQUEST .and. request == 0, "foMPI_Wait with a wrong handle")
        call foMPI_Test(request, flag, MPI_STATUS_IGNORE, ierror)
        call check(ierror == MPI_ERR_REQUEST, "foMPI_Test with a wrong handle")
        call foMPI_Notify_init(win, left, foMPI_TAG_UB + 1, 1, request, ierror)
        call check(ierror == MPI_ERR_TAG .and. request == 0, "foMPI_Notify_init with a wrong tag")
        call foMPI_Rput(rank, 1, MPI_INTEGER, ranks, 0_kind_a, 1, MPI_INTEGER, win, request, ierror)
        call check(ierror == MPI_ERR_RANK .and. request == 0, "foMPI_Rput to a wrong rank")
        call foMPI_Win_unlock(right, win, ierror)
        call check(ierror == foMPI_ERROR_RMA_NO_LOCK_HOLDING, "foMPI_Win_unlock without a lock")
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end subroutine
end program
