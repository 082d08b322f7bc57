/* dynamic.c: memory that each rank attaches to a region without the others.
 *
 * Promise: attached memory is accessible by its address in every call; memory that is not attached, or no longer, is
 * refused, and is not touched; attach and detach need no other rank. A seeded random stream of attach, detach, put and
 * get agrees with a model. A table of a rank on another node is fetched by gets that can be given up. A program may
 * attach and detach memory forever without using more and more memory.
 *
 * env: TERN_CMA=off
 * env: TERN_TEST=apart=1
 */
#include "job_test.h"

#include <malloc.h>

#include "base/options.h"
#include "core/region_dynamic.h"

static uint64_t addresses[64];

static uint64_t address(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

static void tell(const void *memory)
{
    uint64_t mine = address(memory);

    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), addresses));
}

/* Vector, indexed and strided puts from bytes to the 8192 bytes that right has attached at there. */
static void shapes(tern_region *region, int right, uint64_t there, unsigned char *bytes)
{
    unsigned char back[400];
    int64_t       stride = 16;
    ptrdiff_t     near_stride = 8;
    size_t        four = 4;
    tern_piece    piece = { bytes, 1000 };
    tern_extent   extent[2] = { { there + 4000, 600 }, { there + 3000, 400 } };
    void         *near = bytes;

    OK(tern_put_vector(TERN_WORLD, region, right,
                       &TERN_VECTOR(.local_count = 1, .local = &piece, .remote_count = 2, .remote = extent)));
    OK(tern_get(TERN_WORLD, region, right, there + 3000, back, 400));
    CHECK(memcmp(bytes + 600, back, 400) == 0);
    extent[1].offset = there + 8192 - 399;
    RETURNS(TERN_ERR_RANGE,
            tern_put_vector(TERN_WORLD, region, right,
                            &TERN_VECTOR(.local_count = 1, .local = &piece, .remote_count = 2, .remote = extent)));
    there += 5000;
    OK(tern_put_indexed(TERN_WORLD, region, right,
                        &TERN_INDEXED(.local_count = 1, .local_len = 64, .local = &near, .remote_count = 1,
                                      .remote_len = 64, .remote = &there)));
    OK(tern_put_strided(TERN_WORLD, region, right,
                        &TERN_STRIDED(.dims = 1, .element = 8, .count = &four, .local = bytes,
                                      .local_stride = &near_stride, .remote = there + 104, .remote_stride = &stride)));
    OK(tern_get(TERN_WORLD, region, right, there + 104 + 48, back, 8));
    CHECK(memcmp(bytes + 24, back, 8) == 0);
}

/* Every call with an address. */
static void calls(tern_region *region)
{
    int            me = tern_rank(), size = tern_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    unsigned char *memory = job_new(8192), bytes[1000], back[1000];
    uint64_t       there, old = 1, one = 1;
    tern_event     event;
    tern_acc_args  sum = TERN_ACC_ARGS(.type = TERN_UINT64);

    OK(tern_region_attach(region, memory, 8192));
    tell(memory);
    there = addresses[right];
    job_fill(bytes, sizeof(bytes), (unsigned)me, 1);
    OK(tern_put(TERN_WORLD, region, right, there + 8, bytes, sizeof(bytes)));
    OK(tern_get(TERN_WORLD, region, right, there + 8, back, sizeof(back)));
    CHECK(memcmp(bytes, back, sizeof(bytes)) == 0);
    OK(tern_barrier(TERN_WORLD));
    CHECK(job_put_holds(memory + 8, sizeof(bytes), (unsigned)left, 1));
    OK(tern_barrier(TERN_WORLD));
    memset(back, 0, sizeof(back));
    OK(tern_put(TERN_WORLD, region, right, there, back, sizeof(back)));
    OK(tern_put_nb(TERN_WORLD, region, right, there + 2000, bytes, sizeof(bytes), &event));
    OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_get_nbi(TERN_WORLD, region, right, there + 2000, back, sizeof(back)));
    OK(tern_quiet(TERN_WORLD));
    CHECK(memcmp(bytes, back, sizeof(bytes)) == 0);
    OK(tern_put_u64(TERN_WORLD, region, right, there + 16, 41));
    OK(tern_fadd(TERN_WORLD, region, right, there + 16, (uint64_t)1, &old));
    SAME(old, 41);
    OK(tern_acc(TERN_WORLD, region, right, there + 16, &one, sizeof(one), &sum));
    OK(tern_get_u64(TERN_WORLD, region, right, there + 16, &old));
    SAME(old, 43);
    shapes(region, right, there, bytes);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_detach(region, memory));
    OK(tern_barrier(TERN_WORLD));
    free(memory);
}

/* A notified put and a signal. */
static void notified(tern_region *region)
{
    int           me = tern_rank(), size = tern_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    uint64_t      memory[4] = { 0 };
    uint64_t      value = 100 + (uint64_t)me;
    tern_request *request;
    tern_word     word;

    OK(tern_region_attach(region, memory, sizeof(memory)));
    tell(memory);
    OK(tern_notify_create(TERN_WORLD, region, left, 5, 1, &request));
    OK(tern_request_start(request));
    OK(tern_put_notify(TERN_WORLD, region, right, addresses[right] + 8, &value, sizeof(value), 5));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    SAME(*(volatile uint64_t *)&memory[1], 100 + (uint64_t)left);
    OK(tern_request_free(&request));
    OK(tern_put_signal(
        TERN_WORLD, region, right, addresses[right], &value, sizeof(value),
        &TERN_SIGNAL(.op = TERN_SIGNAL_SET, .region = region, .offset = addresses[right] + 16, .value = 7)));
    word = TERN_WORD(&memory[2], TERN_EQ, 7);
    OK(tern_word_wait(TERN_WORLD, &word, TERN_FOREVER));
    SAME(*(volatile uint64_t *)&memory[0], 100 + (uint64_t)left);
    RETURNS(TERN_ERR_ARG, tern_signal_wait(TERN_WORLD, region, address(&memory[2]), TERN_EQ, 7, TERN_FOREVER, NULL));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_detach(region, memory));
}

static void errors(tern_region *region)
{
    int                  right = (tern_rank() + 1) % tern_size();
    static unsigned char memory[256], guard[64];
    tern_region         *plain, *none = NULL;

    RETURNS(TERN_ERR_ARG, tern_region_open(NULL, &none));
    RETURNS(TERN_ERR_ARG, tern_region_open(TERN_WORLD, NULL));
    OK(tern_region_create(TERN_WORLD, 64, NULL, &plain));
    REFUSES(TERN_ERR_ARG, tern_region_attach(plain, memory, 8));
    REFUSES(TERN_ERR_ARG, tern_region_attach(NULL, memory, 8));
    REFUSES(TERN_ERR_ARG, tern_region_attach(region, NULL, 8));
    REFUSES(TERN_ERR_ARG, tern_region_attach(region, memory, 0));
    REFUSES(TERN_ERR_ARG, tern_region_attach(region, memory, UINT64_MAX));
    REFUSES(TERN_ERR_ARG, tern_region_detach(region, memory));
    REFUSES(TERN_ERR_ARG, tern_region_detach(plain, memory));
    REFUSES(TERN_ERR_ARG, tern_region_grow(region, 1 << 20));
    OK(tern_region_free(plain));
    memset(guard, 3, sizeof(guard));
    tell(memory);
    RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, right, addresses[right], 1)); /* not attached yet */
    SAYS("not attached");
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_attach(region, memory, sizeof(memory)));
    REFUSES(TERN_ERR_ARG, tern_region_attach(region, memory + 255, 8));
    SAYS("overlaps");
    REFUSES(TERN_ERR_ARG, tern_region_adopt(TERN_WORLD, memory + 250, 64, &none));
    SAYS("attached to a region");
    REFUSES(TERN_ERR_ARG, tern_region_detach(region, memory + 1));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_put_u8(TERN_WORLD, region, right, addresses[right] + 255, 1));
    OK(tern_put(TERN_WORLD, region, right, addresses[right] + 400, NULL, 0)); /* no bytes */
    RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, right, addresses[right] + 256, 1));
    RETURNS(TERN_ERR_RANGE, tern_put(TERN_WORLD, region, right, addresses[right] + 250, guard, 7));
    RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, right, addresses[right] - 1, 1));
    RETURNS(TERN_ERR_RANGE, tern_fadd(TERN_WORLD, region, right, (uint64_t)0, (uint64_t)1, &(uint64_t){ 0 }));
    CHECK(tern_region_ptr(region, right) == NULL && tern_region_size(region, right) == 0);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_detach(region, memory));
    memset(memory, 4, sizeof(memory));
    OK(tern_barrier(TERN_WORLD));
    RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, right, addresses[right], 1)); /* no longer */
    OK(tern_barrier(TERN_WORLD));
    ALL_ARE(memory, sizeof(memory), 4);
    ALL_ARE(guard, sizeof(guard), 3);
    OK(tern_region_attach(region, memory, 16)); /* the same address again, shorter */
    OK(tern_barrier(TERN_WORLD));
    OK(tern_put_u8(TERN_WORLD, region, right, addresses[right] + 15, 9));
    RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, right, addresses[right] + 16, 1));
    OK(tern_barrier(TERN_WORLD));
    SAME(*(volatile unsigned char *)&memory[15], 9);
    OK(tern_region_detach(region, memory));
}

static const struct tern_link_path *usual;
static size_t                       longest;

static tern_status watch_get(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    longest = xfer->len > longest ? xfer->len : longest;
    return usual->start(lane, xfer, op);
}

/* Put a word, and note the longest get by which the table of the rank is fetched. */
static void put_watched(tern_region *region, int rank, uint64_t at, uint64_t value)
{
    struct tern_link_part *table = (struct tern_link_part *)(uintptr_t)tern_core_dynamic_table(region, rank);
    struct tern_link_path  watched;

    if (table->base || job_chaos()) { /* this process maps the table, or chaos recognizes its paths by address */
        OK(tern_put_u64(TERN_WORLD, region, rank, at, value));
        return;
    }
    usual = table->path;
    watched = *usual;
    watched.start = watch_get;
    table->path = &watched;
    OK(tern_put_u64(TERN_WORLD, region, rank, at, value));
    table->path = usual;
    CHECK(longest > 0 && longest <= tern_opt.ofi_bounce);
}

/* A rank has damaged an entry of its own table: accesses to its memory fail, and leave no memory behind. */
static void damaged_entry(tern_region *region)
{
    struct tern_dynamic_table *table = region->own.addr;
    static unsigned char       memory[64];
    int                        right = (tern_rank() + 1) % tern_size();
    struct mallinfo2           before = { 0 }, after;

    for (size_t i = 0; i < sizeof(memory); i++)
        OK(tern_region_attach(region, memory + i, 1));
    table->entry[sizeof(memory) - 1].mem_kind = TERN_MEM_NONE;
    atomic_fetch_add(&table->head.sequence, 2);
    tell(memory);
    for (int i = 0; i < 20; i++) {
        RETURNS(TERN_ERR_LINK, tern_put_u8(TERN_WORLD, region, right, addresses[right], 1));
        if (i == 9)
            before = mallinfo2();
    }
    after = mallinfo2();
    CHECK(JOB_SANITIZED || after.uordblks < before.uordblks + 10 * sizeof(memory) * sizeof(struct tern_dynamic_range));
    OK(tern_barrier(TERN_WORLD));
    for (size_t i = 0; i < sizeof(memory); i++)
        OK(tern_region_detach(region, memory + i));
}

/* A peer on the node has damaged the number of entries of this rank's table. */
static void damaged(tern_region *region)
{
    struct tern_dynamic_table *table = region->own.addr;
    static unsigned char       memory[8];

    atomic_store(&table->head.count, UINT64_MAX);
    REFUSES(TERN_ERR_NOMEM, tern_region_attach(region, memory, sizeof(memory)));
    REFUSES(TERN_ERR_ARG, tern_region_detach(region, memory));
    atomic_store(&table->head.count, 0);
}

/* Many ranges. */
static void many(tern_region *region)
{
    enum { MOST = 4096 };
    unsigned char *memory = job_new((MOST + 1) * 16);
    int            right = (tern_rank() + 1) % tern_size();

    for (size_t i = 0; i < MOST; i++)
        OK(tern_region_attach(region, memory + 16 * ((i * 5) % MOST), 8));
    REFUSES(TERN_ERR_NOMEM, tern_region_attach(region, memory + 16 * MOST, 8));
    tell(memory);
    put_watched(region, right, addresses[right] + 16 * (MOST - 1), 12);
    RETURNS(TERN_ERR_RANGE, tern_put_u64(TERN_WORLD, region, right, addresses[right] + 8, 12));
    OK(tern_barrier(TERN_WORLD));
    SAME(*(volatile uint64_t *)(void *)(memory + 16 * (MOST - 1)), 12);
    for (size_t i = 0; i < MOST; i++)
        OK(tern_region_detach(region, memory + 16 * i));
    OK(tern_barrier(TERN_WORLD));
    free(memory);
}

/* All ranks draw the same numbers, so that each knows what every rank has attached. */
static void model(tern_region *region)
{
    enum { ROUNDS = 150, SLOTS = 6, SLOT = 3000 };
    int            me = tern_rank(), size = tern_size();
    uint64_t       seed = job_seed(2102), len[64][SLOTS] = { { 0 } };
    unsigned char *memory = job_new(SLOTS * SLOT), *image = job_new((size_t)size * SLOTS * SLOT), *back = job_new(SLOT);

    CHECK(size <= 64);
    tell(memory);
    for (unsigned round = 0; round < ROUNDS; round++) {
        int      rank = (int)(job_random(&seed) % (uint64_t)size), who = (int)(job_random(&seed) % (uint64_t)size);
        size_t   slot = job_random(&seed) % SLOTS;
        uint64_t kind = job_random(&seed) % 4, bytes = job_random(&seed) % SLOT + 1, *has = &len[rank][slot];
        uint64_t at = addresses[rank] + slot * SLOT, from = job_random(&seed) % SLOT;
        uint64_t part = job_random(&seed) % (SLOT - from) + 1;
        unsigned char *shadow = image + ((size_t)rank * SLOTS + slot) * SLOT;
        bool           inside = *has > 0 && from + part <= *has;

        if (kind == 0) { /* attach or detach */
            if (me == rank && *has == 0)
                OK(tern_region_attach(region, memory + slot * SLOT, bytes));
            else if (me == rank)
                OK(tern_region_detach(region, memory + slot * SLOT));
            *has = *has == 0 ? bytes : 0;
        } else if (kind < 3 && me == who) { /* put */
            job_fill(back, part, (unsigned)who, round);
            RETURNS(inside ? TERN_OK : TERN_ERR_RANGE, tern_put(TERN_WORLD, region, rank, at + from, back, part));
        } else if (me == who) { /* get */
            RETURNS(inside ? TERN_OK : TERN_ERR_RANGE, tern_get(TERN_WORLD, region, rank, at + from, back, part));
            CHECK(!inside || memcmp(back, shadow + from, part) == 0);
        }
        if ((kind == 1 || kind == 2) && inside)
            job_fill(shadow + from, part, (unsigned)who, round);
        OK(tern_barrier(TERN_WORLD));
    }
    CHECK(job_differ(memory, image + (size_t)me * SLOTS * SLOT, SLOTS * SLOT) == 0);
    for (size_t slot = 0; slot < SLOTS; slot++)
        if (len[me][slot] > 0)
            OK(tern_region_detach(region, memory + slot * SLOT));
    OK(tern_barrier(TERN_WORLD));
    free(memory);
    free(image);
    free(back);
}

/* Attach memory, use it and detach it, very often. The C library counts the memory that is in use; sanitizers replace
 * it, and count nothing. */
static void again_and_again(tern_region *region)
{
    static uint64_t words[16];
    size_t          before = 0, after;

    for (unsigned i = 0; i < 3600; i++) {
        uint64_t *word = &words[i % 16];

        if (i == 1200)
            before = mallinfo2().uordblks;
        OK(tern_region_attach(region, word, sizeof(*word)));
        OK(tern_put_u64(TERN_WORLD, region, tern_rank(), address(word), i));
        SAME(*word, i);
        OK(tern_region_detach(region, word));
        if (i % 512 == 0)
            REFUSES(TERN_ERR_RANGE, tern_put_u64(TERN_WORLD, region, tern_rank(), address(word), 0));
    }
    after = mallinfo2().uordblks;
    CHECK(after < before + 400000); /* less than 200 bytes for each time */
}

int main(void)
{
    tern_region *region, *second;
    static char  left_attached[100];

    OK(tern_init());
    OK(tern_region_open(TERN_WORLD, &region));
    OK(tern_region_open(TERN_WORLD, &second));
    errors(region);
    calls(region);
    notified(region);
    damaged(region);
    damaged_entry(region);
    many(region);
    model(region);
    again_and_again(region);
    OK(tern_region_attach(region, left_attached, sizeof(left_attached)));
    OK(tern_region_attach(second, left_attached, sizeof(left_attached))); /* in two regions */
    OK(tern_region_free(second));
    RETURNS(TERN_ERR_STATE, tern_region_attach(second, left_attached, 1));
    OK(tern_region_free(region)); /* detaches the memory */
    OK(tern_finalize());
    return 0;
}
