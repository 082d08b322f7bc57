# lib_hosts.sh: functions shared by the tests of ternrun --hosts; sourced after lib.sh.
unset "${!TERN_@}"
RANK=$(readlink -f "$PROG/ternrun_rank")
RUN=$(readlink -f "$BIN/ternrun")

lines() { [ "$(wc -l < "$WORK/$1")" -eq "$2" ]; }
printed() { await 20 lines out "$1"; } # so many lines
said() { lines err 1 && err_has "$1"; } # this line, and no other

# The job's processes: the ternrun that the user started, those on the hosts, and the ranks. is_named and is_state start
# no process themselves, because scripts call them all the time while they wait for up to 100 ranks.
is_named() { local name; { read -r name < "/proc/$2/comm"; } 2> /dev/null && [ "$name" = "$1" ]; }
is_state() { local stat; { read -r stat < "/proc/$2/stat"; } 2> /dev/null && [[ $stat = *") $1 "* ]]; }
is_node() { grep -qsz -x -e --node "/proc/$1/cmdline"; }
parent() { sed -n 's/^PPid:.//p' "/proc/$1/status" 2> /dev/null; }
same() { cmp -s "/proc/$2/$1" "/proc/$(parent "$2")/$1"; }
is_fork() { same cmdline "$1" && same auxv "$1"; } # of ternrun, before it takes a name or a program; programs differ in auxv
is_ternrun() { is_named ternrun "$1" && ! is_fork "$1"; }
heads() { local p; for p in $(marked); do is_ternrun "$p" && ! is_node "$p" && echo "$p"; done; }
nodes() { local p; for p in $(marked); do is_ternrun "$p" && is_node "$p" && echo "$p"; done; }
ranks() { local p; for p in $(marked); do is_named ternrun_rank "$p" && echo "$p"; done; }
all_stopped() { local p; for p in $(ranks) $(heads); do is_state T "$p" || return 1; done; }
none_stopped() { local p; for p in $(marked); do ! is_state T "$p" || return 1; done; }
