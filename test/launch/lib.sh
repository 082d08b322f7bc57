# lib.sh: what the tests of foreign launchers share, on top of what the fault tests do.
#
#     . "$(dirname "$0")/lib.sh"
#
# LAUNCHERS are those that are installed: openmpi and mpich, by the names that Debian gives them.

. "$(dirname "${BASH_SOURCE[0]}")/../fault/lib.sh"
TEST=$(cd "$PROG/.." && pwd)
export TMPDIR=$WORK # launchers leave directories behind when they are killed
LAUNCHERS=
command -v mpirun.openmpi > /dev/null && LAUNCHERS="openmpi"
command -v mpiexec.mpich > /dev/null && LAUNCHERS="$LAUNCHERS mpich"

need_launchers() { [ -n "$LAUNCHERS" ] || skip "neither Open MPI's mpirun.openmpi nor MPICH's mpiexec.mpich is here"; }

# command_of LAUNCHER RANKS [OPTION...]: the launcher's command, in CMD.
command_of() {
    local launcher=$1 ranks=$2
    shift 2
    case $launcher in
    openmpi) CMD=(mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$@") ;;
    mpich) CMD=(mpiexec.mpich -n "$ranks" "$@") ;;
    esac
}

# launch LAUNCHER RANKS COMMAND...: run it as a job of that many ranks. Once more where the launcher itself crashed:
# Open MPI's mpirun now and then does when a job fails (in pmix_server_finalize), which says nothing of the job.
launch() {
    command_of "$1" "$2"
    shift 2
    job "${CMD[@]}" "$@"
    for _ in 1 2 3; do
        launcher_crashed || break
        note "${CMD[0]} itself crashed: once more"
        job "${CMD[@]}" "$@"
    done
}

launcher_crashed() { [ "$STATUS" = 139 ] && err_has 'libopen-rte.*pmix_server_finalize'; }

# launcher_pid: the process of the launcher that job_start started.
launcher_pid() {
    local pid
    for pid in $(marked); do
        case $(cat "/proc/$pid/comm" 2> /dev/null) in mpirun* | mpiexec*) echo "$pid" && return ;; esac
    done
    return 1
}

out_count() { [ "$(grep -Ec -e "$1" "$WORK/out")" = "$2" ]; }
