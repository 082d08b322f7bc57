#!/bin/bash
# tests.sh: every test of tern-perf runs through shared memory and over the network, and prints the results that the
# manual documents, as CSV, as JSON and as a table.
#
# timeout: 900
# labels: tools
. "$(dirname "$0")/lib_perf.sh"

LIST=$("$PERF" --list)
# is_listed TEST: the output has the main figure of --list, perhaps with a suffix, in the unit of --list.
is_listed() {
    local main=($(awk -v t="$1" '$1 == t { on = 1 } on && /main figure/ { sub(",", "", $5); print $3, $5; exit }' <<< "$LIST"))
    awk -F, -v m="${main[0]}" -v u="${main[1]}" 'index($5, m) == 1 && $7 == u { found = 1 } END { exit !found }' "$WORK/out"
}

# memory TEST "METRIC..." [OPTION...]
memory() {
    check_perf "$1 ${*:3}" "$1" '*' "$2" $(in_job 2 "$1" "${@:3}")
    is_listed "$1" || fail "$1 ${*:3}: no main figure as in --list"
}

memory put_lat "latency latency_complete half_rtt plain_store over_store cacheline_half_rtt ratio_to_limit" --sizes 8 --vs-limit
check "the quartiles are columns" all_of 'csv_spread put_lat latency' 'csv_spread put_lat ratio_to_limit'
memory get_lat "latency half_rtt over_load" --sizes 8
memory put_bw "bandwidth bandwidth_complete limit ratio_to_limit" --sizes 4K --vs-limit
memory put_bw "bandwidth bandwidth_complete" --sizes 4K --window 4
memory get_bw "bandwidth" --sizes 4K --window 4
memory put_rate "rate"
memory get_rate "rate"
memory barrier "latency cacheline_half_rtt" --vs-limit
memory coll_overlap "blocking nonblocking asleep computing cpu" --sizes 64K
memory team_create "split members free" --iters 2
memory share "step" --sizes 10K
memory window "put_bandwidth_w4 get_bandwidth_w4 ratio_to_limit_put_w4" --window 4 --sizes 64 --vs-limit
memory order "put_relaxed_w2 put_strict_w2 put_cost_w2 get_relaxed_w8 get_strict_w8 get_cost_w8" --sizes 64 --window 2,8
memory am_lat "half_rtt" --sizes 0,8
memory am_lat "half_rtt_fixed half_rtt_negotiated gain_percent" --generate --sizes 64
memory am_rate "rate"
memory am_bw "bandwidth" --sizes 4K
memory msg_lat "half_rtt cacheline_half_rtt ratio_to_limit" --sizes 0,64K --vs-limit
memory msg_bw "bandwidth" --sizes 4K,2M --window 2
memory msg_bw_one "bandwidth" --sizes 256K --window 2
memory msg_rate "rate"
memory msg_bibw "bandwidth_w4 put_bandwidth_w4" --sizes 8,256K --window 4
memory msg_depth "half_rtt" --sizes 100
check_perf "slow_sink" slow_sink '*' "healthy_rdrp keeps_rdrp slow_rdrp healthy_get keeps_get slow_get keeps_put" \
    $(in_job 3 slow_sink --sizes 1M)
memory strided_bw "bandwidth get_bandwidth hand bandwidth_8d bandwidth_32d ratio_32d_to_3d ratio_to_hand" --sizes 24,4K
memory indexed_bw "bandwidth get_bandwidth ratio_to_hand" --sizes 4K --element 64 --window 2
memory vector_bw "bandwidth get_bandwidth ratio_to_hand" --sizes 4K
memory transpose "bandwidth naive_reading naive_writing memcpy ratio_to_naive_reading ratio_to_naive_writing ratio_to_memcpy" --sizes 40
memory column_bw "bandwidth series series_posted ratio_to_series ratio_to_series_posted hand ratio_to_hand" --sizes 16
memory fadd_lat "latency latency_int8 latency_uint16 latency_int32 latency_double fetch_add over_fetch_add"
memory fadd_rate "rate rate_float" --window 4
memory hot_spot "aggregate fetch_add_aggregate ratio_to_limit"
memory acc_bw "bandwidth bandwidth_complete bandwidth_int8 bandwidth_int16 bandwidth_int32 bandwidth_complex_double memcpy ratio_to_limit" --sizes 16,1K
memory acc_shapes "strided indexed vector contiguous scaled get_accumulate" --sizes 128
memory lock_rate "latency rate contended"
memory trigger_lat "latency plain cost addition"
memory trigger_chain "step step_beside one_by_one"
memory immediate "static_full dynamic_full reduction_full queue_depth" --messages 20
memory region_grow "grow create ratio_to_create" --iters 3
memory put_adopted "adopted allocated ratio_to_allocated" --iters 1000
memory wake_lat "polling yielding asleep futex ratio_to_futex" --iters 3
memory shared_ctx "put_private put_shared put_cost put_call_cost get_two_shared am_two_private am_cost" --iters 100
memory idle "barrier_program barrier_helper asleep_program asleep_helper"
memory limits "memcpy fetch_add plain_store" --sizes 64
memory demo "put_latency memcpy" --sizes 8
memory put_bw "bandwidth" --memory registered --sizes 4K

job "$BIN/ternrun" -n 1 "$PERF" order
check "order wants two ranks and says so" all_of 'status_is 1' 'err_has "needs at least 2 ranks"'
job "$BIN/ternrun" -n 1 "$PERF" order --window 0
check "a window of nothing is refused" all_of 'status_is 2' 'err_has -- "--window wants"'
job "$BIN/ternrun" -n 2 "$PERF" order --sizes 64 --window 2 --quiet --time 0.004 --repeat 2
check "the table has a head and a row" all_of 'status_is 0' 'out_has "put_cost_w2 .ratio."' 'out_has "^ +64 "'
job "$BIN/ternrun" -n 2 "$PERF" msg_depth --sizes 10 --quiet --time 0.004 --repeat 2
check "the table says what sizes count" all_of 'status_is 0' 'out_has "^ *other messages +half_rtt .ns.$"' 'out_has "^ +10 "'
job "$BIN/ternrun" -n 2 "$PERF" barrier --quiet --time 0.004 --repeat 2
check "a figure without a size has none in the table" all_of 'status_is 0' 'out_has "^ +- "'
job "$BIN/ternrun" -n 2 "$PERF" msg_lat --sizes 0 --quiet --time 0.004 --repeat 2
check "an empty message has size 0" all_of 'status_is 0' 'out_has "^ +0 "'
job "$BIN/ternrun" -n 2 "$PERF" idle --json --quiet --time 0.004 --repeat 2
check "JSON is an array of figures" all_of 'status_is 0' 'out_has "^\[$"' 'out_has "\"metric\": \"asleep_helper\""' \
    'out_has "\"p25\": [0-9.]+, \"p75\": [0-9.]+, \"min\": [0-9.]+, \"max\": [0-9.]+\}"' 'out_has "^\]$"'
job "$BIN/ternrun" -n 1 --bind core "$PERF" limits --sizes 64 --csv --time 0.004 --repeat 2
check "a rank that is bound to a core gets no warning" all_of 'status_is 0' 'err_lacks "not bound"'
if [ "$(nproc)" -gt 1 ]; then
    job "$BIN/ternrun" -n 2 --bind none "$PERF" put_lat --sizes 8 --csv --time 0.004 --repeat 2
    check "ranks that are not bound to cores are reported, in one line" all_of 'status_is 0' \
        'err_count "warning: the ranks are not bound to cores; use ternrun --bind core" 1'
fi

if has_network; then
    # net TEST "METRIC..." [OPTION...]
    net() { check_perf "$1 --net ${*:3}" "$1" "$NET" "$2" $(in_job 2 "$1" --net "${@:3}"); }

    net put_lat "latency latency_complete half_rtt tcp_half_rtt ratio_to_limit latency_to_rtt" --sizes 8 --vs-limit
    net get_lat "latency half_rtt latency_to_rtt" --sizes 8 --vs-limit
    net put_bw "bandwidth bandwidth_complete limit ratio_to_limit" --sizes 64K --vs-limit
    net get_bw "bandwidth limit" --sizes 64K --window 4 --vs-limit
    net put_rate "rate limit" --vs-limit
    net barrier "latency tcp_half_rtt" --vs-limit
    # No message through the TCP stack takes less than a microsecond; a barrier in shared memory does.
    check "barrier --net is not in shared memory" \
        awk -F, '$5 == "latency" { slow = $10 > 1000 } END { exit !slow }' "$WORK/out"
    for link in tcp ofi; do
        job env TERN_LINKS=$link $(in_job 2 barrier)
        check "TERN_LINKS=$link has the same effect" all_of 'status_is 0' "csv_has barrier $link latency" \
            "awk -F, '\$5 == \"latency\" { slow = \$10 > 1000 } END { exit !slow }' $WORK/out"
    done
    check_perf "--net=ofi: libfabric" barrier ofi latency $(in_job 2 barrier --net=ofi)
    check_perf "--net=PROVIDER: libfabric" barrier ofi latency $(in_job 2 barrier '--net=tcp;ofi_rxm')
    net coll_overlap "blocking nonblocking asleep computing cpu" --sizes 64K
    net team_create "split members free" --iters 2
    net share "step" --sizes 10K
    net region_grow "grow create" --iters 3
    net put_adopted "adopted allocated" --iters 20
    net wake_lat "polling yielding asleep" --iters 3
    net shared_ctx "put_cost get_cost am_cost put_two_shared" --iters 20
    net window "put_bandwidth_w4" --sizes 64 --window 4 --vs-limit
    net order "put_relaxed_w4 put_cost_w4 get_cost_w4" --sizes 64 --window 4
    net am_lat "half_rtt tcp_half_rtt" --sizes 8 --vs-limit
    net am_rate "rate limit" --vs-limit
    net am_bw "bandwidth limit" --sizes 4K --vs-limit
    net strided_bw "bandwidth get_bandwidth contiguous ratio_to_contiguous" --sizes 4K --element 64 --window 2
    net indexed_bw "bandwidth contiguous" --sizes 4K
    net vector_bw "bandwidth contiguous" --sizes 4K
    net transpose "bandwidth" --sizes 40
    net column_bw "bandwidth series" --sizes 16
    net fadd_lat "latency latency_int32 am_rtt ratio_to_am_rtt"
    net fadd_rate "rate rate_double" --window 4
    net hot_spot "aggregate"
    net idle "barrier_program barrier_helper asleep_helper"
    net limits "tcp_rtt tcp_half_rtt tcp_to tcp_from" --sizes 8
    job $(in_job 2 put_lat --net=none-of-that-name)
    check "a provider that is not there is named" all_of '! status_is 0' 'err_has none-of-that-name'
else
    note "no network for jobs here: $(tail -n 1 "$WORK/err")"
fi
check_clean "tests"
finish
