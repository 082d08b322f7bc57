/* scheduler.c: the hosts of the Slurm or PBS job in which this process runs, as the environment describes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "boot/segment.h"
#include "hostlist.h"

const char *host_setting(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

const char *host_first_of(const char *value, const char *otherwise)
{
    return value != NULL ? value : otherwise;
}

/* Return a variable's value as a number; 0 if it is none, or not positive. */
static int64_t number(const char *name)
{
    const char *text = host_setting(name);
    int64_t     value;

    return text != NULL && tern_base_parse_count(text, &value) && value > 0 ? value : 0;
}

/* ---- the two schedulers ---- */

static bool read_slurm(const struct host_refusal *refusal, const char *nodes, struct host_list *list,
                       struct host_allocation *allocation)
{
    const char *tasks = host_first_of(host_setting("SLURM_TASKS_PER_NODE"), host_setting("SLURM_JOB_CPUS_PER_NODE"));
    char        why[200];

    *allocation =
        (struct host_allocation){ .scheduler = "Slurm",
                                  .source = "SLURM_JOB_NODELIST",
                                  .job = host_first_of(host_setting("SLURM_JOB_ID"), host_setting("SLURM_JOBID")),
                                  .node = host_setting("SLURMD_NODENAME"),
                                  .ranks = number("SLURM_NTASKS") };
    if (host_list_read_slurm(&(struct host_refusal){ why, sizeof(why) }, nodes, tasks, list))
        return true;
    return host_refuse(refusal, "SLURM_JOB_NODELIST is set to '%.100s', and %s", nodes, why);
}

static bool read_pbs(const struct host_refusal *refusal, const char *path, struct host_list *list,
                     struct host_allocation *allocation)
{
    int64_t each = number("PBS_NUM_PPN");
    bool    is_single = true;
    char    why[300];

    *allocation =
        (struct host_allocation){ .scheduler = "PBS", .source = "PBS_NODEFILE", .job = host_setting("PBS_JOBID") };
    if (!host_list_read_file(&(struct host_refusal){ why, sizeof(why) }, path, true, list))
        return host_refuse(refusal, "the hosts of PBS_NODEFILE cannot be used: %s", why);
    for (int i = 0; i < list->hosts; i++)
        is_single &= list->host[i].ranks == 1;
    for (int i = 0; i < list->hosts && is_single && each > 1 && each <= TERN_MAX_NODE_RANKS; i++)
        list->host[i].ranks = (int)each;
    return true;
}

bool host_scheduler_read(const struct host_refusal *refusal, struct host_list *list, struct host_allocation *allocation)
{
    const char *nodes = host_first_of(host_setting("SLURM_JOB_NODELIST"), host_setting("SLURM_NODELIST"));
    const char *path = host_setting("PBS_NODEFILE");

    *allocation = (struct host_allocation){ 0 };
    if (nodes != NULL)
        return read_slurm(refusal, nodes, list, allocation);
    return path == NULL || read_pbs(refusal, path, list, allocation);
}

/* Return whether two names of hosts are equal, where one of them may lack the domain. */
static bool is_same(const char *a, const char *b)
{
    size_t a_len = strcspn(a, "."), b_len = strcspn(b, ".");

    if (a_len != b_len || strncmp(a, b, a_len) != 0)
        return false;
    return a[a_len] == '\0' || b[b_len] == '\0' || strcmp(a, b) == 0;
}

bool host_is_this_machine(const struct host_allocation *allocation, const char *name)
{
    static const char *const loopback[] = { "localhost", "127.0.0.1", "[::1]" };
    char                     here[256] = "";

    if (allocation->node != NULL)
        return strcmp(allocation->node, name) == 0;
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
        if (strcmp(name, loopback[i]) == 0)
            return true;
    return gethostname(here, sizeof(here) - 1) == 0 && is_same(here, name);
}
