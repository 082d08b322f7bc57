# exit.sh: tern_exit ends the whole job quietly, with any status (exit_job.c).
#
# Promise: the status of ternrun is the lowest byte of the code, also 0; nothing is printed; the output of the caller
# and of ranks that wait in Tern is complete; functions registered with atexit are not called; no process and no memory
# is left. This holds for calls of the main thread, of other threads, of handlers and of idle hooks, before tern_init,
# during and after tern_finalize, while other ranks wait, sleep, compute, leave or have died, on one and several hosts.
#
# timeout: 240
. "$(dirname "$0")/lib.sh"
LIMIT=60
JOB_PROG=$PROG/exit_job

quietly() { not_hung && [ ! -s "$WORK/err" ] && ! out_has 'atexit|goes on'; }

# ends CODE RANKS: the last job has ended quietly with the code, and these ranks have written their output.
ends() {
    local rank
    status_is "$1" && quietly || return 1
    for rank in $2; do out_has "^here $rank\$" || return 1; done
}

for code in 0 7 300; do
    for others in barrier asleep finalize; do
        ternrun -n 3 "$JOB_PROG" main 1 $code $others
        check "tern_exit($code) while the others are in $others" ends $((code & 255)) "0 1 2"
    done
done
for code in 0 9; do
    ternrun -n 3 "$JOB_PROG" main 2 $code compute
    check "tern_exit($code) while the others compute" ends $code 2
done
for how in handler thread hook leaving locked; do
    for ranks in 1 4; do
        [ $how$ranks != leaving1 ] || continue # tern_finalize waits for nobody
        ternrun -n $ranks "$JOB_PROG" $how 0 5 asleep
        check "tern_exit in $how, $ranks ranks" ends 5 0
    done
done
for how in early late; do
    for code in 0 6; do
        ternrun -n 3 "$JOB_PROG" $how 1 $code barrier
        check "tern_exit($code) outside the job: $how" ends $code 1
    done
done
rm -f "$WORK"/in.*
ternrun --grace 2 -n 3 "$JOB_PROG" early 1 6 deaf
check "tern_exit(6) outside the job: the others call tern_init later, and ignore SIGTERM" ends 6 "0 1 2"
for ranks in 2 8; do
    ternrun -n $ranks "$JOB_PROG" main all 20 barrier
    check "$ranks ranks call tern_exit at once" all_of '[ $STATUS -ge 20 ] && [ $STATUS -lt $((20 + ranks)) ]' \
        quietly "[ \$(grep -c ^here \$WORK/out) = $ranks ]"
done
ternrun -n 2 "$JOB_PROG" child 1 5
check "a child that fork created ends only itself" all_of 'status_is 0' 'out_has "^child 5$"' 'err_lacks .'
ternrun -n 4 --on-failure return "$JOB_PROG" main 0 0 dead
check "tern_exit(0) after a death" all_of 'status_is 0' 'err_count . 1' 'err_has "rank 3 .*the others go on"'
ternrun -n 3 --on-failure return "$JOB_PROG" main 0 8 barrier
check "TERN_ON_FAILURE=return has no effect on it" ends 8 "0 1 2"
job env -u TERN_BOOT "$JOB_PROG" main -1 4
check "without a launcher" ends 4 -1
job env TERN_CHAOS=seed=3 "$BIN/ternrun" -n 3 "$JOB_PROG" handler 1 3 barrier
check "under chaos" all_of 'status_is 3' 'out_has "^here 1$"'
check_clean "one host"

if "$BIN/tern-info" | grep -q '^ *ofi '; then
    agent=$(dirname "$0")/../agent
    job env TERN_LINKS=ofi "$BIN/ternrun" -n 3 "$JOB_PROG" main 1 0 asleep
    check "over the network" ends 0 "0 1 2"
    for code in 0 7; do
        for who in 0 2; do
            ternrun --hosts a:2,b:1 --agent "$agent" "$JOB_PROG" main $who $code barrier
            check "two hosts: tern_exit($code) by rank $who" ends $code "0 1 2"
        done
        ternrun --hosts a:2,b:1 --agent "$agent" "$JOB_PROG" main 2 $code compute
        check "two hosts: tern_exit($code) while the others compute" ends $code 2
    done
    ternrun --hosts a:2,b:2 --agent "$agent" "$JOB_PROG" main all 30 barrier
    check "two hosts: all ranks at once" all_of '[ $STATUS -ge 30 ] && [ $STATUS -lt 34 ]' quietly
    ternrun --hosts a:2,b:2 --agent "$agent" "$JOB_PROG" early 3 6 barrier
    check "two hosts: before tern_init" status_is 6 # libfabric handles SIGTERM by exit() while it is initialized
    check_clean "two hosts"
fi
check_memory_returned "at the end"
finish
