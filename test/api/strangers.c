/* strangers.c: connections from outside the job.
 *
 * Promise: a process that connects to a rank's port and is silent, or sends too little, or sends garbage, changes
 * nothing: transfers and messages continue and deliver the right data, while such connections are open and afterwards.
 *
 * Each rank looks up its own listening ports, those of the network's provider, and tells the others. Every rank acts as
 * a stranger to every other, and reaches at least one port.
 *
 * ranks: off, because ranks that share memory listen on no port
 * chaos: off, because strangers come to ports, and chaos has none
 */
#include "job_test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define PORTS 8
#define CALLS 40 /* to each port */
#define ROUNDS 200

struct port {
    uint32_t address; /* as in the system's tables: network order; 0: none */
    uint32_t number;
};

static bool is_mine(unsigned long inode)
{
    struct dirent *entry;
    DIR           *dir = opendir("/proc/self/fd");
    bool           found = false;
    char           wanted[64], path[300], link[64];

    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    while (dir && !found && (entry = readdir(dir))) {
        ssize_t len;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        len = readlink(path, link, sizeof(link) - 1);
        link[len > 0 ? len : 0] = '\0';
        found = strcmp(link, wanted) == 0;
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool has_port(const struct port *ports, unsigned number)
{
    for (int i = 0; i < PORTS; i++)
        if (ports[i].address && ports[i].number == number)
            return true;
    return false;
}

/* Add the ports of one of the system's tables on which this process listens, except those that it inherited from a
 * launcher. A port for all addresses also takes IPv4, and is called at the loopback address. */
static void add_ports(struct port *ports, const struct port *had, const char *name)
{
    FILE         *table = fopen(name, "r");
    char          line[512], address[40];
    unsigned      number, state, count = 0;
    unsigned long inode;

    while (count < PORTS && ports[count].address)
        count++;
    while (table && fgets(line, sizeof(line), table) && count < PORTS)
        if (sscanf(line, "%*d: %39[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*d %*d %lu", address, &number,
                   &state, &inode) == 4 &&
            state == 10 && is_mine(inode) && !has_port(had, number)) {
            uint32_t four = strlen(address) == 8 ? (uint32_t)strtoul(address, NULL, 16) : 0;

            ports[count++] = (struct port){ four ? four : htonl(INADDR_LOOPBACK), number };
        }
    if (table)
        fclose(table);
}

static void find_ports(struct port *ports, const struct port *had)
{
    add_ports(ports, had, "/proc/self/net/tcp");
    add_ports(ports, had, "/proc/self/net/tcp6");
}

static unsigned reached; /* connections that were made */

/* Connect, and misbehave in one of several ways. Returns a connection that stays open, or -1. */
static int call(const struct port *port, unsigned kind, uint64_t *seed)
{
    struct sockaddr_in   name = { .sin_family = AF_INET, .sin_addr.s_addr = port->address };
    static unsigned char bytes[4096];
    int                  fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t               len = kind % 4 == 0 ? 0 : kind % 4 == 1 ? 3 : sizeof(bytes);

    name.sin_port = htons((uint16_t)port->number);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)(void *)&name, sizeof(name)) != 0) {
        close(fd);
        return -1;
    }
    reached++;
    for (size_t i = 0; i < len; i++)
        bytes[i] = kind % 4 == 3 ? 0xff : (unsigned char)job_random(seed);
    if (len > 0)
        (void)!send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (kind % 4 < 2)
        return fd;
    close(fd);
    return -1;
}

/* Puts to the right, and a barrier by messages, repeatedly. */
static void traffic(tern_region *region, uint64_t rounds)
{
    int me = tern_rank(), n = tern_size();

    for (uint64_t i = 1; i <= rounds; i++) {
        uint64_t got = 0;

        OK(tern_put_u64(TERN_WORLD, region, (me + 1) % n, 0, i));
        OK(tern_barrier(TERN_WORLD));
        OK(tern_get_u64(TERN_WORLD, region, me, 0, &got));
        SAME(got, i);
        OK(tern_barrier(TERN_WORLD));
    }
}

int main(void)
{
    static struct port ports[PORTS], had[PORTS], none[PORTS];
    struct job_region  words;
    uint64_t           seed = 4711;
    int                held[64], count = 0;

    find_ports(had, none);
    OK(tern_init());
    job_region_make(&words, JOB_HOST, 4096 + sizeof(ports) * (size_t)tern_size());
    find_ports(ports, had);
    for (int rank = 0; rank < tern_size(); rank++)
        OK(tern_put(TERN_WORLD, words.region, rank, 4096 + sizeof(ports) * (size_t)tern_rank(), ports, sizeof(ports)));
    traffic(words.region, 1); /* every rank has told its ports, and all connections of the job exist */
    for (int rank = 0; rank < tern_size(); rank++) {
        memcpy(ports, words.mine + 4096 + sizeof(ports) * (size_t)rank, sizeof(ports));
        for (unsigned i = 0; i < PORTS * CALLS && ports[i / CALLS].address; i++) {
            int fd = rank == tern_rank() ? -1 : call(&ports[i / CALLS], i, &seed);

            if (fd >= 0 && count < 64)
                held[count++] = fd;
            else if (fd >= 0)
                close(fd);
        }
    }
    CHECK(reached > 0);
    traffic(words.region, ROUNDS);
    while (count > 0)
        close(held[--count]);
    traffic(words.region, ROUNDS);
    job_region_drop(&words);
    OK(tern_finalize());
    return 0;
}
