# armci_mpi.sh: the tests of the ARMCI front end, built for Open MPI and for MPICH, under their launchers: through
# shared memory, over the network, on two nodes (which are both this machine), under chaos, and with a domain for each
# rank. ARMCI_ALL runs all numbers of ranks, and also libfabric between the nodes.
#
# builds: release debug
# timeout: 600
# long: ARMCI_ALL=1 MPI_PLAIN=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=120
any=
level='ARMCI_Init_thread: the level MPI_THREAD_FUNNELED is not available: MPI was initialized with MPI_THREAD_SINGLE; '

for launcher in $LAUNCHERS; do
    for test in transfer atomic group shapes mixed memget profile names threads; do
        program=$PROG/armci_$test-$launcher
        [ -x "$program" ] || continue
        any=yes
        for ranks in ${ARMCI_ALL:+1 2 4 8} 3; do
            runs "$test" "$launcher" "$ranks" "$program" A=1
            runs "$test over the network" "$launcher" "$ranks" "$program" TERN_LINKS=ofi
            [ "$ranks" = 1 ] || on_two_nodes "$test" "$launcher" "$ranks" "$program"
            [ -n "${ARMCI_ALL:-}" ] || continue
            runs "$test, chaos" "$launcher" "$ranks" "$program" TERN_CHAOS=seed=5
            [ "$ranks" = 1 ] ||
                on_two_nodes "$test over libfabric" "$launcher" "$ranks" env TERN_LINKS=shm,ofi "$program"
        done
    done
    if [ -x "$PROG/mpi_armci-$launcher" ]; then
        for links in shm ofi; do
            runs "MPI beside ARMCI, $links" "$launcher" 3 "$PROG/mpi_armci-$launcher" TERN_LINKS=$links
        done
        on_two_nodes "MPI beside ARMCI" "$launcher" 3 "$PROG/mpi_armci-$launcher"
        for how in armci messages taken late never serialized funneled multiple; do
            launch "$launcher" 2 "$PROG/mpi_armci-$launcher" $how
            check "MPI beside ARMCI, $how, $launcher" status_is 0
        done
        launch "$launcher" 2 "$PROG/mpi_armci-$launcher" single
        check "a level that MPI does not provide, $launcher" all_of 'status_is 0' "err_has '$level'"
    fi
    program=$PROG/armci_group-$launcher
    if [ -x "$program" ]; then
        runs "a domain for each rank" "$launcher" 4 "$program" TERN_ARMCI_DOMAIN=rank
        on_two_nodes "a domain for each rank" "$launcher" 3 env TERN_ARMCI_DOMAIN=rank "$program"
    fi
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI is installed"
finish
