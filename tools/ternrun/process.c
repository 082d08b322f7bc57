/* process.c: settings that ternrun makes for itself and restores in its children: signals and the number of open
 * files. */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>

#include "ternrun.h"

/* Block the signals that the loop handles, and open a signalfd for them. A signal that ternrun was started to ignore
 * (as by nohup) stays ignored. Returns false on failure. */
static bool take_signals(struct run_process *process)
{
    static const int served[] = { SIGINT, SIGQUIT, SIGHUP, SIGTSTP };
    struct sigaction old, ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };
    sigset_t         watched, blocked;

    sigemptyset(&watched);
    for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
        if (sigaction(served[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&watched, served[i]);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGCONT);
    blocked = watched;
    sigaddset(&blocked, SIGTTIN); /* then a read from the background fails instead of stopping ternrun */
    sigaddset(&blocked, SIGTTOU);
    sigaction(SIGCHLD, &usual, NULL); /* if it were ignored, the ranks' exit statuses would be lost */
    sigaction(SIGPIPE, &ignore, &process->old_pipe);
    sigprocmask(SIG_BLOCK, &blocked, &process->old_mask);
    process->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return process->signals >= 0;
}

static bool raise_files(struct run_process *process, size_t files)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &process->old_files) != 0) {
        run_say("cannot find out how many files may be open: %s", strerror(errno));
        return false;
    }
    limit = process->old_files;
    limit.rlim_cur = limit.rlim_max;
    if (process->old_files.rlim_cur < files)
        setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= files)
        return true;
    run_say("the job needs %zu open files and the limit is %llu; raise it with 'ulimit -n'", files,
            (unsigned long long)limit.rlim_cur);
    return false;
}

bool run_process_start(struct run_process *process, size_t files)
{
    if (!raise_files(process, files))
        return false;
    if (take_signals(process))
        return true;
    run_say("cannot take signals: %s", strerror(errno));
    return false;
}

void run_process_restore(const struct run_process *process)
{
    setrlimit(RLIMIT_NOFILE, &process->old_files);
    sigaction(SIGPIPE, &process->old_pipe, NULL);
    sigprocmask(SIG_SETMASK, &process->old_mask, NULL);
}
