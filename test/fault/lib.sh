# lib.sh: functions shared by the fault tests. A test sources it with the two directories that it was given:
#
#     . "$(dirname "$0")/lib.sh"
#
# Every process that a test starts through `job` carries a mark in its environment, so that `check_clean` finds the
# processes that are left, under whatever parent. `check` prints one line for each promise and `finish` ends the test:
# status 1 when a promise was broken. Nothing here measures time, except to detect that something did not end at all.
#
# usual_link prints the link that serves the ranks of other hosts if no option names one: ofi if libfabric has a network
# other than TCP for several hosts, tcp otherwise.
#
# If this file is run as a script, it tests its own functions: a check that cannot fail proves nothing.
#
# labels: slow

set -u
export LC_ALL=C
ulimit -S -c 0 # a rank that crashes leaves no core file
BIN=${1:?the directory of the tools}
PROG=${2:?the directory of the test programs}
LIMIT=${FAULT_LIMIT:-60} # seconds after which a job hangs
MARK=fault-$$-${RANDOM}${RANDOM}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/tern-fault.XXXXXX") || exit 1
FAILED=0 CHECKS=0 STATUS=0 HUNG=0
: > "$WORK/out" > "$WORK/err"

cleanup() {
    local pid
    type at_exit > /dev/null 2>&1 && at_exit
    for pid in $(marked); do kill -9 "$pid" 2> /dev/null; done
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# The processes that carry the mark.
marked() {
    grep -lsa "FAULT_MARK=$MARK" /proc/[0-9]*/environ | sed 's,^/proc/,,; s,/.*,,'
}

# List /dev/shm without the files that libfabric's provider shm, which concurrent tests use, leaves behind for killed
# ranks.
shm_list() { ls -A /dev/shm 2> /dev/null | grep -vE '^[0-9]+:[0-9]+:[0-9]+$' | sort; }

# List the processes that map a memory file of Tern or have one open. As long as there is one, the system keeps the
# memory of its job. Only processes of this mount namespace count. Where that is permitted, the test has its own.
memory_holders() {
    local here pid
    here=$(readlink /proc/self/ns/mnt)
    {
        grep -lsF /memfd:tern /proc/[0-9]*/maps
        find /proc/[0-9]*/fd -lname '/memfd:tern*' 2> /dev/null
    } | cut -d/ -f3 | sort -u | while read -r pid; do
        [ "$(readlink "/proc/$pid/ns/mnt" 2> /dev/null)" != "$here" ] || echo "$pid"
    done
}

SHM_BEFORE=$(shm_list)
HOLDERS_BEFORE=$(memory_holders)

note() { printf '# %s\n' "$*"; }

pass() { CHECKS=$((CHECKS + 1)); printf 'ok %d - %s\n' "$CHECKS" "$1"; }

# Print the output of the last job with a failure.
fail() {
    CHECKS=$((CHECKS + 1)) FAILED=$((FAILED + 1))
    printf 'not ok %d - %s\n' "$CHECKS" "$1"
    printf '#   status %s\n' "$STATUS"
    sed 's/^/#   out: /' "$WORK/out" | tail -n 8 | cut -c1-300
    sed 's/^/#   err: /' "$WORK/err" | tail -n 8 | cut -c1-300
}

# check TEXT COMMAND...: the promise TEXT holds when COMMAND succeeds.
check() {
    local text=$1
    shift
    if "$@"; then pass "$text"; else fail "$text"; fi
}

# job COMMAND...: run the command with the mark. Sets STATUS and HUNG, and leaves the output in $WORK/out and
# $WORK/err.
job() {
    local start=$SECONDS
    env FAULT_MARK="$MARK" FAULT_DIR="$WORK" timeout -k 2 "$LIMIT" "$@" > "$WORK/out" 2> "$WORK/err" < /dev/null
    STATUS=$?
    HUNG=$((SECONDS - start >= LIMIT))
}

# job_start COMMAND...: run the command with the mark in the background; job_wait waits for it.
job_start() {
    rm -f "$WORK"/pid.* "$WORK"/in.*
    : > "$WORK/out" > "$WORK/err" # now: the next line does it when it gets round to it
    JOB_SINCE=$SECONDS
    env FAULT_MARK="$MARK" FAULT_DIR="$WORK" timeout -k 2 "$LIMIT" "$@" > "$WORK/out" 2> "$WORK/err" < /dev/null &
    JOB=$!
}

job_wait() {
    wait "$JOB" 2> /dev/null
    STATUS=$?
    HUNG=$((SECONDS - JOB_SINCE >= LIMIT))
}

# pid_of RANK: wait until the rank has written $FAULT_DIR/pid.RANK ("pid parent") and print its pid.
pid_of() { await_file "$WORK/pid.$1" && cut -d' ' -f1 "$WORK/pid.$1"; }
parent_of() { await_file "$WORK/pid.$1" && cut -d' ' -f2 "$WORK/pid.$1"; }

# await LIMIT_SECONDS COMMAND...: wait until the command succeeds.
await() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.02
    done
}

await_file() { await 20 test -s "$1"; }

none_marked() { [ -z "$(marked)" ]; }

memory_returned() { [ -z "$(comm -13 <(echo "$HOLDERS_BEFORE") <(memory_holders))" ]; }

not_hung() { [ "$HUNG" = 0 ]; }
status_is() { not_hung && [ "$STATUS" = "$1" ]; }
err_has() { grep -Eq -e "$1" "$WORK/err"; }
err_lacks() { ! err_has "$1"; }
out_has() { grep -Eq -e "$1" "$WORK/out"; }
err_count() { [ "$(grep -Ec -e "$1" "$WORK/err")" = "$2" ]; }
survived() { [ "$(sort -u "$WORK/out" | grep -c '^survived ')" = "$1" ]; } # so many ranks say that all promises held
all_of() { # all_of "command" "command" ...: every one succeeds
    local each
    for each; do eval "$each" || return 1; done
}

# List the new files in /dev/shm that no living process uses: other processes may be using theirs.
shm_left() {
    local name
    comm -13 <(echo "$SHM_BEFORE") <(shm_list) | while read -r name; do
        grep -qsF "/dev/shm/$name" /proc/[0-9]*/maps || [ ! -e "/dev/shm/$name" ] || echo "$name"
    done
}

shm_clean() { [ -z "$(shm_left)" ]; }

# check_clean TEXT: no process is left, and nothing new in /dev/shm.
check_clean() {
    if ! await 10 none_marked; then
        for p in $(marked); do printf '#   left: %s %s\n' "$p" "$(tr '\0' ' ' < "/proc/$p/cmdline" 2> /dev/null)"; done
        fail "$1: no process is left"
        for p in $(marked); do kill -9 "$p" 2> /dev/null; done
    elif ! await 3 shm_clean; then
        shm_left | sed 's,^,#   left: /dev/shm/,'
        fail "$1: nothing is left in /dev/shm"
        SHM_BEFORE=$(shm_list)
    else
        [ "${2:-}" = quiet ] || pass "$1: no process is left, nothing in /dev/shm"
    fi
}

# check_memory_returned TEXT: no process holds memory of a job any more, not even one without the mark.
check_memory_returned() { check "$1: shared memory went back to the system" await 10 memory_returned; }

usual_link() {
    if "$BIN/tern-info" | grep '^  \* ' | grep -vqE '^  \* (tcp|net|sockets|udp)[; ]'; then echo ofi; else echo tcp; fi
}

skip() {
    echo "1..0 # skipped: $*"
    exit 77
}

finish() {
    printf '1..%d\n' "$CHECKS"
    [ "$FAILED" = 0 ] || note "$FAILED of $CHECKS checks failed"
    [ "$FAILED" = 0 ]
    exit
}

is_root() { [ "$(id -u)" = 0 ]; }
ternrun() { job "$BIN/ternrun" "$@"; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    job_start sleep 30
    check "a process that is left is found" await 5 eval '! none_marked'
    kill "$JOB"
    job_wait
    check "and is not found when it is gone" await 5 none_marked
    (fail x) > "$WORK/self" 2>&1
    check "a broken promise is told" grep -q '^not ok 3 - x' "$WORK/self"
    (FAILED=1 CHECKS=1; trap - EXIT; finish) > /dev/null
    check "and fails the test" test $? = 1
    LIMIT=1
    job sleep 20
    check "a job that hangs is ended and told" test "$HUNG" = 1
    LIMIT=60
    job sh -c 'echo some; echo words >&2; exit 3'
    check "status and output are kept" all_of 'status_is 3' 'out_has ^some$' 'err_has ^words$' 'err_lacks some'
    check_clean "after all this"
    check_memory_returned "after all this"
    if command -v python3 > /dev/null; then
        env -u FAULT_MARK python3 -c 'import os, time; os.memfd_create("tern-arena"); time.sleep(30)' &
        check "a process that holds memory is found" await 10 eval '! memory_returned'
        kill $!
        check_memory_returned "when it has ended"
    fi
    touch "/dev/shm/$MARK"
    check "a file that is left in /dev/shm is found" test "$(shm_left)" = "$MARK"
    rm "/dev/shm/$MARK"
    finish
fi
