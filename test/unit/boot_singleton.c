/* boot_singleton.c: promise: a process that a launcher started as one of several does not become a job of one rank
 * unless that is intended; where the environment only hints at several processes, it prints a note once; without a hint
 * it prints nothing.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "boot/singleton.h"

/* Returns the output of a process with this environment that asks twice: its note, or the detail of its error. */
static const char *said(char *const *environment)
{
    static char text[4096];
    int         ends[2];
    ssize_t     got;
    pid_t       child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        tern_status st;

        dup2(ends[1], STDERR_FILENO);
        clearenv();
        for (; *environment != NULL; environment++)
            putenv(*environment);
        tern_base_options_load(environ);
        tern_boot_singleton_check();
        st = tern_boot_singleton_check();
        if (st != TERN_OK)
            dprintf(STDERR_FILENO, "%s: %s\n", tern_strerror(st), tern_base_detail());
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
    assert_non_null(strstr(note, "is a job of one rank"));
    assert_non_null(strstr(note, "ternrun -n N"));
    assert_ptr_equal(strchr(note, '\n'), note + strlen(note) - 1); /* one line */
}

static void check_error(const char *error, const char *variable, const char *advice)
{
    assert_memory_equal(error, tern_strerror(TERN_ERR_BOOT), strlen(tern_strerror(TERN_ERR_BOOT)));
    assert_non_null(strstr(error, variable));
    assert_non_null(strstr(error, advice));
    assert_non_null(strstr(error, "TERN_LAUNCHER=alone"));
}

static void one_of_several_is_an_error(void **state)
{
    (void)state;
    check_error(SAID("PMI_RANK=1", "PMI_SIZE=4"), "PMI_SIZE=4", "ternrun -n N");
    check_error(SAID("OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=0"), "OMPI_COMM_WORLD_SIZE=2",
                "ternrun -n N");
    check_error(SAID("MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=0"), "MPI_LOCALNRANKS=2", "ternrun -n N");
    check_error(SAID("SLURM_NTASKS=8", "SLURM_STEP_NUM_TASKS=8", "SLURM_PROCID=3"), "SLURM_PROCID=3",
                "srun --mpi=pmix");
    assert_string_equal(SAID("PMI_RANK=1", "PMI_SIZE=4", "TERN_LAUNCHER=alone"), "");
}

static void a_hint_is_noticed(void **state)
{
    (void)state;
    check_note(SAID("PMIX_RANK=0"), "PMIX_RANK=0");
    check_note(SAID("SLURM_NTASKS=8", "SLURM_PROCID=0"), "SLURM_NTASKS=8"); /* a batch script */
    assert_string_equal(SAID("PMIX_RANK=0", "TERN_LAUNCHER=alone"), "");
}

static void one_process_is_not(void **state)
{
    (void)state;
    assert_string_equal(SAID("PATH=/bin"), "");
    assert_string_equal(SAID("PMI_RANK=0", "PMI_SIZE=1"), "");
    assert_string_equal(SAID("OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK=0", "PMIX_RANK=0"), "");
    assert_string_equal(SAID("SLURM_NTASKS=8"), ""); /* an allocation, but no task of it */
    assert_string_equal(SAID("SLURM_NTASKS=1", "SLURM_PROCID=0"), "");
    assert_string_equal(SAID("PMI_SIZE=many", "PMI_RANK=0"), "");
}

static void cores_are_those_of_the_affinity_mask(void **state)
{
    cpu_set_t all, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(tern_boot_singleton_cores(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(tern_boot_singleton_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_several_is_an_error),
        cmocka_unit_test(a_hint_is_noticed),
        cmocka_unit_test(one_process_is_not),
        cmocka_unit_test(cores_are_those_of_the_affinity_mask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
