# lib_mpi.sh: functions of the tests that run front ends under the launchers of the MPIs.
. "$(dirname "${BASH_SOURCE[0]}")/../launch/lib.sh"

# runs NAME LAUNCHER RANKS PROGRAM [VARIABLE=VALUE...]: the program succeeds.
runs() {
    local name=$1 launcher=$2 ranks=$3 program=$4
    shift 4
    launch "$launcher" "$ranks" env "$@" "$program"
    check "$name, $launcher, $ranks ranks" status_is 0
}

# launch_on_two_nodes LAUNCHER RANKS PROGRAM [ARGUMENT...]: run the program as a job with half of the ranks on each of
# two nodes, which are both this machine. The first node has one more rank if the number is odd.
launch_on_two_nodes() {
    local launcher=$1 ranks=$2
    shift 2
    command_of "$launcher" $(((ranks + 1) / 2))
    case $launcher in
    openmpi) CMD+=(-x TERN_NODE=a "$@" : -n $((ranks / 2)) -x TERN_NODE=b "$@") ;;
    mpich) CMD+=(-env TERN_NODE a "$@" : -n $((ranks / 2)) -env TERN_NODE b "$@") ;;
    esac
    launched "${CMD[@]}"
}

# on_two_nodes NAME LAUNCHER RANKS PROGRAM [ARGUMENT...]: the program succeeds with half of the ranks on each of two
# nodes.
on_two_nodes() {
    local name=$1 launcher=$2 ranks=$3
    shift 3
    launch_on_two_nodes "$launcher" "$ranks" "$@"
    check "$name, $launcher, $ranks ranks on two nodes" status_is 0
}
