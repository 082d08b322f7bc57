# teams.sh: with --on-failure return, ranks die while teams are made, used and freed, and while the survivors regroup.
#
# Promise: the survivors get identical teams and continue with every collective call, on one node, over the network, and
# on two hosts. teams_job.c makes these checks; this script checks that all survivors passed them and that no process
# and no file is left.
#
# timeout: 300
# labels: slow
# long: FAULT_LINK=tcp FAULT_HOSTS=ofi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
AGENT=$(readlink -f "$(dirname "$0")/../agent")
LIMIT=60
RANDOM=${FAULT_SEED:-7}

run() { # WAY RANKS HOW DEAD
    local way=$1 ranks=$2 how=$3 dead=$4 us=$((1000 + RANDOM))
    case $way in
    node) CMD=("$RUN" -n "$ranks") ;;
    ofi) CMD=("$RUN" -n "$ranks" -x TERN_LINKS="${FAULT_LINK:-ofi}") ;;
    hosts) CMD=("$RUN" --hosts "a:$(((ranks + 1) / 2)),b:$((ranks / 2))" --agent "$AGENT"
        -x TERN_LINKS="shm,${FAULT_HOSTS:-tcp}") ;;
    esac
    job "${CMD[@]}" --on-failure return "$PROG/teams_job" "$how" "$dead" "$us"
    check "$way: $how, $dead of $ranks ranks die ($us us): the others go on" \
        all_of not_hung "so_many_survive $((ranks - dead))" 'err_lacks teams_job.c:'
    check_clean "$way: $how, $dead of $ranks ranks" quiet
}
so_many_survive() { [ "$(grep -c '^survived ' "$WORK/out")" = "$1" ]; }

ways=node
"$BIN/tern-info" | grep -q '^ *ofi ' && ways="node ofi hosts"
for ((i = 0; i < ${TEAMS_TIMES:-1}; i++)); do
    for way in $ways; do
        for how in barriers making regroup; do
            run $way 4 $how 1
            run $way 5 $how 2
        done
        run $way 3 making 1
        run $way 6 regroup 4
    done
done
check_memory_returned "at the end"
finish
