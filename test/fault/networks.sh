#!/bin/bash
# networks.sh: choosing a network, ranks that chose differently, and many ranks. Promise: every failure is reported.
#
# labels: slow
# lock: interfaces
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_hosts.sh"
"$BIN/tern-info" --json | grep -q '"ofi"' || { echo "this library has no link ofi"; exit 77; }
HELLO=$(readlink -f "$PROG/everyone_job")
AGENT=$(readlink -f "$(dirname "$0")/../agent")

# over VARIABLE=VALUE...: two ranks on this machine that use the network.
over() { job env TERN_LINKS=ofi "$@" "$RUN" -n 2 "$HELLO"; }

for provider in 'tcp;ofi_rxm' net sockets shm; do
    over "TERN_OFI_PROVIDER=$provider"
    check "TERN_OFI_PROVIDER=$provider" all_of 'status_is 0' 'out_has "2 ranks, all reached"'
done
over TERN_OFI_DOMAIN=lo
check "TERN_OFI_DOMAIN=lo" all_of 'status_is 0' 'out_has "2 ranks, all reached"'
over TERN_OFI_PROVIDER=none
check "a provider that is not there: those that are, are named" all_of 'status_is 9' \
    'err_has "has TERN_OFI_PROVIDER=none; there are the providers .*tcp;ofi_rxm"'
over TERN_OFI_DOMAIN=none0
check "a domain that is not there: those that are, are named" all_of 'status_is 9' \
    'err_has "TERN_OFI_DOMAIN=none0; .* the domains .*lo"'
job env TERN_OFI_PROVIDER=shm "$RUN" --hosts a:1,b:1 --agent "$AGENT" "$HELLO"
check "a provider that leads to no other node: why not" all_of 'status_is 9' 'err_has "shm reaches this machine only"'
# The link between hosts: TCP sockets if libfabric has nothing but TCP, unless an option names libfabric.
hosts() { job env "$@" TERN_LOG=info "$RUN" --hosts a:1,b:1 --agent "$AGENT" "$HELLO"; }
serves() { err_has "link $1 serves rank"; }
USUAL=$(usual_link)
hosts -u TERN_LINKS
check "between hosts, $USUAL is the usual link" all_of 'status_is 0' "serves $USUAL" 'out_has "2 ranks, all reached"'
for setting in TERN_LINKS=shm,ofi 'TERN_OFI_PROVIDER=tcp;ofi_rxm'; do
    hosts "$setting"
    check "between hosts, $setting: libfabric" all_of 'status_is 0' 'serves ofi' 'out_has "2 ranks, all reached"'
done
hosts TERN_LINKS=shm,tcp
check "between hosts, TERN_LINKS=shm,tcp: TCP sockets" all_of 'status_is 0' 'serves tcp' 'out_has "2 ranks, all reached"'
job env TERN_LINKS=none "$RUN" -n 2 "$HELLO"
check "a link that is not there" all_of 'status_is 9' 'err_has "no link .none."'

cat > "$WORK/differ" << 'END'
#!/bin/bash
case $TERN_BOOT in *rank=1,*) export TERN_OFI_PROVIDER=net ;; esac
exec "$@"
END
chmod +x "$WORK/differ"
job env TERN_LINKS=ofi "TERN_OFI_PROVIDER=tcp;ofi_rxm" "$RUN" -n 2 "$WORK/differ" "$HELLO"
check "ranks that use different providers are told so" all_of not_hung 'status_is 9' \
    'err_has "uses the network provider .* and this rank .*; set TERN_OFI_PROVIDER for all of them alike"'


cat > "$WORK/differ" << 'END'
#!/bin/bash
case $TERN_BOOT in *rank=1,*) export TERN_LINKS=tcp ;; esac
exec "$@"
END
job env TERN_LINKS=ofi "$RUN" -n 2 "$WORK/differ" "$HELLO"
check "ranks that use different links are told so" all_of not_hung 'status_is 9' \
    'err_has "rank [01] (communicates|offers its memory) through .*; set TERN_LINKS for all .* alike"'

job bash -c 'ulimit -Sn 64; exec env TERN_LINKS=ofi "$@"' bash "$RUN" -n 64 "$HELLO"
check "64 ranks over TCP, with a soft limit of 64 descriptors" all_of not_hung 'status_is 0' \
    'out_has "64 ranks, all reached"'
check_clean "at the end"
finish
