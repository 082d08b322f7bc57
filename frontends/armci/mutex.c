/* mutex.c: mutexes, which are those of Tern. Unlocking completes the operations of the holder, so that the next holder
 * sees them.
 *
 * A mutex of Tern belongs to a context, and all threads of this process use the same one. Tern refuses a mutex that
 * another thread of this process holds or waits for; the thread then tries again.
 */
#include <stdlib.h>

#include "state.h"

struct armcix_mutex_hdl_s {
    tern_mutexes      *set;
    armcix_mutex_hdl_t next; /* list of all sets of ARMCIX_Create_mutexes_hdl, the newest first */
};

static struct armcix_mutex_hdl_s simple; /* the set of ARMCI_Create_mutexes */
static armcix_mutex_hdl_t        handles;

static void create(const char *call, armcix_mutex_hdl_t hdl, int count, tern_ctx *ctx)
{
    if (count < 0)
        tern_front_die(call, "%d mutexes; the number must not be negative", count);
    tern_front_check(tern_mutex_create(ctx, (uint64_t)count, &hdl->set), call, "creating mutexes");
}

/* Return the mutexes of a set. Ends the job if the set does not exist. */
static tern_mutexes *set_of(const char *call, const struct armcix_mutex_hdl_s *hdl)
{
    tern_armci_check_running(call);
    if (hdl == NULL || hdl->set == NULL)
        tern_front_die(call, "there are no mutexes; create them first");
    return hdl->set;
}

tern_status tern_armci_lock_mutex(tern_mutexes *set, int proc, uint64_t mutex)
{
    tern_idle   idle = TERN_IDLE(.nap_us = 50, .name = "ARMCI: a mutex that another thread of this rank uses");
    tern_status status = tern_mutex_lock(tern_armci.far_ctx, set, proc, mutex), step = TERN_OK;

    while (status == TERN_ERR_STATE && tern_armci.threads && step == TERN_OK) {
        step = tern_idle_step(tern_armci.far_ctx, &idle);
        status = tern_mutex_lock(tern_armci.far_ctx, set, proc, mutex);
    }
    return status;
}

static void lock(const char *call, armcix_mutex_hdl_t hdl, int mutex, int proc)
{
    tern_mutexes *set = set_of(call, hdl);

    if (mutex < 0)
        tern_front_die(call, "there is no mutex %d at rank %d", mutex, proc);
    tern_front_check(tern_armci_lock_mutex(set, proc, (uint64_t)mutex), call, "locking a mutex");
}

static void unlock(const char *call, armcix_mutex_hdl_t hdl, int mutex, int proc)
{
    tern_mutexes *set = set_of(call, hdl);

    if (mutex < 0)
        tern_front_die(call, "there is no mutex %d at rank %d", mutex, proc);
    tern_front_check(tern_mutex_unlock(tern_armci.far_ctx, set, proc, (uint64_t)mutex), call, "unlocking a mutex");
}

ARMCI_EXPORT int PARMCI_Create_mutexes(int count)
{
    const char *call = "ARMCI_Create_mutexes";

    tern_armci_check_running(call);
    if (simple.set != NULL)
        tern_front_die(call, "there are mutexes already; call ARMCI_Destroy_mutexes first");
    create(call, &simple, count, tern_armci.near_ctx);
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Create_mutexes, PARMCI_Create_mutexes);

ARMCI_EXPORT int PARMCI_Destroy_mutexes(void)
{
    const char *call = "ARMCI_Destroy_mutexes";

    tern_front_check(tern_mutex_free(set_of(call, &simple)), call, "freeing the mutexes");
    simple.set = NULL;
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Destroy_mutexes, PARMCI_Destroy_mutexes);

ARMCI_EXPORT void PARMCI_Lock(int mutex, int proc)
{
    lock("ARMCI_Lock", &simple, mutex, proc);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Lock, PARMCI_Lock);

ARMCI_EXPORT void PARMCI_Unlock(int mutex, int proc)
{
    unlock("ARMCI_Unlock", &simple, mutex, proc);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Unlock, PARMCI_Unlock);

/* Free a set of ARMCIX_Create_mutexes_hdl. */
static void destroy(const char *call, armcix_mutex_hdl_t hdl)
{
    armcix_mutex_hdl_t *link = &handles;

    while (*link != NULL && *link != hdl)
        link = &(*link)->next;
    if (*link == NULL)
        tern_front_die(call, "there are no mutexes with the handle %p, or they have been destroyed", (void *)hdl);
    tern_front_check(tern_mutex_free(hdl->set), call, "freeing the mutexes");
    *link = hdl->next;
    free(hdl);
}

void tern_armci_drop_mutexes(void)
{
    const char *call = "ARMCI_Finalize";

    while (handles != NULL)
        destroy(call, handles);
    if (simple.set != NULL)
        tern_front_check(tern_mutex_free(simple.set), call, "freeing the mutexes");
    simple.set = NULL;
}

ARMCI_EXPORT armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *pgroup)
{
    const char              *call = "ARMCIX_Create_mutexes_hdl";
    struct tern_armci_group *group = tern_armci_group_of(call, pgroup);
    armcix_mutex_hdl_t       hdl = tern_front_alloc(call, 1, sizeof *hdl);

    create(call, hdl, count, group->ctx);
    hdl->next = handles;
    handles = hdl;
    return hdl;
}

ARMCI_EXPORT int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl)
{
    tern_armci_check_running("ARMCIX_Destroy_mutexes_hdl");
    destroy("ARMCIX_Destroy_mutexes_hdl", hdl);
    return 0;
}

ARMCI_EXPORT void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc)
{
    lock("ARMCIX_Lock_hdl", hdl, mutex, proc);
}

ARMCI_EXPORT int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc)
{
    const char   *call = "ARMCIX_Trylock_hdl";
    tern_mutexes *set = set_of(call, hdl);
    tern_status   status;

    if (mutex < 0)
        tern_front_die(call, "there is no mutex %d at rank %d", mutex, proc);
    status = tern_mutex_try(tern_armci.far_ctx, set, proc, (uint64_t)mutex, TERN_NOW);
    if (status == TERN_PENDING || (status == TERN_ERR_STATE && tern_armci.threads))
        return 1;
    tern_front_check(status, call, "locking a mutex");
    return 0;
}

ARMCI_EXPORT void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc)
{
    unlock("ARMCIX_Unlock_hdl", hdl, mutex, proc);
}
