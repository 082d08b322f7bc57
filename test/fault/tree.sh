#!/bin/bash
# tree.sh: hosts that call other hosts: the promises of ternrun on several hosts hold on every level of the tree. Many
# ranks of one host, which several processes start: they start as if ternrun had started each of them.
#
# The hosts are this one under several names, as in hosts.sh. With --fanout 2, 14 hosts are a tree of three levels:
# ternrun calls h01 and h08; h01 calls h02 and h05, and h08 calls h09 and h12; each of these four calls the two hosts
# after it.
#
# timeout: 300
# labels: slow
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"

agent() { # name, and what it does with host and command
    printf '#!/bin/bash\nhost=$1; shift\nexport TREE_HOST=$host\n%s\n' "$2" > "$WORK/$1"
    chmod +x "$WORK/$1"
}
agent here 'exec "$@"'
agent below '"$@"; exit $?' # stays, as the parent of ternrun
agent unreachable '[ "$host" != "$WRONG" ] && exec "$@"; echo "connect to host $host: No route to host" >&2; exit 255'
agent older '[ "$host" != "$WRONG" ] && exec "$@"; printf "RFM1\1\0\0\0\0\0\0\0\1\0\0\0\5\0\0\0%s" 0.0.1; cat > /dev/null'
agent welcoming '[ "$host" != "$WRONG" ] && exec "$@"; echo "Welcome to $host"; exec "$@"'
agent warning 'echo "warning of $host" >&2; exec "$@"'
agent lingering 'sleep 1000 & exec "$@"'
# The rank of the host reports that it has left, and then that it joins.
agent forging '[ "$host" != h03 ] && exec "$@"; "$@" | { dd bs=1 count=25 status=none; dd bs=1 count=1 status=none of=/dev/null
    printf "RFM1\3\0\0\0\2\0\0\0\5\0\0\0\0\0\0\0RFM1\3\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0"; cat > /dev/null; }'
HOSTS=$(seq -f 'h%02g' -s , 14)
MANY=$(seq -f 'h%02g:2' -s , 40)
tree() { job "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/here" "$@"; }
tree_start() { job_start "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/here" "$@"; }
all_lines() { [ "$(sort -n "$WORK/out" | tr '\n' ' ')" = "$1" ]; }
numbers() { seq -f "$1" -s ' ' 0 "$2"; }
# The ternrun on a host: a node whose environment has the name that the agent has set.
node_of() { local p; for p in $(nodes); do grep -qsz -x "TREE_HOST=$1" "/proc/$p/environ" && echo "$p"; done; }

# ---- the option ----

mistake() { # what is wrong, and the arguments
    local what=$1
    shift
    job "$RUN" "$@"
    check "usage: $what: one line, status 2" all_of 'status_is 2' 'said "^ternrun: .*--fanout.*--help$"' 'lines out 0'
}
mistake "--fanout without hosts" -n 2 --fanout 4 true
mistake "--fanout 1 would be a chain" --hosts a,b --fanout 1 true
mistake "--fanout of no number" --hosts a,b --fanout few true
mistake "--fanout of a negative number" --hosts a,b --fanout=-1 true
mistake "--fanout of a large number" --hosts a,b --fanout 5000 true
tree --verbose "$RANK" join all finalize
check "--fanout: ternrun calls as many hosts, and these call the others" all_of 'status_is 0' \
    'err_count "called by process" 2' 'err_has "host h01: ranks 0 to 0, called by process"' \
    'err_has "host h05: ranks 4 to 4, called by host h01"' 'err_has "host h03: ranks 2 to 2, called by host h02"' \
    'err_has "host h14: ranks 13 to 13, called by host h12"'
job "$RUN" --fanout 0 --hosts "$HOSTS" --agent "$WORK/here" --verbose true
check "--fanout 0: ternrun calls all hosts" err_count "called by process" 14
job "$RUN" --hosts "$(seq -f 'h%02g' -s , 33)" --agent "$WORK/here" --verbose true
check "the default calls 32 hosts" all_of 'status_is 0' 'err_count "called by process" 32' 'err_count "called by host h01" 1'

# ---- jobs that work ----

job "$RUN" --fanout 3 --hosts "$MANY" --agent "$WORK/here" --label "$RANK" join all finalize say=x
check "80 ranks on 40 hosts join, meet and end" all_of 'status_is 0' 'lines err 0' \
    '[ "$(sort -n -t "[" -k 2 "$WORK/out" | tr "\n" " ")" = "$(numbers "[%g] x" 79) " ]'
tree --label "$RANK" lines=1000
check "lines are whole, labelled, and in their rank's order" all_of 'status_is 0' 'lines out 14000' 'awk "
    { r = substr(\$1, 2, length(\$1) - 2)
      if (\$1 != \"[\" r \"]\" || \$2 != r || \$3 != seen[r]++ || NF != 4) exit 1 }" "$WORK/out"'
tree --output "$WORK/files" "$RANK" lines=10
check "--output: a file for each rank" all_of 'status_is 0' '[ "$(cat "$WORK"/files/rank.*.out | wc -l)" = 140 ]' \
    '[ "$(wc -l < "$WORK/files/rank.13.out")" = 10 ]'
seq 50000 | env FAULT_MARK="$MARK" timeout 60 "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/here" --label "$RANK" copy \
    > "$WORK/out" 2> "$WORK/err"
check "standard input goes to rank 0 and to no other, its end too" eval \
    '[ "$(sed -n "s/^\[0\] //p" "$WORK/out" | cksum)" = "$(seq 50000 | cksum)" ] && ! grep -qv "^\[0\] " "$WORK/out"'
env FAULT_MARK="$MARK" timeout 60 "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/here" yes 2> "$WORK/err" |
    { head -n 3 > "$WORK/out"; sleep 0.5; }
STATUS=${PIPESTATUS[0]} HUNG=0
check "a reader that goes away ends the job in silence, status 141" all_of 'status_is 141' 'lines err 0'
job "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/warning" "$RANK" join all finalize
check "what agents write before ternrun answers is not shown" all_of 'status_is 0' 'lines err 0'
job "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/lingering" --grace 0.3 "$RANK" join all finalize
check "what agents leave behind does not hold the job" status_is 0
check_clean "after jobs that worked"

# ---- ends ----

for r in 0 1 2 13; do # levels 1, 2 and 3
    tree "$RANK" join all $r:exit=5 sleep=1000
    H=$(printf 'h%02d' $((r + 1)))
    check "rank $r fails: one line that names its host, its status" all_of 'status_is 5' \
        'said "^ternrun: rank $r \(pid [0-9]+, host $H\) exited with status 5; ending the job$"'
done
tree --on-failure return "$RANK" join all 2:signal=9 '!2:loss' finalize
check "--on-failure return: ranks on all hosts are told and go on" all_of 'status_is 137' \
    'said "rank 2 .* the others go on$"' '[ "$(grep -c "^lost 2$" "$WORK/out")" = 13 ]'
tree /no/such/program
check "a missing program: status 127" all_of 'status_is 127' 'said "^ternrun: host h[0-9]+: cannot start"'
check_clean "after ranks that failed"

# ---- unusable hosts ----

for WRONG in h08 h09 h11; do
    export WRONG
    case $WRONG in
    h08) CALLED= BEHIND='; the hosts behind it are h09, h10, h11, h12, h13, h14' ;;
    h09) CALLED=' \(host h08 called it; .*--fanout 0.*\)' BEHIND='; the hosts behind it are h10, h11' ;;
    *) CALLED=' \(host h09 called it; .*--fanout 0.*\)' BEHIND= ;;
    esac
    job "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/unreachable" --timeout 30 "$RANK" say=started
    check "$WRONG cannot be reached: one line, status 1, no rank is started" all_of 'status_is 1' 'lines out 0' \
        'said "^ternrun: host $WRONG: no ternrun answers there: .* status 255: connect to host $WRONG: No route to host; see tern-info --doctor --hosts $WRONG$CALLED$BEHIND$"'
done
job "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/older" --timeout 30 "$RANK" say=started
check "a host with another version is named" all_of 'status_is 1' 'lines out 0' \
    'said "^ternrun: host h11: it has ternrun 0\.0\.1 \(layout 1\) and this is "'
job "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/welcoming" --timeout 30 "$RANK" say=started
check "a host whose shell prints is named" all_of 'status_is 1' 'lines out 0' \
    "said \"^ternrun: host h11: its answer is not from ternrun: 'Welcome to h11'\""
job "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/forging" --timeout 30 --on-failure return "$RANK" join '!2:loss' finalize
check "a host that says nonsense of its rank is lost alone" all_of 'status_is 1' '[ "$(grep -c "^lost 2$" "$WORK/out")" = 13 ]' \
    'said "host h03 is lost \(it sent an invalid message about rank 2\), and with it ranks 2 to 2; the others go on$"'
check_clean "after unusable hosts"

# ---- signals ----

tree_start --grace 1000 "$RANK" join all say=ready sleep=1000
printed 14; kill -INT "$(heads)"; job_wait
check "SIGINT ends the ranks on all hosts" all_of 'status_is 130' 'said "received signal 2"'
tree_start bash -c 'trap "echo usr1" USR1; trap "echo usr2; exit 0" USR2; echo ready; while :; do sleep 0.05; done'
printed 14; kill -USR1 "$(heads)"; printed 28; kill -USR2 "$(heads)"; job_wait
check "SIGUSR1 and SIGUSR2 reach every rank once" all_of 'status_is 0' '[ "$(grep -c ^usr1 "$WORK/out")" = 14 ]' \
    '[ "$(grep -c ^usr2 "$WORK/out")" = 14 ]'
is_state() { grep -q "^State:.$1" "/proc/$2/status" 2> /dev/null; }
all_stopped() { local p; for p in $(ranks) $(heads); do is_state T "$p" || return 1; done; }
none_stopped() { local p; for p in $(marked); do ! is_state T "$p" || return 1; done; }
tree_start "$RANK" join all say=ready sleep=1000
printed 14; kill -TSTP "$(heads)"
check "SIGTSTP stops the ranks on all hosts" await 20 all_stopped
kill -CONT "$(heads)"
check "SIGCONT lets them go on" await 20 none_stopped
kill -TERM "$(heads)"; job_wait
check_clean "signals"

# ---- processes that are killed ----

for AGENT in here below; do
    job_start "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/$AGENT" "$RANK" ignore=15 join all say=ready sleep=1000
    printed 14; kill -9 "$(heads)"; job_wait
    check_clean "kill -9 of the head: agents that are $AGENT"
done
for i in 1 2 3 4; do # at any moment
    tree_start "$RANK" join sleep=1000
    sleep "0.$((i * 7 % 10))"; kill -9 $(heads) 2> /dev/null; job_wait
    check_clean "kill -9 of the head at any moment" quiet
done
pass "kill -9 of the head at any moment was tried"
lost() { # host, its ranks, and the hosts behind it
    tree_start "$RANK" join all say=ready sleep=1000
    printed 14; kill -9 "$(node_of "$1")"; job_wait
    LOST="^ternrun: host $1 is lost \\(.*killed by signal 9.*\\), and with it ranks $2${3:+ and the hosts behind it: $3}; ending the job\$"
    check "kill -9 of the ternrun on $1 ends the job, and its hosts are named" all_of 'status_is 1' 'said "$LOST"'
    check_clean "kill -9 of the ternrun on $1"
}
lost h01 '0 to 6' 'h02, h03, h04, h05, h06, h07'
lost h09 '8 to 10' 'h10, h11'
lost h07 '6 to 6'
tree_start --on-failure return "$RANK" join all say=ready '0:loss' '0:say=told' '1:loss' '1:say=told' 0:sleep=0.5 7:sleep=1000 finalize
printed 14; kill -9 "$(node_of h08)"; job_wait
check "--on-failure return: the ranks of lost hosts are lost, and others go on" all_of 'status_is 1' \
    'said "host h08 is lost .*, and with it ranks 7 to 13 and the hosts behind it: h09, .*; the others go on$"' \
    '[ "$(grep -c "^told$" "$WORK/out")" = 2 ]'
check_clean "--on-failure return: lost hosts"
job_start "$RUN" --fanout 2 --hosts "$HOSTS" --agent "$WORK/below" "$RANK" join all say=ready sleep=1000
printed 14
for p in $(marked); do grep -qsz "^$WORK/below" "/proc/$p/cmdline" && grep -qsz -x h09 "/proc/$p/cmdline" && VICTIM=$p; done
kill -9 "$VICTIM"; job_wait
check "kill -9 of an agent ends the job" all_of 'status_is 1' 'said "host h09 is lost .*killed by signal 9.* h10, h11; ending the job$"'
check_clean "kill -9 of an agent"
tree_start "$RANK" join all say=ready sleep=1000
printed 14; kill -9 $(heads) $(nodes); job_wait
check_clean "kill -9 of every ternrun"

# ---- many ranks of one host, which are started in parallel ----

job "$RUN" -n 100 --label sh -c 'echo $PPID $(ps -o pgid= -p $$) $$ $TERN_RANK'
check "100 ranks: each is a child of ternrun, leads its process group, and has its own number" all_of 'status_is 0' \
    'lines out 100' 'lines err 0' 'awk "{ parent[\$2] = 1; if (\$3 != \$4 || \$1 != \"[\" \$5 \"]\" || seen[\$5]++) exit 1 }
    END { n = 0; for (p in parent) n++; exit n != 1 }" "$WORK/out"'
job "$RUN" -n 40 -x A=first sh -c 'echo ${A-none}' : -n 40 sh -c 'echo ${A-none}' : -n 20 -x A=third sh -c 'echo $A'
check "variables of one program do not reach the ranks of another" eval '[ "$(sort "$WORK/out" | uniq -c |
    tr -s " " | tr "\n" ,)" = " 40 first, 40 none, 20 third," ]'
job "$RUN" -n 100 --prefix 'env A=%r' sh -c '[ "$A" = "$TERN_RANK" ]'
check "--prefix of 100 ranks" status_is 0
job "$RUN" -n 50 true : -n 50 /no/such/program
check "a missing program among many ranks: one line, status 127" all_of 'status_is 127' "said \"cannot start '/no/such/program'\""
job "$RUN" -n 100 --wdir "$WORK/nowhere" true
check "a missing directory: one line" all_of 'status_is 1' 'said "cannot start rank 0 in the directory"'
(cd "$WORK" && ulimit -n 120 && job "$RUN" -n 100 true; exit "$STATUS")
STATUS=$?
check "too few open files: one line" all_of 'status_is 1' 'said "the job needs .* open files"'
job "$RUN" -n 100 --output "$WORK/hundred" "$RANK" join all 57:exit=3 sleep=1000
check "one of 100 ranks fails" all_of 'status_is 3' 'said "rank 57 .* exited with status 3; ending the job$"'
check_clean "100 ranks"
for i in 1 2 3 4; do # at any moment
    job_start "$RUN" -n 100 "$RANK" ignore=15 join sleep=1000
    await 5 eval '[ -n "$(heads)" ]'; sleep "0.0$((i * 3 % 10))"; kill -9 $(heads) 2> /dev/null; job_wait
    check_clean "kill -9 of ternrun while it starts ranks" quiet
    job_start "$RUN" -n 100 --grace 0.5 "$RANK" ignore=15 join sleep=1000
    await 5 eval '[ -n "$(heads)" ]'; sleep "0.0$((i * 3 % 10))"; kill -INT $(heads | head -n 1); job_wait
    [ "$STATUS" = 130 ] || fail "SIGINT while ternrun starts ranks: status 130"
    check_clean "SIGINT while ternrun starts ranks" quiet
done
pass "signals while ternrun starts ranks were tried"
# The process that starts ranks is a child of ternrun that has its name.
starter() { local p; for p in $(heads); do grep -qs "^PPid:.$1\$" "/proc/$p/status" && echo "$p" && return; done; return 1; }
for i in 1 2 3; do
    job_start "$RUN" -n 400 --timeout 30 "$RANK" join all finalize
    await 5 eval '[ -n "$(heads)" ]'; HEAD=$(heads | head -n 1)
    await 3 eval 'VICTIM=$(starter "$HEAD") || ! kill -0 "$HEAD" 2> /dev/null'
    [ -z "${VICTIM:-}" ] || kill -9 "$VICTIM" 2> /dev/null
    job_wait
    [ "$STATUS" = 0 ] || { [ "$STATUS" = 1 ] && said 'cannot start rank [0-9]+: the process that was to start it was killed'; } ||
        fail "kill -9 of a process that starts ranks: the job ends"
    check_clean "kill -9 of a process that starts ranks" quiet
done
pass "kill -9 of a process that starts ranks was tried"
finish
