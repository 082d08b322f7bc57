# quit.sh: a rank gives up a team while other ranks wait for it without a limit.
#
# Promise: a rank that waits in tern_barrier or tern_allgather for a rank that has given up the team gets
# TERN_ERR_PEER, whatever the reason: another rank has died, and the rank has learned of it first, or the rank's own
# call has timed out. The same holds for ranks that wait for that rank through others. quit_job.c makes these checks,
# with each kind of group: in shared memory, in the boot segment and by messages. QUIT_ALL runs all cases with more
# numbers of ranks.
#
# timeout: 400
# labels: slow
# long: QUIT_ALL=1 FAULT_LINK=tcp FAULT_HOSTS=ofi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
AGENT=$(readlink -f "$(dirname "$0")/../agent")
LIMIT=20

# run WAY RANKS POLICY HOW VICTIM QUITTER. apart, pairs: one or two ranks are treated as a node; cores: each rank has a
# core.
run() {
    local way=$1 ranks=$2 policy=$3 how=$4 victim=$5 quitter=$6 left=$2
    case $way in
    node) CMD=("$RUN" -n "$ranks") ;;
    cores) CMD=(env HWLOC_SYNTHETIC="core:8 pu:1" HWLOC_THISSYSTEM=0 "$RUN" -n "$ranks") ;;
    apart) CMD=("$RUN" -n "$ranks" -x TERN_TEST=net=off,apart=1) ;;
    pairs) CMD=("$RUN" -n "$ranks" -x TERN_TEST=net=off,apart=2) ;;
    ofi) CMD=("$RUN" -n "$ranks" -x TERN_LINKS="${FAULT_LINK:-ofi}") ;;
    hosts) CMD=("$RUN" --hosts "a:$(((ranks + 1) / 2)),b:$((ranks / 2))" --agent "$AGENT"
        -x TERN_LINKS="shm,${FAULT_HOSTS:-tcp}") ;;
    esac
    case $how in limit* | again | long | create | leave | ask | busy | reuse) ;; *) left=$((ranks - 1)) ;; esac
    job "${CMD[@]}" --on-failure "$policy" "$PROG/quit_job" "$how" "$victim" "$quitter"
    check "$way, $policy: $how, rank $victim of $ranks is missing, and rank $quitter gives up: nobody waits for it" \
        all_of not_hung "so_many_survive $left" 'err_lacks quit_job.c:'
    check_clean "$way, $policy: $how, rank $victim of $ranks, rank $quitter" quiet
}
so_many_print() { [ "$(grep -c '^survived$' "$WORK/out")" = "$1" ]; }
so_many_survive() { [ "$(grep -c '^survived ' "$WORK/out")" = "$1" ]; }

# more WAY RANKS POLICY HOW VICTIM QUITTER: like run, if QUIT_ALL is set.
more() { [ -z "${QUIT_ALL:-}" ] || run "$@"; }

ways="node apart"
if "$BIN/tern-info" | grep -q '^ *ofi '; then
    ways="node apart hosts${QUIT_ALL:+ ofi}"
fi
for way in $ways; do
    for how in world team gather free overlap; do
        run $way 3 return $how 2 1
        more $way 5 return $how 0 3
    done
done
for way in $ways pairs cores; do
    for how in limit limits; do
        more $way 3 abort $how 2 0
        run $way 5 abort $how 0 3
        more $way 7 abort $how 4 1
        run $way 4 return $how 1 3
    done
done
for way in $ways; do
    run $way 2 abort busy 1 0
    run $way 3 return ask 2 0
    for how in again long create leave; do # the victim is stopped, and does not die
        more $way 2 abort $how 1 0
        run $way 3 abort $how 2 0
        more $way 3 return $how 0 1
    done
done
LIMIT=120 # many teams
case $ways in *hosts*) more hosts 2 return reuse 0 1 ;; esac
for quitter in 0 1; do
    job "$RUN" -n 3 "$PROG/quit_open_job" 2 $quitter
    check "rank $quitter gives up the creation of a team that rank 2 opens slowly: nobody waits for it" \
        all_of not_hung "so_many_print 3" 'err_lacks quit_open_job.c:'
    check_clean "rank $quitter, slow rank 2" quiet
done
check_memory_returned "at the end"
finish
