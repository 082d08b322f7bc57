/* team_part.c: the members of a team give up an object together, such as a region or the team itself. A departure does
 * not depend on members that have died or have left the job. */
#include <stdio.h>

#include "core/job.h"
#include "core/team.h"
#include "core/wait.h"

/* The object that this rank gives up, and the first member that gave up a different object. */
struct parting {
    struct tern_team *team;
    const char       *what;
    int               other; /* -1: none */
};

/* Return the first member that is alive, has not left the job and has not departed in this round; -1: none. */
static int staying_member(struct parting *p)
{
    const struct tern_team *team = p->team;
    uint64_t                object = 0;

    p->other = -1;
    for (int i = 0; i < team->size; i++) {
        int world = tern_core_team_world(team, i);

        if (team->group->ops->departed(team->group, (uint32_t)i, &object))
            p->other = object != 0 && object != team->leaving ? i : p->other;
        else if (!tern_core_job_lost(world) &&
                 /* acquire: the member's use of the object before it left. Pairs with the release in core/job.c. */
                 atomic_load_explicit(&tern_core_job_slot(world)->life, memory_order_acquire) < TERN_LIFE_LEAVING)
            return i;
    }
    return -1;
}

static tern_status parting_poll(void *arg)
{
    struct parting *p = arg;

    tern_core_team_progress(p->team); /* a member may be blocked by messages that it sends to this rank */
    p->team->group->ops->advance(p->team->group);
    if (p->team->leaving & TERN_TEAM_OBJECT_SELF &&
        atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0) /* a hint */
        tern_core_team_give_up(p->team); /* a member may still be in a call that this rank has given up */
    return staying_member(p) >= 0 ? TERN_PENDING : TERN_OK;
}

static void parting_describe(void *arg, char *text, size_t size)
{
    struct parting *p = arg;

    char doing[96] = "";
    int  late = staying_member(p);

    if (late >= 0)
        tern_core_team_describe(p->team, late, doing, sizeof(doing));
    snprintf(text, size, "%s waits for rank %d of %d, which has not called it%s", p->what, late, p->team->size, doing);
}

void tern_core_team_leave(struct tern_team *team, uint64_t object)
{
    if (team->leaving == 0)
        team->group->ops->depart(team->group, object);
    team->leaving = object;
}

tern_status tern_core_team_part(struct tern_team *team, uint64_t object, tern_deadline deadline, const char *what)
{
    struct parting   p = { team, what, -1 };
    struct tern_wait wait = { .poll = parting_poll, .describe = parting_describe, .arg = &p, .deadline = deadline };
    tern_status      st;

    if (team->leaving != 0 && team->leaving != object)
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: a call for another object timed out and is not over; call it again for "
                              "that one first",
                              what);
    tern_core_team_leave(team, object);
    if ((st = tern_core_wait(&wait)) < 0)
        return st;
    team->leaving = 0;
    if (p.other >= 0)
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: rank %d of %s passed another object; all ranks of a team free regions, and the team "
                              "itself, in the same order",
                              what, p.other, tern_core_team_name(team).text);
    return TERN_OK;
}
