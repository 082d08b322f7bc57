#!/bin/bash
# doctor.sh: tern-info --doctor finds each of the usual faults of a machine and of hosts, says what to do, and never
# hangs or leaves anything behind.
#
# The hosts are this one under several names: the agent drops the name and runs the command. Faults are simulated by
# agents. doctor_net.sh tests real networks.
#
# timeout: 300
# labels: tools
. "$(dirname "$0")/lib.sh"
unset "${!TERN_@}" "${!SLURM_@}" "${!PBS_@}"
INFO=$(readlink -f "$BIN/tern-info")
"$INFO" | grep -q '^  \* ' || skip "this machine has no network for several nodes"

# The agents. Each drops the name of the host, its first argument.
agent() { # name, and what it does with host and command
    printf '#!/bin/bash\nhost=$1; shift\n%s\n' "$2" > "$WORK/$1"
    chmod +x "$WORK/$1"
}
doctor() { job "$INFO" --doctor --timeout "${SECONDS_OF_STEP:-20}" --agent "$WORK/$1" --hosts "${@:2}"; }
# The output with a finding and its remedy in one line: "  FAULT  CHECK: TEXT what to do: REMEDY".
flat() { awk '/^         / { sub(/^ */, ""); line = line " " $0; next } { if (NR > 1) print line; line = $0 } END { print line }' "$WORK/out"; }
has() { flat | grep -qE -e "$1"; }
fault() { has "^  FAULT  $1.* what to do: $2"; } # a fault, and what to do
# group TITLE: the findings of a host.
group() { flat | awk -v title="$1" '/^[A-Z]/ { on = $0 == title } on'; }
lines() { [ "$(wc -l < "$WORK/$1")" -eq "$2" ]; }
lines_of() { [ "$(grep -cE "^  (OK|NOTE|FAULT) +$1: " "$WORK/out")" -ge 1 ]; }
no_faults() { ! grep -q '^  FAULT' "$WORK/out"; }

# ---- one machine ----

job "$INFO" --doctor
check "this machine: every check gives a result" all_of 'out_has "^This machine$"' 'lines_of installation' \
    'lines_of "shared memory"' 'lines_of memory' 'lines_of waiting' 'lines_of "cross-memory attach"' 'lines_of cores' \
    'lines_of "open files"' 'lines_of "locked memory"' 'lines_of processes' 'lines_of network' 'lines_of "own name"' \
    'lines_of /dev/shm'
check "this machine: the exit status says whether there is a fault" eval \
    'if no_faults; then status_is 0; else status_is 1; fi'
job "$INFO" --doctor --json
check "--json: findings and a summary" python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
assert len(o["findings"]) >= 12 and all(f["result"] in ("ok", "note", "fault") and f["text"] for f in o["findings"])
assert all(f["remedy"] for f in o["findings"] if f["result"] == "fault")
assert sum(o["summary"].values()) == len(o["findings"])' "$WORK/out"
job bash -c 'ulimit -n 40; exec "$@"' bash "$INFO" --doctor
check "too few open files" all_of 'status_is 1' 'fault "open files: A process may open 40 files" "Raise the limit in"'
job bash -c 'ulimit -f 100; exec "$@"' bash "$INFO" --doctor
check "a limit on regions" all_of 'has "^  NOTE   shared memory: .*ulimit -f limits"'
if nm "$INFO" 2> /dev/null | grep -q -e __asan_init -e __tsan_init; then
    note "ulimit -v is left out: sanitizers need the address space"
else
    job bash -c 'ulimit -v 20000000; exec "$@"' bash "$INFO" --doctor
    check "a limit on the address space" all_of 'has "^  NOTE   memory: ulimit -v limits .* to 19531 MiB.* what to do: Remove the limit"'
fi
job env TERN_MSG_CHUNK=some "$INFO" --doctor
check "an option that is refused" all_of 'status_is 1' 'fault "options: TERN_MSG_CHUNK=some cannot be used" "Correct the variable"'
job env TERN_MEMORY_KEEP=1000T "$INFO" --doctor
check "too little memory" all_of 'status_is 1' 'fault "memory: .*no region can be allocated" "End other programs"'
job env TERN_OFI_PROVIDER=none "$INFO" --doctor
check "no network is no fault of a single machine" all_of 'status_is 0' 'has "^  NOTE   network: No network reaches"'
job env PMIX_NAMESPACE=x PMIX_RANK=0 "$INFO" --doctor
check "a launcher with PMIx needs libpmix" has '^  (OK|FAULT)  *launcher: The launcher offers PMIx'

# ---- hosts in order ----

agent here 'exec "$@"'
agent below '"$@"; exit $?' # stays, as the parent of tern-info
doctor here a,b:2,c
check "hosts in order: status 0" all_of 'status_is 0' no_faults 'lines err 0' 'out_has "^Host a$"' 'out_has "^Host c$"'
check "connections and calls are tried in both directions" all_of \
    'has "^  OK     firewall: .*, in 6 trials"' 'has "^  OK     agent: .*, in 6 trials"'
check "one machine under several names is told" has '^  NOTE   hosts: a and b are the same machine'
names_loopback() { ! has "^  NOTE   own name: .* resolves to" || has "resolves to ([0-9a-f.:]+), .* instead of \\1 in"; }
check "a name that leads to a loopback address is told with that address" names_loopback
check_clean "hosts in order"
doctor below a,b
check "an agent that stays" all_of 'status_is 0' no_faults
check_clean "an agent that stays"
doctor here a:4000
check "more ranks than cores, and limits for that many" all_of 'has "^  NOTE   cores: 4000 ranks share [0-9]+ CPUs"'
doctor here "$(seq -s , -f h%g 20)"
check "many hosts: selected pairs, and a line for each host that is in order" all_of 'status_is 0' \
    '[ "$(grep -c "^  OK     In order: .*shared memory" "$WORK/out")" = 20 ]' 'has "firewall: .*, in 100 trials of selected pairs"'
check_clean "many hosts"

# ---- faults of hosts ----

only_b() { agent "$1" '[ "$host" = a ] && exec "$@"; '"$2"; }
# bad AGENT WHAT FAULT REMEDY: host b has this fault, host a is checked all the same, and the status is 1.
bad() {
    TEXT=$3 REMEDY=$4
    doctor "$1" a,b
    check "$2" all_of 'status_is 1' 'group "Host b" | grep -qE "^  FAULT  $TEXT.* what to do: $REMEDY"' \
        'group "Host a" | grep -q "^  OK     reached"' '[ "$(group "Host b" | grep -c "^  ")" = 1 ]'
    check_clean "$2" quiet
}
only_b unreachable 'echo "ssh: connect to host $host port 22: No route to host" >&2; exit 255'
bad unreachable "a host without a route" 'reached: The agent ended with status 255: .*No route to host' 'Switch on the host'
only_b denied 'echo "me@$host: Permission denied (publickey,password)." >&2; exit 255'
bad denied "a host that wants a password, and ssh may not ask" 'reached: .*Permission denied' '.*ssh-copy-id'
only_b asking 'printf "me@%s'"'"'s password: " "$host" >&2; read -r secret; sleep 1000'
bad asking "an agent that asks for a password is not waited for" "reached: The agent asks a question: me@b's password:" \
    '.*ssh-copy-id'
only_b keys 'printf "Are you sure you want to continue connecting (yes/no/[fingerprint])? " >&2; sleep 1000'
bad keys "an unknown key of a host" 'reached: The agent asks a question: .*yes/no' '.*known_hosts'
only_b named 'echo "ssh: Could not resolve hostname $host: Name or service not known" >&2; exit 255'
bad named "a name that is unknown" 'reached: .*Could not resolve hostname' 'Enter the name'
only_b closed 'echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255'
bad closed "a host without sshd" 'reached: .*Connection refused' 'Start sshd'
only_b lacking 'exec /no/such/tern-info "${@:2}"'
bad lacking "a host without Tern" 'reached: .*No such file' 'Install Tern on every host'
only_b older 'case $2 in --version) echo "tern-info 0.0.1" ;; *) echo "tern-info: unknown option $2" >&2; exit 2 ;; esac'
bad older "a host with an older tern-info, which does not know --doctor-node" 'version: It has Tern 0\.0\.1 and this is' \
    'Install the same version'
only_b newer 'echo "tern-doctor 99.0.0 5"; cat > /dev/null'
bad newer "a host with another version" 'version: It has Tern 99\.0\.0 \(layout 5\) and this is' 'Install the same version'
agent welcoming '[ "$host" = a ] || echo "Welcome to $host"; exec "$@"'
doctor welcoming a,b
check "a host whose shell prints" all_of 'status_is 1' "has \"^  FAULT  shell: Its shell prints 'Welcome to b'\"" \
    'has "\.bashrc"'
only_b killed 'kill -9 $$'
bad killed "an agent that is killed" 'reached: The agent was killed' 'Run the agent by hand'
SECONDS_OF_STEP=4
only_b silent 'exec sleep 1000'
bad silent "a host that does not answer" 'reached: No answer within 4 seconds' 'Run the agent by hand'
only_b leaving '(sleep 1000 &); echo "no more" >&2; exit 1'
bad leaving "an agent that leaves processes behind" 'reached: The agent ended with status 1: no more' 'Run the agent'
# A host that greets, and then says nothing, sends garbage, or does not stop.
HELLO="tern-doctor $("$INFO" --version | cut -d' ' -f2) $(grep -oE 'TERN_SEGMENT_LAYOUT +[0-9]+' \
    "$(dirname "$0")/../../src/boot/segment.h" | grep -oE '[0-9]+$')"
only_b mute "echo '$HELLO'; exec sleep 1000"
bad mute "a host that greets and then hangs" 'reached: No answer within 9 seconds' 'Run the agent by hand'
only_b garbage "echo '$HELLO'; head -c 100000 /dev/urandom; printf 'result connect 99 x\nresult reach -1 x\nfinding 2\nfact \n'"
doctor garbage a,b
check "a host that sends garbage does no harm" all_of 'status_is 1' 'group "Host a" | grep -q "^  OK     reached"' \
    '! grep -q "[[:cntrl:]]" <(tr -d "\n" < "$WORK/out")'
check_clean "a host that sends garbage"
SECONDS_OF_STEP=20
doctor nothing a,b
check "an agent that does not exist" all_of 'status_is 1' \
    'fault "reached: .*cannot start .*/nothing: No such file or directory" "Install the agent, or name another command"'

# ---- between hosts ----

# Hosts reach each other only from here: the second level of the agent fails.
agent inward '[ -n "$DOCTOR_INSIDE" ] && { echo "me@$host: Permission denied (publickey)." >&2; exit 255; }
DOCTOR_INSIDE=1 exec "$@"'
doctor inward a,b,c
check "ssh between hosts that fails: from which, to which, and what to do" all_of 'status_is 1' \
    'fault "agent: From a, c the agent does not reach b, .*Permission denied" ".*ssh-copy-id"'
agent inward_asks '[ -n "$DOCTOR_INSIDE" ] && { printf "password: " >&2; exec sleep 1000; }
DOCTOR_INSIDE=1 exec "$@"'
SECONDS_OF_STEP=4
doctor inward_asks a,b
check "ssh between hosts that asks for a password" all_of 'status_is 1' \
    'fault "agent: From b the agent does not reach a, .*password:" ".*ssh-copy-id"'
check_clean "ssh between hosts that asks for a password"
SECONDS_OF_STEP=20

# What host b says about itself, changed on its way.
filter() { agent "$1" '[ "$host" = a ] && exec "$@"; "$@" | sed -u '"'$2'"; }
filter foreign 's/^fact machine .*/fact machine mips64/'
doctor foreign a,b
check "another architecture" all_of 'status_is 1' 'fault "architecture: a is .* and b is mips64" "Use hosts of one"'
filter slow_clock 's/^fact clock .*/fact clock 1000.5/'
doctor slow_clock a,b
check "another clock" all_of 'status_is 0' 'has "^  NOTE   clocks: The clock of b is [0-9]+ seconds slow"'
agent poor '[ "$host" = a ] && exec "$@"; TERN_OFI_PROVIDER= exec env FI_PROVIDER=net "$@"'
doctor poor a,b
check "another provider" all_of 'status_is 1' 'fault "providers: a would use the network .* and b net" "Set TERN_OFI_PROVIDER"'
agent netless '[ "$host" = a ] && exec "$@"; exec env FI_PROVIDER=shm "$@"'
doctor netless a,b
check "a host without a network" all_of 'status_is 1' \
    'group "Host b" | grep -q "^  FAULT  network: No network reaches other hosts"'
filter elsewhere 's/^fact port .*/fact port 1/'
doctor elsewhere a,b
check "a port that is closed" all_of 'status_is 1' \
    'fault "firewall: a cannot connect to b \(.*, TCP port 1\): Connection refused" "Permit TCP between the hosts"'
agent limited '[ "$host" = a ] && exec "$@"; ulimit -n 60; exec "$@"'
doctor limited a:4,b:4
check "a limit on one host only" all_of 'status_is 1' 'group "Host b" | grep -q "^  FAULT  open files: A process may open 60"' \
    '! group "Host a" | grep -q FAULT'
agent ssh 'eval "set -- $*"; exec "$@"' # a shell reads the words, as on a host of ssh
doctor ssh localhost,ip6-localhost
check "a name that leads to the host itself" all_of 'status_is 1' \
    'fault "names: On ip6-localhost, the name localhost resolves to .*, which is not that host" "Enter the address"'
doctor ssh none.invalid,localhost
check "a name that does not resolve" has "^  NOTE   names: On localhost, the name none.invalid does not resolve"

# ---- the environment, and schedulers ----

job env TERN_OFI_PROVIDER=net "$INFO" --doctor --hosts a,b --agent "env -u TERN_OFI_PROVIDER $WORK/here"
check "hosts get the options of Tern" all_of 'status_is 0' 'has "All hosts that have a network would use net\."'
printf 'n1\nn1\nn2\n' > "$WORK/nodes"
job env PBS_NODEFILE="$WORK/nodes" "$INFO" --doctor --agent "$WORK/here"
check "the hosts of PBS" all_of 'status_is 0' 'out_has "^The hosts are those of PBS_NODEFILE\.$"' 'out_has "^Host n2$"' \
    '[ "$(grep -c "^Host " "$WORK/out")" = 2 ]'
job env PBS_NODEFILE="$WORK/none" "$INFO" --doctor
check "a file of PBS that is missing" all_of 'status_is 2' 'err_has "PBS_NODEFILE cannot be used: cannot read .*; name the hosts"'
job env SLURM_JOB_NODELIST='c[1-2]' SLURM_TASKS_PER_NODE='2(x2)' "$INFO" --doctor --agent "$WORK/here"
check "the hosts of Slurm" all_of 'status_is 0' 'out_has "^The hosts are those of SLURM_JOB_NODELIST\.$"' 'out_has "^Host c2$"' \
    '[ "$(grep -c "^Host " "$WORK/out")" = 2 ]'
job env SLURM_JOB_NODELIST='c[3-' "$INFO" --doctor --agent "$WORK/here"
check "a list that Slurm does not write" all_of 'status_is 2' \
    'err_has "SLURM_JOB_NODELIST is set to .c\[3-., and the list of nodes is not understood .*; name the hosts"'
printf 'f1 slots=2 # the first\n\nf2:1\n' > "$WORK/machines"
doctor here "@$WORK/machines,g"
check "a file with hosts, and a host" all_of 'status_is 0' 'out_has "^Host f1$"' 'out_has "^Host f2$"' 'out_has "^Host g$"'
doctor here "@$WORK/none"
check "a file with hosts that is missing" all_of 'status_is 2' 'err_has "^tern-info: --hosts: cannot read .*--help$"'
printf 'f1 cores=2\n' > "$WORK/machines"
doctor here "@$WORK/machines"
check "a line that is not understood" all_of 'status_is 2' 'err_has "line 1 of .*machines: .cores=2. is not understood"'
job env SLURM_JOB_NODELIST="$(hostname)" "$INFO" --doctor --hosts a --agent "$WORK/here"
check "--hosts is stronger than the scheduler" all_of 'out_has "^Host a$"'

# ---- an end in the middle ----

agent stuck '[ -n "$DOCTOR_INSIDE" ] && { sleep 1000 & wait; }; DOCTOR_INSIDE=1 exec "$@"'
job_start "$INFO" --doctor --timeout 60 --agent "$WORK/stuck" --hosts a,b
deep() { [ "$(for p in $(marked); do cat "/proc/$p/comm" 2> /dev/null; done | grep -c '^sleep$')" -ge 2 ]; }
check "hosts call each other" await 30 deep
kill -9 "$(for p in $(marked); do [ "$(cat "/proc/$p/comm")" = tern-info ] && grep -qsz -x -e --doctor "/proc/$p/cmdline" &&
    echo "$p"; done | head -n 1)"
job_wait
check_clean "kill -9 in the middle"
finish
