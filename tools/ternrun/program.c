/* program.c: the programs of a job: which program a rank runs, and what a rank needs before it executes it.
 *
 * A job has one program, or several that are separated by a colon on the command line. The ranks of each program follow
 * those of the program before it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ternrun.h"

/* The variables that ternrun sets for each rank. */
static const char *const own[] = { "TERN_BOOT", "TERN_RANK", "TERN_SIZE", "TERN_LOCAL_RANK", "TERN_LOCAL_SIZE" };

bool run_program_owns(const char *variable)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(variable, own[i]) == 0)
            return true;
    return false;
}

const struct run_program *run_program_of(const struct run_config *config, int rank)
{
    const struct run_program *program = config->program;

    while (program < config->program + config->programs - 1 && rank >= program->ranks)
        rank -= (program++)->ranks;
    return program;
}

bool run_program_set(const char *variable)
{
    const char *equals = strchr(variable, '=');
    char       *name = strndup(variable, (size_t)(equals - variable));
    bool        done = name != NULL && setenv(name, equals + 1, 1) == 0;

    free(name);
    return done;
}

/* ---- in the process of the rank ---- */

static bool has_directory(const struct run_program *program)
{
    return program->directory != NULL && *program->directory != '\0';
}

static bool set_number(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    return setenv(name, text, 1) == 0;
}

int run_program_environment(const struct run_job *job, int rank)
{
    const struct run_program *program = run_program_of(job->config, job->first + rank);
    char *const              *variable = program->variables;

    if (has_directory(program) && setenv("PWD", program->directory, 1) != 0)
        return errno;
    for (; variable != NULL && *variable != NULL; variable++)
        if (!run_program_set(*variable))
            return errno;
    if (set_number("TERN_RANK", job->first + rank) && set_number("TERN_SIZE", job->given.ranks) &&
        set_number("TERN_LOCAL_RANK", rank) && set_number("TERN_LOCAL_SIZE", job->config->ranks))
        return 0;
    return errno;
}

int run_program_enter(const struct run_program *program)
{
    return !has_directory(program) || chdir(program->directory) == 0 ? 0 : errno;
}
