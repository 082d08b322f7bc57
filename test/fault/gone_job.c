/* gone_job.c: ranks that have died or left, and their memory. Rank 0 prints "held" if the promise holds.
 *
 *   gone_job memory   rank 1 dies; when rank 0 has freed the region, the system has the memory of both parts back
 *   gone_job left     rank 1 has left the job, because the others did not call tern_finalize in time: a bounced put to
 *                     rank 1 ends
 *   gone_job detail   a put without an event fails at its end: the text of tern_quiet describes this put, and not an
 *                     earlier error
 */
#include <signal.h>
#include <sys/mman.h>

#include "job_test.h"

#define PART (64u << 20)

static void run_memory(void)
{
    tern_region *region;
    uint64_t     before = job_arena_bytes();

    EXPECT(TERN_OK, tern_region_create(TERN_WORLD, PART, NULL, &region));
    if (tern_rank() == 1)
        raise(SIGKILL);
    while (tern_peer_check(1) == TERN_OK)
        usleep(1000);
    REQUIRE(job_arena_bytes() - before > PART / 2 * 3);
    EXPECT(TERN_OK, tern_region_free(region));
    REQUIRE(job_arena_bytes() < before + PART / 2);
}

/* The file by which rank 1 tells rank 0 that it has left. */
static const char *left_file(void)
{
    static char path[512];
    const char *dir = getenv("FAULT_DIR");

    snprintf(path, sizeof(path), "%s/left", dir ? dir : "/tmp");
    return path;
}

static void run_left(void)
{
    static char  memory[4096];
    tern_region *region;

    if (tern_rank() == 0)
        unlink(left_file()); /* of an earlier run */
    EXPECT(TERN_OK, tern_region_register(TERN_WORLD, memory, sizeof(memory), &region));
    if (tern_rank() == 1)
        return; /* to tern_finalize, which rank 0 keeps waiting */
    REQUIRE(job_far(1) == (strcmp(tern_region_path(region, 1), "bounce") != 0));
    while (access(left_file(), F_OK) != 0)
        usleep(10000);
    tern_ctx_set_timeout(TERN_WORLD, 0); /* no limit: it must complete by itself */
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
        EXPECT(TERN_OK, tern_quiet(TERN_WORLD)); /* the error is reported once */
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
    if (strcmp(how, "left") == 0 && !first)
        fclose(fopen(left_file(), "w"));
    if (first && !job_broken)
        puts("held");
    return job_broken;
}
