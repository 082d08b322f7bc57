#!/bin/bash
# hosts.sh: the promises of ternrun hold on several hosts too; each statement has its own check.
#
# The hosts are this one under several names: the agent drops the name and runs the command. So the test finds here
# whatever a job leaves on any of its hosts.
#
# timeout: 300
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"

# The agents. Each drops the name of the host, its first argument.
agent() { # name, and what it does with host and command
    printf '#!/bin/bash\nhost=$1; shift\n%s\n' "$2" > "$WORK/$1"
    chmod +x "$WORK/$1"
}
agent here 'exec "$@"'
agent below '"$@"; exit $?' # stays, as the parent of ternrun
agent welcoming '[ "$host" = a ] || echo "Welcome to $host"; exec "$@"'
agent warning 'echo "warning of $host" >&2; exec "$@"'
agent unreachable '[ "$host" = a ] && exec "$@"; echo "connect to host $host: No route to host" >&2; exit 255'
agent lacking '[ "$host" = a ] && exec "$@"; exec /no/such/ternrun --node'
agent older '[ "$host" = a ] && exec "$@"; printf "RFM1\1\0\0\0\0\0\0\0\1\0\0\0\5\0\0\0%s" 0.0.1; cat > /dev/null'
agent silent '[ "$host" = a ] && exec "$@"; exec sleep 1000'
agent lying '[ "$host" = a ] && exec "$@"; "$@" | { dd bs=1 count=25 status=none; dd bs=1 count=1 status=none of=/dev/null; echo nonsense
    cat > /dev/null; }'
# Host b reports that rank 2 has left, and then that it joins.
agent forging '[ "$host" = a ] && exec "$@"; "$@" | { dd bs=1 count=25 status=none; dd bs=1 count=1 status=none of=/dev/null
    printf "RFM1\3\0\0\0\2\0\0\0\5\0\0\0\0\0\0\0RFM1\3\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0"; cat > /dev/null; }'
agent ssh 'exec sh -c "$*"' # a shell reads the words, as on a host of ssh
agent named 'HOSTNAME=$host DISPLAY=$host exec "$@"'
agent lingering 'sleep 1000 & exec "$@"'

hosts() { job "$RUN" --agent "$WORK/here" --hosts "$@"; }
hosts_start() { job_start "$RUN" --agent "$WORK/here" --hosts "$@"; }
sorted() { [ "$(sort -n "$WORK/out" | tr '\n' ' ')" = "$1" ]; }

# ---- the text of --hosts ----

mistake() { # what is wrong, and the arguments
    local what=$1
    shift
    job "$RUN" "$@"
    check "usage: $what: one line, status 2" all_of 'status_is 2' 'said "^ternrun: .*--help$"' 'lines out 0'
}
mistake "no host" --hosts '' true
mistake "an empty name" --hosts a,,b true
mistake "a comma at the end" --hosts a:2, true
mistake "a number that is none" --hosts a:two true
mistake "no number" --hosts a: true
mistake "no rank" --hosts a:0 true
mistake "too many ranks on a host" --hosts a:4097 true
mistake "a host listed twice" --hosts a:2,b:2,a:1 true
check "which is named" err_has 'host a is listed twice'
mistake "a name that is an option of the agent" --hosts -oProxyCommand=x:1 true
mistake "a blank in a name" --hosts 'a b:1' true
mistake "more ranks than the hosts take" -n 5 --hosts a:2,b:2 true
mistake "fewer ranks than hosts" -n 1 --hosts a,b true
mistake "numbers for some hosts" -n 4 --hosts a:2,b true
mistake "too many ranks" --hosts "$(seq -f 'h%g:4000' -s , 20)" true
mistake "no agent" --hosts a:2 --agent ' ' true
mistake "an agent without hosts" -n 2 --agent ssh true
mistake "no program" --hosts a:2
job "$RUN" --node
check "--node is of no use without a head: it ends, and does nothing" all_of not_hung '[ "$STATUS" -ne 0 ]'
hosts a,b --label "$RANK" join all finalize say=x
check "hosts without numbers get a rank each" all_of 'status_is 0' 'sorted "[0] x [1] x "'
hosts a,b -n 5 --label --verbose "$RANK" join all finalize say=x
check "-n spreads ranks over hosts" all_of 'status_is 0' 'sorted "[0] x [1] x [2] x [3] x [4] x "' \
    'err_has "host b: ranks 3 to 4"'
hosts a:2,b:2,c:2 -n 3 --verbose "$RANK" join all finalize
check "-n fills hosts in their order" all_of 'status_is 0' 'err_has "host a: ranks 0 to 1"' \
    'err_has "host b: ranks 2 to 2"' 'err_lacks "host c"'

# ---- this machine ----

mkdir "$WORK/bin"
printf '#!/bin/sh\necho called "$@" >&2\nexit 255\n' > "$WORK/bin/ssh" && chmod +x "$WORK/bin/ssh"
for name in localhost 127.0.0.1 '[::1]' "$(hostname)"; do
    job env PATH="$WORK/bin:$PATH" "$RUN" --hosts "$name:2" --fanout 2 "$RANK" join all finalize say=x
    check "no agent is called if the only host is $name" all_of 'status_is 0' 'lines err 0' 'lines out 2'
done
job env PATH="$WORK/bin:$PATH" "$RUN" --hosts localhost:1,b:1 "$RANK" say=x
check "of several hosts, all are called" all_of 'status_is 1' 'err_has "called .* (localhost|b) "'
job "$RUN" --hosts localhost:2 --agent "$WORK/here" --verbose "$RANK" join all finalize
check "--agent calls also this machine" all_of 'status_is 0' 'err_has "host localhost: ranks 0 to 1, called by"'

# ---- unusable hosts ----

refused() { # what is wrong, the agent, and what is said
    PATTERN=$3
    job "$RUN" --hosts a:2,b:2 --agent "$WORK/$2" --timeout 30 "$RANK" say=started
    check "$1: one line, status 1, no rank is started" all_of 'status_is 1' 'said "$PATTERN"' 'lines out 0'
    check_clean "$1" quiet
}
refused "a host that cannot be reached" unreachable \
    '^ternrun: host b: no ternrun answers there: .* status 255: connect to host b: No route to host; see tern-info --doctor --hosts b$'
refused "a host without ternrun" lacking '^ternrun: host b: no ternrun answers there: .* status 127: .*No such file'
refused "a host with another version" older '^ternrun: host b: it has ternrun 0\.0\.1 \(layout 1\) and this is '
refused "a host whose shell prints" welcoming "^ternrun: host b: its answer is not from ternrun: 'Welcome to b'"
job "$RUN" --hosts a:2,b:2 --agent "/no/such/agent -x" true
check "an agent that does not exist: one line, status 127" all_of 'status_is 127' \
    "said \"^ternrun: cannot start the agent '/no/such/agent' for host a: No such file\""
job "$RUN" --hosts a:2,b:2 --agent /etc/passwd true
check "an agent that is no program: one line, status 126" all_of 'status_is 126' 'said "cannot start the agent"'
job "$RUN" --hosts a:2,b:2 --agent "$WORK/silent" --timeout 1 "$RANK" say=started
check "a host that does not answer: --timeout ends the job" all_of 'status_is 124' \
    'said "timeout after 1 s, before the ranks were started"' 'lines out 0'
check_clean "after a host that did not answer"
job_start "$RUN" --hosts a:2,b:2 --agent "$WORK/silent" "$RANK" say=started
check "all agents are started at once" await 20 eval '[ "$(marked | wc -l)" -ge 4 ]'
kill -INT "$(heads)"; job_wait
check "control-C while hosts are called ends it" all_of 'status_is 130' 'lines out 0'
check_clean "control-C while hosts are called"
job "$RUN" --hosts a:2,b:2 --agent "$WORK/lying" --timeout 30 "$RANK" 2:say=x sleep=100
check "a host that says what makes no sense is lost" all_of 'status_is 1' \
    'said "host b is lost \(it sent an invalid message\), and with it ranks 2 to 3; ending the job$"'
check_clean "after a host that said what made no sense"
job "$RUN" --hosts a:2,b:2 --agent "$WORK/forging" --timeout 30 --on-failure return "$RANK" join 0:loss 1:loss 0:say=told \
    1:say=told 2:sleep=100 3:sleep=100 finalize
check "a host that says nonsense of its rank is lost, and the ranks of the others go on" all_of 'status_is 1' \
    'said "host b is lost \(it sent an invalid message about rank 2\), and with it ranks 2 to 3; the others go on$"' \
    'sorted "lost 2 lost 2 told told "'
check_clean "after a host that said nonsense of its rank"
hosts a:2,b:2 "$RANK" join all 2:life=1 2:sleep=0.5 finalize
check "a rank that sets its life back harms nobody" all_of 'status_is 0' 'lines err 0'
job "$RUN" --hosts a:2,b:2 --agent "$WORK/warning" "$RANK" join all finalize
check "what agents grumble before ternrun answers is not shown" all_of 'status_is 0' 'lines err 0'
job "$RUN" --hosts a:2,b:2 --agent "$WORK/warning" --verbose "$RANK" join all finalize
check "but with --verbose it is" all_of 'status_is 0' 'err_has "host b: warning of b"'

mkdir "$WORK/it's a \$HOME"
cp "$RUN" "$WORK/it's a \$HOME"
for agent in ssh here; do
    job "$WORK/it's a \$HOME/ternrun" --hosts a:2,b:2 --agent "$WORK/$agent" "$RANK" join all finalize
    check "a ternrun whose path a shell would change, called by $agent" all_of 'status_is 0' 'lines err 0'
done

# ---- ends ----

hosts a:2,b:2 "$RANK" join all finalize
check "ranks that end in order: status 0, nothing said" all_of 'status_is 0' 'lines err 0'
hosts a:2,b:2 true
check "programs that are no Tern programs: status 0" all_of 'status_is 0' 'lines err 0'
hosts a:3 "$RANK" join all finalize
check "one host" all_of 'status_is 0' 'lines err 0'
hosts a:2,b:2 "$RANK" join all 3:exit=5 sleep=1000
check "a rank that fails: one line that names its host, its status" all_of 'status_is 5' \
    'said "^ternrun: rank 3 \(pid [0-9]+, host b\) exited with status 5; ending the job$"'
check_clean "a rank that fails"
hosts a:2,b:2 "$RANK" join all 0:signal=11 sleep=1000
check "a rank that dies by a signal: 128 + signal" all_of 'status_is 139' 'lines err 2' \
    'err_has "^ternrun: no core file of rank 0 "' 'err_has "rank 0 \(pid [0-9]+, host a\) was killed by signal 11 \(Segmentation fault\); ending the job$"'
hosts a:2,b:2 "$RANK" join all 2:exit=0 sleep=1000
check "a rank that exits without tern_finalize" all_of 'status_is 1' 'said "rank 2 .* exited without tern_finalize"'
hosts a:2,b:2,c:2 --on-failure return "$RANK" join all 3:signal=9 '!3:loss' finalize
check "--on-failure return: ranks on all hosts are woken, told and go on" all_of 'status_is 137' \
    'said "rank 3 .* the others go on$"' 'sorted "lost 3 lost 3 lost 3 lost 3 lost 3 "'
hosts a:2,b:2 -x TERN_ON_FAILURE=return "$RANK" join all 0:exit=9 '!0:loss' 2:exit=8 finalize
check "of several failures the first gives the status" status_is 9
hosts a:2,b:2 "$RANK" 3:exit=0 join ended finalize
check "a rank that ends in order is told on all hosts" all_of 'status_is 0' '[ "$(grep -c "^ended" "$WORK/out")" = 3 ]'
hosts a:4,b:4 /no/such/program
check "a missing program: one line, status 127" all_of 'status_is 127' 'said "^ternrun: host [ab]: cannot start"'
hosts a:4,b:4 /etc/passwd
check "a file that is not executable: one line, status 126" all_of 'status_is 126' 'lines err 1'
hosts a:2,b:2 --bind 60000 true
check "a cpu that a host does not have: status 2" all_of 'status_is 2' 'err_has "^ternrun: host [ab]: --bind 60000"'
printf '#!/no/such/interpreter\n' > "$WORK/script" && chmod +x "$WORK/script"
hosts a:1,b:1 "$WORK/script"
check "a script without its interpreter is told from a missing one" all_of 'status_is 127' 'said "the file exists, but the interpreter"'
hosts a:1,b:1 "$WORK/missing"
check "a program that is missing on a host: what to do" said 'No such file or directory; a program must have the same path on every host$'
mkdir "$WORK/gone"
(cd "$WORK/gone" && rmdir "$WORK/gone" && "$RUN" --hosts a:2 --agent "$WORK/here" true > "$WORK/out" 2> "$WORK/err")
check "a directory that is not there: one line" said '^ternrun: '
hosts a:2,b:2 --grace 0.3 "$RANK" ignore=15 join all 3:exit=4 sleep=1000
check "ranks that ignore SIGTERM are killed after the grace period, on all hosts" status_is 4
check_clean "ranks that ignore SIGTERM"
hosts a:2,b:2 "$RANK" child join all finalize
check "children that ranks leave behind do not hold the job" status_is 0
hosts a:2,b:2 "$RANK" stray join all finalize
check "nor do daemons" status_is 0
check_clean "after what ranks left behind"
job "$RUN" --hosts a:2,b:2 --agent "$WORK/lingering" --grace 0.3 "$RANK" join all finalize
check "what an agent leaves behind does not hold the job" status_is 0
check_clean "after what agents left behind"
hosts a:2,b:2 --timeout 1 "$RANK" join all '!1:sleep=1000' finalize
check "--timeout: one line with the ranks that were running, status 124" all_of 'status_is 124' \
    'said "^ternrun: timeout after 1 s: [34] of 4 ranks were still running \((0, 2-3|0-3)\); ending the job$"'
check_clean "--timeout"

# ---- output, input, environment ----

hosts a:4,b:4 --label "$RANK" lines=3000
check "lines of all hosts are whole, labelled, and in their rank's order" all_of 'status_is 0' 'lines out 24000' 'awk "
    { r = substr(\$1, 2, length(\$1) - 2); letters = \$4
      if (\$1 != \"[\" r \"]\" || \$2 != r || \$3 != seen[r]++ || NF != 4) exit 1
      gsub(substr(\"abcdefgh\", r + 1, 1), \"\", letters); if (letters != \"\") exit 1 }" "$WORK/out"'
hosts a:1,b:1 --label "$RANK" 1:long=1000000
check "a line of a million letters loses nothing" eval '[ "$(tr -d "[]1 \n" < "$WORK/out" | wc -c)" -eq 1000000 ]'
hosts a,b --label "$RANK" part=end
check "an unfinished last line is passed on" sorted '[0] end [1] end '
hosts a,b sh -c 'echo out; echo err >&2'
check "standard output and standard error stay apart" all_of 'lines out 2' 'lines err 2' 'err_lacks out'
env FAULT_MARK="$MARK" timeout 60 "$RUN" --hosts a:2,b:2 --agent "$WORK/here" yes 2> "$WORK/err" | head -n 3 > "$WORK/out"
STATUS=${PIPESTATUS[0]} HUNG=0
check "a reader that goes away ends the job in silence, status 141" all_of 'status_is 141' 'lines err 0'
check_clean "a reader that goes away"
mkfifo "$WORK/fifo"
env FAULT_MARK="$MARK" tail -f /dev/null < "$WORK/fifo" &
HOLDER=$!
env FAULT_MARK="$MARK" "$RUN" --hosts a:2,b:2 --agent "$WORK/here" --timeout 1 --grace 0.2 yes > "$WORK/fifo" 2> "$WORK/err" &
JOB=$! JOB_SINCE=$SECONDS
check "while nobody takes its output ternrun still keeps time" await 20 err_has 'timeout after'
sleep 0.5; kill -TERM "$JOB"; sleep 0.2; kill -TERM "$JOB" 2> /dev/null; job_wait
check "a signal then ends it without waiting for the reader" status_is 124
kill -9 "$HOLDER"; wait "$HOLDER" 2> /dev/null
check_clean "output that nobody took"
seq 200000 | env FAULT_MARK="$MARK" timeout 60 "$RUN" --hosts a:2,b:2 --agent "$WORK/here" --label "$RANK" copy \
    > "$WORK/out" 2> "$WORK/err"
check "standard input goes to rank 0 and to no other, its end too" eval \
    '[ "$(sed -n "s/^\[0\] //p" "$WORK/out" | cksum)" = "$(seq 200000 | cksum)" ] && ! grep -qv "^\[0\] " "$WORK/out"'
yes | env FAULT_MARK="$MARK" timeout 60 "$RUN" --hosts a:2,b:2 --agent "$WORK/here" "$RANK" join all finalize 2> "$WORK/err"
STATUS=${PIPESTATUS[1]}
check "input that rank 0 does not read does not hold the job" status_is 0
OUTSIDE=kept hosts a,b -x ONE=1 -x 'TWO=a b=c' "$RANK" show=ONE show=TWO show=OUTSIDE
check "the environment reaches all ranks, with -x" eval '[ "$(sort "$WORK/out" | uniq -c | tr -s " " |
    tr "\n" ,)" = " 2 ONE=1, 2 OUTSIDE=kept, 2 TWO=a b=c," ]'
HOSTNAME=head DISPLAY=head job "$RUN" --hosts a,b --agent "$WORK/named" -x DISPLAY "$RANK" show=HOSTNAME show=DISPLAY
check "what belongs to a host stays there, unless -x names it" eval '[ "$(sort "$WORK/out" |
    tr "\n" ,)" = "DISPLAY=head,DISPLAY=head,HOSTNAME=a,HOSTNAME=b," ]'
(cd "$WORK" && env FAULT_MARK="$MARK" timeout 60 "$RUN" --hosts a,b --agent "$WORK/here" pwd > "$WORK/out" 2> "$WORK/err")
check "ranks start in the directory of the head" eval '[ "$(sort -u "$WORK/out")" = "$(readlink -f "$WORK")" ]'
hosts a:2,b:2 "$RANK" cpus
if [ "$(nproc)" -ge 2 ]; then
    check "ranks are bound on each host by itself" eval '[ "$(sort "$WORK/out" | uniq -c | grep -c "^ *2 cpus 1 ")" = 2 ]'
fi

# ---- signals ----

for signal in INT TERM HUP QUIT; do
    hosts_start a:2,b:2 "$RANK" join all say=ready sleep=1000
    printed 4
    kill -$signal "$(heads)"; job_wait
    EXPECTED=$((128 + $(kill -l $signal)))
    check "SIG$signal is passed on to all hosts: status $EXPECTED, one line" all_of 'status_is $EXPECTED' 'lines err 1'
    check_clean "SIG$signal" quiet
done
hosts_start a:2,b:2 --grace 1000 "$RANK" ignore=2 join all say=ready sleep=1000
printed 4; kill -INT "$(heads)"; await 20 err_has 'signal 2'; kill -INT "$(heads)"; job_wait
check "a second SIGINT kills at once" status_is 130
check_clean "two SIGINT"
hosts_start a,b bash -c 'trap "echo caught; exit 0" INT; echo ready; while :; do sleep 0.05; done'
printed 2; kill -INT "$(heads)"; job_wait
check "ranks get the very signal and may end in order" all_of 'status_is 130' '[ "$(grep -c caught "$WORK/out")" = 2 ]'
hosts_start a:2,b:2 "$RANK" join all say=ready sleep=1000
printed 4; kill -TSTP "$(heads)"
check "SIGTSTP stops ternrun and the ranks on all hosts" await 20 all_stopped
kill -CONT "$(heads)"
check "SIGCONT lets them go on" await 20 none_stopped
kill -TERM "$(heads)"; job_wait
check_clean "stop and go"

# ---- processes that are killed ----

killed_head() { # agent, what, and the program
    local agent=$1 what=$2
    shift 2
    job_start "$RUN" --hosts a:2,b:2 --agent "$WORK/$agent" "$@"
    printed 4
    kill -9 "$(heads)"; job_wait
    check_clean "kill -9 of the head: $what"
}
killed_head here "ranks" "$RANK" ignore=15 join all say=ready sleep=1000
killed_head below "agents that are parents" "$RANK" ignore=15 join all say=ready sleep=1000
killed_head here "shells with children" bash -c "set -m; sleep 1000 & '$RANK' join say=ready sleep=1000; echo never"
killed_head here "daemons" "$RANK" stray child say=ready join sleep=1000
killed_head here "stopped ranks" "$RANK" join say=ready stop
for i in $(seq 8); do # at any moment
    hosts_start a:2,b:2 "$RANK" join sleep=1000
    sleep "0.0$((i * 7 % 10))"; kill -9 $(heads) 2> /dev/null; job_wait
    check_clean "kill -9 of the head at any moment" quiet
done
pass "kill -9 of the head at any moment was tried"
hosts_start a:2,b:2 "$RANK" join all say=ready sleep=1000
printed 4; kill -9 "$(nodes | head -n 1)"; job_wait
check "kill -9 of a host's ternrun ends the job: one line, status 1" all_of 'status_is 1' \
    'said "^ternrun: host [ab] is lost \(.*killed by signal 9.*\), and with it ranks [02] to [13]; ending the job$"'
check_clean "kill -9 of a host's ternrun"
job_start "$RUN" --hosts a:2,b:2 --agent "$WORK/below" "$RANK" join all say=ready sleep=1000
printed 4
for p in $(marked); do grep -qsz "^$WORK/below" "/proc/$p/cmdline" && AGENT=$p; done
kill -9 "$AGENT"; job_wait
check "kill -9 of an agent ends the job: one line, status 1" all_of 'status_is 1' \
    'said "^ternrun: host [ab] is lost \(.*killed by signal 9.*\), and with it ranks [02] to [13]; ending the job$"'
check_clean "kill -9 of an agent"
hosts_start a:2,b:2,c:2 --on-failure return "$RANK" join all say=ready '!0:loss' '!0:say=told' 0:sleep=1000 finalize
printed 6
# Find the ternrun that started rank 0: the parent of the process whose TERN_BOOT says so.
for p in $(ranks); do
    tr '\0' '\n' < "/proc/$p/environ" | grep -q '^TERN_BOOT=.*,rank=0,' && FIRST=$(sed -n 's/^PPid:\t//p' "/proc/$p/status")
done
kill -9 "$FIRST"; job_wait
check "--on-failure return: a lost host's ranks are lost, the others are told and go on" all_of 'status_is 1' \
    'said "host a is lost .* and with it ranks 0 to 1; the others go on$"' \
    '[ "$(grep -c "^told$" "$WORK/out")" = 4 ]' '[ "$(grep -c "^lost 0$" "$WORK/out")" = 4 ]'
check_clean "--on-failure return: a lost host"
hosts_start a:2,b:2 "$RANK" join all say=ready sleep=1000
printed 4
kill -9 $(heads) $(nodes); job_wait
check_clean "kill -9 of every ternrun"

# ---- how ranks join ----

hosts a:2,b:2 bash -c "for f in \$(seq 3 20); do eval \"exec \$f>&-\"; done; exec '$RANK' join all finalize"
check "a wrapper that closes descriptors does no harm" all_of 'status_is 0' 'lines err 0'
hosts a:2,b:2 bash -c "for f in 3 4 5 6 7 8 9; do eval \"exec \$f> >(cat)\"; done; exec '$RANK' join all finalize"
check "a wrapper that uses their numbers for pipes does no harm" all_of 'status_is 0' 'lines err 0' 'lines out 0'
hosts a:1,b:1 "$RUN" -n 2 "$RANK" join all finalize
check "a job within a job" status_is 0
hosts a:1,b:1 "$RUN" --hosts c,d --agent "$WORK/here" "$RANK" join all finalize
check "several hosts within several hosts" status_is 0
hosts a:16,b:16,c:16,d:16 "$RANK" join all finalize
check "64 ranks on 4 hosts" all_of 'status_is 0' 'lines err 0'
check_clean "after all this"

# ---- terminals ----

if command -v script > /dev/null; then
    job script -qec "'$RUN' --hosts a,b --agent '$WORK/here' --label '$RANK' tty" /dev/null
    check "on a terminal the ranks' output is a terminal on every host" all_of 'out_has "^\[0\] tty 011"' \
        'out_has "^\[1\] tty 011"'
fi
finish
