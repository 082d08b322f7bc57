/* signals.c: the signals that ternrun receives, and the size of the terminal.
 *
 * The ranks are in process groups of their own, so a signal from the terminal reaches only ternrun, which passes it on:
 *
 *     SIGINT SIGTERM SIGHUP SIGQUIT   end the job; a second one of them kills the ranks immediately
 *     SIGUSR1 SIGUSR2                 reach the ranks and have no further effect
 *     SIGTSTP SIGCONT                 stop and continue the ranks and ternrun
 *     SIGWINCH                        sets the size of the pseudo-terminals of the ranks, and reaches the ranks
 *
 * On several hosts, only the head stops itself. The nodes stop their ranks and stay awake, because they have to receive
 * the order to continue or to end. ternrun's own time limits do not count the time during which ternrun is stopped.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

/* ---- the size of the terminal ---- */

/* Read the size of the window of standard output or standard error. Returns whether one of them is a terminal. */
static bool read_window(const struct run_job *job, struct winsize *window)
{
    bool any = false;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if ((job->terminals & 1u << fd) != 0 && ioctl(fd, TIOCGWINSZ, window) == 0)
            any = true;
    return any;
}

void run_signals_detect_terminals(struct run_job *job)
{
    if (job->up != NULL) {
        job->terminals = job->up->order.terminals;
        job->window = job->up->order.window;
        return;
    }
    if (job->config->record != NULL && !job->config->label)
        return; /* the output goes to files */
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (isatty(fd))
            job->terminals |= 1u << fd;
    read_window(job, &job->window);
}

void run_signals_resize(struct run_job *job, const struct winsize *window)
{
    job->window.ws_row = window->ws_row;
    job->window.ws_col = window->ws_col;
    run_output_resize(&job->output, &job->window);
    job->crew->signal(job, SIGWINCH); /* the kernel sends none: no rank has a controlling terminal of its own */
}

/* The window may have a new size. A job in the background gets no SIGWINCH, so SIGCONT leads here as well. */
static void check_window(struct run_job *job)
{
    struct winsize window = { 0 };

    if (job->up == NULL && read_window(job, &window) &&
        (window.ws_row != job->window.ws_row || window.ws_col != job->window.ws_col))
        run_signals_resize(job, &window);
}

/* ---- stop and continue ---- */

/* Stop this process until SIGCONT. SIGTSTP from a terminal does not stop a process that no shell could continue,
 * because its process group is orphaned. SIGTSTP from another process does. */
static void stop_self(bool from_terminal)
{
    sigset_t stop;

    if (!from_terminal) {
        raise(SIGSTOP);
        return;
    }
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL); /* the default action takes place here */
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* Move the time limits of ternrun by the time during which it was stopped. */
static void skip_time(struct run_job *job, int64_t ns)
{
    int64_t *at[] = { &job->timeout_at, &job->phase_until, &job->settle_at, &job->give_up_at };

    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
        if (*at[i] != NEVER && *at[i] != 0)
            *at[i] += ns;
}

void run_signals_stop(struct run_job *job, bool from_terminal)
{
    int64_t  since;
    sigset_t pending;

    if (job->phase == PHASE_END || job->phase == PHASE_KILL)
        return; /* a job that is being ended is not stopped */
    job->crew->signal(job, SIGTSTP);
    if (job->up != NULL)
        return;
    run_fore_take_back(job);
    since = tern_base_now();
    stop_self(from_terminal);
    skip_time(job, tern_base_now() - since);
    if (sigpending(&pending) == 0 && !sigismember(&pending, SIGCONT))
        job->crew->signal(job, SIGCONT); /* ternrun was not stopped; otherwise SIGCONT is handled next */
}

/* ---- ending ---- */

/* End the job with the signal that was received. */
static void end_job(struct run_job *job, int signal)
{
    if (job->phase == PHASE_END || job->phase == PHASE_KILL || job->running == 0) {
        job->is_hurried = true; /* second signal, or only output is left: end immediately */
        if (job->running == 0)
            run_job_end(job, signal, 128 + signal);
        run_job_kill(job);
        return;
    }
    run_say("received signal %d (%s): passed on to %d ranks, which have %g s to end", signal, strsignal(signal),
            job->running, job->config->grace);
    run_job_end(job, signal, 128 + signal);
}

/* ---- all signals ---- */

static void pass_on(struct run_job *job, int signal)
{
    if (job->config->verbose && job->up == NULL)
        run_say("received signal %d (%s): passed on to %d ranks", signal, strsignal(signal), job->running);
    job->crew->signal(job, signal);
}

static void serve(struct run_job *job, const struct signalfd_siginfo *info)
{
    int  signal = (int)info->ssi_signo;
    bool from_process = info->ssi_code <= 0; /* and not from the terminal */

    switch (signal) {
    case SIGCHLD: break; /* ended processes are collected in any case */
    case SIGTSTP: run_signals_stop(job, !from_process); break;
    case SIGCONT:
        run_fore_lend(job);
        job->crew->signal(job, SIGCONT);
        check_window(job);
        break;
    case SIGWINCH: check_window(job); break;
    case SIGUSR1:
    case SIGUSR2: pass_on(job, signal); break;
    default:
        if (from_process || !sigismember(&job->process.from_processes, signal))
            end_job(job, signal);
        break;
    }
}

void run_signals_serve(struct run_job *job)
{
    struct signalfd_siginfo info;

    while (read(job->process.signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        serve(job, &info);
}

bool run_signals_order(struct run_job *job, const struct tern_frame *frame)
{
    struct winsize window = { 0 };
    int            signal;

    if (!run_order_read_signal(frame, &signal, &window))
        return false;
    if (signal == SIGWINCH)
        run_signals_resize(job, &window);
    else
        job->crew->signal(job, signal);
    return true;
}
