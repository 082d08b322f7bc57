/* parent.h: the tie between a rank and the process that started it. */
#ifndef TERN_BOOT_PARENT_H
#define TERN_BOOT_PARENT_H

#include <sys/types.h>

#include "base/status.h"

/* Make the kernel end this process when its parent dies, where the parent is the launcher or a program between it and
 * us (a shell, say): so that a rank never outlives the chain that leads to it.
 * Returns TERN_OK also where no tie is made: under a parent that the launcher is not above, or one of several threads
 * (the kernel takes the end of the thread that started us for the end of the parent). TERN_ERR_BOOT: the parent died
 * while we looked. */
tern_status tern_boot_parent_bind(pid_t launcher);

#endif
