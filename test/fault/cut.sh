#!/bin/bash
# cut.sh: the network between hosts is cut in the middle of transfers, and mended; hosts and their ranks are stopped
# and killed.
#
# Promise: deadlines hold for operations on unreachable ranks, operations on dead ranks return TERN_ERR_PEER, and the
# other ranks continue.
#
# timeout: 300
# long: FAULT_LINK=ofi
# lock: interfaces
# labels: slow
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
. "$(dirname "$0")/lib_namespaces.sh"
. "$(dirname "$0")/lib_far.sh"
"$BIN/tern-info" | grep -q '^ *ofi ' || skip "this build has no link between nodes"
namespaces_make 3
export TERN_LINKS=shm,${FAULT_LINK:-tcp}
LIMIT=120

unreachable "an interface that goes down" 4 6 'ip -n "${HOSTS[2]}" link set eth0 down' \
    'ip -n "${HOSTS[2]}" link set eth0 up' far_start 2 3
unreachable "a cable that is pulled" 4 6 'ip link set "$NET.3" down' 'ip link set "$NET.3" up' far_start 2 3
unreachable "ranks of another host that are stopped" 4 6 'signal STOP 4 5' 'signal CONT 4 5' far_start 2 3

dead "ranks of another host that are killed" 4 137 'signal KILL 4 5' far_start 2 3
dead "the ternrun of another host that is killed" 4 1 'kill -9 "$(parent_of 4)"' far_start 2 3
check_clean "at the end"
finish
