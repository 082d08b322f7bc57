/* tagged_left.c: messages that the program has not asked for yet.
 *
 * Promise: a receive takes the first message, and those behind it stay in the queue until the program asks for them or
 * makes progress without a receive, so that a program which falls behind its sender copies no message twice.
 *
 * ranks: 2
 * chaos: off, because chaos stores messages itself
 * network: off, because threads of the library may take messages from the network
 * poor: off, because of the same
 * imposed: off, because of the same
 * hosts: off, because of the same
 */
#include "job_test.h"

#include <sched.h>

#include "op/tagged/tagged.h"

#define MESSAGES 10

int main(void)
{
    tern_region *region;
    uint64_t     value, *sent;

    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, 8, NULL, &region));
    sent = tern_region_ptr(region, tern_rank());
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        for (uint64_t i = 0; i < MESSAGES; i++)
            OK(tern_send(TERN_WORLD, 1, 7, &i, sizeof(i)));
        OK(tern_put_u64(TERN_WORLD, region, 1, 0, 1));
    } else if (tern_rank() == 1) {
        while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) == 0)
            sched_yield(); /* without a call of Tern, which would take the messages */
        for (uint64_t i = 0; i < MESSAGES; i++) {
            OK(tern_recv(TERN_WORLD, 0, 7, &value, sizeof(value), NULL));
            CHECK(value == i);
            CHECK(tern_op_tagged_kept_bytes == 0);
        }
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
