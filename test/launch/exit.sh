# exit.sh: tern_exit ends jobs of Open MPI's mpirun and MPICH's mpiexec quietly, with any status (../fault/exit_job.c).
# tern_init is counted and refused after the last tern_finalize, alike with each launcher.
#
# timeout: 300
. "$(dirname "$0")/lib.sh"
need_launchers
LIMIT=60
JOB_PROG=$TEST/fault/exit_job

quietly() { not_hung && [ ! -s "$WORK/err" ] && ! out_has 'atexit|goes on'; }
# ends CODE RANKS: the last job has ended quietly with the code, and these ranks have written their output.
ends() {
    local rank
    status_is "$1" && quietly || return 1
    for rank in $2; do out_has "^here $rank\$" || return 1; done
}

for launcher in $LAUNCHERS; do
    for code in 0 7; do
        for others in barrier asleep finalize; do
            launch "$launcher" 3 "$JOB_PROG" main 1 $code $others
            check "$launcher: tern_exit($code) while the others are in $others" ends $code "0 1 2"
        done
        launch "$launcher" 3 "$JOB_PROG" main 1 $code compute
        check "$launcher: tern_exit($code) while the others compute" ends $code 1
        launch "$launcher" 3 "$JOB_PROG" late 1 $code
        check "$launcher: tern_exit($code) after tern_finalize" ends $code 1
    done
    for how in handler thread hook leaving; do
        launch "$launcher" 3 "$JOB_PROG" $how 1 0 barrier
        check "$launcher: tern_exit in $how" ends 0 "0 1 2"
    done
    launch "$launcher" 3 "$JOB_PROG" main all 20 barrier
    check "$launcher: all ranks call tern_exit at once" all_of '[ $STATUS -ge 20 ] && [ $STATUS -lt 23 ]' quietly
    launch "$launcher" 1 "$JOB_PROG" main 0 5
    check "$launcher: one rank" ends 5 0
    launch "$launcher" 3 "$PROG/launch_job" again
    check "$launcher: tern_init is counted, and is refused after the last tern_finalize" \
        all_of 'status_is 0' "out_count '^again: tern_init: .*a process joins a job once' 3"
    check_clean "$launcher"
done
for how in "$BIN/ternrun -n 3" "$BIN/ternrun -n 1" ""; do
    # shellcheck disable=SC2086 # several words
    job $how "$PROG/launch_job" again
    check "${how:-no launcher}: the same" all_of 'status_is 0' "out_has '^again: tern_init: .*a process joins a job once'"
done
if [[ $LAUNCHERS = *openmpi* ]]; then
    command_of openmpi 3 --enable-recovery
    launched env TERN_ON_FAILURE=return "${CMD[@]}" "$JOB_PROG" main 1 0 compute
    check "openmpi: TERN_ON_FAILURE=return, while the others compute" ends 0 1
fi
if [[ $LAUNCHERS = *mpich* ]] && "$BIN/tern-info" | grep -q '^ *ofi '; then
    for who in 0 1 2; do
        for others in barrier compute; do
            launched mpiexec.mpich -n 1 env TERN_NODE=a "$JOB_PROG" main $who 0 $others : \
                -n 2 env TERN_NODE=b "$JOB_PROG" main $who 0 $others
            check "mpich: two nodes, rank $who, while the others are in $others" ends 0 $who
        done
    done
fi
check_clean "at the end"
check_memory_returned "at the end"
finish
