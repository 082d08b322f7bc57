! ga_fortran.f90: a Global Arrays program in Fortran. Each rank puts its columns of a matrix; the ranks multiply it with
! itself, count tasks, and print the trace and the sum. ga.sh builds it with Debian's ARMCI and with Tern's.
program ga_fortran
  implicit none
  include 'mpif.h'
#include "mafdecls.fh"
#include "global.fh"
  integer, parameter :: side = 24
  integer :: a, b, counter, i, j, task, taken, error
  double precision :: column(side), total(2)
  logical :: ok

  call mpi_init(error)
  call ga_initialize()
  ok = ma_init(MT_DBL, 100000, 100000)
  ok = ga_create(MT_DBL, side, side, 'a', 0, 0, a)
  ok = ok .and. ga_create(MT_DBL, side, side, 'b', 0, 0, b)
  ok = ok .and. ga_create(MT_INT, 1, 1, 'counter', 1, 1, counter)
  if (.not. ok) call ga_error('ga_create failed', 1)
  call ga_zero(b)
  call ga_zero(counter)
  do j = 1 + ga_nodeid(), side, ga_nnodes()
     do i = 1, side
        column(i) = mod(i * 3 + j * 5, 17)
     end do
     call ga_put(a, 1, side, j, j, column, side)
  end do
  call ga_sync()
  call ga_dgemm('n', 'n', side, side, side, 1.0d0, a, a, 0.0d0, b)
  taken = 0
  task = ga_read_inc(counter, 1, 1, 1)
  do while (task < 100)
     taken = taken + 1
     call ga_acc(b, 1, 1, 1, 1, 1.0d0, 1, 2.0d0)
     task = ga_read_inc(counter, 1, 1, 1)
  end do
  call ga_sync()
  total = 0
  do j = 1 + ga_nodeid(), side, ga_nnodes()
     call ga_get(b, 1, side, j, j, column, side)
     total(1) = total(1) + column(j)
     total(2) = total(2) + sum(column)
  end do
  call ga_dgop(1, total, 2, '+')
  call ga_igop(2, taken, 1, '+')
  if (ga_nodeid() == 0) print '(a, 2f14.1, i6)', 'fortran', total, taken
  call ga_terminate()
  call mpi_finalize(error)
end program
