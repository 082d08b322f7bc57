/* cpus.h: which processors a process may use, and how many a group of processes may use together. */
#ifndef TERN_BOOT_CPUS_H
#define TERN_BOOT_CPUS_H

#include <stddef.h>
#include <stdint.h>

#define TERN_CPUS_MOST 65536

/* One bit for each processor, in the order of the kernel's own masks. */
struct tern_cpus {
    _Alignas(8) uint8_t bits[TERN_CPUS_MOST / 8];
};

/* Set *cpus to the processors that this thread may use; to none if the kernel does not tell. */
void tern_boot_cpus_own(struct tern_cpus *cpus);

/* Add the processors in the first len bytes of other. */
void tern_boot_cpus_add(struct tern_cpus *cpus, const uint8_t *other, size_t len);

/* Return the number of bytes up to the last byte that is not 0. */
size_t tern_boot_cpus_length(const struct tern_cpus *cpus);

/* Return the number of processors; at least 1. */
int tern_boot_cpus_count(const struct tern_cpus *cpus);

#endif
