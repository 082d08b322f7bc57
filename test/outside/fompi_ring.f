! fompi_ring.f: a program of foMPI in fixed form outside the project,
! built with the installed include file. Each rank puts its number to
! the next one, between two fences.
      program fompi_ring
      implicit none
      include 'fompif.h'
      integer win, me, n, memory, ierror
      integer(kind=MPI_ADDRESS_KIND) bytes, place

      call foMPI_Init(ierror)
      call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
      call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
      bytes = 4
      place = 0
      call foMPI_Win_create(memory, bytes, 4, MPI_INFO_NULL,
     &  MPI_COMM_WORLD, win, ierror)
      call foMPI_Win_fence(foMPI_MODE_NOPRECEDE, win, ierror)
      call foMPI_Put(me, 1, MPI_INTEGER, mod(me + 1, n), place, 1,
     &  MPI_INTEGER, win, ierror)
      call foMPI_Win_fence(foMPI_MODE_NOSUCCEED, win, ierror)
      if (memory .ne. mod(me + n - 1, n)) then
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
      end if
      if (me .eq. 0) print '(a, i0)', 'a ring of ', n
      call foMPI_Win_free(win, ierror)
      call foMPI_Finalize(ierror)
      end
