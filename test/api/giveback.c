/* giveback.c: memory returns to the system when a region is freed.
 *
 * Promise: creating and freeing regions for ever takes no more memory than one of them; the numbers of descriptors and
 * mappings do not grow either.
 *
 * ranks: 1 2 4
 * chaos: off, because it is about memory that is given back, and takes long
 */
#include "job_test.h"

/* The number of lines of /proc/self/maps that show the arena or a file of this job. */
static unsigned mappings(void)
{
    char     line[512];
    unsigned count = 0;
    FILE    *file = fopen("/proc/self/maps", "r");

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, "memfd:tern") || strstr(line, "tern-test");
    fclose(file);
    return count;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    char     name[64], target[8];

    for (int fd = 0; fd < 256; fd++) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        count += readlink(name, target, sizeof(target)) >= 0;
    }
    return count;
}

static void cycle(enum job_kind kind, uint64_t size, int times)
{
    struct job_region r;
    uint64_t          before, during;
    unsigned          maps, fds;

    job_region_make(&r, kind, size); /* once, for one-time allocations such as the bounce buffer */
    job_region_drop(&r);
    OK(tern_barrier(TERN_WORLD));
    before = job_arena_bytes(), maps = mappings(), fds = descriptors();
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < times; i++) {
        job_region_make(&r, kind, size);
        r.mine[0] = r.mine[size - 1] = 1;
        during = job_arena_bytes();
        if (kind == JOB_HOST) /* at least this rank's, at most everyone's, in pages */
            CHECK(during >= before + size && during <= before + (size + 4095) * (uint64_t)tern_size());
        job_region_drop(&r);
    }
    OK(tern_barrier(TERN_WORLD));
    SAME(job_arena_bytes(), before);
    SAME(mappings(), maps);
    SAME(descriptors(), fds);
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    OK(tern_init());
    cycle(JOB_HOST, JOB_SANITIZED ? 4u << 20 : (64u << 20) / (unsigned)tern_size(), JOB_SANITIZED ? 20 : 50);
    cycle(JOB_HOST, 1, 200);
    cycle(JOB_HUGE, 100000, 50);
    cycle(JOB_FILE, 100000, 50);
    cycle(JOB_REGISTERED, 100000, 100);
    OK(tern_finalize());
    return 0;
}
