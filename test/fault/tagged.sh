# tagged.sh: tagged messages whose sender or receiver dies.
#
# Promise: a rank that dies in any state of any protocol ends the requests that need it, with TERN_ERR_PEER, and no
# others; what it had sent whole is received; who waits for any source is told when nobody is left; or the job ends and
# names it.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
LIMIT=30
SMALL="-x TERN_MSG_CHUNKED=64K -x TERN_MSG_CHUNK=4K -x TERN_MSG_WINDOW=2"

for links in shm ofi; do
    for how in source target pulled pulling; do
        # shellcheck disable=SC2086 # words
        ternrun -n 3 -x TERN_LINKS=$links $SMALL --on-failure return "$PROG/tagged_job" $how
        check "killed $how, $links: told to the others, which go on" \
            all_of 'status_is 137' 'survived 2' 'err_lacks tagged_job.c:'
    done
    check_clean "killed, $links" quiet
    ternrun -n 2 -x TERN_LINKS=$links --on-failure return "$PROG/tagged_job" alone
    check "nobody is left who could send, $links: told" all_of 'status_is 137' 'survived 1' 'err_lacks tagged_job.c:'
done
for how in source pulled pulling; do
    # shellcheck disable=SC2086 # words
    ternrun -n 3 -x TERN_CMA=off $SMALL --on-failure return "$PROG/tagged_job" $how
    check "killed $how, bounced: told to the others, which go on" \
        all_of 'status_is 137' 'survived 2' 'err_lacks tagged_job.c:'
done
ternrun -n 2 "$PROG/tagged_job" target
check "killed target: the job ends and names it" \
    all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks tagged_job.c:'
check_clean "at the end"
finish
