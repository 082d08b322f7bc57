/* hostile.c: whatever a peer writes into the shared control memory of the shm link, it must not crash or hang a rank,
 * whether that rank is the target of the peer's transfers or the initiator of transfers to the peer.
 *
 * Promise: a request that names a region, range, length or chunk that does not exist is answered with an error or
 * ignored; memory that is not exposed is never touched; lists that lead nowhere or are circular come to an end. A
 * target that changes the head of a chunk after serving it cannot make the initiator write any memory but the
 * transfer's own. A memory handle that names bytes which its file does not have is refused: these bytes could be
 * mapped, but touching them would raise a signal. So is a message that names no memory for a team, or memory that the
 * arena does not have or keeps for itself.
 *
 * The process opens the link as rank 0 of 2. It plays rank 1 by writing the bounce control block of rank 1, and the
 * block of rank 0 as rank 1 could. Each case runs in its own process.
 */
#include "link_test.h"

#include "link/shm/shm.h"

#define REGION 5u
#define SIZE 4096u
#define BYTES (16u * 4096u) /* data of the peer's chunks */

/* The target, and the peer's side. */
struct scene {
    struct rank            r;
    struct shm_link       *shm;
    struct shm_bounce_ctl *peer;
    unsigned char         *memory; /* exposed: SIZE bytes, between two pages that are not exposed */
    struct tern_space      data;
    unsigned char         *bytes; /* the data of the peer's chunks */
};

static void scene_set(struct scene *s)
{
    struct tern_mem_handle handle = { .region = REGION, .size = SIZE, .mem_kind = TERN_MEM_PRIVATE };
    unsigned char         *pages = mmap(NULL, 3 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT((void *)pages != MAP_FAILED);
    s->memory = pages + SIZE;
    memset(pages, 0x5a, 3 * SIZE);
    EXPECT(mprotect(pages, SIZE, PROT_NONE) == 0 && mprotect(pages + 2 * SIZE, SIZE, PROT_NONE) == 0);
    s->r = (struct rank){ .ops = link_named("shm"), .ranks = 2 };
    EXPECT(tern_boot_arena_make(2, 2, &s->r.boot.arena, &s->r.boot.huge, &s->r.boot.segment) == TERN_OK);
    tern_boot_place(&s->r.boot, 0);
    EXPECT(s->r.ops->open(&s->r.boot, &test_up, &s->r.link) == TERN_OK);
    s->shm = (struct shm_link *)s->r.link;
    s->peer = &s->shm->bounce_ctl[1];
    handle.addr = (uint64_t)(uintptr_t)s->memory;
    EXPECT(s->r.ops->expose(s->r.link, &handle) == TERN_OK);
    EXPECT(tern_boot_space_take(&s->r.boot, s->r.boot.arena, BYTES, &s->data) == TERN_OK);
    s->bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->r.boot.arena, (off_t)s->data.offset);
    EXPECT((void *)s->bytes != MAP_FAILED);
    memset(s->bytes, 0x33, BYTES);
    atomic_store(&s->peer->data_bytes, BYTES);
    atomic_store(&s->peer->data, s->data.offset);
}

/* Write a request of the peer into chunk i, linked to the chunk with the given number. */
static struct shm_chunk *request(struct scene *s, unsigned i, uint64_t offset, uint64_t len, uint32_t next)
{
    struct shm_chunk *chunk = &s->peer->chunk[i];

    chunk->next = next;
    chunk->verb = SHM_PUT;
    chunk->status = 99;
    chunk->region = REGION;
    chunk->offset = offset;
    chunk->len = len;
    chunk->data = s->data.offset;
    atomic_store(&chunk->state, SHM_CHUNK_POSTED);
    return chunk;
}

static uint32_t number(unsigned i)
{
    return 1 * SHM_CHUNKS + i + 1;
}

static void serve(struct scene *s, uint32_t newest)
{
    atomic_store(&s->shm->bounce_ctl[0].inbox, newest);
    EXPECT(s->r.ops->serve(s->r.link));
    EXPECT(!s->r.ops->serve(s->r.link)); /* no request is left */
}

static void untouched(const struct scene *s)
{
    for (unsigned i = 0; i < SIZE; i++)
        EXPECT(s->memory[i] == 0x5a);
}

static void refused(struct scene *s, const struct shm_chunk *chunk)
{
    EXPECT(atomic_load(&chunk->state) == SHM_CHUNK_DONE && chunk->status == TERN_ERR_LINK);
    untouched(s);
}

/* A valid request is served, so that the refusals below mean something. */
static void a_good_request(struct scene *s)
{
    struct shm_chunk *chunk = request(s, 3, 100, 50, 0);

    serve(s, number(3));
    EXPECT(atomic_load(&chunk->state) == SHM_CHUNK_DONE && chunk->status == TERN_OK);
    for (unsigned i = 0; i < SIZE; i++)
        EXPECT(s->memory[i] == (i >= 100 && i < 150 ? 0x33 : 0x5a));
    chunk = request(s, 3, 90, 20, 0);
    chunk->verb = SHM_GET;
    serve(s, number(3));
    EXPECT(chunk->status == TERN_OK && s->bytes[9] == 0x5a && s->bytes[10] == 0x33 && s->bytes[20] == 0x33);
}

static void an_unknown_region(struct scene *s)
{
    struct shm_chunk *chunk = request(s, 0, 0, 8, 0);

    chunk->region = REGION + 1;
    serve(s, number(0));
    refused(s, chunk);
    chunk = request(s, 0, 0, 8, 0);
    chunk->region = UINT64_MAX;
    serve(s, number(0));
    refused(s, chunk);
}

static void ranges_outside(struct scene *s)
{
    static const uint64_t bad[][2] = { { SIZE, 1 },
                                       { SIZE - 1, 2 },
                                       { 0, SIZE + 1 },
                                       { UINT64_MAX, 1 },
                                       { UINT64_MAX - 10, 20 },
                                       { 1, UINT64_MAX },
                                       { 8, UINT64_MAX - 4 },
                                       { 1ull << 63, 1ull << 63 },
                                       { -(uint64_t)SIZE, SIZE } };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (uint32_t get = 0; get < 2; get++) {
            struct shm_chunk *chunk = request(s, 0, bad[i][0], bad[i][1], 0);
            chunk->verb = get;
            serve(s, number(0));
            refused(s, chunk);
        }
    }
}

/* The chunk's data lies outside the chunk, or is shorter than the request. */
static void bytes_outside(struct scene *s)
{
    const uint64_t at = s->data.offset;
    const uint64_t bad[][2] = { { at - 1, 8 },     { at + BYTES, 1 }, { at + BYTES - 7, 8 },
                                { 0, 8 },          { UINT64_MAX, 1 }, { UINT64_MAX - 3, 8 },
                                { at, BYTES + 1 }, { at + 1, BYTES }, { 1ull << 63, 8 } };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct shm_chunk *chunk = request(s, 0, 0, bad[i][1], 0);
        chunk->data = bad[i][0];
        serve(s, number(0));
        refused(s, chunk);
    }
}

static void no_bytes_at_all(struct scene *s)
{
    struct shm_chunk *chunk = request(s, 0, 0, 8, 0);

    atomic_store(&s->peer->data, 0);
    serve(s, number(0));
    refused(s, chunk);
}

static void bytes_beyond_the_file(struct scene *s)
{
    struct shm_chunk *chunk = request(s, 0, 0, 8, 0);

    chunk->data = 1ull << 45;
    atomic_store(&s->peer->data, chunk->data);
    serve(s, number(0));
    refused(s, chunk);
}

/* The control block claims more bytes than when they were mapped. */
static void bytes_that_grow(struct scene *s)
{
    struct shm_chunk *chunk = request(s, 0, 0, 8, 0);

    serve(s, number(0));
    EXPECT(chunk->status == TERN_OK);
    memset(s->memory, 0x5a, SIZE);
    atomic_store(&s->peer->data_bytes, 1ull << 40);
    chunk = request(s, 0, 0, 8, 0);
    chunk->data = s->data.offset + (1ull << 39);
    serve(s, number(0));
    refused(s, chunk);
    atomic_store(&s->peer->data, s->data.offset - 4096);
    chunk = request(s, 0, 0, 8, 0);
    chunk->data = s->data.offset - 4096;
    serve(s, number(0));
    EXPECT(atomic_load(&chunk->state) == SHM_CHUNK_DONE);
}

static void numbers_outside(struct scene *s)
{
    static const uint32_t bad[] = { 2 * SHM_CHUNKS + 1, 2 * SHM_CHUNKS + 2, 1u << 31, UINT32_MAX };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct shm_chunk *chunk;

        serve(s, bad[i]);
        chunk = request(s, 7, 0, 8, bad[i]); /* at the end of a list */
        serve(s, number(7));
        EXPECT(chunk->status == TERN_OK);
        memset(s->memory, 0x5a, SIZE);
    }
    untouched(s);
}

static void circles(struct scene *s)
{
    request(s, 0, 0, 8, number(0)); /* a circle of one */
    serve(s, number(0));
    request(s, 0, 0, 8, number(1)); /* a circle of two */
    request(s, 1, 0, 8, number(0));
    serve(s, number(1));
    request(s, 2, 0, 8, number(0)); /* a tail that leads into a circle */
    request(s, 0, 0, 8, number(1));
    request(s, 1, 0, 8, number(0));
    serve(s, number(2));
    for (unsigned i = 0; i < SHM_CHUNKS; i++) /* a circle of all chunks */
        request(s, i, 0, 8, number((i + 1) % SHM_CHUNKS));
    serve(s, number(9));
    request(s, 0, 0, 8, 1); /* into the target's own control block */
    s->shm->bounce_ctl[0].chunk[0].next = number(0);
    serve(s, number(0));
}

static void a_long_list(struct scene *s)
{
    for (unsigned i = 0; i < SHM_CHUNKS; i++)
        request(s, i, i * 8, 8, i ? number(i - 1) : 0);
    serve(s, number(SHM_CHUNKS - 1));
    for (unsigned i = 0; i < SHM_CHUNKS; i++)
        EXPECT(s->peer->chunk[i].status == TERN_OK && atomic_load(&s->peer->chunk[i].state) == SHM_CHUNK_DONE);
    for (unsigned i = 0; i < SHM_CHUNKS * 8; i++)
        EXPECT(s->memory[i] == 0x33);
}

static void random_bytes(struct scene *s)
{
    uint64_t seed = 88172645463325252ull;

    for (unsigned i = 0; i < 3000; i++) {
        for (unsigned k = 0; k < 8; k++) {
            uint32_t *word = (uint32_t *)(void *)&s->peer->chunk[k];
            for (unsigned w = 1; w < 16; w++) { /* all of the head but its state; mostly small numbers */
                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                word[w] = (uint32_t)seed % (seed % 3 ? 200u : UINT32_MAX);
            }
        }
        serve(s, number((unsigned)(seed % 8)));
    }
}

/* ---- a target that lies ---- */

/* A bounced transfer of this rank, and the chunk head as the target has left it. */
struct bounced {
    struct tern_lane     *lane;
    struct tern_link_part part;
    struct test_op        op;
    struct shm_chunk     *chunk;
};

/* Start a get of 100 bytes into the middle of the memory. */
static void bounced_get(struct scene *s, struct bounced *b)
{
    struct tern_xfer xfer = { .part = &b->part, .offset = 64, .local = s->memory + 1000, .len = 100, .get = true };

    EXPECT(tern_shm_bounce_open(s->shm) == TERN_OK);
    EXPECT(s->r.ops->lane_open(s->r.link, &b->lane) == TERN_OK);
    b->part = (struct tern_link_part){ .path = &tern_shm_bounce_path, .size = SIZE, .region = REGION, .rank = 1 };
    EXPECT(tern_shm_bounce_path.start(b->lane, &xfer, &b->op.op) == TERN_PENDING);
    b->chunk = &s->shm->bounce_ctl[0].chunk[__builtin_ctzll(b->op.op.chunks)];
    EXPECT(b->chunk->verb == SHM_GET && b->chunk->offset == 64 && b->chunk->len == 100);
    memset(s->shm->data, 0x77, SHM_CHUNKS * s->shm->chunk_bytes);
}

/* The target reports completion, and the initiator collects the result. */
static void bounced_end(struct scene *s, struct bounced *b, tern_status status)
{
    atomic_store(&b->chunk->state, SHM_CHUNK_DONE);
    s->r.ops->progress(b->lane);
    EXPECT(b->op.done == 1 && b->op.status == status);
    s->r.ops->lane_close(b->lane);
}

static void chunks_that_change(struct scene *s)
{
    static const uint64_t bad[][2] = { /* offset and length */
                                       { 0x700000000000ull, 100 },
                                       { 64, 1ull << 40 },
                                       { 64, SIZE },
                                       { 0, 100 },
                                       { UINT64_MAX, UINT64_MAX }
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (uint32_t verb = SHM_PUT; verb <= SHM_RPC + 1; verb++) {
            struct bounced b = { .lane = NULL };

            bounced_get(s, &b);
            b.chunk->offset = bad[i][0];
            b.chunk->len = bad[i][1];
            b.chunk->verb = verb;
            b.chunk->data = UINT64_MAX;
            b.chunk->status = TERN_OK;
            bounced_end(s, &b, TERN_OK);
            for (unsigned k = 0; k < SIZE; k++)
                EXPECT(s->memory[k] == (k >= 1000 && k < 1100 ? 0x77 : 0x5a));
            memset(s->memory, 0x5a, SIZE);
        }
    }
}

static void no_answer(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    (void)op, (void)bytes, (void)len;
    expect_failed(__FILE__, __LINE__, "an answer that is too long is not passed on");
}

static void answers_too_long(struct scene *s)
{
    static const uint64_t bad[] = { 9, 1ull << 40, UINT64_MAX };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bounced   b = { .lane = NULL };
        struct tern_xfer xfer = { .part = &b.part, .local = s->memory, .len = 8, .get = true };

        EXPECT(s->r.ops->lane_open(s->r.link, &b.lane) == TERN_OK);
        b.part = (struct tern_link_part){ .path = &tern_shm_bounce_path, .size = SIZE, .region = REGION, .rank = 1 };
        EXPECT(s->r.ops->rpc->open(b.lane, &xfer, &b.op.op) == TERN_OK);
        b.op.op.on_response = no_answer;
        s->r.ops->rpc->send(b.lane, &b.op.op, 16, 8);
        b.chunk = &s->shm->bounce_ctl[0].chunk[__builtin_ctzll(b.op.op.chunks)];
        b.chunk->offset = bad[i];
        b.chunk->verb = i % 2 ? SHM_GET : SHM_RPC;
        b.chunk->status = TERN_OK;
        bounced_end(s, &b, TERN_ERR_LINK);
        untouched(s);
    }
}

/* ---- memory handles ---- */

/* Attach the memory that the handle names, as the core does. If that succeeds, touch the first and the last byte and
 * detach. */
static tern_status attach_handle(struct scene *s, const struct tern_mem_handle *handle, const char *path_name)
{
    struct tern_link_part part = { .size = handle->size,
                                   .offset = handle->offset,
                                   .mem_kind = handle->mem_kind,
                                   .region = handle->region,
                                   .rank = 1 };
    tern_status           st = s->r.ops->attach(s->r.link, handle, path_name, &part);

    if (st == TERN_OK) {
        EXPECT(part.base != NULL && part.mapped >= handle->size);
        ((volatile unsigned char *)part.base)[0] = 1;
        ((volatile unsigned char *)part.base)[handle->size - 1] = 1;
    } else {
        EXPECT(part.base == NULL && part.mapped == 0);
    }
    s->r.ops->detach(s->r.link, &part);
    return st;
}

/* The peer's bytes are the last bytes of the arena. */
static void cards_of_the_arena(struct scene *s)
{
    const uint64_t at = s->data.offset;
    const uint64_t bad[][2] = { /* offset and size */
                                { at, BYTES + 1 },     { at, BYTES + 4096 },      { at + BYTES - 4096, 2 * 4096 },
                                { at + BYTES, 1 },     { at + BYTES, 4096 },      { at, 1ull << 45 },
                                { at, UINT64_MAX },    { at, UINT64_MAX - 4095 }, { at, 0 },
                                { 1ull << 45, 4096 },  { 1ull << 63, 4096 },      { -4096ull, 4096 },
                                { -4096ull, 2 * 4096 }
    };
    struct tern_mem_handle handle = { .region = REGION, .mem_kind = TERN_MEM_ARENA, .offset = at, .size = BYTES };

    EXPECT(attach_handle(s, &handle, NULL) == TERN_OK);
    handle.size = BYTES - 4095;
    EXPECT(attach_handle(s, &handle, NULL) == TERN_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        handle.offset = bad[i][0];
        handle.size = bad[i][1];
        handle.mem_kind = TERN_MEM_ARENA;
        EXPECT(attach_handle(s, &handle, NULL) == TERN_ERR_LINK);
        handle.mem_kind = TERN_MEM_HUGE; /* no memory was allocated in that file, or there is no such file */
        EXPECT(attach_handle(s, &handle, NULL) == TERN_ERR_LINK);
    }
}

/* The peer claims that its file is longer than it is, or has truncated the file since. */
static void cards_of_files(struct scene *s)
{
    static const uint64_t  bad[] = { SIZE + 1, 2 * SIZE, 1ull << 45, UINT64_MAX, 0 };
    char                   name[] = "/tmp/tern-link-XXXXXX";
    int                    file = mkstemp(name);
    struct stat            about;
    struct tern_mem_handle handle = { .region = REGION, .mem_kind = TERN_MEM_FILE, .size = SIZE };
    tern_status            st[sizeof(bad) / sizeof(bad[0])], good, cut;

    EXPECT(file >= 0 && ftruncate(file, SIZE) == 0 && fstat(file, &about) == 0);
    handle.device = about.st_dev;
    handle.inode = about.st_ino;
    good = attach_handle(s, &handle, name);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        handle.size = bad[i];
        st[i] = attach_handle(s, &handle, name);
    }
    handle.size = SIZE;
    EXPECT(ftruncate(file, SIZE / 2) == 0);
    cut = attach_handle(s, &handle, name);
    close(file);
    unlink(name);
    EXPECT(good == TERN_OK && cut == TERN_ERR_LINK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT(st[i] == TERN_ERR_LINK);
}

/* The peer tells where the memory of a team is that it has created. */
static void memory_of_a_team(struct scene *s)
{
    static const uint64_t   bad[] = { 0, 4096, TERN_ARENA_CONTROL - 4096, 1ull << 45, UINT64_MAX - 4095 };
    struct tern_link_group  as = { .id = 9, .size = 2 };
    struct tern_link_group *group;
    struct tern_space       space;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        as.space = bad[i];
        EXPECT(s->r.ops->group->open(s->r.link, &as, &group) == TERN_ERR_LINK);
    }
    EXPECT(tern_boot_space_take(&s->r.boot, s->r.boot.arena, s->r.ops->group->space(2), &space) == TERN_OK);
    as.space = space.offset;
    EXPECT(s->r.ops->group->open(s->r.link, &as, &group) == TERN_OK);
    group->ops->close(group);
}

static void play(scene_body *body)
{
    struct scene s = { .data = { 0 } };

    scene_set(&s);
    body(&s);
    s.r.ops->unexpose(s.r.link, REGION);
    s.r.ops->close(s.r.link);
}

SCENE_TEST(a_good_request)
SCENE_TEST(an_unknown_region)
SCENE_TEST(ranges_outside)
SCENE_TEST(bytes_outside)
SCENE_TEST(no_bytes_at_all)
SCENE_TEST(bytes_beyond_the_file)
SCENE_TEST(bytes_that_grow)
SCENE_TEST(numbers_outside)
SCENE_TEST(circles)
SCENE_TEST(a_long_list)
SCENE_TEST(random_bytes)
SCENE_TEST(chunks_that_change)
SCENE_TEST(answers_too_long)
SCENE_TEST(cards_of_the_arena)
SCENE_TEST(cards_of_files)
SCENE_TEST(memory_of_a_team)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_request),   cmocka_unit_test(test_an_unknown_region),
        cmocka_unit_test(test_ranges_outside),   cmocka_unit_test(test_bytes_outside),
        cmocka_unit_test(test_no_bytes_at_all),  cmocka_unit_test(test_bytes_beyond_the_file),
        cmocka_unit_test(test_bytes_that_grow),  cmocka_unit_test(test_numbers_outside),
        cmocka_unit_test(test_circles),          cmocka_unit_test(test_a_long_list),
        cmocka_unit_test(test_random_bytes),     cmocka_unit_test(test_chunks_that_change),
        cmocka_unit_test(test_answers_too_long), cmocka_unit_test(test_cards_of_the_arena),
        cmocka_unit_test(test_cards_of_files),   cmocka_unit_test(test_memory_of_a_team),
    };

    return cmocka_run_group_tests_name("hostile peers", tests, default_options, NULL);
}
