# idle.sh: MPI makes progress while Tern waits, by an idle hook (mpi_idle.c).
#
# Promise: with a hook that calls MPI_Iprobe, MPI_Isend and then tern_barrier against MPI_Recv and then tern_barrier
# ends with each installed MPI, and so does the same with tern_init or tern_finalize, whether MPI copies from the memory
# of the sender (cross-memory attach) or not, on shared memory and over the network, with waits that spin and waits that
# sleep. Without the hook, the program hangs with MPICH in both cases, and with Open MPI without cross-memory attach:
# run "mpiexec.mpich -n 2 mpi_idle-mpich none".
#
# builds: release debug
. "$(dirname "$0")/lib.sh"
LIMIT=60
any=

# idle NAME LAUNCHER OPTIONS...: run the program with the options of the launcher.
idle() {
    local name=$1 launcher=$2 links
    shift 2
    for links in '' $network; do
        for spin in 0 1000; do
            command_of "$launcher" 2 "$@"
            launched env ${links:+TERN_LINKS=$links} TERN_SPIN=$spin "${CMD[@]}" "$PROG/mpi_idle-$launcher" hook 4194304
            check "$launcher, $name, ${links:-shared memory}, spin $spin" \
                all_of 'status_is 0' "out_count '^done 4194304\$' 2" 'err_lacks mpi_idle:'
        done
    done
}

network=
"$BIN/tern-info" | grep -q '^ *ofi ' && network=ofi
for launcher in $LAUNCHERS; do
    [ -x "$PROG/mpi_idle-$launcher" ] || continue
    any=yes
    case $launcher in
    openmpi)
        idle "with CMA" openmpi
        idle "without CMA" openmpi --mca btl_vader_single_copy_mechanism none
        ;;
    mpich)
        idle "with CMA" mpich
        idle "without CMA" mpich -genv UCX_TLS self,sysv,posix -genv MPIR_CVAR_NEMESIS_LMT_CMA 0 # by device
        ;;
    esac
    launch "$launcher" 4 "$PROG/mpi_both-$launcher"
    check "$launcher: the example" all_of 'status_is 0' 'out_count "^rank [0-3] of 4 has 4194304 bytes of rank" 4'
    check_clean "$launcher"
done
[ -n "$any" ] || skip "no MPI compiler is installed"
finish
