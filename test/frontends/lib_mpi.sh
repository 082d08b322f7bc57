# lib_mpi.sh: functions of the tests that run front ends under the launchers of the MPIs.
. "$(dirname "${BASH_SOURCE[0]}")/../launch/lib.sh"

# runs NAME LAUNCHER RANKS PROGRAM [VARIABLE=VALUE...]: the program succeeds.
runs() {
    local name=$1 launcher=$2 ranks=$3 program=$4
    shift 4
    launch "$launcher" "$ranks" env "$@" "$program"
    check "$name, $launcher, $ranks ranks" status_is 0
}
