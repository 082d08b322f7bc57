# kill.sh: promise: whichever process is killed, at whatever moment, the job ends, prints the reason in one line, and
# leaves nothing behind.
#
# The other ranks learn which rank died, and ternrun keeps its promises about the end of a job. The moments of the kills
# follow from FAULT_SEED, which is printed; FAULT_KILLS is the number of kills for each number of ranks. The default
# kills every rank and ternrun at least once; scripts/soak kills at random moments as well.
#
# timeout: 300
# labels: slow
# long: FAULT_KILLS=32
. "$(dirname "$0")/lib.sh"

SEED=${FAULT_SEED:-$(date +%s)}
KILLS=${FAULT_KILLS:-12}
RANDOM=$SEED
LIMIT=30
note "FAULT_SEED=$SEED"

named() { err_has "^ternrun: rank $1 .*$2"; }
one_line() { [ "$(grep '^ternrun: ' "$WORK/err" | grep -vc '^ternrun: no core file of rank ')" = 1 ]; }

pid_known() { [ -s "$WORK/pid.$1" ]; }
job_over() { ! kill -0 "$JOB" 2> /dev/null; }

# Wait a random moment of up to $1 milliseconds.
moment() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }

# Run one job of $1 ranks, of which $2 (a rank, or "ternrun") is killed at a random moment. Prints nothing if all is
# well.
kill_once() {
    local ranks=$1 victim=$2 cma=$3 number=$4 pid want=137 text
    text="$ranks ranks, kill $number: SIGKILL of $([ "$victim" = ternrun ] || echo rank) $victim, TERN_CMA=$cma"
    job_start "$BIN/ternrun" -n "$ranks" -x TERN_CMA="$cma" -x TERN_TEST="${TERN_TEST:+$TERN_TEST,}apart=$((number % 3))" \
        "$PROG/kill_job" mix $((SEED + number))
    if [ "$victim" = ternrun ]; then pid=$(parent_of 0); else pid=$(pid_of "$victim"); fi
    moment 250
    kill -9 "$pid" || fail "$text: no such process"
    job_wait
    not_hung || fail "$text: the job hangs"
    [ "$STATUS" = "$want" ] || fail "$text: status $want"
    if [ "$victim" != ternrun ]; then
        named "$victim" "signal 9|SIGKILL|Killed" || fail "$text: the rank is named"
        one_line || fail "$text: in one line"
    fi
    err_lacks 'kill_job\.c:.*(memcmp|all\[i\])' || fail "$text: no wrong data"
    check_clean "$text" quiet
}

for ranks in 2 4 8; do
    before=$FAILED
    for ((i = 0; i < KILLS; i++)); do
        victim=$((i % (ranks + 1)))
        [ "$victim" = "$ranks" ] && victim=ternrun
        kill_once "$ranks" "$victim" "$([ $((RANDOM % 2)) = 0 ] && echo auto || echo off)" "$i"
    done
    [ "$FAILED" = "$before" ] && pass "$ranks ranks: $KILLS kills in random moments of a mix of everything"
done
check_memory_returned "after all kills"

# Kills while some ranks are in tern_init or tern_finalize and one has not arrived.
tarry() { # MODE VICTIM WHERE: rank 1 tarries before the call, and the victim is killed
    job_start "$BIN/ternrun" -n 3 "$PROG/kill_job" "$1" 1
    for rank in 0 1 2; do pid_of $rank > /dev/null; done
    moment 300
    kill -9 "$(pid_of "$2")"
    job_wait
    check "killed $3: the job ends and names the rank" \
        all_of 'status_is 137' "named $2 'signal 9|SIGKILL|Killed'" one_line
}
for mode in join leave; do
    tarry $mode 1 "before tern_$mode, the others in it"
    tarry $mode 0 "inside tern_$mode"
    check_clean "killed around tern_$mode"
done

# Short jobs, killed while they join, work or leave.
before=$FAILED
for ((i = 0; i < 12; i++)); do
    job_start "$BIN/ternrun" -n 4 "$PROG/kill_job" cycle $((SEED + i))
    pid=$(pid_of $((i % 4)))
    moment 60
    kill -9 "$pid" 2> /dev/null
    job_wait
    if ! { status_is 0 || { status_is 137 && named $((i % 4)) . && one_line; }; }; then
        fail "short job $i, rank $((i % 4)) killed: status 0 when it was over, else 137 and the rank's name"
    fi
    check_clean "short job $i" quiet
done
[ "$FAILED" = "$before" ] && pass "12 short jobs, each with a rank killed on its way from tern_init to tern_finalize"

# Ranks that end by themselves.
end_checks() { # HOW STATUS PATTERN
    ternrun -n 3 "$PROG/kill_job" end "$1" 2
    check "a rank that ends by $1: status $2, one line that names it" \
        all_of "status_is $2" "named 2 '$3'" one_line "err_has ' pid [0-9]+|pid[ =][0-9]+'"
}
ulimit -c 0
end_checks segv 139 'signal 11|SIGSEGV|Segmentation'
end_checks abort 134 'signal 6|SIGABRT|Abort'
end_checks fpe 136 'signal 8|SIGFPE|Floating'
end_checks term 143 'signal 15|SIGTERM|Terminated'
end_checks exit3 3 'status 3'
end_checks exit0 1 'tern_finalize'
check_clean "ranks that end by themselves"

# Releasing the dead rank's memory takes long, so that others learn of the death from the kernel first, and exit: they
# must not be blamed. Chaos starts puts late, so that their events report the failure.
for chaos in seed=1,delay=0,reorder=0 seed=1 seed=2; do
    ternrun -n 3 -x TERN_ON_FAILURE=abort -x TERN_CHAOS=again=0,stall=0,$chaos "$PROG/kill_job" heavy 1
    check "rank 1 dies slowly and the others fail because of it: rank 1 is named ($chaos)" \
        all_of 'status_is 137' 'named 1 "signal 9|SIGKILL|Killed"' one_line
done

# A stopped rank, and a time limit.
job_start "$BIN/ternrun" -n 2 --timeout 2 --grace 1 "$PROG/kill_job" mix "$SEED"
kill -STOP "$(pid_of 1)"
job_wait
check "a rank stopped by SIGSTOP under --timeout: status 124 and a line" all_of 'status_is 124' 'err_has "^ternrun: "'
check_clean "a stopped rank"
check_memory_returned "at the end"
finish
