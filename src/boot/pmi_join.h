/* pmi_join.h: joining a job that a foreign launcher started. The ranks do for each other what ternrun does for its
 * ranks.
 */
#pragma once

#include "boot/boot.h"
#include "boot/fd_pass.h"
#include "boot/node.h"
#include "boot/pmi.h"

/* The record that each rank publishes: "layout,on_failure,node,name,key,job", the last three in hexadecimal. */
struct tern_pmi_record {
    unsigned                    layout, on_failure;
    char                        node[TERN_NODE_TEXT];
    struct tern_fd_pass_address address;
    uint64_t                    job; /* random; the value of rank 0 identifies the job */
};

/* Decode the record that a rank has published. Returns false if it is not a record of Tern. */
bool tern_boot_pmi_record_decode(const char *text, struct tern_pmi_record *record);

/* Join the job: find the ranks of this node, share an arena with them, claim this rank's slot, and start the death
 * watch. Fills *boot and returns like tern_boot_join(). */
tern_status tern_boot_pmi_join(const struct tern_pmi_ops *ops, struct tern_boot *boot);

/* If a foreign launcher started this process, call `end` of struct tern_pmi_ops, because the process is going to call
 * _exit. Any thread may call this. */
void tern_boot_pmi_end(void);

/* Leave a job that was joined with tern_boot_pmi_join(). Call this before the segment is unmapped. */
void tern_boot_pmi_leave(const struct tern_boot *boot);

/* If a foreign launcher started this process, ask the launcher to end the job, whether or not this process has joined
 * it. */
void tern_boot_pmi_abort(int status);
