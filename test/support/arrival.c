/* arrival.c: see arrival.h. */
#include "support/arrival.h"

#include <string.h>

#include "core/job.h"
#include "link/net/net.h"

static uint64_t received(struct net_link *net, int rank, unsigned channel)
{
    const struct net_peer *peer;
    uint64_t               count;

    pthread_mutex_lock(&net->lock);
    peer = atomic_load_explicit(&net->peer[rank], memory_order_relaxed); /* under the lock */
    count = peer ? peer->in[channel].received : 0;
    pthread_mutex_unlock(&net->lock);
    return count;
}

uint64_t test_arrived(int rank, unsigned channel)
{
    for (unsigned i = 0; i < tern_job.links; i++)
        if (strcmp(tern_job.ops[i]->name, "ofi") == 0 || strcmp(tern_job.ops[i]->name, "tcp") == 0)
            return received((struct net_link *)tern_job.link[i], rank, channel);
    return 0;
}
