! fompi_include.f: a program of foMPI in fixed form that includes
! fompif.h and calls the subroutines without interfaces: every rank puts
! its number to the right, by a fence and with a notification.
      program fompi_include
      implicit none
      include 'fompif.h'
      integer ierror, rank, ranks, left, right, win, dynamic, request
      integer memory(4), status(MPI_STATUS_SIZE), length
      character*20 name
      logical flag
      integer(kind=MPI_ADDRESS_KIND) bytes, place, value

      call foMPI_Init(ierror)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
      left = mod(rank + ranks - 1, ranks)
      right = mod(rank + 1, ranks)
      memory = 0
      bytes = 16
      call foMPI_Win_create(memory, bytes, 4, MPI_INFO_NULL,
     &  MPI_COMM_WORLD, win, ierror)
      call check(ierror .eq. MPI_SUCCESS, 1)

      call foMPI_Win_fence(foMPI_MODE_NOPRECEDE, win, ierror)
      place = 1
      call foMPI_Put(rank, 1, MPI_INTEGER, right, place, 1,
     &  MPI_INTEGER, win, ierror)
      call foMPI_Accumulate(3, 1, MPI_INTEGER, right, place - 1, 1,
     &  MPI_INTEGER, foMPI_SUM, win, ierror)
      call foMPI_Win_fence(foMPI_MODE_NOSUCCEED, win, ierror)
      call check(memory(1) .eq. 3 .and. memory(2) .eq. left, 2)

      call foMPI_Notify_init(win, left, 5, 1, request, ierror)
      call foMPI_Start(request, ierror)
      place = 2
      call foMPI_Put_notify(rank, 1, MPI_INTEGER, right, place, 1,
     &  MPI_INTEGER, win, 5, ierror)
      call foMPI_Wait(request, status, ierror)
      call check(status(MPI_SOURCE) .eq. left, 3)
      call check(status(MPI_TAG) .eq. 5 .and. memory(3) .eq. left, 4)
      call foMPI_Start(request, ierror)
      call foMPI_Test(request, flag, MPI_STATUS_IGNORE, ierror)
      call check(.not. flag, 5)
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
      call foMPI_Put_notify(rank, 0, MPI_INTEGER, right, place, 0,
     &  MPI_INTEGER, win, 5, ierror)
      call foMPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      call foMPI_Request_free(request, ierror)
      call check(request .eq. foMPI_REQUEST_NULL, 6)

      call foMPI_Win_set_name(win, 'the window', ierror)
      call foMPI_Win_get_name(win, name, length, ierror)
      call check(name .eq. 'the window' .and. length .eq. 10, 7)
      call foMPI_Win_get_attr(win, foMPI_WIN_CREATE_FLAVOR, value, flag,
     &  ierror)
      call check(flag .and. value .eq. foMPI_WIN_FLAVOR_CREATE, 8)
      call foMPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD,
     &  value, dynamic, ierror)
      call check(value .ne. 0, 9)
      call foMPI_Win_free(dynamic, ierror)
      call foMPI_Win_free(win, ierror)
      call check(win .eq. foMPI_WIN_NULL, 10)
      call foMPI_Win_fence(0, win, ierror)
      call check(ierror .eq. MPI_ERR_WIN, 11)
      if (rank .eq. 0) print '(a)', 'all tests passed'
      call foMPI_Finalize(ierror)
      end

      subroutine check(condition, number)
      implicit none
      include 'mpif.h'
      logical condition
      integer number, ierror
      if (condition) return
      print '(a, i0, a)', 'check ', number, ' failed'
      call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
      end
