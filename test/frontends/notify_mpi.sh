# notify_mpi.sh: the tests of notified access for MPI programs, with Open MPI and with MPICH, on one node and on two
# (which are both this machine). NOTIFY_ALL runs all cases with all numbers of ranks, also over the network alone.
#
# builds: release debug
# timeout: 600
# long: NOTIFY_ALL=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=300
any=
all=${NOTIFY_ALL:+all}

# on_two_nodes NAME LAUNCHER RANKS PROGRAM [ARGUMENT...]: the program succeeds with half of the ranks on each of two
# nodes.
on_two_nodes() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    command_of "$launcher" $(((ranks + 1) / 2))
    case $launcher in
    openmpi) CMD+=(-x TERN_NODE=a "$@" : -n $((ranks / 2)) -x TERN_NODE=b "$@") ;;
    mpich) CMD+=(-env TERN_NODE a "$@" : -n $((ranks / 2)) -env TERN_NODE b "$@") ;;
    esac
    launched "${CMD[@]}"
    check "$name, $launcher, $ranks ranks on two nodes" status_is 0
}

# everywhere NAME LAUNCHER RANKS PROGRAM [ARGUMENT...]: run the program through shared memory, over the network and on
# two nodes.
everywhere() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    launch "$launcher" "$ranks" "$@"
    check "$name, $launcher, $ranks ranks" status_is 0
    [ "$ranks" -gt 1 ] || return 0
    on_two_nodes "$name" "$launcher" "$ranks" "$@"
    [ -z "$all" ] || {
        launch "$launcher" "$ranks" env TERN_LINKS=ofi "$@"
        check "$name, $launcher, $ranks ranks over the network" status_is 0
    }
}

for launcher in $LAUNCHERS; do
    [ -x "$PROG/notify_calls-$launcher" ] || continue
    any=yes
    for seed in 1 ${all:+2 3 4 5 6 7 8}; do
        launch "$launcher" 1 env DATATYPE_SEED=$seed "$PROG/mpi_datatype-$launcher"
        check "datatypes, $launcher, seed $seed" status_is 0
    done
    for ranks in ${all:+1 2 4 8} 3; do
        everywhere "calls" "$launcher" "$ranks" "$PROG/notify_calls-$launcher" $all
        for seed in 1 ${all:+2 3 4}; do
            everywhere "matching, seed $seed" "$launcher" "$ranks" "$PROG/notify_model-$launcher" $seed ${all:+2000}
        done
        everywhere "mixed requests" "$launcher" "$ranks" "$PROG/notify_mixed-$launcher"
        everywhere "mixed requests of MPI" "$launcher" "$ranks" "$PROG/notify_pmpi_mixed-$launcher"
        [ ! -x "$PROG/notify_fortran-$launcher" ] ||
            everywhere "Fortran" "$launcher" "$ranks" "$PROG/notify_fortran-$launcher"
    done
    for ranks in ${all:+4 8} 2; do
        everywhere "orders of waits" "$launcher" "$ranks" "$PROG/notify_order-$launcher"
        everywhere "misuse" "$launcher" "$ranks" "$PROG/notify_misuse-$launcher"
    done
    launch "$launcher" 2 "$PROG/notify_misuse-$launcher" fatal
    check "the default error handler, $launcher" all_of not_hung '! status_is 0' \
        "err_has 'MPIX_Put_notify.*: there is no rank 99 in the window, which has the ranks 0 to 1'"
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
