# lib.sh: functions that bench-armci and armci-report share. A script sources it in the root of the tree.
#
# A program is named NAME-ARMCI-MPI: a source of this directory, the library (tern or debian), and the MPI. BLAS uses
# one thread in each rank, so that ranks do not compete with threads for cores.
work=$PWD/build/bench-armci
lib=$PWD/build/lib
include=$PWD/frontends/armci/include
declare -A slow # programs with their number of ranks that took too long
mkdir -p "$work"
export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_base_warn_component_unused=0

# need_libraries: end the script unless make has built Tern's libraries for both MPIs.
need_libraries()
{
    local mpi
    for mpi in openmpi mpich; do
        [ -e "$lib/libtern-armci-$mpi.so" ] ||
            { echo "Tern's ARMCI for $mpi is not built; install lib$mpi-dev and run make" >&2; exit 1; }
    done
}

# build NAME ARMCI MPI: compile one program.
build()
{
    local name=$1 armci=$2 mpi=$3 flags=()
    local libs=(-larmci-"$mpi")
    if [ "$name" = ga_bench ]; then
        read -ra libs <<<"$("/usr/lib/$(uname -m)-linux-gnu/ga/$mpi/bin/ga-config" --libs) -lgfortran -lm"
    fi
    if [ "$armci" = tern ]; then
        flags=(-I"$include" -I"$include/mpi" -L"$lib/tern/drop-in" -Wl,-rpath,"$lib")
    fi
    "mpicc.$mpi" -std=gnu11 -O2 -w ${flags[@]+"${flags[@]}"} "bench/armci/$name.c" "${libs[@]}" -o "$work/$name-$armci-$mpi"
}

# launch MPI RANKS COMMAND...: run a command with the launcher of an MPI, for at most half a minute.
launch()
{
    local mpi=$1 ranks=$2
    shift 2
    case $mpi in
    openmpi) timeout 30 mpirun.openmpi --oversubscribe --bind-to none -n "$ranks" "$@" ;;
    *)       timeout 30 mpiexec.mpich -n "$ranks" "$@" ;;
    esac
}

# measure MARK RANKS PROGRAM [ARGUMENT...]: run a program and add its lines, behind the words of MARK, to
# $work/results. A program of Debian's ARMCI that is not done after half a minute, as happens with more ranks than
# cores, is left out from then on; any other failure ends the script.
measure()
{
    local mark=$1 ranks=$2 program=$3 code=0
    shift 3
    [ -z "${slow["$ranks $program"]-}" ] || return 0
    launch "${program##*-}" "$ranks" "$work/$program" "$@" >"$work/lines" 2>"$work/errors" </dev/null || code=$?
    if [ $code = 0 ]; then
        sed "s/^/$mark /" "$work/lines" >>"$work/results"
    elif [ $code = 124 ] && [[ $program == *-debian-* ]]; then
        echo "$program with $ranks ranks is not done after half a minute and is left out" >&2
        slow["$ranks $program"]=1
    else
        cat "$work/errors" >&2
        echo "$program with $ranks ranks failed" >&2
        exit 1
    fi
}
