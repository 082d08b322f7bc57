# misuse_mpi.sh: misuse of ARMCI, and a killed rank, end jobs under the launchers of Open MPI and MPICH, and nothing is
# left behind.
#
# builds: release debug
# timeout: 300
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=60
any=

failed() { not_hung && [ "$STATUS" != 0 ]; }

for launcher in $LAUNCHERS; do
    program=$PROG/misuse_armci-$launcher
    [ -x "$program" ] || continue
    any=yes
    launch "$launcher" 2 "$program" put_end
    check "$launcher: a put beyond the end" all_of failed "err_has 'rank 0: ends the job: ARMCI_Put: 64 bytes at 0x'"
    launch "$launcher" 2 "$program" error
    check "$launcher: ARMCI_Error" all_of failed "err_has 'rank 0: ends the job: ARMCI_Error: the program gives up'"
    for how in barrier lock receive notify gop flag; do
        launch "$launcher" 3 "$program" "die_$how"
        check "$launcher: a killed rank, the others wait: $how" failed
        check_clean "$launcher, $how" quiet
    done
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
