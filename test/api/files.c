/* files.c: regions whose memory is a file per rank.
 *
 * Promise: the next region finds what a job has left in the file, also when the size differs; a shorter file grows, a
 * longer file keeps the bytes behind the region; a file that cannot be used is TERN_ERR_SYSTEM on all ranks, and the
 * call leaves no file that did not exist before. A file is used only if no other user can have placed it there, or can
 * change it.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "job_test.h"

static char path[64], mine[96];

static uint64_t file_size(void)
{
    struct stat about;

    return stat(mine, &about) == 0 ? (uint64_t)about.st_size : 0;
}

/* Make the region, check its contents up to `old` (zeroes behind), let the left neighbour fill it, and free it. */
static void use(uint64_t size, uint64_t old, unsigned old_round, unsigned round)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = path);
    unsigned         me = (unsigned)tern_rank(), ranks = (unsigned)tern_size(), left = (me + ranks - 1) % ranks;
    unsigned char   *buffer = job_new(size), *part;
    tern_region     *region;

    OK(tern_region_create(TERN_WORLD, size, &opts, &region));
    part = tern_region_ptr(region, (int)me);
    HOLDS(part, old < size ? old : size, left, old_round);
    if (old < size)
        ALL_ARE(part + old, size - old, 0);
    job_fill(buffer, size, me, round);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_put(TERN_WORLD, region, (int)((me + 1) % ranks), 0, buffer, size));
    OK(tern_region_free(region));
    free(buffer);
    OK(tern_barrier(TERN_WORLD));
}

/* The file as other programs see it. */
static void check_file(uint64_t size, unsigned round)
{
    unsigned       me = (unsigned)tern_rank(), ranks = (unsigned)tern_size();
    unsigned char *content = job_new(size);
    int            file = open(mine, O_RDONLY);

    CHECK(file >= 0 && read(file, content, size) == (ssize_t)size);
    HOLDS(content, size, (me + ranks - 1) % ranks, round);
    close(file);
    free(content);
}

/* On one rank a directory has the file's name: no rank gets a region, and no file is left. */
static void one_cannot(int odd)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = path);
    tern_region     *region = NULL;

    if (tern_rank() == odd)
        CHECK(mkdir(mine, 0700) == 0);
    OK(tern_barrier(TERN_WORLD));
    RETURNS(TERN_ERR_SYSTEM, tern_region_create(TERN_WORLD, 4096, &opts, &region));
    CHECK(region == NULL && tern_error_detail()[0] != '\0');
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == odd)
        CHECK(rmdir(mine) == 0);
    else
        CHECK(access(mine, F_OK) != 0);
    OK(tern_barrier(TERN_WORLD));
}

/* No rank gets a region of the file that rank 0 has made. */
static void refused(const char *why)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = path);
    tern_region     *region = NULL;
    struct stat      about;

    OK(tern_barrier(TERN_WORLD));
    RETURNS(TERN_ERR_SYSTEM, tern_region_create(TERN_WORLD, 4096, &opts, &region));
    SAYS(why);
    CHECK(region == NULL);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0)
        CHECK(stat(mine, &about) == 0 && about.st_size == 5 && unlink(mine) == 0); /* unchanged */
    OK(tern_barrier(TERN_WORLD));
}

/* Rank 0 makes a file of five bytes with the mode. */
static void make(const char *name, mode_t mode)
{
    int file = tern_rank() == 0 ? open(name, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;

    if (tern_rank() == 0)
        CHECK(file >= 0 && write(file, "files", 5) == 5 && fchmod(file, mode) == 0 && close(file) == 0);
}

static void files_of_others(void)
{
    char aim[128];

    make(mine, 0620);
    refused("its mode is 620");
    make(mine, 0606);
    refused("its mode is 606");
    snprintf(aim, sizeof(aim), "%s.aim", path);
    make(aim, 0600);
    if (tern_rank() == 0)
        CHECK(symlink(aim, mine) == 0);
    refused("symbolic link");
    if (tern_rank() == 0)
        CHECK(unlink(aim) == 0);
    if (geteuid() != 0)
        return; /* files can be given away by root only */
    make(mine, 0600);
    if (tern_rank() == 0)
        CHECK(chown(mine, 65534, (gid_t)-1) == 0);
    refused("belongs to user 65534");
}

static void no_directory(void)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = "/nonexistent/directory/file");
    tern_region_opts lengthy = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE);
    tern_region     *region = NULL;
    char            *name = job_new(5001);

    RETURNS(TERN_ERR_SYSTEM, tern_region_create(TERN_WORLD, 4096, &opts, &region));
    SAYS("/nonexistent/directory/file");
    memset(name, 'x', 5000);
    lengthy.path = name;
    RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 4096, &lengthy, &region));
    free(name);
    CHECK(region == NULL);
}

static void different_names(void)
{
    tern_region_opts opts =
        TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = tern_rank() == 0 ? path : "/tmp/tern-test-another");
    tern_region *region = NULL;

    if (tern_size() == 1)
        return;
    RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 4096, &opts, &region));
    CHECK(region == NULL && access(mine, F_OK) != 0);
}

int main(void)
{
    OK(tern_init());
    job_file_name(path, sizeof(path), 1);
    snprintf(mine, sizeof(mine), "%s.%d", path, tern_rank());
    no_directory();
    different_names();
    files_of_others();
    for (int odd = 0; odd < tern_size(); odd++)
        one_cannot(odd);
    use(10000, 0, 0, 1); /* new */
    check_file(10000, 1);
    SAME(file_size(), 10000);
    use(10000, 10000, 1, 2);  /* as before */
    use(300001, 10000, 2, 3); /* grows */
    SAME(file_size(), 300001);
    use(5000, 300001, 3, 3); /* a smaller region; the same content goes in */
    SAME(file_size(), 300001);
    check_file(300001, 3); /* what lies behind it is untouched */
    CHECK(unlink(mine) == 0);
    OK(tern_barrier(TERN_WORLD));
    use(4096, 0, 0, 5); /* new again */
    CHECK(unlink(mine) == 0);
    OK(tern_finalize());
    return 0;
}
