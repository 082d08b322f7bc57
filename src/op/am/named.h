/* named.h: active messages that name their team: the id of the team is their first argument. */
#pragma once

#include "op/am/am.h"

/* The arguments of a message that names its team. */
struct named_args {
    uint32_t args[WIRE_AM_ARGS];
};

static inline const uint32_t *name_team(struct named_args *named, uint32_t team, const uint32_t *args, unsigned nargs)
{
    named->args[0] = team;
    for (unsigned i = 0; i < nargs; i++)
        named->args[i + 1] = args[i];
    return named->args;
}

/* Return the message as it is sent: if the message must name its team, a copy with the id of the team as an additional
 * argument. */
static inline const tern_am *with_name(const struct tern_ctx *ctx, const tern_am *m, tern_am *copy,
                                       struct named_args *named)
{
    uint32_t team = tern_op_am_named_team(ctx);

    if (TERN_LIKELY(team == 0))
        return m;
    *copy = *m;
    copy->args = name_team(named, team, m->args, m->nargs);
    copy->nargs = (uint16_t)(m->nargs + 1);
    return copy;
}
