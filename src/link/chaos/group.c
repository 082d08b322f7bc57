/* group.c: barriers. A rank arrives immediately, but it learns late that all members have arrived. So the ranks
 * leave a barrier one after the other, as on a busy machine. A group of the wrapped link gets a table of its own, in
 * which some functions are replaced. */
#include <stdlib.h>

#include "link/chaos/chaos.h"
#include "link/none.h"

struct chaos_group {
    struct tern_group_ops        ops; /* must be first: the group points here */
    const struct tern_group_ops *behind;
    struct chaos_link           *link;
    struct chaos_stream          stream;
    uint64_t                     left; /* polls until this rank sees the end of the barrier */
};

static struct chaos_group *chaos_of(struct tern_link_group *group)
{
    return (struct chaos_group *)(uintptr_t)group->ops;
}

static void chaos_close(struct tern_link_group *group)
{
    struct chaos_group *chaos = chaos_of(group);

    group->ops = chaos->behind;
    group->ops->close(group);
    free(chaos);
}

static void chaos_arrive(struct tern_link_group *group)
{
    struct chaos_group *chaos = chaos_of(group);

    tern_chaos_operation(chaos->link);
    chaos->left = tern_chaos_due(&chaos->stream, 0, 0) - chaos->stream.now;
    chaos->behind->arrive(group);
}

static bool chaos_arrived(struct tern_link_group *group)
{
    struct chaos_group *chaos = chaos_of(group);

    if (!chaos->behind->arrived(group))
        return false;
    if (chaos->left == 0)
        return true;
    chaos->left--;
    tern_chaos_stay_awake(chaos->link);
    return false;
}

tern_status tern_chaos_group_open(struct tern_link *behind, const struct tern_link_group *as,
                                  struct tern_link_group **out)
{
    struct chaos_link  *link = tern_chaos_link(behind);
    struct chaos_group *chaos = calloc(1, sizeof(*chaos));
    tern_status         st;

    if (!chaos)
        return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for %zu bytes", sizeof(*chaos));
    if ((st = link->ops->group->open(behind, as, out)) < 0) {
        free(chaos);
        return st;
    }
    chaos->behind = (*out)->ops;
    chaos->ops = *chaos->behind;
    chaos->ops.close = chaos_close;
    chaos->ops.arrive = chaos_arrive;
    chaos->ops.arrived = chaos_arrived;
    chaos->ops.board = tern_link_no_board; /* collective calls send messages, which chaos delays */
    chaos->link = link;
    tern_chaos_stream(link, &chaos->stream, CHAOS_GROUP,
                      atomic_fetch_add_explicit(&link->groups, 1, memory_order_relaxed)); /* a unique number */
    (*out)->ops = &chaos->ops;
    return TERN_OK;
}
