/* upcalls.h: the functions of the core and of the operations that the links call. */
#pragma once

#include "link/link.h"

extern const struct tern_link_up tern_op_upcalls;
