# lib_perf.sh: functions shared by the tests of tern-perf. They run tern-perf for as short a time as possible and check
# its output. The measured performance does not matter here.
. "$(dirname "$0")/../fault/lib.sh"

LIMIT=${FAULT_LIMIT:-240} # seconds; other programs may slow down the machine
PERF=$BIN/tern-perf
SHORT="--quiet --csv --time 0.004 --repeat 2"

# Every line of the output is one result with a numeric value.
csv_is_whole() {
    awk -F, 'NR == 1 { if ($0 != "test,link,ranks,size,metric,value,unit") exit 1; next }
             NF != 7 || $3 !~ /^[0-9]+$/ || $4 !~ /^[0-9]+$/ || $6 !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ { print; exit 1 }
             END { exit NR < 2 }' "$WORK/out"
}

# csv_has TEST LINK METRIC: the output has such a result; * matches anything.
csv_has() {
    awk -F, -v t="$1" -v l="$2" -v m="$3" '(t == "*" || $1 == t) && (l == "*" || $2 == l) && $5 == m { found = 1 }
        END { exit !found }' "$WORK/out"
}

# check_perf TEXT TEST LINK "METRIC..." COMMAND...: the command succeeds and prints these results.
check_perf() {
    local text=$1 test=$2 link=$3 metrics=$4 metric
    shift 4
    job "$@"
    for metric in $metrics; do
        csv_has "$test" "$link" "$metric" || { fail "$text: no figure $metric"; return; }
    done
    check "$text" all_of 'status_is 0' csv_is_whole
}

in_job() { # in_job RANKS TEST...: print the command that runs a test in a job
    echo "$BIN/ternrun -n $1 $PERF ${*:2} $SHORT"
}

# Check whether jobs can use the network on this machine.
has_network() {
    job $(in_job 2 barrier --net)
    status_is 0
}
