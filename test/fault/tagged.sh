# tagged.sh: tagged messages whose sender or receiver dies.
#
# Promise: when a rank dies in any state of any protocol, the requests that need it complete with TERN_ERR_PEER, and no
# others do; messages that it had sent completely are received; a wait for any source fails when no rank is left; or
# the job ends and names the dead rank.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
LIMIT=30
SMALL="-x TERN_MSG_EAGER=8K -x TERN_MSG_FIRST=4K -x TERN_MSG_CHUNKED=64K -x TERN_MSG_CHUNK=4K -x TERN_MSG_WINDOW=2"

for way in TERN_LINKS=shm TERN_CMA=off TERN_LINKS=ofi TERN_LINKS=tcp; do
    for how in sent expected stopped target pulled pulling; do
        thread=on
        case $how in pull*) thread=off ;; esac # it would fetch the rest
        # shellcheck disable=SC2086 # words
        ternrun -n 3 $SMALL -x $way -x TERN_PROGRESS_THREAD=$thread --on-failure return "$PROG/tagged_job" $how
        check "killed, $how, $way: told to the others, which go on" \
            all_of 'status_is 137' 'survived 2' 'err_lacks tagged_job.c:'
    done
    ternrun -n 3 -x $way -x TERN_MSG_KEEP=4K --on-failure return "$PROG/tagged_job" behind
    check "killed, behind more than is kept, $way: what it sent is received" \
        all_of 'status_is 137' 'survived 2' 'err_lacks tagged_job.c:'
    check_clean "killed, $way" quiet
    ternrun -n 2 -x $way --on-failure return "$PROG/tagged_job" alone
    check "nobody is left who could send, $way: told" all_of 'status_is 137' 'survived 1' 'err_lacks tagged_job.c:'
done
for piece in 4K 64K 256K; do
    ternrun -n 3 -x TERN_SPIN=1000 -x TERN_MSG_PIECE=$piece --on-failure return "$PROG/tagged_job" helping
    check "killed while it copies pieces of $piece: told to the others, which go on" \
        all_of 'status_is 137' 'survived 2' 'err_lacks tagged_job.c:'
done
# shellcheck disable=SC2086 # words
ternrun -n 2 $SMALL "$PROG/tagged_job" target
check "killed target: the job ends and names it" \
    all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"' 'err_lacks tagged_job.c:'
check_clean "at the end"
finish
