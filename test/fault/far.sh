# far.sh: the promises of the other fault tests hold over the network too: with ranks of one host that use only the
# network link, through libfabric, and with ranks of two hosts, which are both this one, over TCP sockets. The long
# variant exchanges the two links.
#
# Not included are cma.sh and most of gone.sh, which test paths of one node; memory.sh, because each node manages its
# own memory; and ternrun.sh, whose counterpart is hosts.sh.
#
# timeout: 300
# labels: slow
# long: FAULT_LINK=tcp FAULT_HOSTS=ofi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
. "$(dirname "$0")/lib_far.sh"
"$BIN/tern-info" | grep -q '^ *ofi ' || skip "this build has no link between nodes"
AGENT=$(readlink -f "$(dirname "$0")/../agent")
LIMIT=60

# over WAY RANKS ARGUMENTS...: run a job in the given way; over_start: in the background.
command_of() {
    case $1 in
    ofi) CMD=("$RUN" -n "$2" -x TERN_LINKS="${FAULT_LINK:-ofi}") ;;
    hosts) CMD=("$RUN" --hosts "a:$((($2 + 1) / 2)),b:$(($2 / 2))" --agent "$AGENT"
        -x TERN_LINKS="shm,${FAULT_HOSTS:-tcp}") ;;
    esac
}
over() { command_of "$1" "$2" && job "${CMD[@]}" "${@:3}"; }
over_start() { command_of "$1" "$2" && job_start "${CMD[@]}" "${@:3}"; }

survive() { # WAY STATUS RANKS HOW...
    over "$1" "$3" --on-failure return "$PROG/survive_job" "${@:4}"
    check "$1: ${*:4}, $3 ranks: all survivors go on, rank 1 is named, status $2" \
        all_of "status_is $2" "survived $(($3 - 1))" 'err_has "^ternrun: rank 1 .*signal"' \
        'err_lacks survive_job.c:' 'err_count "^ternrun: rank" 1'
    check_clean "${*:4} at $3 ranks" quiet
}

RANDOM=${FAULT_SEED:-7}
for way in ofi hosts; do
    # ---- ranks that die: survive.sh ----
    for how in forms inlined waiting waitall gather alloc register; do survive $way 137 4 $how; done
    survive $way 137 2 forms
    survive $way 137 3 behind
    for ((i = 0; i < 2; i++)); do survive $way 142 $((3 + i % 2)) within $((1000 + RANDOM % 30000)); done

    # ---- ranks that are killed or stopped from outside ----
    unreachable "$way: ranks that are stopped" 2 4 "signal STOP 2 3" "signal CONT 2 3" over_start $way 4 # b is stopped
    dead "$way: a rank that is killed" 3 137 'signal KILL 3' over_start $way 4
    for ((i = 0; i < 3; i++)); do # at any moment: kill.sh
        over_start $way 4 "$PROG/kill_job" mix $((RANDOM + i))
        pid_of $((i % 4)) > /dev/null
        sleep "$(printf '0.%03d' $((RANDOM % 900)))"
        signal KILL $((i % 4))
        job_wait
        check "$way: rank $((i % 4)) is killed in a mix of everything: it is named, in one line" \
            all_of 'status_is 137' 'err_count "^ternrun: " 1' "err_has '^ternrun: rank $((i % 4)) .*signal 9'" \
            'err_lacks "(memcmp|all\[i\])"'
        check_clean "$way: a rank that is killed" quiet
    done

    # ---- active messages: am.sh ----
    over $way 3 "$PROG/am_job" unknown
    check "$way: an unknown handler: one line names both ranks and the id; the job fails" \
        all_of not_hung '[ "$STATUS" != 0 ]' 'err_count "^tern: rank 1.*handler 77.*rank 0" 1' 'err_lacks am_job.c:'
    for how in sender receiver; do
        over $way 4 -x TERN_AM_QUEUE=64K "$PROG/am_job" $how
        check "$way: killed $how: the job ends and names it" \
            all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks am_job.c:'
        over $way 4 -x TERN_AM_QUEUE=64K --on-failure return "$PROG/am_job" $how
        check "$way: killed $how: told to the others, which go on" \
            all_of 'status_is 137' 'survived 3' 'err_lacks am_job.c:'
    done
    over $way 2 -x TERN_STALL_REPORT=1 -x TERN_AM_QUEUE=64K "$PROG/am_job" prepared
    check "$way: a message prepared and never committed: the stall report says so; cancelled, all goes on" \
        all_of 'status_is 0' 'survived 2' 'err_has "^tern: rank 0: has waited [0-9]+ s: .*rank 1.*prepared.*never committed"'
    over $way 2 "$PROG/am_job" asleep
    check "$way: sleeping ranks are woken by messages" all_of 'status_is 0' 'survived 2'
    check_clean "$way: active messages" quiet

    # ---- waits: stall.sh ----
    for call in barrier alloc finalize; do
        over $way 3 -x TERN_STALL_REPORT=1 "$PROG/stall_job" late $call 2.5
        check "$way: a late rank in $call: the others say that they wait, and go on" \
            all_of 'status_is 0' 'err_has "^tern: rank 0: has waited [0-9]+ s: tern_"'
    done
    for call in init gather register finalize; do
        rm -f "$WORK"/gave-up.*
        over $way 3 -x TERN_TIMEOUT=2.5 --on-failure return "$PROG/stall_job" limit $call
        count=$(grep -c "^$call: timeout: .*rank 1 of 3" "$WORK/out")
        check "$way: TERN_TIMEOUT in $call: TERN_ERR_TIMEOUT that names the rank awaited" all_of not_hung "[ $count = 2 ]"
    done
    check_clean "$way: waits" quiet

    # ---- ranks that have left: gone.sh ----
    over $way 2 -x TERN_TIMEOUT=2.5 "$PROG/gone_job" left
    check "$way: a put to a rank that has left ends with TERN_ERR_PEER" all_of 'status_is 0' 'out_has "^held$"'
    check_clean "$way: a rank that has left" quiet
done

# ---- chaos.sh ----
for k in $(seq 1 5 31); do
    ternrun -n 3 -x TERN_LINKS="${FAULT_LINK:-ofi}" --on-failure return --chaos seed="$k",kill=$((k % 3))@"$k" "$PROG/chaos_job" 5
    check "chaos over the network, killed at operation $k: the others go on" \
        all_of 'status_is 137' 'survived 2' 'err_lacks chaos_job.c:'
done
for how in strict fence; do # without yields, which give the core to whatever else runs, because chaos counts polls
    ternrun -n 2 -x TERN_LINKS="${FAULT_LINK:-ofi}" -x TERN_YIELDS=0 --chaos seed=7 "$BIN/race" $how
    check "the race does not show over the network with $how" all_of 'status_is 0' 'out_has "in 0 of"'
done
check_clean "at the end"
check_memory_returned "at the end"
finish
