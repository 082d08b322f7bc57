# notify_mpi.sh: the tests of notified access for MPI programs, with Open MPI and with MPICH, on one node and on two
# (which are both this machine). NOTIFY_ALL runs all cases with all numbers of ranks, also over the network alone.
#
# builds: release debug
# timeout: 900
# long: NOTIFY_ALL=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=300
any=
all=${NOTIFY_ALL:+all}

# everywhere NAME LAUNCHER RANKS PROGRAM [ARGUMENT...]: run the program on one node, on two, and with NOTIFY_ALL also
# over the network alone.
everywhere() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    here "$name" "$launcher" "$ranks" "$@"
    [ "$ranks" -gt 1 ] || return 0
    on_two_nodes "$name" "$launcher" "$ranks" "$@"
    [ -z "$all" ] || {
        launch "$launcher" "$ranks" env TERN_LINKS=ofi "$@"
        check "$name, $launcher, $ranks ranks over the network" status_is 0
    }
}

# here NAME LAUNCHER RANKS PROGRAM [ARGUMENT...]: run the program on one node.
here() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    launch "$launcher" "$ranks" "$@"
    check "$name, $launcher, $ranks ranks" status_is 0
}

# few LAUNCHER: a sample. There are few ranks, because those of MPI compete for the cores.
few() {
    local launcher=$1
    here "datatypes" "$launcher" 1 "$PROG/mpi_datatype-$launcher"
    everywhere "calls" "$launcher" 3 "$PROG/notify_calls-$launcher"
    everywhere "accumulates" "$launcher" 2 "$PROG/notify_acc-$launcher"
    here "matching" "$launcher" 2 "$PROG/notify_model-$launcher" 1 200
    on_two_nodes "matching" "$launcher" 3 "$PROG/notify_model-$launcher" 2 60
    here "mixed requests" "$launcher" 2 "$PROG/notify_mixed-$launcher"
    here "mixed requests of MPI" "$launcher" 2 "$PROG/notify_pmpi_mixed-$launcher"
    everywhere "orders of waits" "$launcher" 2 "$PROG/notify_order-$launcher"
    everywhere "corner cases" "$launcher" 2 "$PROG/notify_corner-$launcher"
    here "misuse" "$launcher" 2 "$PROG/notify_misuse-$launcher"
    [ ! -x "$PROG/notify_fortran-$launcher" ] || here "Fortran" "$launcher" 2 "$PROG/notify_fortran-$launcher"
}

# many LAUNCHER: everything, with all numbers of ranks.
many() {
    local launcher=$1 ranks seed
    for seed in 1 2 3 4 5 6 7 8; do
        launch "$launcher" 1 env DATATYPE_SEED=$seed "$PROG/mpi_datatype-$launcher"
        check "datatypes, $launcher, seed $seed" status_is 0
    done
    for ranks in 1 2 3 4 8; do
        everywhere "all calls" "$launcher" "$ranks" "$PROG/notify_calls-$launcher" all
        if [ "$ranks" -le 3 ]; then
            everywhere "all accumulates" "$launcher" "$ranks" "$PROG/notify_acc-$launcher" all
        else
            everywhere "accumulates" "$launcher" "$ranks" "$PROG/notify_acc-$launcher"
        fi
        for seed in 1 2 3; do
            everywhere "matching, seed $seed" "$launcher" "$ranks" "$PROG/notify_model-$launcher" $seed 300
        done
        everywhere "corner cases" "$launcher" "$ranks" "$PROG/notify_corner-$launcher"
        everywhere "mixed requests" "$launcher" "$ranks" "$PROG/notify_mixed-$launcher"
        everywhere "mixed requests of MPI" "$launcher" "$ranks" "$PROG/notify_pmpi_mixed-$launcher"
        everywhere "orders of waits" "$launcher" "$ranks" "$PROG/notify_order-$launcher"
        launch "$launcher" "$ranks" env TERN_LINKS=ofi TERN_OFI_DATA=0 "$PROG/notify_order-$launcher"
        check "orders of waits, separate notifications, $launcher, $ranks ranks over the network" status_is 0
        [ ! -x "$PROG/notify_fortran-$launcher" ] ||
            everywhere "Fortran" "$launcher" "$ranks" "$PROG/notify_fortran-$launcher"
    done
    for ranks in 2 3 8; do
        everywhere "misuse" "$launcher" "$ranks" "$PROG/notify_misuse-$launcher"
    done
}

# fatal LAUNCHER: the default error handler ends the job, and MPI prints the text. Open MPI's mpirun sometimes loses
# what a rank that aborts prints, and says so.
fatal() {
    local left
    for left in 7 6 5 4 3 2 1 0; do
        launch "$1" 2 "$PROG/notify_misuse-$1" fatal
        err_has 'ORTE_ERROR_LOG: Data unpack .*show_help' && ! err_has 'MPIX_Put_notify' || break
        note "mpirun lost the error message; attempts left: $left"
    done
    check "the default error handler, $1" all_of not_hung '! status_is 0' \
        "err_has 'MPIX_Put_notify.*: there is no rank 99 in the window, which has the ranks 0 to 1'"
}

for launcher in $LAUNCHERS; do
    [ -x "$PROG/notify_calls-$launcher" ] || continue
    any=yes
    if [ -n "$all" ]; then many "$launcher"; else few "$launcher"; fi
    fatal "$launcher"
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
