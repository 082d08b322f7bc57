# am_client.sh: clients of active messages when something goes wrong.
#
# Promise: a message for a handler that the client does not have at its target, for a client that does not exist, and
# one on a channel that is not for it, end the job with one line that names both ranks. The death of a rank while a
# client is created, used or freed hangs nobody; a message of the dead rank that is left is dropped, and the survivors
# use their other clients.
#
# timeout: 120
. "$(dirname "$0")/lib.sh"
LIMIT=30

refused() # how, text
{
    ternrun -n 2 "$PROG/am_client_job" "$1"
    check "$1: one line names both ranks; the job fails" \
        all_of not_hung '[ "$STATUS" != 0 ]' "err_count '^tern: rank 1.*$2.*rank 0' 1" 'err_lacks am_client_job.c:'
    check_clean "$1" quiet
}

refused unknown 'client "tasks" with handler 77'
refused unknown-helped 'client "tasks" with handler 77'
refused stray 'client "" with handler 5'
refused bare 'client "" with handler 0'
refused channel 'handler 9'
refused foreign 'client "tasks" with handler 9'

for how in create use helped free left; do
    for ranks in 2 4; do
        ternrun -n $ranks --on-failure return "$PROG/am_client_job" $how
        check "a rank dies, $how, $ranks ranks: the others are told and go on" \
            all_of 'status_is 137' "survived $((ranks - 1))" 'err_lacks am_client_job.c:'
        check_clean "$how" quiet
    done
done
check_clean "at the end"
finish
