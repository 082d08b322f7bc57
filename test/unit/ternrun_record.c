/* ternrun_record.c: the files of --output.
 *
 * Promise: an error that a file system reports only when a file is closed is reported in one line, and remains known
 * when all files are closed, so that ternrun ends with a status that is not 0. Without an error nothing is reported.
 * The file under test is included, because it belongs to a tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "../tools/ternrun/output_files.c"

static char     said[512];
static unsigned lines;
static int      failing; /* close() fails for so many files */

void run_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    lines++;
}

/* Takes the place of the function of the C library. As on network file systems, the file is closed in any case. */
int close(int fd)
{
    int rc = (int)syscall(SYS_close, fd);

    if (failing == 0)
        return rc;
    failing--;
    errno = EDQUOT;
    return -1;
}

static void files_are_closed(void **state)
{
    char dir[] = "/tmp/tern-record.XXXXXX", command[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (int errors = 0; errors <= 3; errors++) {
        struct run_record record = { .files = 0 };

        lines = 0;
        assert_true(run_record_start(&record, dir, 3));
        run_record_write(&record, 1, STDOUT_FILENO, "text\n", 5);
        failing = errors;
        run_record_end(&record);
        assert_int_equal(failing, 0);
        assert_int_equal(record.is_lossy, errors > 0);
        assert_int_equal(lines, errors > 0);
        assert_true(errors == 0 || (strstr(said, dir) && strstr(said, strerror(EDQUOT))));
        run_record_end(&record); /* as when ternrun ends */
        assert_int_equal(record.is_lossy, errors > 0);
        assert_int_equal(lines, errors > 0);
    }
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(files_are_closed) };

    return cmocka_run_group_tests_name("ternrun record", tests, NULL, NULL);
}
