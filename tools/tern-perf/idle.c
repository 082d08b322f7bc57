/* idle.c: idle: the CPU time that a job uses while it is idle.
 *
 * The test alternates between two idle states, for --time seconds each (default 1): rank 0 sleeps in the kernel
 * while the other ranks wait for it in tern_barrier; and all ranks sleep. The CPU time of a rank is the time that
 * the kernel accounts to its threads (/proc/self/task/.../schedstat): to the thread of the program, and to all other
 * threads, of which Tern has one if the network needs help. A wait polls for some time before it sleeps (TERN_SPIN,
 * TERN_YIELDS); the time of polling is included.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

#define DEFAULT_SECONDS 1.0

/* CPU time in nanoseconds. */
struct used {
    double program, others;
};

static double schedstat(const char *path)
{
    unsigned long long ns = 0;
    FILE              *f = fopen(path, "re");
    bool               ok = f != NULL && fscanf(f, "%llu", &ns) == 1;

    if (f != NULL)
        fclose(f);
    return ok ? (double)ns : -1;
}

/* Return the CPU time of this process until now. Threads that have ended are not included. */
static struct used used_now(void)
{
    struct used          used = { 0, 0 };
    DIR                 *dir = opendir("/proc/self/task");
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char   path[320];
        double ns;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
        ns = schedstat(path);
        if (ns < 0)
            continue;
        if (atol(entry->d_name) == (long)getpid())
            used.program += ns;
        else
            used.others += ns;
    }
    if (dir != NULL)
        closedir(dir);
    return used;
}

static void sleep_for(double seconds)
{
    struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

    while (nanosleep(&left, &left) != 0)
        ;
}

/* Be idle for the given time. Returns this rank's CPU time, in milliseconds per second. */
static struct used idle(struct perf *p, double seconds, bool in_barrier)
{
    struct used before, after;
    int64_t     start;
    double      scale;

    perf_must(tern_barrier(p->ctx), "barrier");
    start = measure_now();
    before = used_now();
    if (p->rank == 0 || !in_barrier)
        sleep_for(seconds);
    if (in_barrier)
        perf_must(tern_barrier(p->ctx), "barrier");
    after = used_now();
    scale = 1e3 / (double)(measure_now() - start); /* ns per ns, converted to ms per s */
    return (struct used){ (after.program - before.program) * scale, (after.others - before.others) * scale };
}

/* Return the mean over the ranks from first on. While the other ranks are in the barrier, rank 0 only sleeps and is
 * excluded. */
static struct used mean(struct perf *p, struct used mine, int first)
{
    struct used *all = (struct used *)(void *)p->gather, sum = { 0, 0 };

    perf_must(tern_allgather(p->ctx, &mine, sizeof(mine), all), "all-gather");
    for (int r = first; r < p->ranks; r++) {
        sum.program += all[r].program / (p->ranks - first);
        sum.others += all[r].others / (p->ranks - first);
    }
    return sum;
}

void perf_idle(struct perf_case *c)
{
    struct perf *p = c->p;
    double       seconds = p->opt->time > 0 ? p->opt->time : DEFAULT_SECONDS;
    double       values[4][PERF_MAX_REPEAT];
    char         path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)getpid());
    if (schedstat(path) < 0)
        tern_abort(1, "tern-perf: this kernel does not count the time of threads (CONFIG_SCHED_INFO)");
    for (size_t r = 0; r < p->repeat; r++) {
        struct used barrier, asleep;

        perf_progress((double)r / (double)p->repeat);
        barrier = mean(p, idle(p, seconds, true), p->ranks > 1 ? 1 : 0);
        asleep = mean(p, idle(p, seconds, false), 0);
        values[0][r] = barrier.program;
        values[1][r] = barrier.others;
        values[2][r] = asleep.program;
        values[3][r] = asleep.others;
    }
    perf_figure_values(c, values[0], "barrier_program", "ms/s");
    perf_figure_values(c, values[1], "barrier_helper", "ms/s");
    perf_figure_values(c, values[2], "asleep_program", "ms/s");
    perf_figure_values(c, values[3], "asleep_helper", "ms/s");
}
