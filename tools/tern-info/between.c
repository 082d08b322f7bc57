/* between.c: the checks of tern-info --doctor that need several hosts: connections, calls through the agent, and
 * whether the hosts are alike.
 *
 * Up to FEW hosts try every pair. In a larger cluster each host tries those at the distances 1, 2, 4 and so on in the
 * list, so that every host is tried in both directions while the number of trials stays small. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "doctor.h"

#define FEW 16
#define SAME_ADDRESS                                                                                              \
    "A bridge for containers has the same address on every host. Choose another interface with TERN_OFI_DOMAIN; " \
    "tern-info shows them."
#define CLOCKS 2.0 /* seconds by which clocks may differ */

static bool is_tried(const struct doctor *d, int from, int to)
{
    int distance = (to - from + d->hosts.count) % d->hosts.count;

    return distance != 0 && (d->hosts.count <= FEW || (distance & (distance - 1)) == 0) &&
           !d->hosts.host[from].is_failed && !d->hosts.host[to].is_failed;
}

static char **result_of(struct doctor *d, enum doctor_kind kind, int from, int to)
{
    return &d->result[kind][(size_t)from * (size_t)d->hosts.count + (size_t)to];
}

/* Ask the hosts to open a port each. */
static void open_ports(struct doctor *d)
{
    for (int i = 0; i < d->hosts.count; i++) {
        doctor_ask(&d->hosts.host[i], "listen %d", i);
        d->hosts.host[i].is_waiting = !d->hosts.host[i].is_failed;
    }
    doctor_listen(d, d->seconds);
}

/* Return a name without the user in front of it. */
static const char *host_part(const char *name)
{
    const char *at = strchr(name, '@');

    return at != NULL ? at + 1 : name;
}

/* Let the hosts try to reach each other, all at the same time. */
static void try_all(struct doctor *d)
{
    for (int i = 0; i < d->hosts.count; i++) {
        struct doctor_host *host = &d->hosts.host[i];

        doctor_ask(host, "agent %s", d->agent);
        for (int j = 0; j < d->hosts.count; j++) {
            const struct doctor_host *other = &d->hosts.host[j];

            if (!is_tried(d, i, j))
                continue;
            doctor_ask(host, "reach %d %s", j, other->name);
            if (other->facts.address[0] != '\0' && other->facts.port[0] != '\0')
                doctor_ask(host, "connect %d %s %s", j, other->facts.address, other->facts.port);
            if (doctor_uses_shell(d->agent)) /* other agents may have names of their own */
                doctor_ask(host, "resolve %d %s", j, host_part(other->name));
        }
        doctor_ask(host, "go %.1f", d->seconds);
        host->is_waiting = !host->is_failed;
    }
    doctor_listen(d, d->seconds + 5);
}

static bool is_fine(enum doctor_kind kind, const char *text)
{
    return kind == DOCTOR_RESOLVE ? strncmp(text, "loopback ", 9) != 0 && *text != '!' : strcmp(text, "ok") == 0;
}

/* Write the hosts that cannot reach a host, and take the reason of the first. Returns their number. */
static int failed_sources(struct doctor *d, enum doctor_kind kind, int to, char *names, size_t size, const char **why)
{
    size_t at = 0;
    int    count = 0;

    names[0] = '\0';
    for (int from = 0; from < d->hosts.count; from++) {
        const char *text = *result_of(d, kind, from, to);

        if (text == NULL || is_fine(kind, text))
            continue;
        if (count == 0)
            *why = text;
        if (count < 4 && at < size)
            at += (size_t)snprintf(names + at, size - at, "%s%.60s", count > 0 ? ", " : "", d->hosts.host[from].name);
        count++;
    }
    if (count > 4 && at < size)
        snprintf(names + at, size - at, " and %d more", count - 4);
    return count;
}

static void port_range(char *text, size_t size)
{
    const char *low = getenv("FI_TCP_PORT_LOW_RANGE"), *high = getenv("FI_TCP_PORT_HIGH_RANGE");
    char        line[64];
    unsigned    first = 32768, last = 60999;

    if (low != NULL && high != NULL) {
        snprintf(text, size, "%.8s to %.8s (FI_TCP_PORT_LOW_RANGE, FI_TCP_PORT_HIGH_RANGE)", low, high);
        return;
    }
    if (info_read_line("/proc/sys/net/ipv4/ip_local_port_range", line, sizeof(line)))
        sscanf(line, "%u %u", &first, &last);
    snprintf(text, size,
             "%u to %u (net.ipv4.ip_local_port_range), or set FI_TCP_PORT_LOW_RANGE and FI_TCP_PORT_HIGH_RANGE to "
             "permitted ones",
             first, last);
}

static void report_connect(struct doctor *d, int to, const char *names, const char *why)
{
    const struct doctor_host *host = &d->hosts.host[to];
    char                      ports[200], remedy[500];

    port_range(ports, sizeof(ports));
    snprintf(remedy, sizeof(remedy), "Permit TCP between the hosts in the firewall of %.60s, on the ports %s.",
             host->name, ports);
    if (strncmp(why, "another machine", 15) == 0)
        snprintf(remedy, sizeof(remedy), SAME_ADDRESS);
    doctor_find(&d->list, -1, DOCTOR_FAULT, "firewall", remedy, "%s cannot connect to %.100s (%s, TCP port %s): %s.",
                names, host->name, host->facts.address, host->facts.port, why);
}

static void report(struct doctor *d, enum doctor_kind kind, int to, const char *names, const char *why)
{
    const char *name = d->hosts.host[to].name;

    if (kind == DOCTOR_CONNECT)
        report_connect(d, to, names, why);
    else if (kind == DOCTOR_REACH)
        doctor_find(&d->list, -1, DOCTOR_FAULT, "agent", doctor_remedy(why),
                    "From %s the agent does not reach %.100s, so that no job on both can be started there: %.200s.",
                    names, name, why);
    else if (*why == '!')
        doctor_find(&d->list, -1, DOCTOR_NOTE, "names", "Enter the name in DNS or in /etc/hosts of every host.",
                    "On %s, the name %.100s does not resolve: %.100s. The agent may know it from ~/.ssh/config.", names,
                    name, why + 1);
    else
        doctor_find(&d->list, -1, DOCTOR_FAULT, "names",
                    "Enter the address of a network interface of that host in /etc/hosts of every host.",
                    "On %s, the name %.100s resolves to %.100s, which is not that host.", names, name, why + 9);
}

static void report_kind(struct doctor *d, enum doctor_kind kind, const char *check, const char *fine)
{
    int  tried = 0, failed = 0;
    char names[400];

    for (int to = 0; to < d->hosts.count; to++) {
        const char *why = "";
        int         count = failed_sources(d, kind, to, names, sizeof(names), &why);

        for (int from = 0; from < d->hosts.count; from++)
            tried += *result_of(d, kind, from, to) != NULL;
        if (count > 0)
            report(d, kind, to, names, why);
        failed += count;
    }
    if (tried > 0 && failed == 0)
        doctor_find(&d->list, -1, DOCTOR_OK, check, "", "%s, in %d trials%s.", fine, tried,
                    d->hosts.count > FEW ? " of selected pairs" : "");
}

/* ---- alike ---- */

static const struct doctor_host *first_alive(const struct doctor *d)
{
    for (int i = 0; i < d->hosts.count; i++)
        if (!d->hosts.host[i].is_failed)
            return &d->hosts.host[i];
    return NULL;
}

/* Report an earlier host that is the same machine as this one, or another machine with the same address. */
static void compare_addresses(struct doctor *d, int index)
{
    const struct doctor_host *host = &d->hosts.host[index];

    for (int i = 0; i < index; i++) {
        const struct doctor_host *other = &d->hosts.host[i];
        bool same = host->facts.network[0] != '\0' && strcmp(other->facts.network, host->facts.network) == 0;

        if (other->is_failed)
            continue;
        if (same)
            doctor_find(&d->list, -1, DOCTOR_NOTE, "hosts", "List a machine once, unless this is a test.",
                        "%.100s and %.100s are the same machine.", other->name, host->name);
        else if (host->facts.address[0] != '\0' && strcmp(other->facts.address, host->facts.address) == 0)
            doctor_find(&d->list, -1, DOCTOR_FAULT, "addresses", SAME_ADDRESS,
                        "%.100s and %.100s both have the address %s.", other->name, host->name, host->facts.address);
        else
            continue;
        return;
    }
}

static void compare(struct doctor *d, const struct doctor_host *first)
{
    int machines = 0, providers = 0, count = 0;

    for (int i = 0; i < d->hosts.count; i++) {
        const struct doctor_host  *host = &d->hosts.host[i];
        const struct doctor_facts *a = &first->facts, *b = &host->facts;

        if (host->is_failed)
            continue;
        count++;
        if (strcmp(a->machine, b->machine) != 0 && ++machines > 0)
            doctor_find(&d->list, -1, DOCTOR_FAULT, "architecture", "Use hosts of one architecture for a job.",
                        "%.100s is %s and %.100s is %s.", first->name, a->machine, host->name, b->machine);
        if (a->provider[0] != '\0' && b->provider[0] != '\0' && strcmp(a->provider, b->provider) != 0 &&
            ++providers > 0)
            doctor_find(&d->list, -1, DOCTOR_FAULT, "providers",
                        "Set TERN_OFI_PROVIDER to one that all hosts have, or install the missing one.",
                        "%.100s would use the network %s and %.100s %s.", first->name, a->provider, host->name,
                        b->provider);
        if (fabs(host->behind) > CLOCKS + host->doubt)
            doctor_find(&d->list, -1, DOCTOR_NOTE, "clocks", "Synchronize the clocks, with chrony for instance.",
                        "The clock of %.100s is %.0f seconds %s. Tern does not use it, but log files and make do.",
                        host->name, fabs(host->behind), host->behind > 0 ? "slow" : "fast");
        compare_addresses(d, i);
    }
    if (count > 1 && machines == 0)
        doctor_find(&d->list, -1, DOCTOR_OK, "architecture", "", "All hosts are %s.", first->facts.machine);
    if (count > 1 && providers == 0 && first->facts.provider[0] != '\0')
        doctor_find(&d->list, -1, DOCTOR_OK, "providers", "", "All hosts that have a network would use %s.",
                    first->facts.provider);
}

void doctor_between(struct doctor *d)
{
    const struct doctor_host *first;

    open_ports(d);
    try_all(d);
    first = first_alive(d);
    if (first != NULL)
        compare(d, first);
    report_kind(d, DOCTOR_CONNECT, "firewall", "Hosts can connect to each other by TCP in both directions");
    report_kind(d, DOCTOR_REACH, "agent", "Hosts reach each other through the agent, without a password");
    report_kind(d, DOCTOR_RESOLVE, "names", "The names of the hosts lead to other machines");
}
