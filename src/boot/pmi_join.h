/* pmi_join.h: being a rank of a job that a foreign launcher started: what ternrun does for its ranks, they do here for
 * each other.
 */
#ifndef TERN_BOOT_PMI_JOIN_H
#define TERN_BOOT_PMI_JOIN_H

#include "boot/boot.h"
#include "boot/fd_pass.h"
#include "boot/node.h"
#include "boot/pmi.h"

/* What each rank publishes: "layout,on_failure,node,name,key,job", the last three in hexadecimal digits. */
struct tern_pmi_record {
    unsigned                    layout, on_failure;
    char                        node[TERN_NODE_TEXT];
    struct tern_fd_pass_address address;
    uint64_t                    job; /* random; that of rank 0 names the job */
};

/* Read what a rank has published; false: it is not of Tern. */
bool tern_boot_pmi_record_decode(const char *text, struct tern_pmi_record *card);

/* Join: find the ranks of this node, share an arena with them, claim the slot, watch the others. As tern_boot_join. */
tern_status tern_boot_pmi_join(const struct tern_pmi_ops *ops, struct tern_boot *boot);

/* Before the segment of a job that was joined this way is unmapped. */
void tern_boot_pmi_leave(const struct tern_boot *boot);

/* Where a foreign launcher started this process, whether it has joined or not: ask it to end the job. */
void tern_boot_pmi_abort(int status);

#endif
