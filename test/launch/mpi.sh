# mpi.sh: an MPI program uses Tern. The two libraries start and end in every order, with each installed MPI.
#
# mpi_job.c explains the letters. Two orders are impossible. With MPICH, Tern cannot start after MPI_Finalize, which
# closes the connection to the launcher. With Open MPI, MPI cannot start after Tern has ended, if only Tern used PMIx.
. "$(dirname "$0")/lib.sh"
LIMIT=120
any=

orders() { # LAUNCHER ORDER...
    local launcher=$1 order
    shift
    for order; do
        launch "$launcher" 3 "$PROG/mpi_job-$launcher" "$order"
        check "$launcher: $order" all_of 'status_is 0' "out_count '^done $order\$' 3" 'err_lacks mpi_job:'
    done
}

for launcher in $LAUNCHERS; do
    [ -x "$PROG/mpi_job-$launcher" ] || continue
    any=yes
    orders "$launcher" MTUtm MTUmVt TMUtm TMUmVt MTUtWm TVMUtm
    case $launcher in
    openmpi) orders openmpi MWmTVt ;;
    mpich) orders mpich TVtMWm MWmX ;;
    esac
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI compiler is installed, or this build has a sanitizer"
finish
