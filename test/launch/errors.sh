# errors.sh: if Tern cannot use the launcher, tern_init fails with an error that says what to do. It never creates a job
# with one rank instead.
. "$(dirname "$0")/lib.sh"
LIMIT=120

# refused TEXT PATTERN VARIABLE...: with these environment variables, tern_init fails with TERN_ERR_BOOT and an error
# text that matches the pattern.
refused() {
    local text=$1 pattern=$2
    shift 2
    job env "$@" "$PROG/launch_job" join
    check "$text" all_of 'status_is 0' "out_has '^TERN_ERR_BOOT: .*$pattern'"
}

refused "PMI_FD is no number" "PMI_FD is .x. and not a number" PMI_FD=x PMI_RANK=0 PMI_SIZE=2
refused "PMI_FD is closed" "PMI_FD=77 .*closed it" PMI_FD=77 PMI_RANK=0 PMI_SIZE=2
refused "PMI_FD is another file" "PMI_FD=1 .*not its connection" PMI_FD=1 PMI_RANK=0 PMI_SIZE=2
refused "PMI_RANK is missing" "PMI_RANK is" PMI_FD=1 PMI_SIZE=2
refused "PMI_RANK is too large" "PMI_RANK is .2." PMI_FD=1 PMI_SIZE=2 PMI_RANK=2
refused "PMI-1 over a port" "PMI_PORT=here:1 .*without -pmi-port" PMI_PORT=here:1 PMI_ID=0
refused "a Slurm job step without PMI" "srun --mpi=pmix" SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1 SLURM_NTASKS=4
refused "a launcher that offers nothing" "ternrun -n N" MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=0
: > "$WORK/libpmix.so.2" # found first, but not a library
refused "PMIx without libpmix" "(libpmix|built without)" PMIX_NAMESPACE=x PMIX_RANK=0 LD_LIBRARY_PATH="$WORK"
refused "PMIx without its server" "(PMIx_Init failed|built without)" PMIX_NAMESPACE=x PMIX_RANK=0

job env PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 TERN_LAUNCHER=alone "$PROG/launch_job" join
check "TERN_LAUNCHER=alone: a job of one, if that is meant" all_of 'status_is 0' "out_has '^TERN_OK'" 'err_lacks .'

for launcher in $LAUNCHERS; do
    command_of "$launcher" 3
    launched env TERN_TIMEOUT=1 TERN_STALL_REPORT=0.1 "${CMD[@]}" "$PROG/launch_job" absent
    check "$launcher: a rank that never calls tern_init: the others say what they wait for, and give up in time" \
        all_of not_hung 'err_has "has waited .* for the other ranks"' 'err_has "gave up after 1.* for the other ranks"'
    launched env TERN_NODE='a b' "${CMD[@]}" "$PROG/launch_job" ring
    check "$launcher: TERN_NODE that names nothing" all_of not_hung "err_has 'TERN_NODE=a b cannot name a node'"
done
check_clean "at the end"
finish
