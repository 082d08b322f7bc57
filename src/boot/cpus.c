/* cpus.c: sets of processors, stored as bytes that can be sent to another process on the same machine. */
#define _GNU_SOURCE 1
#include "boot/cpus.h"

#include <sched.h>
#include <string.h>

void tern_boot_cpus_own(struct tern_cpus *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    if (sched_getaffinity(0, sizeof(cpus->bits), (cpu_set_t *)(void *)cpus->bits) != 0)
        memset(cpus, 0, sizeof(*cpus));
}

void tern_boot_cpus_add(struct tern_cpus *cpus, const uint8_t *other, size_t len)
{
    for (size_t i = 0; i < len && i < sizeof(cpus->bits); i++)
        cpus->bits[i] |= other[i];
}

size_t tern_boot_cpus_length(const struct tern_cpus *cpus)
{
    size_t len = sizeof(cpus->bits);

    while (len > 0 && cpus->bits[len - 1] == 0)
        len--;
    return len;
}

int tern_boot_cpus_count(const struct tern_cpus *cpus)
{
    int count = 0;

    for (size_t i = 0; i < sizeof(cpus->bits); i++)
        count += __builtin_popcount(cpus->bits[i]);
    return count < 1 ? 1 : count;
}
