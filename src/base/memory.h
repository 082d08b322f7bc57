/* memory.h: how much memory this process can still allocate, and which limit applies. */
#pragma once

#include <stdint.h>

struct tern_memory_limits {
    uint64_t available; /* bytes; UINT64_MAX if unknown */
    char     limit[96]; /* which limit applies: "the system", or "the control group /a/b" */
    int      error;     /* if not 0: errno, because no file descriptor was free; the other fields are then unknown */
};

/* Return the memory that the system and the control groups of this process (versions 1 and 2, and their ancestors)
 * still allow. root is prepended to every path; it is "" except in tests. */
struct tern_memory_limits tern_base_memory_limits(const char *root);

/* Return the bytes of free and unreserved huge pages of the given size; 0 if there are none. */
uint64_t tern_base_memory_huge(const char *root, uint64_t page);
