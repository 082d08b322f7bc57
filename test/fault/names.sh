#!/bin/bash
# names.sh: libfabric's provider shm names endpoints after process ids, and a killed rank leaves its name behind.
# Promise: a later rank whose process has the same id starts all the same. In a new pid namespace the ids start again.
#
# labels: tools
. "$(dirname "$0")/lib.sh"
if ! unshare --pid --fork --mount-proc true 2> /dev/null || ! "$BIN/tern-info" | grep -qw shm; then
    echo "# needs namespaces of processes, and libfabric's provider shm"
    exit 77
fi
export TERN_LINKS=ofi TERN_OFI_PROVIDER=shm
names() { ls /dev/shm | grep -E '^[0-9]+:[0-9]+:[0-9]+$' | sort; }
BEFORE=$(names)
left() { comm -13 <(echo "$BEFORE") <(names); }
at_exit() { left | sed 's,^,/dev/shm/,' | xargs -r rm -f; }

job unshare --pid --fork --mount-proc "$BIN/ternrun" -n 2 "$PROG/names_job" kill
check "ranks that are killed leave their names" all_of 'status_is 137' '[ -n "$(left)" ]'
for again in 1 2; do
    job unshare --pid --fork --mount-proc "$BIN/ternrun" -n 2 "$PROG/names_job"
    check "ranks with the same process numbers start, job $again" all_of 'status_is 0' '[ "$(cat "$WORK/out" "$WORK/err")" = "$(printf "met\nmet")" ]'
done
finish
