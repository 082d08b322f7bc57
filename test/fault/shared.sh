# shared.sh: a rank dies while threads of the others wait on a context that they share.
#
# Promise: every waiting thread gets an error, and the survivors continue to use the context.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
LIMIT=30

for way in TERN_LINKS=shm TERN_CMA=off TERN_LINKS=ofi TERN_LINKS=tcp; do
    for how in relaxed strict registered; do
        ternrun -n 3 -x $way --on-failure return "$PROG/shared_job" $how
        check "killed while threads wait, $how, $way: all are told, and go on" \
            all_of 'status_is 137' 'survived 2' 'err_lacks shared_job.c:'
    done
done
ternrun -n 2 "$PROG/shared_job" relaxed
check "killed while threads wait: the job ends and names the rank" \
    all_of 'status_is 137' 'err_has "^ternrun: rank 1 .*signal"'
check_clean "at the end"
finish
