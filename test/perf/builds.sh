#!/bin/bash
# builds.sh: tern-perf compare --build runs two builds of Tern in turn and prints their ratios. The first half compares
# this build with itself. The second half uses a build that consists of two scripts with known results, so that the
# expected report is known as well: ratios, marks, and what an older build does not have.
#
# timeout: 900
# labels: slow
. "$(dirname "$0")/lib_perf.sh"

BUILD=$(dirname "$BIN")
TINY="--quiet --time 0.004 --repeat 2 --rounds 2"

# row TEST SIZE METRIC TEXT: check that the table has such a row.
row() { out_has "^$1 +$2 +$3 .* $4"; }
NUMBERS='[0-9.e+]+ +[0-9.e+]+ +[0-9.]+  [0-9.]+ to [0-9.]+'

job "$PERF" compare --build "$BUILD" $TINY put_lat put_bw am_rate --sizes 8
check "a row has both medians, the ratio and the quartiles" all_of 'status_is 0' 'row put_lat 8 latency "ns +$NUMBERS"' \
    'row put_lat 8 half_rtt "$NUMBERS"' 'row put_bw 8 bandwidth "MB/s +$NUMBERS"' 'row am_rate - rate "op/s +$NUMBERS"'
check "the heading says what a ratio above 1.00 means" all_of 'out_has "above 1.00 always means that .*this build. is"' \
    'out_has "this build +other build +ratio +quartiles"' 'out_has "2 rounds"'
job "$PERF" compare --build "$BUILD" $TINY init memory
check "start-up time and memory are compared" all_of 'status_is 0' 'row init - wall_tern "ms +$NUMBERS"' \
    'row init - inside_calls "$NUMBERS"' 'row memory - resident "KiB +$NUMBERS"' 'row memory - shared "KiB "'
job "$PERF" compare --build "$BUILD" --self $TINY get_lat --sizes 8
check "--self has two columns of one build" all_of 'status_is 0' 'out_has "first run +second run"' \
    'row get_lat 8 latency "$NUMBERS"'
check_perf "CSV has both builds, the ratio and its spread" put_lat this \
    "latency latency_ratio latency_worse" \
    "$PERF" compare --build "$BUILD" --csv $TINY put_lat --sizes 8
check "the spread is in columns, also of the ratio" all_of 'csv_spread put_lat latency' 'csv_spread put_lat latency_ratio'
check "and the other build" csv_has put_lat other latency
job "$PERF" compare --build "$BUILD" --json $TINY barrier
check "JSON is an array; tests that are compared with peers can be named" \
    all_of 'status_is 0' 'out_has "\"metric\": \"latency_ratio\""' 'out_has "^\]$"'
if has_network; then
    job "$PERF" compare --build "$BUILD" --net $TINY msg_lat memory --sizes 8
    check "--net compares over the network" all_of 'status_is 0' 'out_has "over the network: 2 rounds"' \
        'row msg_lat 8 half_rtt "$NUMBERS"' 'row memory - resident "$NUMBERS"'
fi

# A build that consists of two scripts. It counts the runs of each test, and its results depend on the count. Because
# rounds run the two columns in the order AB, BA, AB ..., the runs 1, 4, 5, 8, 9 of a test belong to the first column.
FAKE=$WORK/fake
mkdir -p "$FAKE/bin"
cat > "$FAKE/bin/tern-perf" <<'END'
#!/bin/sh
printf '%s  a test\n            main figure\n' put_lat get_lat put_bw get_bw am_rate msg_lat
END
cat > "$FAKE/bin/ternrun" <<'END'
#!/bin/sh
for word; do
    case $word in put_* | get_* | am_* | msg_*) test=$word ;; esac
done
count=$(($(cat "$0.$test" 2> /dev/null || echo 0) + 1))
echo $count > "$0.$test"
case $((count % 4)) in 0 | 1) first=1 ;; *) first=0 ;; esac
line() { echo "$test,shm,2,8,$1,$2,$3"; }
echo "test,link,ranks,size,metric,value,unit"
case $test in
put_lat) line latency $((80 + first * 20)) ns ;;                                  # always 1.25
get_lat) line latency $((80 + first * 20 + first * (count % 4 == 0) * 60)) ns ;;  # 1.25 and 2.00
put_bw) line bandwidth $((100 - first * 20)) MB/s ;;                              # always 1.25
msg_lat) line half_rtt $((100 - first * 20)) ns ;;                                # always 0.80
get_bw) echo "tern-perf: unknown option: --repeat; see tern-perf --help" >&2; exit 2 ;;
am_rate) echo "tern-perf: out of order" >&2; exit 1 ;;
esac
END
chmod +x "$FAKE/bin/tern-perf" "$FAKE/bin/ternrun"

job "$PERF" compare --build "$FAKE" --self --quiet --rounds 9 put_lat get_lat put_bw msg_lat --sizes 8
check "the order alternates, and ratios are taken round by round" \
    all_of 'status_is 0' 'row put_lat 8 latency "100 +80 +1.250  1.250 to 1.250  WORSE$"'
check "a bandwidth that is smaller is a ratio above 1.00" row put_bw 8 bandwidth "80 +100 +1.250  1.250 to 1.250  WORSE$"
check "a faster build is not marked" row msg_lat 8 half_rtt "80 +100 +0.800  0.800 to 0.800$"
check "a ratio within the noise is not marked" row get_lat 8 latency "100 +80 +1.250  1.250 to 2.000$"
check "a figure that the build does not print is named" row get_lat - half_rtt "neither build prints this figure"
rm -f "$FAKE"/bin/ternrun.*
job "$PERF" compare --build "$FAKE" --self --quiet --rounds 4 put_lat --sizes 8
check "few rounds mark nothing" all_of 'status_is 0' 'row put_lat 8 latency "1.250 to 1.250$"'

job "$PERF" compare --build "$FAKE" $TINY put_lat get_bw notify_rate --sizes 8
check "what an older build does not have is a row, not a failure" \
    all_of 'status_is 0' 'row put_lat 8 latency "$NUMBERS"' \
    'row put_lat - latency_complete "the other build does not print this figure"' \
    'row notify_rate - rate "the other build has no test notify_rate"' \
    'row get_bw - bandwidth "the other build does not accept this command line: unknown option: --repeat"'
job "$PERF" compare --build "$FAKE" --csv $TINY put_lat notify_rate --sizes 8
check "beside CSV it is a line on standard error" all_of 'status_is 0' csv_is_whole \
    'err_has "notify_rate, rate: the other build has no test notify_rate"'
job "$PERF" compare --build "$FAKE" $TINY put_lat am_rate --sizes 8
check "a run that fails is told, the other rows are there, and the status is 1" \
    all_of 'status_is 1' 'row put_lat 8 latency "$NUMBERS"' 'row am_rate - rate "the other build failed: out of order"' \
    'err_has "other build am_rate failed: tern-perf: out of order"'

job "$PERF" compare --build "$WORK/nowhere"
check "a directory that does not exist is named, with what to name instead" all_of 'status_is 2' \
    'err_has "$WORK/nowhere: No such file or directory; name the build directory of another Tern"'
job "$PERF" compare --build "$WORK"
check "a directory without a build is told apart" all_of 'status_is 2' \
    'err_has "there is no program $WORK/bin/ternrun; build Tern there first, or name the directory"'
printf '#!/bin/sh\necho "libtern.so.0.1: cannot open shared object file" >&2\nexit 127\n' > "$FAKE/bin/tern-perf"
job "$PERF" compare --build "$FAKE"
check "a build that does not run is told with its own words" all_of 'status_is 1' \
    'err_has "the other build does not run: .*/fake/bin/tern-perf --list: libtern.so.0.1: cannot open .*; build it again"'
job "$PERF" compare --build "$BUILD" no_such_test
check "tests that can be compared are listed" all_of 'status_is 2' 'err_has "these can: put_lat"' 'err_has " memory"'
job "$PERF" compare --self
check "--self alone is refused" all_of 'status_is 2' 'err_has "compare --build DIR --self"'
job "$PERF" init --build "$BUILD"
check "--build belongs to compare" all_of 'status_is 2' 'err_has "init does not use --build; these tests use it: compare$"'
job "$PERF" compare --build "$BUILD" --vs-limit
check "a comparison of builds has no limits" all_of 'status_is 2' 'err_has "leave out --vs-limit"'
job "$PERF" compare --build "$BUILD" --peers "$WORK"
check "a comparison of builds has no peers" all_of 'status_is 2' 'err_has "leave out --peers"'
mkdir "$WORK/lib" && touch "$WORK/lib/libtern.so"
job env LD_LIBRARY_PATH="$WORK/lib" "$PERF" compare --build "$BUILD" put_lat
check "a library that both builds would load is refused" all_of 'status_is 1' 'err_has "LD_LIBRARY_PATH"'
job "$PERF" --help
check "the help has the options" all_of 'status_is 0' 'out_has "--build DIR"' 'out_has "--self "'
check_clean "builds"
finish
