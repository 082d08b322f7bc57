/* process.c: settings that ternrun makes for itself and restores in its children: signals and the number of open
 * files. */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>

#include "ternrun.h"

static bool is_ignored(int signal)
{
    struct sigaction old;

    return sigaction(signal, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

/* Choose the signals that the loop handles. A signal that ternrun was started to ignore (as by nohup) stays ignored,
 * except for SIGTERM, SIGINT and SIGQUIT. A shell without job control starts background jobs with SIGINT and SIGQUIT
 * ignored, so that control-C does not end them. ternrun then handles these two only if a process sends them. */
static void choose_signals(struct run_process *process, sigset_t *watched)
{
    static const int optional[] = { SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2 }, keyboard[] = { SIGINT, SIGQUIT };
    static const int always[] = { SIGTERM, SIGCHLD, SIGCONT, SIGWINCH };

    sigemptyset(watched);
    sigemptyset(&process->from_processes);
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
        if (!is_ignored(optional[i]))
            sigaddset(watched, optional[i]);
    for (size_t i = 0; i < sizeof(keyboard) / sizeof(keyboard[0]); i++) {
        sigaddset(watched, keyboard[i]);
        if (is_ignored(keyboard[i]))
            sigaddset(&process->from_processes, keyboard[i]);
    }
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        sigaddset(watched, always[i]);
}

/* Block the signals that the loop handles, and open a signalfd for them. Returns false on failure. */
static bool take_signals(struct run_process *process)
{
    static const int reset[] = { SIGINT, SIGQUIT, SIGTERM, SIGCHLD };
    struct sigaction ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };
    sigset_t         watched, blocked;

    choose_signals(process, &watched);
    blocked = watched;
    sigaddset(&blocked, SIGTTIN); /* then a read from the background fails instead of stopping ternrun */
    sigaddset(&blocked, SIGTTOU);
    /* The ranks inherit the default action of signals that end the job. If SIGCHLD were ignored, the exit statuses of
     * the ranks would be lost. */
    for (size_t i = 0; i < sizeof(reset) / sizeof(reset[0]); i++)
        sigaction(reset[i], &usual, NULL);
    sigaction(SIGPIPE, &ignore, &process->old_pipe);
    sigprocmask(SIG_BLOCK, &blocked, &process->old_mask);
    process->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return process->signals >= 0;
}

bool run_process_files(size_t files)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        run_say("cannot find out how many files may be open: %s", strerror(errno));
        return false;
    }
    if (limit.rlim_cur < files) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= files)
        return true;
    run_say("the job needs %zu open files and the limit is %llu; raise it with 'ulimit -n', or LimitNOFILE of the "
            "scheduler's daemon",
            files, (unsigned long long)limit.rlim_cur);
    return false;
}

bool run_process_start(struct run_process *process, size_t files)
{
    getrlimit(RLIMIT_NOFILE, &process->old_files); /* a failure is reported by the next call */
    if (!run_process_files(files))
        return false;
    if (take_signals(process))
        return true;
    run_say("cannot take signals: %s", strerror(errno));
    return false;
}

/* Discard signals that are pending in a child. The terminal sends a signal to the whole process group of ternrun, and
 * also to a child that has not left it yet. ternrun gets the same signal and passes it on, so the child must neither
 * get it twice nor stop before it executes its program, for which ternrun waits. */
static void discard_signals(void)
{
    static const int sent[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2 };
    struct sigaction old, ignore = { .sa_handler = SIG_IGN };

    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
        if (sigaction(sent[i], &ignore, &old) == 0) /* this discards a pending signal */
            sigaction(sent[i], &old, NULL);
}

void run_process_restore(const struct run_process *process)
{
    discard_signals();
    setrlimit(RLIMIT_NOFILE, &process->old_files);
    sigaction(SIGPIPE, &process->old_pipe, NULL);
    sigprocmask(SIG_SETMASK, &process->old_mask, NULL);
}
