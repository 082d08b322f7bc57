#!/bin/bash
# ternrun.sh: the promises of ternrun; each statement has its own check.
# timeout: 300
# labels: tools
#
# usage: ternrun.sh DIRECTORY-OF-TOOLS DIRECTORY-OF-TEST-PROGRAMS
#
# Prints "ok - what" or "not ok - what" for each check and exits with status 1 when any failed. The processes of a
# check are found by a mark in their environment. No check depends on the speed of the machine, but time limits end
# hung processes.
set -u -m # job control: what runs in the background takes SIGINT as in a terminal
run=$1/ternrun
rank=$2/ternrun_rank
work=$(mktemp -d) || exit 1
trap '[ "$BASHPID" != $$ ] || rm -rf "$work"' EXIT
failures=0
unset "${!TERN_@}"
ulimit -S -c 0 # a rank that crashes leaves no core file

report() { # status what
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        failures=$((failures + 1))
        { echo "  standard output:"; head -c 1500 "$work/out"; echo "  standard error:"; head -c 1500 "$work/err"; } |
            sed 's/^/    /'
    fi
}

# Run with a mark, and keep both outputs and the status. Every command must end.
count=0
go() {
    count=$((count + 1))
    mark=TERNRUN_TEST_MARK=$$.$count
    env "$mark" timeout -k 5 60 "$run" "$@" >"$work/out" 2>"$work/err"
    status=$?
}

# Run with a mark in the background; $job is ternrun's own process.
start() {
    count=$((count + 1))
    mark=TERNRUN_TEST_MARK=$$.$count
    : >"$work/out"; : >"$work/err" # now: the next line does it when it gets round to it
    env --default-signal "$mark" "$run" "$@" >"$work/out" 2>"$work/err" &
    job=$!
}

finish() { # wait for the background job, for at most 30 seconds
    { sleep 30; kill -9 "$job"; } 2>/dev/null &
    local watch=$!
    wait "$job" 2>/dev/null
    status=$?
    kill -9 -- -"$watch" 2>/dev/null
    wait "$watch" 2>/dev/null
}

# Processes with the mark that are not zombies.
marked() {
    local p
    for p in $(grep -lszF -x "$mark" /proc/[0-9]*/environ 2>/dev/null); do
        p=${p#/proc/}
        echo "${p%/environ}"
    done
}

nothing_left() { # within 10 seconds
    local i
    for i in $(seq 200); do
        [ -z "$(marked)" ] && return 0
        sleep 0.05
    done
    ps -fp "$(marked | paste -sd,)"
    return 1
}

has_left_nothing() { nothing_left; report $? "$1: no process is left"; }

eventually() { # command: succeeds within 20 seconds
    local i
    for i in $(seq 400); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

lines() { [ "$(wc -l <"$work/$1")" -eq "$2" ]; }
says() { grep -qE -- "$1" "$work/err"; }
prints() { grep -qE -- "$1" "$work/out"; }
is() { [ "$status" -eq "$1" ]; }

host=$(hostname)

# ---- command line ----

mistake() { # what is wrong, and the arguments
    local what=$1
    shift
    go "$@"
    is 2 && lines err 1 && says '^ternrun: .*--help$' && lines out 0
    report $? "usage: $what: one line, status 2"
}
mistake "no -n" true
mistake "no program" -n 2
mistake "no number" -n two true
mistake "no rank" -n 0 true
mistake "a negative number" -n -1 true
mistake "too many ranks" -n 4097 true
mistake "garbage after a number" -n 2x true
mistake "no value" -n
mistake "unknown option" -n 1 --wrong true
mistake "unknown letter" -n 1 -q true
mistake "timeout that is no number" -n 1 --timeout soon true
mistake "negative grace" -n 1 --grace -1 true
mistake "policy" -n 1 --on-failure maybe true
mistake "binding" -n 1 --bind sockets true
mistake "no binding" -n 1 --bind "" true
mistake "no cores" -n 1 --cores-per-rank 0 true
mistake "cores that are no number" -n 1 --cores-per-rank all true
mistake "more cores than there are" -n 1 --cores-per-rank 60000 true
mistake "cores for a list of cpus" -n 1 --cores-per-rank 1 --bind 0 true
mistake "cores for fair shares" -n 1 --cores-per-rank 1 --bind share true
mistake "cpu list" -n 1 --bind 0,,1 true
mistake "cpu list backwards" -n 1 --bind 3-1 true
mistake "cpu that is not there" -n 1 --bind 60000 true
mistake "-x without a name" -n 1 -x =3 true
mistake "-x of an unset variable" -n 1 -x NO_SUCH_VARIABLE_HERE true
mistake "-x TERN_BOOT" -n 1 -x TERN_BOOT=1 true
go -n 2 -x TERN_SPIN=fast true; is 2 && lines err 1 && says 'TERN_SPIN=fast'
report $? "a bad value of an option of Tern is refused once, before any rank starts"
go -n 3 -x TERN_TIMOUT=3 "$rank" join finalize; is 0 && lines err 1 && says 'did you mean TERN_TIMEOUT'
report $? "a misspelt option of Tern is warned about once"
go --help; is 0 && prints '^usage: ternrun' && lines err 0; report $? "--help"
go --version; is 0 && prints '^ternrun [0-9]+\.[0-9]+\.[0-9]+$'; report $? "--version"
go -n 4 no-such-program-here; is 127 && lines err 1 && says "no-such-program-here.*PATH"
report $? "a missing program: one line, status 127"
go -n 4 /no/such/program; is 127 && lines err 1; report $? "a missing path: one line, status 127"
go -n 4 /etc/passwd; is 126 && lines err 1; report $? "a file that is not executable: one line, status 126"
has_left_nothing "after programs that cannot be started"
(ulimit -f 1000; "$run" -n 2 true >"$work/out" 2>"$work/err"); status=$?
is 1 && lines err 1 && says 'ulimit -f'; report $? "a limit on file sizes: one line that names it, status 1"
(ulimit -n 64; "$run" -n 100 true >"$work/out" 2>"$work/err"); status=$?
is 1 && lines err 1 && says 'ulimit -n'; report $? "a limit on open files: one line that names it, status 1"
go -n 1 sh -c 'echo "$@"' sh --label -n 5; prints '^--label -n 5$'; report $? "arguments of the program are left alone"

# ---- ends ----

go -n 4 "$rank" join finalize; is 0 && lines err 0; report $? "ranks that end in order: status 0, nothing said"
go -n 4 true; is 0 && lines err 0; report $? "programs that are no Tern programs: status 0"
go -n 3 "$rank" 1:exit=3 sleep=30
is 3 && lines err 1 && says "^ternrun: rank 1 \(pid [0-9]+, host $host\) exited with status 3; ending the job$"
report $? "a rank that exits with a status: one line, that status"
go -n 3 "$rank" join all 2:signal=11 sleep=30
is 139 && lines err 2 && says '^ternrun: no core file of rank 2 ' &&
    says "rank 2 \(pid [0-9]+, host $host\) was killed by signal 11 \(Segmentation fault\); ending the job$"
report $? "a rank that crashes: one line, one about its core file, 128 + signal"
go -n 3 "$rank" join all 0:exit=0 sleep=30
is 1 && lines err 1 && says 'rank 0 .* exited without tern_finalize; ending the job$'
report $? "a rank that exits without tern_finalize: one line, status 1"
has_left_nothing "after failures"
go -n 3 "$rank" join finalize 1:exit=7; is 7 && says 'exited with status 7'
report $? "a status other than 0 after tern_finalize is a failure too"
go -n 2 "$rank" join 1:signal=9 0:loss 0:sleep=30; is 137; report $? "SIGKILL of a rank: 137"
go -n 3 --on-failure return "$rank" join all 1:signal=6 !1:loss finalize
is 134 && lines err 2 && says 'rank 1 .* \(Aborted\); the others go on$' && says 'no core file of rank 1' &&
    [ "$(grep -c '^lost 1$' "$work/out")" -eq 2 ]
report $? "--on-failure return: the others are woken, told and go on; the status is the lost rank's"
go -n 2 -x TERN_ON_FAILURE=return "$rank" join all 0:exit=5 1:loss finalize; is 5 && prints '^lost 0$'
report $? "TERN_ON_FAILURE=return does the same"
go -n 2 --on-failure return "$rank" show=TERN_ON_FAILURE; prints '^TERN_ON_FAILURE=return$'
report $? "--on-failure is in the ranks' environment"
go -n 2 "$rank" 1:exit=0 join ended finalize; is 0 && prints '^ended 1$' && lines err 0
report $? "a rank that ends in order without having joined: the others are woken and told"
go -n 4 --on-failure return "$rank" 0:exit=9 '!0:sleep=0.5' 1:exit=8 join finalize; is 9
report $? "of several failures the first gives the status"
go -n 2 --grace 0.3 "$rank" ignore=15 join all 0:exit=4 say=ready sleep=1000; is 4
report $? "a rank that ignores SIGTERM is killed after the grace period"
has_left_nothing "after a rank that ignores SIGTERM"
go -n 2 --grace 0.3 "$rank" ignore=15 ignore=18 join all 0:exit=4 stop sleep=1000; is 4
report $? "a stopped rank is ended too"
has_left_nothing "after a stopped rank"
go -n 2 "$rank" child join finalize; is 0; report $? "a child that a rank leaves behind does not hold the job"
has_left_nothing "after a child that was left behind"
go -n 2 "$rank" stray join finalize; is 0; report $? "a daemon that a rank leaves behind does not hold the job"
has_left_nothing "after a daemon"
go -n 2 --timeout 1 --grace 0.3 sh -c "trap '' TERM; sleep 1000 & wait; sleep 1000"; is 124
report $? "--timeout ends shells that ignore SIGTERM, and their children"
has_left_nothing "after shells that ignore SIGTERM"
go -n 4 --timeout 1 "$rank" join '!1:sleep=1000' finalize
is 124 && lines err 1 && says '^ternrun: timeout after 1 s: 3 of 4 ranks were still running \(0, 2-3\); ending the job$'
report $? "--timeout: one line with the ranks that were running, status 124"
has_left_nothing "after a timeout"

# ---- output ----

go -n 8 --label "$rank" lines=3000
is 0 && [ "$(wc -l <"$work/out")" -eq 24000 ] && awk '
    { r = substr($1, 2, length($1) - 2); letters = $4
      if ($1 != "[" r "]" || $2 != r || $3 != seen[r]++ || NF != 4) exit 1
      gsub(substr("abcdefgh", r + 1, 1), "", letters); if (letters != "") exit 1 }' "$work/out"
report $? "--label: 8 ranks write fast; each line is whole, labelled, and in its rank's order"
go -n 8 "$rank" lines=3000
is 0 && [ "$(wc -l <"$work/out")" -eq 24000 ] && awk '
    { r = $1; letters = $3; if ($2 != seen[r]++ || NF != 3) exit 1
      gsub(substr("abcdefgh", r + 1, 1), "", letters); if (letters != "") exit 1 }' "$work/out"
report $? "without --label lines are whole too"
go -n 4 --label "$rank" long=65000 long=65000; lines out 8 && ! grep -qvE '^\[([0-3])\] (a+|b+|c+|d+)$' "$work/out"
report $? "lines of 65000 letters are whole"
go -n 2 --label "$rank" 0:long=1000000 1:sleep=0
[ "$(tr -d '[]0 \n' <"$work/out" | wc -c)" -eq 1000000 ]; report $? "a line of a million letters loses nothing"
go -n 2 --label "$rank" part=end; lines out 2 && [ "$(sort "$work/out" | tr '\n' ,)" = "[0] end,[1] end," ]
report $? "an unfinished last line is passed on at the end"
go -n 2 sh -c 'echo out; echo err >&2'; [ "$(cat "$work/out")" = "$(printf 'out\nout')" ] && lines err 2
report $? "standard output and standard error stay apart"
count=$((count + 1)); mark=TERNRUN_TEST_MARK=$$.$count
for n in 1 4; do
    env "$mark" timeout 60 "$run" -n $n yes 2>"$work/err" | head -n 3 >"$work/out"; status=${PIPESTATUS[0]}
    is 141 && lines err 0; report $? "a reader that goes away ends a job of $n ranks in silence, status 141"
done
go -n 1 "$rank" signal=13; is 141 && says 'rank 0 .* was killed by signal 13'
report $? "SIGPIPE that has another reason is reported"
has_left_nothing "after a reader that went away"
"$run" -n 2 "$rank" say=x >/dev/full 2>"$work/err"; status=$?
is 1 && lines err 1 && says 'No space left'; report $? "output that cannot be written is reported, status 1"
# No process reads the output: the ranks have to wait, and ternrun still reacts.
mkfifo "$work/fifo"
tail -f /dev/null <"$work/fifo" &
holder=$!
count=$((count + 1)); mark=TERNRUN_TEST_MARK=$$.$count
env "$mark" "$run" -n 2 --timeout 1 --grace 0.2 yes >"$work/fifo" 2>"$work/err" &
job=$!
eventually says 'timeout after'; report $? "while nobody takes its output ternrun still keeps time"
sleep 0.5; kill -TERM "$job"; sleep 0.2; kill -TERM "$job" 2>/dev/null; finish
is 124; report $? "a signal then ends it without waiting for the reader"
kill -9 -- -"$holder"; wait "$holder" 2>/dev/null
has_left_nothing "after output that nobody took"

# The ranks and ternrun write to one pipe, which is read slowly. Labels make the buffered lines six times as long as
# what the last rank wrote, so that ternrun's own lines find the buffer full.
exec 9<>"$work/fifo"
count=$((count + 1)); mark=TERNRUN_TEST_MARK=$$.$count
mkdir "$work/up"
cat >"$work/full" <<'END'
trap '' USR1
: >"$1/$TERN_RANK"
[ "$TERN_RANK" = 11 ] || exec sleep 1000
until [ "$(ls "$1" | wc -l)" -eq 12 ]; do sleep 0.05; done
exec yes ''
END
env --default-signal "$mark" "$run" -n 12 --label --verbose sh "$work/full" "$work/up" >"$work/fifo" 2>&1 &
job=$!
: >"$work/out"
for _ in $(seq 6); do
    timeout 20 dd bs=65536 count=3 iflag=fullblock status=none <&9 >>"$work/out" || break
    for _ in 1 2 3 4 5; do sleep 0.05; kill -USR1 "$job"; done
done
kill -TERM "$job"
sed '/^end of the output$/q' <"$work/fifo" >>"$work/out" &
reader=$!
finish; echo 'end of the output' >&9; wait "$reader"; exec 9>&-
is 143 && prints '^ternrun: received signal 10 .*: passed on to 12 ranks$' &&
    ! grep -qvE '^\[11\] $|^ternrun: |^end of the output$' "$work/out"
report $? "ternrun's own lines find space in a full buffer, and no line is damaged"
has_left_nothing "after a full buffer"
variables=()
for i in $(seq 400); do variables+=(-x "LONG_$i=$(printf %0900d "$i")"); done
"$run" -n 1 --verbose "${variables[@]}" true 2>&1 | { sleep 1; grep -c '^ternrun: environment: LONG_'; } >"$work/out"
[ "$(cat "$work/out")" = 400 ]; report $? "none of ternrun's own lines is lost while nobody reads them"

# ---- input ----

count=$((count + 1)); mark=TERNRUN_TEST_MARK=$$.$count
seq 20000 | env "$mark" timeout 60 "$run" -n 3 --label "$rank" copy >"$work/out" 2>"$work/err"
[ "$(sed -n 's/^\[0\] //p' "$work/out" | cksum)" = "$(seq 20000 | cksum)" ] && ! grep -qv '^\[0\] ' "$work/out"
report $? "standard input goes to rank 0 and to no other"
go -n 2 "$rank" copy <&-; is 0; report $? "closed standard input"

# ---- environment and binding ----

OUTSIDE=kept go -n 2 -x ONE=1 -x "TWO=a b=c" -x OUTSIDE "$rank" show=ONE show=TWO show=OUTSIDE
[ "$(sort "$work/out" | uniq -c | tr -s ' ' | tr '\n' ,)" = " 2 ONE=1, 2 OUTSIDE=kept, 2 TWO=a b=c," ]
report $? "-x sets variables, several, with any value, and passes others through"
cpus=$(nproc)
first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
go -n 1 --bind core "$rank" cpus; prints "first $first"; report $? "--bind core binds one rank to the first core"
go -n 1 "$rank" cpus; prints "cpus $cpus first $first"; report $? "one rank may use all cpus"
if [ "$cpus" -ge 2 ]; then
    go -n 2 --bind core "$rank" cpus; [ "$(sort -u "$work/out" | wc -l)" -eq 2 ]
    report $? "--bind core binds two ranks to different cores"
    second=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }' |
        sed -n 2p)
    go -n 4 --label --bind "$second,$first" "$rank" cpus
    [ "$(sort "$work/out" | tr '\n' ,)" = \
      "[0] cpus 1 first $second,[1] cpus 1 first $first,[2] cpus 1 first $second,[3] cpus 1 first $first," ]
    report $? "--bind LIST: rank i gets the i-th cpu, from the start again at its end"
    taskset -c "$second" "$run" -n 1 "$rank" cpus >"$work/out" 2>"$work/err"; prints "cpus 1 first $second"
    report $? "ternrun keeps to the cpus that it may use"
    taskset -c "$second" "$run" -n 1 --bind "$first" true >"$work/out" 2>"$work/err"; status=$?
    is 2 && says "cpu $first is not among"; report $? "a cpu that ternrun may not use is refused"
fi
go -n 2 --bind none "$rank" cpus; [ "$(grep -c "^cpus $cpus " "$work/out")" -eq 2 ]; report $? "--bind none"
go -n $((cpus + 1)) "$rank" cpus; [ "$(grep -c "^cpus $cpus " "$work/out")" -eq $((cpus + 1)) ]
report $? "more ranks than cores: none is bound"
go -n $((cpus + 1)) --bind core "$rank" cpus; is 0 && says "ranks are not bound"
report $? "--bind core with more ranks than cores says that it does not bind"
go -n $((cpus * 8)) "$rank" join all finalize; is 0; report $? "eight times as many ranks as cpus"
go -n 2 --verbose -x SHOWN=yes "$rank" 1:exit=3
says 'cores' && says 'rank 0: pid [0-9]+, .*cpu' && says 'SHOWN=yes' && says 'TERN_BOOT=layout' &&
    says 'rank 1 exited with status 3 after [0-9.]+ s' && says 'the job ended with status 3 after'
report $? "--verbose: cores, pids, binding, environment, ends"

# ---- signals ----

for signal in INT TERM HUP QUIT; do
    number=$(kill -l $signal)
    start -n 3 "$rank" join all say=ready sleep=1000
    eventually lines out 3
    kill -$signal "$job"; finish
    is $((128 + number)) && lines err 1; report $? "SIG$signal is passed on: status $((128 + number)), one line"
    has_left_nothing "after SIG$signal"
done
start -n 4000 "$rank" say=ready sleep=1000 # ternrun is busy with starting them
eventually prints ready; kill -TERM "$job"; finish
is 143 && lines err 1 && [ "$(wc -l <"$work/out")" -lt 4000 ]; report $? "SIGTERM is served while ranks are started"
has_left_nothing "after SIGTERM while ranks were started"
start -n 2 --grace 1000 "$rank" ignore=2 join say=ready sleep=1000
eventually lines out 2; kill -INT "$job"; eventually says 'signal 2'; kill -INT "$job"; finish
is 130; report $? "a second SIGINT kills at once"
has_left_nothing "after two SIGINT"
start -n 2 bash -c 'trap "echo caught; exit 0" INT; echo ready; while :; do sleep 0.05; done'
eventually lines out 2; kill -INT "$job"; finish
is 130 && [ "$(grep -c caught "$work/out")" -eq 2 ]; report $? "ranks get the very signal and may end in order"
start -n 2 "$rank" join say=ready sleep=1000
eventually lines out 2; kill -TSTP "$job"
stopped() { # all but the guard
    local p
    for p in $(marked); do
        grep -q 'ternrun-guard' "/proc/$p/comm" || grep -q '^State:.T' "/proc/$p/status" || return 1
    done
}
eventually stopped; report $? "SIGTSTP stops ternrun and the ranks"
kill -CONT "$job"
running() { # nobody is stopped
    local p
    for p in $(marked); do
        ! grep -q '^State:.T' "/proc/$p/status" || return 1
    done
}
eventually running; report $? "SIGCONT lets them go on"
kill -TERM "$job"; finish
has_left_nothing "after stop and go"
: >"$work/out"
mark=TERNRUN_TEST_MARK=$$.hup
(trap '' HUP; exec env "$mark" "$run" -n 2 "$rank" join say=ready sleep=1 finalize >"$work/out" 2>"$work/err") &
job=$!
eventually lines out 2; kill -HUP "$job"; finish; is 0 && lines err 0; report $? "under nohup SIGHUP is ignored"

# ---- processes that are not of the job ----

count=$((count + 1)); mark=TERNRUN_TEST_MARK=$$.$count
env "$mark" bash -c 'for i in $(seq 150); do sleep 1000 & done; exec "$@"' bash "$run" -n 2 "$rank" join finalize >"$work/out" 2>"$work/err"
status=$?
is 0 && [ "$(marked | wc -l)" -eq 150 ]; report $? "processes that the shell started before it became ternrun go on"
# shellcheck disable=SC2046 # words
kill -9 $(marked)

# ---- ternrun itself is killed ----

killed() { # what, and the arguments
    local what=$1
    shift
    start "$@"
    eventually lines out 3
    kill -9 "$job"; wait "$job" 2>/dev/null
    nothing_left; report $? "kill -9 of ternrun: $what: no process is left"
}
killed "ranks" -n 3 "$rank" ignore=15 join say=ready sleep=1000
killed "shells" -n 3 sh -c "'$rank' join say=ready sleep=1000; echo never"
killed "shells with several children" -n 3 \
    sh -c "sleep 1000 & sleep 1000 & '$rank' join say=ready sleep=1000; echo never"
killed "shells that made groups of their own" -n 3 \
    bash -c "set -m; sleep 1000 & '$rank' join say=ready sleep=1000; echo never"
killed "daemons" -n 3 "$rank" stray child say=ready join sleep=1000
killed "stopped ranks" -n 3 "$rank" join say=ready stop
# Only their process groups show that these children belong to the job.
for damage in '' 0:damage; do
    killed "children without TERN_BOOT${damage:+, and a damaged segment}" -n 3 \
        sh -c "env -u TERN_BOOT sleep 1000 & '$rank' join all $damage say=ready sleep=1000; echo never"
done
killed "daemons, and a damaged segment" -n 3 "$rank" stray child join all 0:damage say=ready sleep=1000
killed "a job within a job" -n 1 "$run" -n 3 sh -c "'$rank' join say=ready sleep=1000; echo never"
for i in $(seq 12); do # at any moment
    start -n 4 sh -c "'$rank' join sleep=1000; echo never"
    sleep "0.00$((i * 7 % 10))"; kill -9 "$job"; wait "$job" 2>/dev/null
    nothing_left || break
done
report $? "kill -9 of ternrun while it starts ranks: no process is left"
start -n 3 "$rank" join say=ready sleep=1000
eventually lines out 3
for p in $(marked); do
    readlink "/proc/$p/fd/"*
    cat "/proc/$p/maps"
done >"$work/files"
[ -s "$work/files" ] && ! grep -F /dev/shm "$work/files"
report $? "nothing of the job is in /dev/shm"
guard=$(for p in $(marked); do grep -qs ternrun-guard "/proc/$p/comm" && echo "$p"; done)
[ -n "$guard" ] && kill -INT "$guard" && kill -TERM "$guard" && sleep 0.2 && kill -0 "$guard"
report $? "the guard survives SIGINT and SIGTERM"
[ "$(ls "/proc/$guard/fd" | wc -l)" -eq 1 ]; report $? "the guard holds no file but its pipe"
kill -9 "$job" "$guard"; wait "$job" 2>/dev/null
has_left_nothing "kill -9 of ternrun and its guard"

start -n 3 "$rank" join say=ready sleep=1000
eventually lines out 3
own=$(tr '\0' '\n' <"/proc/$(marked | tail -n 1)/environ" | sed -n 's/^TERN_BOOT=//p')
TERN_BOOT=${own%,job=*},job=1 sleep 1000 &
other=$!
TERN_BOOT=${own%,job=*} sleep 1000 &
older=$!
kill -9 "$job"; wait "$job" 2>/dev/null
nothing_left && kill -0 "$other" && kill -0 "$older"
report $? "kill -9 of ternrun: processes of other jobs whose launcher has the same number go on"
kill "$other" "$older"; wait "$other" "$older" 2>/dev/null

# ---- a rank damages the memory that it shares with ternrun ----

go -n 3 "$rank" join all 0:shrink finalize; is 0 && lines err 0 && [ "$(cat "$work/out")" = refused ]
report $? "a rank cannot take the shared memory away"
go -n 3 "$rank" stray join all 1:damage 1:exit=3 sleep=1000; is 3 && lines err 1 && says 'rank 1 .* exited with status 3'
report $? "a rank that damages the segment, and fails, is reported"
has_left_nothing "after a damaged segment"

# ---- how ranks join ----

go -n 2 bash -c "for f in 3 4 5 6 7 8 9; do eval \"exec \$f>&-\"; done; '$rank' join finalize"; is 0 && lines err 0
report $? "a wrapper that closes descriptors does no harm"
go -n 2 bash -c "for f in 3 4 5 6 7 8 9; do eval \"exec \$f</etc/passwd\"; done; '$rank' join finalize"
is 0 && lines err 0
report $? "a wrapper that uses their numbers for other files does no harm"
go -n 1 sh -c "'$rank' join finalize; '$rank' join"; is 99 && says 'env -u TERN_BOOT'
report $? "a second process of the same rank is told to unset TERN_BOOT"
go -n 1 sh -c "'$rank' join finalize && env -u TERN_BOOT '$rank' join"; is 0; report $? "which works"
go -n 2 "$run" -n 2 "$rank" join all finalize; is 0; report $? "a job within a job"
"$rank" join finalize >"$work/out" 2>"$work/err"; report $? "a program without ternrun is a job of one rank"

# ---- terminals ----

if command -v script >/dev/null; then
    terminal() { # shell text
        count=$((count + 1)); mark=TERNRUN_TEST_MARK=$$.$count; : >"$work/err"
        env "$mark" timeout -k 5 60 script -qec "$1" /dev/null </dev/null >"$work/out" 2>&1
        status=$?
    }
    terminal "'$run' -n 2 --label '$rank' tty"; prints '^\[0\] tty 011' && prints '^\[1\] tty 011'
    report $? "on a terminal the ranks' output is a terminal"
    terminal "'$run' -n 2 --label '$rank' join all 0:part=prompt: 0:sleep=4 1:sleep=2 1:say=other 0:say=answer finalize"
    tr -d '\r' <"$work/out" | tr '\n' , | grep -qF '[0] prompt:,[1] other,[0] answer,'
    report $? "on a terminal an unfinished line is shown, and closed when another rank writes"
    typing() { # shell text; what is typed comes from standard input
        count=$((count + 1)); mark=TERNRUN_TEST_MARK=$$.$count
        env "$mark" timeout -k 5 60 script -qec "$1" /dev/null >"$work/out" 2>&1
    }
    : >"$work/out"
    { eventually prints ready; echo typed; eventually prints '^\[0\] typed'; printf '\004'
      eventually prints '^done'; } |
        typing "'$run' -n 2 --label '$rank' say=ready copy; echo done"
    prints '^\[0\] typed' && prints '^done'; report $? "what is typed goes to rank 0, and so does its end"
    : >"$work/out"
    { eventually prints ready; printf '\003'; eventually prints '^status'; } |
        typing "trap : INT; '$run' -n 2 sh -c 'echo ready; sleep 1000'; echo status \$?" # not every shell outlives it
    prints 'received signal 2' && prints '^status 130'; report $? "control-C ends the job with status 130"
    has_left_nothing "after control-C"
else
    echo "ok - terminals # skipped: no script(1)"
fi

[ "$failures" -eq 0 ] || echo "$failures checks failed"
[ "$failures" -eq 0 ]
