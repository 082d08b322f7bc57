/* domain.h: atomic domains: a type, a set of operations, and the mechanism that all ranks of a team have agreed on. */
#pragma once

#include <stdbool.h>
#include <tern/atomic.h>

#include "core/context.h"

struct tern_atomic_domain {
    struct tern_atomic_head head;
    bool                    freed; /* the memory is kept for a while, so that use after free is detected */
    struct tern_team       *team;
    tern_type               type;
    uint32_t                ops, flags;
    tern_atomic_mechanism   mechanism;
    char                    why[352];
    struct tern_list        node; /* on the list of domains in use, or of freed ones */
};

/* Create a domain. Collective, on a claimed team. checked is TERN_OK, or the error in this rank's arguments: it is sent
 * to all members, so that none waits for this rank in vain. */
tern_status tern_core_domain_create(struct tern_ctx *ctx, const struct tern_atomic_domain *asked, tern_status checked,
                                    struct tern_atomic_domain **out);

/* Free the domain. Returns false if it was freed before. */
bool tern_core_domain_free(struct tern_atomic_domain *domain);

/* Return the number of domains of this rank that belong to the team. */
unsigned tern_core_domains_of(const struct tern_team *team);

/* Free all domains; the job has ended. */
void tern_core_domains_close(void);
