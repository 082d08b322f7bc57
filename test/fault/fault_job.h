/* fault_job.h: helpers of the programs of test/fault beyond job_test.h: the rank before tern_init, the process id, and
 * functions that reliably stop and end a process.
 */
#ifndef TERN_FAULT_JOB_H
#define TERN_FAULT_JOB_H

#include <dirent.h>
#include <signal.h>

#include "job_test.h"
#include "link/link.h"
#include "support/arrival.h"

/* The rank that this process will be, also before tern_init; -1 without a launcher. */
static inline int fault_rank(void)
{
    const char *names[] = { "PMIX_RANK", "PMI_RANK" }; /* set by launchers other than ternrun */
    const char *boot = getenv("TERN_BOOT"), *rank = boot ? strstr(boot, "rank=") : NULL;

    if (rank)
        return atoi(rank + 5);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rank; i++)
        rank = getenv(names[i]);
    return rank ? atoi(rank) : -1;
}

/* Write the process id, and that of the parent, to $FAULT_DIR/WHAT.RANK. */
static inline void fault_tell(const char *what)
{
    const char *dir = getenv("FAULT_DIR");
    char        path[512], part[520];
    FILE       *file;

    if (!dir || fault_rank() < 0)
        return;
    snprintf(path, sizeof(path), "%s/%s.%d", dir, what, fault_rank());
    snprintf(part, sizeof(part), "%s.new", path);
    if (!(file = fopen(part, "w")))
        return;
    fprintf(file, "%d %d\n", (int)getpid(), (int)getppid());
    fclose(file);
    rename(part, path); /* atomically */
}

static inline void fault_die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause(); /* the signal is on its way */
}

/* Wait until this many messages of a rank have arrived at this rank on a channel, whether or not they were delivered. A
 * test that expects the messages of a rank that dies calls this before the death. On a node a message is in shared
 * memory when the call that sent it returns. Over a network the message may still be in the sender's process then,
 * because the provider has refused it so far, and Tern does not promise that such a message survives the process. */
static inline void fault_await_arrival(int rank, unsigned channel, uint64_t count)
{
    tern_deadline end = tern_deadline_in(20);

    if (!job_far(rank))
        return;
    while (test_arrived(rank, channel) < count && tern_clock() < end) {
        EXPECT(TERN_OK, tern_progress(TERN_WORLD));
        usleep(100);
    }
    REQUIRE(test_arrived(rank, channel) == count);
}

/* Whether a thread of the process is not stopped. */
static inline bool fault_moves(int pid)
{
    char           path[300], text[512];
    const char    *state;
    bool           moves = false;
    struct dirent *entry;
    DIR           *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", pid, entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (file && fgets(text, sizeof(text), file) && (state = strrchr(text, ')')) != NULL)
            moves |= state[2] != 'T';
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
    return moves;
}

/* SIGSTOP takes effect some time after kill() has returned: wait until every thread is stopped. */
static inline void fault_stop(int pid)
{
    kill(pid, SIGSTOP);
    while (fault_moves(pid))
        ;
}

/* The function of a program for the word on its command line; an entry without a name is for every other word. */
struct fault_way {
    const char *name;
    void (*run)(void);
};

static inline void fault_run(const struct fault_way *way, const char *word)
{
    while (way->name && (!word || strcmp(way->name, word) != 0))
        way++;
    way->run();
}

#endif
