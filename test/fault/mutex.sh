# mutex.sh: a rank dies that holds a mutex, waits for one, is in the middle of an accumulate, or is the target of
# atomics and accumulates.
#
# Promise: no rank waits for the dead rank for ever. mutex_job.c makes the checks; this script checks that every
# survivor passed them and left in order, and that no process and no file is left.
#
# long: FAULT_LINK=tcp
. "$(dirname "$0")/lib.sh"
LIMIT=60

run() { # RANKS HOW OPTIONS-OF-TERNRUN...
    local ranks=$1 how=$2
    shift 2
    ternrun -n "$ranks" --on-failure return "$@" "$PROG/mutex_job" "$how"
    check "$how, $ranks ranks $*: all survivors go on" \
        all_of "status_is 137" "survived $((ranks - 1))" 'err_lacks mutex_job.c:'
    check_clean "$how at $ranks ranks" quiet
}

for how in holder waiter chosen home adding target; do run 4 $how; done
run 8 waiter
if "$BIN/tern-info" | grep -q '^ *ofi '; then
    for how in holder waiter chosen home target; do run 3 $how -x TERN_LINKS="${FAULT_LINK:-ofi}"; done
fi
finish
