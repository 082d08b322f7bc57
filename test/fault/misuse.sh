#!/bin/bash
# misuse.sh: misuse that stalls a job, and the lists of misuse_test.h.
#
# Promise: if one rank is in tern_barrier and another in tern_finalize or tern_region_free, the stall reports of both
# name the other's call. The lists of calls in test/misuse_test.h, with which test/api/outside.c, misuse.c and fork.c
# check all calls, contain every public call that returns a status.
. "$(dirname "$0")/lib.sh"

LISTS=$(dirname "$0")/../misuse_test.h
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
}

missing=$(comm -23 <(public_calls) <(listed_calls | sort -u))
[ -z "$missing" ] || note "missing in the lists: $missing"
check "the lists contain every public call that returns a status" test -z "$missing"
check "there are many of them" test "$(public_calls | wc -l)" -gt 100

# stalls CALL [ENVIRONMENT...]: rank 0 calls tern_barrier and rank 1 another call, until each has reported.
stalls() {
    local other=$1
    shift
    job env TERN_STALL_REPORT=0.3 TERN_TIMEOUT=1.5 "$@" "$BIN/ternrun" -n 2 "$PROG/misuse_job" "$other"
    check "tern_barrier against $other ends by its time limit ($*)" not_hung
    check "the report of tern_barrier names $other ($*)" \
        err_has "rank 0: has waited .*: tern_barrier waits for rank 1 of 2, which .*; rank 1 is in $other"
    check "the report of $other names tern_barrier ($*)" \
        err_has "rank 1: has waited .*: $other waits for rank 0 of 2, which .*; rank 0 is in tern_barrier"
}

stalls tern_finalize
stalls tern_region_free
stalls tern_finalize TERN_TEST=apart=1
stalls tern_region_free TERN_TEST=apart=1
stalls tern_finalize TERN_ON_FAILURE=return
stalls tern_region_free TERN_ON_FAILURE=return
check_clean "after all jobs"
finish
