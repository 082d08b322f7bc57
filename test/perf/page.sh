#!/bin/bash
# page.sh: tern-perf all writes a page with the machine, tables and plots, tern-perf history shows several of them side
# by side, scripts/bench makes docs/benchmarks.md of one, and compare compiles the peer programs in an installed tree.
#
# timeout: 900
# lock: interfaces
# labels: slow
. "$(dirname "$0")/lib_perf.sh"

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
TINY="--quiet --rounds 1 --time 0.004 --repeat 2"
has() { grep -Eq -e "$2" "$WORK/$1"; }

mkdir "$WORK/pages"
job "$PERF" all $TINY --peers "$WORK" --output "$WORK/pages/one" --commit first put_lat barrier
check "all writes a page" all_of 'status_is 0' 'out_has "pages/one/page.html is the page to send"' \
    'has pages/one/page.md "^# Performance of Tern"' 'has pages/one/page.html "<h1>Performance of Tern"'
check "the page has the machine, the commit, tables and links" all_of \
    'has pages/one/page.md "at commit first on 20[0-9-]+T"' 'has pages/one/page.md "^\| processor \| "' \
    'has pages/one/page.md "^\| kernel \| Linux "' 'has pages/one/page.md "^## Links"' \
    'has pages/one/page.md "^### put_lat"' 'has pages/one/page.md "^\| .half_rtt. \| 8 B \| [num]s \| [0-9.]+ \| "' \
    'has pages/one/page.html "<td><code>half_rtt</code></td><td>8 B</td>"'
check "the page says what the limits are" \
    has pages/one/page.html "The limit of <code>half_rtt</code> is half of a round trip of a cache line"
check "the figures are CSV and JSON" all_of 'has pages/one/figures.csv "^# commit: first$"' \
    'has pages/one/figures.csv "^put_lat,tern,2,8,half_rtt,[0-9.e+]+,ns,"' \
    'has pages/one/figures.csv "^put_lat,limit,2,8,half_rtt,"' 'has pages/one/figures.json "\"commit\": \"first\""' \
    'has pages/one/figures.json "\"test\": \"barrier\", \"link\": \"tern\""'
if command -v gnuplot > /dev/null; then
    check "the Markdown names the plots, and the HTML contains them" all_of 'has pages/one/page.md "\]\(put_lat.svg\)"' \
        '[ -s "$WORK/pages/one/put_lat.svg" ]' 'has pages/one/page.html "<svg"'
fi
if has_network; then
    check "the network is measured too" all_of 'has pages/one/figures.csv "^barrier,tern-net,2,0,latency,"' \
        'has pages/one/page.md "^\| network \| (TCP sockets|libfabric provider )"' \
        'has pages/one/page.html "The limit of <code>latency</code> is half of a round trip of a TCP connection"'
fi
job "$PERF" all $TINY --peers "$WORK" --output "$WORK/pages/two" barrier
check "a second page, without the name of a commit" all_of 'status_is 0' 'has pages/two/page.md "^Measured by .tern-perf all. on 20"'
job env TERN_OFI_PROVIDER=none-of-that-name "$PERF" all $TINY --peers "$WORK" --output "$WORK/lone" barrier
check "without a network the page has the reason" all_of 'status_is 0' 'has lone/figures.csv "^barrier,tern,2,0,latency,"' \
    'has lone/page.html "Nothing was measured over the network: .*TERN_OFI_PROVIDER=none-of-that-name.*tern-info shows"'
job env PATH=/nowhere "$PERF" all $TINY --output "$WORK/poor" barrier
check "without gnuplot and peers the page says so, and has no columns for these" all_of 'status_is 0' \
    'has poor/page.md "^There are no plots, because gnuplot is not installed"' '! has poor/page.md "\| Tern / best peer|svg"' \
    'has poor/page.md "\| Tern / limit \|$"'

job "$PERF" history "$WORK/pages"
check "history has a column for each page" all_of 'status_is 0' 'out_has "^  1  first, 20"' 'out_has "pages/two/figures.csv"' \
    'out_has "^barrier +tern +2 +-  latency +ns +[0-9.e+]+ +[0-9.e+]+ +[0-9.]+$"' \
    'out_has "^put_lat +tern +2 +8  half_rtt +ns +[0-9.e+]+ +-$"' '! out_has "limit"'
# The ratio is known for files with known figures; old files have a line for each quartile.
mkdir -p "$WORK/known/a" "$WORK/known/b"
printf '%s\n' '# commit: old' '# date: 2020-01-01T00:00:00Z' 'test,link,ranks,size,metric,value,unit' \
    'put_lat,tern,2,8,latency,10,ns' 'put_lat,tern,2,8,latency_p25,9,ns' 'put_bw,tern,2,8,bandwidth,10,MB/s' > "$WORK/known/b/x.csv"
printf '%s\n' '# commit: new' '# date: 2021-01-01T00:00:00Z' 'test,link,ranks,size,metric,value,unit,p25,p75,min,max' \
    'put_lat,tern,2,8,latency,20,ns,1,2,3,4' 'put_bw,tern,2,8,bandwidth,20,MB/s,,,,' > "$WORK/known/a/x.csv"
echo 'a,b,c' > "$WORK/known/other.csv"
job "$PERF" history "$WORK/known"
check "pages are ordered by date, and above 1 is worse" all_of 'status_is 0' 'out_has "^  1  old, 2020"' 'out_has "^  2  new, 2021"' \
    'out_has "^put_lat .* latency +ns +10 +20 +2.00$"' 'out_has "^put_bw .* bandwidth +MB/s +10 +20 +0.50$"' \
    '! out_has "p25|other.csv"'
job "$PERF" history "$WORK/known" --csv
check "history as CSV" all_of 'status_is 0' 'out_has "^commit,date,machine,test,link,"' \
    'out_has "^\"new\",2021-01-01T00:00:00Z,\"\",put_lat,tern,2,8,latency,20,ns,1,2,3,4$"' \
    'out_has "^\"old\",.*,put_lat,tern,2,8,latency,10,ns,,,,$"'
job "$PERF" history "$WORK/known" --json
check "history as JSON" all_of 'status_is 0' 'out_has "\"commit\": \"new\", .*\"value\": 20, \"unit\": \"ns\", \"p25\": 1, \"p75\": 2, "' 'out_has "^\]$"'
# Texts of a file may contain quotes, and a figure may be infinite.
mkdir "$WORK/strange"
printf '%s\n' '# commit: a "quoted" \name' 'test,link,ranks,size,metric,value,unit,p25,p75,min,max' \
    'put_lat,tern,2,8,latency,inf,ns,,,,' 'put_lat,tern,2,8,half_rtt,5,ns,,,,' > "$WORK/strange/x.csv"
if command -v python3 > /dev/null; then
    job "$PERF" history "$WORK/strange" --json
    check "history as JSON is valid with strange texts" python3 -c 'import json, sys
figures = json.load(open(sys.argv[1]))
assert [(f["commit"], f["metric"], f["value"]) for f in figures] == [("a \"quoted\" \\name", "half_rtt", 5)], figures' "$WORK/out"
    job "$PERF" history "$WORK/strange" --csv
    check "and as CSV" python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert [(r["commit"], r["metric"]) for r in rows] == [("a \"quoted\" \\name", "half_rtt")], rows' "$WORK/out"
fi
mkdir "$WORK/empty"
job "$PERF" history "$WORK/empty"
check "a directory without figures is told" all_of 'status_is 1' 'err_has "no figures in $WORK/empty; .tern-perf all"'
job "$PERF" history "$WORK/nowhere"
check "a missing directory is told" all_of 'status_is 2' 'err_has "nowhere: No such file or directory; name the directory"'
job "$PERF" history
check "history wants a directory" all_of 'status_is 2' 'err_has "history wants one directory"'
job "$PERF" all put_latt
check "all gets the nearest name, and the names of all" all_of 'status_is 2' \
    'err_has "all cannot run put_latt .did you mean put_lat\?.; it can run these tests: put_lat get_lat "'
job "$PERF" all $TINY --output /proc/nowhere barrier
check "a directory that cannot be made is told" all_of 'status_is 1' 'err_has "/proc/nowhere cannot be made: .*--output"'
job "$BIN/ternrun" -n 1 "$PERF" all
check "all starts its own jobs" all_of 'status_is 2' 'err_has "start it without ternrun"'

job env BIN="$BIN" OUT="$WORK/bench" DOCS="$WORK/docs" "$ROOT/scripts/bench" $TINY --peers "$WORK" barrier
check "scripts/bench makes a document of the page" all_of 'status_is 0' 'has docs/benchmarks.md "^# Performance of Tern"' \
    'has docs/benchmarks.md "\[measuring.md\]\(measuring.md\)"'
if command -v gnuplot > /dev/null; then
    check "with its plots" all_of 'has docs/benchmarks.md "\]\(figures/bench/barrier.svg\)"' '[ -s "$WORK/docs/figures/bench/barrier.svg" ]'
fi
plots_are_there() {
    local plot
    for plot in $(grep -o 'figures/bench/[a-z0-9_-]*\.svg' "$ROOT/docs/benchmarks.md"); do
        [ -s "$ROOT/docs/$plot" ] || { echo "# $plot is missing"; return 1; }
    done
}
check "docs/benchmarks.md is such a page" all_of "grep -q '^# Performance of Tern' '$ROOT/docs/benchmarks.md'" \
    "grep -q '^## Machine' '$ROOT/docs/benchmarks.md'" plots_are_there

# An installed tree, which contains the sources of the peer programs.
mkdir -p "$WORK/tree/bin" "$WORK/tree/share/tern" "$WORK/path"
cp "$BIN/tern-perf" "$BIN/ternrun" "$WORK/tree/bin/"
cp -r "$ROOT/bench" "$WORK/tree/share/tern/"
ln -s "$(cd "$BIN/../lib" && pwd)" "$WORK/tree/lib"
if command -v mpirun.openmpi > /dev/null && command -v mpicc.openmpi > /dev/null; then
    job "$WORK/tree/bin/tern-perf" compare barrier --csv --rounds 1 --time 0.004 --repeat 2
    check "compare compiles the peer programs when they are first needed" all_of 'status_is 0' 'csv_has barrier openmpi latency' \
        'err_has "compiling the peer program of Open MPI into $WORK/cache/tern/peers"' \
        'ls "$WORK"/cache/tern/peers/tern-peer-openmpi-* > /dev/null'
    job "$WORK/tree/bin/tern-perf" compare barrier --csv --rounds 1 --time 0.004 --repeat 2
    check "and only then" all_of 'status_is 0' 'csv_has barrier openmpi latency' 'err_lacks compiling'
    job env XDG_CACHE_HOME=/proc/nowhere "$WORK/tree/bin/tern-perf" compare barrier $TINY
    check "without a directory for them it says what to set" all_of 'status_is 0' \
        'err_has "without Open MPI: no directory for its peer program: .*; set XDG_CACHE_HOME"'
    ln -s "$(command -v mpirun.openmpi)" "$WORK/path/mpirun.openmpi"
    job env PATH="$WORK/path" "$WORK/tree/bin/tern-perf" compare barrier $TINY
    check "without the compiler it names it" all_of 'status_is 0' \
        'err_has "without Open MPI: .* compiler command mpicc.openmpi is missing; install openmpi-bin and libopenmpi-dev"'
    printf '#!/bin/sh\necho "mpi.h: No such file" >&2\nexit 1\n' > "$WORK/path/mpicc.openmpi" && chmod +x "$WORK/path/mpicc.openmpi"
    job env PATH="$WORK/path:/usr/bin:/bin" "$WORK/tree/bin/tern-perf" compare barrier $TINY
    check "what the compiler says is told" all_of 'status_is 0' 'err_has "without Open MPI: .*mpicc.openmpi cannot compile the peer program: mpi.h: No such file; install"'
    rm -rf "$WORK/tree/share"
    job "$WORK/tree/bin/tern-perf" compare barrier $TINY
    check "missing sources are told" all_of 'status_is 0' 'err_has "the sources of the peer programs are missing from .*; install Tern again"'
else
    note "no Open MPI here"
fi
check_clean "page"
finish
