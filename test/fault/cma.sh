# cma.sh: cross-memory attach, refused in every way in which a container refuses it, and without the target's help.
#
# Promise: puts and gets complete while the target computes, and if the kernel refuses cross-memory attach, another path
# silently replaces it. The refusals are seccomp filters that cma_job.c applies to itself.
#
# timeout: 300
. "$(dirname "$0")/lib.sh"

ternrun -n 2 "$PROG/cma_job" data none
CMA=auto
if [ "$STATUS" != 0 ] && err_has 'strcmp.*is false'; then
    note "the kernel refuses cross-memory attach to everyone here: only the bounce path is tested"
    CMA=off
fi
ternrun -n 1 "$PROG/cma_job" data eperm
[ "$STATUS" = 77 ] && skip "no seccomp filters here"

silent() { [ ! -s "$WORK/err" ]; }
run() { # RANKS ARGUMENTS...
    local ranks=$1
    shift
    ternrun -n "$ranks" "$PROG/cma_job" "$@"
    check "$*, $ranks ranks: right data, nothing said" all_of 'status_is 0' silent
}

for ranks in 2 3 4 8; do
    [ $CMA = off ] || run $ranks data none
    run $ranks data eperm all
done
for refusal in enosys writev; do
    for ranks in 2 4; do run $ranks data $refusal all; done
done
if [ $CMA = auto ]; then # some by one path, some by the other
    run 2 data eperm 0
    run 3 data eperm 1
    run 4 data enosys 3
    run 8 data writev 2
fi
check_clean "refused"

for path in shm $([ $CMA = off ] || echo cma) bounce; do
    for ranks in 2 4; do run $ranks compute $path; done
done
check_clean "computing targets"

for chunk in 4K 1M; do
    ternrun -n 3 -x TERN_BOUNCE_CHUNK=$chunk -x TERN_BOUNCE_CHUNKS=1 "$PROG/cma_job" data eperm all
    check "chunks of $chunk, one for all: right data" status_is 0
done

[ $CMA = off ] || run 2 unmap cma
ternrun -n 2 -x TERN_CMA=off "$PROG/cma_job" unmap bounce
check "registered memory that its rank has unmapped, by the bounce path: an error, and both ranks live" status_is 0
check_clean "unmapped"

[ $CMA = off ] || run 2 remap cma
ternrun -n 2 -x TERN_CMA=off "$PROG/cma_job" remap bounce
check "registered memory that its rank unmaps during transfers, by the bounce path: an error, and both ranks live" status_is 0
check_clean "unmapped meanwhile"
finish
