/* ternrun_wrap.c: commands in front of the program, lists of ranks, and patterns of core files.
 *
 * Promise: words, quotes and escapes are read as ternrun(1) describes, and everything else is refused. The pattern of
 * core files matches the name that the kernel gives a core file. The files under test are included, because they belong
 * to a tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../tools/ternrun/core_file.c"
#include "../tools/ternrun/program.c"
#include "../tools/ternrun/wrap.c"

void run_trace_note(struct run_job *job, int rank, const char *core)
{
    (void)job, (void)rank, (void)core;
}

static char *program[] = { "./program", "an argument", NULL };

/* The words of rank 3 of 8 in front of the program, each followed by a bar. */
static const char *words_of(const char *prefix, const char *tool, const char *ranks)
{
    static char       text[500];
    struct run_config config = { .prefix = prefix, .tool = tool, .tool_ranks = ranks };
    struct run_job    job = { .config = &config, .given = { .ranks = 8 }, .first = 2, .host = "a%b" };
    char            **command = run_wrap_command(&job, 1, program);
    int               i = 0;

    assert_non_null(command);
    *text = '\0';
    for (; command[i] != program[0]; i++) {
        strcat(text, command[i]);
        strcat(text, "|");
    }
    assert_ptr_equal(command[i + 1], program[1]);
    assert_null(command[i + 2]);
    run_wrap_free(command, program);
    return text;
}

static void words_are_read(void **state)
{
    (void)state;
    assert_string_equal(words_of("perf record -o perf.%r", NULL, NULL), "perf|record|-o|perf.3|");
    assert_string_equal(words_of(" \ta  b\t", NULL, NULL), "a|b|");
    assert_string_equal(words_of("'a  b'c \"d ' e\" '' f\"\"", NULL, NULL), "a  bc|d ' e||f|");
    assert_string_equal(words_of("%n%r %h '%%' %%r", NULL, NULL), "83|a%b|%|%r|");
    assert_string_equal(words_of("a\\b $c `d`", NULL, NULL), "a\\b|$c|`d`|"); /* no shell */
    assert_string_equal(words_of("a", "gdb --args", "all"), "a|gdb|--args|");
    assert_string_equal(words_of("a", "gdb", "0-2,4"), "a|");
    assert_string_equal(words_of(NULL, "gdb", "0,2-3"), "gdb|");
    assert_string_equal(words_of(NULL, "gdb", "0"), "");
    assert_string_equal(words_of(NULL, NULL, NULL), "");
}

static void mistakes_are_refused(void **state)
{
    static const char *const wrong[] = { "", " ", "'a", "a \"b'", "%", "a %", "%x", "%R", "a'%", "'%q'" };
    char                     why[300];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        *why = '\0';
        assert_false(run_wrap_check(wrong[i], why, sizeof(why)));
        assert_true(strlen(why) > 0);
    }
    assert_true(run_wrap_check("''", why, sizeof(why)));
}

static void lists_are_read(void **state)
{
    static const char *const wrong[] = { "",    ",",     "0,",    ",0",  "0,,1",
                                         "a",   "1-",    "-1",    "2-1", "8",
                                         "0-8", "1-2-3", "all,0", "0 1", "99999999999999999999999" };
    char                     why[300];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        *why = '\0';
        assert_int_equal(run_wrap_count(wrong[i], 8, why, sizeof(why)), 0);
        assert_true(strlen(why) > 0);
    }
    assert_int_equal(run_wrap_count("all", 8, why, sizeof(why)), 8);
    assert_int_equal(run_wrap_count("7", 8, why, sizeof(why)), 1);
    assert_int_equal(run_wrap_count("0,2-4,3", 8, why, sizeof(why)), 4);
    assert_true(run_wrap_has("0,2-4", 3) && !run_wrap_has("0,2-4", 1) && !run_wrap_has("0,2-4", 5));
}

static const char *pattern_of(const char *kernel)
{
    static char text[1000];

    run_core_pattern(kernel, "/home/u[1]", 4711, 11, text, sizeof(text));
    return text;
}

static void core_patterns_are_translated(void **state)
{
    char endless[2000];

    (void)state;
    assert_string_equal(pattern_of("core"), "/home/u\\[1]/core");
    assert_string_equal(pattern_of("/var/core/%p.%s"), "/var/core/4711.11");
    assert_string_equal(pattern_of("/c/%e.%t.%P%%*"), "/c/*.*.*%\\*");
    assert_string_equal(pattern_of("/c/%z%"), "/c/"); /* the kernel omits unknown escapes */
    memset(endless, '*', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_true(strlen(pattern_of(endless)) < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(core_patterns_are_translated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
