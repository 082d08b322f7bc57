# bench.sh: the programs of bench-armci, armci-report and bench-notify run and print the figures that the scripts read,
# with the first MPI that is installed, or with BENCH_ALL with all of them.
#
# builds: release
# long: BENCH_ALL=1
. "$(dirname "$0")/lib_mpi.sh"
LIMIT=120
any=

# prints NAME LAUNCHER PROGRAM ARGUMENT PATTERN...: the program prints one line for each pattern, and a positive number.
prints() {
    local name=$1 launcher=$2 program=$3 argument=$4 pattern ok=yes
    shift 4
    launch "$launcher" 2 "$program" ${argument:+"$argument"}
    for pattern; do
        out_count "^$pattern [0-9]*\.?[0-9]+\$" 1 || { ok=no; note "no line $pattern"; }
    done
    out_has ' -|nan|inf' && ok=no
    check "$name, $launcher" all_of 'status_is 0' "[ $ok = yes ]"
}

for launcher in $LAUNCHERS; do
    [ -x "$PROG/armci_bench-$launcher" ] || continue
    [ -z "$any" ] || [ -n "${BENCH_ALL:-}" ] || continue
    any=yes
    prints armci_bench "$launcher" "$PROG/armci_bench-$launcher" '' put8 get8 rmw8 puts64x64 gets64x64 accs64x64 lock tasks
    prints together "$launcher" "$PROG/armci_bench-$launcher" together lock tasks
    check "only these" all_of '[ $(wc -l < $WORK/out) = 2 ]'
    prints ga_bench "$launcher" "$PROG/ga_bench-$launcher" '' ga_dgemm ga_tasks
    prints armci_curves "$launcher" "$PROG/armci_curves-$launcher" '' 'put contiguous 8' 'get contiguous 2097152' \
        'acc contiguous 8' 'put strided 32' 'get strided 32768' 'acc strided 2097152' 'get columns 2097152'
    [ ! -x "$PROG/notify_bench-$launcher" ] ||
        prints notify_bench "$launcher" "$PROG/notify_bench-$launcher" 2000 line notify native send put_send \
            put_send_same vector vector_mpi native_vector
done
[ -n "$any" ] || skip "Global Arrays (libglobalarrays-dev) or the MPIs are not installed"
finish
