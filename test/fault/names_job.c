/* names_job.c: a program for names.sh: its ranks make a barrier, and then leave the job in order, or are killed.
 *
 *   names_job [kill]
 */
#include "fault/fault_job.h"

int main(int argc, char **argv)
{
    (void)argv;
    OK(tern_init());
    OK(tern_barrier(TERN_WORLD));
    if (argc > 1)
        fault_die();
    puts("met");
    OK(tern_finalize());
    return 0;
}
