# slurm.sh: jobs of srun, with a Slurm controller and two Slurm daemons that scripts/try-slurm starts on this machine.
#
# The jobs use PMIx and PMI-1, which is a part of Slurm's pmi2. With PMIx, Slurm ends a job in which a rank dies. With
# pmi2, Slurm does not, and Tern must end the job.
#
# timeout: 300
# labels: slow
if [ -z "${TRY_SLURM:-}" ]; then
    TRY_SLURM=yes exec "$(dirname "$0")/../../scripts/try-slurm" salloc -Q -N2 -n32 bash "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
LIMIT=120
ulimit -c 0

failed() { not_hung && [ "$STATUS" != 0 ]; }

# step MPI RANKS COMMAND...: run a job step on both daemons.
step() {
    local mpi=$1 ranks=$2
    shift 2
    job srun --mpi="$mpi" -N2 -n "$ranks" "$@"
}

for mpi in pmix pmi2; do
    for ranks in 2 5; do
        step $mpi $ranks "$PROG/launch_job" ring
        check "$mpi: $ranks ranks find each other" all_of 'status_is 0' "out_count '^ring [0-9]+ of $ranks ' $ranks"
    done
    for name in transfer sync am_kinds events threads; do
        step $mpi 4 "$TEST/api/$name"
        check "$mpi: api/$name with 4 ranks" status_is 0
    done
    step $mpi 3 "$PROG/launch_job" end abort 7
    check "$mpi: tern_abort ends the job" all_of failed 'err_count "rank 1: ends the job: on purpose" 1' 'err_lacks launch_job.c:'
    for how in 'exit 0' 'exit 3' 'signal 9'; do
        # shellcheck disable=SC2086 # two words
        step $mpi 3 "$PROG/launch_job" end $how
        check "$mpi: a rank that ends by $how ends the job" all_of failed 'err_lacks launch_job.c:'
        [ $mpi = pmix ] ||
            check "$mpi: and is named" err_count 'rank 1 .pid [0-9]+. ended without tern_finalize; ending the job' 1
    done
    step $mpi 3 "$PROG/launch_job" left 0
    check "$mpi: a rank that has left may go before the others" all_of 'status_is 0' 'out_count "^after" 2'
    check_clean "$mpi"
done

for how in forms waiting; do
    job env TERN_ON_FAILURE=return srun --mpi=pmi2 -N2 -n4 "$TEST/fault/survive_job" $how
    check "pmi2: all survivors of a death go on ($how)" all_of not_hung 'out_count "^survived" 3' 'err_lacks survive_job.c:'
done

step none 2 "$PROG/launch_job" join
check "without PMI each says what to do" all_of 'status_is 0' "out_count '^TERN_ERR_BOOT: .*srun --mpi=pmix' 2"
job srun --mpi=none -n1 "$PROG/launch_job" join
check "one task is a job of one" all_of 'status_is 0' "out_count '^TERN_OK' 1"
if [ -x "$PROG/mpi_job-openmpi" ]; then
    for order in MTUtm TMUmVt; do
        step pmix 3 "$PROG/mpi_job-openmpi" $order
        check "Tern and Open MPI in one program: $order" all_of 'status_is 0' "out_count '^done $order\$' 3"
    done
fi
check_clean "at the end"
finish
