# lib_far.sh: peers that are cut off, stopped or killed in the middle of transfers; sourced after lib.sh and
# lib_hosts.sh. The ranks check the promises themselves: far_job.c.
#
# The functions take the command that starts the job: a function of the script and its arguments, such as `far_start 2
# 3`, which starts far_job with further arguments by job_start.
FAR=$PROG/far_job

so_many() { [ "$(grep -c "^$1 " "$WORK/out")" -ge "$2" ]; } # ranks say it

# far_begin SURVIVORS START... -- ARGUMENTS: start the job and wait until transfers are outstanding.
far_begin() {
    local survivors=$1
    shift
    rm -f "$WORK/healed"
    "$@"
    await 40 so_many ready "$survivors"
}

# unreachable TEXT FIRST RANKS BREAK HEAL START...: BREAK and HEAL are commands. Between them the ranks from FIRST on
# cannot be reached.
unreachable() {
    local text=$1 first=$2 ranks=$3 break=$4 heal=$5
    shift 5
    far_begin "$first" "$@" "$FAR" timeout "$first"
    eval "$break"
    await 60 so_many told "$first"
    eval "$heal"
    touch "$WORK/healed"
    job_wait
    check "$text: operations on it end by their deadlines, all others go on, and all is well afterwards" \
        all_of 'status_is 0' "so_many told $first" "so_many survived $ranks" 'err_lacks far_job.c:'
    check_clean "$text" quiet
}

# dead TEXT FIRST STATUS KILL START...: KILL is a command that kills the ranks from FIRST on.
dead() {
    local text=$1 first=$2 status=$3 kill=$4
    shift 4
    far_begin "$first" "$@" --on-failure return "$FAR" peer "$first"
    eval "$kill"
    job_wait
    check "$text: TERN_ERR_PEER for operations on it, all others go on" \
        all_of "status_is $status" "so_many told $first" "so_many survived $first" 'err_lacks far_job.c:'
    check_clean "$text" quiet
    far_begin "$first" "$@" "$FAR" peer "$first"
    eval "$kill"
    job_wait
    check "$text: or the job ends, with one line" all_of "status_is $status" 'err_count "^ternrun: " 1' 'err_lacks far_job.c:'
    check_clean "$text, and with it the job" quiet
}

signal() { # SIGNAL RANK...
    local rank
    for rank in "${@:2}"; do kill "-$1" "$(pid_of "$rank")"; done
}
