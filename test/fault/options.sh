#!/bin/bash
# options.sh: the command line of ternrun: each option, right and wrong, and the options of other launchers.
#
# timeout: 120
# labels: tools
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
unset "${!SLURM@}" "${!PBS_@}"

# refused TEXT PATTERN ARGUMENT...: one line that matches, status 2, and no rank starts.
refused() {
    local text=$1 pattern=$2
    shift 2
    job "$RUN" "$@"
    PATTERN="^ternrun: $pattern.*[;?] [sS]ee ternrun --help\$"
    check "$text" all_of 'status_is 2' 'said "$PATTERN"' 'lines out 0'
}

# ---- forms ----

for form in '-n 2' '-n2' '-np 2' '--np 2' '--np=2'; do
    # shellcheck disable=SC2086 # words
    job "$RUN" $form echo started
    check "$form starts two ranks" all_of 'status_is 0' 'lines out 2'
done
job "$RUN" -n 1 --labe echo x
check "the beginning of a name that no other option has is enough" out_has '^\[0\] x$'
job "$RUN" -n 1 -- echo --label
check "-- ends the options" out_has '^--label$'
job "$RUN" -n 2 -n 3 echo x
check "of two -n the last is valid" lines out 3
refused "the beginning of two names" "--ver is the beginning of --verbose and of --version" -n 1 --ver true
refused "a value that is missing" "-np needs a value: -np N" -np
refused "a value that is not taken" "--label takes no value, and is given 'yes'" -n 1 --label=yes true
refused "an empty word" "-- is no option" --= -n 1 true
refused "no ranks" "how many ranks" true
refused "a number that is none" "-n takes a whole number from 1 to 65536, not '2x'" -np 2x true
refused "more ranks than a machine takes" "-n asks for 4097 ranks, and one machine takes 1 to 4096" -n 4097 true
refused "more ranks than a job takes" "-n takes a whole number" -n 65537 true
refused "an agent without hosts" "--agent is for --hosts" -n 1 --agent ssh true
refused "an agent without a command" "--agent takes a command" --hosts a --agent ' ' true
refused "an empty list of hosts" "--hosts takes a list such as a:4,b:4, and not an empty value" --hosts '' true
refused "an empty name of the program" "the name of the program is empty" -n 2 '' argument
refused "hosts and none" "--hosts and --local contradict" --hosts a --local true
refused "a directory without a name" "--wdir takes a directory" -n 1 --wdir '' true
refused "files in a directory without a name" "--output takes a directory" -n 1 --output '' true

# ---- misspelt options, and those of other launchers ----

near() { refused "$1 is answered with $2" "$1 is no option; did you mean $2" -n 1 "$1" true; }
near --lable --label
near --time-out --timeout
near --host_s --hosts
near --onfailure --on-failure
near --verbos3 --verbose
near -label --label
near --outptu --output
refused "an option that is like none" "--wallpaper is no option" -n 1 --wallpaper true
refused "a letter that is none" "-z is no option" -n 1 -z true

answered() { refused "$1 is answered with $2" "$1 is an option of other launchers: .*$2" -n 1 "$1" true; }
answered --hostfile '--hosts @FILE'
answered -machinefile '--hosts @FILE'
answered -f '--hosts @FILE'
answered --host '--hosts LIST'
answered -H '--hosts LIST'
answered --bind-to '--bind'
answered --cpu-bind '--bind'
answered --tag-output '--label'
answered -l '--label'
answered --oversubscribe 'there may be more ranks than cores'
answered -ppn '--hosts a:4,b:4'
answered -N '--hosts a:4,b:4'
answered --map-by '--hosts a:4,b:4'
answered --ntasks '-n N'
answered --report-bindings '--show-binding'
answered -output-filename '--output DIR'
answered --chdir '--wdir DIR'
answered -genv '-x NAME=VALUE'
answered -envall 'inherit'
answered --mca '-x TERN_NAME=VALUE'
answered --kill-on-bad-exit '--on-failure abort'
answered --launch-agent '--agent COMMAND'
answered -configfile '-n 2 program : -n 3 another'
answered --display '--show-binding'
answered --with-ft '--on-failure return'
answered --xterm '--gdb RANKS'
answered -i '< FILE'
answered --preload-binary 'same path on every host'

# Every option that is in an answer exists, or the answer is of no use.
job "$RUN" --help
cp "$WORK/out" "$WORK/help"
check "--help has each option" all_of 'status_is 0' 'lines err 0' 'for o in np hosts local agent bind env wdir label output \
    verbose timeout grace on-failure chaos version help cores-per-rank show-binding; do out_has "^  (-.,|   ) --$o( |\$)" || exit 1; done'
check "--help fits a terminal of 90 columns" eval '[ "$(awk "length > 90" "$WORK/out" | wc -l)" = 0 ]'
man=$(dirname "$0")/../../man/ternrun.1
undocumented() {
    local option
    for option in $(grep -oE -e '^ {2,6}(-., )?--[a-z-]+' "$WORK/help" | grep -oE -e '--[a-z-]+'); do
        grep -qE "^\.It .*Fl .?-${option#--}( |\$)" "$man" || echo "# $option is not in the manual page"
    done
}
check "the manual page has each option of --help" eval 'undocumented | tee /dev/stderr | { ! grep -q .; }'

for option in --help --version; do
    env FAULT_MARK="$MARK" "$RUN" "$option" > /dev/full 2> "$WORK/err"
    STATUS=$? HUNG=0
    check "$option that cannot be written: one line, status 1" all_of 'status_is 1' \
        'said "^ternrun: cannot write standard output: No space left on device\$"'
done

# ---- programs that cannot be started ----

cannot() { # text, status, pattern, arguments
    local text=$1 expected=$2
    PATTERN="^ternrun: cannot start $3\$"
    shift 3
    job "$RUN" "$@"
    check "$text" all_of "status_is $expected" 'said "$PATTERN"' 'lines out 0'
}
mkdir "$WORK/folder"
printf '#!/no/such/interpreter\n' > "$WORK/folder/script" && chmod +x "$WORK/folder/script"
cannot "a directory" 126 "'$WORK/folder': it is a directory" -n 2 "$WORK/folder"
cannot "a script whose interpreter is missing" 127 "'$WORK/folder/script': the file exists, but the interpreter .* does not" \
    -n 2 "$WORK/folder/script"
cannot "the same in the directory of --wdir" 127 "'./script': the file exists, but .*" -n 2 --wdir "$WORK/folder" ./script
cannot "a missing file" 127 "'$WORK/folder/none': No such file or directory" -n 2 "$WORK/folder/none"
cannot "a command of --prefix with a path" 127 "'/no/such/command', which is to run the program: no such command" \
    -n 2 --prefix /no/such/command true
cannot "a directory as the command of --prefix" 126 "'$WORK/folder', which is to run the program: Permission denied" \
    -n 2 --prefix "$WORK/folder" true

# ---- environment ----

for name in TERN_BOOT TERN_RANK TERN_SIZE TERN_LOCAL_RANK TERN_LOCAL_SIZE; do
    refused "-x $name" "-x cannot set $name, which ternrun sets for each rank" -n 1 -x $name=1 true
done
refused "-x without a name" "-x takes NAME=VALUE or NAME" -n 1 -x =1 true
refused "-x of a variable that is not set" "-x NO_SUCH_ONE: no such variable is set" -n 1 -x NO_SUCH_ONE true
job "$RUN" -n 3 --label sh -c 'echo $TERN_RANK $TERN_SIZE $TERN_LOCAL_RANK $TERN_LOCAL_SIZE'
check "TERN_RANK and the others are in the environment" eval \
    '[ "$(sort "$WORK/out" | tr "\n" ,)" = "[0] 0 3 0 3,[1] 1 3 1 3,[2] 2 3 2 3," ]'
job "$RUN" -n 2 "$RUN" -n 1 sh -c 'echo $TERN_RANK $TERN_SIZE $TERN_LOCAL_RANK $TERN_LOCAL_SIZE'
check "a job within a job has its own, and nothing is said about them" all_of '[ "$(sort -u "$WORK/out")" = "0 1 0 1" ]' 'lines err 0'
job env TERN_RANK=7 TERN_SIZE=9 "$RUN" -n 1 sh -c 'echo $TERN_RANK $TERN_SIZE'
check "values from outside are replaced" all_of 'out_has "^0 1\$"' 'lines err 0'
job "$RUN" -n 1 -x TERN_ON_FAILURE=return --on-failure abort sh -c 'echo $TERN_ON_FAILURE'
check "--on-failure and -x TERN_ON_FAILURE contradict each other" all_of 'status_is 2' 'err_has contradict' '! out_has .'

# ---- directories and files ----

mkdir "$WORK/dir"
job "$RUN" -n 2 --wdir "$WORK/dir" sh -c 'pwd -P; echo $PWD'
check "--wdir" eval '[ "$(sort -u "$WORK/out" | wc -l)" -le 2 ] && grep -q "/dir\$" "$WORK/out" && lines out 4'
(cd "$WORK" && job "$RUN" -n 1 --wdir dir pwd)
check "--wdir with a relative path" out_has "/dir\$"
job "$RUN" -n 2 --wdir "$WORK/missing" echo started
check "a directory that does not exist: one line, status 1" all_of 'status_is 1' 'lines out 0' \
    'said "cannot start rank 0 in the directory .*/missing of --wdir: No such file"'

content() { [ "$(cat "$WORK/files/$1")" = "$2" ]; }
job "$RUN" -n 3 --output "$WORK/files" sh -c 'echo out $TERN_RANK; echo err $TERN_RANK >&2; printf end'
check "--output: a file for each output of each rank, and nothing else" all_of 'status_is 0' 'lines out 0' 'lines err 0' \
    '[ "$(ls "$WORK/files" | tr "\n" " ")" = "rank.0.err rank.0.out rank.1.err rank.1.out rank.2.err rank.2.out " ]' \
    'content rank.1.err "err 1"' 'content rank.2.out "out 2
end"'
job "$RUN" -n 1 --output "$WORK/files/a/b" echo one
check "--output makes directories, also for a single rank" all_of 'lines out 0' 'content a/b/rank.0.out one' '[ ! -s "$WORK/files/a/b/rank.0.err" ]'
job "$RUN" -n 2 --label --output "$WORK/files" "$RANK" lines=2000
check "--output with --label: files without labels, and the terminal with them" all_of 'lines out 4000' \
    '[ "$(sed -n "s/^\[1\] //p" "$WORK/out" | cksum)" = "$(cksum < "$WORK/files/rank.1.out")" ]'
job "$RUN" -n 2 --output "$WORK/files" "$RANK" long=1000000
check "--output: long lines lose nothing" eval '[ "$(tr -d "\n" < "$WORK/files/rank.1.out" | wc -c)" = 1000000 ]'
touch "$WORK/plain"
job "$RUN" -n 2 --output "$WORK/plain" echo started
check "a file instead of a directory: one line, status 1, no rank starts" all_of 'status_is 1' \
    'said "^ternrun: --output: cannot use the directory .*/plain: Not a directory\$"' 'lines out 0'
job "$RUN" -n 2 --output /proc/no/such echo started
check "a directory that cannot be made: one line, status 1" all_of 'status_is 1' 'said "cannot use the directory /proc/no/such"'
ln -sf /dev/full "$WORK/files/rank.1.out"
job "$RUN" -n 2 --output "$WORK/files" echo kept
check "a disk that is full: one line, status 1, and the other files are whole" all_of 'status_is 1' 'content rank.0.out kept' \
    'said "^ternrun: --output: cannot write .*/rank.1.out: No space left on device; the rest of it is lost\$"'
check_clean "after all options"
finish
