# lib_namespaces.sh: hosts that share no network but the one between them, after lib.sh and lib_hosts.sh: network
# namespaces, each with an interface of its own, joined by a bridge. ternrun reaches them by 'ip netns exec'.
#
#     namespaces_make NUMBER     create this number of hosts, or skip the test if that is not permitted
#     far RANKS HOSTS ...        run a job of so many ranks on each of so many hosts; far_start: in the background
#
# HOSTS are their names. Host i, from 1 on, has the address 10.77.0.i on its interface eth0.
NET=tern$$ # interfaces have short names
HOSTS=()

at_exit() {
    local host
    for host in "${HOSTS[@]}"; do ip netns del "$host" 2> /dev/null; done
    ip link del "$NET" 2> /dev/null
}

host_make() { # number
    local host=$NET-$1
    ip netns add "$host" || return 1
    HOSTS+=("$host")
    ip link add "$NET.$1" type veth peer name eth0 netns "$host" && ip link set "$NET.$1" master "$NET" up &&
        ip -n "$host" addr add "10.77.0.$1/24" dev eth0 && ip -n "$host" link set eth0 up && ip -n "$host" link set lo up
}

namespaces_make() {
    local i
    { command -v ip && ip link add "$NET" type bridge && ip link set "$NET" up; } > "$WORK/out" 2> "$WORK/err" ||
        skip "no network namespaces here: $(tail -n 1 "$WORK/err")"
    for ((i = 1; i <= $1; i++)); do
        host_make "$i" 2> "$WORK/err" || skip "no network namespaces here: $(tail -n 1 "$WORK/err")"
    done
}

hosts_list() { local i text=; for ((i = 0; i < $2; i++)); do text+=,${HOSTS[i]}:$1; done; echo "${text#,}"; }
far() { job "$RUN" --agent 'ip netns exec' --hosts "$(hosts_list "$1" "$2")" "${@:3}"; }
far_start() { job_start "$RUN" --agent 'ip netns exec' --hosts "$(hosts_list "$1" "$2")" "${@:3}"; }
