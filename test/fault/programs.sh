#!/bin/bash
# programs.sh: jobs of several programs, and jobs whose hosts are in a file or are those of a scheduler.
#
# The hosts are this one under several names. Each agent drops the name of the host or keeps it in HOSTNAME, which
# belongs to a host.
#
# timeout: 120
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
unset "${!SLURM@}" "${!PBS_@}"
printf '#!/bin/sh\nHOSTNAME=$1 export HOSTNAME; shift; exec "$@"\n' > "$WORK/named"
chmod +x "$WORK/named"
mkdir "$WORK/one" "$WORK/two"

sorted() { [ "$(sort "$WORK/out" | tr '\n' ,)" = "$1" ]; }

# ---- several programs ----

SHOW='echo $0 $TERN_RANK/$TERN_SIZE $A$B $1'
for where in "" "--hosts a:2,b:4" "--hosts a:1,b:1,c:4"; do
    on=${where:-"this machine"}
    # shellcheck disable=SC2086 # words
    job "$RUN" $where ${where:+--agent "$WORK/named"} -n 2 -x A=1 sh -c "$SHOW" one x : -n 3 -x B=2 sh -c "$SHOW" two 'y z'
    check "two programs on $on: ranks, variables and arguments of each" all_of 'status_is 0' 'lines err 0' \
        'sorted "one 0/5 1 x,one 1/5 1 x,two 2/5 2 y z,two 3/5 2 y z,two 4/5 2 y z,"'
    # shellcheck disable=SC2086 # words
    job "$RUN" $where ${where:+--agent "$WORK/named"} --label -n 1 --wdir "$WORK/one" pwd : -np 2 "$RANK" say=x : \
        -n 1 --wdir "$WORK/two" pwd
    check "three programs on $on, in directories of their own" all_of 'status_is 0' 'lines err 0' \
        'sorted "[0] $WORK/one,[1] x,[2] x,[3] $WORK/two,"'
    # shellcheck disable=SC2086 # words
    job "$RUN" $where ${where:+--agent "$WORK/named"} -n 2 "$RANK" join all finalize : -n 2 sh -c "exec '$RANK' join all finalize"
    check "the programs on $on are one job of Tern" all_of 'status_is 0' 'lines err 0'
    # shellcheck disable=SC2086 # words
    job "$RUN" $where ${where:+--agent "$WORK/named"} -n 2 "$RANK" join sleep=1000 : -n 2 "$RANK" join 3:exit=6 sleep=1000
    check "a rank of the second program on $on ends the job" all_of 'status_is 6' 'said "rank 3 .*exited with status 6; ending"'
    # shellcheck disable=SC2086 # words
    job "$RUN" $where ${where:+--agent "$WORK/named"} -n 2 sleep 1000 : -n 2 /no/such/program
    check "a second program that is missing on $on: one line, status 127" all_of 'status_is 127' 'said "cannot start ./no/such/program"'
    # shellcheck disable=SC2086 # words
    job "$RUN" $where ${where:+--agent "$WORK/named"} -n 2 sleep 1000 : -n 2 --wdir /no/such/dir true
    check "a directory of the second program that is missing on $on: status 1" all_of 'status_is 1' \
        'err_has "cannot start rank [23] in the directory /no/such/dir of --wdir"'
    check_clean "several programs on $on"
done
job "$RUN" -n 1 echo a:b :c : -n 1 echo ::
check "only a colon by itself separates programs" sorted '::,a:b :c,'
job env A=outside "$RUN" -n 1 -x A=1 sh -c 'echo $A' : -n 1 sh -c 'echo $A' : -n 1 -x A sh -c 'echo $A'
check "a variable of one program is not set for the others" sorted '1,outside,outside,'
job "$RUN" -n 1 -x TERN_SPIN=7 "$RANK" show=TERN_SPIN : -n 1 "$RANK" show=TERN_SPIN
check "options of Tern may differ between programs" sorted 'TERN_SPIN=(not set),TERN_SPIN=7,'

mistake() { # text, pattern, arguments
    local text=$1
    PATTERN="^ternrun: $2"
    shift 2
    job "$RUN" "$@"
    check "$text" all_of 'status_is 2' 'said "$PATTERN"' 'lines out 0'
}
mistake "a colon at the end" "which program follows the colon" -n 1 echo x :
mistake "two colons" "which program follows the colon" -n 1 echo x : : -n 1 echo x
mistake "a colon at the start" "which program\? give its name" : -n 1 echo x
mistake "a program without -n" "how many ranks of 'echo'" -n 1 echo x : echo y
mistake "the first program without -n" "how many ranks of 'true'" true : -n 1 echo y
mistake "an option of the job after the first program" "--label is for the whole job; write it before the first program" \
    -n 1 echo x : -n 1 --label echo y
mistake "too many ranks" "-n asks for 5000 ranks" -n 2500 true : -n 2500 true
mistake "a wrong value of an option of Tern" "TERN_SPIN=fast cannot be used" -n 1 echo x : -n 1 -x TERN_SPIN=fast echo y
mistake "TERN_ON_FAILURE of one program" "-x cannot set TERN_ON_FAILURE for one of several" \
    -n 1 -x TERN_ON_FAILURE=return echo x : -n 1 echo y
mistake "TERN_CHAOS of one program" "-x cannot set TERN_CHAOS for one of several" -n 1 echo x : -n 1 -x TERN_CHAOS=on echo y
mistake "more ranks than the hosts take" "--hosts a:2,b:1: -n asks for 4 ranks, and the hosts take 3" \
    --hosts a:2,b:1 -n 2 echo x : -n 2 echo y

# ---- hosts in a file ----

WHERE='echo $TERN_RANK $TERN_LOCAL_RANK/$TERN_LOCAL_SIZE $HOSTNAME'
printf '# the machines\na slots=2\n\nb:1  # small\na slots=1\n' > "$WORK/list"
job "$RUN" --hosts "@$WORK/list" --agent "$WORK/named" sh -c "$WHERE"
check "hosts in a file" all_of 'status_is 0' 'lines err 0' 'sorted "0 0/3 a,1 1/3 a,2 2/3 a,3 0/1 b,"'
job "$RUN" --hosts "@$WORK/list,c" -n 5 --agent "$WORK/named" sh -c "$WHERE"
check "hosts in a file and others, of which one has no number" all_of 'status_is 2' 'err_has "to every host, or to none"'
job "$RUN" --hosts "@$WORK/list" -n 2 --agent "$WORK/named" sh -c "$WHERE"
check "-n fills the hosts of a file in their order" sorted '0 0/2 a,1 1/2 a,'
job "$RUN" --hosts "a,b" -n 3 --agent "$WORK/named" --output "$WORK/files" sh -c "$WHERE"
check "--output writes the files here, from all hosts" all_of 'lines out 0' \
    '[ "$(cat "$WORK"/files/rank.?.out | tr "\n" ,)" = "0 0/2 a,1 1/2 a,2 0/1 b," ]'
echo 'a 4' > "$WORK/list"
mistake "a line that is not understood" "--hosts @.*: line 1 of .*list: '4' is not understood" --hosts "@$WORK/list" true

# ---- hosts of a scheduler ----

slurm() { job env SLURM_JOB_ID=17 SLURM_JOB_NODELIST='n[08-10]' SLURM_TASKS_PER_NODE='2(x2),1' "$@"; }
slurm "$RUN" --agent "$WORK/named" sh -c "$WHERE"
check "hosts of a Slurm job are taken, and said so" all_of 'status_is 0' 'sorted "0 0/2 n08,1 1/2 n08,2 0/2 n09,3 1/2 n09,4 0/1 n10,"' \
    'said "^ternrun: 5 ranks on 3 hosts of Slurm job 17: n08 \(2\), n09 \(2\), n10 \(1\)\$"'
slurm "$RUN" -n 3 --agent "$WORK/named" sh -c "$WHERE"
check "-n takes the first of them" sorted '0 0/2 n08,1 1/2 n08,2 0/1 n09,'
slurm "$RUN" -n 6 --agent "$WORK/named" echo started
check "-n that is too large says how many slots there are" all_of 'status_is 2' 'lines out 0' 'said "have 5 slots; give --hosts"'
slurm "$RUN" -n 6 --local echo started
check "--local stays on this machine" all_of 'status_is 0' 'lines out 6' 'lines err 0'
slurm "$RUN" -n 2 --hosts a,b --agent "$WORK/named" sh -c "$WHERE"
check "--hosts goes before the scheduler" all_of 'sorted "0 0/1 a,1 0/1 b,"' 'lines err 0'
slurm env SLURMD_NODENAME=n08 "$RUN" -n 2 sh -c 'echo $TERN_LOCAL_SIZE'
check "a job on the node of Slurm on which it is started needs no agent" all_of 'status_is 0' 'sorted "2,2,"' \
    'said "2 ranks on 1 host of Slurm job 17: n08 \(2\)"'
slurm env SLURMD_NODENAME=n08 "$RUN" -n 1 "$RUN" -n 3 echo inner
check "a rank of a Slurm job that starts a job starts it on its host" all_of 'status_is 0' 'lines out 3' 'lines err 1'
slurm env SLURM_JOB_NODELIST='n[08-' "$RUN" -n 2 echo started
check "a list that no Slurm writes" all_of 'status_is 2' 'said "SLURM_JOB_NODELIST is set to .n\[08-., and"'
printf 'r1.example.org\nr1.example.org\nr2.example.org\n' > "$WORK/nodefile"
job env PBS_JOBID=5.server PBS_NODEFILE="$WORK/nodefile" "$RUN" --agent "$WORK/named" sh -c "$WHERE"
check "hosts of a PBS job are taken, and said so" all_of 'sorted "0 0/2 r1.example.org,1 1/2 r1.example.org,2 0/1 r2.example.org,"' \
    'said "^ternrun: 3 ranks on 2 hosts of PBS job 5.server: r1.example.org \(2\), r2.example.org \(1\)\$"'
hostname > "$WORK/nodefile"
job env PBS_JOBID=5.server PBS_NODEFILE="$WORK/nodefile" PBS_NUM_PPN=3 "$RUN" echo here
check "a PBS job on this machine needs no agent" all_of 'status_is 0' 'lines out 3'
job env PBS_NODEFILE=/no/such/file "$RUN" -n 1 echo started
check "a node file that is missing" all_of 'status_is 2' 'said "PBS_NODEFILE cannot be used: cannot read /no/such/file"'
check_clean "hosts of schedulers"
finish
