#!/bin/bash
# story.sh: TERN_LOG=info and TERN_LOG=debug tell what Tern does.
#
# Promise: with info each rank says which version it is, where it runs and how it was started, which link serves which
# ranks and why, which network it chose and why not another one, which threads it starts, and each fallback. With debug
# it also says each connection, each region with its paths, each atomic domain with its mechanism and the reason, each
# team, each client of active messages, and the end of each thread. No line is printed twice. With
# the default level nothing of this is printed. An option that is set to an empty value has its default.
. "$(dirname "$0")/lib.sh"

PROGRAM=$PROG/story_job
no_line_twice() { [ -z "$(sort "$WORK/err" | uniq -d)" ]; }

job env TERN_LOG=info "$BIN/ternrun" -n 2 "$PROGRAM"
check "a job on one node ends" status_is 0
check "version, rank, size, nodes and launcher" \
    err_has '^tern: rank 1: Tern [0-9.]+: rank 1 of 2, on node 0 of 1, which has 2 ranks .*; started by ternrun$'
check "how waits behave, and why" err_has '^tern: rank 0: waits spin for .*, because '
check "links that serve ranks" all_of "err_has '^tern: rank 0: link self serves rank 0: '" \
    "err_has '^tern: rank 0: link shm serves rank 1: it is the best link'"
check "links that are not needed" err_has '^tern: rank 0: link ofi is not opened: better links serve all ranks$'
check "threads" err_has '^tern: rank 0: thread tern-helper started$'
check "nothing of the level debug" err_lacks 'tern_region_|connected|ended$'
check "no line twice" no_line_twice

job env TERN_LOG=info TERN_CMA=off "$BIN/ternrun" -n 2 "$PROGRAM"
check "a fallback that was asked for" all_of 'status_is 0' "err_has 'bounce buffer'"

job env TERN_LOG=debug "$BIN/ternrun" -n 2 "$PROGRAM"
check "each region with its size and paths" all_of 'status_is 0' \
    "err_has '^tern: rank 0: tern_region_create: region [0-9a-f]+ of 4096 bytes here; rank 0 by self, 1 by shm$'" \
    "err_has '^tern: rank 0: tern_region_free: region [0-9a-f]+ of 4096 bytes here is freed$'"
check "each atomic domain, with the reason for its mechanism" \
    err_has '^tern: rank 1: tern_atomic_domain_create: a domain of uint64 by memory: loads and stores reach the memory'
check "each client and each team" all_of \
    "err_has '^tern: rank 0: tern_am_client_create: client \"story\" of the team of all 2 ranks$'" \
    "err_has '^tern: rank 1: tern_am_client_free: client \"story\" is freed$'" \
    "err_has '^tern: rank 1: tern_team_dup: rank 1 of team '" "err_has '^tern: rank 0: tern_team_free: team .* is freed$'"
check "each connection over shared memory" err_has '^tern: rank 0: link shm: connected to rank 1 for tagged messages'
check "the end of each thread" err_has '^tern: rank 0: thread tern-helper ended$'
check "no line twice with debug" no_line_twice

job env TERN_LOG=debug TERN_LINKS=ofi "$BIN/ternrun" -n 2 "$PROGRAM"
if grep -q 'no link "ofi"' "$WORK/err"; then
    note "this library has no network"
else
    check "the network, and why it was chosen" all_of 'status_is 0' \
        "err_has '^tern: rank 1: link ofi: provider [^ ]+, domain [^ ]+.*: chosen: '" \
        "err_has '^tern: rank 0: link ofi: provider [^ ]+, domain [^ ]+.*: not chosen: '"
    check "the link that TERN_LINKS excludes" \
        err_has '^tern: rank 0: link shm serves no rank: TERN_LINKS does not name it'
    check "each connection over the network" err_has '^tern: rank 0: link ofi, provider .*: connected to rank 1$'
    check "its thread" all_of "err_has '^tern: rank 0: thread tern-progress started$'" \
        "err_has '^tern: rank 0: thread tern-progress ended$'"
    check "no line twice over the network" no_line_twice
fi

job env TERN_LOG= TERN_LINKS= TERN_TIMEOUT= TERN_SPIN= TERN_CMA= TERN_OFI_PROVIDER= TERN_CHAOS= TERN_NODE= \
    "$BIN/ternrun" -n 2 "$PROGRAM"
check "empty options have their defaults, and the default level prints nothing" all_of 'status_is 0' "err_lacks ."
check_clean "after all jobs"
finish
