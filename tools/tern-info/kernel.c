/* kernel.c: the kernel's facilities on which Tern's shared memory and its waits rest. Each is tried rather than looked
 * up. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/membarrier.h"
#include "info.h"

/* Create a memory file and reserve its space. Returns 0 or an errno value. */
static int try_memfd(void)
{
    int fd = memfd_create("tern-info", MFD_CLOEXEC | MFD_ALLOW_SEALING), error = 0;

    if (fd < 0)
        return errno;
    if (fallocate(fd, 0, 0, 4096) < 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0)
        error = errno;
    close(fd);
    return error;
}

static int try_futex(void)
{
    uint32_t word = 1;

    /* A futex wait returns at once with EAGAIN if the word does not have the expected value. */
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) < 0 && errno == EAGAIN ? 0 : errno;
}

static int try_pidfd(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

struct info_kernel info_kernel_probe(void)
{
    struct info_kernel kernel = { .memfd = try_memfd(), .futex = try_futex(), .pidfd = try_pidfd() };

    kernel.barrier_here = tern_base_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                          tern_base_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    kernel.barrier_everyone = tern_base_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
                              tern_base_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    return kernel;
}

static void facility(const char *key, const char *label, int error)
{
    char why_key[64];

    info_bool(key, label, error == 0);
    snprintf(why_key, sizeof(why_key), "%s_why", key);
    if (error != 0)
        info_text(why_key, "why not", "%s", strerror(error));
}

void info_kernel(const struct info_kernel *kernel)
{
    struct utsname name;

    info_section("kernel", "Kernel");
    if (uname(&name) == 0)
        info_text("release", "release", "%s %s %s", name.sysname, name.release, name.machine);
    facility("memfd", "memory files (memfd)", kernel->memfd);
    facility("futex", "futex between processes", kernel->futex);
    facility("pidfd", "end of a process (pidfd)", kernel->pidfd);
    info_bool("membarrier", "membarrier, one process", kernel->barrier_here);
    info_bool("membarrier_global", "membarrier, all ranks", kernel->barrier_everyone);
    info_section_end();
}
