/* alone.h: what a process that no launcher started has to find out by itself. */
#ifndef TERN_BOOT_ALONE_H
#define TERN_BOOT_ALONE_H

/* The number of CPUs that this process may use; at least 1. */
int tern_boot_alone_cores(void);

/* Where the environment shows that another launcher started this process as one of several, say once that Tern does
 * not know that launcher. */
void tern_boot_alone_note(void);

#endif
