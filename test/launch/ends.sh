# ends.sh: jobs of foreign launchers end after tern_abort, and after the death of a rank or of the launcher. They leave
# no process and no file behind.
#
# timeout: 300
# labels: slow
. "$(dirname "$0")/lib.sh"
need_launchers
LIMIT=120
ulimit -c 0

failed() { not_hung && [ "$STATUS" != 0 ]; }

# signal_launcher LAUNCHER SIGNAL: send the signal to the launcher when all ranks run.
signal_launcher() {
    command_of "$1" 3
    job_start "${CMD[@]}" "$TEST/fault/kill_job" mix 1
    for rank in 0 1 2; do pid_of $rank > /dev/null; done
    kill "-$2" "$(launcher_pid)"
    launcher_wait
}

# kill_rank LAUNCHER: kill rank 1 when all ranks have left tern_init. Open MPI's mpirun may hang when a rank dies during
# tern_init, with any program.
kill_rank() {
    command_of "$1" 3
    job_start "${CMD[@]}" "$TEST/fault/kill_job" mix 1
    for rank in 0 1 2; do await_file "$WORK/in.$rank"; done
    kill -9 "$(pid_of 1)"
    launcher_wait
}

for launcher in $LAUNCHERS; do
    launch "$launcher" 3 "$PROG/launch_job" end abort 7
    check "$launcher: tern_abort ends the job with its status and its text" \
        all_of 'status_is 7' 'err_count "tern: rank 1: ends the job: on purpose" 1' 'err_lacks launch_job.c:'
    launch "$launcher" 3 "$PROG/launch_job" early 5
    check "$launcher: and before tern_init" all_of 'status_is 5' 'err_has "tern: ends the job: on purpose"'
    launch "$launcher" 3 "$PROG/launch_job" end exit 0
    check "$launcher: a rank that exits without tern_finalize ends the job, as a failure" \
        all_of failed 'err_has "without tern_finalize|without calling .finalize"' 'err_lacks launch_job.c:'
    launch "$launcher" 3 "$PROG/launch_job" end _exit 0
    check "$launcher: and so does _exit(0), which mpiexec alone takes for a success" \
        all_of failed 'err_has "without tern_finalize|without calling .finalize"' 'err_lacks launch_job.c:'
    launch "$launcher" 3 "$PROG/launch_job" end exit 3
    check "$launcher: a rank that exits with a status ends the job" all_of failed 'err_lacks launch_job.c:'
    for signal in 9 11; do
        launch "$launcher" 3 "$PROG/launch_job" end signal $signal
        check "$launcher: a rank that dies of signal $signal ends the job" all_of failed 'err_lacks launch_job.c:'
    done
    launch "$launcher" 3 "$PROG/launch_job" left 0
    check "$launcher: a rank that has left may go before the others" all_of 'status_is 0' 'out_count "^after" 2'
    check_clean "$launcher: jobs that end by themselves"

    for signal in KILL TERM INT; do
        attempts signal_launcher "$launcher" $signal
        ends=failed
        case "$launcher $signal" in # the status of mpiexec may then be 0, with any program
        "mpich INT" | "mpich TERM") ends=not_hung ;;
        esac
        check "$launcher: the launcher gets SIG$signal: the job ends" $ends
        check_clean "$launcher: SIG$signal to the launcher"
    done

    attempts kill_rank "$launcher"
    check "$launcher: a rank is killed from outside: the job ends" failed
    check_clean "$launcher: a rank is killed"
done
check_memory_returned "at the end"
finish
