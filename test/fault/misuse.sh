#!/bin/bash
# misuse.sh: misuse that stalls a job, and the lists of misuse_test.h.
#
# Promise: if one rank is in a collective call and another in tern_finalize, or frees a region or a client of active
# messages, the stall reports of both name the other's call, whichever call it is, on one node and between nodes. The
# same holds for a rank that frees a team of ranks on one node, and another that uses the team. The lists of calls in
# test/misuse_test.h, with which test/api/outside.c, misuse.c and fork.c check all calls, contain every public call
# that returns a status.
. "$(dirname "$0")/lib.sh"

LISTS=$(dirname "$0")/../misuse_test.h
AGENT=$(readlink -f "$(dirname "$0")/../agent")
HEADERS=$(dirname "$0")/../../include/tern

# The calls that return a status, and the generic macros over them.
public_calls() {
    cat "$HEADERS"/*.h | grep -v 'tern_inline_' |
        grep -oE '^(TERN_API|TERN_INLINE) tern_status tern_[a-z0-9_]+|^#define tern_[a-z0-9_]+\(' |
        grep -oE 'tern_[a-z0-9_]+\(?$' | tr -d '(' | sort -u
}

# The shapes are expanded from one list.
listed_calls() {
    sed 's/##kind##/KIND/; s/##kind/KIND/' "$LISTS" | grep -oE 'X\(tern_[a-zA-Z0-9_]+' | sed 's/X(//' |
        while read -r name; do
            case $name in
            *KIND*) for kind in vector indexed strided; do echo "${name/KIND/$kind}"; done ;;
            *)      echo "$name" ;;
            esac
        done
    echo tern_init
    echo tern_am_register
    echo tern_on_idle # these may be called before tern_init and after tern_finalize
    echo tern_on_idle_remove
}

missing=$(comm -23 <(public_calls) <(listed_calls | sort -u))
[ -z "$missing" ] || note "missing in the lists: $missing"
check "the lists contain every public call that returns a status" test -z "$missing"
check "there are many of them" test "$(public_calls | wc -l)" -gt 100

# The calls of rank 0 and rank 1: each collective call against one of the calls that wait for it without an error, and
# tern_barrier against all of them.
ANYWHERE="tern_barrier:tern_finalize tern_allgather:tern_finalize tern_region_create:tern_finalize
    tern_region_register:tern_finalize tern_atomic_domain_create:tern_region_free tern_mutex_create:tern_region_free
    tern_mutex_free:tern_region_free tern_barrier:tern_region_free tern_allgather:tern_region_free
    tern_barrier:tern_am_client_free tern_region_grow:tern_am_client_free tern_team_split:tern_am_client_free"
PAIRS="$ANYWHERE tern_barrier:tern_team_free tern_region_open:tern_team_free"

# has_stalled PAIR: the ranks of the job have reported which call the other is in.
has_stalled() {
    local call=${1%:*} other=${1#*:}
    grep -q "rank 0: has waited .*: $call waits for rank 1 of 2, which .*; rank 1 is in $other" "$WORK/err.$1" &&
        grep -q "rank 1: has waited .*: $other waits for rank 0 of 2, which .*; rank 0 is in $call" "$WORK/err.$1"
}

# stalls NAME COMMAND...: each pair is a job, whose ranks wait until each has named the call of the other. All jobs run
# at the same time.
stalls() {
    local name=$1 pair jobs= start=$SECONDS
    shift
    for pair in $PAIRS; do
        env FAULT_MARK="$MARK" TERN_STALL_REPORT=0.4 timeout -k 2 "$LIMIT" "$@" \
            "$PROG/misuse_job" "${pair%:*}" "${pair#*:}" > "$WORK/out" 2> "$WORK/err.$pair" < /dev/null &
        jobs="$jobs $!"
    done
    for pair in $PAIRS; do
        await $((LIMIT - 5 - SECONDS + start)) has_stalled "$pair"
        cp "$WORK/err.$pair" "$WORK/err"
        check "$name: the reports of ${pair%:*} and ${pair#*:} name each other" has_stalled "$pair"
        check "$name: ${pair%:*} against ${pair#*:}: nothing else is wrong" err_lacks misuse_job.c:
    done
    kill $jobs 2> /dev/null
    wait $jobs
}

stalls "shared memory" "$BIN/ternrun" -n 2
stalls "shared memory, failures are returned" "$BIN/ternrun" -n 2 --on-failure return
stalls "messages" "$BIN/ternrun" -n 2 -x TERN_TEST=apart=1
stalls "the boot segment" "$BIN/ternrun" -n 2 -x TERN_TEST=apart=1 --on-failure return
if "$BIN/tern-info" | grep -q '^ *ofi '; then
    PAIRS=$ANYWHERE
    stalls "two hosts" "$BIN/ternrun" --hosts a:1,b:1 --agent "$AGENT"
    stalls "two hosts, failures are returned" "$BIN/ternrun" --hosts a:1,b:1 --agent "$AGENT" --on-failure return
fi
check_clean "after all jobs"
finish
