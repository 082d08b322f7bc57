#!/bin/bash
# verdict.sh BIN: promise: in every style, an application detects a wrong result, prints it and has the exit status 1;
# it reports a wrong command line. The versions for MPI do the same, if they were built.
set -u
bin=$1
failed=0

# expect STATUS TEXT COMMAND...
expect()
{
    local status=$1 text=$2 got said
    shift 2
    said=$("$@" 2>&1)
    got=$?
    if [ $got -ne "$status" ] || [[ $said != *"$text"* ]]; then
        printf 'status %d, not %d, or without "%s": %s\n%s\n' $got "$status" "$text" "$*" "$said"
        failed=1
    fi
}

run() { expect "$1" "$2" "$bin/ternrun" -n 2 --timeout 100 "${@:3}"; }

# verdicts LAUNCH COMMAND...: the command, as a job of the launcher, finds its result correct, and a spoiled one wrong.
# The numbers of ranks take turns, so that each application, each style and each launcher has each of them.
turn=0
verdicts()
{
    local launch=$1 ranks=(2 8 3 4 8 2 4 3)
    shift
    # shellcheck disable=SC2086 # the launcher is several words
    expect 0 "verdict     correct: " $launch -n ${ranks[turn % 8]} "$@"
    # shellcheck disable=SC2086 # as above
    expect 1 "verdict     WRONG: " $launch -n ${ranks[(turn + 1) % 8]} "$@" --spoil 1
    turn=$((turn + 3))
}

stencil="--rows 20 --columns 20 --iterations 2 --runs 1"
tree="--rounds 20 --runs 1"
cholesky="--tiles 4 --side 5 --runs 1"
lu="--blocks 4 --side 5 --runs 1"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_base_warn_component_unused=0
for app in stencil tree cholesky lu; do
    [ -x "$bin/$app" ] || continue
    for style in notified onesided message; do
        # shellcheck disable=SC2086 # the sizes are several words
        run 1 "verdict     WRONG: " "$bin/$app" --style $style --spoil 1 ${!app}
    done
    run 2 "usage: $app " "$bin/$app" --style nosuch
    run 2 "usage: $app " "$bin/$app" --runs 0
    for mpi in openmpi mpich; do
        case $mpi in
        openmpi) launch="mpirun.openmpi --oversubscribe" ;;
        mpich) launch="mpiexec.mpich" ;;
        esac
        [ -x "$bin/$app-$mpi" ] || continue
        styles="message notified"
        [ "$app" != lu ] || styles=message
        for style in $styles; do
            # shellcheck disable=SC2086 # as above
            verdicts "$launch" "$bin/$app-$mpi" --style $style ${!app}
        done
        program=$bin/$app-armci-$mpi
        # shellcheck disable=SC2086 # as above
        [ ! -x "$program" ] || verdicts "$launch" "$program" ${!app}
    done
done
[ ! -x "$bin/lu" ] || # shellcheck disable=SC2086 # as above
    run 1 "verdict     WRONG: " "$bin/lu" --style armci --spoil 1 $lu
[ ! -x "$bin/cholesky" ] || # tiles that are longer than an active message may be
    run 0 "verdict     correct: " "$bin/cholesky" --style message --tiles 3 --side 200 --runs 1
exit $failed
