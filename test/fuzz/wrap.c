/* wrap.c: the commands in front of the program and the lists of ranks, which users write and the head node sends.
 *
 * Promise: an accepted command has at least one word, and all of its words can be written. An accepted list contains at
 * least one rank of the job, and no other rank. */
#include "fuzz/fuzz.h"

#include "hosts.h"

static void read_command(char *text)
{
    char             *program[] = { "program", "argument", NULL }, why[200], **command;
    struct run_config config = { .prefix = text };
    struct run_job    job = { .config = &config, .given = { .ranks = 8 }, .host = "host" };
    size_t            count = 0;

    if (!run_wrap_check(text, why, sizeof(why))) {
        MUST(strlen(why) > 0);
        return;
    }
    MUST((command = run_wrap_command(&job, 7, program)) != NULL && command != program);
    while (command[count] != NULL)
        fuzz_touch(command[count], strlen(command[count])), count++;
    MUST(count >= 3 && command[count - 1] == program[1] && command[count - 2] == program[0]);
    run_wrap_free(command, program);
}

static void read_list(const char *text)
{
    char why[200] = "";
    int  count = run_wrap_count(text, 8, why, sizeof(why)), has = 0;

    for (int r = 0; r < 8; r++)
        has += run_wrap_has(text, r);
    MUST(count == 0 ? strlen(why) > 0 : count == has);
    MUST(count == 0 || strcmp(text, "all") == 0 || !run_wrap_has(text, 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    read_command(text);
    read_list(text);
    free(text);
    return 0;
}
