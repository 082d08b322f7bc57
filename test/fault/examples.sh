# examples.sh: the example programs do what they describe.
#
# Promise: they run as jobs, on shared memory and over the network, and those that check themselves find no error.
. "$(dirname "$0")/lib.sh"

ternrun -n 2 "$BIN/hello"
check "hello" all_of 'status_is 0' 'out_has "rank 0 of 2 got 101"' 'out_has "rank 1 of 2 got 100"'
links=
"$BIN/tern-info" | grep -q '^ *ofi ' && links=ofi
for links in '' $links; do
    ternrun -n 3 ${links:+-x TERN_LINKS=$links} "$BIN/transpose" 500
    check "transpose ${links:-on one node}" all_of 'status_is 0' 'out_has "500 doubles on 3 ranks transposed, 0 wrong"'
    ternrun -n 2 ${links:+-x TERN_LINKS=$links} "$BIN/trigger"
    check "trigger ${links:-on one node}" all_of 'status_is 0' 'out_has "of 256 chunks arrived; 0 bytes are wrong"'
    ternrun -n 3 ${links:+-x TERN_LINKS=$links} "$BIN/exchange"
    check "exchange ${links:-on one node}" all_of 'status_is 0' 'out_has "100 tasks, sum of squares 328350"' \
        'out_has "rank 2 has 4194304 bytes of rank 1, the last of which is 2"'
done
check_clean "at the end"
finish
