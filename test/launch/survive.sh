# survive.sh: with TERN_ON_FAILURE=return, ranks detect the death of another rank and continue, without ternrun.
#
# The checks are in fault/survive_job.c. With --enable-recovery, Open MPI's launcher does not end the other ranks.
# MPICH's launcher ends every job in which a process dies.
#
# timeout: 300
# labels: slow
. "$(dirname "$0")/lib.sh"
command -v mpirun.openmpi > /dev/null || skip "Open MPI's mpirun.openmpi is not here"
LIMIT=120

survived() { [ "$(sort -u "$WORK/out" | grep -c '^survived ')" = "$1" ]; }

run() { # RANKS CMA ARGUMENTS...
    local ranks=$1 cma=$2
    shift 2
    command_of openmpi "$ranks" --enable-recovery
    launched env TERN_ON_FAILURE=return TERN_CMA="$cma" "${CMD[@]}" "$TEST/fault/survive_job" "$@"
    check "$*, $ranks ranks, TERN_CMA=$cma: all survivors go on" \
        all_of not_hung "survived $((ranks - 1))" 'err_lacks survive_job.c:'
    check_clean "$* at $ranks ranks" quiet
}

for cma in auto off; do
    for how in forms inlined waiting waitall gather alloc register; do run 4 $cma $how; done
    run 2 $cma forms
    run 3 $cma behind
done
run 3 off bounced
RANDOM=${FAULT_SEED:-7}
for ((i = 0; i < 6; i++)); do run 4 auto within $((1000 + RANDOM % 30000)); done
check_clean "at the end"
check_memory_returned "at the end"
finish
