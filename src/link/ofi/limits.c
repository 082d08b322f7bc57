/* limits.c: the limits of the process that matter for a network, which a scheduler may have set too low.
 *
 * A limit that may be too low causes a warning by the first rank of each node when the link is opened, because the job
 * may never reach the limit. The error of an operation that fails later names the limit again.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "link/ofi/ofi.h"

#define FILES_BESIDE 128 /* descriptors for everything but the connections to peers */
#define KIB 1024ull

/* Return the number of descriptors that the rank may need: over TCP, one for each peer that it communicates with. */
static rlim_t files_wanted(const struct ofi_link *ofi)
{
    return (rlim_t)ofi->net.ranks + FILES_BESIDE;
}

/* The usual soft limit of 1024 exists for programs that call select(), and a large job may exceed it. */
void tern_ofi_limits_raise(const struct ofi_link *ofi)
{
    rlim_t        wanted = files_wanted(ofi);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* tern_ofi_limits_check() reports a limit that remains too low */
}

static void check_files(const struct ofi_link *ofi)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= files_wanted(ofi))
        return;
    tern_base_log(TERN_LOG_WARN,
                  "link %s: a rank may have %llu open files and needs up to %llu, one for each of the %d ranks that it "
                  "communicates with and %d others; raise the hard limit (ulimit -Hn) on node %d, or LimitNOFILE of "
                  "the scheduler's daemon there",
                  ofi->net.name, (unsigned long long)limit.rlim_cur, (unsigned long long)files_wanted(ofi),
                  ofi->net.ranks, FILES_BESIDE, ofi->net.boot->node);
}

/* Return whether the kernel exempts this process from the limit on locked memory. */
static bool is_exempt(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct   sets[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    return syscall(SYS_capget, &head, sets) == 0 && (sets[0].effective & 1u << CAP_IPC_LOCK) != 0;
}

/* Return whether a network adapter accesses registered memory itself. */
static bool uses_adapter(const struct ofi_link *ofi)
{
    return (ofi->endpoint.info->domain_attr->mr_mode & FI_MR_ALLOCATED) != 0;
}

/* Return whether the limit on locked memory applies to registered memory, whose pages an adapter needs locked. Writes
 * the limit in KiB. */
static bool locks_memory(const struct ofi_link *ofi, unsigned long long *kib)
{
    struct rlimit limit;

    if (!uses_adapter(ofi) || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || is_exempt())
        return false;
    *kib = limit.rlim_cur / KIB;
    return true;
}

void tern_ofi_limits_check(const struct ofi_link *ofi)
{
    unsigned long long kib;

    if (ofi->net.boot->local != 0)
        return;
    if (!uses_adapter(ofi)) /* a provider over sockets, which have descriptors */
        check_files(ofi);
    if (locks_memory(ofi, &kib))
        tern_base_log(TERN_LOG_WARN,
                      "link %s: a rank may lock %llu KiB of memory, and the network locks all memory of regions; raise "
                      "the limit (ulimit -l unlimited) on node %d, or LimitMEMLOCK of the scheduler's daemon there",
                      ofi->net.name, kib, ofi->net.boot->node);
}

void tern_ofi_limits_describe(const struct ofi_link *ofi, char *text, size_t size)
{
    unsigned long long kib;

    text[0] = '\0';
    if (locks_memory(ofi, &kib))
        snprintf(text, size,
                 "; the limit on locked memory is %llu KiB: raise it (ulimit -l unlimited), or LimitMEMLOCK of the "
                 "scheduler's daemon",
                 kib);
}
