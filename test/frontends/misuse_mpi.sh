# misuse_mpi.sh: misuse of ARMCI, and a killed rank, end jobs under the launchers of Open MPI and MPICH, and nothing is
# left behind. The launcher ends the job if it sees that a rank has died, and names the signal. If the launcher leaves
# the other ranks alone, Tern ends the job with a line that names the rank.
#
# builds: release debug
# timeout: 400
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=60
any=

failed() { not_hung && [ "$STATUS" != 0 ]; }

# The launcher says that a rank was killed. mpirun names the rank.
says_killed() { err_has 'process rank 2 .* exited on signal 9' || out_has 'EXIT STRING: Killed .signal 9'; }

# dies NAME LAUNCHER: the job in which the last of three ranks was killed fails, and the launcher says why.
dies() {
    check "$2: a killed rank, the others wait: $1" all_of failed says_killed
    check_clean "$2, $1" quiet
}

# told_by_tern NAME COMMAND...: Tern ends a job whose launcher does not end it. The status is that of the launcher.
told_by_tern() {
    local name=$1
    shift
    launched "$@"
    check "$name: Tern ends the job" all_of not_hung \
        "err_has 'rank [01]: rank 2 .pid [0-9]*. ended without tern_finalize; ending the job'"
    check_clean "$name" quiet
}

for launcher in $LAUNCHERS; do
    program=$PROG/misuse_armci-$launcher
    [ -x "$program" ] || continue
    any=yes
    launch "$launcher" 2 "$program" put_end
    check "$launcher: a put beyond the end" all_of failed "err_has 'rank 0: ends the job: ARMCI_Put: 64 bytes at 0x'"
    on_nodes='rank 0: ends the job: ARMCI_Put: .* 64 bytes at offset 32'
    launch_on_two_nodes "$launcher" 2 "$program" put_end
    check "$launcher: a put beyond the end on another node" all_of failed "err_has '$on_nodes'"
    launch "$launcher" 2 "$program" error
    check "$launcher: ARMCI_Error" all_of failed "err_has 'rank 0: ends the job: ARMCI_Error: the program gives up'"
    for how in barrier lock receive notify gop flag; do
        launch "$launcher" 3 "$program" "die_$how"
        dies "$how" "$launcher"
    done
    for how in lock receive gop; do
        launch "$launcher" 3 env TERN_LINKS=ofi "$program" "die_$how"
        dies "$how over the network" "$launcher"
    done
    for how in barrier notify flag; do
        launch_on_two_nodes "$launcher" 3 "$program" "die_$how"
        dies "$how on two nodes" "$launcher"
    done
    launch "$launcher" 3 "$program" die_exit
    check "$launcher: a rank that exits too early ends the job" all_of failed \
        "err_has 'ended without tern_finalize|without calling .finalize'"
    if [ "$launcher" = openmpi ]; then
        command_of openmpi 3 --enable-recovery
        told_by_tern "a killed rank that mpirun ignores" "${CMD[@]}" "$program" die_lock
        told_by_tern "the same over the network" "${CMD[@]}" env TERN_LINKS=ofi "$program" die_flag
    fi
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
