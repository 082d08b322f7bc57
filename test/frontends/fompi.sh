# fompi.sh: the tests of the foMPI front end, built for Open MPI and for MPICH, under their launchers: on one node and
# on two nodes, which are both this machine with different names. FOMPI_ALL runs all numbers of ranks, also over the
# network alone, under chaos and with other random accesses.
#
# MPICH's processes never yield their cores, so that it runs with few ranks.
#
# builds: release debug
# timeout: 400
# long: FOMPI_ALL=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=200
HEADER=$(dirname "$0")/../../frontends/mpi/include/fompi.h

# passes NAME LAUNCHER RANKS [VARIABLE=VALUE...]: all tests pass with this number of ranks.
passes() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    launch "$launcher" "$ranks" env "$@" "$PROG/fompi-$launcher"
    check "$name, $launcher, $ranks ranks" all_of 'status_is 0' 'out_has "^all tests passed$"'
}

# on_two_nodes LAUNCHER RANKS: all tests pass with this number of ranks on each of two nodes.
on_two_nodes() {
    local launcher=$1 ranks=$2 program=$PROG/fompi-$1
    command_of "$launcher" "$ranks"
    case $launcher in
    openmpi) CMD+=(-x TERN_NODE=a "$program" : -n "$ranks" -x TERN_NODE=b "$program") ;;
    mpich) CMD+=(-env TERN_NODE a "$program" : -n "$ranks" -env TERN_NODE b "$program") ;;
    esac
    launched "${CMD[@]}"
    check "two nodes, $launcher, $ranks ranks on each" all_of 'status_is 0' 'out_has "^all tests passed$"'
}

# exports LAUNCHER: the library exports what fompi.h declares, and nothing else.
exports() {
    nm -D --defined-only "$BIN/../lib/libtern-fompi-$1.so" | awk '{ print $3 }' | sort > "$WORK/exported"
    sed -n 's/^\(int\|extern foMPI_global_t\) \(foMPI_[A-Za-z_]*\)[(;].*/\2/p' "$HEADER" | sort > "$WORK/declared"
    [ -s "$WORK/declared" ] && diff "$WORK/declared" "$WORK/exported" > "$WORK/err"
}

# says TEXT: the test of misuse, which ran last, has printed a line that matches the text.
says() { check "misuse: $1" err_has "$1"; }

any=
for launcher in $LAUNCHERS; do
    [ -x "$PROG/fompi-$launcher" ] || continue
    any=${any:-$launcher}
    check "$launcher: exported symbols" exports "$launcher"
    case $launcher in openmpi) ranks=3 ;; mpich) ranks=2 ;; esac
    passes "one node" "$launcher" "$ranks"
    on_two_nodes "$launcher" 1
    [ -n "${FOMPI_ALL:-}" ] || continue
    for ranks in 1 2 3 4 8; do
        passes "one node" "$launcher" "$ranks" FOMPI_SEED="$ranks"
    done
    on_two_nodes "$launcher" 2
    for ranks in 2 3; do
        passes "network" "$launcher" "$ranks" TERN_LINKS=ofi
        passes "chaos" "$launcher" "$ranks" TERN_CHAOS=seed=5
        passes "network, chaos" "$launcher" "$ranks" TERN_LINKS=ofi TERN_CHAOS=seed=3
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
check_clean "misuse"
finish
