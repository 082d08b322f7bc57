/* shapes_remote.c: shapes that span more than 4 GiB.
 *
 * Promise: strides, offsets and addresses are 64 bits wide on every method of a shape: extents are gigabytes apart, on
 * the remote and on the local side, forwards and backwards. The memory is registered and sparse: only pages that are
 * touched exist.
 *
 * ranks: 1 2 3
 * env: TERN_CMA=off
 */
#include <sys/mman.h>

#include "shape_test.h"

#define GIB (1ull << 30)
#define SIZE (6 * GIB)
#define ELEMENTS 6
#define LONGEST (1u << 20)

static unsigned char *memory, *local;
static tern_region   *region;
static int            right;

static unsigned char *sparse(void)
{
    void *at = mmap(NULL, (size_t)SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at != MAP_FAILED ? at : NULL;
}

/* Whether every rank has its memory: an address space limit may forbid it. */
static bool all_have(void)
{
    bool mine = memory && local, all[64], have = true;

    CHECK(tern_size() <= 64);
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    for (int i = 0; i < tern_size(); i++)
        have = have && all[i];
    return have;
}

static unsigned char byte_of(int who, uint64_t element, size_t i)
{
    return job_byte((unsigned)who, (unsigned)element, i);
}

static void fill(unsigned char *at, int who, uint64_t element, size_t len)
{
    for (size_t i = 0; i < len; i++)
        at[i] = byte_of(who, element, i);
}

/* Whether these bytes are those of a rank's element. */
static bool is_of(const unsigned char *at, int who, uint64_t element, size_t len)
{
    static unsigned char expected[LONGEST];

    fill(expected, who, element, len);
    return job_differ(at, expected, len) == 0;
}

/* Elements a gigabyte apart, from the last to the first on the local side and from the first to the last on the remote
 * side. */
static void strided(size_t len)
{
    int64_t      step = (int64_t)GIB - 4096;
    int          left = (right + 2 * (tern_size() - 1)) % tern_size();
    tern_strided s =
        TERN_STRIDED(.dims = 1, .element = len, .count = (size_t[]){ ELEMENTS },
                     .local = local + (ELEMENTS - 1) * GIB + 4096, .local_stride = (ptrdiff_t[]){ -(ptrdiff_t)GIB },
                     .remote = 5 * 4096, .remote_stride = (int64_t[]){ step });

    for (uint64_t i = 0; i < ELEMENTS; i++)
        fill((unsigned char *)s.local - i * GIB, tern_rank(), i, len);
    OK(tern_put_strided(TERN_WORLD, region, right, &s));
    OK(tern_barrier(TERN_WORLD));
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        unsigned char *at = memory + s.remote + i * (uint64_t)step;

        CHECK(is_of(at, left, i, len));
        CHECK(job_differ(at - 1, "", 1) == 0 && job_differ(at + len, "", 1) == 0);
    }
    for (uint64_t i = 0; i < ELEMENTS; i++)
        memset((unsigned char *)s.local - i * GIB, 0, len);
    OK(tern_get_strided(TERN_WORLD, region, right, &s));
    for (uint64_t i = 0; i < ELEMENTS; i++)
        CHECK(is_of((unsigned char *)s.local - i * GIB, tern_rank(), i, len));
    OK(tern_barrier(TERN_WORLD));
}

/* Many small extents on either side of 4 GiB, as lists. */
static void listed(void)
{
    uint64_t     offset[200];
    void        *addr[200];
    tern_indexed x = TERN_INDEXED(.local_count = 200, .local_len = 8, .local = addr, .remote_count = 200,
                                  .remote_len = 8, .remote = offset);
    int          left = (right + 2 * (tern_size() - 1)) % tern_size();

    for (uint64_t i = 0; i < 200; i++) {
        offset[i] = 4 * GIB + 24 * i - 2400;
        addr[i] = local + 5 * GIB - 32 * i;
        fill(addr[i], tern_rank(), i, 8);
    }
    OK(tern_put_indexed(TERN_WORLD, region, right, &x));
    OK(tern_barrier(TERN_WORLD));
    for (uint64_t i = 0; i < 200; i++)
        CHECK(is_of(memory + offset[i], left, i, 8) && job_differ(memory + offset[i] + 8, (char[16]){ 0 }, 16) == 0);
    for (uint64_t i = 0; i < 200; i++)
        memset(addr[i], 0, 8);
    OK(tern_get_indexed(TERN_WORLD, region, right, &x));
    for (uint64_t i = 0; i < 200; i++)
        CHECK(is_of(addr[i], tern_rank(), i, 8));
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    OK(tern_init());
    right = (tern_rank() + 1) % tern_size();
    memory = sparse();
    local = sparse();
    if (!all_have()) {
        OK(tern_finalize());
        return 77;
    }
    OK(tern_region_register(TERN_WORLD, memory, SIZE, &region));
    for (size_t len = 1; len <= LONGEST; len *= 32) {
        strided(len);
        OK(tern_barrier(TERN_WORLD));
    }
    listed();
    OK(tern_region_free(region));
    munmap(memory, SIZE);
    munmap(local, SIZE);
    OK(tern_finalize());
    return 0;
}
