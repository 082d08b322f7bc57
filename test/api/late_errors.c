/* late_errors.c: the texts of errors that an operation meets after its call has returned.
 *
 * Promise: whichever call reports such an error, its text says what failed and why: the wait for an event, tern_quiet,
 * the event of tern_quiet_nb, and the event of a triggered operation. Errors of other calls between the failure and the
 * report do not change the text.
 *
 * The error is that the target has unmapped memory that it has registered.
 *
 * ranks: 2
 * env: TERN_CMA=off
 * network: off, because a put over a network to memory that its owner has unmapped may kill the owner
 * tcp: off, because a put over a network to memory that its owner has unmapped may kill the owner
 * hosts: off, because ranks of one host are needed
 * poor: off, because it concerns shared memory
 * imposed: off, because it concerns shared memory
 */
#include "job_test.h"

#include <sys/mman.h>

#define SIZE (1u << 20)
#define LEN 5000u

static tern_region   *region;
static unsigned char *source;

/* Another error, which the thread records before it asks for the operation. */
static void other_error(void)
{
    RETURNS(TERN_ERR_RANGE, tern_put(TERN_WORLD, region, 1, SIZE, source, 8));
    CHECK(!strstr(tern_error_detail(), "not mapped"));
}

static void expect_failure(tern_status st, const char *what)
{
    RETURNS(TERN_ERR_LINK, st);
    SAYS("not mapped");
    SAYS(what);
}

/* Wait for an event of an operation that has been started. If the path completes operations within the call, the call
 * has reported the error. */
static void finish(tern_status started, tern_event *event)
{
    if (started == TERN_OK) {
        other_error();
        started = tern_event_wait(event, TERN_FOREVER);
        SAYS("put of ");
    }
    expect_failure(started, "");
}

static void events(tern_ctx *ctx)
{
    tern_event  event[2], both[2];
    tern_status st[2];
    tern_piece  piece[] = { { source, LEN }, { source + LEN, LEN } };
    tern_extent extent[] = { { 2 * LEN, LEN }, { 0, LEN } };
    tern_vector vector = TERN_VECTOR(.local_count = 2, .local = piece, .remote_count = 2, .remote = extent);

    expect_failure(tern_put(ctx, region, 1, 0, source, LEN), "");
    for (int i = 0; i < 2; i++)
        st[i] = tern_put_nb(ctx, region, 1, 64, source, LEN, &event[i]);
    finish(st[1], &event[1]);
    finish(st[0], &event[0]);
    st[0] = tern_put_vector_with(ctx, region, 1, &vector, &TERN_OPTS(.event = &event[0]));
    finish(st[0], &event[0]);
    st[0] = tern_put_with(ctx, region, 1, 0, source, LEN, &TERN_OPTS(.event = &both[0], .local = &both[1]));
    if (st[0] == TERN_OK)
        (void)tern_event_wait(&both[1], TERN_FOREVER);
    finish(st[0], &both[0]);
}

static void quiet(tern_ctx *ctx)
{
    tern_event  event;
    tern_status st = tern_put_nbi(ctx, region, 1, 0, source, LEN);

    if (st != TERN_OK) {
        expect_failure(st, "");
        return;
    }
    other_error();
    expect_failure(tern_quiet(ctx), "tern_quiet: an earlier put of 5000 bytes");
    OK(tern_quiet(ctx));
    OK(tern_put_nbi(ctx, region, 1, 0, source, LEN));
    OK(tern_quiet_nb(ctx, &event));
    other_error();
    expect_failure(tern_event_wait(&event, TERN_FOREVER), "an earlier put of 5000 bytes");
}

/* A put that a counter triggers, with an event and without. */
static void triggered(tern_ctx *ctx)
{
    tern_counter *counter;
    tern_event    event;

    OK(tern_counter_create(ctx, &counter));
    OK(tern_put_with(ctx, region, 1, 0, source, LEN, &TERN_OPTS(.event = &event, .when = counter, .threshold = 1)));
    OK(tern_put_with(ctx, region, 1, 0, source, LEN, &TERN_OPTS(.when = counter, .threshold = 2)));
    OK(tern_counter_set(counter, 1));
    expect_failure(tern_event_wait(&event, TERN_FOREVER), "put");
    OK(tern_counter_set(counter, 2));
    other_error();
    expect_failure(tern_quiet(ctx), "tern_quiet: an earlier tern_put_with");
    OK(tern_counter_free(counter));
}

int main(void)
{
    tern_ctx *ctx[2];
    void     *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    OK(tern_init());
    REQUIRE(memory != MAP_FAILED);
    source = job_new(SIZE);
    OK(tern_region_register(TERN_WORLD, memory, SIZE, &region));
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &ctx[0]));
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED | TERN_SHARED, &ctx[1]));
    CHECK(tern_rank() != 1 || munmap(memory, SIZE) == 0);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        tern_ctx *all[] = { TERN_WORLD, ctx[0], ctx[1] };

        for (int i = 0; i < 3; i++) {
            events(all[i]);
            quiet(all[i]);
            if (tern_ctx_order(all[i]) == TERN_RELAXED)
                triggered(all[i]);
        }
    }
    OK(tern_ctx_free(ctx[0]));
    OK(tern_ctx_free(ctx[1]));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    CHECK(tern_rank() == 1 || munmap(memory, SIZE) == 0);
    free(source);
    OK(tern_finalize());
    return 0;
}
