/* everyone_job.c: promise: every rank can put to every other rank, and before its first put it has connections only to
 * the few ranks with which it communicates in a barrier.
 */
#include "job_test.h"

#include <dirent.h>

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int  count = 0;

    CHECK(dir != NULL);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 3; /* . and .. and the directory itself */
}

int main(void)
{
    struct job_region words;
    int               me, n, before;

    OK(tern_init());
    me = tern_rank();
    n = tern_size();
    job_region_make(&words, JOB_HOST, 8 * (size_t)n);
    OK(tern_barrier(TERN_WORLD));
    before = open_files();
    CHECK(n < 64 || before < n); /* one for each of log2 n peers, and those that the network and Tern always need */
    for (int i = 1; i <= n; i++)
        OK(tern_put_u64(TERN_WORLD, words.region, (me + i) % n, 8 * (uint64_t)me, 1000 + (uint64_t)me));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < n; i++) {
        uint64_t got = 0;

        memcpy(&got, words.mine + 8 * (size_t)i, 8);
        SAME(got, 1000 + (uint64_t)i);
    }
    if (me == 0)
        printf("%d ranks, all reached\n", n);
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&words);
    OK(tern_finalize());
    return 0;
}
