# notify.sh: notifications when something goes wrong.
#
# Promise: the death of a source, or of a target that receives nothing, hangs no rank, whichever form of notified
# access is outstanding: it ends the job, or the survivors get an error that names the rank, after the notifications
# that the dead rank had sent; a wait for any source fails when no rank is left; the stall report names a wait for a
# notification that is behind more than a rank stores, with the option that limits the number, and the wait ends when
# there is space; the same holds for a wait for the completion of an access whose notification finds no space.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
LIMIT=30
FEW="-x TERN_NOTIFY_QUEUE=128"

# told HOW RANKS MEMORY [OPTION...]
told() {
    local how=$1 ranks=$2 memory=$3
    shift 3
    # shellcheck disable=SC2086 # words
    ternrun -n "$ranks" $FEW "$@" --on-failure return "$PROG/notify_job" "$how" "$memory"
    check "killed $how, $ranks ranks, $memory memory, $*: told to the others, which go on" \
        all_of 'status_is 137' "survived $((ranks - 1))" 'err_lacks notify_job.c:'
}

for links in shm ofi; do
    for how in source flying target; do
        told $how 2 registered -x TERN_LINKS=$links
        told $how 4 host -x TERN_LINKS=$links
        # shellcheck disable=SC2086 # words
        ternrun -n 2 -x TERN_LINKS=$links $FEW "$PROG/notify_job" $how host
        check "killed $how, $links: the job ends and names it" \
            all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks notify_job.c:'
        check_clean "killed $how, $links" quiet
    done
    ternrun -n 3 -x TERN_LINKS=$links "$PROG/notify_job" signal
    check "killed giver of signals, $links: the job ends and names it" \
        all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks notify_job.c:'
    ternrun -n 3 -x TERN_LINKS=$links --on-failure return "$PROG/notify_job" signal
    check "killed giver of signals, $links: told to the others, which go on" \
        all_of 'status_is 137' 'survived 2' 'err_lacks notify_job.c:'
    told behind 3 host -x TERN_LINKS=$links -x TERN_NOTIFY_KEEP=4
    ternrun -n 2 -x TERN_LINKS=$links --on-failure return "$PROG/notify_job" alone
    check "nobody is left who could notify, $links: told" \
        all_of 'status_is 137' 'survived 1' 'err_lacks notify_job.c:'
    ternrun -n 2 -x TERN_LINKS=$links -x TERN_STALL_REPORT=0.3 -x TERN_NOTIFY_KEEP=10 "$PROG/notify_job" full
    check "more than a rank keeps, $links: the stall report says so, and space ends it" \
        all_of 'status_is 0' 'survived 2' \
        'err_has "^tern: rank 0: has waited [0-9.]+ s: .*from rank 1 .*tag 1; 10 others .*TERN_NOTIFY_KEEP"'
    ternrun -n 2 -x TERN_LINKS=$links -x TERN_CMA=off -x TERN_NOTIFY_QUEUE=4 -x TERN_NOTIFY_KEEP=10 \
        "$PROG/notify_job" pushed registered
    check "accesses whose notifications find no space, $links: who waits for their end is told so, and space ends it" \
        all_of 'status_is 0' 'survived 2' 'err_lacks notify_job.c:'
done
for how in source flying target; do
    told $how 3 registered -x TERN_CMA=off
done
ternrun -n 2 "$PROG/notify_job" nonsense
check "a word for a place that is not in the region: the job ends and names who sent it" \
    all_of 'status_is 1' 'err_has "rank 0 received a notification with invalid contents from rank 1"' 'err_lacks notify_job.c:'
check_clean "at the end"
finish
