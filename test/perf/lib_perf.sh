# lib_perf.sh: functions shared by the tests of tern-perf. They run tern-perf for as short a time as possible and check
# its output. The measured performance does not matter here.
. "$(dirname "$0")/../fault/lib.sh"

LIMIT=${FAULT_LIMIT:-240} # seconds; other programs may slow down the machine
PERF=$BIN/tern-perf
NET=$(usual_link) # the link of --net
export XDG_CACHE_HOME=$WORK/cache # peer programs that are compiled on demand
SHORT="--quiet --csv --time 0.004 --repeat 2"

# Every line of the output is one result with a numeric value, and with its spread or without.
csv_is_whole() {
    awk -F, 'function number(x) { return x ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }
             NR == 1 { if ($0 != "test,link,ranks,size,metric,value,unit,p25,p75,min,max") exit 1; next }
             NF != 11 || $3 !~ /^[0-9]+$/ || $4 !~ /^[0-9]+$/ || !number($6) { print; exit 1 }
             $8 $9 $10 $11 != "" && !(number($8) && number($9) && number($10) && number($11)) { print; exit 1 }
             seen[$1, $2, $3, $4, $5]++ { print "twice: " $0; exit 1 }
             END { exit NR < 2 }' "$WORK/out"
}

# csv_spread TEST METRIC: the result has its quartiles, and they enclose the median.
csv_spread() {
    awk -F, -v t="$1" -v m="$2" '$1 == t && $5 == m { found = $8 != "" && $10 <= $8 && $8 <= $6 && $6 <= $9 && $9 <= $11 }
        END { exit !found }' "$WORK/out"
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
    local short=$SHORT
    case $2 in # these tests do not use --time
    slow_sink | immediate | wake_lat | shared_ctx | region_grow | put_adopted | team_create) short="--quiet --csv --repeat 2" ;;
    esac
    echo "$BIN/ternrun -n $1 $PERF ${*:2} $short"
}

# Check whether jobs can use the network on this machine.
has_network() {
    job $(in_job 2 barrier --net)
    status_is 0
}
