# notify_unusual.sh: outstanding requests of accesses, and unusual accumulates, of notified access for MPI programs,
# with Open MPI and with MPICH, on one node and on two (which are both this machine).
#
# builds: release debug
# timeout: 300
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=120
any=

# two_nodes NAME LAUNCHER PROGRAM [ARGUMENT...]: the program succeeds with one rank on each of two nodes.
two_nodes() {
    local name=$1 launcher=$2
    shift 2
    command_of "$launcher" 1
    case $launcher in
    openmpi) CMD+=(-x TERN_NODE=a "$@" : -n 1 -x TERN_NODE=b "$@") ;;
    mpich) CMD+=(-env TERN_NODE a "$@" : -n 1 -env TERN_NODE b "$@") ;;
    esac
    launched "${CMD[@]}"
    check "$name, $launcher, 2 ranks on two nodes" status_is 0
}

for launcher in $LAUNCHERS; do
    [ -x "$PROG/notify_unusual_defer-$launcher" ] || continue
    any=yes
    for program in notify_unusual_defer notify_pmpi_defer notify_unusual_acc; do
        runs "$program" "$launcher" 2 "$PROG/$program-$launcher"
        two_nodes "$program" "$launcher" "$PROG/$program-$launcher" far
        check_clean "$launcher, $program" quiet
    done
    two_nodes "threads" "$launcher" "$PROG/notify_unusual_defer-$launcher" threads
    two_nodes "separate notifications" "$launcher" env TERN_LINKS=ofi TERN_OFI_DATA=0 \
        "$PROG/notify_unusual_defer-$launcher" far
    runs "one rank" "$launcher" 1 "$PROG/notify_unusual_defer-$launcher"
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
