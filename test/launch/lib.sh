# lib.sh: functions shared by the tests of foreign launchers, in addition to those of the fault tests.
#
#     . "$(dirname "$0")/lib.sh"
#
# LAUNCHERS lists the installed launchers: openmpi and mpich, which Debian installs as mpirun.openmpi and mpiexec.mpich.
#
# If this file is run as a script, it tests its own functions.
#
# labels: slow

. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib.sh"
TEST=$(cd "$PROG/.." && pwd)
export TMPDIR=$WORK # launchers leave directories behind when they are killed
LAUNCHERS=
command -v mpirun.openmpi > /dev/null && LAUNCHERS="openmpi"
command -v mpiexec.mpich > /dev/null && LAUNCHERS="$LAUNCHERS mpich"

need_launchers() { [ -n "$LAUNCHERS" ] || skip "neither mpirun.openmpi nor mpiexec.mpich is installed"; }

# command_of LAUNCHER RANKS [OPTION...]: set CMD to the launcher's command. The ranks use less processor time than they
# do without preload/mpi_light.c, unless MPI_PLAIN is set.
command_of() {
    local launcher=$1 ranks=$2 light=$TEST/preload/mpi_light.so
    shift 2
    CMD=()
    [ -n "${MPI_PLAIN:-}" ] || [ ! -e "$light" ] || CMD+=(env LD_PRELOAD="$light")
    case $launcher in
    openmpi) CMD+=(mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$@") ;;
    mpich) CMD+=(mpiexec.mpich -n "$ranks" "$@") ;;
    esac
}

# launch LAUNCHER RANKS COMMAND...: run the command as a job with that many ranks.
launch() {
    command_of "$1" "$2"
    shift 2
    launched "${CMD[@]}" "$@"
}

# launched COMMAND...: like job, for the complete command of a launcher.
launched() { attempts launcher_run "$@"; }

launcher_run() {
    job_start "$@"
    launcher_wait
}

# attempts COMMAND...: call COMMAND, which starts a job with job_start and waits for it with launcher_wait. If the
# launcher itself failed, call COMMAND again, up to 8 times.
#
# When a job fails, Open MPI's mpirun sometimes crashes or hangs in pmix_server_finalize, which it calls after all
# ranks have ended. It does so with any program that calls PMIx_Abort. Such an attempt shows neither the status nor
# the output of the job. It is recognized by what only the launcher does: the launcher prints a stack trace of itself,
# or it keeps running although all of its child processes have ended. MPICH's mpiexec sometimes dies of SIGPIPE when a
# rank ends the job while the others start, also with any program. A program of Open MPI that another launcher starts
# begins a daemon of Open MPI for itself, and such daemons, if several begin at the same time, sometimes fail. A rank
# that does not end is a hang of the job and is not tried again. A launcher that fails in every attempt counts as
# hung, so that no check of this job passes.
attempts() {
    local left
    for left in 7 6 5 4 3 2 1 0; do
        "$@"
        launcher_failed || return 0
        note "the launcher failed after all ranks had ended; attempts left: $left"
    done
    HUNG=1
}

launcher_failed() { [ "$LAUNCHER_HUNG" = 1 ] || launcher_crashed; }

launcher_crashed() {
    [ "$STATUS" = 141 ] || { [ "$STATUS" = 139 ] && err_has 'libopen-rte.*pmix_server_finalize'; } ||
        { [ "$STATUS" != 0 ] && err_has 'Unable to start a daemon on the local node'; }
}

# launcher_wait: like job_wait, but also end a launcher that hangs. A launcher hangs if it has no living child processes
# for PATIENCE seconds. Sets LAUNCHER_HUNG.
PATIENCE=10
launcher_wait() {
    local launcher ended=0
    LAUNCHER_HUNG=0
    while kill -0 "$JOB" 2> /dev/null; do
        find_children "$JOB"
        launcher=${CHILDREN[0]:-}
        [ -z "$launcher" ] || find_children "$launcher"
        if [ -n "$launcher" ] && [ ${#CHILDREN[@]} = 0 ]; then ended=$((ended + 1)); else ended=0; fi
        if [ $ended = $((10 * PATIENCE)) ]; then
            LAUNCHER_HUNG=1
            kill -9 "$launcher"
        fi
        sleep 0.1
    done
    job_wait
}

# find_children PID: set CHILDREN to the children of the process that are not zombies. Usually starts no process itself,
# because tests call it all the time while they wait.
find_children() {
    local thread child children=() more stat
    CHILDREN=()
    if [ -e /proc/$$/task/$$/children ]; then
        for thread in /proc/"$1"/task/*; do
            more=()
            { read -r -a more < "$thread/children"; } 2> /dev/null
            children+=("${more[@]}")
        done
    else # the system was built without these lists
        mapfile -t children < <(ps -o pid= --ppid "$1" | tr -d ' ')
    fi
    for child in "${children[@]}"; do
        { read -r stat < "/proc/$child/stat"; } 2> /dev/null || continue
        [[ $stat = *') Z '* ]] || CHILDREN+=("$child")
    done
}

# launcher_pid: print the process of the launcher that job_start started, which is the only child of timeout.
launcher_pid() {
    find_children "$JOB"
    echo "${CHILDREN[0]:-}"
}

out_count() { [ "$(grep -Ec -e "$1" "$WORK/out")" = "$2" ]; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    # Shell scripts take the place of the launchers.
    cat > "$WORK/launcher" << 'END'
#!/bin/bash
# launcher COUNT HOW: fail in the first COUNT calls: hang or crash after the only rank has ended. Later exit with 7.
echo call >> "$FAULT_DIR/calls"
[ "$(wc -l < "$FAULT_DIR/calls")" -gt "$1" ] && exit 7
case $2 in
hang) sleep 0 & exec sleep 100 ;;
childless) exec sleep 100 ;;
crash) echo 'libopen-rte.so(pmix_server_finalize+0xa0)' >&2; kill -SEGV $$ ;;
daemon) echo '--> Returned "Unable to start a daemon on the local node" (-127)' >&2; exit 9 ;;
stuck) sleep 100 & exec sleep 100 ;;
esac
END
    chmod +x "$WORK/launcher"
    ulimit -c 0
    PATIENCE=1
    launched "$WORK/launcher" 1 hang
    check "a launcher that hangs after its ranks is called again" all_of 'status_is 7' '[ $(wc -l < $WORK/calls) = 2 ]'
    : > "$WORK/calls"
    launched "$WORK/launcher" 1 childless
    check "a launcher that hangs without children is called again" all_of 'status_is 7' '[ $(wc -l < $WORK/calls) = 2 ]'
    : > "$WORK/calls"
    launched "$WORK/launcher" 2 crash
    check "a launcher that crashes is called again" all_of 'status_is 7' '[ $(wc -l < $WORK/calls) = 3 ]'
    : > "$WORK/calls"
    launched "$WORK/launcher" 1 daemon
    check "a launcher whose MPI cannot begin a daemon is called again" \
        all_of 'status_is 7' '[ $(wc -l < $WORK/calls) = 2 ]'
    : > "$WORK/calls"
    launched "$WORK/launcher" 100 crash
    check "a launcher that always crashes fails" all_of '! not_hung' '[ $(wc -l < $WORK/calls) = 8 ]'
    : > "$WORK/calls"
    LIMIT=4
    launched "$WORK/launcher" 1 stuck
    check "a job whose ranks hang is not tried again" all_of '! not_hung' '[ $(wc -l < $WORK/calls) = 1 ]'
    check_clean "after all launchers" quiet
    finish
fi
