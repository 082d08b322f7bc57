# survive.sh: with --on-failure return the other ranks learn of the death of a rank, and continue.
#
# survive_job.c makes the checks; this script checks that every survivor passed them and left in order, that the dead
# rank is named once, that the job's status is that of the dead rank, and that no process and no file is left.
#
# timeout: 300
# labels: slow
. "$(dirname "$0")/lib.sh"
LIMIT=60

run() { # STATUS RANKS CMA ARGUMENTS...
    local want=$1 ranks=$2 cma=$3
    shift 3
    ternrun -n "$ranks" --on-failure return -x TERN_CMA="$cma" "$PROG/survive_job" "$@"
    check "$*, $ranks ranks, TERN_CMA=$cma: all survivors go on, rank 1 is named, status $want" \
        all_of "status_is $want" "survived $((ranks - 1))" 'err_has "^ternrun: rank 1 .*signal"' \
        'err_lacks survive_job.c:' 'err_count "^ternrun: rank" 1'
    check_clean "$* at $ranks ranks" quiet
}

for cma in auto off; do
    for ranks in 2 4; do
        run 137 $ranks $cma forms
        for how in inlined waiting waitall gather alloc register; do run 137 $ranks $cma $how; done
    done
    run 137 8 $cma forms
    run 137 8 $cma waiting
done
for cma in auto off; do run 137 3 $cma behind; done
for ranks in 2 3 5; do run 137 $ranks off bounced; done
ternrun -n 2 "$PROG/cma_job" data none
if [ "$STATUS" = 0 ]; then
    for ranks in 2 3; do run 137 $ranks auto untold; done
else
    note "the kernel refuses cross-memory attach here: the launcher is always the first to tell of a death"
fi

# Killed by a timer inside collective calls, at many moments.
RANDOM=${FAULT_SEED:-7}
within() { # TIMES
    for ((i = 0; i < $1; i++)); do
        run 142 $((i % 2 ? 4 : 3)) "$([ $((i % 3)) = 0 ] && echo off || echo auto)" within $((1000 + RANDOM % 30000))
    done
}
within 14

# The same jobs with segment-based groups for the world, as on several nodes.
usual=${TERN_TEST:-}
export TERN_TEST=${usual:+$usual,}apart=2
for how in forms waiting gather alloc register; do run 137 4 auto $how; done
run 137 3 auto behind
within 14
export TERN_TEST=$usual
check_clean "at the end"
check_memory_returned "at the end"
finish
