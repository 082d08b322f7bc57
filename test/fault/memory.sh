# memory.sh: promise: a lack of memory is an error with a text, never a signal and never the OOM killer.
#
# The error names the amount needed, the amount available and what to change. Some checks need root, because they use
# control groups, small file systems and the pool of huge pages; without root these checks are skipped, and the test
# says so.
#
# timeout: 300
# labels: slow
# alone: because it fills memory
. "$(dirname "$0")/lib.sh"
LIMIT=60
JOB_PROGRAM=$PROG/memory_job
GROUP='' POOL=''

at_exit() {
    local m
    for m in "$WORK"/tmpfs.*; do [ -d "$m" ] && umount -l "$m" 2> /dev/null; done
    [ -z "$POOL" ] || echo "$POOL" > /proc/sys/vm/nr_hugepages
    [ -z "$GROUP" ] || { await 5 none_marked; rmdir "$GROUP" 2> /dev/null; }
}

all_ranks() { [ "$(grep -Ec -e "^[0-9]+: $2" "$WORK/out")" = "$1" ]; } # N PATTERN: N ranks said it
works() { all_of 'status_is 0' "all_ranks $1 TERN_OK" "all_ranks $1 'small works'"; }
# refused N STATUS WORDS: the same error on N ranks, with a text, and the job continues.
refused() { all_of 'status_is 0' "all_ranks $1 '$2: .*$3'" "all_ranks $1 'small works'"; }

# ---- anyone may run these ----

total=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
ternrun -n 2 "$JOB_PROGRAM" host "${total}K"
check "a region larger than memory: TERN_ERR_NOMEM on all ranks; needed, available and a remedy are named" \
    refused 2 TERN_ERR_NOMEM 'needs [0-9.]+ MiB .*leaves [0-9.]+ MiB.*(ask for less|raise)'
for bytes in 0x7fffffffffffffff 0xffffffffffffffff 0x4000000000000000; do
    ternrun -n 3 "$JOB_PROGRAM" host $bytes
    check "$bytes bytes: TERN_ERR_NOMEM" refused 3 TERN_ERR_NOMEM .
done
ternrun -n 2 -x TERN_MEMORY_KEEP=1000T "$JOB_PROGRAM" host 1M
check "TERN_MEMORY_KEEP above all memory: TERN_ERR_NOMEM, not wrapped around" \
    all_of 'status_is 0' 'all_ranks 2 "TERN_ERR_NOMEM: .*TERN_MEMORY_KEEP"'

ternrun -n 2 "$JOB_PROGRAM" -f 64M host 1M
check "RLIMIT_FSIZE small in the ranks: an error that names it, no SIGXFSZ" \
    all_of 'status_is 0' 'all_ranks 2 "TERN_ERR_NOMEM: .*ulimit -f"'
ternrun -n 2 "$JOB_PROGRAM" -f 64K file 1M "$WORK/limited"
check "RLIMIT_FSIZE and a file: an error, no file left" \
    all_of 'status_is 0' 'all_ranks 2 "TERN_ERR_NOMEM: .*ulimit -f"' '! ls "$WORK"/limited.* 2> /dev/null'
job "$JOB_PROGRAM" -F 1M host 1M
check "RLIMIT_FSIZE small before tern_init, without a launcher: tern_init says so" \
    all_of 'status_is 4' 'out_has "ulimit -f"'
job bash -c 'ulimit -f 64; exec "$@"' sh "$BIN/ternrun" -n 2 "$JOB_PROGRAM" host 1M
check "RLIMIT_FSIZE small for ternrun: it says so" all_of 'status_is 1' 'err_has "^ternrun: .*ulimit -f"'

sanitized() { nm "$JOB_PROGRAM" 2> /dev/null | grep -q -e __asan_init -e __tsan_init; }
if sanitized; then
    note "RLIMIT_AS is left out: sanitizers need the address space"
else
    ternrun -n 2 "$JOB_PROGRAM" -a 32M host 64M
    check "RLIMIT_AS too small for the own part: TERN_ERR_NOMEM, nothing lost" refused 2 TERN_ERR_NOMEM 'ulimit -v'
    ternrun -n 4 "$JOB_PROGRAM" -a 100M host 40M
    check "RLIMIT_AS too small for the parts of others: TERN_ERR_NOMEM, nothing lost" refused 4 TERN_ERR_NOMEM .
    ternrun -n 2 -x TERN_CMA=off "$JOB_PROGRAM" -a 2M register 64K
    check "RLIMIT_AS too small for a bounce buffer or a thread: an error" \
        all_of 'status_is 0' 'all_ranks 2 "TERN_ERR_(NOMEM|SYSTEM): ."'
    ternrun -n 2 --on-failure return "$JOB_PROGRAM" -A 100K host 64K
    check "RLIMIT_AS too small for tern_init: an error" all_of not_hung 'out_has "^init: TERN_ERR_(NOMEM|SYSTEM): ."' \
        'err_lacks "signal"'
fi
ternrun -n 2 "$JOB_PROGRAM" -n host 8M
check "no descriptor is left: TERN_ERR_SYSTEM, because nobody knows how much memory there is" \
    all_of 'status_is 0' 'all_ranks 2 "TERN_ERR_SYSTEM: .*Too many open files.*ulimit -n"'
ternrun -n 2 "$JOB_PROGRAM" -n file 8M "$WORK/nofd"
check "no descriptor is left: a file is TERN_ERR_SYSTEM and says why" \
    all_of 'status_is 0' 'all_ranks 2 "TERN_ERR_SYSTEM: .*Too many open files"'

ternrun -n 2 "$JOB_PROGRAM" file 1M "$WORK/no/such/directory/file"
check "a file in a directory that is not there: TERN_ERR_SYSTEM and its name" refused 2 TERN_ERR_SYSTEM 'no/such.*No such file'
mkdir "$WORK/is.0" "$WORK/is.1"
ternrun -n 2 "$JOB_PROGRAM" file 1M "$WORK/is"
check "a directory in place of the file: TERN_ERR_SYSTEM" refused 2 TERN_ERR_SYSTEM .
mkdir "$WORK/half.1"
ternrun -n 2 "$JOB_PROGRAM" file 1M "$WORK/half"
check "one rank cannot have its file: all get the error, and the file that the other made is gone" \
    all_of 'refused 2 TERN_ERR_SYSTEM .' '[ ! -e "$WORK/half.0" ]'
if ! is_root; then
    mkdir -m 555 "$WORK/locked"
    ternrun -n 2 "$JOB_PROGRAM" file 1M "$WORK/locked/file"
    check "a path that may not be written: TERN_ERR_SYSTEM" refused 2 TERN_ERR_SYSTEM 'Permission denied'
else
    ternrun -n 2 "$JOB_PROGRAM" file 1M /proc/file
    check "a path that may not be written: TERN_ERR_SYSTEM" refused 2 TERN_ERR_SYSTEM '/proc/file'
fi
ternrun -n 2 "$JOB_PROGRAM" file 1M "$WORK/good"
check "a good file works, and stays" all_of 'works 2' '[ "$(stat -c %s "$WORK/good.1")" = 1048576 ]'
check_clean "limits and files"

if ! is_root; then
    note "not root: no control groups, file systems or huge pages"
    finish
fi

# ---- small file systems ----

tmpfs() { mkdir "$WORK/tmpfs.$1" && mount -t tmpfs -o "size=$2" tmpfs "$WORK/tmpfs.$1" 2> /dev/null; }

if tmpfs small 1M; then
    small=$WORK/tmpfs.small
    ternrun -n 2 "$JOB_PROGRAM" file 4M "$small/full"
    check "a file system that is too small: TERN_ERR_NOMEM, no file left" \
        all_of 'refused 2 TERN_ERR_NOMEM No.space' '[ -z "$(ls "$small")" ]'
    ternrun -n 2 "$JOB_PROGRAM" file 640K "$small/one"
    check "space for one rank of two: TERN_ERR_NOMEM on both, no file left" \
        all_of 'refused 2 TERN_ERR_NOMEM No.space' '[ -z "$(ls "$small")" ]'
    printf old | tee "$small/kept.0" > "$small/kept.1"
    ternrun -n 2 "$JOB_PROGRAM" file 640K "$small/kept"
    check "files that were there before keep their content and their length" \
        all_of 'refused 2 TERN_ERR_NOMEM No.space' 'printf old | cmp -s - "$small/kept.0"' \
        'printf old | cmp -s - "$small/kept.1"'
else
    note "no tmpfs can be mounted"
fi
job unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs /dev/shm && head -c 65536 /dev/zero > /dev/shm/fill; exec "$@"' \
    sh "$BIN/ternrun" -n 4 "$JOB_PROGRAM" host 16M
check "a /dev/shm of 64 KiB that is full: the job does not need it" works 4

# ---- control groups ----

# group_make BYTES: a group with this limit in $GROUP; its name as a process sees it in $GROUP_NAME.
group_make() {
    local own
    if own=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup) && [ -n "$own" ]; then
        GROUP_NAME=${own%/}/$MARK
        GROUP=/sys/fs/cgroup/memory$GROUP_NAME
        mkdir "$GROUP" 2> /dev/null && echo "$1" > "$GROUP/memory.limit_in_bytes" && return
    else
        own=$(sed -n 's/^0:://p' /proc/self/cgroup)
        GROUP_NAME=${own%/}/$MARK
        GROUP=/sys/fs/cgroup$GROUP_NAME
        mkdir "$GROUP" 2> /dev/null && [ -e "$GROUP/memory.max" ] && echo "$1" > "$GROUP/memory.max" && return
    fi
    rmdir "$GROUP" 2> /dev/null
    GROUP=''
    return 1
}
in_group() { job sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$GROUP" "$@"; }
not_killed() { all_of not_hung 'err_lacks "signal 9"' '[ "$STATUS" != 137 ]'; }

GROUP_LIMIT=256M
sanitized && GROUP_LIMIT=512M # they take memory of their own, before anyone asks for it
if group_make $GROUP_LIMIT; then
    in_group "$BIN/ternrun" -n 2 "$JOB_PROGRAM" host 16M
    check "within a control group of $GROUP_LIMIT: 32 MiB work" works 2
    in_group "$BIN/ternrun" -n 2 "$JOB_PROGRAM" host 512M
    check "1 GiB do not: TERN_ERR_NOMEM that names the control group" \
        refused 2 TERN_ERR_NOMEM "needs 1024.0 MiB .*control group .*$MARK"
    in_group "$BIN/ternrun" -n 4 "$JOB_PROGRAM" host "$((${GROUP_LIMIT%M} / 4 - 2))M"
    check "nor what leaves less than TERN_MEMORY_KEEP" refused 4 TERN_ERR_NOMEM "control group .*$MARK.*TERN_MEMORY_KEEP"
    in_group "$BIN/ternrun" -n 2 "$JOB_PROGRAM" -n host 512M
    check "nor without a free descriptor to look the limit up: an error, not the OOM killer" \
        all_of not_killed 'all_ranks 2 "TERN_ERR_(NOMEM|SYSTEM): ."'
    in_group "$BIN/ternrun" -n 8 -x TERN_CMA=off -x TERN_BOUNCE_CHUNK=1M "$JOB_PROGRAM" register 64K
    check "bounce buffers that do not fit: TERN_ERR_NOMEM, not the OOM killer" \
        all_of not_killed 'all_ranks 8 "TERN_ERR_NOMEM: ."'
    in_group "$BIN/ternrun" -n 4 -x TERN_CMA=off "$JOB_PROGRAM" register 64K
    check "those of the usual size fit" all_of 'status_is 0' 'all_ranks 4 TERN_OK'
    if tmpfs large 2G; then
        in_group "$BIN/ternrun" -n 2 "$JOB_PROGRAM" file 512M "$WORK/tmpfs.large/file"
        check "files in memory (tmpfs) count as memory: TERN_ERR_NOMEM, not the OOM killer; no file left" \
            all_of not_killed 'refused 2 TERN_ERR_NOMEM .' '[ -z "$(ls "$WORK/tmpfs.large")" ]'
        in_group "$BIN/ternrun" -n 2 "$JOB_PROGRAM" file 60M "$WORK/tmpfs.large/file"
        check "those that fit work" works 2
        in_group "$BIN/ternrun" -n 2 "$JOB_PROGRAM" file 61M "$WORK/tmpfs.large/file"
        check "and again in the next job, which needs only what is new" works 2
        rm -f "$WORK"/tmpfs.large/file.*
    fi
    check_clean "control group"
else
    note "control groups cannot be made here"
fi

# ---- huge pages ----

free_pages() { cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages; }
ordinary() { all_of "works $1" 'err_count "huge pages:" 1' "all_ranks $1 'pages 4 kB'"; }

if [ -r /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages ] && [ "$(cat /proc/sys/vm/nr_hugepages)" = 0 ]; then
    ternrun -n 3 "$JOB_PROGRAM" -s huge 8M
    check "no huge pages in the pool: ordinary ones, and one note with a remedy" \
        all_of 'ordinary 3' 'err_has "nr_hugepages"'
    POOL=0
    echo 16 > /proc/sys/vm/nr_hugepages 2> /dev/null
    if [ "$(free_pages)" = 16 ]; then
        for bytes in 8M 1 3M; do
            ternrun -n 2 "$JOB_PROGRAM" -s huge $bytes
            check "a pool of 16 pages, 2 ranks with $bytes each: huge pages, silently" \
                all_of 'works 2' "all_ranks 2 'pages 2048 kB'" 'err_lacks .'
        done
        ternrun -n 2 "$JOB_PROGRAM" -s huge 16M
        check "all of the pool" all_of 'works 2' "all_ranks 2 'pages 2048 kB'"
        ternrun -n 2 "$JOB_PROGRAM" -s huge 18M
        check "two more than the pool has: ordinary pages, one note" ordinary 2
        ternrun -n 2 "$JOB_PROGRAM" -k huge 16M
        check "the pool is whole again after a job that freed nothing" all_of 'works 2' '[ "$(free_pages)" = 16 ]'
        echo 3 > /proc/sys/vm/nr_hugepages
        ternrun -n 4 "$JOB_PROGRAM" -s huge 4096
        check "3 pages for 4 small parts: a part needs a whole page, so ordinary ones" ordinary 4
        echo 8 > /proc/sys/vm/nr_hugepages
        job_start "$JOB_PROGRAM" -h 6
        await 10 out_has held
        holder=$(marked)
        env FAULT_MARK="$MARK" "$BIN/ternrun" -n 2 "$JOB_PROGRAM" -s huge 4M > "$WORK/out2" 2> "$WORK/err2" < /dev/null
        status2=$?
        for pid in $holder; do kill -9 "$pid" 2> /dev/null; done
        job_wait
        STATUS=$status2 HUNG=0
        cp "$WORK/out2" "$WORK/out"
        cp "$WORK/err2" "$WORK/err"
        check "free pages that another program has reserved are not free: ordinary ones" ordinary 2
        check "and the pool is whole" await 5 test "$(free_pages)" = 8
    else
        note "the kernel gives no huge pages"
    fi
    echo 0 > /proc/sys/vm/nr_hugepages
else
    note "no pool of huge pages, or somebody uses it"
fi
check_clean "at the end"
check_memory_returned "at the end"
finish
