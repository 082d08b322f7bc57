# chaos.sh: chaos on demand: its command line, a race that it shows, and a rank that it kills.
#
# Promise: a mistake in --chaos is one line and status 2 before anything starts; without a seed one is chosen, printed
# and used; the race of examples/race.c shows under relaxed ordering, and never under strict ordering or with a fence.
# When a rank is killed at any of its operations, the job ends with one clear line, or the others continue without it:
# every collective call returns the same status on all of them, and they leave in order.
#
# timeout: 300
# labels: slow
. "$(dirname "$0")/lib.sh"

# ---- the command line ----
for bad in 'delay=x' 'seed=1,seed=2' 'dealy=5' 'kill=3@5' 'kill=1@0' ''; do
    ternrun -n 2 --chaos "$bad" "$PROG/chaos_job"
    check "--chaos '$bad' is refused with one line" all_of 'status_is 2' 'err_count ^ternrun:.*TERN_CHAOS 1' '! out_has .'
done
ternrun -n 2 --chaos again=3 "$PROG/chaos_job"
check "without a seed one is chosen and said" \
    all_of 'status_is 0' 'survived 2' 'err_count "^ternrun: chaos: repeat this run with --chaos seed=[0-9]+,again=3$" 1'
ternrun -n 2 --chaos seed=5 -x TERN_CHAOS=bad "$PROG/chaos_job"
check "--chaos and -x TERN_CHAOS contradict each other" all_of 'status_is 2' 'err_count ^ternrun:.*contradict 1'
job env TERN_CHAOS=on "$PROG/chaos_job"
check "alone, the library chooses and says it" all_of 'status_is 0' 'survived 1' 'err_count "seed=[0-9]+ in TERN_CHAOS" 1'
job env TERN_CHAOS=of "$PROG/chaos_job"
check "and refuses what makes no sense" all_of '! status_is 0' 'err_has "no setting"'

# ---- the race ----
# Chaos counts polls, and a yield gives the core to whatever else runs on the machine. So the ranks do not yield. If the
# machine is so busy that they hardly ever run at the same time, the race needs several runs to show.
export TERN_YIELDS=0
for ranks in 2 3; do
    for try in 1 2 3 4 5 6 7 8 9 10; do
        ternrun -n "$ranks" --chaos seed=7 "$BIN/race" relaxed
        status_is 0 || break
        note "run $try did not show the race with $ranks ranks"
    done
    check "the race shows under relaxed ordering, $ranks ranks" all_of 'status_is 1' 'out_has "relaxed: in [1-9]"'
    for how in strict fence; do
        ternrun -n "$ranks" --chaos seed=7 "$BIN/race" $how
        check "and not with $how, $ranks ranks" all_of 'status_is 0' 'out_has "in 0 of"'
    done
done
unset TERN_YIELDS

# ---- deaths ----
alike() { [ "$(sed -n 's/^survived [0-9]*, at //p' "$WORK/out" | sort -u | wc -l)" = 1 ]; }

ternrun -n 3 --chaos seed=3,kill=1@10 "$PROG/chaos_job"
check "a rank that is killed ends the job" \
    all_of 'status_is 137' 'err_has "rank 1: chaos kills this rank at operation 10$"' 'err_count "^ternrun: rank 1 .*signal 9" 1'
ternrun -n 3 --chaos seed=3,kill=1@100000 "$PROG/chaos_job"
check "a rank that comes to its end before is not killed" all_of 'status_is 0' 'survived 3'

for k in $(seq 1 30); do
    ternrun -n 3 --on-failure return --chaos seed="$k",kill=$((k % 3))@"$k" \
        -x TERN_CMA="$([ $((k % 2)) = 0 ] && echo off || echo auto)" "$PROG/chaos_job" 5
    check "killed at operation $k, the others go on" all_of 'status_is 137' 'survived 2' alike 'err_lacks chaos_job.c:'
    check_clean "killed at operation $k" quiet
done
check_clean "at the end"
check_memory_returned "at the end"
finish
