/* am_immediate.c: immediate long messages to memory that only its own rank can reach.
 *
 * Promise: an immediate message never waits, not even for a stopped target that would have to help with its payload: it
 * is sent or returns TERN_AGAIN, and a message that was sent arrives whole and in its place; so does a message that was
 * prepared with the immediate flag. A message that cannot be sent in this way is refused with the reason.
 *
 * ranks: 2 3
 * env: TERN_CMA=off
 * env: TERN_CMA=off TERN_AM_QUEUE=64K
 */
#include <signal.h>
#include <stdatomic.h>

#include "job_test.h"

#define HERE 1u
#define SPACE 4096u /* bytes of the part for each message */
#define MOST 64u    /* messages */

static uint64_t          handled;
static struct job_region own, shared;

/* The words by which the two ranks communicate: each reads its own part. */
struct word {
    _Atomic uint64_t pid, sent;
};

static struct word *my_word(void)
{
    return (struct word *)tern_region_ptr(shared.region, tern_rank());
}

static void on_here(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(event->kind == TERN_AM_LONG && event->nargs == 12);
    CHECK(event->payload == (unsigned char *)own.memory + event->args[0] * SPACE + event->args[11]);
    CHECK(job_put_holds(event->payload, event->len, (unsigned)event->source, event->args[0]));
    handled++;
}

static bool is_stopped(uint64_t pid)
{
    char  path[64], state = 0;
    FILE *stat;

    snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
    CHECK((stat = fopen(path, "r")) != NULL);
    CHECK(fscanf(stat, "%*d %*s %c", &state) == 1);
    fclose(stat);
    return state == 'T';
}

/* Send message number i, of any length, directly or prepared with a buffer. */
static tern_status send(uint32_t i, size_t most)
{
    static unsigned char payload[SPACE];
    uint32_t             args[12] = { i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, i % 7 };
    size_t               len = 1 + i * 61 % (most < SPACE - 7 ? most : SPACE - 7);
    tern_am am = TERN_AM(.kind = TERN_AM_LONG, .handler = HERE, .nargs = 12, .args = args, .payload = payload,
                         .len = len, .region = own.region, .offset = i * SPACE + args[11], .flags = TERN_IMMEDIATE);
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .nargs = 12, .min = len, .max = len,
                                                     .buffer = i % 4 == 1 ? payload : NULL, .region = own.region,
                                                     .offset = am.offset, .flags = TERN_IMMEDIATE);
    tern_am_prepared     space;
    tern_status          st;

    job_fill(payload, len, (unsigned)tern_rank(), i);
    if (i % 2 == 0)
        return tern_am_request(TERN_WORLD, 1, &am);
    if ((st = tern_am_prepare(TERN_WORLD, 1, &opts, &space)) != TERN_OK)
        return st;
    if (!opts.buffer)
        memcpy(space.addr, payload, len);
    return tern_am_commit(&space, HERE, args, 12, len);
}

/* Rank 0 sends until there is no space; the target is stopped all the time. */
static void send_to_the_stopped(void)
{
    size_t      most = tern_am_max_medium(TERN_WORLD, 1, 12) - 64;
    uint64_t    pid;
    uint32_t    sent = 0;
    tern_status st = TERN_OK;

    while (!(pid = atomic_load(&my_word()->pid)) || !is_stopped(pid))
        OK(tern_progress(TERN_WORLD));
    while (sent < MOST && (st = send(sent, most)) == TERN_OK)
        sent++;
    CHECK(sent > 0 && (st == TERN_AGAIN || sent == MOST));
    CHECK(kill((pid_t)pid, SIGCONT) == 0);
    OK(tern_put_u64(TERN_WORLD, shared.region, 1, offsetof(struct word, sent), sent + 1));
}

static void stand_still(void)
{
    OK(tern_put_u64(TERN_WORLD, shared.region, 0, offsetof(struct word, pid), (uint64_t)getpid()));
    CHECK(raise(SIGSTOP) == 0);
    while (atomic_load(&my_word()->sent) == 0)
        OK(tern_progress(TERN_WORLD));
    OK(job_await(&handled, atomic_load(&my_word()->sent) - 1, tern_deadline_in(60)));
    SAME(handled, atomic_load(&my_word()->sent) - 1);
}

/* Too long to be carried inline, and not directly reachable. */
static void too_long(void)
{
    size_t         most = tern_am_max_medium(TERN_WORLD, 1, 0);
    size_t         len = most < MOST * SPACE ? most : MOST * SPACE;
    unsigned char *payload = job_new(len);
    tern_am am = TERN_AM(.kind = TERN_AM_LONG, .handler = HERE, .payload = payload, .len = len, .region = own.region,
                         .flags = TERN_IMMEDIATE);
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .min = len, .max = len, .buffer = payload,
                                                     .region = own.region, .flags = TERN_IMMEDIATE);
    tern_am_prepared     space;

    if (len == most && getenv("TERN_CMA")) {
        RETURNS(TERN_ERR_RANGE, tern_am_request(TERN_WORLD, 1, &am));
        SAYS("without TERN_IMMEDIATE");
        RETURNS(TERN_ERR_RANGE, tern_am_prepare(TERN_WORLD, 1, &opts, &space));
    }
    free(payload);
}

int main(void)
{
    OK(tern_am_register(HERE, on_here, NULL));
    OK(tern_init());
    job_region_make(&shared, JOB_HOST, sizeof(struct word));
    job_region_make(&own, JOB_REGISTERED, MOST * SPACE);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        send_to_the_stopped();
        too_long();
    } else if (tern_rank() == 1) {
        stand_still();
    }
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&own);
    job_region_drop(&shared);
    OK(tern_finalize());
    return 0;
}
