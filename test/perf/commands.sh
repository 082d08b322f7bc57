#!/bin/bash
# commands.sh: the commands of tern-perf that are not run in a job. init, compare, register and crossover print the
# results that the manual documents, and say which programs they omit because they are not installed.
#
# timeout: 900
# lock: interfaces
# labels: slow
. "$(dirname "$0")/lib_perf.sh"

# command TEXT TEST LINK "METRIC..." WORD...
command_prints() { check_perf "$1" "$2" "$3" "$4" "$PERF" "${@:5}"; }

command_prints "init" init shm "wall_plain wall_tern init_finalize inside_calls memory_per_rank" \
    init --csv --quiet --rounds 2 --ranks 2,3
check "init has a line for each number of ranks" all_of 'out_has "^init,shm,2,0,wall_tern,"' 'out_has "^init,shm,3,0,wall_tern,"'
job "$PERF" init --quiet --rounds 1 --ranks 2,3
check "and a row of the table" all_of 'status_is 0' 'out_has "^ +ranks "' 'out_has "^ +2 "' 'out_has "^ +3 "'

command_prints "compare" put_bw tern "bandwidth_complete" compare put_bw --csv --quiet --rounds 1 --sizes 4K
job "$PERF" compare put_bw --quiet --rounds 1 --sizes 4K --peers "$WORK"
check "compare leaves out what is not there and says what to do" \
    all_of 'status_is 0' 'err_has "without (Open MPI: there is no program tern-peer-openmpi in $WORK; build it there|Open MPI: install)"' \
    'err_has "without (MPICH: there is no program tern-peer-mpich in|MPICH: install)"' \
    'err_has "without (OpenSHMEM: there is no program tern-peer-oshmem in|OpenSHMEM: install)"' 'out_has "Tern "'
job env PATH=/nowhere "$PERF" compare put_bw --quiet --rounds 1 --sizes 4K
check "compare says what to install" all_of 'status_is 0' 'err_has "without Open MPI: install openmpi-bin and libopenmpi-dev"' \
    'err_has "without MPICH: install mpich"' 'err_has "without OpenSHMEM: install"' 'err_has "without UCX: install ucx-utils"'
job env PATH=/nowhere "$PERF" compare msg_depth barrier --quiet --rounds 1 --sizes 10 --time 0.004 --repeat 2
check "compare says what sizes count" all_of 'status_is 0' 'out_has "^size: in bytes; msg_depth: other messages$"' \
    'out_has "^msg_depth +10 +half_rtt"' 'out_has "^barrier +- +latency"'
command_prints "compare --vs-limit" put_lat limit half_rtt \
    compare put_lat --vs-limit --csv --quiet --rounds 1 --sizes 8 --peers "$WORK"
check "the ratio to the limit is there" all_of 'csv_has put_lat limit half_rtt_ratio_of_medians' 'csv_has put_lat tern half_rtt'
# Every installed program has a result and a ratio of Tern to it.
peers="openmpi:tern-peer-openmpi mpich:tern-peer-mpich oshmem:tern-peer-oshmem ucx:ucx_perftest"
command_prints "compare put_lat" put_lat tern latency_complete compare put_lat --csv --quiet --rounds 1 --sizes 8
for peer in $peers; do
    PATH=$BIN:$PATH command -v "${peer#*:}" > /dev/null || { note "no ${peer#*:}"; continue; }
    [ ${peer%%:*} = ucx ] && metric=half_rtt || metric=latency_complete
    check "compare put_lat has ${peer%%:*}" \
        all_of "csv_has put_lat ${peer%%:*} $metric" "csv_has put_lat ${peer%%:*} ${metric}_ratio_of_medians"
done
job "$PERF" compare no_such_test
check "compare names what can be compared" all_of 'status_is 2' 'err_has "put_lat"'
job "$PERF" compare put_latt
check "and the nearest name" all_of 'status_is 2' 'err_has "put_latt cannot be compared .did you mean put_lat\?.; these can: put_lat"'
job "$PERF" register put_lat
check "register takes no test" all_of 'status_is 2' 'err_has "register takes options only, but is given: put_lat"'
job "$PERF" register --threads 0
check "threads are counted from 1" all_of 'status_is 2' 'err_has -- "--threads wants"'

command_prints "protocols" msg_lat one_get "half_rtt half_rtt_ratio_of_medians" \
    protocols --csv --quiet --rounds 1 --time 0.01 --sizes 1K
check "protocols has all ways" all_of 'csv_has msg_bw eager bandwidth' 'csv_has msg_bw chunked bandwidth' \
    'csv_has msg_bw shared bandwidth'

if has_network; then
    command_prints "init --net" init "$NET" "wall_tern memory_per_rank" init --net --csv --quiet --rounds 1 --ranks 2
    if command -v ucx_perftest > /dev/null; then
        command_prints "compare --net has UCX over TCP" msg_lat ucx "half_rtt half_rtt_ratio_of_medians" \
            compare --net msg_lat --csv --quiet --rounds 1 --sizes 8 --peers "$WORK"
    fi
    if command -v ucx_perftest > /dev/null && command -v fi_pingpong > /dev/null && command -v taskset > /dev/null; then
        # fi_pingpong sometimes fails on a busy machine, and tern-perf reports it. It then runs once more.
        if err_has 'fi_pingpong msg_lat (failed|did not end)'; then
            job "$PERF" compare --net msg_lat --csv --quiet --rounds 1 --sizes 8 --peers "$WORK"
        fi
        check "compare --net has fi_pingpong without its connection" csv_has msg_lat pingpong half_rtt
    fi
    if [ -x "$BIN/tern-peer-oshmem" ]; then
        # No message through the TCP stack takes less than a microsecond; Open MPI's barrier in shared memory does.
        command_prints "compare --net has OpenSHMEM" barrier oshmem latency compare --net barrier --csv --quiet --rounds 1
        check "its barrier is not in shared memory" \
            awk -F, '$2 == "oshmem" && $5 == "latency" { slow = $10 > 2000 } END { exit !slow }' "$WORK/out"
    fi
    command_prints "compare --net, latency" get_lat tern "latency" \
        compare --net get_lat --csv --quiet --rounds 1 --sizes 8 --peers "$WORK"
    check "compare --net has TCP's own figure and the ratio to it" all_of 'csv_has get_lat tcp latency' \
        'csv_has get_lat tcp latency_ratio_of_medians'
    command_prints "compare --net, bandwidth" put_bw_w16 tern "bandwidth_complete" \
        compare --net put_bw_w16 --csv --quiet --rounds 1 --sizes 64K --peers "$WORK"
    check "compare --net has TCP's own bandwidth" csv_has put_bw_w16 tcp bandwidth_complete_ratio_of_medians
    command_prints "register" register '*' "register_t1 deregister_t1 register_t2 deregister_t2" \
        register --csv --quiet --sizes 4K,64K --threads 1,2 --time 0.01 --repeat 2
    command_prints "payload" strided_bw fixed "bandwidth bandwidth_ratio_of_medians" \
        payload --csv --quiet --rounds 1 --sizes 4K
    command_prints "crossover" put_bw cached "bandwidth bandwidth_ratio_of_medians crossover" \
        crossover --csv --quiet --rounds 1 --sizes 1K,32K
    check "crossover has all three ways" all_of 'csv_has get_bw copied bandwidth' 'csv_has get_bw registered crossover'
    if command -v gnuplot > /dev/null; then
        job "$PERF" register --quiet --sizes 4K,64K --threads 1 --time 0.01 --repeat 2 --plot "$WORK/plot.svg"
        check "and a picture" all_of 'status_is 0' "grep -q '<svg' $WORK/plot.svg"
    fi
else
    note "no network for jobs here: $(tail -n 1 "$WORK/err")"
fi
check_clean "commands"
finish
