/* hosts.c: the hosts of a job: those of --hosts or of a scheduler, and how many ranks each of them gets. Ranks are
 * numbered host by host in the order of the list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"

bool run_hosts_take(const struct host_refusal *refusal, struct host_list *list, struct run_config *config)
{
    config->host = calloc((size_t)list->hosts + 1, sizeof(*config->host));
    if (config->host == NULL) {
        host_refuse(refusal, "no memory for %d hosts", list->hosts);
        host_list_free(list);
        return false;
    }
    for (; config->hosts < list->hosts; config->hosts++) {
        struct host_entry *entry = &list->host[config->hosts];

        config->host[config->hosts] = (struct run_host){
            .name = entry->name, .ranks = entry->ranks, .err = -1, .channel = { -1, -1, .state = TERN_FRAME_IO_CLOSED }
        };
        entry->name = NULL; /* it belongs to the job now */
    }
    host_list_free(list);
    return true;
}

/* Distribute -n ranks over hosts without numbers: evenly, with one more on the first hosts. */
static bool spread_evenly(const struct host_refusal *refusal, int ranks, struct run_config *config)
{
    if (ranks < config->hosts)
        return host_refuse(refusal, "%d ranks are fewer than %d hosts", ranks, config->hosts);
    for (int i = 0; i < config->hosts; i++)
        config->host[i].ranks = ranks / config->hosts + (i < ranks % config->hosts);
    if (config->host[0].ranks > TERN_MAX_NODE_RANKS)
        return host_refuse(refusal, "a host takes 1 to %d ranks", TERN_MAX_NODE_RANKS);
    return true;
}

/* Distribute -n ranks over hosts with numbers: each host is filled in order. Hosts that get no rank are dropped. */
static bool fill_in_order(const struct host_refusal *refusal, int ranks, struct run_config *config)
{
    int left = ranks;

    for (int i = 0; i < config->hosts; i++) {
        struct run_host *host = &config->host[i];

        host->ranks = host->ranks < left ? host->ranks : left;
        left -= host->ranks;
    }
    while (config->hosts > 0 && config->host[config->hosts - 1].ranks == 0)
        free(config->host[--config->hosts].name);
    return left == 0 || host_refuse(refusal, "-n asks for %d ranks, and the hosts take %d", ranks, ranks - left);
}

/* Decide how many ranks each host gets. Returns false after writing the reason. */
static bool distribute(const struct host_refusal *refusal, int ranks, struct run_config *config)
{
    int numbered = 0;

    for (int i = 0; i < config->hosts; i++)
        numbered += config->host[i].ranks > 0;
    if (ranks > 0 && numbered == 0)
        return spread_evenly(refusal, ranks, config);
    if (ranks > 0 && numbered < config->hosts)
        return host_refuse(refusal, "with -n give a number of ranks to every host, or to none");
    if (ranks > 0)
        return fill_in_order(refusal, ranks, config);
    for (int i = 0; i < config->hosts; i++)
        config->host[i].ranks += config->host[i].ranks == 0;
    return true;
}

bool run_hosts_place(const struct host_refusal *refusal, int ranks, struct run_config *config)
{
    int64_t sum = 0;

    if (!distribute(refusal, ranks, config))
        return false;
    for (int i = 0; i < config->hosts; i++) {
        config->host[i].first = (int)sum;
        sum += config->host[i].ranks;
    }
    if (sum > TERN_MAX_RANKS)
        return host_refuse(refusal, "a job takes up to %d ranks, not %lld", TERN_MAX_RANKS, (long long)sum);
    config->ranks = (int)sum;
    return true;
}

bool run_hosts_read(const char *text, int ranks, struct run_config *config, char *why, size_t size)
{
    struct host_refusal refusal = { why, size };
    struct host_list    list = { 0 };

    if (host_list_read(&refusal, text, &list))
        return run_hosts_take(&refusal, &list, config) && run_hosts_place(&refusal, ranks, config);
    host_list_free(&list);
    return false;
}

void run_hosts_free(struct run_config *config)
{
    for (int i = 0; i < config->hosts; i++)
        free(config->host[i].name);
    free(config->host);
    config->host = NULL;
    config->hosts = 0;
}
