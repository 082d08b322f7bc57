#!/bin/bash
# doctor_net.sh: tern-info --doctor on hosts with networks of their own (network namespaces): a firewall that drops or
# refuses connections, in one direction or in both, an interface that is down, and an address that two hosts have.
#
# The firewall is a routing rule, because every system that has network namespaces has these.
#
# timeout: 200
# lock: interfaces
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
. "$(dirname "$0")/lib_namespaces.sh"
INFO=$(readlink -f "$BIN/tern-info")
"$INFO" | grep -q '^  \* ' || skip "this machine has no network for several nodes"
namespaces_make 3
A=${HOSTS[0]} B=${HOSTS[1]} C=${HOSTS[2]}
export FI_TCP_PORT_LOW_RANGE=20000 FI_TCP_PORT_HIGH_RANGE=20100 # beside the ports of outgoing connections

doctor() { job "$INFO" --doctor --timeout 4 --agent 'ip netns exec' --hosts "$A,$B,$C"; }
# The output with a finding and its remedy in one line.
flat() { awk '/^         / { sub(/^ */, ""); line = line " " $0; next } { if (NR > 1) print line; line = $0 } END { print line }' "$WORK/out"; }
has() { flat | grep -qE -e "$1"; }
faults() { [ "$(grep -c '^  FAULT' "$WORK/out")" = "$1" ]; }

# firewall HOST: HOST drops connections from other hosts to its ports.
firewall() {
    ip -n "$1" rule add pref 100 lookup local && ip -n "$1" rule del pref 0 &&
        ip -n "$1" rule add pref 10 iif eth0 ipproto tcp dport 20000-20100 blackhole
}
no_firewall() { ip -n "$1" rule del pref 10 && ip -n "$1" rule add pref 0 lookup local && ip -n "$1" rule del pref 100; }

doctor
check "hosts with a network between them: no fault" all_of 'status_is 0' 'faults 0' \
    'has "^  OK     firewall: .* in both directions, in 6 trials"' \
    'has "^  OK     network: .* with the address 10\.77\.0\.3\.$"'
check "hosts with networks of their own are not the same machine" eval '! has "the same machine"'
check_clean "no fault"

if firewall "$B" 2> "$WORK/err"; then
    doctor
    check "a firewall that drops connections: to which host, from which, and what to do" all_of 'status_is 1' 'faults 1' \
        "has '^  FAULT  firewall: $A, $C cannot connect to $B \(10\.77\.0\.2, TCP port 20[01][0-9][0-9]\): no answer within 4 seconds\..* what to do: Permit TCP between the hosts in the firewall of $B, on the ports 20000 to 20100'"
    check_clean "a firewall that drops connections"
    no_firewall "$B"
    ip -n "$A" route add prohibit 10.77.0.3/32
    doctor
    check "a firewall that refuses connections: the reason of the system" all_of 'status_is 1' \
        "has '^  FAULT  firewall: $A cannot connect to $C \(.*\): (No route to host|Permission denied)\.'"
    ip -n "$A" route del prohibit 10.77.0.3/32
    doctor
    check "without the firewall, all is well" all_of 'status_is 0' 'faults 0'
else
    note "no routing rules for ports here: $(tail -n 1 "$WORK/err")"
fi

job env -u FI_TCP_PORT_LOW_RANGE -u FI_TCP_PORT_HIGH_RANGE "$INFO" --doctor --timeout 4 --agent 'ip netns exec' --hosts "$A,$B"
check "ports that the system chooses" all_of 'status_is 0' 'has "^  OK     firewall: .*, in 2 trials"'

ip link set "$NET.3" down
doctor
check "a cable that is pulled: the host is reached through the agent only" all_of 'status_is 1' \
    "has '^  FAULT  .*(cannot connect to $C|No network reaches other hosts)'" 'has "^  OK     reached"'
ip link set "$NET.3" up
ip -n "$C" addr del 10.77.0.3/24 dev eth0
doctor
check "a host without an address" all_of 'status_is 1' 'has "^  FAULT  network: No network reaches other hosts"'
ip -n "$C" addr add 10.77.0.1/24 dev eth0 # the address of host A, as a bridge for containers has it on every host
doctor
check "an address that two hosts have" all_of 'status_is 1' \
    "has '^  FAULT  addresses: $A and $C both have the address 10\.77\.0\.1\..* what to do: .*TERN_OFI_DOMAIN'"
job "$INFO" --doctor --timeout 4 --agent 'ip netns exec' --hosts "$A,$NET-none"
check "a namespace that does not exist" all_of 'status_is 1' 'has "^  FAULT  reached: The agent ended with status [0-9]+: .*$NET-none"'
check_clean "at the end"
finish
