#!/bin/bash
# styles.sh BIN APP RANKS: an application, run in each of its styles with this number of ranks, must find its own result
# correct. The problems are small: their sizes are not multiples of the numbers of ranks, the tree has several levels,
# and the matrix has both distributions.
set -eu
bin=$1 app=$2 ranks=$3
styles="notified onesided message"
case $app in
stencil) sizes=("--rows 61 --columns 47 --iterations 3") ;;
tree) sizes=("--arity 2 --values 5 --rounds 50") ;;
cholesky) sizes=("--tiles 9 --side 7") ;;
lu)
    sizes=("--blocks 9 --side 7" "--blocks 9 --side 7 --cyclic 0")
    styles="$styles armci"
    ;;
esac
for size in "${sizes[@]}"; do
    for style in $styles; do
        # shellcheck disable=SC2086 # size is several words
        said=$("$bin/ternrun" -n "$ranks" --timeout 100 "$bin/$app" --style $style --runs 1 $size)
        echo "$said"
        [[ $said == *$'\nrate '*$'\nefficiency '*$'\nverdict     correct: '* ]]
    done
done
