# many.sh: jobs with many ranks, on one node and over the network, start, meet and end; and nothing is left when such a
# job is killed while it starts.
#
# No time is measured: docs/launchers.md has the commands that measure how long a start takes.
#
# timeout: 300
# labels: slow
. "$(dirname "$0")/lib.sh"
LIMIT=200

# rings RANKS COMMAND...: the job has so many ranks, and all of them agree.
rings() {
    local ranks=$1
    shift
    job "$@" "$BIN/ternrun" -n "$ranks" "$PROG/launch_job" ring
    check "$ranks ranks${2:+ with $2}" \
        all_of 'status_is 0' "out_count '^ring [0-9]+ of $ranks on 1 ' $ranks" 'err_lacks .'
}

for ranks in 1 2 3 7 64 512; do
    rings $ranks env
done
rings 64 env TERN_LINKS=ofi TERN_STALL_REPORT=0
check_clean "jobs that end by themselves"

# killed SIGNAL DELAY: the signal reaches ternrun while it starts 512 ranks. Ranks write pid.RANK before tern_init.
killed() {
    job_start "$BIN/ternrun" --grace 1 -n 512 "$PROG/launch_job" stay
    await_file "$WORK/pid.$2"
    kill "-$1" "$(launcher_pid)"
    job_wait
    check "SIG$1 to ternrun when rank $2 of 512 has started: the job ends" not_hung
    check_clean "SIG$1 when rank $2 had started"
}

killed KILL 300
killed TERM 40
killed INT 511
check_memory_returned "at the end"
finish
