#!/bin/bash
# reference.sh BIN: throughput and latency agree with those of an independent simulator, row by row.
#
# SIM_ROWS is "all", or "third" to compare every third row of the table, which is the default. Rows that follow each
# other differ only in the load.
#
# timeout: 900
# labels: slow
# long: SIM_ROWS=all
cd "$(dirname "$0")/../.." || exit 1
[ "${SIM_ROWS:-third}" != all ] || exec scripts/compare-sim -b "$1"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp sim/reference/permutations-*.txt "$work"
awk 'NR % 3 == 1' sim/reference/booksim-dragonfly.csv > "$work/every-third.csv" # with the first line, the names
scripts/compare-sim -b "$1" "$work/every-third.csv"
