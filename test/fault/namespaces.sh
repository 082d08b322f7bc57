#!/bin/bash
# namespaces.sh: a job on hosts that share no network but the one between them: network namespaces, each with its own
# interface, joined by a bridge. ternrun reaches them by 'ip netns exec'.
#
# timeout: 300
# lock: interfaces
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
. "$(dirname "$0")/lib_namespaces.sh"
namespaces_make 4

# A host that is up refuses the connection; a host that is not does not answer.
reaches() { # from, number of the other
    ip netns exec "$1" bash -c ": < /dev/tcp/10.77.0.$2/9" 2>&1 | grep -q 'Connection refused'
}
check "the hosts have a network of their own" all_of 'reaches "${HOSTS[0]}" 2' 'reaches "${HOSTS[3]}" 1' \
    '! reaches "${HOSTS[1]}" 9'
for n in 2 4; do
    far 2 $n --label "$RANK" join all finalize say=x
    check "$n hosts: ranks find each other and end in order" all_of 'status_is 0' 'lines err 0' "lines out $((2 * n))"
    far 1 $n --label ip -o -4 addr show dev eth0
    WANTED=$n
    check "$n hosts: each rank runs in the namespace of its host" eval \
        '[ "$(sed -n "s/^\[\([0-9]\)\].*inet 10\.77\.0\.\([0-9]\)\/.*/\1 \2/p" "$WORK/out" | awk "\$2 == \$1 + 1" | wc -l)" = $WANTED ]'
    far 2 $n "$RANK" join all $((2 * n - 1)):exit=5 sleep=1000
    check "$n hosts: a rank that fails ends the job everywhere" all_of 'status_is 5' \
        "said \"rank $((2 * n - 1)) .pid [0-9]+, host ${HOSTS[n - 1]}. exited with status 5; ending the job\""
    far 2 $n --on-failure return "$RANK" join all 1:signal=9 '!1:loss' finalize
    check "$n hosts: or is told everywhere" all_of 'status_is 137' "[ \"\$(grep -c '^lost 1\$' '$WORK/out')\" = $((2 * n - 1)) ]"
    far_start 2 $n "$RANK" ignore=15 join all say=ready sleep=1000
    await 20 lines out $((2 * n))
    kill -9 "$(nodes | head -n 1)"; job_wait
    check "$n hosts: kill -9 of a host's ternrun ends the job" all_of 'status_is 1' 'said "^ternrun: host .* is lost"'
    check_clean "$n hosts: kill -9 of a host's ternrun"
    far_start 2 $n "$RANK" ignore=15 join all say=ready sleep=1000
    await 20 lines out $((2 * n))
    kill -9 "$(heads)"; job_wait
    check_clean "$n hosts: kill -9 of the head"
done
job "$RUN" --agent 'ip netns exec' --hosts "${HOSTS[0]}:1,$NET-none:1" "$RANK" say=started
check "a namespace that does not exist: one line, nothing started" all_of 'status_is 1' \
    "said \"^ternrun: host $NET-none: no ternrun answers there: ip ended with status [0-9]+: \"" 'lines out 0'
check_clean "a namespace that does not exist"
finish
