#!/bin/bash
# signals.sh: signals reach the ranks, on one host and on several; stopped jobs continue and end; nothing is left
# behind.
#
# The checks on terminals use terminal.py, which needs python3.
#
# timeout: 300
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
. "$(dirname "$0")/lib_terminal.sh"
unset FAULT_LIMIT

printf '#!/bin/bash\nshift\nexec "$@"\n' > "$WORK/here" && chmod +x "$WORK/here"
PLACES=("-n 3" "--hosts a:2,b:1 --agent $WORK/here")
start() { job_start env --default-signal "$RUN" $PLACE "$@"; }
ready() { printed 3; }
one_head() { HEAD=$(heads) && [ "$(echo "$HEAD" | wc -w)" = 1 ]; } # not while a process becomes a rank
stop_job() { kill -TSTP "$(heads)"; await 20 all_stopped; }

# A shell that prints the signals that it gets. SIGUSR2 ends it.
cat > "$WORK/catcher" << 'END'
trap 'echo usr1' USR1
trap 'echo usr2; exit 0' USR2
trap 'echo continued' CONT
echo ready
while :; do sleep 0.05; done
END

for PLACE in "${PLACES[@]}"; do
    case $PLACE in -n*) WHERE="one host" ;; *) WHERE="several hosts" ;; esac

    # ---- SIGUSR1 and SIGUSR2 ----

    start bash "$WORK/catcher"
    ready; kill -USR1 "$(heads)"; printed 6
    kill -USR2 "$(heads)"; job_wait
    check "$WHERE: SIGUSR1 and SIGUSR2 reach every rank, and do not end the job" all_of 'status_is 0' \
        '[ "$(grep -c ^usr1 "$WORK/out")" = 3 ]' '[ "$(grep -c ^usr2 "$WORK/out")" = 3 ]'
    start "$RANK" join all say=ready sleep=1000
    ready; kill -USR1 "$(heads)"; job_wait
    check "$WHERE: a rank that does not handle SIGUSR1 dies by it: one line, status 138" all_of 'status_is 138' \
        'said "rank [0-2] .* was killed by signal 10 .*; ending the job$"'
    start --verbose bash "$WORK/catcher"
    ready; kill -USR1 "$(heads)"; await 20 err_has 'received signal 10 .*passed on to 3 ranks'
    check "$WHERE: --verbose tells of a signal that is passed on" test $? = 0
    kill -USR2 "$(heads)"; job_wait
    check_clean "$WHERE: SIGUSR1 and SIGUSR2" quiet

    # ---- stop and continue ----

    start --timeout 4 bash "$WORK/catcher"
    ready; stop_job
    check "$WHERE: SIGTSTP stops the ranks and ternrun" test $? = 0
    sleep 4.2
    kill -USR1 "$(heads)"; kill -CONT "$(heads)"
    check "$WHERE: SIGCONT continues them" await 20 none_stopped
    printed 9 # "usr1" and "continued" of each rank
    check "$WHERE: a signal that arrived while ternrun was stopped is passed on" test $? = 0
    kill -USR2 "$(heads)"; job_wait
    check "$WHERE: --timeout does not count the time during which ternrun was stopped" all_of 'status_is 0' 'err_lacks timeout'
    check_clean "$WHERE: stop and continue"

    # ---- stop while ranks are being started ----

    # It takes some time to find the program in PATH, so that not all ranks have started when the job is stopped.
    case $PLACE in -n*) MANY="-n 100" ;; *) MANY=${PLACE/a:2,b:1/a:50,b:50} ;; esac
    job_start env --default-signal PATH="$(printf '/no%.0s:' {1..8000})${RANK%/*}:$PATH" "$RUN" $MANY "${RANK##*/}" \
        say=ready sleep=1000
    await 20 one_head; await 20 test -s "$WORK/out"
    kill -TSTP "$HEAD"; await 20 all_stopped; sleep 2; all_stopped # a rank that starts now would run
    check "$WHERE: SIGTSTP stops the ranks that are started at this moment, too" test $? = 0
    kill -CONT "$HEAD"; await 60 lines out 100
    check "$WHERE: SIGCONT continues them, and starts the others" test $? = 0
    kill -TERM "$HEAD"; job_wait
    check "$WHERE: a job that was stopped while it started ends" status_is 143
    check_clean "$WHERE: stop while ranks are being started"

    # ---- any order of signals ----

    for SIGNALS in "TSTP INT CONT" "TSTP CONT TSTP TERM CONT" "TSTP HUP USR1 CONT" "INT TSTP" "WINCH TSTP QUIT CONT" \
        "CONT USR1 TERM TSTP" "TSTP CONT INT TSTP CONT"; do
        start --grace 1 "$RANK" ignore=10 join all say=ready sleep=1000
        ready
        for SIGNAL in $SIGNALS; do
            kill -$SIGNAL $(heads) 2> /dev/null
            [ "$SIGNAL" != TSTP ] || sleep 0.1
        done
        job_wait
        check "$WHERE: the signals $SIGNALS end the job" all_of 'not_hung' '[ $STATUS -gt 128 ]' \
            'err_has "received signal"' 'lines err 1'
        check_clean "$WHERE: the signals $SIGNALS" quiet
    done
    start --grace 0.3 "$RANK" ignore=15 ignore=18 ignore=10 join all say=ready sleep=1000
    ready; stop_job; kill -TERM "$(heads)"; kill -CONT "$(heads)"; job_wait
    check "$WHERE: a stopped job whose ranks ignore SIGTERM is ended" status_is 143
    check_clean "$WHERE: a stopped job whose ranks ignore SIGTERM" quiet

    # ---- processes are killed while the job is stopped ----

    start "$RANK" stray child join all say=ready sleep=1000
    ready; stop_job; kill -9 "$(heads)"; job_wait
    check_clean "$WHERE: kill -9 of a stopped ternrun"
    start "$RANK" join all say=ready sleep=1000
    ready; stop_job; HEAD=$(heads); kill -9 "$(ranks | head -n 1)"; kill -CONT "$HEAD"; job_wait
    check "$WHERE: kill -9 of a stopped rank is reported when the job continues" all_of 'status_is 137' \
        'said "rank [0-2] .* was killed by signal 9 .*; ending the job$"'
    check_clean "$WHERE: kill -9 of a stopped rank" quiet

    # ---- in the background of a shell without job control, which ignores SIGINT ----

    for SIGNAL in INT QUIT; do
        job_start bash -c "trap '' INT QUIT; exec \"\$@\"" bash "$RUN" $PLACE --grace 1000 "$RANK" join say=ready sleep=1000
        ready; kill -$SIGNAL "$(heads)"; job_wait
        check "$WHERE: kill -$SIGNAL ends a job that was started with SIG$SIGNAL ignored, and its ranks obey" \
            all_of 'status_is $((128 + $(kill -l $SIGNAL)))' 'said "received signal"'
        check_clean "$WHERE: kill -$SIGNAL of a job in the background" quiet
    done
done

PLACE=${PLACES[1]}
start "$RANK" join all say=ready sleep=1000
ready; stop_job; HEAD=$(heads); kill -9 "$(nodes | head -n 1)"; kill -CONT "$HEAD"; job_wait
check "kill -9 of a host's ternrun while the job is stopped: the host is lost" all_of 'status_is 1' \
    'said "^ternrun: host [ab] is lost"'
check_clean "kill -9 of a host's ternrun while the job is stopped"
start "$RANK" join all say=ready sleep=1000
ready; stop_job; kill -9 $(heads) $(nodes); job_wait
check_clean "kill -9 of every ternrun while the job is stopped"

# ---- two jobs at once ----

PLACE=${PLACES[0]}
start "$RANK" join all say=ready sleep=1000
ready
FIRST=$(heads) FIRST_JOB=$JOB
env FAULT_MARK="$MARK" "$RUN" -n 2 bash "$WORK/catcher" > "$WORK/second" 2>&1 &
SECOND=$!
second_has() { [ "$(grep -c "$1" "$WORK/second")" = 2 ]; }
await 20 second_has ready
kill -TSTP "$FIRST"; kill -USR1 "$SECOND"; await 20 second_has usr1
check "while one job is stopped, another one gets signals" is_state T "$FIRST"
kill -USR2 "$SECOND"; wait "$SECOND"
check "and ends" test $? = 0
JOB=$FIRST_JOB
kill -TERM "$FIRST"; kill -CONT "$FIRST"; job_wait
check "and the stopped one is ended by its own signals" status_is 143
check_clean "two jobs at once"

# ---- terminals ----

if ! command -v python3 > /dev/null; then
    note "no python3: terminals are not checked"
    finish
fi
cat > "$WORK/sizes" << 'END'
trap 'echo size $(stty size <&2)' WINCH
echo started with $(stty size <&2)
while :; do sleep 0.05; done
END

for PLACE in "${PLACES[@]}"; do
    case $PLACE in -n*) WHERE="one host" ;; *) WHERE="several hosts" ;; esac
    terminal PLACE="$PLACE" << 'END'
wait ^prompt%
type $RUN $PLACE bash $WORK/sizes\r
wait ^started with 24 80
wait ^started with 24 80
wait ^started with 24 80
size 40 100
wait ^size 40 100
wait ^size 40 100
wait ^size 40 100
type ^Z
wait Stopped
type fg\r
wait sizes
size 41 101
wait ^size 41 101
type ^Z
wait Stopped
size 42 102
type fg\r
wait ^size 42 102
type ^C
wait received signal 2
wait ^prompt%
type echo status $?\r
wait ^status 130
type exit\r
end
END
    check "$WHERE: the size of the terminal reaches the ranks; control-Z, fg and control-C work" status_is 0
    check_clean "$WHERE: control-Z, fg and control-C"
    terminal PLACE="$PLACE" << 'END'
wait ^prompt%
type $RUN $PLACE $RANK join all say=ready sleep=1000 &\r
wait ^(prompt% )?ready
wait ^(prompt% )?ready
wait ^(prompt% )?ready
type kill -INT %1\r
wait received signal 2
return Exit 130
type $RUN $PLACE $RANK join all say=again copy sleep=1000 &\r
wait ^(prompt% )?again
wait ^(prompt% )?again
wait ^(prompt% )?again
type fg\r
wait sleep=1000
type hello\r
wait ^hello
wait ^hello
type ^C
wait received signal 2
wait ^prompt%
type $RUN $PLACE $RANK join all say=third sleep=1000 &\r
wait ^(prompt% )?third
type kill -STOP %1\r
run sleep 0.5
type jobs\r
wait Stopped
type kill %1\r
wait received signal 15
return Exit 143
type exit\r
end
END
    check "$WHERE: a job in the background is interrupted by kill -INT, and by control-C after fg" status_is 0
    check_clean "$WHERE: a job in the background"
    terminal PLACE="$PLACE" << 'END'
wait ^prompt%
type $RUN $PLACE $RANK join all say=ready sleep=1000\r
wait ^(prompt% )?ready
type ^Z
wait Stopped
type exit\r
wait stopped jobs
type exit\r
end
END
    check "$WHERE: the shell of a stopped job ends" status_is 0
    check_clean "$WHERE: the shell of a stopped job ended"
done

# The kernel stops a process in the background that uses the terminal.
printf '#!/bin/bash\nread answer < /dev/tty\n' > "$WORK/reads"
printf '#!/bin/bash\nstty -echo < /dev/tty\n' > "$WORK/sets"
printf '#!/bin/bash\n[ "$1" != b ] || read answer < /dev/tty\nshift\nexec "$@"\n' > "$WORK/asks"
chmod +x "$WORK/reads" "$WORK/sets" "$WORK/asks"
for PLACE in "${PLACES[@]}"; do
    case $PLACE in -n*) WHERE="one host" ;; *) WHERE="several hosts" ;; esac
    terminal PLACE="$PLACE" << 'END'
wait ^prompt%
type $RUN $PLACE $WORK/reads\r
wait ternrun: .*rank [0-2] .pid [0-9]+, host .* has stopped, because it tried to read from the terminal;
type ^C
wait received signal 2
wait ^prompt%
type $RUN $PLACE $WORK/sets\r
wait ternrun: .*rank [0-2] .pid [0-9]+, host .* has stopped, because it tried to change the settings
type ^C
wait received signal 2
wait ^prompt%
type exit\r
end
END
    check "$WHERE: a rank that the terminal stops is reported" status_is 0
    check_clean "$WHERE: a rank that the terminal stopped"
done
for FANOUT in 0 2; do
    terminal FANOUT="$FANOUT" << 'END'
wait ^prompt%
type $RUN --hosts a,c,b,d --fanout $FANOUT --agent $WORK/asks echo started; echo status $?\r
wait ternrun: host b: no ternrun answers there: .*asks wants to ask something at the terminal.*asks b true
wait ^status 1
type exit\r
end
END
    check "an agent that asks at the terminal is reported, and does not hang (--fanout $FANOUT)" all_of 'status_is 0' '! out_has ^started'
    check_clean "an agent that asked (--fanout $FANOUT)"
done

# Control-Z at any moment of the start.
printf 'echo $$ > "$WORK/begun"\nexec "$@"\n' > "$WORK/begin" # here the job is in the foreground
for DELAY in 0 0.01 0.02 0.03 0.05 0.08; do
    for PLACE in "${PLACES[@]}"; do
        terminal PLACE="$PLACE" << END
wait ^prompt%
run rm -f \$WORK/begun
type bash \$WORK/begin \$RUN \$PLACE \$RANK join all say=ready sleep=1000\r
until test -s \$WORK/begun
run sleep $DELAY
type ^Z
wait Stopped
wait ^prompt%
type fg\r
wait sleep=1000
saw ready$
until ps -o stat= -p \$(cat \$WORK/begun) | grep -q '^[SRD].*+'
type ^C
wait received signal 2
wait ^prompt%
type exit\r
end
END
        [ "$STATUS" = 0 ] || break 2
    done
done
check "control-Z while the job starts stops it, and fg continues it" status_is 0
check_clean "control-Z while the job starts"

# The session leader is ternrun itself: its process group is orphaned, and control-Z must not stop it for ever.
env FAULT_MARK="$MARK" timeout -k 2 60 python3 "$TERMINAL" "$RUN" -n 2 bash "$WORK/catcher" > "$WORK/out" 2> "$WORK/err" << 'END'
wait ^(prompt% )?ready
wait ^(prompt% )?ready
type ^Z
wait continued
type ^C
wait received signal 2
end
END
STATUS=$? HUNG=0
check "control-Z does not stop a ternrun that no shell could continue" status_is 0
check_clean "control-Z without a shell"
finish
