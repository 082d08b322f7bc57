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
export TERN_SPIN=0 # the nodes are all this machine, and each assumes that it owns the cores
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
    step $mpi 3 "$PROG/launch_job" again
    check "$mpi: tern_init is refused after the last tern_finalize" \
        all_of 'status_is 0' "out_count '^again: tern_init: .*a process joins a job once' 3"
    for others in barrier compute; do
        step $mpi 3 "$TEST/fault/exit_job" main 1 0 $others
        check "$mpi: tern_exit(0) while the others are in $others" \
            all_of 'status_is 0' 'out_count "^here [0-2]\$" 3' '! out_has "atexit|goes on"' 'err_lacks "tern|error"'
        step $mpi 3 "$TEST/fault/exit_job" main 2 6 $others
        check "$mpi: tern_exit(6) while the others are in $others" \
            all_of 'status_is 6' 'out_count "^here [0-2]\$" 3' 'err_lacks "tern|Killed"'
        step $mpi 3 sh -c "TERN_NODE=\$SLURMD_NODENAME exec $TEST/fault/exit_job main 2 0 $others"
        check "$mpi: tern_exit(0) on two nodes" all_of 'status_is 0' 'out_count "^here [0-2]\$" 3' 'err_lacks "tern|error"'
    done
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

# ---- ternrun in a job of Slurm ----

RUN=$BIN/ternrun
job "$RUN" -n 18 --label sh -c 'echo $TERN_RANK $TERN_LOCAL_RANK $TERN_LOCAL_SIZE'
check "ternrun takes the nodes of the job, and srun calls them" all_of 'status_is 0' 'out_count "^.[0-9]+. [0-9]+ [0-9]+ 16\$" 16' \
    'out_has "^.16. 16 0 2\$"' 'out_has "^.17. 17 1 2\$"' \
    'err_count "^ternrun: 18 ranks on 2 hosts of Slurm job [0-9]+: n0 .16., n1 .2.\$" 1' 'err_count . 1'
# Options of srun in the environment are for tasks, and not for the ternrun that calls a whole node.
for option in SRUN_CPUS_PER_TASK=2 SLURM_EXACT=1; do
    job env $option "$RUN" -n 18 sh -c '[ $TERN_LOCAL_RANK != 0 ] || scontrol -o show step $SLURM_JOB_ID; echo $'${option%=*}
    check "with $option, ternrun still has all cpus of each node" all_of 'status_is 0' 'out_has " CPUs=16 .*Name=ternrun "' \
        '! out_has " CPUs=[0-9] .*Name=ternrun "' "out_count '^${option#*=}\$' 18"
done
for option in SLURM_LABELIO=1 SLURM_STDOUTMODE=none SLURM_STDINMODE=none SLURM_DEBUG=3; do
    job env $option "$RUN" -n 18 echo started
    check "with $option, the nodes answer" all_of 'status_is 0' 'out_count "^started\$" 18' 'err_count . 1'
done
job "$RUN" sh -c 'echo $TERN_SIZE $SLURMD_NODENAME'
check "without -n there is a rank for each task" all_of 'status_is 0' 'out_count "^32 n0\$" 16' 'out_count "^32 n1\$" 16'
job "$RUN" -n 33 true
check "more ranks than tasks are refused" all_of 'status_is 2' 'err_has "have 32 slots"'
job "$RUN" -n 18 "$PROG/launch_job" ring
check "its ranks find each other" all_of 'status_is 0' "out_count '^ring [0-9]+ of 18 ' 18"
job "$RUN" -n 17 seq 20000
check "output of all nodes is whole" all_of 'status_is 0' '[ "$(wc -l < "$WORK/out")" = 340000 ]' '[ "$(sort -u "$WORK/out" | wc -l)" = 20000 ]'
head -c 300000 /dev/urandom > "$WORK/bytes"
env FAULT_MARK="$MARK" timeout 60 "$RUN" -n 17 --output "$WORK/files" cat < "$WORK/bytes" > "$WORK/out" 2> "$WORK/err"
check "input and output of any bytes pass through srun unchanged" cmp -s "$WORK/bytes" "$WORK/files/rank.0.out"
job "$RUN" -n 17 sh -c '[ $TERN_RANK != 16 ] || exit 9; exec sleep 1000'
check "a rank that fails ends the job" all_of 'status_is 9' 'err_count "rank 16 .pid [0-9]+, host n1. exited with status 9" 1'
job_start "$RUN" -n 17 sh -c 'echo up; exec sleep 1000'
await 30 out_count '^up$' 17
for pid in $(marked); do
    ! grep -qz -x -e "$RUN" "/proc/$pid/cmdline" 2> /dev/null || grep -qz -x -e --node "/proc/$pid/cmdline" || grep -q srun "/proc/$pid/comm" || HEAD=$pid
done
[ "$(cat "/proc/$HEAD/comm")" != timeout ] || HEAD=$(pgrep -P "$HEAD" -x ternrun)
kill -9 "$HEAD"
job_wait
check_clean "kill -9 of ternrun: the ranks on all nodes end"
[ "$(scontrol show hostlist node01,node02,node03,node07,login1)" = 'node[01-03,07],login1' ] ||
    note "scontrol abbreviates names in another way than unit/ternrun_slurm"
printf '#!/bin/sh\nHOSTNAME=$1 export HOSTNAME; shift; exec "$@"\n' > "$WORK/named"
chmod +x "$WORK/named"
for i in $(seq 60); do echo "n$((RANDOM % 300))"; done | sort -u > "$WORK/names"
job env SLURM_JOB_NODELIST="$(scontrol show hostlist "$(paste -sd, "$WORK/names")")" SLURM_TASKS_PER_NODE= SLURM_JOB_CPUS_PER_NODE= \
    SLURM_NTASKS= "$RUN" --agent "$WORK/named" sh -c 'echo $HOSTNAME'
check "a random list that scontrol wrote" all_of 'status_is 0' '[ "$(sort "$WORK/out")" = "$(sort "$WORK/names")" ]'
check_clean "at the end"
finish
