# stall.sh: nothing hangs in silence.
#
# Promise: every wait can take a deadline, and a wait that lasts longer than TERN_STALL_REPORT prints what it waits for;
# signals belong to the program. The test also covers ranks that wait for a rank that never joins.
#
# timeout: 300
. "$(dirname "$0")/lib.sh"
LIMIT=40

# ages_grow COUNT CALL: rank 0 has printed at least COUNT reports of the call, and their ages grow.
ages_grow() {
    sed -n "s/^tern: rank 0: has waited \\([0-9]*\\) s: $2 .*/\\1/p" "$WORK/err" > "$WORK/ages"
    [ "$(wc -l < "$WORK/ages")" -ge "$1" ] && sort -n -u -c "$WORK/ages" 2> /dev/null
}

report_of() { # CALL NAME
    ternrun -n 3 -x TERN_STALL_REPORT=1 "$PROG/stall_job" late "$1" 3.5
    check "a late rank in $2: the others name the call, the rank and a growing age, and go on" \
        all_of 'status_is 0' "err_has '^tern: rank 0: has waited [0-9]+ s: $2 .*rank 1 of 3'" \
        "err_has '^tern: rank 2: has waited [0-9]+ s: $2 .*rank 1 of 3'" "ages_grow 2 $2" \
        "err_lacks '^tern: rank 1:.* $2 '"
}
report_of init tern_init
report_of barrier tern_barrier
report_of gather tern_allgather
report_of alloc tern_region_create
report_of free tern_region_free
report_of finalize tern_finalize
ternrun -n 3 -x TERN_STALL_REPORT=0 "$PROG/stall_job" late barrier 2
check "TERN_STALL_REPORT=0: no report" all_of 'status_is 0' 'err_lacks "has waited"'

ternrun -n 2 -x TERN_STALL_REPORT=1 -x TERN_CMA=off "$PROG/stall_job" stopped 3.5
check "a put to a stopped rank: the report names operation, bytes, peer and age; it completes when the rank goes on" \
    all_of 'status_is 0' 'err_has "^tern: rank 0: has waited [0-9]+ s: .*put of 1048499 bytes .*rank 1"' 'ages_grow 2 tern_put'

for call in init barrier gather alloc register free finalize; do
    rm -f "$WORK"/gave-up.*
    ternrun -n 3 -x TERN_TIMEOUT=2.5 --on-failure return "$PROG/stall_job" limit $call
    count=$(grep -c "^$call: timeout: .*rank 1 of 3" "$WORK/out")
    check "TERN_TIMEOUT in $call: TERN_ERR_TIMEOUT that names the rank awaited" all_of not_hung "[ $count = 2 ]"
done
check_clean "time limits"

for status in 0 5; do
    ternrun -n 3 --on-failure return "$PROG/stall_job" absent $status
    count=$(grep -c '^init: peer: .*rank 1' "$WORK/out")
    check "a rank that exits with $status before tern_init: the others get TERN_ERR_PEER" all_of not_hung "[ $count = 2 ]"
    ternrun -n 3 "$PROG/stall_job" absent $status
    check "the same where a failure ends the job: it ends" all_of not_hung '[ "$STATUS" != 137 ]'
done
check "and its status is that of the rank" status_is 5
check_clean "absent ranks"

for ranks in 1 3; do
    ternrun -n $ranks "$PROG/stall_job" nested "$PROG/stall_job handlers"
    check "a Tern program started by a rank of $ranks: refused, and told how to start it" \
        all_of 'status_is 9' 'err_has "the launcher.s information"' 'err_has "env -u TERN_BOOT"'
    ternrun -n $ranks "$PROG/stall_job" nested "env -u TERN_BOOT $PROG/stall_job handlers"
    check "started as told, it is a job of its own" status_is 0
    ternrun -n $ranks "$PROG/stall_job" nested "$BIN/ternrun -n 2 $PROG/stall_job handlers"
    check "ternrun within a rank makes a job of its own" status_is 0
done

ternrun -n 2 -x FAULT_EINTR=1 "$PROG/stall_job" signals 0.1
check "memory is reserved in smaller steps where signals interrupt large ones" all_of 'status_is 0' 'err_lacks .'
for cma in auto off; do
    ternrun -n 2 -x TERN_CMA=$cma "$PROG/stall_job" signals 2
    check "timers each millisecond, TERN_CMA=$cma: everything works" all_of 'status_is 0' 'err_lacks .'
    for policy in abort return; do
        ternrun -n 2 -x TERN_CMA=$cma --on-failure $policy "$PROG/stall_job" handlers
        check "no signal handler, no mask is changed, TERN_CMA=$cma, $policy" all_of 'status_is 0' 'err_lacks .'
    done
done
check_clean "at the end"
finish
