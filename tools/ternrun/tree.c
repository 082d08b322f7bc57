/* tree.c: decides which host calls which.
 *
 * ternrun calls up to --fanout hosts itself. If there are more, it divides the hosts into that many parts of nearly
 * equal size. It calls the first host of each part, and that host calls the others of its part in the same way. So no
 * ternrun has to start, or to talk to, more than --fanout others. The hosts behind a host follow it in the list of
 * hosts, and their ranks follow its ranks, so that two numbers describe a part.
 */
#include <stdio.h>
#include <string.h>

#include "hosts.h"

int run_tree_part(int first, int end, int fanout, int at)
{
    int hosts = end - first, parts = fanout < hosts ? fanout : hosts, small = hosts / parts, large = hosts % parts;

    return at + small + (at - first < large * (small + 1));
}

/* Plan the hosts from first to end - 1, which the host parent calls. */
static void plan_parts(struct run_config *config, int parent, int first, int end)
{
    for (int at = first, part_end; at < end; at = part_end) {
        struct run_host *host = &config->host[at];

        part_end = run_tree_part(first, end, config->fanout, at);
        host->index = at;
        host->parent = parent;
        host->end = part_end;
        host->way = parent < 0 ? host : config->host[parent].way;
        plan_parts(config, at, at + 1, part_end);
    }
}

void run_tree_plan(struct run_config *config)
{
    if (config->fanout < 1)
        config->fanout = config->hosts;
    plan_parts(config, -1, 0, config->hosts);
}

void run_tree_behind(const struct run_config *config, const struct run_host *host, char *text, size_t size)
{
    size_t len = 0;
    int    i = host->index + 1;

    *text = '\0';
    for (; i < host->end && len + strlen(config->host[i].name) + 24 < size; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%s", len > 0 ? ", " : "", config->host[i].name);
    if (i < host->end)
        snprintf(text + len, size - len, " and %d more", host->end - i);
}
