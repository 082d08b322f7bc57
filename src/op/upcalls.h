/* upcalls.h: the functions of the core and of the operations that the links call. */
#ifndef TERN_OP_UPCALLS_H
#define TERN_OP_UPCALLS_H

#include "link/link.h"

extern const struct tern_link_up tern_op_upcalls;

#endif
