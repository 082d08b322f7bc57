# region.sh: promise: a rank that is killed while regions grow, while memory is adopted, or while it attaches memory,
# leaves the memory of the others as it was, and nothing of its own.
. "$(dirname "$0")/lib.sh"

held() { grep -qx held "$WORK/out"; }

for us in 1000 7000 20000 50000; do
    for how in grow adopt attach; do
        ternrun -n 3 --on-failure return "$PROG/region_job" $how $us
        check "$how: a rank is killed after $us us" all_of 'status_is 137' held
        check_clean "$how $us" quiet
    done
done
if "$BIN/tern-info" | grep -q '^ *ofi '; then
    for how in grow adopt attach; do
        ternrun -n 3 --on-failure return -x TERN_LINKS=ofi -x TERN_CMA=off "$PROG/region_job" $how 30000
        check "$how over the network: a rank is killed" all_of 'status_is 137' held
        check_clean "$how network" quiet
    done
fi
finish
