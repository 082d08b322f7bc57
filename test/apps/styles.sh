#!/bin/bash
# styles.sh BIN APP RANKS: an application in each of its styles with this number of ranks must find its own result
# correct. Small problems, whose sizes are no multiples of anything, and a tree of several levels.
set -eu
bin=$1 app=$2 ranks=$3
case $app in
stencil) size="--rows 61 --columns 47 --iterations 3" ;;
tree) size="--arity 2 --values 5 --rounds 50" ;;
cholesky) size="--tiles 9 --side 7" ;;
esac
for style in notified onesided message; do
    # shellcheck disable=SC2086 # size is several words
    said=$("$bin/ternrun" -n "$ranks" --timeout 100 "$bin/$app" --style $style --runs 1 $size)
    echo "$said"
    [[ $said == *$'\nrate '*$'\nefficiency '*$'\nverdict     correct: '* ]]
done
