# notify_unusual.sh: notified access for MPI programs: outstanding requests of accesses, also of accesses that fail,
# unusual accumulates, the statuses of requests, and the beginning and the end of MPI. The programs run with Open MPI
# and with MPICH, on one node and on two (which are both this machine).
#
# builds: release debug
# timeout: 600
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

failed() { not_hung && [ "$STATUS" != 0 ]; }

# ends LAUNCHER WHAT LINE: the program calls notified access when MPI does not work, and ends with this line.
ends() {
    launch "$1" 2 "$PROG/notify_end-$1" "$2"
    check "$1: $2" all_of failed "err_has 'ends the job: $3'"
}

for launcher in $LAUNCHERS; do
    [ -x "$PROG/notify_unusual_defer-$launcher" ] || continue
    any=yes
    for program in notify_unusual_defer notify_pmpi_defer notify_unusual_acc notify_status notify_late \
        notify_pmpi_late; do
        runs "$program" "$launcher" 2 "$PROG/$program-$launcher"
        two_nodes "$program" "$launcher" "$PROG/$program-$launcher" far
        check_clean "$launcher, $program" quiet
    done
    two_nodes "threads" "$launcher" "$PROG/notify_unusual_defer-$launcher" threads
    two_nodes "separate notifications" "$launcher" env TERN_LINKS=ofi TERN_OFI_DATA=0 \
        "$PROG/notify_unusual_defer-$launcher" far
    two_nodes "statuses under chaos" "$launcher" env TERN_CHAOS=seed=3 "$PROG/notify_status-$launcher"
    runs "one rank" "$launcher" 1 "$PROG/notify_unusual_defer-$launcher"
    launch "$launcher" 2 "$PROG/notify_end-$launcher" threads
    check "$launcher: MPI for one thread" status_is 0
    launch "$launcher" 2 "$PROG/notify_end-$launcher" forgotten
    check "$launcher: windows that are not freed" all_of 'status_is 0' \
        "err_has 'rank 0: MPI_Finalize: the program has not freed 2 windows; call MPIX_Win_free'" \
        "err_has 'rank 1: MPI_Finalize: the program has not freed 1 window;'"
    ends "$launcher" early 'MPIX_Win_flush_all: MPI is not initialized'
    ends "$launcher" late 'MPIX_Put_notify: MPI has been finalized'
    ends "$launcher" request 'MPIX_Request_free: MPI has been finalized'
    check_clean "$launcher, the end of MPI" quiet
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
