/* checks.c: the checks of tern-info --doctor that concern one machine. Checks that could take long, such as libfabric's
 * search for hardware or the lookup of a name, run in processes of their own with a time limit. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <tern.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "boot/fabric.h"
#include "boot/segment.h"
#include "doctor.h"

#define FILES_BESIDE 128    /* descriptors of a rank for everything but its peers on other hosts */
#define FILES_ALONE 48      /* descriptors of a rank of a job on one machine */
#define FILES_OF_TERNRUN 32 /* descriptors of ternrun, and FILES_OF_RANK more for each rank of the host */
#define FILES_OF_RANK 2
#define THREADS_OF_RANK 4   /* including threads of the link, of libfabric and for triggered operations */
#define SMALL_SHM (1 << 26) /* the default of containers */
#define PINNED ((uint64_t)256 << 20)
#define RANK_MEMORY ((uint64_t)32 << 20) /* queues and buffers of libfabric */

/* ---- facts ---- */

/* Write the address of this machine on a network: not loopback and not link-local; "" if there is none. */
static void own_address(char *text, size_t size)
{
    struct ifaddrs *list = NULL;

    text[0] = '\0';
    if (getifaddrs(&list) != 0)
        return;
    for (const struct ifaddrs *entry = list; entry != NULL && text[0] == '\0'; entry = entry->ifa_next)
        if (entry->ifa_addr != NULL && entry->ifa_flags & IFF_UP && !(entry->ifa_flags & IFF_LOOPBACK) &&
            entry->ifa_addr->sa_family == AF_INET)
            inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr, text,
                      (socklen_t)size);
    freeifaddrs(list);
}

/* Print the provider and the address of the network that a job on several nodes would use, or "!" and why there is
 * none. */
static void print_network(const void *unused)
{
    const struct tern_fabric_row *row = info_network_chosen();
    char                          address[64];

    (void)unused;
    if (row == NULL) {
        printf("!%s", info_network_problem());
        return;
    }
    snprintf(address, sizeof(address), "%s", row->address);
    if (strchr(address, '.') == NULL && strchr(address, ':') == NULL)
        own_address(address, sizeof(address)); /* the network has addresses of its own kind */
    printf("%s %s", row->provider, address);
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in  *in = (const void *)address;
    const struct sockaddr_in6 *in6 = (const void *)address;

    return address->sa_family == AF_INET ? ntohl(in->sin_addr.s_addr) >> 24 == 127
                                         : IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

void doctor_print_lookup(const void *name)
{
    struct addrinfo *list = NULL, hints = { .ai_socktype = SOCK_STREAM };
    int              error = getaddrinfo(name, NULL, &hints, &list);
    char             text[INET6_ADDRSTRLEN] = "";
    bool             loopback = true;

    if (error != 0) {
        printf("!%s", gai_strerror(error));
        return;
    }
    for (const struct addrinfo *entry = list; entry != NULL && loopback; entry = entry->ai_next) {
        if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6)
            continue;
        loopback = is_loopback(entry->ai_addr);
        getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
    }
    printf("%s %s", loopback ? "loopback" : "fine", text);
    freeaddrinfo(list);
}

void doctor_facts_collect(struct doctor_facts *facts, double seconds, bool watch_input)
{
    char             name[256] = "";
    struct utsname   about;
    struct timespec  now;
    struct info_task tasks[] = { { .run = print_network }, { .run = doctor_print_lookup, .arg = name } };

    memset(facts, 0, sizeof(*facts));
    clock_gettime(CLOCK_REALTIME, &now); /* first, because the rest takes time */
    snprintf(facts->clock, sizeof(facts->clock), "%.3f", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    gethostname(name, sizeof(name) - 1);
    snprintf(facts->version, sizeof(facts->version), "%s", tern_version());
    snprintf(facts->layout, sizeof(facts->layout), "%u", TERN_SEGMENT_LAYOUT);
    if (uname(&about) == 0)
        snprintf(facts->machine, sizeof(facts->machine), "%.63s", about.machine);
    if (!tern_boot_node_network(facts->network))
        facts->network[0] = '\0';
    info_tasks_run(tasks, 2, seconds, watch_input);
    if (tasks[0].is_late)
        snprintf(facts->problem, sizeof(facts->problem), "libfabric does not answer within %.0f seconds", seconds);
    else if (tasks[0].text[0] == '!')
        info_first_line(facts->problem, sizeof(facts->problem), tasks[0].text + 1);
    else if (sscanf(tasks[0].text, "%47s %63s", facts->provider, facts->address) < 1)
        snprintf(facts->problem, sizeof(facts->problem), "libfabric ended this process with status %d",
                 tasks[0].status);
    snprintf(facts->name, sizeof(facts->name), "%.255s", tasks[1].is_late ? "!no answer" : tasks[1].text);
}

/* ---- the installation ---- */

static void check_installation(struct doctor_list *list)
{
    char    own[PATH_MAX], path[PATH_MAX + 16];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

    own[len > 0 ? len : 0] = '\0';
    if (strcmp(tern_version(), TERN_VERSION) != 0)
        doctor_find(list, 0, DOCTOR_FAULT, "installation",
                    "Remove the other libtern, or its directory from LD_LIBRARY_PATH.",
                    "tern-info is of Tern %s, but finds a libtern of version %s.", TERN_VERSION, tern_version());
    else
        doctor_find(list, 0, DOCTOR_OK, "installation", "", "Tern %s.", tern_version());
    if (strrchr(own, '/') != NULL)
        *strrchr(own, '/') = '\0';
    snprintf(path, sizeof(path), "%s/ternrun", own);
    if (access(path, X_OK) != 0)
        doctor_find(list, 0, DOCTOR_FAULT, "installation", "Install Tern completely, with ternrun beside tern-info.",
                    "%.300s is missing.", path);
}

void doctor_options(struct doctor_list *list, int host)
{
    for (size_t i = 0; i < tern_base_options_count(); i++)
        if (info_options_problem(i) != NULL)
            doctor_find(list, host, DOCTOR_FAULT, "options", "Correct the variable, or unset it.", "%s.",
                        info_options_problem(i));
}

/* ---- memory ---- */

static void check_shared_memory(struct doctor_list *list, const struct info_kernel *kernel)
{
    uint64_t size = 0, available = 0, file = info_limit(RLIMIT_FSIZE, false);

    if (kernel->memfd != 0)
        doctor_find(list, 0, DOCTOR_FAULT, "shared memory",
                    "Permit the system calls memfd_create and fallocate, for instance in the profile of the container.",
                    "The kernel refuses memory files (memfd): %s.", strerror(kernel->memfd));
    else if (file != INFO_UNLIMITED)
        doctor_find(list, 0, DOCTOR_NOTE, "shared memory", "Remove the limit: ulimit -f unlimited.",
                    "Memory files work, but ulimit -f limits a region to %" PRIu64 " bytes.", file);
    else
        doctor_find(list, 0, DOCTOR_OK, "shared memory", "", "Memory files (memfd) work.");
    if (!info_shm_space(&size, &available))
        doctor_find(list, 0, DOCTOR_NOTE, "/dev/shm", "Mount a tmpfs there if MPI programs run here, too.",
                    "/dev/shm is not there. Tern does not need it, but MPI libraries and libfabric's shm do.");
    else if (available < SMALL_SHM / 2 || size <= SMALL_SHM)
        doctor_find(list, 0, DOCTOR_NOTE, "/dev/shm", "Enlarge it; with Docker: --shm-size=1g.",
                    "/dev/shm has %" PRIu64 " of %" PRIu64
                    " MiB free. Tern does not need it, but MPI libraries and libfabric's shm do.",
                    available >> 20, size >> 20);
    else
        doctor_find(list, 0, DOCTOR_OK, "/dev/shm", "", "%" PRIu64 " MiB are free.", available >> 20);
}

static void check_memory(struct doctor_list *list, int ranks)
{
    struct tern_memory_limits limits = tern_base_memory_limits("");
    uint64_t                  wanted = tern_opt.memory_keep + (uint64_t)ranks * RANK_MEMORY;
    uint64_t                  space = info_limit(RLIMIT_AS, false);

    if (limits.available == UINT64_MAX)
        doctor_find(list, 0, DOCTOR_NOTE, "memory", "Mount /proc.", "The available memory is unknown.");
    else if (limits.available < tern_opt.memory_keep)
        doctor_find(list, 0, DOCTOR_FAULT, "memory", "End other programs, raise the limit, or lower TERN_MEMORY_KEEP.",
                    "%" PRIu64 " MiB are available (limited by %s), and TERN_MEMORY_KEEP leaves %" PRIu64
                    " MiB free: no region can be allocated.",
                    limits.available >> 20, limits.limit, tern_opt.memory_keep >> 20);
    else if (limits.available < wanted)
        doctor_find(list, 0, DOCTOR_NOTE, "memory", "Start fewer ranks, or raise the limit.",
                    "%" PRIu64 " MiB are available (limited by %s), and the buffers of %d ranks may need %" PRIu64
                    " MiB.",
                    limits.available >> 20, limits.limit, ranks, wanted >> 20);
    else
        doctor_find(list, 0, DOCTOR_OK, "memory", "", "%" PRIu64 " MiB are available, limited by %s.",
                    limits.available >> 20, limits.limit);
    if (space != INFO_UNLIMITED)
        doctor_find(list, 0, DOCTOR_NOTE, "memory", "Remove the limit: ulimit -v unlimited.",
                    "ulimit -v limits the address space of a process to %" PRIu64
                    " MiB, and a rank maps the regions of all ranks of its machine.",
                    space >> 20);
}

/* ---- the kernel ---- */

static void check_kernel(struct doctor_list *list, const struct info_kernel *kernel)
{
    struct info_cma cma = info_cma_probe();

    if (kernel->futex != 0)
        doctor_find(list, 0, DOCTOR_FAULT, "waiting", "Permit the system call futex.",
                    "The kernel refuses futex between processes: %s.", strerror(kernel->futex));
    else if (!kernel->barrier_everyone)
        doctor_find(list, 0, DOCTOR_NOTE, "waiting", "Permit the system call membarrier; it needs Linux 4.16.",
                    "Waits sleep and are woken by futex, but without membarrier each message costs a fence.");
    else
        doctor_find(list, 0, DOCTOR_OK, "waiting", "", "futex and membarrier work.");
    if (kernel->pidfd != 0)
        doctor_find(list, 0, DOCTOR_NOTE, "failures", "Permit the system call pidfd_open; it needs Linux 5.3.",
                    "Without pidfd, ranks under launchers other than ternrun do not notice a death.");
    if (cma.works)
        doctor_find(list, 0, DOCTOR_OK, "cross-memory attach", "", "It is permitted.");
    else
        doctor_find(list, 0, DOCTOR_NOTE, "cross-memory attach",
                    "As root: sysctl kernel.yama.ptrace_scope=0; in a container, add the capability SYS_PTRACE.",
                    "Registered memory is copied twice: %s.", cma.why);
}

/* ---- cores ---- */

static int usable_cpus(void)
{
    struct tern_cpus cpus;

    tern_boot_cpus_own(&cpus);
    return tern_boot_cpus_count(&cpus);
}

static void check_cores(struct doctor_list *list, int ranks)
{
    int    cpus = usable_cpus();
    double quota = info_cpu_quota();

    if (quota > 0 && quota < cpus)
        doctor_find(
            list, 0, DOCTOR_NOTE, "cores", "Start no more ranks than that, or raise the limit of the control group.",
            "%d CPUs are usable, but the control group permits the time of %.2f: ranks that compute are stopped "
            "for part of the time.",
            cpus, quota);
    else if (ranks > cpus)
        doctor_find(list, 0, DOCTOR_NOTE, "cores", "Start fewer ranks for measurements.",
                    "%d ranks share %d CPUs. The job works, but its ranks take turns.", ranks, cpus);
    else
        doctor_find(list, 0, DOCTOR_OK, "cores", "", "%d CPUs are usable, and their time is not limited.", cpus);
}

/* ---- limits ---- */

static void check_files(struct doctor_list *list, bool several, int ranks, int all)
{
    uint64_t soft = info_limit(RLIMIT_NOFILE, false), hard = info_limit(RLIMIT_NOFILE, true);
    uint64_t launcher = FILES_OF_TERNRUN + FILES_OF_RANK * (uint64_t)ranks,
             rank = several ? FILES_BESIDE + (uint64_t)all : FILES_ALONE;
    uint64_t wanted = launcher > rank ? launcher : rank;

    if (hard < wanted)
        doctor_find(list, 0, DOCTOR_FAULT, "open files",
                    "Raise the limit in /etc/security/limits.conf (nofile), in the unit of the scheduler's daemon "
                    "(LimitNOFILE) or of the container.",
                    "A process may open %" PRIu64 " files, and a job of %d ranks may need %" PRIu64 ".", hard, all,
                    wanted);
    else if (soft < hard)
        doctor_find(list, 0, DOCTOR_OK, "open files", "",
                    "A process may open %" PRIu64 ", and Tern may raise that to %" PRIu64 ".", soft, hard);
    else
        doctor_find(list, 0, DOCTOR_OK, "open files", "", "A process may open %" PRIu64 ".", soft);
}

/* Return whether a provider needs no hardware that reads the memory of the process. */
static bool is_software(const char *provider)
{
    static const char *const names[] = { "tcp", "net", "udp", "sockets", "shm" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(provider, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void check_locked(struct doctor_list *list, const char *provider)
{
    uint64_t locked = info_limit(RLIMIT_MEMLOCK, false);

    if (locked == INFO_UNLIMITED)
        doctor_find(list, 0, DOCTOR_OK, "locked memory", "", "It is not limited.");
    else if (provider[0] == '\0' || is_software(provider))
        doctor_find(list, 0, DOCTOR_OK, "locked memory", "", "%" PRIu64 " KiB; %s%s locks no memory.", locked >> 10,
                    provider[0] != '\0' ? "the network " : "shared memory", provider);
    else
        doctor_find(list, 0, locked < PINNED ? DOCTOR_FAULT : DOCTOR_NOTE, "locked memory",
                    "Remove the limit in /etc/security/limits.conf (memlock unlimited), and in the unit of the "
                    "scheduler's daemon (LimitMEMLOCK=infinity).",
                    "A process may lock %" PRIu64 " KiB, and the network %s locks all memory that it transfers.",
                    locked >> 10, provider);
}

static void check_processes(struct doctor_list *list, int ranks)
{
    uint64_t limit = info_limit(RLIMIT_NPROC, false), used = 0, group_used, group = info_group_processes(&group_used);
    uint64_t wanted = (uint64_t)ranks * THREADS_OF_RANK + 16;
    uint64_t left = INFO_UNLIMITED, group_left = group == INFO_UNLIMITED ? group : group - group_used;

    if (limit != INFO_UNLIMITED && getuid() != 0) { /* the limit does not apply to root */
        used = info_user_processes();
        left = limit > used ? limit - used : 0;
    }
    if (left < wanted)
        doctor_find(
            list, 0, DOCTOR_FAULT, "processes", "Raise the limit: ulimit -u, /etc/security/limits.conf (nproc).",
            "This user may have %" PRIu64 " processes and threads and has %" PRIu64 "; %d ranks may need %" PRIu64 ".",
            limit, used, ranks, wanted);
    else if (group_left < wanted)
        doctor_find(list, 0, DOCTOR_FAULT, "processes",
                    "Raise pids.max of the control group; with Docker: --pids-limit; in a unit: TasksMax.",
                    "The control group permits %" PRIu64 " processes and threads and has %" PRIu64
                    "; %d ranks may need %" PRIu64 ".",
                    group, group_used, ranks, wanted);
    else
        doctor_find(list, 0, DOCTOR_OK, "processes", "", "There is room for %" PRIu64 " processes and threads or more.",
                    wanted);
}

/* ---- the network ---- */

static void check_network(struct doctor_list *list, const struct doctor_job *job, const struct doctor_facts *facts)
{
    if (facts->provider[0] != '\0')
        doctor_find(list, 0, DOCTOR_OK, "network", "", "%s%s%s.", facts->provider,
                    facts->address[0] != '\0' ? " with the address " : "", facts->address);
    else
        doctor_find(list, 0, job->several ? DOCTOR_FAULT : DOCTOR_NOTE, "network",
                    "See tern-info for the networks of this machine; check TERN_OFI_PROVIDER and TERN_OFI_DOMAIN, and "
                    "that libfabric1 is installed.",
                    "No network reaches other hosts: %s.", facts->problem);
}

static void check_name(struct doctor_list *list, const struct doctor_job *job, const struct doctor_facts *facts)
{
    char name[256] = "", remedy[200];

    gethostname(name, sizeof(name) - 1);
    snprintf(remedy, sizeof(remedy), "Enter the address of a network interface instead of %.100s in /etc/hosts.",
             strncmp(facts->name, "loopback ", 9) == 0 ? facts->name + 9 : "");
    if (strncmp(facts->name, "fine ", 5) == 0)
        doctor_find(list, 0, DOCTOR_OK, "own name", "", "%.100s has the address %.100s.", name, facts->name + 5);
    else if (!job->several)
        doctor_find(list, 0, DOCTOR_OK, "own name", "", "%.100s; its address does not matter for a single machine.",
                    name);
    else if (strncmp(facts->name, "loopback ", 9) == 0)
        doctor_find(
            list, 0, DOCTOR_NOTE, "own name", remedy,
            "%.100s resolves to %.100s, which is an address of this machine only. Tern does not use it, but MPI "
            "libraries and schedulers do.",
            name, facts->name + 9);
    else
        doctor_find(list, 0, DOCTOR_NOTE, "own name", "Enter the name in DNS or in /etc/hosts.",
                    "%.100s does not resolve: %.100s. Tern does not need it, but MPI libraries and schedulers do.",
                    name, facts->name[0] == '!' ? facts->name + 1 : "no answer");
}

static void check_pmix(struct doctor_list *list)
{
    const char *space = getenv("PMIX_NAMESPACE");
    char        text[256];

    if (space == NULL || *space == '\0' || tern_opt.launcher == TERN_LAUNCHER_ALONE)
        return;
    if (info_pmix(text, sizeof(text)))
        doctor_find(list, 0, DOCTOR_OK, "launcher", "", "The launcher offers PMIx, and libpmix.so.2 is there.");
    else
        doctor_find(list, 0, DOCTOR_FAULT, "launcher", "Install libpmix2, or name its directory in LD_LIBRARY_PATH.",
                    "The launcher offers PMIx, but libpmix.so.2 cannot be loaded: %.200s.", text);
}

void doctor_machine(struct doctor_list *list, const struct doctor_job *job, const struct doctor_facts *facts)
{
    struct info_kernel kernel = info_kernel_probe();
    int                ranks = job->ranks > 0 ? job->ranks : usable_cpus();
    int                all = job->all > ranks ? job->all : ranks;

    check_installation(list);
    check_shared_memory(list, &kernel);
    check_memory(list, ranks);
    check_kernel(list, &kernel);
    check_cores(list, ranks);
    check_files(list, job->several, ranks, all);
    check_locked(list, facts->provider);
    check_processes(list, ranks);
    check_network(list, job, facts);
    check_name(list, job, facts);
    check_pmix(list);
}
