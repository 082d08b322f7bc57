# jobs.sh: the tests of the API pass under foreign launchers, too.
#
# JOBS_PROGRAMS lists the tests: by default only a few, because a launcher only changes how a job starts and ends; or
# "all". Some tests never run here: early, in which a forked process calls tern_abort, which ends the job under any
# launcher but ternrun; large, which needs gigabytes of memory; ofi_notify and strangers, which need a network; and
# adopt, because tern_region_adopt refuses memory while other threads run, such as that of PMIx.
#
# timeout: 600
# labels: slow
# long: JOBS_PROGRAMS=all
. "$(dirname "$0")/lib.sh"
need_launchers
LIMIT=120
PROGRAMS=${JOBS_PROGRAMS:-am_kinds notify tagged transfer}

for launcher in $LAUNCHERS; do
    for ranks in 1 2 3 8; do
        launch "$launcher" $ranks "$PROG/launch_job" ring
        check "$launcher: $ranks ranks find each other" all_of 'status_is 0' "out_count '^ring [0-9]+ of $ranks on 1 ' $ranks"
    done
    for program in "$TEST"/api/*; do
        name=$(basename "$program")
        { [ -x "$program" ] && [ -f "$program" ]; } || continue
        case $name in early | large | ofi_notify | strangers | adopt | adopt-*) continue ;; esac
        case " $PROGRAMS " in " all " | *" $name "*) ;; *) continue ;; esac
        launch "$launcher" 4 "$program"
        [ "$STATUS" = 77 ] || # the program needs a debug build
            check "$launcher: api/$name with 4 ranks" status_is 0
    done
    check_clean "$launcher, all of these"
done

# Waits decide whether to spin by the number of cores that the ranks of a node may use together.
if command -v mpirun.openmpi > /dev/null && [ "$(nproc)" -gt 1 ]; then
    launched mpirun.openmpi --allow-run-as-root --bind-to core -n 2 "$PROG/launch_job" ring
    check "two ranks bound to a core each have two" all_of 'status_is 0' "out_count 'cores 2$' 2"
    launched mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 taskset -c 0 "$PROG/launch_job" ring
    check "two ranks on the same core have one" all_of 'status_is 0' "out_count 'cores 1$' 2"
fi
finish
