/* message_in.h: the types and functions that the files for ARMCI's messages share. */
#ifndef TERN_ARMCI_MESSAGE_IN_H
#define TERN_ARMCI_MESSAGE_IN_H

#include "state.h"

/* The ranks of a scope, in ascending order of their place in the group, and the place of this rank; -1: not a member.
 * The list belongs to the caller. */
struct tern_armci_scope {
    int *ranks;
    int  n, me;
};

/* scope.c: the ranks of scopes, and collective calls over them. The collective call that uses a scope frees it. */
struct tern_armci_scope tern_armci_scope_of(const char *call, int scope, const ARMCI_Group *group);
int                     tern_armci_place_of(const char *call, const struct tern_armci_scope *scope, int rank);
void tern_armci_bcast(const char *call, struct tern_armci_scope *scope, void *buf, size_t len, int root);
void tern_armci_fold(const char *call, struct tern_armci_scope *scope, void *x, size_t len, size_t unit,
                     void (*combine)(void *x, const void *y, size_t len, const void *arg), const void *arg);

/* message.c: messages of the collective calls. */
void tern_armci_send(const char *call, int to, const void *buf, size_t len);
void tern_armci_receive(const char *call, int from, void *buf, size_t len);

#endif
