/* idle_job.c: a job in which nothing happens until $FAULT_DIR/over exists; for idle.sh.
 *
 * All ranks are connected: each has put to every other, and sent it a message. Then some ranks sleep outside Tern,
 * among them the rank that ends the job, some are in a barrier, and some wait for a message.
 */
#include "fault/fault_job.h"

#define HELLO 3

static uint64_t heard;

static void on_hello(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    heard++;
}

static void greet_all(void)
{
    for (int rank = 0; rank < tern_size(); rank++)
        OK(tern_am_short(TERN_WORLD, rank, HELLO, NULL, 0));
}

static void sleep_till_over(void)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/over", getenv("FAULT_DIR"));
    while (access(path, F_OK) != 0)
        usleep(100000);
}

int main(void)
{
    unsigned char data[10000] = { 1 };
    tern_region  *region;

    OK(tern_am_register(HELLO, on_hello, NULL));
    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, sizeof(data), NULL, &region));
    for (int rank = 0; rank < tern_size(); rank++)
        OK(tern_put(TERN_WORLD, region, rank, 0, data, sizeof(data)));
    greet_all();
    OK(job_await(&heard, (uint64_t)tern_size(), TERN_FOREVER));
    OK(tern_barrier(TERN_WORLD));
    printf("idle %d\n", tern_rank());
    fflush(stdout);
    if (tern_rank() % 3 == 0)
        sleep_till_over();
    if (tern_rank() == 0)
        greet_all();
    if (tern_rank() % 3 == 2)
        OK(job_await(&heard, (uint64_t)tern_size() + 1, TERN_FOREVER));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
