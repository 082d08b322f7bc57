# mpi.sh: an MPI program uses Tern. The two libraries start and end in every order, with each installed MPI.
#
# mpi_job.c explains the letters. Two orders are impossible. With MPICH, Tern cannot start after MPI_Finalize, which
# closes the connection to the launcher. With Open MPI, MPI cannot start after Tern has ended, if only Tern used PMIx.
#
# builds: release debug
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

# wrong MPI COMMAND...: a program of this MPI is started by another launcher, so that MPI has one rank and Tern has two.
# The warning is printed once, whether MPI or Tern is initialized first. MTtm and TMtm need no other rank.
wrong() {
    local mpi=$1 order
    shift
    for order in MTtm TMtm; do
        launched env TERN_STALL_REPORT=0 "$@" "$PROG/mpi_job-$mpi" $order
        check "$mpi under $1: $order" all_of 'status_is 0' "out_count '^done $order\$' 2" \
            'err_count "^tern: rank 0: .*(has 1 rank and Tern has 2|is linked with).*start (it|the program) with" 1'
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
    wrong "$launcher" "$BIN/ternrun" -n 2
    check_clean "$launcher"
done
if [ "$LAUNCHERS" = "openmpi mpich" ] && [ -x "$PROG/mpi_job-openmpi" ] && [ -x "$PROG/mpi_job-mpich" ]; then
    wrong openmpi mpiexec.mpich -n 2
    wrong mpich mpirun.openmpi --allow-run-as-root --oversubscribe -n 2
    launched mpiexec.mpich -n 2 env TERN_LAUNCHER=alone "$PROG/mpi_job-mpich" MTtm
    check "mpich: MPI has two ranks and Tern has one" \
        all_of 'status_is 0' 'err_count "^tern: .*MPICH has 2 ranks and Tern has 1, because" 1'
    check_clean "the wrong launcher"
fi
[ -n "$any" ] || skip "no MPI compiler is installed"
finish
