/* gaps.c: transfers of extents between which the target's memory cannot be read.
 *
 * Promise: a get of many extents touches only the extents: where each extent could be fetched by itself, one call can
 * fetch all of them, whatever is between them.
 *
 * ranks: 2 3
 */
#include <sys/mman.h>

#include "job_test.h"

#define PIECES 8u
#define PIECE 8u

/* Extents on the two neighbours of the middle page, close to it. */
static uint64_t place(unsigned i, size_t page)
{
    return (i < PIECES / 2 ? page - 200 : 2 * page + 8) + 32 * (uint64_t)(i % (PIECES / 2));
}

int main(void)
{
    size_t         page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char  got[PIECES * PIECE];
    tern_piece     pieces[PIECES];
    tern_extent    extents[PIECES];
    tern_vector    v = TERN_VECTOR(.local_count = PIECES, .local = pieces, .remote_count = PIECES, .remote = extents);
    tern_region   *region;

    OK(tern_init());
    CHECK(memory != MAP_FAILED);
    job_fill(memory, 3 * page, (unsigned)tern_rank(), 1);
    CHECK(mprotect(memory + page, page, PROT_NONE) == 0);
    OK(tern_region_register(TERN_WORLD, memory, 3 * page, &region));
    for (int rank = 0; rank < tern_size(); rank++) {
        memset(got, 0, sizeof(got));
        for (unsigned i = 0; i < PIECES; i++) {
            pieces[i] = (tern_piece){ got + PIECE * i, PIECE };
            extents[i] = (tern_extent){ place(i, page), PIECE };
        }
        OK(tern_get_vector(TERN_WORLD, region, rank, &v));
        for (unsigned i = 0; i < PIECES; i++)
            for (unsigned k = 0; k < PIECE; k++)
                CHECK(got[PIECE * i + k] == job_byte((unsigned)rank, 1, place(i, page) + k));
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
