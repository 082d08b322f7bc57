/* crash_job.c: a job in which a rank crashes, for the tests of debuggers and core files.
 *
 *   crash_job RANK how    how: segv, abort, overflow (of a heap block), none
 *
 * The stack of the crash contains the functions crash_outer and crash_inner.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>

static volatile char *volatile block; /* volatile: the compiler does not see what it points to */

__attribute__((noinline)) static int crash_inner(const char *how)
{
    signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own handlers */
    signal(SIGABRT, SIG_DFL);
    if (strcmp(how, "segv") == 0)
        *block = 1;
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "overflow") == 0) {
        block = malloc(8);
        block[9] = 1;
        free((void *)block);
    }
    return (int)strlen(how);
}

__attribute__((noinline)) static int crash_outer(const char *how)
{
    return crash_inner(how) + 1;
}

int main(int argc, char **argv)
{
    int sum = 0;

    if (argc < 3 || tern_init() != TERN_OK)
        return 9;
    printf("ready %d\n", tern_rank());
    fflush(stdout);
    tern_barrier(TERN_WORLD);
    if (tern_rank() == atoi(argv[1]))
        sum = crash_outer(argv[2]);
    tern_barrier(TERN_WORLD);
    printf("done %d\n", sum);
    return tern_finalize() == TERN_OK ? 0 : 8;
}
