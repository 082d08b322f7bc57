#!/bin/bash
# binding.sh: on which cpus the ranks of a job run, and how many threads OpenMP and OpenBLAS start.
#
# The test reads the binding from the kernel (/proc/self/status) instead of asking ternrun. ternrun runs with two cpus
# that belong to different cores, A and B, so that the results do not depend on the machine. Sockets, NUMA nodes and L3
# caches come from a machine that hwloc makes up; ranks are not really bound there.
#
# timeout: 120
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS GOTO_NUM_THREADS
printf '#!/bin/sh\nshift\nexec "$@"\n' > "$WORK/agent"
# shellcheck disable=SC2016
printf '#!/bin/sh\nwhile read -r name value; do [ "$name" != Cpus_allowed_list: ] || echo "$value"; done < /proc/self/status\n' > "$WORK/cpus"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$OMP_NUM_THREADS $OPENBLAS_NUM_THREADS"\n' > "$WORK/threads"
printf '#!/bin/sh\n"%s"\nuntil [ -e "%s" ]; do sleep 0.05; done\n' "$WORK/cpus" "$WORK/over" > "$WORK/stay"
chmod +x "$WORK/agent" "$WORK/cpus" "$WORK/threads" "$WORK/stay"

# Choose two cpus of different cores.
A='' B=''
for cpu in $(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }'); do
    core=$(cat "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" 2> /dev/null || echo "$cpu")
    if [ -z "$A" ]; then
        A=$cpu first=$core
    elif [ "$core" != "$first" ]; then
        B=$cpu
        break
    fi
done
[ -n "$B" ] || skip "one core only"
[ $((A + 1)) = "$B" ] && BOTH=$A-$B || BOTH=$A,$B

bound() { job taskset -c "$A,$B" "$RUN" "$@"; }
sorted() { [ "$(sort "$WORK/out" | tr '\n' ' ')" = "$1" ]; }
repeat() { for _ in $(seq "$1"); do printf '%s ' "$2"; done; } # the text so many times
reason() { err_count "$1\$" "$2"; }

# ---- the default ----

bound -n 1 --show-binding "$WORK/cpus"
check "one rank may use all cores" all_of 'status_is 0' 'sorted "$BOTH "' \
    'said "^ternrun: rank 0: not bound, may use cpus $BOTH \(2 cores\), OMP_NUM_THREADS=2; reason: 1 rank does not fill 2 cores$"'
bound -n 2 --show-binding --label "$WORK/cpus"
check "ranks that fill the cores have a core each" all_of 'status_is 0' 'sorted "[0] $A [1] $B "' \
    'reason "reason: 2 ranks fill 2 cores" 2' 'err_has "^ternrun: rank 1: bound to cpu $B \(1 core\), OMP_NUM_THREADS=1;"'
for n in 3 4 8; do
    bound -n $n --show-binding "$WORK/cpus"
    check "$n ranks on two cores are not bound" all_of 'status_is 0' 'sorted "$(repeat $n "$BOTH")"' \
        'reason "not bound, may use .*; reason: there are more ranks \($n\) than cores \(2\)" $n'
done
job taskset -c "$B" "$RUN" -n 1 --show-binding "$WORK/cpus"
check "one rank fills one core" all_of 'status_is 0' 'sorted "$B "' 'reason "reason: 1 rank fills 1 core" 1'
bound -n 2 "$RANK" join all finalize
check "ranks that are bound communicate" status_is 0
bound -n 16 "$RANK" join all finalize
check "ranks that are not bound communicate" status_is 0

# ---- jobs that do not know of each other ----

rm -f "$WORK/over"
env FAULT_MARK="$MARK" taskset -c "$A,$B" "$RUN" -n 1 "$WORK/stay" > "$WORK/other" 2>&1 &
other=$!
job_start taskset -c "$A,$B" "$RUN" -n 1 "$WORK/stay"
await 20 all_of '[ -s "$WORK/out" ]' '[ -s "$WORK/other" ]'
touch "$WORK/over"
job_wait
wait "$other"
check "two jobs of one rank can use both cores" all_of 'status_is 0' 'sorted "$BOTH "' '[ "$(cat "$WORK/other")" = "$BOTH" ]'

hosts() { job taskset -c "$A,$B" "$RUN" --agent "$WORK/agent" --show-binding --hosts "$@"; }
hosts a:1,b:1 "$WORK/cpus"
check "two nodes on one machine can use both cores" all_of 'status_is 0' 'sorted "$BOTH $BOTH "' \
    'err_has "^ternrun: host a: rank 0: not bound.*reason: 1 rank does not fill"' \
    'err_has "^ternrun: host b: rank 1: not bound.*reason: 1 rank does not fill"'
hosts a:2,b:1 --label "$WORK/cpus"
check "a node is bound if it fills its machine" all_of 'status_is 0' 'sorted "[0] $A [1] $B [2] $BOTH "' \
    'reason "host a: .*reason: 2 ranks fill 2 cores" 2'
hosts a:1,b:1 --bind core "$WORK/cpus"
check "--bind reaches the hosts" all_of 'status_is 0' 'sorted "$A $A "' 'reason "reason: --bind core" 2'
hosts a:1,b:1 --cores-per-rank 2 "$WORK/cpus"
check "--cores-per-rank reaches the hosts" all_of 'status_is 0' 'sorted "$BOTH $BOTH "' 'reason "reason: --cores-per-rank 2" 2'
hosts a:1,b:2 --cores-per-rank 2 "$WORK/cpus"
check "a host with too few cores is named" all_of 'status_is 2' \
    'err_has "^ternrun: host b: --cores-per-rank 2: 2 ranks would need 4 cores, and ternrun may use 2; give at most 1;"'
hosts a:1,b:2 "$WORK/threads"
check "the threads of each host follow its cores" all_of 'status_is 0' 'sorted "1 1 1 1 2 2 "'
check_clean "after jobs on hosts" quiet

# ---- asked for ----

bound -n 1 --bind core "$WORK/cpus"
check "--bind core: one rank has one core" sorted "$A "
bound -n 1 --bind share "$WORK/cpus"
check "--bind share: one rank has all cores" sorted "$BOTH "
bound -n 2 --bind share "$WORK/cpus"
check "--bind share: two ranks have a core each" sorted "$(printf '%s\n%s\n' "$A" "$B" | sort | tr '\n' ' ')"
bound -n 3 --bind share "$WORK/cpus"
check "--bind share with more ranks than cores says that it does not bind" all_of 'status_is 0' \
    'sorted "$BOTH $BOTH $BOTH "' 'said "^ternrun: --bind share: there are 3 ranks and 2 cores, so the ranks are not bound$"'
bound -n 2 --bind none --show-binding "$WORK/cpus"
check "--bind none" all_of 'sorted "$BOTH $BOTH "' 'reason "not bound.*; reason: --bind none" 2'
bound -n 1 --cores-per-rank 2 --show-binding "$WORK/cpus"
check "--cores-per-rank 2" all_of 'sorted "$BOTH "' 'said "bound to cpus $BOTH \(2 cores\), .*reason: --cores-per-rank 2$"'
bound -n 1 --cores-per-rank 1 "$WORK/cpus"
check "--cores-per-rank 1" sorted "$A "
bound -n 3 --label --bind "$B/$A,$B" "$WORK/cpus"
check "--bind with a list of several cpus for a rank" sorted "[0] $B [1] $BOTH [2] $B "
bound -n 1 --bind 60001 true
check "a cpu that ternrun may not use" all_of 'status_is 2' 'said "cpu 60001 is not among .* which are $BOTH;"'

# ---- threads ----

bound -n 1 "$WORK/threads"
check "one rank has a thread for each core" sorted "2 2 "
bound -n 2 "$WORK/threads"
check "two ranks have one thread each" sorted "1 1 1 1 "
bound -n 3 "$WORK/threads"
check "ranks without a core of their own have one thread" sorted "1 1 1 1 1 1 "
bound -n 2 --cores-per-rank 1 "$WORK/threads"
check "--cores-per-rank 1: one thread" sorted "1 1 1 1 "
OMP_NUM_THREADS=5 bound -n 1 --show-binding "$WORK/threads"
check "OMP_NUM_THREADS of the user stays, and OpenBLAS follows it" all_of 'sorted "5  "' 'err_has "OMP_NUM_THREADS=5;"'
bound -n 1 -x OMP_NUM_THREADS=3,2 -x OPENBLAS_NUM_THREADS=4 "$WORK/threads"
check "and so with -x" sorted "3,2 4 "
OPENBLAS_NUM_THREADS=1 bound -n 1 "$WORK/threads"
check "OPENBLAS_NUM_THREADS of the user stays" sorted "2 1 "
bound -n 1 -x OMP_NUM_THREADS=4 --show-binding "$WORK/threads" : -n 1 -x OMP_NUM_THREADS=7 "$WORK/threads" : -n 1 "$WORK/threads"
check "each program may set its own, and --show-binding has it" all_of 'sorted "1 1 4  7  "' 'err_has "rank 0: .*OMP_NUM_THREADS=4;"' \
    'err_has "rank 1: .*OMP_NUM_THREADS=7;"' 'err_has "rank 2: .*OMP_NUM_THREADS=1;"'
GOTO_NUM_THREADS=1 bound -n 1 "$WORK/threads"
check "GOTO_NUM_THREADS, which OpenBLAS reads too, is not overridden" sorted "2  "

# ---- a larger machine: 2 sockets, 4 NUMA nodes with one L3 cache each, 16 cores, 32 cpus ----

export HWLOC_SYNTHETIC="pack:2 numa:2 l3:1 core:4 pu:2"
shows() { # RANKS OPTIONS CPUS...: the cpus that --show-binding names, rank by rank
    local ranks=$1 options=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    job "$RUN" -n "$ranks" $options --show-binding true
    check "ternrun -n $ranks $options" all_of 'status_is 0' '[ "$(shown)" = "'"$*"'" ]'
}
shown() { sed -nE 's/^ternrun: rank [0-9]+: bound to cpus? ([-0-9,]+) .*/\1/p' "$WORK/err" | tr '\n' ' ' | sed 's/ $//'; }
shows 2 "--bind l3" 0-15 16-31
shows 4 "--bind l3" 0-7 8-15 16-23 24-31
shows 8 "--bind numa" 0-7 0-7 8-15 8-15 16-23 16-23 24-31 24-31
shows 2 "--bind socket" 0-15 16-31
shows 2 "--bind socket --cores-per-rank 6" 0-11 16-27
shows 4 "--bind socket --cores-per-rank 3" 0-5 8-13 16-21 24-29
shows 4 "--bind l3 --cores-per-rank 3" 0-5 8-13 16-21 24-29
shows 3 "--bind share" 0-11 12-21 22-31
shows 2 "" # two ranks do not fill it
shows 16 "" 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15 16-17 18-19 20-21 22-23 24-25 26-27 28-29 30-31
job "$RUN" -n 3 --bind l3 --cores-per-rank 5 true
check "a rank that does not fit into an L3 cache" all_of 'status_is 2' 'said "^ternrun: --bind l3 --cores-per-rank 5: .*--help$"'
HWLOC_SYNTHETIC="core:4 pu:1" job "$RUN" -n 2 --bind socket true
check "a machine without known sockets" all_of 'status_is 2' 'said "^ternrun: --bind socket: hwloc does not know .* share, numa or none; see ternrun --help$"'
finish
