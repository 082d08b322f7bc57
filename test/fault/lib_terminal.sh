# lib_terminal.sh: a shell on a real terminal, for the tests of ternrun there; sourced after lib_hosts.sh. It needs
# python3.
TERMINAL=$(readlink -f "$(dirname "$0")/terminal.py")
printf "PS1='prompt%% '\nbind 'set enable-bracketed-paste off' 2> /dev/null\n" > "$WORK/rc"

# terminal [NAME=VALUE...]: do in the shell what the steps on standard input say (terminal.py). Sets STATUS and HUNG.
terminal() {
    env -u TMUX -u DISPLAY TERM=dumb FAULT_MARK="$MARK" RUN="$RUN" RANK="$RANK" WORK="$WORK" "$@" \
        timeout -k 2 200 python3 "$TERMINAL" bash --rcfile "$WORK/rc" -i > "$WORK/out" 2> "$WORK/err"
    STATUS=$? HUNG=0
}
