/* domain.c: domains, which are sets of ranks that share memory.
 *
 * Global Arrays loads from and stores to the memory of ranks in the same domain. Therefore a domain is a node whose
 * ranks are near each other; otherwise, and with TERN_ARMCI_DOMAIN=rank, each rank is a domain of its own.
 */
#include "state.h"

/* Return whether the domains are the nodes. */
static bool by_node(void)
{
    return tern_armci.whole_nodes;
}

static void check(const char *call, armci_domain_t domain)
{
    tern_armci_check_running(call);
    if (domain != ARMCI_DOMAIN_SMP)
        tern_front_die(call, "there is no domain %d; the only one is ARMCI_DOMAIN_SMP", domain);
}

static void check_id(const char *call, int id)
{
    int count = armci_domain_count(ARMCI_DOMAIN_SMP);

    if (id < 0 || id >= count)
        tern_front_die(call, "there is no domain %d; the domains are 0 to %d", id, count - 1);
}

ARMCI_EXPORT int armci_domain_count(armci_domain_t domain)
{
    check("armci_domain_count", domain);
    return by_node() ? tern_node_count() : tern_armci.size;
}

/* Return the number of ranks of a domain. If id is negative, the domain is that of this rank. */
ARMCI_EXPORT int armci_domain_nprocs(armci_domain_t domain, int id)
{
    check("armci_domain_nprocs", domain);
    if (id < 0)
        id = armci_domain_my_id(domain);
    check_id("armci_domain_nprocs", id);
    return by_node() ? tern_node_size(id) : 1;
}

ARMCI_EXPORT int armci_domain_id(armci_domain_t domain, int glob_proc_id)
{
    check("armci_domain_id", domain);
    tern_armci_check_rank("armci_domain_id", glob_proc_id);
    return by_node() ? tern_node_of(glob_proc_id) : glob_proc_id;
}

ARMCI_EXPORT int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id)
{
    const char *call = "armci_domain_glob_proc_id";

    check(call, domain);
    check_id(call, id);
    if (loc_proc_id < 0 || loc_proc_id >= armci_domain_nprocs(domain, id))
        tern_front_die(call, "domain %d has no rank with the index %d", id, loc_proc_id);
    return by_node() ? tern_node_rank(id, loc_proc_id) : id;
}

ARMCI_EXPORT int armci_domain_my_id(armci_domain_t domain)
{
    check("armci_domain_my_id", domain);
    return armci_domain_id(domain, tern_armci.me);
}

ARMCI_EXPORT int armci_domain_same_id(armci_domain_t domain, int proc)
{
    check("armci_domain_same_id", domain);
    tern_armci_check_rank("armci_domain_same_id", proc);
    return armci_domain_id(domain, proc) == armci_domain_my_id(domain);
}

ARMCI_EXPORT int ARMCI_Same_node(int proc)
{
    tern_armci_check_rank("ARMCI_Same_node", proc);
    return armci_domain_same_id(ARMCI_DOMAIN_SMP, proc);
}

/* Return whether a rank is in the domain of this rank. The original ARMCI has this function beside ARMCI_Same_node. */
ARMCI_EXPORT int armci_sameclusnode(int proc)
{
    tern_armci_check_rank("armci_sameclusnode", proc);
    return armci_domain_same_id(ARMCI_DOMAIN_SMP, proc);
}

ARMCI_EXPORT int ARMCI_Uses_shm(void)
{
    tern_armci_check_running("ARMCI_Uses_shm");
    return by_node();
}

ARMCI_EXPORT int ARMCI_Uses_shm_grp(ARMCI_Group *group)
{
    (void)tern_armci_group_of("ARMCI_Uses_shm_grp", group);
    return by_node();
}

/* The limit is a hint for libraries that reserve shared memory in advance. The call has no effect, because Tern
 * reserves the memory of each allocation separately. */
ARMCI_EXPORT void ARMCI_Set_shm_limit(unsigned long shmemlimit)
{
    (void)shmemlimit;
}
