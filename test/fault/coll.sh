# coll.sh: with --on-failure return, a rank dies in the middle of collective calls.
#
# Promise: every survivor gets TERN_ERR_PEER, and the survivors continue with a team of their own, on one node, over the
# network, and on two hosts, whether the dead rank led its node or not. coll_job.c makes these checks, and this script
# checks that all survivors passed them.
#
# timeout: 300
# labels: slow
# long: FAULT_LINK=tcp FAULT_HOSTS=ofi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
AGENT=$(readlink -f "$(dirname "$0")/../agent")
LIMIT=30
RANDOM=${FAULT_SEED:-7}

run() { # WAY RANKS HOW VICTIM
    local way=$1 ranks=$2 how=$3 victim=$4 us=$((2000 + RANDOM))
    case $way in
    node) CMD=("$RUN" -n "$ranks") ;;
    ofi) CMD=("$RUN" -n "$ranks" -x TERN_LINKS="${FAULT_LINK:-ofi}") ;;
    hosts) CMD=("$RUN" --hosts "a:$(((ranks + 1) / 2)),b:$((ranks / 2))" --agent "$AGENT"
        -x TERN_LINKS="shm,${FAULT_HOSTS:-tcp}") ;;
    esac
    job "${CMD[@]}" --on-failure return "$PROG/coll_job" "$how" "$us" "$victim"
    check "$way: $how, rank $victim of $ranks dies ($us us): the others go on" \
        all_of not_hung "so_many_survive $((ranks - 1))" 'err_lacks coll_job.c:'
    check_clean "$way: $how, rank $victim of $ranks" quiet
}
so_many_survive() { [ "$(grep -c '^survived ' "$WORK/out")" = "$1" ]; }

ways=node
"$BIN/tern-info" | grep -q '^ *ofi ' && ways="node ofi hosts"
for way in $ways; do
    for how in brief staged full with mixed reading asleep leaf; do
        for victim in 0 1 2; do run $way 3 $how $victim; done
        [ $way != node ] || for victim in 0 4; do run node 5 $how $victim; done
    done
done
check_memory_returned "at the end"
finish
