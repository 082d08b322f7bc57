# fompi.sh: the tests of the foMPI front end, built for Open MPI and for MPICH, under their launchers: on one node and
# on two nodes, which are both this machine with different names. FOMPI_ALL runs all numbers of ranks, also over the
# network alone, under chaos and with other random accesses.
#
# MPICH's processes never yield their cores by themselves (see preload/mpi_light.c), so that it runs with few ranks.
#
# builds: release debug
# timeout: 600
# long: FOMPI_ALL=1 MPI_PLAIN=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=200
INCLUDE=$(dirname "$0")/../../frontends/mpi/include

# passes NAME LAUNCHER RANKS [VARIABLE=VALUE...]: all tests pass with this number of ranks.
passes() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    launch "$launcher" "$ranks" env "$@" "$PROG/fompi-$launcher"
    check "$name, $launcher, $ranks ranks" all_of 'status_is 0' 'out_has "^all tests passed$"'
}

# on_two_nodes LAUNCHER RANKS [TEST...]: all tests, or the named ones, pass with half of the ranks on each of two nodes.
on_two_nodes() {
    local launcher=$1 ranks=$2 program=$PROG/fompi-$1
    shift 2
    command_of "$launcher" $(((ranks + 1) / 2))
    case $launcher in
    openmpi) CMD+=(-x TERN_NODE=a "$program" "$@" : -n $((ranks / 2)) -x TERN_NODE=b "$program" "$@") ;;
    mpich) CMD+=(-env TERN_NODE a "$program" "$@" : -n $((ranks / 2)) -env TERN_NODE b "$program" "$@") ;;
    esac
    launched "${CMD[@]}"
    check "two nodes, $launcher, $ranks ranks${1:+, }$*" all_of 'status_is 0' 'out_has "^all tests passed$"'
}

# on_one_node LAUNCHER RANKS TEST...: the named tests pass with this number of ranks.
on_one_node() {
    local launcher=$1 ranks=$2
    shift 2
    launch "$launcher" "$ranks" "$PROG/fompi-$launcher" "$@"
    check "one node, $launcher, $ranks ranks, $*" all_of 'status_is 0' 'out_has "^all tests passed$"'
}

FIRST=(windows attributes epochs locks calls)
SECOND=(random acc notify requests misuse listing)

# few LAUNCHER: a sample that has every pair of launcher, number of ranks (2, 3, 4, 8), place (one node or two) and
# test, but with MPICH, more than two ranks run short tests only.
few() {
    case $1 in
    openmpi)
        passes "one node" openmpi 3
        on_two_nodes openmpi 2
        on_one_node openmpi 4 "${FIRST[@]}"
        on_two_nodes openmpi 4 "${SECOND[@]}"
        on_one_node openmpi 8 "${SECOND[@]}"
        on_two_nodes openmpi 8 "${FIRST[@]}"
        ;;
    mpich)
        passes "one node" mpich 2
        on_two_nodes mpich 2
        on_two_nodes mpich 3 windows
        on_one_node mpich 4 notify
        on_two_nodes mpich 8 calls
        ;;
    esac
}

failed() { not_hung && [ "$STATUS" != 0 ]; }

# killed LAUNCHER HOW...: the last rank is killed while the others wait for it in this way: the job ends, and nothing
# is left. Usually the launcher ends the other ranks. With --enable-recovery, Open MPI's does not, so that Tern does.
killed() {
    local launcher=$1 how
    shift
    for how; do
        launch "$launcher" 3 "$PROG/fompi-$launcher" die "$how"
        check "a killed rank, $launcher, the others wait: $how" all_of failed 'err_lacks "die.c:"'
        check_clean "a killed rank, $launcher, $how" quiet
        [ "$launcher" = openmpi ] || continue
        command_of openmpi 3 --enable-recovery
        launched "${CMD[@]}" "$PROG/fompi-openmpi" die "$how"
        check "a killed rank, Tern ends the job: $how" all_of not_hung 'err_lacks "die.c:"' \
            'err_has "^tern: rank [01]: rank 2 .*ended without tern_finalize; ending the job"'
        check_clean "a killed rank, Tern ends the job, $how" quiet
    done
}

# many LAUNCHER: all tests with all numbers of ranks, everywhere.
many() {
    local launcher=$1 ranks
    for ranks in 1 2 3 4 8; do
        passes "one node" "$launcher" "$ranks" FOMPI_SEED="$ranks"
        [ "$ranks" -gt 1 ] || continue
        on_two_nodes "$launcher" "$ranks"
        passes "network" "$launcher" "$ranks" TERN_LINKS=ofi
        passes "chaos" "$launcher" "$ranks" TERN_CHAOS=seed=5
        passes "network, chaos" "$launcher" "$ranks" TERN_LINKS=ofi TERN_CHAOS=seed=3
    done
}

# fortran LAUNCHER RANKS: the Fortran programs pass on one node and on two nodes, and errors name the call.
fortran() {
    local launcher=$1 ranks=$2 name
    for name in fompi_fortran fompi_include; do
        launch "$launcher" "$ranks" "$PROG/$name-$launcher"
        check "$name, $launcher, $ranks ranks" all_of 'status_is 0' 'out_has "^all tests passed$"' \
            'err_has "^rank [0-3]: foMPI_Win_fence: the (handle is no window|window is foMPI_WIN_NULL)"'
        launch_on_two_nodes "$launcher" "$ranks" "$PROG/$name-$launcher"
        check "$name, two nodes, $launcher, $ranks ranks" all_of 'status_is 0' 'out_has "^all tests passed$"'
    done
}

# exports LAUNCHER: the library exports what fompi.h and fompi_f.h declare, and nothing else.
exports() {
    nm -D --defined-only "$BIN/../lib/libtern-fompi-$1.so" | awk '{ print $3 }' | sort > "$WORK/exported"
    sed -n 's/^\(int\|void\|extern foMPI_global_t\) \(fo[Mm][Pp][Ii]_[A-Za-z_]*\)[(;].*/\2/p' "$INCLUDE/fompi.h" \
        "$INCLUDE/fompi_f.h" | sort > "$WORK/declared"
    [ -s "$WORK/declared" ] && diff "$WORK/declared" "$WORK/exported" > "$WORK/err"
}

# says TEXT: the test of misuse, which ran last, has printed a line that matches the text.
says() { check "misuse: $1" err_has "$1"; }

any=
for launcher in $LAUNCHERS; do
    [ -x "$PROG/fompi-$launcher" ] || continue
    any=${any:-$launcher}
    check "$launcher: exported symbols" exports "$launcher"
    if [ -z "${FOMPI_ALL:-}" ]; then
        few "$launcher"
        killed "$launcher" wait fence
    else
        many "$launcher"
        killed "$launcher" wait any test fence lock start post free
    fi
    for ranks in 2 4; do
        [ ! -x "$PROG/fompi_fortran-$launcher" ] || fortran "$launcher" "$ranks"
    done
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"

launch "$any" 3 env A=1 "$PROG/fompi-$any" misuse
check "misuse, three ranks" status_is 0
says '^rank [0-2]: foMPI_Put: there is no epoch for accesses to rank [0-2]; call foMPI_Win_fence'
says '^rank [0-2]: foMPI_Put: there is no rank 3; the ranks of the window are 0 to 2 \('
says '^rank [0-2]: foMPI_Get: the origin has 4 bytes and the target has 8 \('
says '^rank [0-2]: foMPI_Put: the access failed: .*(range|part|size|bytes)'
says '^rank [0-2]: foMPI_Put_notify: the tag is 32768; tags are 0 to 32767 \('
says '^rank [0-2]: foMPI_Win_lock: this process already holds the lock of rank [0-2] \('
says '^rank [0-2]: foMPI_Win_allocate: rank 0 of the communicator passed a size or a displacement unit'
says '^rank [0-2]: foMPI_Accumulate: the elements do not have the operation 7 \('
says '^rank [0-2]: foMPI_Fetch_and_op: the origin buffer is NULL \('
says '^rank [0-2]: foMPI_Win_create: the communicator is invalid'
says '^rank [0-2]: foMPI_Wait: the window of the request is freed \('
launch "$any" 2 env TERN_FOMPI_ERRORS=quiet "$PROG/fompi-$any" misuse
check "TERN_FOMPI_ERRORS=quiet" all_of 'status_is 0' '! err_has "foMPI_"'
launch "$any" 2 env TERN_FOMPI_ERRORS=abort "$PROG/fompi-$any" misuse
check "TERN_FOMPI_ERRORS=abort" all_of '! status_is 0' 'err_has "foMPI_Put: the window is foMPI_WIN_NULL"'
launch "$any" 2 env TERN_FOMPI_ERRORS=loud "$PROG/fompi-$any" misuse
check "TERN_FOMPI_ERRORS=loud" all_of '! status_is 0' 'err_has "TERN_FOMPI_ERRORS is .loud.; it must be print, quiet or abort"'
OMPI_MCA_hwloc_base_binding_policy=none launch "$any" 1 "$PROG/fompi-$any" threads # both cores for the threads
check "two threads with a window each" status_is 0
launch "$any" 2 "$PROG/fompi-$any" forgotten
check "windows that are not freed" all_of 'status_is 0' \
    "err_has 'rank 0: MPI_Finalize: the program has not freed 2 windows; call foMPI_Win_free'"
says '^rank [01]: foMPI_Put_notify: the call was made after MPI_Finalize '
says '^rank [01]: foMPI_Win_free: the call was made after MPI_Finalize '
check_clean "misuse"
finish
