/* gone_job.c: what becomes of ranks, and of memory, that are gone. Rank 0 says "held" when the promise holds.
 *
 *   gone_job memory   rank 1 dies; when rank 0 has freed the region, the memory of both parts is the system's again
 *   gone_job left     rank 1 has left the job, because the others did not come in time: a bounced put to it ends
 *   gone_job detail   a put without an event fails at its end: tern_quiet tells which, not what failed in a call before
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

#include "job_test.h"

#define PART (64u << 20)

static long shmem_kib(void)
{
    char  line[128];
    long  kib = -1;
    FILE *file = fopen("/proc/meminfo", "re");

    while (file && fgets(line, sizeof(line), file) && sscanf(line, "Shmem: %ld", &kib) != 1)
        ;
    if (file)
        fclose(file);
    return kib;
}

static void run_memory(void)
{
    tern_region *region;
    long         before = shmem_kib();

    EXPECT(TERN_OK, tern_region_alloc(TERN_WORLD, PART, NULL, &region));
    if (tern_rank() == 1)
        raise(SIGKILL);
    while (tern_peer_check(1) == TERN_OK)
        usleep(1000);
    REQUIRE(shmem_kib() - before > (long)(PART / 1024) * 3 / 2);
    EXPECT(TERN_OK, tern_region_free(region));
    REQUIRE(shmem_kib() - before < (long)(PART / 1024) / 2);
}

static void run_left(void)
{
    static char  memory[4096];
    tern_region *region;

    EXPECT(TERN_OK, tern_region_register(TERN_WORLD, memory, sizeof(memory), &region));
    if (tern_rank() == 1)
        return; /* to tern_finalize, which rank 0 keeps waiting */
    REQUIRE(strcmp(tern_region_path(region, 1), job_far(1) ? "ofi" : "bounce") == 0);
    sleep(1);
    tern_ctx_set_timeout(TERN_WORLD, 0); /* no limit: it must end by itself */
    EXPECT(TERN_ERR_PEER, tern_put(TERN_WORLD, region, 1, 0, "abc", 4));
    REQUIRE(strstr(tern_error_detail(), "rank 1") != NULL);
}

static void run_detail(void)
{
    size_t       bytes = 1 << 16;
    char        *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char         data[100] = "data";
    tern_region *region;

    EXPECT(TERN_OK, tern_region_register(TERN_WORLD, memory, bytes, &region));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    if (tern_rank() == 1)
        munmap(memory, bytes);
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        EXPECT(TERN_OK, tern_put_nbi(TERN_WORLD, region, 1, 0, data, sizeof(data)));
        EXPECT(TERN_ERR_RANGE, tern_put(TERN_WORLD, region, 77, 0, data, 4));
        EXPECT(TERN_ERR_LINK, tern_quiet(TERN_WORLD));
        REQUIRE(strstr(tern_error_detail(), "tern_quiet") && strstr(tern_error_detail(), "put of 100 bytes"));
        EXPECT(TERN_OK, tern_quiet(TERN_WORLD)); /* told once */
    }
    EXPECT(TERN_OK, tern_region_free(region));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int         first;

    EXPECT(TERN_OK, tern_init());
    first = tern_rank() == 0;
    if (strcmp(how, "memory") == 0)
        run_memory();
    else if (strcmp(how, "left") == 0)
        run_left();
    else
        run_detail();
    tern_finalize(); /* times out for a rank that leaves alone */
    if (first && !job_broken)
        puts("held");
    return job_broken;
}
