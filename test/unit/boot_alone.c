/* boot_alone.c: a process without ternrun says so once where the environment shows that several were meant, and is
 * silent where it does not.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "boot/alone.h"

/* What a process with this environment says when it asks twice. */
static const char *said(char *const *environment)
{
    static char text[4096];
    int         ends[2];
    ssize_t     got;
    pid_t       child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        clearenv();
        for (; *environment != NULL; environment++)
            putenv(*environment);
        tern_boot_alone_note();
        tern_boot_alone_note();
        _exit(0);
    }
    close(ends[1]);
    got = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    waitpid(child, NULL, 0);
    text[got < 0 ? 0 : got] = '\0';
    return text;
}

#define SAID(...) said((char *const[]){ __VA_ARGS__, NULL })

static void check_note(const char *note, const char *variable)
{
    assert_non_null(strstr(note, variable));
    assert_non_null(strstr(note, "ternrun -n N"));
    assert_ptr_equal(strchr(note, '\n'), note + strlen(note) - 1); /* one line */
}

static void several_processes_are_noticed(void **state)
{
    (void)state;
    check_note(SAID("PMI_RANK=1", "PMI_SIZE=4"), "PMI_SIZE=4");
    check_note(SAID("PMI_RANK=1"), "PMI_RANK=1");
    check_note(SAID("PMIX_RANK=0"), "PMIX_RANK=0");
    check_note(SAID("OMPI_COMM_WORLD_SIZE=2", "PMIX_RANK=0"), "OMPI_COMM_WORLD_SIZE=2");
    check_note(SAID("SLURM_NTASKS=8", "SLURM_PROCID=3"), "SLURM_NTASKS=8");
    check_note(SAID("MPI_LOCALNRANKS=2"), "MPI_LOCALNRANKS=2");
}

static void one_process_is_not(void **state)
{
    (void)state;
    assert_string_equal(SAID("PATH=/bin"), "");
    assert_string_equal(SAID("PMI_RANK=0", "PMI_SIZE=1"), "");
    assert_string_equal(SAID("OMPI_COMM_WORLD_SIZE=1", "PMIX_RANK=0"), "");
    assert_string_equal(SAID("SLURM_NTASKS=8"), ""); /* an allocation, but no task of it */
    assert_string_equal(SAID("SLURM_NTASKS=1", "SLURM_PROCID=0"), "");
    assert_string_equal(SAID("PMI_SIZE=many"), "");
}

static void cores_are_those_of_the_affinity_mask(void **state)
{
    cpu_set_t all, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(tern_boot_alone_cores(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(tern_boot_alone_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_processes_are_noticed),
        cmocka_unit_test(one_process_is_not),
        cmocka_unit_test(cores_are_those_of_the_affinity_mask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
