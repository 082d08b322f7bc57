#!/bin/bash
# reference.sh BIN: throughput and latency agree with those of an independent simulator, row by row.
# timeout: 900
# labels: slow
exec "$(dirname "$0")/../../scripts/compare-sim" -b "$1"
