/* memory.h: how much memory the system would give this process now, and who limits it. */
#ifndef TERN_BASE_MEMORY_H
#define TERN_BASE_MEMORY_H

#include <stdint.h>

struct tern_memory_room {
    uint64_t available; /* bytes; UINT64_MAX where nothing tells */
    char     limit[96]; /* who limits it: "the system", or "the control group /a/b" */
    int      error;     /* not 0: errno, because no descriptor was free to look with; nothing is known then */
};

/* What the system and the control groups of this process (version 1 and 2, and their ancestors) leave. root is put
 * before every path; "" outside of tests. */
struct tern_memory_room tern_base_memory_room(const char *root);

/* Bytes of huge pages of the given size that nobody has taken or reserved; 0 where there are none. */
uint64_t tern_base_memory_huge(const char *root, uint64_t page);

#endif
