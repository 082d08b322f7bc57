# namespaces.sh: foreign launchers on hosts that share only one network. The hosts are network namespaces, each with its
# own interface and host name, which a bridge connects. The launchers start their daemons there through an agent that
# replaces ssh. Tern finds the nodes by itself.
#
# timeout: 300
# lock: interfaces
# labels: slow
. "$(dirname "$0")/lib.sh"
export TERN_SPIN=0 # the nodes are all this machine, and each assumes that it owns the cores
need_launchers
LIMIT=120
NET=ternl$$ # interfaces have short names
COUNT=0

at_exit() {
    local i
    for ((i = 1; i <= COUNT; i++)); do ip netns del "$NET-$i" 2> /dev/null; done
    ip link del "$NET" 2> /dev/null
}

host_make() { # NUMBER
    local host=$NET-$1
    ip netns add "$host" || return 1
    COUNT=$1
    ip link add "$NET.$1" type veth peer name eth0 netns "$host" && ip link set "$NET.$1" master "$NET" up &&
        ip -n "$host" addr add "10.78.0.$1/24" dev eth0 && ip -n "$host" link set eth0 up && ip -n "$host" link set lo up
}

{ command -v ip && ip link add "$NET" type bridge && ip link set "$NET" up; } > "$WORK/out" 2> "$WORK/err" ||
    skip "no network namespaces here: $(tail -n 1 "$WORK/err")"
for i in 1 2 3; do
    host_make "$i" 2> "$WORK/err" || skip "no network namespaces here: $(tail -n 1 "$WORK/err")"
done

# The agent runs a command on a host like ssh does. Its arguments are [OPTIONS] ADDRESS COMMAND.
cat > "$WORK/agent" << END
#!/bin/bash
while [ "\${1#-}" != "\$1" ]; do shift; done
number=\${1##*.}
shift
exec ip netns exec "$NET-\$number" unshare -u sh -c "hostname tern-\$number; \$*"
END
chmod +x "$WORK/agent"

# far LAUNCHER COMMAND...: set CMD to a command that starts two ranks on each of three hosts.
far() {
    local launcher=$1
    shift
    CMD=(ip netns exec "$NET-1" unshare -u sh -c 'hostname tern-1; exec "$@"' sh)
    case $launcher in
    openmpi) CMD+=(mpirun.openmpi --allow-run-as-root --host 10.78.0.1:2,10.78.0.2:2,10.78.0.3:2 -n 6
        --mca plm_rsh_agent "$WORK/agent" --mca oob_tcp_if_include 10.78.0.0/24 --mca plm_rsh_no_tree_spawn 1) ;;
    mpich) CMD+=(mpiexec.mpich -localhost 10.78.0.1 -launcher ssh -launcher-exec "$WORK/agent"
        -hosts 10.78.0.1:2,10.78.0.2:2,10.78.0.3:2 -n 6) ;;
    esac
    CMD+=("$@")
}

failed() { not_hung && [ "$STATUS" != 0 ]; }

for launcher in $LAUNCHERS; do
    far "$launcher" "$PROG/nodes_job" meet
    launched "${CMD[@]}"
    check "$launcher: ranks on three hosts meet" all_of 'status_is 0' 'out_count "^met [0-5] of 6 on 3$" 6'
    if "$BIN/tern-info" | grep -q '^ *ofi '; then
        for program in "$PROG/launch_job ring" "$TEST/api/am_kinds" "$TEST/api/events"; do
            # shellcheck disable=SC2086 # one word for each argument
            far "$launcher" $program
            launched "${CMD[@]}"
            check "$launcher: $(basename "${program%% *}") on three hosts" status_is 0
        done
    fi
    for victim in 5 4 0; do
        far "$launcher" "$PROG/nodes_job" die $victim
        launched "${CMD[@]}"
        check "$launcher: the death of rank $victim ends the job everywhere" failed
        check_clean "$launcher: the death of rank $victim"
    done
done
finish
