# idle.sh: a job in which nothing happens uses no processor time, on any link.
#
# Promise: waits, and the threads that serve other ranks, sleep in the kernel. The test reads the processor time of
# every process of the job from /proc, twice. A process that polls would use a whole processor in between; a tenth of
# that is allowed, because a provider without a descriptor to sleep on is polled a thousand times a second.
#
# timeout: 240
# labels: slow
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
AGENT=$(readlink -f "$(dirname "$0")/../agent")
SECONDS_IDLE=2
MOST=$((SECONDS_IDLE * $(getconf CLK_TCK) / 10))

# Processor time of each process, in ticks: "pid ticks".
ticks() {
    local pid
    for pid in $(marked); do
        sed -n "s/^.*) //p" "/proc/$pid/stat" 2> /dev/null | awk -v pid="$pid" '{ print pid, $12 + $13 }'
    done | sort
}

all_idle() { [ "$(grep -c '^idle ' "$WORK/out")" = 4 ]; }

idle() { # NAME OPTION...
    local name=$1
    shift
    rm -f "$WORK/over"
    job_start "$RUN" "$@" "$PROG/idle_job"
    await 40 all_idle
    sleep 1 # what came last may be on its way
    ticks > "$WORK/before"
    sleep $SECONDS_IDLE
    ticks > "$WORK/after"
    touch "$WORK/over"
    job_wait
    USED=$(join "$WORK/before" "$WORK/after" | awk '{ if ($3 - $2 > most) most = $3 - $2; n++ } END { print (n >= 5 ? most + 0 : 999999) }')
    note "$name: ticks of the busiest process in $SECONDS_IDLE seconds: $USED"
    check "$name: nobody uses processor time, and all wake up" all_of 'status_is 0' '[ "$USED" -le $MOST ]'
    check_clean "$name" quiet
}

idle "shared memory" -n 4
idle "shared memory, where ranks may die and no cross-memory attach is" -n 4 --on-failure return -x TERN_CMA=off
if "$BIN/tern-info" | grep -q '^ *ofi '; then
    idle "network" -n 4 -x TERN_LINKS=ofi
    for provider in net sockets shm; do
        idle "network, provider $provider" -n 4 -x TERN_LINKS=ofi -x TERN_OFI_PROVIDER=$provider
    done
    idle "two hosts, where ranks may die" --hosts a:2,b:2 --agent "$AGENT" --on-failure return
fi
idle "TCP sockets" -n 4 -x TERN_LINKS=tcp
finish
