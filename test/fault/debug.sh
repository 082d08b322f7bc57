#!/bin/bash
# debug.sh: ranks under a command, under gdb and under valgrind; core files and backtraces of ranks that crash.
#
# Checks that need gdb, valgrind, tmux or python3 are left out where those are not installed.
#
# timeout: 300
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
. "$(dirname "$0")/lib_terminal.sh"
CRASH=$(readlink -f "$PROG/crash_job")
unset TMUX DISPLAY DEBUGINFOD_URLS
# The address sanitizer would suppress core files, and cannot look for leaks in a process that gdb traces.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}disable_coredump=0:detect_leaks=0
printf '#!/bin/bash\nshift\nexec "$@"\n' > "$WORK/here" && chmod +x "$WORK/here"
HOSTS="--hosts a:2,b:2 --agent $WORK/here"
cd "$WORK" || exit 1
has() { command -v "$1" > /dev/null; }
sorted() { [ "$(sort "$WORK/out" | tr '\n' ,)" = "$1" ]; }

mistake() { # what is wrong, the reason, and the arguments
    local what=$1 reason=$2
    shift 2
    job "$RUN" "$@"
    check "usage: $what: one line, status 2" all_of 'status_is 2' 'said "^ternrun: .*--help$"' 'lines out 0' \
        "err_has '$reason'"
}

# ---- --prefix ----

mistake "--prefix without a command" 'names no command' -n 2 --prefix '' true
mistake "--prefix of blanks" 'names no command' -n 2 --prefix '  ' true
mistake "--prefix without a value" 'needs a value' -n 2 --prefix
mistake "an unknown escape" '%x is no escape' -n 2 --prefix 'env A=%x' true
mistake "a percent sign at the end" 'is no escape' -n 2 --prefix 'env A=%' true
mistake "an open quote" 'quote is not closed' -n 2 --prefix "env 'A=1" true
HOST=$(hostname)
job "$RUN" -n 2 --prefix "env 'A=x  y' R=%r N=%n H=%h P=%%r" sh -c 'echo "$A $R $N $H $P"'
check "--prefix: each rank runs under the command, with its escapes" all_of 'status_is 0' 'lines err 0' \
    'sorted "x  y 0 2 $HOST %r,x  y 1 2 $HOST %r,"'
job "$RUN" $HOSTS --prefix 'env R=%r N=%n' sh -c 'echo "$R $N"'
check "--prefix on several hosts" all_of 'status_is 0' 'sorted "0 4,1 4,2 4,3 4,"'
job "$RUN" -n 2 --prefix "env ''" "$RANK" join all finalize say=x
check "--prefix: an empty word is a word" all_of '[ "$STATUS" -ne 0 ]' not_hung
job "$RUN" -n 2 --prefix 'nice -n 1' "$RANK" join all finalize
check "--prefix: the ranks join" all_of 'status_is 0' 'lines err 0'
job "$RUN" -n 2 --prefix no-such-command true
check "--prefix: a missing command: one line, status 127" all_of 'status_is 127' \
    "said \"cannot start 'no-such-command'.*PATH\""
job "$RUN" $HOSTS --prefix no-such-command true
check "--prefix: a missing command on a host: status 127" all_of 'status_is 127' "err_has \"cannot start 'no-such-command'\""
check_clean "--prefix"

# ---- core files ----

job "$RUN" -n 3 "$CRASH" 1 segv
check "a rank that crashes without a core file: the line of its end, and how to get one" all_of 'status_is 139' \
    'lines err 2' 'err_has "^ternrun: rank 1 .*killed by signal 11 .*; ending the job$"' \
    'err_has "^ternrun: no core file of rank 1 .*ulimit -c unlimited.*--gdb 1"'
job "$RUN" $HOSTS "$CRASH" 3 abort
check "the same on several hosts" all_of 'status_is 134' 'lines err 2' 'err_has "no core file of rank 3 .*on this host"'
job "$RUN" -n 3 --on-failure return "$RANK" join all '!0:signal=11' 0:loss 0:sleep=0.3 finalize
check "of several crashes, only the first is explained" all_of 'status_is 139' 'err_count "killed by signal 11" 2' \
    'err_count "no core file" 1'
job "$RUN" -n 2 "$RANK" join all 1:signal=9 sleep=1000
check "a rank that was killed has not crashed: one line" all_of 'status_is 137' 'lines err 1'

PATTERN=$(cat /proc/sys/kernel/core_pattern)
case $PATTERN in
\|* | /*) note "core files are not written to the directory of the job ($PATTERN): these checks are left out" ;;
*)
    if ulimit -S -c unlimited 2> /dev/null; then
        job "$RUN" -n 3 "$CRASH" 1 segv
        check "the place of a core file is named" all_of 'status_is 139' 'err_has "^ternrun: core file of rank 1: $WORK/"' \
            'test -s "$(sed -n "s/^ternrun: core file of rank 1: //p" "$WORK/err")"'
        if has gdb; then
            check "a backtrace follows, once" all_of 'err_count "backtrace of rank 1:$" 1' \
                'err_count "^ternrun:   #0 .*crash_inner" 1' 'err_count "^ternrun:   #1 .*crash_outer" 1'
        fi
        rm -f "$WORK"/*core*
        job "$RUN" $HOSTS "$CRASH" 3 abort
        check "the place of a core file on another host is named" err_has "^ternrun: core file of rank 3: $WORK/"
        if has gdb; then
            check "a backtrace of a rank on another host" all_of 'err_count "^ternrun: host b: backtrace of rank 3:$" 1' \
                'err_has "^ternrun: host b:   #[0-9]+ .*crash_inner"'
        fi
        rm -f "$WORK"/*core*
        mkdir "$WORK/bin" "$WORK/elsewhere"
        printf '#!/bin/sh\necho "#0 slow"; exec sleep 1000\n' > "$WORK/bin/gdb" && chmod +x "$WORK/bin/gdb"
        job env PATH="$WORK/bin:$PATH" "$RUN" -n 2 "$CRASH" 1 segv
        check "a gdb that hangs does not hold the job" all_of 'status_is 139' 'err_has "gdb takes too long.*gdb .*crash_job "'
        check_clean "a gdb that hangs"
        rm -rf "$WORK/bin" "$WORK"/*core*
        job "$RUN" -n 2 sh -c 'cd elsewhere && exec "$@"' sh "$CRASH" 1 segv
        check "a rank that changed its directory: its core file is not found, which is told" all_of 'status_is 139' \
            'err_has "core file of rank 1 was written, but not as .*changed its directory"'
        rm -rf "$WORK/elsewhere"
        ulimit -S -c 0
    fi
    ;;
esac
check_clean "core files"

# ---- --valgrind ----

mistake "--gdb and --valgrind" 'exclude each other' -n 2 --gdb 0 --valgrind true
mistake "--valgrind with a value" 'takes no value' -n 2 --valgrind=yes true
if has valgrind && ! grep -qs __asan_init "$CRASH" && ! grep -qs __tsan_init "$CRASH"; then
    job "$RUN" -n 2 --valgrind "$CRASH" 1 none
    check "--valgrind: a correct program has no errors" all_of 'status_is 0' 'lines err 1' \
        'grep -q "ERROR SUMMARY: 0 errors" valgrind.0.log' 'grep -q "ERROR SUMMARY: 0 errors" valgrind.1.log'
    rm -f valgrind.*.log
    job "$RUN" $HOSTS --valgrind "$CRASH" 3 overflow
    check "--valgrind: an error gives status 99, and the log of the rank is named and has it" all_of 'status_is 99' \
        'err_has "^ternrun: rank 3 .* exited with status 99; ending the job$"' 'err_has "see its errors in valgrind.3.log$"' \
        'grep -q "Invalid write" valgrind.3.log' 'grep -q crash_inner valgrind.3.log'
    check_clean "--valgrind"
fi

# ---- --gdb ----

mistake "--gdb without ranks" 'takes all, or a list' -n 2 --gdb '' true
mistake "--gdb of no list" 'takes all, or a list' -n 2 --gdb zero true
mistake "--gdb of a list that ends early" 'takes all, or a list' -n 2 --gdb 0, true
mistake "--gdb of a range without an end" 'takes all, or a list' -n 2 --gdb 0- true
mistake "--gdb of a range backwards" 'takes all, or a list' -n 2 --gdb 1-0 true
mistake "--gdb of a rank that does not exist" 'there is no rank 2: the job has the ranks 0 to 1' -n 2 --gdb 0,2 true
mistake "--gdb of a rank that no host has" 'there is no rank 4' $HOSTS --gdb 4 true
if ! has gdb || ! gdb -batch -ex run --args true > /dev/null 2>&1; then
    note "gdb is not installed, or cannot run programs here"
    finish
fi
job "$RUN" -n 2 --gdb 1 "$CRASH" 1 segv
check "--gdb without a terminal: a backtrace of a rank that crashes, and its status" all_of 'status_is 139' \
    'out_has "^#0 .*crash_inner"' 'out_has "^#1 .*crash_outer"' 'err_has "rank 1 .* exited with status 139"'
job "$RUN" $HOSTS --gdb all "$CRASH" 3 abort
check "--gdb on several hosts" all_of 'status_is 134' 'out_has "^#[0-9]+ .*crash_inner"'
job "$RUN" -n 2 --gdb all "$CRASH" 1 none
check "--gdb: a program that does not crash ends as usual" all_of 'status_is 0' '[ "$(grep -c "^done" out)" = 2 ]'
job "$RUN" -n 2 --gdb 0 "$RANK" 0:exit=7 1:sleep=30
check "--gdb: the exit status is that of the program" status_is 7
job_start "$RUN" -n 2 --gdb 0 "$RANK" join all say=ready sleep=1000
await 30 out_has '^ready'; kill -INT "$(heads)"; job_wait
check "--gdb: SIGINT ends the job, and shows where the rank is" all_of 'status_is 130' 'out_has "^#[0-9]+ "'
job_start "$RUN" -n 2 --gdb all "$RANK" ignore=15 join all say=ready sleep=1000
await 30 out_has '^ready'; kill -9 "$(heads)"; job_wait
check_clean "--gdb: kill -9 of ternrun"

has python3 || finish
terminal CRASH="$CRASH" << 'END'
wait ^prompt%
type $RUN -n 2 --gdb 1 $CRASH 1 segv\r
wait \(gdb\)
type break crash_outer\r
wait Breakpoint 1
type run\r
wait Breakpoint 1, .*crash_outer
wait \(gdb\)
type next 1000\r
wait SIGSEGV
wait \(gdb\)
type bt\r
wait #1 .*crash_outer
wait \(gdb\)
type ^Z
wait Stopped
type fg\r
wait segv
type p 6*7\r
wait = 42
type kill\r
wait \(y or n\)
type y\r
type quit\r
wait ternrun: rank 1 .*without tern_finalize
wait ^prompt%
type echo status $?\r
wait ^status 1
type stty -a\r
wait [^-]icanon
type $RUN -n 2 --gdb 0 $RANK join 0:say=ready all sleep=1000\r
wait \(gdb\)
type run\r
wait ^ready
type ^C
wait SIGINT
wait \(gdb\)
type kill\r
wait \(y or n\)
type y\r
type quit\r
wait ^prompt%
type (echo $BASHPID > $WORK/head; exec $RUN -n 2 --gdb 0 $RANK sleep=1000)\r
wait \(gdb\)
type run\r
wait Starting
until kill -TERM $(cat $WORK/head)
wait received signal 15
wait ^(\(gdb\) )?prompt%
run rm $WORK/head
type (echo $BASHPID > $WORK/head; exec $RUN -n 2 --gdb 0 $RANK 0:sleep=1000) &\r
until grep -q '^State:.T' /proc/$(cat $WORK/head)/status
return Stopped
type fg\r
wait sleep=1000
type quit\r
wait prompt%
type $RUN -n 2 --gdb all true\r
wait several ranks need a window each.*tmux
type exit\r
end
END
check "--gdb at a terminal: the prompt, control-C, control-Z and fg; ternrun gives the terminal back" status_is 0
check_clean "--gdb at a terminal"

if has tmux; then
    T="tmux -L $MARK -f /dev/null"
    at_exit() { $T kill-server 2> /dev/null; }
    pane_has() { $T capture-pane -p -t "$1" 2> /dev/null | grep -Eq -e "$2"; }
    FAULT_MARK="$MARK" TERM=screen $T new-session -d -n main -x 120 -y 40 "bash --rcfile '$WORK/rc' -i"
    await 20 pane_has :0 prompt
    $T send-keys -t :0 "clear; '$RUN' -n 2 --gdb all '$CRASH' 1 segv; echo status \$?" Enter
    check "--gdb in tmux: each rank has a window" all_of 'await 30 pane_has "rank 0" "\(gdb\)"' \
        'await 30 pane_has "rank 1" "\(gdb\)"'
    for r in 0 1; do $T send-keys -t "rank $r" run Enter; done
    await 30 pane_has 'rank 1' 'SIGSEGV'
    $T send-keys -t 'rank 1' bt Enter
    check "a rank that crashes is examined there" await 30 pane_has 'rank 1' '#1 .*crash_outer'
    $T send-keys -t 'rank 0' C-c
    check "control-C interrupts the rank of a window" await 30 pane_has 'rank 0' 'SIGINT'
    $T send-keys -t 'rank 1' kill Enter y Enter quit Enter
    check "the job ends when a debugger is left" await 30 pane_has :0 '^status 1$'
    windows_closed() { [ "$($T list-windows | wc -l)" = 1 ]; }
    check "and its windows close" await 20 windows_closed
    $T send-keys -t :0 "clear; '$RUN' -n 2 --gdb all '$RANK' join say=ready sleep=1000; echo status \$?" Enter
    await 30 pane_has 'rank 1' '\(gdb\)'
    $T send-keys -t 'rank 1' run Enter
    await 30 pane_has 'rank 1' '^ready'
    $T kill-window -t 'rank 1'
    check "a window that is closed ends its rank" await 30 pane_has :0 '^status [0-9]'
    $T send-keys -t :0 "clear; '$RUN' -n 2 --gdb all '$RANK' sleep=1000; echo status \$?" Enter
    await 30 pane_has 'rank 1' '\(gdb\)'
    kill -9 $(heads)
    check "kill -9 of ternrun closes the windows" await 30 windows_closed
    $T kill-server
    check_clean "--gdb in tmux"
fi

# A program in the place of xterm, which runs its command on a terminal.
mkdir "$WORK/xbin"
cat > "$WORK/xbin/xterm" << 'END'
#!/bin/sh
[ "$1 $3" = "-T -e" ] || exit 1
shift 3
exec script -qec "$*" /dev/null < /dev/null > "$WORK/window.$$" 2>&1
END
chmod +x "$WORK/xbin/xterm"
if has script; then
    terminal CRASH="$CRASH" << 'END'
wait ^prompt%
type PATH=$PWD/xbin:$PATH DISPLAY=:9 WORK=$PWD $RUN -n 2 --gdb all $RANK sleep=1000\r
until [ "$(grep -l '(gdb)' $WORK/window.* 2> /dev/null | wc -l)" = 2 ]
type ^C
wait received signal 2
wait ^prompt%
type exit\r
end
END
    check "--gdb with DISPLAY: each rank has a window of xterm" status_is 0
    check_clean "--gdb with DISPLAY"
fi
finish
