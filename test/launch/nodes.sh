# nodes.sh: ranks on several nodes, started by foreign launchers, learn each other's addresses and deaths, and reach
# each other. The nodes are all this machine, with different names (TERN_NODE).
#
# nodes_job.c contains the checks of each rank. With Open MPI's --enable-recovery, a job survives the death of a rank.
# The death of the first rank of a node ends the node, and the death of rank 0 ends the job. With NODES_PROGRAMS=all,
# more tests of the API run on two nodes.
#
# timeout: 300
# labels: slow
# long: NODES_PROGRAMS=all
. "$(dirname "$0")/lib.sh"
export TERN_SPIN=0 # the nodes are all this machine, and each assumes that it owns the cores
need_launchers
LIMIT=120

# nodes RANKS LAUNCHER OPTIONS... -- COMMAND...: set CMD to a command that starts these numbers of ranks on the nodes
# ("2 2 3": three nodes).
nodes() {
    local ranks=$1 launcher=$2 options=() first=yes n
    shift 2
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    for n in $ranks; do
        if [ -n "$first" ]; then command_of "$launcher" "$n" "${options[@]}"; else CMD+=(: -n "$n"); fi
        first=
        case $launcher in openmpi) CMD+=(-x TERN_NODE=n${#CMD[@]}) ;; mpich) CMD+=(-env TERN_NODE n${#CMD[@]}) ;; esac
        CMD+=("$@")
    done
}

# three_nodes LAUNCHER OPTIONS... -- ARGUMENTS...: ranks 0 and 1 on the first, 2 and 3 on the second, 4 to 6 on the
# third.
three_nodes() {
    local launcher=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    nodes "2 2 3" "$launcher" "${options[@]}" -- "$PROG/nodes_job" "$@"
}

failed() { not_hung && [ "$STATUS" != 0 ]; }

for launcher in $LAUNCHERS; do
    three_nodes "$launcher" -- meet
    launched "${CMD[@]}"
    check "$launcher: ranks of three nodes meet" all_of 'status_is 0' 'out_count "^met [0-6] of 7 on 3$" 7'
    launch "$launcher" 4 sh -c "TERN_NODE=n\${PMIX_RANK:-\$PMI_RANK} exec $PROG/nodes_job meet"
    check "$launcher: a rank on each of four nodes" all_of 'status_is 0' 'out_count "^met [0-3] of 4 on 4$" 4'
    for victim in 3 2 0; do
        three_nodes "$launcher" -- die $victim
        launched "${CMD[@]}"
        check "$launcher: the death of rank $victim ends the job" failed
    done
    check_clean "$launcher"
done

# With a link between nodes: programs of two nodes with two ranks each.
LINKED=$("$BIN/tern-info" | grep -c '^ *ofi ')
PROGRAMS="am_kinds strict"
[ "${NODES_PROGRAMS:-}" != all ] || PROGRAMS="am_kinds am_threads events states strict"
for launcher in $LAUNCHERS; do
    [ "$LINKED" != 0 ] || break
    nodes "2 2" "$launcher" -- "$PROG/launch_job" ring
    launched "${CMD[@]}"
    check "$launcher: ranks of two nodes reach each other" all_of 'status_is 0' 'out_count "^ring [0-3] of 4 on 2 " 4'
    for name in $PROGRAMS; do
        nodes "2 2" "$launcher" -- "$TEST/api/$name"
        launched "${CMD[@]}"
        check "$launcher: api/$name on two nodes" status_is 0
    done
    check_clean "$launcher: two nodes"
done

if command -v mpirun.openmpi > /dev/null; then
    for victim in 6 4 1; do
        three_nodes openmpi --enable-recovery -- die $victim
        launched env TERN_ON_FAILURE=return "${CMD[@]}"
        others=$([ $victim = 4 ] && echo 4 || echo 6) # rank 4 is the first of its node
        check "TERN_ON_FAILURE=return: rank $victim dies, $others others go on" \
            all_of not_hung "out_count '^saw $victim\$' $others" "out_count '^met' $others" 'err_lacks nodes_job.c:'
    done
    three_nodes openmpi --enable-recovery -- mute 3
    launched env TERN_ON_FAILURE=return "${CMD[@]}"
    check "TERN_ON_FAILURE=return: rank 3 dies before it has woken the relay, 6 others know" \
        all_of not_hung "out_count '^saw 3\$' 6" 'err_lacks nodes_job.c:'
    for how in known unknown; do
        command_of openmpi 4 --enable-recovery
        launched env TERN_ON_FAILURE=return "${CMD[@]}" "$PROG/nodes_job" reuse $how
        check "TERN_ON_FAILURE=return: a process number is in use again, and later deaths are seen ($how)" \
            all_of not_hung "out_count '^saw' 3" 'err_lacks nodes_job.c:'
    done
    for how in forms waiting alloc; do
        [ "$LINKED" != 0 ] || break
        nodes "2 2" openmpi --enable-recovery -- "$TEST/fault/survive_job" $how
        launched env TERN_ON_FAILURE=return "${CMD[@]}"
        check "survive_job $how on two nodes: all survivors go on" \
            all_of not_hung 'out_count "^survived" 3' 'err_lacks survive_job.c:'
    done
    three_nodes openmpi --enable-recovery -- die 0
    launched env TERN_ON_FAILURE=return "${CMD[@]}"
    check "TERN_ON_FAILURE=return: without rank 0 the nodes cannot meet, and the ranks say so and end" \
        all_of not_hung 'out_count "^met" 0' 'err_has "lost the connection to node 0.*this rank ends"'
    check_clean "deaths that a job survives"
fi
finish
