/* early.c: promise: tern_abort ends the job with a nonzero status, whatever number it is given; TERN_NOW polls once and
 * does not wait. For the former the program starts itself again, outside the job.
 *
 * ranks: 1 2
 */
#include "job_test.h"

#include <sys/wait.h>
#include <unistd.h>

static int status_of(int code)
{
    int   status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        close(2);
        tern_abort(code, "on purpose");
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    char        *mine = calloc(1, 4096);
    tern_region *region;
    tern_event   event = TERN_EVENT_INIT;
    tern_status  st;

    SAME(status_of(0), 1);
    SAME(status_of(3), 3);
    SAME(status_of(256), 1);
    SAME(status_of(-1), 255);
    OK(tern_init());
    OK(tern_region_register(TERN_WORLD, mine, 4096, &region));
    OK(tern_put_nb(TERN_WORLD, region, (tern_rank() + 1) % tern_size(), 0, "abc", 4, &event));
    st = tern_event_wait(&event, TERN_NOW);
    CHECK(st == TERN_OK || st == TERN_PENDING);
    if (st == TERN_PENDING)
        OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    free(mine);
    OK(tern_finalize());
    return 0;
}
