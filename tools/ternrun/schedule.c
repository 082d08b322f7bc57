/* schedule.c: the hosts of the Slurm or PBS job in which ternrun runs.
 *
 * The environment of such a job says which hosts it has and how many ranks each of them takes. ternrun uses them if the
 * user names no hosts, and says so. If the job's only host is this machine, no agent is necessary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosts.h"

/* srun starts one process on a node, next to other steps of the job and with all cpus of the job on that node, and
 * forwards its input and output unchanged. */
static const char srun_agent[] =
    "srun --quiet --overlap --unbuffered --mpi=none --cpu-bind=none --nodes=1 --ntasks=1 --nodelist";

static bool is_in_path(const char *program)
{
    const char *path = host_first_of(host_setting("PATH"), "/bin:/usr/bin");
    char        file[1024];

    for (;; path++) {
        size_t len = strcspn(path, ":");

        snprintf(file, sizeof(file), "%.*s/%s", len < 1000 ? (int)len : 0, path, program);
        if (access(file, X_OK) == 0)
            return true;
        path += len;
        if (*path == '\0')
            return false;
    }
}

/* Place the ranks. Returns false on error. */
static bool place(const struct host_refusal *refusal, const struct host_allocation *allocation,
                  struct run_config *config)
{
    int64_t slots = 0, wanted = config->ranks;

    for (int i = 0; i < config->hosts; i++)
        slots += config->host[i].ranks;
    if (wanted > slots)
        return host_refuse(
            refusal,
            "-n asks for %d ranks, and the hosts of %s job %.50s have %lld slots; give --hosts LIST with "
            "other numbers, or --local to run on this machine only",
            config->ranks, allocation->scheduler, host_first_of(allocation->job, "(unknown)"), (long long)slots);
    if (wanted == 0)
        wanted = allocation->ranks > 0 && allocation->ranks < slots ? allocation->ranks : slots;
    if (wanted > TERN_MAX_RANKS)
        return host_refuse(
            refusal, "a job takes up to %d ranks, and the hosts of %s job %.50s have %lld slots; give -n",
            TERN_MAX_RANKS, allocation->scheduler, host_first_of(allocation->job, "(unknown)"), (long long)slots);
    return run_hosts_place(refusal, (int)wanted, config);
}

/* Say which hosts were taken, as in "4 ranks on 2 hosts of Slurm job 17: n0 (2), n1 (2)". */
static void say_hosts(const struct host_allocation *allocation, const struct run_config *config)
{
    char   text[400];
    size_t len = 0;

    for (int i = 0; i < config->hosts && len < 300; i++)
        len +=
            (size_t)snprintf(text + len, sizeof(text) - len, "%s%.100s (%d)%s", i > 0 ? ", " : "", config->host[i].name,
                             config->host[i].ranks, len >= 200 && i + 1 < config->hosts ? " ..." : "");
    run_say("%d rank%s on %d host%s of %s job %s: %s", config->ranks, config->ranks > 1 ? "s" : "", config->hosts,
            config->hosts > 1 ? "s" : "", allocation->scheduler, host_first_of(allocation->job, "(unknown)"), text);
}

/* Call the hosts with srun. It needs no tree, because Slurm's daemons start its processes. */
static void choose_srun(struct run_config *config)
{
    config->agent = srun_agent;
    config->fanout = config->fanout < 0 ? 0 : config->fanout;
}

bool run_schedule_take(const struct host_refusal *refusal, struct run_config *config)
{
    struct host_allocation allocation;
    struct host_list       list = { 0 };

    if (!host_scheduler_read(refusal, &list, &allocation)) {
        host_list_free(&list);
        return false;
    }
    if (list.hosts == 0)
        return true;
    if (!run_hosts_take(refusal, &list, config))
        return false;
    if (!place(refusal, &allocation, config))
        return false;
    say_hosts(&allocation, config);
    if (config->agent == NULL && config->hosts == 1 && host_is_this_machine(&allocation, config->host[0].name))
        run_hosts_free(config);
    else if (config->agent == NULL && strcmp(allocation.scheduler, "Slurm") == 0 && is_in_path("srun"))
        choose_srun(config);
    return true;
}
