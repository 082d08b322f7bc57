# trigger.sh: triggered operations to a rank that dies.
#
# Promise: operations to the dead rank complete with TERN_ERR_PEER, in their events and in the failures of their
# counter; all others succeed.
#
# timeout: 60
. "$(dirname "$0")/lib.sh"
LIMIT=30

for links in shm ofi; do
    ternrun -n 3 -x TERN_LINKS=$links --on-failure return "$PROG/trigger_job"
    check "a target of triggered operations dies, $links: told, and the others go on" \
        all_of 'status_is 137' 'survived 2' 'err_lacks trigger_job.c:'
done
check_clean "at the end"
finish
