/* boot_join.c: a process learns its identity from TERN_BOOT and from nothing else, and hostile text causes an error.
 * Each case runs in a child process, as a rank would.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "boot/boot.h"

#define RANKS 3

static struct tern_segment *segment;
static int                  arena, huge;
static char                 text[TERN_BOOT_TEXT];

/* Write the text for rank 1. */
static void make_text(char out[TERN_BOOT_TEXT], int ranks, int arena_fd, int launcher)
{
    tern_boot_text(out, TERN_BOOT_TEXT, 1,
                   &(struct tern_boot_given){ ranks, arena_fd, huge, -1, launcher, tern_boot_mark(segment->job) });
}

static int make_job(void **state)
{
    (void)state;
    if (tern_boot_arena_make(RANKS, 2, &arena, &huge, &segment) != TERN_OK)
        return -1;
    make_text(text, RANKS, arena, (int)getpid());
    return 0;
}

static int end_job(void **state)
{
    (void)state;
    tern_boot_segment_unmap(segment);
    close(arena);
    if (huge >= 0)
        close(huge);
    return 0;
}

/* Join in a child process with this text; before() may prepare the child. The child's exit status is the result of its
 * checks. */
static void in_child(const char *boot, void (*before)(void), int (*check)(tern_status got, struct tern_boot *joined))
{
    struct tern_boot joined = { .arena = -1, .huge = -1 };
    int              status;
    pid_t            child = fork();

    if (child == 0) {
        tern_opt.boot = boot;
        if (before != NULL)
            before();
        _exit(check(tern_boot_join(&joined), &joined));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int joined_as_rank_1(tern_status got, struct tern_boot *joined)
{
    if (got != TERN_OK)
        return fprintf(stderr, "%s\n", tern_base_detail()), 1;
    if (joined->rank != 1 || joined->ranks != RANKS || !joined->launched || (joined->huge < 0) != (huge < 0))
        return 2;
    if (!(fcntl(joined->arena, F_GETFD) & FD_CLOEXEC) || joined->segment->job != segment->job)
        return 3;
    if (joined->segment->slot[1].life != TERN_LIFE_JOINING || joined->segment->slot[1].pid != getpid())
        return 4;
    tern_boot_leave(joined);
    return joined->arena == -1 && joined->segment == NULL ? 0 : 5;
}

static void text_of_the_launcher_joins(void **state)
{
    (void)state;
    in_child(text, NULL, joined_as_rank_1);
    assert_int_equal(segment->slot[1].life, TERN_LIFE_JOINING);
    assert_int_equal(segment->slot[0].life, TERN_LIFE_NONE);
}

static void close_them(void)
{
    close(arena);
    close(huge);
}

static void replace_them(void)
{
    int other = memfd_create("other", 0);

    if (ftruncate(other, (off_t)TERN_ARENA_CONTROL) != 0 || dup2(other, arena) < 0)
        _exit(9);
    close(huge);
}

/* Promise: an intermediate program that closes descriptors, or reuses their numbers, does no harm. */
static void closed_descriptors_are_opened_again(void **state)
{
    (void)state;
    in_child(text, close_them, joined_as_rank_1);
    segment->slot[1].life = TERN_LIFE_NONE;
    in_child(text, replace_them, joined_as_rank_1);
}

static int says_closed(tern_status got, struct tern_boot *joined)
{
    (void)joined;
    return got == TERN_ERR_BOOT && strstr(tern_base_detail(), "closed descriptor") != NULL ? 0 : 1;
}

static void unreachable_arena_is_explained(void **state)
{
    char other[TERN_BOOT_TEXT];

    (void)state;
    make_text(other, RANKS, arena, 1 << 30); /* no such launcher */
    in_child(other, close_them, says_closed);
    in_child(other, replace_them, says_closed);
    make_text(other, RANKS, 0, (int)getpid()); /* standard input is no arena */
    in_child(other, NULL, says_closed);
    assert_int_equal(segment->slot[1].life, TERN_LIFE_NONE);
}

/* ---- a job on two nodes: there is a pipe to the relay ---- */

static int relay[2];

static int make_far_job(void **state)
{
    static const int32_t   node_of[RANKS] = { 0, 1, 1 };
    struct tern_boot_shape shape = { .ranks = RANKS, .nodes = 2, .node = 1, .node_of = node_of };
    struct stat            about;

    (void)state;
    if (tern_boot_arena_shape(&shape, &arena, &huge, &segment) != TERN_OK || pipe2(relay, O_NONBLOCK) != 0 ||
        fstat(relay[1], &about) != 0)
        return -1;
    segment->relay_inode = about.st_ino;
    tern_boot_text(
        text, sizeof(text), 1,
        &(struct tern_boot_given){ RANKS, arena, huge, relay[1], (int)getpid(), tern_boot_mark(segment->job) });
    return 0;
}

static int end_far_job(void **state)
{
    close(relay[0]);
    close(relay[1]);
    return end_job(state);
}

static int joined_and_told(tern_status got, struct tern_boot *joined)
{
    if (got != TERN_OK)
        return fprintf(stderr, "%s\n", tern_base_detail()), 1;
    if (joined->node != 1 || joined->nodes != 2 || joined->local != 0 || joined->locals != 2)
        return 2;
    if (!(fcntl(joined->relay_fd, F_GETFD) & FD_CLOEXEC))
        return 3;
    tern_boot_tell(joined);
    tern_boot_leave(joined);
    return 0;
}

static void close_the_pipe(void)
{
    close(relay[1]);
}

static void replace_the_pipe(void)
{
    int other[2];

    if (pipe(other) != 0 || dup2(other[1], relay[1]) < 0)
        _exit(9);
}

static bool was_told(void)
{
    char bytes[64];

    segment->slot[1].life = TERN_LIFE_NONE;
    return read(relay[0], bytes, sizeof(bytes)) == 8;
}

/* Promise: a rank finds the pipe to the relay, and does not mistake another pipe for it. */
static void ranks_tell_the_relay(void **state)
{
    (void)state;
    in_child(text, NULL, joined_and_told);
    assert_true(was_told());
    in_child(text, close_the_pipe, joined_and_told);
    assert_true(was_told());
    in_child(text, replace_the_pipe, joined_and_told);
    assert_true(was_told());
    segment->relay_inode++;
    in_child(text, NULL, says_closed);
    assert_false(was_told());
}

static int says_claimed(tern_status got, struct tern_boot *joined)
{
    (void)joined;
    return got == TERN_ERR_BOOT && strstr(tern_base_detail(), "env -u TERN_BOOT") != NULL ? 0 : 1;
}

static void a_rank_is_joined_once(void **state)
{
    (void)state;
    in_child(text, NULL, joined_as_rank_1);
    in_child(text, NULL, says_claimed);
    segment->slot[1].life = TERN_LIFE_LEFT;
    in_child(text, close_them, says_claimed);
}

static int says_version(tern_status got, struct tern_boot *joined)
{
    (void)joined;
    return got == TERN_ERR_BOOT && strstr(tern_base_detail(), "different versions") != NULL ? 0 : 1;
}

static void other_layouts_are_other_versions(void **state)
{
    (void)state;
    in_child("layout=99,rank=1,ranks=3,arena=5,huge=6,tell=-1,launcher=1", NULL, says_version);
    in_child("layout=1,rank=1,ranks=3,arena=5,huge=6,launcher=1", NULL, says_version);
    segment->layout++;
    in_child(text, NULL, says_version);
}

static int says_jobs(tern_status got, struct tern_boot *joined)
{
    (void)joined;
    return got == TERN_ERR_BOOT && strstr(tern_base_detail(), "different jobs") != NULL ? 0 : 1;
}

static void ranks_must_agree(void **state)
{
    char other[TERN_BOOT_TEXT];

    (void)state;
    make_text(other, RANKS + 1, arena, (int)getpid());
    in_child(other, NULL, says_jobs);
}

/* Promise: a process of another job is refused, also where the launcher's process id and descriptors are the same. */
static void marks_must_agree(void **state)
{
    char other[TERN_BOOT_TEXT];

    (void)state;
    tern_boot_text(
        other, sizeof(other), 1,
        &(struct tern_boot_given){ RANKS, arena, huge, -1, (int)getpid(), tern_boot_mark(segment->job + 1) });
    in_child(other, NULL, says_closed);
    assert_int_equal(segment->slot[1].life, TERN_LIFE_NONE);
}

static int says_bad_text(tern_status got, struct tern_boot *joined)
{
    if (got != TERN_ERR_BOOT || strstr(tern_base_detail(), "TERN_BOOT=") == NULL)
        return fprintf(stderr, "%s taken for good\n", tern_opt.boot), 1;
    return joined->segment == NULL ? 0 : 2;
}

/* Returns the text with the number of this layout in place of @. */
static const char *with_layout(const char *form)
{
    static char made[160];
    int         before = (int)strcspn(form, "@");

    if (form[before] == '\0')
        return form;
    snprintf(made, sizeof(made), "%.*s%u%s", before, form, TERN_SEGMENT_LAYOUT, form + before + 1);
    return made;
}

static void hostile_text_is_refused(void **state)
{
    static const char *const bad[] = {
        "x",
        ",",
        "=",
        "layout",
        "layout=",
        "layout=@",
        "layout=@,",
        "layout=one,rank=0",
        "layout=-1,rank=0",
        "layout=99999999999999999999",
        "rank=1,layout=@,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=7",
        "layout=@,rank=3,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=7",
        "layout=@,rank=-1,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=7",
        "layout=@,rank=0,ranks=0,arena=3,huge=-1,tell=-1,launcher=5,job=7",
        "layout=@,rank=0,ranks=65537,arena=3,huge=-1,tell=-1,launcher=5,job=7",
        "layout=@,rank=0,ranks=3,arena=-1,huge=-1,tell=-1,launcher=5,job=7",
        "layout=@,rank=0,ranks=3,arena=3,huge=-2,tell=-1,launcher=5,job=7",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=0,job=7",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=7,",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=7x",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=7,a=1",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=2147483648,job=7",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,launcher=5,job=7",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-2,launcher=5,job=7",
        "layout=@, rank=0,ranks=3",
        "layout=@,rank=0,ranks=3,arena=3000000000,huge=-1,tell=-1,launcher=5,job=7",
        "layout=@,,rank=0",
        ("layout=@,rank=000000000000000000000000000000000000000000000000001,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,"
         "job=7"),
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=5",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=-1",
        "layout=@,rank=0,ranks=3,arena=3,huge=-1,tell=-1,launcher=5,job=9223372036854775808",
    };

    char shorter[32]; /* a layout with a digit less is a valid text of another version */

    (void)state;
    snprintf(shorter, sizeof(shorter), "layout=%u", TERN_SEGMENT_LAYOUT / 10);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        in_child(with_layout(bad[i]), NULL, says_bad_text);
    for (size_t cut = 1; cut < strlen(text); cut++) { /* every prefix that does not just shorten the last number */
        char part[TERN_BOOT_TEXT];

        snprintf(part, sizeof(part), "%.*s", (int)cut, text);
        if (strstr(part, "job=") == NULL && strcmp(part, shorter) != 0)
            in_child(part, NULL, says_bad_text);
    }
}

/* Promise: a rank that an intermediate program started is killed when that program ends. A program with several
 * threads (as under the thread sanitizer) is an exception, because the end of a thread would be mistaken for the
 * program's end. */
static int tied_to_its_parent(tern_status got, struct tern_boot *joined)
{
    char        path[64];
    struct stat about;
    int         signal = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)getppid());
    prctl(PR_GET_PDEATHSIG, &signal);
    if (got != TERN_OK || !joined->launched || stat(path, &about) != 0)
        return 1;
    return signal == (about.st_nlink == 3 ? SIGKILL : 0) ? 0 : 2; /* two links, and one for each thread */
}

static void a_rank_is_tied_to_its_parent(void **state)
{
    int   status;
    pid_t between = fork();

    (void)state;
    if (between == 0) {
        in_child(text, NULL, tied_to_its_parent); /* the text names our parent as the launcher */
        _exit(0);
    }
    assert_int_equal(waitpid(between, &status, 0), between);
    assert_int_equal(status, 0);
}

static int alone(tern_status got, struct tern_boot *joined)
{
    int signal = 0;

    prctl(PR_GET_PDEATHSIG, &signal);
    if (got != TERN_OK || joined->launched || joined->rank != 0 || joined->ranks != 1 || signal != 0)
        return 1;
    if (joined->segment->cores < 1 || joined->segment->slot[0].life != TERN_LIFE_JOINING)
        return 2;
    if (!(fcntl(joined->arena, F_GETFD) & FD_CLOEXEC) || joined->segment->slot[0].pid != getpid())
        return 3;
    return 0;
}

static void without_a_launcher_it_is_a_job_of_one(void **state)
{
    (void)state;
    in_child("", NULL, alone);
    in_child(NULL, NULL, alone);
}

static int setup_once(void **state)
{
    (void)state;
    return tern_base_options_load(NULL) == TERN_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_of_the_launcher_joins, make_job, end_job),
        cmocka_unit_test_setup_teardown(closed_descriptors_are_opened_again, make_job, end_job),
        cmocka_unit_test_setup_teardown(unreachable_arena_is_explained, make_job, end_job),
        cmocka_unit_test_setup_teardown(ranks_tell_the_relay, make_far_job, end_far_job),
        cmocka_unit_test_setup_teardown(a_rank_is_joined_once, make_job, end_job),
        cmocka_unit_test_setup_teardown(other_layouts_are_other_versions, make_job, end_job),
        cmocka_unit_test_setup_teardown(marks_must_agree, make_job, end_job),
        cmocka_unit_test_setup_teardown(ranks_must_agree, make_job, end_job),
        cmocka_unit_test_setup_teardown(hostile_text_is_refused, make_job, end_job),
        cmocka_unit_test_setup_teardown(a_rank_is_tied_to_its_parent, make_job, end_job),
        cmocka_unit_test_setup_teardown(without_a_launcher_it_is_a_job_of_one, make_job, end_job),
    };

    return cmocka_run_group_tests(tests, setup_once, NULL);
}
