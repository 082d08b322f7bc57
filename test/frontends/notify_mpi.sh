# notify_mpi.sh: the tests of notified access for MPI programs, with Open MPI and with MPICH, on one node and on two
# (which are both this machine). NOTIFY_ALL runs all cases with all numbers of ranks, also over the network alone and
# under chaos.
#
# builds: release debug
# timeout: 1500
# long: NOTIFY_ALL=1 MPI_PLAIN=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=300
any=
all=${NOTIFY_ALL:+all}

# everywhere NAME LAUNCHER RANKS PROGRAM [ARGUMENT...]: run the program on one node, on two, over the network alone, and
# under chaos.
everywhere() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    here "$name" "$launcher" "$ranks" "$@"
    [ "$ranks" -gt 1 ] || return 0
    on_two_nodes "$name" "$launcher" "$ranks" "$@"
    here "$name over the network" "$launcher" "$ranks" env TERN_LINKS=ofi "$@"
    here "$name under chaos" "$launcher" "$ranks" env TERN_CHAOS=seed="$ranks" "$@"
}

# here NAME LAUNCHER RANKS PROGRAM [ARGUMENT...]: run the program on one node.
here() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    launch "$launcher" "$ranks" "$@"
    check "$name, $launcher, $ranks ranks" status_is 0
}

# sample PLACE RANKS_OPENMPI RANKS_MPICH NAME PROGRAM [ARGUMENT...]: run the program at the place (here, on_two_nodes or
# under_chaos) with the number of ranks for the launcher.
sample() {
    local place=$1 ranks=$2 name=$4 program=$PROG/$5-$launcher
    [ "$launcher" = openmpi ] || ranks=$3
    shift 5
    [ ! -x "$program" ] || "$place" "$name" "$launcher" "$ranks" "$program" "$@"
}

under_chaos() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    here "$name under chaos" "$launcher" "$ranks" env TERN_CHAOS=seed=5 "$@"
}

# full_queue PLACE RANKS_OPENMPI RANKS_MPICH: the orders of waits, with as many notifications as a small queue holds.
full_queue() {
    export TERN_NOTIFY_QUEUE=256
    sample "$1" "$2" "$3" "orders of waits, full queues" notify_order
    unset TERN_NOTIFY_QUEUE
}

# few LAUNCHER: a sample that has every pair of program, launcher, number of ranks (2, 3, 4, 8) and place (one node or
# two). Each half of the accumulates has all pairs of operation or datatype, and communicator; together they have all
# pairs of operation and datatype. 8 ranks of MPICH run short programs only.
few() {
    local launcher=$1
    here "datatypes" "$launcher" 1 "$PROG/mpi_datatype-$launcher"
    sample here 8 3 "calls" notify_calls
    sample on_two_nodes 4 2 "calls" notify_calls
    sample here 4 2 "accumulates" notify_acc even
    sample on_two_nodes 8 3 "accumulates" notify_acc odd
    sample here 2 4 "matching" notify_model 1 100
    sample on_two_nodes 3 8 "matching" notify_model 2 30
    sample here 8 3 "mixed requests" notify_mixed
    sample on_two_nodes 2 4 "mixed requests" notify_mixed
    sample here 4 2 "mixed requests of MPI" notify_pmpi_mixed
    sample on_two_nodes 8 3 "mixed requests of MPI" notify_pmpi_mixed thread
    full_queue here 8 2
    full_queue on_two_nodes 3 4
    sample here 4 3 "corner cases" notify_corner
    sample on_two_nodes 8 2 "corner cases" notify_corner
    sample here 4 8 "misuse" notify_misuse
    sample on_two_nodes 3 2 "misuse" notify_misuse
    sample here 3 2 "Fortran" notify_fortran
    sample on_two_nodes 4 8 "Fortran" notify_fortran
    sample under_chaos 4 2 "matching" notify_model 3 30
    sample under_chaos 2 3 "corner cases" notify_corner
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
        everywhere "all accumulates" "$launcher" "$ranks" "$PROG/notify_acc-$launcher"
        for seed in 1 2 3; do
            everywhere "matching, seed $seed" "$launcher" "$ranks" "$PROG/notify_model-$launcher" $seed 300
        done
        everywhere "corner cases" "$launcher" "$ranks" "$PROG/notify_corner-$launcher"
        everywhere "mixed requests" "$launcher" "$ranks" "$PROG/notify_mixed-$launcher"
        everywhere "mixed requests of MPI" "$launcher" "$ranks" "$PROG/notify_pmpi_mixed-$launcher"
        everywhere "mixed requests of MPI, threads" "$launcher" "$ranks" "$PROG/notify_pmpi_mixed-$launcher" thread
        everywhere "orders of waits" "$launcher" "$ranks" "$PROG/notify_order-$launcher"
        export TERN_NOTIFY_QUEUE=256
        everywhere "orders of waits, full queues" "$launcher" "$ranks" "$PROG/notify_order-$launcher"
        unset TERN_NOTIFY_QUEUE
        launch "$launcher" "$ranks" env TERN_LINKS=ofi TERN_OFI_DATA=0 "$PROG/notify_order-$launcher"
        check "orders of waits, separate notifications, $launcher, $ranks ranks over the network" status_is 0
        [ ! -x "$PROG/notify_fortran-$launcher" ] ||
            everywhere "Fortran" "$launcher" "$ranks" "$PROG/notify_fortran-$launcher"
    done
    for ranks in 2 3 4 8; do
        everywhere "misuse" "$launcher" "$ranks" "$PROG/notify_misuse-$launcher"
    done
}

failed() { not_hung && [ "$STATUS" != 0 ]; }

# killed LAUNCHER HOW...: the last rank is killed while the others wait for it in this way: the job ends, and nothing is
# left. Usually the launcher ends the other ranks. With --enable-recovery, Open MPI's does not, so that Tern does.
killed() {
    local launcher=$1 how
    shift
    for how; do
        launch "$launcher" 3 "$PROG/notify_die-$launcher" "$how"
        check "a killed rank, $launcher, the others wait: $how" all_of failed 'err_lacks "notify_die.c:"'
        check_clean "a killed rank, $launcher, $how" quiet
        [ "$launcher" = openmpi ] || continue
        command_of openmpi 3 --enable-recovery
        launched "${CMD[@]}" "$PROG/notify_die-openmpi" "$how"
        check "a killed rank, Tern ends the job: $how" all_of not_hung 'err_lacks "notify_die.c:"' \
            'err_has "^tern: rank [01]: rank 2 .*ended without tern_finalize; ending the job"'
        check_clean "a killed rank, Tern ends the job, $how" quiet
    done
}

# fatal LAUNCHER: the default error handler ends the job, and MPI prints the text. Open MPI's mpirun sometimes loses
# what a rank that aborts prints, and says so.
fatal() {
    local left
    for left in 7 6 5 4 3 2 1 0; do
        launch "$1" 2 "$PROG/notify_misuse-$1" fatal
        err_has 'ORTE_ERROR_LOG: .*show_help' && ! err_has 'MPIX_Put_notify' || break
        note "mpirun lost the error message; attempts left: $left"
    done
    check "the default error handler, $1" all_of not_hung '! status_is 0' \
        "err_has 'MPIX_Put_notify.*: there is no rank 99 in the window, which has the ranks 0 to 1'"
}

for launcher in $LAUNCHERS; do
    [ -x "$PROG/notify_calls-$launcher" ] || continue
    any=yes
    if [ -n "$all" ]; then many "$launcher"; else few "$launcher"; fi
    if [ -n "$all" ]; then
        killed "$launcher" wait any all some test probe put get mutex recv
    else
        killed "$launcher" wait put recv
    fi
    fatal "$launcher"
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
