/* die.c: the last process dies, and the others wait for it in each of the ways in which foMPI waits for a process.
 * fompi.sh expects how the job ends.
 */
#include <signal.h>

#include "check.h"

/* Wait in an epoch. */
static void wait_in_epoch(struct window *w, const char *how, int dead)
{
    MPI_Group all, last;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &dead, &last);
    if (strcmp(how, "fence") == 0) {
        (void)foMPI_Win_fence(0, w->win);
    } else if (strcmp(how, "lock") == 0) {
        (void)foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, dead, 0, w->win);
    } else if (strcmp(how, "start") == 0) {
        (void)foMPI_Win_start(last, 0, w->win);
        (void)foMPI_Win_complete(w->win);
    } else if (strcmp(how, "post") == 0) {
        (void)foMPI_Win_post(last, 0, w->win);
        (void)foMPI_Win_wait(w->win);
    } else if (strcmp(how, "free") == 0) {
        (void)foMPI_Win_free(&w->win);
    }
}

/* Wait for a notification. */
static void wait_for_request(struct window *w, const char *how, int dead)
{
    foMPI_Request request;
    int           flag = 0, index;

    OK(foMPI_Notify_init(w->win, dead, 1, 1, &request));
    OK(foMPI_Start(&request));
    if (strcmp(how, "any") == 0)
        (void)foMPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    else if (strcmp(how, "test") == 0)
        while (!flag)
            (void)foMPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    else
        (void)foMPI_Wait(&request, MPI_STATUS_IGNORE);
}

void die(const char *how)
{
    struct window w = open_window(ALLOCATED, 64, MPI_COMM_WORLD);

    OK(foMPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    if (w.me == w.n - 1)
        OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, w.me, 0, w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (w.me == w.n - 1)
        (void)raise(SIGKILL);
    if (strcmp(how, "wait") == 0 || strcmp(how, "any") == 0 || strcmp(how, "test") == 0)
        wait_for_request(&w, how, w.n - 1);
    else
        wait_in_epoch(&w, how, w.n - 1);
    MUST(!"a call that waits for a process that is dead returns");
}
