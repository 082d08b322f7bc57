# notify.sh: notifications when something goes wrong.
#
# Promise: the death of a source or of a target that takes nothing hangs nobody: it ends the job, or is told to those who
# go on, after what the dead had sent; who waits for any source is told when nobody is left; a wait for what is behind more
# than a rank keeps is named by the stall report, with the option that limits it, and ends when there is room.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
LIMIT=30

for links in shm ofi; do
    for how in source target; do
        for ranks in 2 4; do
            ternrun -n $ranks -x TERN_LINKS=$links -x TERN_NOTIFY_QUEUE=128 "$PROG/notify_job" $how
            check "killed $how, $ranks ranks, $links: the job ends and names it" \
                all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks notify_job.c:'
            ternrun -n $ranks -x TERN_LINKS=$links -x TERN_NOTIFY_QUEUE=128 --on-failure return "$PROG/notify_job" $how
            check "killed $how, $ranks ranks, $links: told to the others, which go on" \
                all_of 'status_is 137' "survived $((ranks - 1))" 'err_lacks notify_job.c:'
            check_clean "killed $how" quiet
        done
    done
    ternrun -n 3 -x TERN_LINKS=$links "$PROG/notify_job" signal
    check "killed giver of signals, $links: the job ends and names it" \
        all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks notify_job.c:'
    ternrun -n 3 -x TERN_LINKS=$links --on-failure return "$PROG/notify_job" signal
    check "killed giver of signals, $links: told to the others, which go on" \
        all_of 'status_is 137' 'survived 2' 'err_lacks notify_job.c:'
    ternrun -n 2 -x TERN_LINKS=$links --on-failure return "$PROG/notify_job" alone
    check "nobody is left who could notify, $links: told" \
        all_of 'status_is 137' 'survived 1' 'err_lacks notify_job.c:'
    ternrun -n 2 -x TERN_LINKS=$links -x TERN_STALL_REPORT=1 -x TERN_NOTIFY_KEEP=10 "$PROG/notify_job" full
    check "more than a rank keeps, $links: the stall report says so, and room ends it" \
        all_of 'status_is 0' 'survived 2' \
        'err_has "^tern: rank 0: has waited [0-9]+ s: .*notifications from rank 1 .*tag 1; 10 others .*TERN_NOTIFY_KEEP"'
done
check_clean "at the end"
finish
