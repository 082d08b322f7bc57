# limits.sh: limits on open files and on locked memory that are too low for a job are named, once for each node.
#
# The restriction "locks" (test/support/fabric.h) stands for a network adapter, which locks registered memory.
. "$(dirname "$0")/lib.sh"
LIMIT=100

# limited LIMITS COMMAND...: run a job of which every process has these limits, set by arguments of ulimit.
limited() {
    local limits=$1
    shift
    job bash -c "ulimit $limits"' && shift && exec "$@"' sh sh "$@"
}

limited "-n 64" "$BIN/ternrun" -n 40 "$PROG/launch_job" ring
check "ternrun names the limit on open files that it needs" \
    all_of 'status_is 1' 'err_count "needs [0-9]+ open files and the limit is 64.*ulimit -n.*LimitNOFILE" 1'

limited "-n 100" env TERN_LINKS=ofi "$BIN/ternrun" -n 3 "$PROG/launch_job" ring
check "over TCP, the first rank of the node warns that files may be too few" \
    all_of 'status_is 0' 'err_count "may have 100 open files and needs up to 131.*LimitNOFILE" 1' 'err_count . 1'
limited "-Sn 100" env TERN_LINKS=ofi "$BIN/ternrun" -n 3 "$PROG/launch_job" ring
check "a soft limit is raised instead" all_of 'status_is 0' 'err_lacks .'

# The kernel exempts processes with CAP_IPC_LOCK from the limit.
plain=()
if [ "$(id -u)" = 0 ]; then
    command -v setpriv > /dev/null || skip "root is exempt from the limit on locked memory, and setpriv is missing"
    plain=(setpriv --inh-caps -ipc_lock --bounding-set -ipc_lock)
fi
adapter=(env TERN_LINKS=ofi JOB_FABRIC=locks)
limited "-l 64" ${plain[@]+"${plain[@]}"} "${adapter[@]}" "$BIN/ternrun" -n 3 "$PROG/launch_job" join
check "with a network adapter, the limit on locked memory is named" \
    all_of 'status_is 0' 'err_count "may lock 64 KiB of memory.*LimitMEMLOCK" 1'
limited "-l 64" ${plain[@]+"${plain[@]}"} "${adapter[@]}" "$BIN/ternrun" -n 2 "$PROG/launch_job" register
check "and again when a registration fails" \
    all_of 'status_is 0' 'err_has "bytes of memory cannot be registered: .*; the limit on locked memory is 64 KiB: raise it"'
if [ "$(ulimit -Hl)" = unlimited ]; then
    limited "-l unlimited" ${plain[@]+"${plain[@]}"} "${adapter[@]}" "$BIN/ternrun" -n 2 "$PROG/launch_job" ring
    check "without a limit there is nothing to say" all_of 'status_is 0' 'err_lacks .'
fi
limited "-l 64" env TERN_LINKS=ofi "$BIN/ternrun" -n 2 "$PROG/launch_job" ring
check "and nothing over TCP, which locks no memory" all_of 'status_is 0' 'err_lacks .'
check_clean "at the end"
finish
