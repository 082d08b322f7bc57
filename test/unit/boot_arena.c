/* boot_arena.c: the arena is as the ranks expect it before the first of them starts, can grow and give space back, and
 * where it cannot be made the error says why.
 */
#define _GNU_SOURCE 1
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
#include "boot/boot.h"

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
    assert_true(about.st_blocks * 512 >= (off_t)tern_segment_bytes(5)); /* reserved */
    assert_true(about.st_blocks * 512 < 1 << 20);                       /* and not more */
    assert_int_equal(fcntl(arena, F_GETFD) & FD_CLOEXEC, 0);
    if (huge >= 0)
        assert_int_equal(fcntl(huge, F_GETFD) & FD_CLOEXEC, 0);
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
    assert_true(arena == -7 && huge == -7 && segment == NULL); /* nothing was touched */
    assert_int_equal(tern_boot_arena_make(TERN_MAX_NODE_RANKS, 1, &arena, &huge, &segment), TERN_OK);
    segment->slot[TERN_MAX_NODE_RANKS - 1].pid = 1;
}

/* Promise: a limit on file sizes is an error that names it, not a signal. */
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

/* Promise: where no descriptor can be had, the error says so and nothing is left. */
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
        cmocka_unit_test(it_grows_and_gives_back),
        cmocka_unit_test(numbers_of_ranks_are_checked),
        cmocka_unit_test(file_size_limit),
        cmocka_unit_test(descriptor_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
