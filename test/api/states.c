/* states.c: calls before tern_init, between tern_init and tern_finalize, and after it.
 *
 * Promise: outside the job every call that needs a job returns TERN_ERR_STATE or the value that its contract names, and
 * nothing crashes; inside, rank and size are right; tern_init after tern_finalize returns TERN_ERR_STATE.
 */
#include "job_test.h"

static void outside(void)
{
    tern_ctx    *ctx = NULL;
    tern_region *region = NULL;
    int          value = 4711;
    uint64_t     offset;

    CHECK(tern_world == NULL);
    CHECK(tern_rank() == -1);
    CHECK(tern_size() == -1);
    CHECK(tern_team_world() == NULL);
    CHECK(tern_team_node() == NULL);
    RETURNS(TERN_ERR_STATE, tern_peer_check(0));
    RETURNS(TERN_ERR_STATE, tern_finalize());
    CHECK(tern_error_detail()[0] != '\0');
    RETURNS(TERN_ERR_STATE, tern_ctx_create(NULL, TERN_RELAXED, &ctx));
    CHECK(ctx == NULL);
    RETURNS(TERN_ERR_STATE, tern_ctx_free(NULL));
    RETURNS(TERN_ERR_STATE, tern_region_create(TERN_WORLD, 4096, NULL, &region));
    RETURNS(TERN_ERR_STATE, tern_region_register(TERN_WORLD, &value, sizeof(value), &region));
    RETURNS(TERN_ERR_STATE, tern_region_free(NULL));
    CHECK(region == NULL);
    RETURNS(TERN_ERR_STATE, tern_put(TERN_WORLD, region, 0, 0, &value, sizeof(value)));
    RETURNS(TERN_ERR_STATE, tern_get(TERN_WORLD, region, 0, 0, &value, sizeof(value)));
    REFUSES(TERN_ERR_STATE, tern_barrier(TERN_WORLD));
    RETURNS(TERN_ERR_STATE, tern_quiet(TERN_WORLD));
    RETURNS(TERN_ERR_STATE, tern_fence(TERN_WORLD));
    RETURNS(TERN_ERR_STATE, tern_progress(TERN_WORLD));
    RETURNS(TERN_ERR_STATE, tern_allgather(TERN_WORLD, &value, sizeof(value), &value));
    RETURNS(TERN_ERR_STATE, tern_region_find(TERN_WORLD, 0, &value, &region, &offset));
    CHECK(value == 4711);
    CHECK(tern_region_ptr(NULL, 0) == NULL);
    CHECK(tern_region_size(NULL, 0) == 0);
    CHECK(strcmp(tern_region_path(NULL, 0), "none") == 0);
    CHECK(tern_ctx_team(NULL) == NULL);
    CHECK(tern_ctx_order(NULL) == TERN_RELAXED);
    CHECK(tern_team_rank(NULL) == -1);
    CHECK(tern_team_size(NULL) == -1);
    CHECK(strcmp(tern_version(), TERN_VERSION) == 0);
}

static void inside(void)
{
    int ranks[64], me = tern_rank(), size = tern_size();

    CHECK(tern_world != NULL && size >= 1 && size <= 64 && me >= 0 && me < size);
    OK(tern_init()); /* counted; see uses.c */
    OK(tern_finalize());
    CHECK(tern_rank() == me); /* that changed nothing */
    OK(tern_allgather(TERN_WORLD, &me, sizeof(me), ranks));
    for (int i = 0; i < size; i++) {
        CHECK(ranks[i] == i);
        OK(tern_peer_check(i));
    }
    RETURNS(TERN_ERR_RANGE, tern_peer_check(-1));
    RETURNS(TERN_ERR_RANGE, tern_peer_check(size));
    RETURNS(TERN_ERR_RANGE, tern_peer_check(INT_MAX));
    RETURNS(TERN_ERR_RANGE, tern_peer_check(INT_MIN));
}

static void statuses_have_texts(void)
{
#define HAS_TEXT(name, value, text) CHECK(strcmp(tern_strerror(name), text) == 0 && name == (value));
    TERN_STATUS_LIST(HAS_TEXT)
#undef HAS_TEXT
    CHECK(strcmp(tern_strerror((tern_status)12345), tern_strerror((tern_status)-12345)) == 0);
    CHECK(strlen(tern_strerror((tern_status)12345)) > 0);
}

/* Regions, contexts and operations that the program did not finish: tern_finalize cleans them up. */
static void leave_things_open(void)
{
    static unsigned char memory[100000], source[100000];
    tern_region         *allocated, *registered;
    tern_ctx            *ctx;
    tern_event           event;
    int                  right = (tern_rank() + 1) % tern_size();

    OK(tern_region_create(TERN_WORLD, 12345, NULL, &allocated));
    OK(tern_region_register(TERN_WORLD, memory, sizeof(memory), &registered));
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &ctx));
    OK(tern_put_nbi(TERN_WORLD, registered, right, 0, source, sizeof(source)));
    OK(tern_put_nb(ctx, registered, right, 0, source, sizeof(source), &event));
}

int main(void)
{
    CHECK(tern_error_detail()[0] == '\0');
    outside();
    statuses_have_texts();
    OK(tern_init());
    inside();
    leave_things_open();
    OK(tern_finalize());
    outside();
    RETURNS(TERN_ERR_STATE, tern_init()); /* once in the life of a process */
    RETURNS(TERN_ERR_STATE, tern_finalize());
    return 0;
}
