#!/bin/bash
# info.sh: tern-info prints what holds on this machine, for people and for programs, and refuses wrong options.
#
# labels: tools
. "$(dirname "$0")/lib.sh"
unset "${!TERN_@}"
INFO=$(readlink -f "$BIN/tern-info")
info() { job "$INFO" "$@"; }

lines() { [ "$(wc -l < "$WORK/$1")" -eq "$2" ]; }
sections() { # every title of the arguments begins a line
    local title
    for title; do grep -qE "^$title" "$WORK/out" || { echo "# no section $title"; return 1; }; done
}
narrow() { ! grep -nE '.{121}| $' "$WORK/out"; }
# The options in the order of the output.
names() { sed -n 's/^  \(TERN_[A-Z_]*\) *=.*/\1/p' "$WORK/out"; }

# ---- for people ----

info
check "all sections are there" all_of 'status_is 0' 'lines err 0' \
    "sections Tern Cores 'NUMA nodes' Caches Memory Limits 'Huge pages' Kernel Links 'Cross-memory' Progress Networks \
        Launchers Start Promises Options"
check "no line is too long or ends in a blank" narrow
check "cores: those of the machine and those that are usable" all_of \
    'out_has "^  cores usable from here +[0-9]+"' 'out_has "^  node 0: .* CPUs .*usable from here: "'
check "limits: soft and hard" all_of "out_has '^  open files +$(ulimit -Sn | sed s/unlimited/none/) \($(ulimit -Hn |
    sed s/unlimited/none/)\)'" 'out_has "^  locked memory, bytes "' 'out_has "^  /dev/shm "' 'out_has "CPU time, control group"'
check "kernel: each facility" all_of 'out_has "memfd\) +(yes|no)$"' 'out_has "pidfd\) +(yes|no)$"' \
    'out_has "^  membarrier, all ranks +(yes|no)$"'
check "launchers: ternrun of this version, and the others found or not" all_of \
    "out_has '^  ternrun +$("$BIN/ternrun" --version | cut -d' ' -f2), /'" \
    '[ "$(grep -cE "^  (ternrun|Open MPI|MPICH|Slurm|Flux) " "$WORK/out")" = 5 ]'
check "promises: each says whether it holds" all_of '[ "$(grep -c "^         rests on: " "$WORK/out")" -ge 12 ]' \
    '[ "$(grep -c "^         rests on: " "$WORK/out")" = "$(grep -cE "^         here:     (yes|no|in part)" "$WORK/out")" ]' \
    'out_has "here:     yes. memfd is there"'
check "an option says which values it takes" all_of 'out_has "^  TERN_CMA .*\(default\), one of auto\|off$"' \
    'out_has "^  TERN_TIMEOUT .*\(default\), from 0 to 1e9$"'
check "the options that matter come first, and the others are counted" all_of '[ "$(names | head -n 1)" = TERN_LOG ]' \
    '! names | grep -qx TERN_MSG_PIECE' 'out_has "^  \([0-9]+ more options, all at their defaults: tern-info --all\)$"'
SHORT=$(names | wc -l)

info --all
check "--all: every option of docs/options.md, in its order" all_of 'status_is 0' narrow \
    '[ "$(names)" = "$("$INFO" --markdown | sed -n "s/^| .\(TERN_[A-Z_]*\).*/\1/p")" ]' '[ "$(names | wc -l)" -gt "$SHORT" ]' \
    '! out_has "more options"' '! out_has "more addresses"'
check "--all: each text is made of sentences" eval \
    '! "$INFO" --markdown | sed -n "s/^| .TERN_.*| \(.*\) |$/\1/p" | grep -vE "^[A-Z].*\.$"'

job env TERN_MSG_PIECE=4K TERN_MSG_CHUNK=some TERN_SPINN=3 "$INFO"
check "an option that is set is shown, and one that is refused too" all_of 'status_is 0' \
    'out_has "^  TERN_MSG_PIECE +=  *4K +\(environment\)"' 'out_has "REFUSED: TERN_MSG_CHUNK=some cannot be used"' \
    'err_has "TERN_SPINN is no option of Tern.*did you mean TERN_SPIN"'
job env TERN_CMA=off TERN_PROGRESS_THREAD=off TERN_OFI_ORDER=completion "$INFO"
check "options change what holds" all_of 'out_has "TERN_OFI_ORDER=completion: between nodes, each operation waits"' \
    'out_has "^  used +no$"' 'out_has "here:     in part. TERN_PROGRESS_THREAD=off"'

if "$INFO" | grep -q '^  \* '; then
    check "networks: the chosen one, and why" eval '"$INFO" | grep -A1 "^  \* " | grep -q "chosen, because it is the fastest"'
    job env TERN_OFI_PROVIDER=net "$INFO"
    check "a network that the user chooses" all_of 'out_has "^  \* net "' 'out_has "because TERN_OFI_PROVIDER asks for it"' \
        'out_has "TERN_OFI_PROVIDER asks for another"'
    job env TERN_OFI_PROVIDER=none "$INFO"
    check "no network: that is told" all_of 'status_is 0' '! out_has "^  \* "' 'out_has "none of the networks"'
fi

# ---- launchers ----

mkdir "$WORK/bin"
launcher() { # name, and what it does
    printf '#!/bin/sh\n%s\n' "$2" > "$WORK/bin/$1"
    chmod +x "$WORK/bin/$1"
}
launcher mpirun 'echo "mpirun (Open MPI) 7.8.9"'
launcher mpiexec 'printf "HYDRA build details:\n    Version:      5.6.7\n"'
launcher srun 'echo "slurm-wlm 22.33.44"'
launcher flux 'echo "a flux that is ill" >&2; exit 3'
job env PATH="$WORK/bin:/usr/bin:/bin" "$INFO"
[ -e /usr/bin/mpirun.openmpi ] || check "Open MPI is found by its own words" out_has "^  Open MPI  7.8.9, $WORK/bin/mpirun"
[ -e /usr/bin/mpiexec.hydra ] || check "MPICH is found by its own words" out_has "^  MPICH     5.6.7, $WORK/bin/mpiexec"
check "Slurm is found with its version" out_has "^  Slurm     22.33.44, $WORK/bin/srun"
check "a launcher that fails is found with its error" all_of "out_has '^  Flux      of unknown version, $WORK/bin/flux'" \
    'out_has "its answer: a flux that is ill"'
launcher srun 'sleep 1000 & wait'
job env PATH="$WORK/bin:/usr/bin:/bin" "$INFO"
check "a launcher that hangs is not waited for" all_of 'status_is 0' 'out_has "its answer: none within 3 seconds"'
check_clean "a launcher that hangs"
job env PMIX_NAMESPACE=x PMIX_RANK=0 "$INFO"
check "the launcher that a program would find" all_of 'out_has "started by +a launcher with PMIx"'
job env PMIX_NAMESPACE=x PMIX_RANK=0 TERN_LAUNCHER=alone "$INFO"
check "the option TERN_LAUNCHER decides" all_of 'out_has "started by +no launcher"' 'out_has "why +TERN_LAUNCHER=alone"'

# ---- for programs ----

if command -v python3 > /dev/null; then
    cat > "$WORK/complete.py" << 'END'
import json, sys
o = json.load(open(sys.argv[1]))
want = ["tern", "machine", "numa", "caches", "memory", "limits", "huge_page_pools", "huge_pages", "kernel", "links", "cma",
        "progress", "networks", "launchers", "start", "promises", "options"]
assert list(o) == want, list(o)
assert len(o["options"]) == int(sys.argv[2]), len(o["options"])
assert o["machine"]["usable_cores"] >= 1 and o["kernel"]["memfd"] in (True, False)
assert all(p["holds"] in ("yes", "no", "in part") and p["rests_on"] for p in o["promises"])
assert [l["name"] for l in o["launchers"]] == ["ternrun", "Open MPI", "MPICH", "Slurm", "Flux"]
assert all(v is None or type(v) is int for k, v in o["limits"].items() if k not in ("shm_size", "group_cpus")), o["limits"]
assert "open_files" in o["limits"] and "open_files_hard" in o["limits"]
END
    info --json
    check "--json is one object with every section and every option" python3 "$WORK/complete.py" "$WORK/out" \
        "$("$INFO" --markdown | grep -c '^| `TERN_')"
    job env TERN_LINKS=$'\x80"\\\n' PATH="$WORK/bin" "$INFO" --json
    check "--json stays valid with strange values" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$WORK/out"
fi

# ---- wrong options ----

mistake() { # what is wrong, what is said, and the arguments
    PATTERN=$2
    info "${@:3}"
    check "usage: $1: one line, status 2" all_of 'status_is 2' 'lines err 1' 'lines out 0' 'err_has "$PATTERN"' \
        'err_has "^tern-info: .*; see tern-info --help$"'
}
mistake "an option that does not exist" 'xyz is no option' --xyz
mistake "a letter that does not exist" '-x is no option' -x
mistake "an argument" 'takes no arguments.*: hello' hello
mistake "a value for an option without one" 'all=3 is no option, or is given a value' --all=3
mistake "a value that is missing" 'hosts needs a value' --doctor --hosts
mistake "--hosts alone" '--hosts is for --doctor' --hosts a,b
mistake "--agent alone" '--agent is for --doctor' --agent ssh
mistake "--timeout alone" '--timeout is for --doctor' --timeout 3
mistake "--all with --doctor" 'not for --doctor' --doctor --all
mistake "--markdown with --json" 'goes with no other option' --markdown --json
mistake "a time that is no number" "from 1 to 3600, not 'soon'" --doctor --timeout soon
mistake "a time that is too short" "from 1 to 3600, not '0.1'" --doctor --timeout 0.1
mistake "an agent without words" 'takes a command' --doctor --hosts a --agent ' '
mistake "an agent with too many words" 'more than 64 words' --doctor --hosts a --agent "$(seq -s ' ' 70)"
mistake "no host" "hosts: a host has no name" --doctor --hosts ''
mistake "an empty host" "a host has no name" --doctor --hosts a,,b
mistake "a host that is an option" "'-x' is no name of a host" --doctor --hosts -x
mistake "a host listed twice" 'host a is listed twice' --doctor --hosts a,b,a
mistake "a number of ranks that is none" "host a takes 1 to 4096 ranks, not 'x'" --doctor --hosts a:x
info --help
check "--help names every option" all_of 'status_is 0' \
    'for o in all json markdown doctor hosts agent timeout version help; do out_has "^  (-h, )?--$o " || exit 1; done'
info --version
check "--version" all_of 'status_is 0' 'out_has "^tern-info [0-9]+\.[0-9]+\.[0-9]+$"' 'lines out 1'
job sh -c '"$1" > /dev/full' sh "$INFO"
check "output that cannot be written: status 1, and a message" all_of 'status_is 1' 'err_has "could not be written"'
check_clean "at the end"
finish
