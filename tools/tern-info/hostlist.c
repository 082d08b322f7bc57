/* hostlist.c: which hosts are checked: those of --hosts, or those of the scheduler's job in which this process runs.
 * They are read as ternrun reads them. */
#include <stdio.h>
#include <stdlib.h>

#include "doctor.h"

/* Take the hosts of a list, which is empty afterwards. Returns false after writing the reason. */
static bool take(struct doctor_hosts *hosts, struct host_list *list, const struct host_refusal *refusal)
{
    bool has_memory;

    hosts->host = calloc((size_t)list->hosts + 1, sizeof(*hosts->host));
    has_memory = hosts->host != NULL;
    for (; has_memory && hosts->count < list->hosts; hosts->count++) {
        const struct host_entry *entry = &list->host[hosts->count];
        struct doctor_host      *host = &hosts->host[hosts->count];

        *host = (struct doctor_host){ .ranks = entry->ranks, .in = -1, .out = -1, .err = -1 };
        snprintf(host->name, sizeof(host->name), "%s", entry->name);
    }
    host_list_free(list);
    return has_memory || host_refuse(refusal, "there is no memory for the hosts");
}

bool doctor_hosts_read(struct doctor_hosts *hosts, const char *text, char *why, size_t size)
{
    struct host_refusal refusal = { why, size };
    struct host_list    list = { 0 };

    if (host_list_read(&refusal, text, &list))
        return take(hosts, &list, &refusal);
    host_list_free(&list);
    return false;
}

bool doctor_hosts_scheduled(struct doctor_hosts *hosts, char *why, size_t size)
{
    struct host_refusal    refusal = { why, size };
    struct host_list       list = { 0 };
    struct host_allocation allocation;

    if (!host_scheduler_read(&refusal, &list, &allocation)) {
        host_list_free(&list);
        return false;
    }
    if (allocation.source != NULL)
        hosts->source = allocation.source;
    hosts->is_here = list.hosts == 1 && host_is_this_machine(&allocation, list.host[0].name);
    return take(hosts, &list, &refusal);
}
