/* boot_arena.c: the arena is initialised before the first rank starts, can grow and give space back, and an error says
 * why it cannot be created.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "base/blob.h"
#include "boot/boot.h"

#define LINK 9 /* number of a link */

static void first_content(void **state)
{
    struct tern_segment *segment, *other;
    int                  arena, huge, arena2, huge2;
    struct stat          about;

    (void)state;
    tern_opt.on_failure = TERN_ON_FAILURE_RETURN;
    assert_int_equal(tern_boot_arena_make(5, 3, &arena, &huge, &segment), TERN_OK);
    assert_int_equal(tern_boot_arena_make(1, 0, &arena2, &huge2, &other), TERN_OK);
    tern_opt.on_failure = TERN_ON_FAILURE_ABORT;
    assert_int_equal(segment->magic, TERN_SEGMENT_MAGIC);
    assert_int_equal(segment->layout, TERN_SEGMENT_LAYOUT);
    assert_int_equal(segment->ranks, 5);
    assert_int_equal(segment->cores, 3);
    assert_int_equal(segment->on_failure, TERN_ON_FAILURE_RETURN);
    assert_int_equal(other->cores, 1);
    assert_true(segment->job != other->job);
    assert_int_equal(segment->losses, 0);
    assert_true(segment->next == TERN_ARENA_CONTROL);
    for (int r = 0; r < 5; r++) {
        assert_int_equal(segment->slot[r].life, TERN_LIFE_NONE);
        assert_int_equal(segment->slot[r].fate, TERN_FATE_RUNNING);
        assert_int_equal(segment->slot[r].pid, 0);
    }
    assert_int_equal(fstat(arena, &about), 0);
    assert_true(about.st_size == (off_t)TERN_ARENA_CONTROL);
    assert_true(about.st_blocks * 512 >= (off_t)tern_segment_bytes(5, false)); /* reserved */
    assert_true(about.st_blocks * 512 < 1 << 20);                              /* and not more */
    assert_int_equal(fcntl(arena, F_GETFD) & FD_CLOEXEC, 0);
    if (huge >= 0)
        assert_int_equal(fcntl(huge, F_GETFD) & FD_CLOEXEC, 0);
}

/* Promise: no process that inherits the descriptors can take memory away from the processes that map it. */
static void files_cannot_shrink(void **state)
{
    struct tern_segment *segment;
    int                  arena, huge;

    (void)state;
    assert_int_equal(tern_boot_arena_make(2, 1, &arena, &huge, &segment), TERN_OK);
    assert_int_equal(ftruncate(arena, 0), -1);
    assert_int_equal(fcntl(arena, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_SEAL);
    assert_int_equal(ftruncate(arena, (off_t)TERN_ARENA_CONTROL + 4096), 0); /* regions make it grow */
    if (huge >= 0)
        assert_int_equal(fcntl(huge, F_GET_SEALS) & F_SEAL_SHRINK, F_SEAL_SHRINK);
    assert_int_equal(segment->ranks, 2);
    tern_boot_segment_unmap(segment);
    close(arena);
    close(huge);
}

/* Promise: each node has a slot, a net address, a barrier slot and, where deaths do not end the job, contributions for
 * every rank of the job.
 */
static void several_nodes(void **state)
{
    static const int32_t   node_of[] = { 0, 1, 1, 2, 0, 1 }; /* round-robin, as some launchers place ranks */
    static const uint32_t  local[] = { 0, 0, 1, 0, 1, 2 };
    struct tern_boot_shape shape = { .ranks = 6, .nodes = 3, .node = 1, .node_of = node_of, .cores = 2, .job = 77 };
    struct tern_boot       boot = { .relay_fd = -1 };
    size_t                 len;

    (void)state;
    tern_opt.on_failure = TERN_ON_FAILURE_RETURN;
    assert_int_equal(tern_boot_arena_shape(&shape, &boot.arena, &boot.huge, &boot.segment), TERN_OK);
    tern_opt.on_failure = TERN_ON_FAILURE_ABORT;
    assert_true(boot.segment->job == 77);
    assert_int_equal(boot.segment->contributions, 1);
    tern_segment_contribution(boot.segment, 5, 1)[TERN_CONTRIBUTION_BYTES - 1] =
        1; /* reserved and mapped to the last byte */
    for (int r = 0; r < 6; r++) {
        assert_int_equal(boot.segment->slot[r].node, node_of[r]);
        assert_int_equal(boot.segment->slot[r].local, local[r]);
    }
    tern_boot_place(&boot, 5);
    assert_int_equal(boot.rank, 5);
    assert_int_equal(boot.ranks, 6);
    assert_int_equal(boot.node, 1);
    assert_int_equal(boot.nodes, 3);
    assert_int_equal(boot.local, 2);
    assert_int_equal(boot.locals, 3);
    for (int r = 0; r < 6; r++)
        assert_int_equal(tern_boot_same_node(&boot, r), node_of[r] == 1);
    assert_null(tern_boot_net_address(&boot, LINK, 5, &len));
    tern_boot_leave(&boot);
}

static void shapes_are_checked(void **state)
{
    static const int32_t         node_of[] = { 0, 1, 7 };
    const struct tern_boot_shape bad[] = {
        { .ranks = 3, .nodes = 2, .node = 2, .node_of = node_of },
        { .ranks = 3, .nodes = 2, .node = -1, .node_of = node_of },
        { .ranks = 2, .nodes = 0, .node = 0, .node_of = node_of },
        { .ranks = 3, .nodes = 2, .node = 0, .node_of = node_of },
        { .ranks = 2, .nodes = 3, .node = 2, .node_of = node_of },
        { .ranks = TERN_MAX_RANKS + 1, .nodes = 1 },
    };
    struct tern_segment *segment = NULL;
    int                  arena = -7, huge = -7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(tern_boot_arena_shape(&bad[i], &arena, &huge, &segment), TERN_ERR_RANGE);
    assert_true(arena == -7 && huge == -7 && segment == NULL);
}

/* Promise: a rank publishes one address for each link, whole, and every rank finds each of them. */
static void addresses_are_published_once(void **state)
{
    struct tern_boot boot = { .relay_fd = -1 }, other;
    const size_t     rest = TERN_NET_ADDRESS_BYTES - 2 * TERN_BLOB_HEAD - 3;
    char             text[TERN_NET_ADDRESS_BYTES];
    size_t           len = 99;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(tern_boot_arena_make(3, 2, &boot.arena, &boot.huge, &boot.segment), TERN_OK);
    tern_boot_place(&boot, 1);
    other = boot;
    tern_boot_place(&other, 2);
    assert_null(tern_boot_net_address(&other, LINK, 1, &len));
    assert_int_equal(tern_boot_publish_address(&boot, LINK, text, TERN_NET_ADDRESS_BYTES - TERN_BLOB_HEAD + 1),
                     TERN_ERR_RANGE);
    assert_int_equal(tern_boot_publish_address(&boot, LINK, text, 0), TERN_ERR_RANGE);
    assert_null(tern_boot_net_address(&other, LINK, 1, &len));
    assert_int_equal(tern_boot_publish_address(&boot, LINK, "one", 3), TERN_OK);
    assert_int_equal(tern_boot_publish_address(&boot, LINK, text, 1), TERN_ERR_STATE);
    assert_null(tern_boot_net_address(&other, LINK + 1, 1, &len));
    assert_int_equal(tern_boot_publish_address(&boot, LINK + 1, text, rest + 1), TERN_ERR_RANGE);
    assert_int_equal(tern_boot_publish_address(&boot, LINK + 1, text, rest), TERN_OK);
    assert_int_equal(tern_boot_publish_address(&boot, LINK + 1, text, 1), TERN_ERR_STATE);
    assert_int_equal(tern_boot_publish_address(&boot, LINK + 2, text, 1), TERN_ERR_RANGE);
    assert_memory_equal(tern_boot_net_address(&other, LINK, 1, &len), "one", 3);
    assert_int_equal(len, 3);
    assert_memory_equal(tern_boot_net_address(&other, LINK + 1, 1, &len), text, rest);
    assert_int_equal(len, rest);
    assert_null(tern_boot_net_address(&other, LINK, 0, &len));
    assert_null(tern_boot_net_address(&other, LINK, 2, &len));
    atomic_store(&tern_segment_net_address(boot.segment, 2)->len, 100000); /* damaged */
    assert_null(tern_boot_net_address(&other, LINK, 2, &len));
    tern_boot_leave(&boot);
}

static void it_grows_and_gives_back(void **state)
{
    struct tern_segment *segment;
    int                  arena, huge;
    struct stat          before, after;
    off_t                at = (off_t)TERN_ARENA_CONTROL;

    (void)state;
    assert_int_equal(tern_boot_arena_make(2, 2, &arena, &huge, &segment), TERN_OK);
    assert_int_equal(fstat(arena, &before), 0);
    assert_int_equal(fallocate(arena, 0, at, 1 << 20), 0);
    assert_int_equal(fallocate(arena, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 1 << 20), 0);
    assert_int_equal(fstat(arena, &after), 0);
    assert_true(after.st_size == at + (1 << 20));
    assert_int_equal(after.st_blocks, before.st_blocks);
}

static void numbers_of_ranks_are_checked(void **state)
{
    static const int     bad[] = { 0, -1, INT32_MIN, TERN_MAX_NODE_RANKS + 1, INT32_MAX };
    struct tern_segment *segment = NULL;
    int                  arena = -7, huge = -7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(tern_boot_arena_make(bad[i], 1, &arena, &huge, &segment), TERN_ERR_RANGE);
        assert_non_null(strstr(tern_base_detail(), "4096"));
    }
    assert_true(arena == -7 && huge == -7 && segment == NULL); /* nothing was changed */
    assert_int_equal(tern_boot_arena_make(TERN_MAX_NODE_RANKS, 1, &arena, &huge, &segment), TERN_OK);
    segment->slot[TERN_MAX_NODE_RANKS - 1].pid = 1;
}

/* Promise: a limit on file sizes causes an error that names the limit, not a signal. */
static void file_size_limit(void **state)
{
    struct tern_segment *segment;
    int                  arena, huge, status;
    pid_t                child = fork();

    (void)state;
    if (child == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1 << 20, 1 << 20 });
        _exit(tern_boot_arena_make(1, 1, &arena, &huge, &segment) == TERN_ERR_SYSTEM &&
                      strstr(tern_base_detail(), "ulimit -f") != NULL
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Promise: if no descriptor is available, the error says so and nothing is left behind. */
static void descriptor_limit(void **state)
{
    struct tern_segment *segment;
    int                  arena, huge, status;
    pid_t                child = fork();

    (void)state;
    if (child == 0) {
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 });
        _exit(tern_boot_arena_make(1, 1, &arena, &huge, &segment) == TERN_ERR_SYSTEM &&
                      strstr(tern_base_detail(), "memfd_create") != NULL
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_content),
        cmocka_unit_test(files_cannot_shrink),
        cmocka_unit_test(several_nodes),
        cmocka_unit_test(shapes_are_checked),
        cmocka_unit_test(addresses_are_published_once),
        cmocka_unit_test(it_grows_and_gives_back),
        cmocka_unit_test(numbers_of_ranks_are_checked),
        cmocka_unit_test(file_size_limit),
        cmocka_unit_test(descriptor_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
