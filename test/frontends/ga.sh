# ga.sh: Global Arrays programs print the same with Debian's ARMCI and with Tern's. Debian's ARMCI on Open MPI is the
# reference for both MPIs: on MPICH, with 3 ranks, it copies a patch wrongly, which the program reports. With Tern's
# ARMCI, the ranks share memory, reach each other over the network, or are on two nodes, which are both this machine.
#
# builds: release debug
# timeout: 400
# long: GA_ALL=1 MPI_PLAIN=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=120
any=

same_as_reference() { diff "$WORK/reference" "$WORK/out" >&2; }

# reference PROGRAM RANKS: run the program with Debian's ARMCI until two runs print the same, and keep what they print.
# On a busy machine, mpirun sometimes says that this program, which does not contain Tern, has exited without
# MPI_Finalize although it has called it. Open MPI also fails sometimes when two groups make windows at the same time:
# they use the same file in /dev/shm (osc_rdma), so that calls fail or results are wrong. Such runs do not count.
reference() {
    local left
    rm -f "$WORK/reference"
    for left in 7 6 5 4 3 2 1 0; do
        launch openmpi "$2" "$PROG/$1-debian-openmpi"
        if status_is 0; then
            cmp -s "$WORK/out" "$WORK/reference" && break
            cp "$WORK/out" "$WORK/reference"
        elif ! err_has 'exiting improperly|osc_rdma|ORTE_ERROR_LOG|error occurred in MPI_Win_'; then
            break
        else
            note "Open MPI has failed; attempts left: $left"
        fi
    done
    check "$1 with Debian's ARMCI, $2 ranks" all_of 'status_is 0' 'cmp "$WORK/out" "$WORK/reference"'
}

# compare NAME LAUNCHER RANKS PROGRAM [VARIABLE=VALUE...]: the program prints what the reference has printed.
compare() {
    local name=$1 launcher=$2 ranks=$3 program=$4
    shift 4
    launch "$launcher" "$ranks" env "$@" "$program"
    check "$name, $launcher, $ranks ranks" all_of 'status_is 0' same_as_reference
}

# compare_on_two_nodes NAME LAUNCHER RANKS PROGRAM: the same with half of the ranks on each of two nodes.
compare_on_two_nodes() {
    launch_on_two_nodes "$2" "$3" "$4"
    check "$1, $2, $3 ranks on two nodes" all_of 'status_is 0' same_as_reference
}

for test in ga_programs ga_arrays ga_fortran; do
    [ -x "$PROG/$test-debian-openmpi" ] || continue
    any=yes
    for ranks in ${GA_ALL:+1 2 4 8} 3; do
        reference "$test" "$ranks"
        for launcher in $LAUNCHERS; do
            [ -x "$PROG/$test-tern-$launcher" ] || continue
            compare "$test" "$launcher" "$ranks" "$PROG/$test-tern-$launcher" A=1
            compare "$test, a domain for each rank" "$launcher" "$ranks" "$PROG/$test-tern-$launcher" TERN_ARMCI_DOMAIN=rank
            compare "$test over the network" "$launcher" "$ranks" "$PROG/$test-tern-$launcher" TERN_LINKS=ofi
            [ "$ranks" = 1 ] ||
                compare_on_two_nodes "$test" "$launcher" "$ranks" "$PROG/$test-tern-$launcher"
            [ -z "${GA_ALL:-}" ] ||
                compare "$test, chaos" "$launcher" "$ranks" "$PROG/$test-tern-$launcher" TERN_CHAOS=seed=3
        done
    done
done
# Mirrored arrays are merged if all nodes have as many ranks.
if [ -n "$any" ] && [ -z "${GA_ALL:-}" ]; then
    reference ga_programs 4
    for launcher in $LAUNCHERS; do
        [ ! -x "$PROG/ga_programs-tern-$launcher" ] ||
            compare_on_two_nodes ga_programs "$launcher" 4 "$PROG/ga_programs-tern-$launcher"
    done
fi
[ -n "$any" ] || skip "Global Arrays (libglobalarrays-dev) or Open MPI is not installed"
finish
