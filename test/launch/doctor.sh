#!/bin/bash
# doctor.sh: tern-info --doctor in a job of Slurm checks the nodes of the job, and reaches them through srun. A Slurm
# controller and two Slurm daemons run on this machine (scripts/try-slurm).
#
# timeout: 200
# labels: slow
if [ -z "${TRY_SLURM:-}" ]; then
    TRY_SLURM=yes exec "$(dirname "$0")/../../scripts/try-slurm" salloc -Q -N2 -n4 bash "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
unset "${!TERN_@}"
INFO=$(readlink -f "$BIN/tern-info")
"$INFO" | grep -q '^  \* ' || skip "this machine has no network for several nodes"
AGENT='srun -Q --overlap -N1 -n1 -w'

job "$INFO" --doctor --timeout 30 --agent "$AGENT"
check "the hosts are those of the job" all_of not_hung 'out_has "^The hosts are those of SLURM_JOB_NODELIST\.$"' \
    '[ "$(grep "^Host " "$WORK/out" | tr "\n" " ")" = "Host n0 Host n1 " ]'
check "srun reaches them, and from each of them the other" all_of 'status_is 0' \
    '[ "$(grep -c "^  OK     reached: " "$WORK/out")" = 2 ]' 'out_has "^  OK     agent: .*, in 2 trials"' \
    'out_has "^  OK     firewall: .*, in 2 trials"'
check_clean "after the check of the nodes"
job "$INFO" --doctor --timeout 30 --agent "$AGENT" --hosts n0,n7
check "a node that is not in the job" all_of 'status_is 1' 'out_has "^  FAULT  reached: The agent ended with status"' \
    'out_has "^Host n7$"'
job "$INFO"
check "the version of Slurm" out_has "^  Slurm     $(srun --version | cut -d' ' -f2), /"
finish
