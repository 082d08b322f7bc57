#!/bin/bash
# figures.sh BIN: scripts/figures quick completes the small study, and writes every table, every plot and the page.
# timeout: 600
# labels: slow rest
set -eu
cd "$(dirname "$0")/../.."
rm -rf build/figures-quick
FIGURES_BIN=$1 scripts/figures quick
for file in figure1.csv figure4.csv figure5.csv figure1.svg figure4-2.svg figure4-4.svg figure4-8.svg figure5.svg README.md; do
    [ -s build/figures-quick/$file ] || { echo "$file is missing"; exit 1; }
done
grep -c '<path' build/figures-quick/figure5.svg >/dev/null
# What must come out on any network: slow nodes take no more than their rate, and none is in deadlock.
awk -F, 'FNR > 1 && $2 > 0 && $8 > 1 / $1 + 0.001 { print FILENAME ": slow nodes take " $8; bad = 1 } END { exit bad }' \
    build/figures-quick/figure[145].csv
