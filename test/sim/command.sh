#!/bin/bash
# command.sh BIN: the command line of tern-sim: configuration files, parameters, results, errors and exit statuses.
#
# labels: tools
set -u
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
small="p=2 a=4 h=2 stop=cycles warmup=500 measure=500"

# expect STATUS WORD COMMAND...: the command ends with this status, and its output has the word.
expect()
{
    local status=$1 word=$2 out got
    shift 2
    out=$("$@" 2>&1 </dev/null)
    got=$?
    if [ $got -ne "$status" ] || ! grep -qF -- "$word" <<<"$out"; then
        printf '%s\n  ended with %d, not %d, or did not say: %s\n%s\n' "$*" $got "$status" "$word" "$out"
        failed=1
    fi
}

expect 0 "72 nodes" "$bin/tern-sim" $small
expect 0 "becn_decay=4" "$bin/tern-sim" --list
expect 0 "usage" "$bin/tern-sim" --help
expect 0 "tern-sim" "$bin/tern-sim" --version
expect 2 "--help" "$bin/tern-sim" --nonsense
expect 2 "one of min|valiant|ugal|ugal_g|par" "$bin/tern-sim" routing=fastest
expect 2 "0 to 1" "$bin/tern-sim" load=2
expect 2 "a*h+1 = 9" "$bin/tern-sim" p=2 a=4 h=2 groups=99
expect 1 "cannot be written" "$bin/tern-sim" -q $small --csv /nonexistent/file
expect 3 "DEADLOCK" "$bin/tern-sim" topology=torus k=6 n=1 p=1 routing=min vc_order=none vcs=1 traffic=shift shift=2 \
    buffer=16 stop=cycles warmup=20000
expect 0 "no choice of match and ignore bits is right" "$bin/tern-match"
expect 1 "choices are right" "$bin/tern-match" --without 7
expect 0 "no match bits can serve both" "$bin/tern-match" --sends 3
expect 2 "--without" "$bin/tern-match" --without 8

# A configuration that was printed gives the same results again, and the command line wins over files.
"$bin/tern-sim" --show $small routing=ugal >"$work/a.conf"
"$bin/tern-sim" -q $small routing=ugal --csv "$work/a.csv" --json "$work/a.json" --nodes "$work/nodes" --links "$work/links"
"$bin/tern-sim" -q -c "$work/a.conf" --csv "$work/b.csv"
"$bin/tern-sim" -q -c "$work/a.conf" routing=min --csv "$work/c.csv"

# column NAME FILE
column()
{
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$2"
}

[ "$(column accepted "$work/a.csv")" = "$(column accepted "$work/b.csv")" ] || { echo "not the same again"; failed=1; }
[ "$(column packet_latency "$work/a.csv")" = "$(column packet_latency "$work/b.csv")" ] || failed=1
[ "$(column routing "$work/c.csv")" = min ] || { echo "the command line did not win"; failed=1; }
for name in $("$bin/tern-sim" --show | cut -d' ' -f1); do # the full configuration is in both
    head -n 1 "$work/a.csv" | tr , '\n' | grep -qx "$name" || { echo "no $name in CSV"; failed=1; }
    grep -q "\"$name\": " "$work/a.json" || { echo "no $name in JSON"; failed=1; }
done
# The manual page has every parameter, and every word that one can be.
page=$(dirname "$0")/../../man/tern-sim.1
for name in $("$bin/tern-sim" --list | sed -n 's/^  \([a-z_]*\)=.*(one of \(.*\))$/\1 \2/p; s/^  \([a-z_]*\)=.*/\1/p' | tr '|' ' '); do
    sed -n '/^\.SH PARAMETERS/,/^\.SH EXIT/p' "$page" | grep '^\.B' | grep -qw -- "$name" ||
        { echo "the manual page does not have $name"; failed=1; }
done
[ "$(wc -l <"$work/nodes")" -eq 73 ] || { echo "not a line for each node"; failed=1; }
[ "$(wc -l <"$work/links")" -eq $((36 * 7 + 1)) ] || { echo "not a line for each link"; failed=1; }
if command -v python3 >/dev/null; then
    python3 -m json.tool "$work/a.json" >/dev/null || { echo "JSON that cannot be read"; failed=1; }
fi
exit $failed
