/* large.c: regions above 4 GiB.
 *
 * Promise: sizes and offsets are 64 bits wide everywhere: both ends and the 4 GiB boundary can be reached, also by one
 * transfer across it, and low offsets are not touched meanwhile.
 *
 * ranks: 1 2
 * chaos: off, because it only takes longer
 * timeout: 300
 * labels: slow
 * lock: memory
 */
#include <sys/mman.h>

#include "job_test.h"

#define GIB (1ull << 30)
#define SIZE (4 * GIB + GIB / 4)
#define PIECE (1u << 20)

static uint64_t available(void)
{
    unsigned long long kib = 0;
    char               line[256];
    FILE              *file = fopen("/proc/meminfo", "r");

    while (file && kib == 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %llu", &kib) != 1)
            kib = 0;
    if (file)
        fclose(file);
    return kib * 1024;
}

static void reach(tern_region *region, int to, uint64_t offset, unsigned when, unsigned char *buffer)
{
    unsigned me = (unsigned)tern_rank();

    job_fill(buffer, PIECE, me, when);
    OK(tern_put(TERN_WORLD, region, to, offset, buffer, PIECE));
    memset(buffer, 0, PIECE);
    OK(tern_get(TERN_WORLD, region, to, offset, buffer, PIECE));
    HOLDS(buffer, PIECE, me, when);
}

static void both_ends(tern_region *region, unsigned char *mine, unsigned char *buffer)
{
    static const uint64_t at[] = { 0, 4 * GIB - PIECE / 2, 4 * GIB + PIECE, SIZE - PIECE };
    unsigned              me = (unsigned)tern_rank(), size = (unsigned)tern_size();
    int                   right = (int)((me + 1) % size);

    OK(tern_barrier(TERN_WORLD));
    for (unsigned i = 0; i < 4; i++)
        reach(region, right, at[i], i, buffer);
    OK(tern_put_u64(TERN_WORLD, region, right, 4 * GIB + 16 * PIECE, 77));
    RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, right, SIZE, 1));
    OK(tern_barrier(TERN_WORLD));
    for (unsigned i = 0; i < 4; i++)
        HOLDS(mine + at[i], PIECE, (me + size - 1) % size, i);
    CHECK(mine[4 * GIB + 16 * PIECE] == 77 && mine[16 * PIECE] == 0);
}

int main(void)
{
    unsigned char *buffer = job_new(PIECE), *memory;
    tern_region   *region;
    uint64_t       space, spaces[64];

    OK(tern_init());
    space = available();
    OK(tern_allgather(TERN_WORLD, &space, sizeof(space), spaces));
    if (JOB_SANITIZED || spaces[0] < (unsigned)tern_size() * SIZE + 2 * GIB) {
        OK(tern_finalize());
        free(buffer);
        return JOB_SKIP;
    }
    OK(tern_region_create(TERN_WORLD, SIZE, NULL, &region));
    SAME(tern_region_size(region, tern_size() - 1), SIZE);
    both_ends(region, tern_region_ptr(region, tern_rank()), buffer);
    OK(tern_region_free(region));
    memory = mmap(NULL, (size_t)SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    OK(tern_region_register(TERN_WORLD, memory, SIZE, &region));
    both_ends(region, memory, buffer);
    OK(tern_region_free(region));
    munmap(memory, SIZE);
    OK(tern_finalize());
    free(buffer);
    return 0;
}
