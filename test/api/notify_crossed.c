/* notify_crossed.c: ranks that send to each other while each of them refuses other notifications.
 *
 * Promise: a rank that waits for space takes every notification for which a request is started, also while it stores as
 * many unexpected notifications as it may (TERN_NOTIFY_KEEP) and refuses more of them. So ranks that have started
 * requests for all notifications they send to each other never block for good, in whatever call they wait.
 *
 * Each rank first notifies itself, without a request, until its queue to itself holds notifications that it refuses.
 *
 * ranks: 2 3 4
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_CMA=off TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_LINKS=ofi TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_LINKS=ofi TERN_OFI_DATA=0 TERN_SPIN=0 TERN_YIELDS=0
 * sanitized: 2
 */
#include "job_test.h"

#define UNASKED 1u
#define ASKED 2u
#define KEEP 2
#define REFUSED 2
#define EACH (JOB_SANITIZED ? 60u : 300u) /* notifications from each rank to each other rank */

static const char *const ways[] = { "tern_put_notify", "tern_put_notify_nb", "tern_quiet" };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void send_one(tern_region *region, int to, uint64_t number, size_t way)
{
    static uint64_t values[2];
    tern_event      event;

    values[number % 2] = number;
    if (way == 0) {
        OK(tern_put_notify(TERN_WORLD, region, to, 0, &values[number % 2], sizeof(number), ASKED));
    } else if (way == 1) {
        OK(tern_put_notify_nb(TERN_WORLD, region, to, 0, &values[number % 2], sizeof(number), ASKED, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
    } else {
        OK(tern_put_notify_nbi(TERN_WORLD, region, to, 0, &values[number % 2], sizeof(number), ASKED));
        OK(tern_quiet(TERN_WORLD));
    }
}

/* All ranks send to all others; every notification finds a started request. */
static void cross(tern_region *region, size_t way)
{
    unsigned      others = (unsigned)tern_size() - 1;
    tern_request *asked;

    OK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, ASKED, EACH * others, &asked));
    OK(tern_request_start(asked));
    OK(tern_barrier(TERN_WORLD));
    for (uint64_t i = 0; i < EACH; i++)
        for (int k = 1; k < tern_size(); k++)
            send_one(region, (tern_rank() + k) % tern_size(), i, way);
    OK(tern_request_wait(&asked, TERN_FOREVER, NULL));
    OK(tern_request_free(&asked));
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    struct job_region r;
    tern_request     *unasked;

    setenv("TERN_NOTIFY_QUEUE", "4", 1);
    setenv("TERN_NOTIFY_KEEP", "2", 1);
    OK(tern_init());
    for (unsigned kind = 0; kind < 2; kind++) {
        job_region_make(&r, kind ? JOB_REGISTERED : JOB_HOST, 4096);
        for (int i = 0; i < KEEP + REFUSED; i++)
            OK(tern_notify(TERN_WORLD, r.region, tern_rank(), UNASKED));
        for (size_t way = 0; way < WAYS; way++) {
            job_note = ways[way];
            cross(r.region, way);
        }
        OK(tern_notify_create(TERN_WORLD, r.region, tern_rank(), UNASKED, KEEP + REFUSED, &unasked));
        OK(tern_request_start(unasked));
        OK(tern_request_wait(&unasked, TERN_FOREVER, NULL));
        OK(tern_request_free(&unasked));
        OK(tern_barrier(TERN_WORLD));
        job_region_drop(&r);
    }
    OK(tern_finalize());
    return 0;
}
