/* addresses.c: lists that contain remote addresses instead of offsets, by the base of vector and indexed transfers.
 *
 * Promise: base is subtracted from each remote entry, in every shaped call and on every path; a piece outside of the
 * part is refused, also where the subtraction wraps around.
 *
 * env: TERN_CMA=off
 */
#include "job_test.h"

#define PIECES 100
#define PIECE 24
#define PART (PIECES * 2 * PIECE)

static uint64_t base[64]; /* address of each rank's part in its own address space */

/* The pieces of a transfer with the next rank, once as a vector and once as two lists of equal pieces. */
struct pieces {
    tern_piece   piece[PIECES];
    tern_extent  extent[PIECES];
    void        *near[PIECES];
    uint64_t     far[PIECES];
    tern_vector  vector;
    tern_indexed indexed;
};

/* Describe pieces of src, and of back, which lie in the opposite order at the rank whose part begins at remote. */
static void describe(struct pieces *p, uint64_t remote, unsigned char *src, unsigned char *back)
{
    for (size_t i = 0; i < PIECES; i++) {
        uint64_t at = remote + (PIECES - 1 - i) * 2 * PIECE;

        p->piece[i] = (tern_piece){ src + i * PIECE, PIECE };
        p->extent[i] = (tern_extent){ at, PIECE };
        p->near[i] = back + i * PIECE;
        p->far[i] = at;
    }
    p->vector = TERN_VECTOR(.local_count = PIECES, .local = p->piece, .remote_count = PIECES, .remote = p->extent,
                            .base = remote);
    p->indexed = TERN_INDEXED(.local_count = PIECES, .local_len = PIECE, .local = p->near, .remote_count = PIECES,
                              .remote_len = PIECE, .remote = p->far, .base = remote);
}

/* Pieces outside of the part. */
static void refused(const struct job_region *r, int right, struct pieces *p)
{
    p->extent[3].offset = base[right] - 1; /* before the part */
    RETURNS(TERN_ERR_RANGE, tern_put_vector(TERN_WORLD, r->region, right, &p->vector));
    SAYS("piece 3");
    p->far[5] = base[right] + PART - PIECE + 1;
    RETURNS(TERN_ERR_RANGE, tern_put_indexed(TERN_WORLD, r->region, right, &p->indexed));
    SAYS("piece 5");
    p->far[5] = 0;
    RETURNS(TERN_ERR_RANGE, tern_put_indexed(TERN_WORLD, r->region, right, &p->indexed));
}

static void lists(enum job_kind kind)
{
    int               me = tern_rank(), size = tern_size(), right = (me + 1) % size, left = (me + size - 1) % size;
    struct job_region r;
    unsigned char     src[PIECES * PIECE], back[PIECES * PIECE];
    struct pieces     p;
    uint64_t          mine;
    tern_acc_args     sum = TERN_ACC_ARGS(.type = TERN_UINT64);

    job_region_make(&r, kind, PART);
    mine = (uint64_t)(uintptr_t)r.mine;
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), base));
    describe(&p, base[right], src, back);
    job_fill(src, sizeof(src), (unsigned)me, 1);
    OK(tern_put_vector(TERN_WORLD, r.region, right, &p.vector));
    OK(tern_get_indexed(TERN_WORLD, r.region, right, &p.indexed));
    CHECK(memcmp(src, back, sizeof(src)) == 0);
    OK(tern_barrier(TERN_WORLD));
    for (size_t i = 0; i < PIECES; i++) {
        const unsigned char *at = r.mine + (PIECES - 1 - i) * 2 * PIECE;

        for (size_t j = 0; j < PIECE; j++)
            CHECK(*(const volatile unsigned char *)&at[j] == job_byte((unsigned)left, 1, i * PIECE + j));
    }
    OK(tern_barrier(TERN_WORLD));
    memset(src, 0, sizeof(src));
    OK(tern_put_vector_nbi(TERN_WORLD, r.region, right, &p.vector));
    OK(tern_quiet(TERN_WORLD));
    for (size_t i = 0; i < PIECES * PIECE / 8; i++)
        memcpy(src + 8 * i, &(uint64_t){ i }, 8);
    memcpy(back, src, sizeof(src));
    OK(tern_acc_vector(TERN_WORLD, r.region, right, &p.vector, &sum));
    OK(tern_acc_indexed(TERN_WORLD, r.region, right, &p.indexed, &sum));
    OK(tern_get_vector(TERN_WORLD, r.region, right, &p.vector));
    for (size_t i = 0; i < PIECES * PIECE / 8; i++)
        CHECK(memcmp(src + 8 * i, &(uint64_t){ 2 * i }, 8) == 0);
    refused(&r, right, &p);
    p.indexed.remote_count = PIECES / 2; /* pieces of different lengths */
    p.indexed.remote_len = 2 * PIECE;
    p.far[5] = p.far[4];
    OK(tern_get_indexed(TERN_WORLD, r.region, right, &p.indexed));
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&r);
}

int main(void)
{
    OK(tern_init());
    CHECK(tern_size() <= 64);
    for (int kind = 0; kind < JOB_KINDS; kind++)
        lists((enum job_kind)kind);
    OK(tern_finalize());
    return 0;
}
