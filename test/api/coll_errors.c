/* coll_errors.c: wrong arguments of collective calls.
 *
 * Promise: arguments that are wrong by themselves are refused with a text that says what is wrong, nothing is sent, and
 * the team works afterwards.
 *
 * ranks: 2 3 4
 * keep: 4
 * poor: off, because the messages are those of every network
 * imposed: off, because the messages are those of every network
 */
#include "job_test.h"

static int      me, size;
static uint64_t word[64], other[64];

static const tern_reduce_args sum = { .size = sizeof(sum), .type = TERN_UINT64 };

static void refused(void)
{
    tern_event       event;
    const size_t     lengths[8] = { 8, 8, 8, 8, 8, 8, 8, 8 }, huge[8] = { SIZE_MAX, SIZE_MAX };
    tern_reduce_args odd = sum;

    RETURNS(TERN_ERR_ARG, tern_sync(NULL));
    RETURNS(TERN_ERR_RANGE, tern_broadcast(TERN_WORLD, size, word, 8));
    SAYS("tern_broadcast: root ");
    RETURNS(TERN_ERR_RANGE, tern_reduce(TERN_WORLD, -1, word, other, 1, &sum));
    RETURNS(TERN_ERR_ARG, tern_broadcast(TERN_WORLD, 0, NULL, 8));
    RETURNS(TERN_ERR_ARG, tern_allreduce(TERN_WORLD, word, NULL, 1, &sum));
    RETURNS(TERN_ERR_ARG, tern_allreduce(TERN_WORLD, word, other, 1, NULL));
    RETURNS(TERN_ERR_RANGE, tern_allreduce(TERN_WORLD, word, other, SIZE_MAX / 4, &sum));
    RETURNS(TERN_ERR_ARG, tern_allreduce(TERN_WORLD, word, word + 1, 2, &sum));
    SAYS("overlap");
    RETURNS(TERN_ERR_ARG, tern_alltoall(TERN_WORLD, word, word, 8));
    RETURNS(TERN_ERR_RANGE, tern_allgather_with(TERN_WORLD, word, SIZE_MAX / 2, other, &TERN_OPTS(.event = &event)));
    RETURNS(TERN_ERR_RANGE, tern_allgather(TERN_WORLD, word, SIZE_MAX / 2, other));
    RETURNS(TERN_ERR_ARG, tern_allgather(TERN_WORLD, (char *)word + 1, 8, word));
    SAYS("overlap");
    RETURNS(TERN_ERR_RANGE,
            tern_alltoallv(TERN_WORLD, word, &TERN_BLOCKS(.len = huge), other, &TERN_BLOCKS(.len = huge)));
    RETURNS(TERN_ERR_ARG, tern_allgatherv(TERN_WORLD, word, 16, other, &TERN_BLOCKS(.len = lengths)));
    SAYS("len is 16");
    odd.op = TERN_AND;
    odd.type = TERN_DOUBLE;
    RETURNS(TERN_ERR_ARG, tern_allreduce(TERN_WORLD, word, other, 1, &odd));
    SAYS("TERN_DOUBLE does not have the reduction TERN_AND");
    odd.op = TERN_REPLACE;
    odd.type = TERN_UINT64;
    RETURNS(TERN_ERR_ARG, tern_allreduce(TERN_WORLD, word, other, 1, &odd));
    odd.op = TERN_USER;
    RETURNS(TERN_ERR_ARG, tern_scan(TERN_WORLD, word, other, 1, &odd));
    RETURNS(TERN_ERR_ARG, tern_sync_with(TERN_WORLD, NULL));
    RETURNS(TERN_ERR_ARG, tern_barrier_with(TERN_WORLD, NULL));
    RETURNS(TERN_ERR_ARG, tern_barrier_with(TERN_WORLD, &TERN_OPTS(.flags = TERN_WANT_EVENT)));
    RETURNS(TERN_ERR_ARG, tern_sync_with(TERN_WORLD, &TERN_OPTS(.flags = 0)));
    SAYS("neither an event nor a counter");
    RETURNS(TERN_ERR_ARG, tern_sync_with(TERN_WORLD, &TERN_OPTS(.event = &event, .local = &event)));
    RETURNS(TERN_ERR_ARG, tern_alltoalls(TERN_WORLD, word, other, &TERN_ALLTOALLS_ARGS(.elem = 8, .count = 1)));
    word[0] = 1;
    OK(tern_allreduce(TERN_WORLD, word, other, 1, &sum));
    SAME(other[0], (uint64_t)size);
}

/* Blocks that a call writes overlap no other memory of the call. Blocks that are only read may overlap. */
static void overlapping_blocks(void)
{
    const size_t      lengths[8] = { 16, 16, 16, 16, 16, 16, 16, 16 };
    const size_t      even[8] = { 0, 32, 64, 96, 128, 160, 192, 224 }, down[8] = { 224, 192, 160, 128, 96, 64, 32, 0 };
    size_t            close[8] = { 0, 16, 32, 48, 64, 80, 96, 112 };
    const tern_blocks apart = TERN_BLOCKS(.len = lengths, .offset = even);
    const tern_blocks tight = TERN_BLOCKS(.len = lengths, .offset = close);
    unsigned char    *bytes = (unsigned char *)word, *own = (unsigned char *)other;

    close[size - 1] -= 8; /* the last block overlaps the one before it */
    RETURNS(TERN_ERR_ARG, tern_allgatherv(TERN_WORLD, other, 16, word, &tight));
    SAYS("of the result overlap");
    RETURNS(TERN_ERR_ARG, tern_alltoallv(TERN_WORLD, other, &apart, word, &tight));
    RETURNS(TERN_ERR_ARG, tern_gatherv(TERN_WORLD, me, other, 16, word, &tight));
    RETURNS(TERN_ERR_ARG, tern_scatterv(TERN_WORLD, me, word, &apart, bytes + even[size - 1 - me] + 8, 16));
    RETURNS(TERN_ERR_ARG, tern_alltoallv(TERN_WORLD, bytes, &apart, bytes + 8, &apart));
    RETURNS(TERN_ERR_ARG, tern_allgatherv(TERN_WORLD, bytes + 8, 16, bytes, &apart));
    if (me >= size - 2) { /* in place: the rank's own block is written, and another rank's block overlaps it */
        RETURNS(TERN_ERR_ARG, tern_scatterv(TERN_WORLD, me, word, &tight, bytes + close[me], 16));
        SAYS("overlap");
    }

    for (int i = 0; i < 64; i++)
        other[i] = 1;
    OK(tern_alltoallv(TERN_WORLD, other, &tight, word, &apart)); /* read twice */
    for (int i = 0; i < size; i++)
        SAME(word[4 * i + 1], 1u);
    for (int i = 0; i < 64; i++)
        word[i] = (uint64_t)(100 * me + i);
    OK(tern_alltoallv(TERN_WORLD, bytes, &apart, bytes + 16, &apart)); /* in each other's gaps */
    for (int i = 0; i < size; i++)
        SAME(word[4 * i + 2], (uint64_t)(100 * i + 4 * me));
    memset(own, me + 1, 16);
    memcpy(bytes + 16, own, 16);
    OK(tern_allgatherv(TERN_WORLD, bytes + 16, 16, bytes, &TERN_BLOCKS(.len = lengths, .offset = down)));
    for (int i = 0; i < size; i++)
        SAME(bytes[down[i] + 15], i + 1);
}

/* New types and reductions are refused by accumulates. */
static void others_refuse(void)
{
    tern_region *region;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, region, 0, 0, word, 16, &TERN_ACC_ARGS(.type = TERN_LONG_DOUBLE)));
    RETURNS(TERN_ERR_ARG,
            tern_acc(TERN_WORLD, region, 0, 0, word, 8, &TERN_ACC_ARGS(.type = TERN_UINT64, .op = TERN_MINLOC)));
    OK(tern_region_free(region));
}

int main(void)
{
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    refused();
    overlapping_blocks();
    others_refuse();
    OK(tern_finalize());
    return 0;
}
