/* fabric_load.c: loads and initializes libfabric. See fabric_load.h.
 *
 * Every rank that uses a network loads libfabric. On a node with many ranks, this costs more than the query that
 * follows, which takes about a millisecond. Two parts of the work are of no use to Tern:
 *
 * - Drivers of old hardware (libinfinipath, libpsm2) measure the frequency of the processor when they are loaded. Each
 *   sleeps 125 microseconds at a time, on cpu 0, until a tenth of a second has passed. With a large timer slack, the
 *   kernel wakes the thread a few times instead of hundreds of times.
 * - The provider verbs of libfabric 1 searches /proc/kallsyms for two symbols of the kernel when it is initialized,
 *   even if another provider is asked for. The kernel needs a tenth of a second of processor time to produce this file
 *   twice. Whether the symbols exist matters only for memory of graphics cards on machines with RDMA devices. On other
 *   machines, the thread that initializes libfabric is not permitted to open such files, and the provider does not
 *   search.
 *
 * Both settings are properties of a thread, so a separate thread does the work and then ends. If that is not possible,
 * or if the program may use libfabric for something else, the calling thread does the work without these settings.
 */
#include "boot/fabric_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "boot/mpi_library.h"

#define SIGNALS 32          /* number of standard signals */
#define SLACK_NS 10000000ul /* timer slack while libfabric is loaded */

/* Load the library and restore the signal handlers of the program, because drivers of old hardware install their own
 * handlers when they are loaded. */
static void *load_keeping_signals(const char *library)
{
    struct sigaction before[SIGNALS], after;
    void            *handle;

    for (int i = 1; i < SIGNALS; i++)
        sigaction(i, NULL, &before[i]);
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL); /* never unloaded: its providers leave threads behind */
    for (int i = 1; i < SIGNALS; i++)
        if (sigaction(i, NULL, &after) == 0 && after.sa_handler != before[i].sa_handler)
            sigaction(i, &before[i], NULL);
    return handle;
}

/* Forbid the calling thread, for the rest of its life, to open files the way fopen(name, "r") does. Directories and
 * libraries are opened with more flags and stay accessible. The filter need not check the architecture, because it sees
 * only the system calls of this thread, which are all made by the native ABI. */
static bool refuse_plain_opens(void)
{
    const uint32_t     low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) + low),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDONLY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* A function of libfabric. */
union fabric_call {
    void *found;
    uint32_t (*version)(void);
    int (*getparams)(void **params, int *count);
    void (*freeparams)(void *params);
};

static union fabric_call find(void *handle, const char *name)
{
    return (union fabric_call){ .found = dlsym(handle, name) };
}

/* Return whether the library is of a version whose provider verbs searches the symbols of the kernel. */
static bool is_slow(void *handle)
{
    union fabric_call call = find(handle, "fi_version");

    return call.found && call.version() >> 16 < 2;
}

/* Initialize libfabric by its cheapest call; any other call would initialize it as well. */
static void initialize(void *handle)
{
    union fabric_call get = find(handle, "fi_getparams"), release = find(handle, "fi_freeparams");
    void             *params = NULL;
    int               count;

    if (get.found && release.found && get.getparams(&params, &count) == 0)
        release.freeparams(params);
}

struct load {
    const char *library;
    void       *handle;
};

static void *load_run(void *arg)
{
    struct load *load = arg;

    prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
    load->handle = load_keeping_signals(load->library);
    if (load->handle && is_slow(load->handle) && refuse_plain_opens())
        initialize(load->handle);
    return NULL;
}

/* Return whether the machine has devices whose providers read settings of the system when they are initialized. */
static bool has_devices(void)
{
    return access("/sys/class/infiniband", F_OK) == 0 || access("/sys/class/cxi", F_OK) == 0;
}

/* Return whether the program may use libfabric itself: it has loaded libfabric, or an MPI library, which may do so. */
static bool is_shared(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    if (handle)
        dlclose(handle);
    return handle || tern_boot_mpi_library();
}

void *tern_boot_fabric_load(const char *library)
{
    struct load load = { .library = library };
    pthread_t   thread;

    if (!is_shared(library) && !has_devices() &&
        tern_base_thread_start(&thread, "tern-load", load_run, &load) == TERN_OK)
        tern_base_thread_join(thread, "tern-load");
    return load.handle ? load.handle : load_keeping_signals(library);
}
