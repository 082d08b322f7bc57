# nodes.sh: ranks of several nodes under foreign launchers know each other's lives, cards and deaths. The nodes are this
# machine under different names (TERN_NODE).
#
# What each rank checks is in nodes_job.c. With Open MPI's --enable-recovery a job survives the death of a rank; that of
# the first rank of a node takes the node along, and that of rank 0 the job.
#
# timeout: 300
. "$(dirname "$0")/lib.sh"
need_launchers
LIMIT=120

# three_nodes LAUNCHER OPTIONS... -- ARGUMENTS...: ranks 0 and 1 on node a, 2 and 3 on b, 4 to 6 on c; the command in CMD.
three_nodes() {
    local launcher=$1 options=() name
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    command_of "$launcher" 2 "${options[@]}"
    for name in a b c; do
        case $name in b) CMD+=(: -n 2) ;; c) CMD+=(: -n 3) ;; esac
        case $launcher in openmpi) CMD+=(-x TERN_NODE=$name) ;; mpich) CMD+=(-env TERN_NODE $name) ;; esac
        CMD+=("$PROG/nodes_job" "$@")
    done
}

failed() { not_hung && [ "$STATUS" != 0 ]; }

for launcher in $LAUNCHERS; do
    three_nodes "$launcher" -- meet
    job "${CMD[@]}"
    check "$launcher: ranks of three nodes meet" all_of 'status_is 0' 'out_count "^met [0-6] of 7 on 3$" 7'
    launch "$launcher" 4 sh -c "TERN_NODE=n\${PMIX_RANK:-\$PMI_RANK} exec $PROG/nodes_job meet"
    check "$launcher: a rank on each of four nodes" all_of 'status_is 0' 'out_count "^met [0-3] of 4 on 4$" 4'
    for victim in 3 2 0; do
        three_nodes "$launcher" -- die $victim
        job "${CMD[@]}"
        check "$launcher: the death of rank $victim ends the job" failed
    done
    check_clean "$launcher"
done

if command -v mpirun.openmpi > /dev/null; then
    for victim in 6 4 1; do
        three_nodes openmpi --enable-recovery -- die $victim
        job env TERN_ON_FAILURE=return "${CMD[@]}"
        others=$([ $victim = 4 ] && echo 4 || echo 6) # rank 4 is the first of its node
        check "TERN_ON_FAILURE=return: rank $victim dies, $others others go on" \
            all_of not_hung "out_count '^saw $victim\$' $others" "out_count '^met' $others" 'err_lacks nodes_job.c:'
    done
    three_nodes openmpi --enable-recovery -- die 0
    job env TERN_ON_FAILURE=return "${CMD[@]}"
    check "TERN_ON_FAILURE=return: without rank 0 the nodes cannot meet, and the ranks say so and end" \
        all_of not_hung 'out_count "^met" 0' 'err_has "lost the connection to node 0.*this rank ends"'
    check_clean "deaths that a job survives"
fi
finish
