# misuse.sh: misuse of ARMCI ends the job with one line that names the call and the values, whether or not the target is
# on the same node. A killed rank ends the job, too, whatever call the others wait in.
#
# builds: release debug asan
# timeout: 300
. "$(dirname "$0")/../fault/lib.sh"
LIMIT=60
none='belongs to no memory of rank 1 that ARMCI_Malloc has allocated'

# ends HOW TEXT: the job that misuses ARMCI in this way fails, and a line contains the text.
ends() {
    job "$BIN/ternrun" -n 2 "$PROG/misuse_armci" "$1"
    check "$1" all_of 'not_hung' '! status_is 0' "err_has '$2'"
}

# ends_far HOW TEXT [TEXT]: the same through shared memory and over the network, with another text there.
ends_far() {
    ends "$1" "$2"
    job env TERN_LINKS=ofi "$BIN/ternrun" -n 2 "$PROG/misuse_armci" "$1"
    check "$1 over the network" all_of 'not_hung' '! status_is 0' "err_has '${3:-$2}'"
}

# dies HOW: rank 1 is killed while rank 0 waits in this way. ternrun says so in one line, and Tern adds nothing.
dies() {
    job "$BIN/ternrun" -n 2 "$PROG/misuse_armci" "$1"
    check "$1" says_killed
}

# dies_far HOW: the same with rank 1 over the network and on another host.
dies_far() {
    job env TERN_LINKS=ofi "$BIN/ternrun" -n 2 "$PROG/misuse_armci" "$1"
    check "$1 over the network" says_killed
    job "$BIN/ternrun" --hosts a:1,b:1 --agent "$(dirname "$0")/../agent" "$PROG/misuse_armci" "$1"
    check "$1 on two hosts" says_killed
}

says_killed() { not_hung && ! status_is 0 && err_has 'rank 1 .* was killed by signal 9' && err_count . 1; }

ends early 'ARMCI_Put: ARMCI is not initialized; call ARMCI_Init first'
ends late 'ARMCI_Put: ARMCI is not initialized; call ARMCI_Init first'
ends rank 'ARMCI_Put: there is no rank 2; the ranks of this job are 0 to 1'
ends negative_rank 'ARMCI_Get: there is no rank -1; the ranks of this job are 0 to 1'
ends levels 'ARMCI_PutS: 9 stride levels; there may be 0 to 8'
ends count 'ARMCI_GetS: count\[1\] is -2'
ends bytes 'ARMCI_Get: the number of bytes is -3'
ends acc_bytes 'ARMCI_NbAcc: the number of bytes is -8'
ends_far put_address "ARMCI_Put: the address 0x[0-9a-f]* $none"
ends_far get_address "ARMCI_NbGet: the address 0x[0-9a-f]* $none"
ends_far null_address "ARMCI_Put: the address .nil. $none"
ends_far put_null 'ARMCI_Put: the local address of 8 bytes is NULL'
ends_far get_null 'ARMCI_NbGet: the local address of 8 bytes is NULL'
ends_far acc_null 'ARMCI_Acc: the local address of 8 bytes is NULL'
ends copy_null 'ARMCI_Copy: 8 bytes from .nil. to 0x'
ends_far value_address "ARMCI_PutValueInt: the address 0x[0-9a-f]* $none"
ends_far acc_address "ARMCI_Acc: the address 0x[0-9a-f]* $none"
ends_far put_end 'ARMCI_Put: 64 bytes at 0x[0-9a-f]* exceed the memory of rank 1' 'ARMCI_Put: 64 bytes at offset 32'
ends_far get_end 'ARMCI_NbGet: 8 bytes at 0x[0-9a-f]* exceed' 'ARMCI_NbGet: 8 bytes at offset 60'
ends_far acc_end 'ARMCI_Acc: .* 64 bytes at offset 32 do not lie in the 64 bytes of rank 1'
ends_far box_end 'ARMCI_PutS: 72 bytes at 0x[0-9a-f]* exceed' 'ARMCI_PutS: the box needs the bytes 0 to 71 of rank 1'
ends_far box_begin "ARMCI_GetS: the address 0x[0-9a-f]* $none" 'ARMCI_GetS: the box needs bytes from 8 before'
ends_far box_null 'ARMCI_GetS: the address of the destination is NULL'
ends_far box_strides 'ARMCI_PutS: a list of 1 strides is NULL'
ends_far box_huge 'ARMCI_PutS: [0-9]* bytes at 0x[0-9a-f]* exceed the memory of rank 1' 'ARMCI_PutS: '
ends_far list_end 'ARMCI_PutV: 8 bytes at 0x[0-9a-f]* exceed' 'ARMCI_PutV: piece 0, 8 bytes at offset 60'
ends_far list_address "ARMCI_GetV: the address 0x[0-9a-f]* $none"
ends list_null 'ARMCI_AccV: a list of 1 segments is NULL'
ends_far list_hole 'ARMCI_GetV: the local address of segment 0 is NULL'
ends_far flag_address "ARMCI_Put_flag: the address 0x[0-9a-f]* $none"
ends_far acc_part 'ARMCI_Acc: .* a piece of 5 bytes does not consist of whole elements of 8 bytes'
ends type 'ARMCI_Acc: there is no type 17'
ends scale 'ARMCI_AccS: the scale is NULL'
ends operation 'ARMCI_Rmw: there is no operation 44'
ends_far rmw_address "ARMCI_Rmw: the address 0x[0-9a-f]* $none"
ends_far rmw_end "ARMCI_Rmw: the address 0x[0-9a-f]* $none"
ends_far rmw_odd 'ARMCI_Rmw: the address 0x[0-9a-f]* is not a multiple of 8'
ends aggregate 'ARMCI_SET_AGGREGATE_HANDLE: the handle is NULL'
ends wait 'ARMCI_Wait: the handle is NULL'
ends size 'ARMCI_Malloc: the size is -1'
ends array 'ARMCI_Malloc: the array of pointers is NULL'
ends free 'ARMCI_Free: 0x[0-9a-f]* is no pointer to this rank'
ends free_other 'ARMCI_Free: 0x[0-9a-f]* is no pointer to this rank'
ends free_differs 'ARMCI_Free: this rank passes NULL, but has 64 bytes in the allocation that other ranks free'
ends unlock 'ARMCI_Unlock: there are no mutexes'
ends_far no_mutex 'ARMCI_Lock: .* no mutex 2 of rank 1'
ends_far not_held 'ARMCI_Unlock: .* mutex 0 of rank 1 is held by nobody'
ends mutexes_twice 'ARMCI_Create_mutexes: there are mutexes already'
ends mutexes_gone 'ARMCI_Destroy_mutexes: there are no mutexes'
ends_far mutex_held 'ARMCI_Destroy_mutexes: .* mutex 0 of rank [01] '
ends end_held 'ARMCI_Finalize: .* mutex 0 of rank [01] '
ends handle_gone 'ARMCIX_Destroy_mutexes_hdl: there are no mutexes with the handle 0x[0-9a-f]*, or they have been destroyed'
ends group 'armci_msg_group_barrier: this rank, 0, is no member of the group'
ends member 'ARMCI_Group_create: entry 0 of the list is rank 2; the parent has the ranks 0 to 1'
ends member_twice 'ARMCI_Group_create: .* both 0'
ends gop 'armci_msg_dgop: there is no operation "mean" for type 4'
ends gop_or 'armci_msg_dgop: there is no operation "or" for type 4'
ends gop_type 'armci_msg_reduce: there is no type 9'
ends sel 'armci_msg_sel: there is no selection "mean"'
ends scope 'armci_msg_bcast_scope: there is no scope 5'
ends root 'armci_msg_bcast: there is no rank 2'
ends send 'armci_msg_snd: -8 bytes'
ends self 'armci_msg_rcv: this rank waits for a message with tag 1 that it has not sent'
ends_far truncate 'armci_msg_rcv: .* 64 bytes with tag 3 from rank 0 .* exceeds the buffer of 8 bytes'
ends domain 'armci_domain_nprocs: there is no domain 99; the domains are 0 to'
ends segment 'armci_stride_info_next: there are only 1 segments'
ends segments 'armci_stride_info_init: the box has more than 2147483647 segments'
for how in init size pos next seg_ptr seg_size has_more destroy; do
    ends iterator_$how "armci_stride_info_$how: the iterator is NULL"
done
ends split_null 'ARMCIX_Group_split: the result is NULL'
ends dup_null 'ARMCIX_Group_dup: the result is NULL'
ends comm_null 'ARMCIX_Get_world_comm: the result is NULL'
ends memget 'ARMCI_Memget: 8 contiguous bytes are not free in the 0 bytes .*; set TERN_ARMCI_MEMGET'
ends memat 'ARMCI_Memat: 0 bytes at .nil. of rank 0 are not memory of ARMCI_Memget'
export TERN_ARMCI_MEMGET=4K
ends memget_null 'ARMCI_Memget: the size is 8, and the pointer to the armci_meminfo_t is .nil.'
ends memget_empty 'ARMCI_Memget: the size is 0, and the pointer to the armci_meminfo_t is 0x'
ends memget_long 'ARMCI_Memget: 4064 contiguous bytes are not free in the 4096 bytes'
ends memat_end 'ARMCI_Memat: the offset is 8; the memory has 8 bytes'
ends memat_long 'ARMCI_Memat: 5000 bytes at 0x[0-9a-f]* of rank 0 are not memory of ARMCI_Memget'
ends memat_rank 'ARMCI_Memat: there is no rank 2'
ends memdt 'ARMCI_Memdt: the pointer to the armci_meminfo_t is NULL'
ends memctl 'ARMCI_Memctl: the memory at 0x[0-9a-f]* has been freed'
ends memfree 'ARMCI_Free: 0x[0-9a-f]* is no pointer to this rank'
export TERN_ARMCI_MEMGET=4X
ends memget 'ARMCI_Init: TERN_ARMCI_MEMGET is "4X"; it must be a number of bytes'
unset TERN_ARMCI_MEMGET
ends error 'ARMCI_Error: the program gives up \(7\)'
check "the status is that of ARMCI_Error" status_is 7
ends abort 'ARMCI_Error: armci_msg_abort was called \(5\)'
check "the status is that of armci_msg_abort" status_is 5
for how in barrier lock receive notify gop flag; do
    dies die_$how
done
for how in lock receive flag; do
    dies_far die_$how
done
check_clean "misuse"
finish
