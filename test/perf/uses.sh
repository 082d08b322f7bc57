#!/bin/bash
# uses.sh: the command line of tern-perf: a test starts its own ranks if no launcher has started it, an option that a
# test does not use is refused, and a wrong name gets the nearest one. Plots have units, and no line of one point.
#
# timeout: 600
# labels: tools
. "$(dirname "$0")/lib_perf.sh"

ranks_are() { awk -F, -v n="$1" 'NR > 1 && $3 != n { wrong = 1 } END { exit wrong || NR < 2 }' "$WORK/out"; }
has_lines() { [ "$(wc -l < "$WORK/$1")" = "$2" ]; }

# Starting ranks.
job "$PERF" put_lat $SHORT --sizes 8
check "a test alone starts two ranks" all_of 'status_is 0' csv_is_whole 'ranks_are 2' 'csv_has put_lat shm half_rtt'
job "$PERF" barrier $SHORT --ranks 3
check "--ranks chooses how many" all_of 'status_is 0' csv_is_whole 'ranks_are 3'
job "$PERF" slow_sink -n 4 --quiet --csv --repeat 1 --sizes 1M
check "-n is the same" all_of 'status_is 0' 'ranks_are 4'
job "$PERF" slow_sink --quiet --csv --repeat 1 --sizes 1M
check "a test that needs three ranks gets them" all_of 'status_is 0' 'ranks_are 3'
job env TERN_LAUNCHER=alone "$PERF" put_lat $SHORT --sizes 8
check "TERN_LAUNCHER=alone asks for one rank" all_of 'status_is 0' 'ranks_are 1' 'csv_has put_lat self latency'
job "$PERF" order --ranks 1 $SHORT
check "too few ranks are an error of the job" all_of 'status_is 1' 'err_count "needs at least 2 ranks" 1'
job "$PERF" barrier --ranks 2,3 $SHORT
check "a test is one job" all_of 'status_is 2' 'err_has "wants one number: barrier"'
job "$BIN/ternrun" -n 2 "$PERF" put_lat $SHORT --sizes 8
check "under a launcher it starts nothing" all_of 'status_is 0' 'ranks_are 2'
job "$BIN/ternrun" -n 2 "$PERF" put_lat $SHORT --sizes 8 --ranks 3
check "a launcher decides how many ranks there are" all_of 'status_is 2' 'err_count "has started 2 ranks; leave out --ranks" 1'
if command -v mpiexec.mpich > /dev/null; then
    job mpiexec.mpich -n 2 "$PERF" put_lat $SHORT --sizes 8
    check "also a launcher of MPI" all_of 'status_is 0' 'ranks_are 2'
fi
mkdir "$WORK/alone" && cp "$PERF" "$WORK/alone/tern-perf"
job env PATH=/nowhere LD_LIBRARY_PATH="$(dirname "$BIN")/lib" "$WORK/alone/tern-perf" put_lat
check "without ternrun it says what to do" all_of 'status_is 1' 'err_has "put_lat needs a job, and ternrun.* is neither beside"'

# refused TEXT PATTERN WORD...: the command line is refused in one line.
refused() {
    job "$PERF" "${@:3}"
    check "$1" all_of 'status_is 2' "err_has '$2'" 'has_lines out 0' 'has_lines err 1'
}
refused "a wrong test gets the nearest name" "there is no test put_latt .did you mean put_lat.*; tern-perf --list shows" put_latt
refused "also a long one" "there is no test put_latency .did you mean put_lat" put_latency
refused "also one in capitals" "there is no test PUT_LAT .did you mean put_lat" PUT_LAT
refused "a name that resembles none gets none" "there is no test xyzzy; tern-perf --list" xyzzy
refused "a wrong option gets the nearest name" "unknown option: --wndow .did you mean --window" put_bw --wndow 4
refused "an option that resembles none gets none" "unknown option: --qqqqqq; see" put_bw --qqqqqq
refused "an unknown letter" "unknown option: -z; see" put_lat -z
refused "also among others" "unknown option: -z; see" put_lat -qzt 1
refused "a value that is not wanted" "this option takes no value: --csv=3; see" put_lat --csv=3
refused "an option without its value" "wants a value: --time" put_lat --time
refused "no test" "name a test, such as put_lat; tern-perf --list" --quiet
refused "two formats" "exclude each other" put_lat --csv --json
refused "a second test" "give one test at a time; leave out: get_lat" put_lat get_lat
refused "size 0" "0 is no size for this test: put_lat" put_lat --sizes 0

# Sizes that a test does not take.
job "$PERF" strided_bw --csv --time 0.004 --repeat 2 --sizes 16,24 --element 12
check "a size without figures is reported" all_of 'status_is 0' 'csv_has strided_bw shm bandwidth' \
    'err_count "warning: strided_bw has no figures for size 16; man tern-perf" 1' 'err_lacks "size 24"'
job "$PERF" strided_bw --quiet --time 0.004 --repeat 2 --sizes 16 --element 3
check "a test without figures fails" all_of 'status_is 1' 'has_lines out 0' 'err_count "has no figures for these sizes" 1'

# Each option, with a test that does not use it.
refused "--element" "put_lat does not use --element; these tests use it: strided_bw, indexed_bw, vector_bw, acc_shapes$" put_lat --element 8
refused "--generate" "put_lat does not use --generate; these tests use it: am_lat$" put_lat --generate
refused "--messages" "put_lat does not use --messages; these tests use it: immediate$" put_lat --messages 8
refused "--threads" "these tests use it: register$" put_lat --threads 2
refused "--build" "these tests use it: compare$" put_lat --build .
refused "--self" "these tests use it: compare$" put_lat --self
refused "--peers" "these tests use it: all, compare$" put_lat --peers .
refused "--output" "these tests use it: all$" put_lat --output .
refused "--commit" "these tests use it: all$" compare --commit x
refused "--rounds" "put_lat does not use --rounds; these tests use it: init, " put_lat --rounds 2
refused "--limit" "put_lat does not use --limit; these tests use it: init, " put_lat --limit 2
refused "--sizes" "barrier does not use --sizes; these tests use it: put_lat, " barrier --sizes 8
refused "--window" "put_lat does not use --window; these tests use it: put_bw, get_bw, " put_lat --window 8
refused "--memory" "barrier does not use --memory; these tests use it: put_lat, " barrier --memory huge
refused "--vs-limit" "acc_bw does not use --vs-limit; these tests use it: put_lat, " acc_bw --vs-limit
refused "--time" "immediate does not use --time; these tests use it: put_lat, " immediate --time 1
refused "--iters" "idle does not use --iters; these tests use it: put_lat, " idle --iters 1
refused "--repeat" "init does not use --repeat; these tests use it: put_lat, " init --repeat 3
refused "--ranks" "register does not use --ranks; these tests use it: put_lat, " register --ranks 2
refused "--net" "history does not use --net; these tests use it: put_lat, " history --net .
refused "--plot" "all does not use --plot; these tests use it: put_lat, " all --plot x.png
refused "--csv" "all does not use --csv; these tests use it: put_lat, " all --csv
refused "--json" "all does not use --json; these tests use it: put_lat, " all --json
job "$BIN/ternrun" -n 2 "$PERF" put_lat --element 8
check "in a job one rank speaks" all_of 'status_is 2' 'err_count "does not use --element" 1'
for option in sizes window memory vs-limit time repeat iters csv json plot net ranks element generate messages rounds \
    limit peers build self threads output commit quiet; do
    job "$PERF" --help
    out_has "--$option" || fail "--help does not have --$option"
done

# Plots. The texts of an SVG file are its labels.
if command -v gnuplot > /dev/null; then
    label() { grep -Eq ">$1<" "$WORK/plot.svg"; }
    job "$PERF" put_bw $SHORT --sizes 1K:64K --vs-limit --plot "$WORK/plot.svg"
    check "sizes are in KiB, bandwidths in GB/s or kB/s, and the limit is a line" all_of 'status_is 0' 'label "64 KiB"' \
        'grep -Eq "GB/s|MB/s|kB/s" "$WORK/plot.svg"' 'label limit' 'label "put_bw: .*"' 'label "2 ranks, shm; .*"'
    job "$PERF" put_lat $SHORT --sizes 8,64 --plot "$WORK/plot.svg"
    check "there is no line of one point" all_of 'status_is 0' 'label half_rtt' '! label plain_store' 'csv_has put_lat shm plain_store'
    job "$PERF" barrier $SHORT --vs-limit --plot "$WORK/plot.svg"
    check "single values are bars" all_of 'status_is 0' 'label latency' 'label cacheline_half_rtt' 'grep -Eq "time" "$WORK/plot.svg"'
    job "$PERF" msg_depth $SHORT --sizes 1,100 --plot "$WORK/plot.svg"
    check "sizes that count something else say so, and a long title has several lines" all_of 'status_is 0' \
        'label "other messages"' '! label ".{81,}"'
    job "$PERF" compare put_lat barrier --quiet --rounds 1 --sizes 8,64 --time 0.004 --repeat 2 --peers "$WORK" --plot "$WORK/plot.svg"
    check "compare draws the programs and the limit in one picture" all_of 'status_is 0' 'label "put_lat: half_rtt"' \
        'label "barrier: latency"' 'label Tern' 'label limit'
    # A build that consists of two scripts, whose figures are known.
    mkdir -p "$WORK/known/bin"
    printf '#!/bin/sh\nprintf "put_lat  a test\\nget_lat  a test\\n"\n' > "$WORK/known/bin/tern-perf"
    printf '%s\n' '#!/bin/sh' 'echo test,link,ranks,size,metric,value,unit' 'case $* in' \
        '*put_lat*) echo put_lat,shm,2,8,latency,3000,ns; echo put_lat,shm,2,64,latency,60000,ns ;;' \
        '*) echo get_lat,shm,2,8,latency,100,ns; echo get_lat,shm,2,64,latency,400,ns ;;' esac > "$WORK/known/bin/ternrun"
    chmod +x "$WORK"/known/bin/*
    job "$PERF" compare --build "$WORK/known" --self put_lat get_lat --quiet --rounds 1 --plot "$WORK/plot.svg"
    check "a logarithmic axis of few decades has labels between the powers of ten" all_of 'status_is 0' 'label "5 us"' \
        'label "10 us"' 'label "50 us"' 'label "second run"'
    check "the axis of a small range is linear, with its unit" all_of 'label "time \[ns\]"' 'label 100' 'label 200'
    job "$PERF" init --quiet --rounds 1 --ranks 1,2 --plot "$WORK/plot.svg"
    check "a job of one rank is a point of the same line" all_of 'status_is 0' 'label wall_tern' 'label memory_per_rank' \
        'label 1' 'label 2'
    job env PATH="$(dirname "$(command -v gnuplot)")" "$PERF" compare put_lat get_lat put_bw get_bw put_rate get_rate barrier \
        am_lat msg_lat msg_bw msg_rate fadd_lat fadd_rate lock_rate --quiet --rounds 1 --sizes 8 --time 0.001 --repeat 1 \
        --peers "$WORK" --plot "$WORK/plot.svg"
    check "a picture shows all tests" all_of 'status_is 0' 'label "put_lat: half_rtt"' 'label "fadd_rate: rate"' \
        'label "lock_rate: contended"'
    refused "--plot of another format, before a job starts" "the name must end in .png or .svg" put_lat --plot "$WORK/plot.pdf"
    refused "--plot into no directory" "--plot /proc/nowhere/x.svg: No such file or directory" put_lat --plot /proc/nowhere/x.svg
    refused "--plot of another format" "the name must end in .png or .svg" compare put_lat --plot "$WORK/plot.pdf"
fi
check_clean "uses"
finish
