# misuse.sh: misuse of ARMCI ends the job with one line that names the call and the values, and so does a killed rank.
. "$(dirname "$0")/../fault/lib.sh"
LIMIT=60

# ends HOW TEXT: the job that misuses ARMCI in this way fails, and a line contains the text.
ends() {
    job "$BIN/ternrun" -n 2 "$PROG/misuse_armci" "$1"
    check "$1" all_of '! status_is 0' "err_has '$2'"
}

ends early 'ARMCI_Put: ARMCI is not initialized; call ARMCI_Init first'
ends rank 'ARMCI_Put: there is no rank 2; the ranks of this job are 0 to 1'
ends levels 'ARMCI_PutS: 9 stride levels; there may be 0 to 8'
ends bytes 'ARMCI_Get: the number of bytes is -3'
ends address 'ARMCI_Acc: the address 0x[0-9a-f]* belongs to no memory of rank 1'
ends end 'ARMCI_Acc: the operation failed: .*'
ends type 'ARMCI_Acc: there is no type 17'
ends operation 'ARMCI_Rmw: there is no operation 44'
ends unlock 'ARMCI_Unlock: there are no mutexes'
ends free 'ARMCI_Free: 0x[0-9a-f]* is no pointer to this rank'
ends group 'armci_msg_group_barrier: this rank, [01], is no member of the group'
ends gop 'armci_msg_dgop: there is no operation "mean" for type 4'
ends error 'ARMCI_Error: the program gives up \(7\)'
ends kill 'rank 1 '
check_clean "misuse"
finish
