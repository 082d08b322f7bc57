# am.sh: active messages when something goes wrong.
#
# Promise: a handler that its target does not know ends the job with one line that names both ranks and the id; the
# death of a flooding sender or of a stalled receiver hangs no rank: it ends the job, or the survivors get an error;
# the stall report of a rank that waits behind a prepared message that is never committed names that message; a
# sleeping rank is woken by a message and does not poll meanwhile.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
LIMIT=30

few_looks() { [ "$(sed -n 's/^looks //p' "$WORK/out")" -lt 1000000 ]; }

for policy in abort return; do
    for ranks in 2 4; do
        ternrun -n $ranks --on-failure $policy "$PROG/am_job" unknown
        check "an unknown handler, $ranks ranks, $policy: one line names both ranks and the id; the job fails" \
            all_of not_hung '[ "$STATUS" != 0 ]' 'err_count "^tern: rank 1.*handler 77.*rank 0" 1' 'err_lacks am_job.c:'
        [ $policy = abort ] || check "and those whom it does not concern go on" survived $((ranks - 1))
        check_clean "unknown handler" quiet
    done
done

for how in sender receiver; do
    for ranks in 2 4 8; do
        for queue in 64K 2M; do
            ternrun -n $ranks -x TERN_AM_QUEUE=$queue "$PROG/am_job" $how
            check "killed $how, $ranks ranks, $queue: the job ends and names it" \
                all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks am_job.c:'
            ternrun -n $ranks -x TERN_AM_QUEUE=$queue --on-failure return "$PROG/am_job" $how
            check "killed $how, $ranks ranks, $queue: told to the others, which go on" \
                all_of 'status_is 137' "survived $((ranks - 1))" 'err_lacks am_job.c:'
            check_clean "killed $how" quiet
        done
    done
done

ternrun -n 2 -x TERN_STALL_REPORT=1 -x TERN_AM_QUEUE=64K "$PROG/am_job" prepared
check "a message prepared and never committed: the stall report says so; cancelled, all goes on" \
    all_of 'status_is 0' 'survived 2' \
    'err_has "^tern: rank 0: has waited [0-9]+ s: tern_am_short .*rank 1.*prepared.*never committed"'

for ranks in 2 4; do
    ternrun -n $ranks "$PROG/am_job" asleep
    check "sleeping ranks are woken by messages, and do not poll meanwhile, $ranks ranks" \
        all_of 'status_is 0' "survived $ranks" few_looks
done
check_clean "at the end"
finish
