/* debug.c: the commands of --gdb and --valgrind, which run between ternrun and the program.
 *
 * gdb needs a terminal for its prompt. A single rank gets the terminal of ternrun (foreground.c), and several ranks get
 * a window each (window.c). Without a terminal, or on several hosts, gdb runs the program without a prompt, and prints
 * a backtrace if the program crashes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ternrun.h"

/* gdb without a terminal: run the program, print the stacks of all threads if it stops at a signal that is a crash or
 * an interrupt, and exit with the status that the program would have. */
static const char gdb_batch[] =
    "gdb -batch -ex 'set confirm off' -ex 'set pagination off' -ex 'set width 0' -ex 'set print thread-events off' -ex "
    "'handle all nostop noprint pass' "
    "-ex 'handle SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT SIGSYS stop print' -ex run -ex 'thread apply all bt 50' "
    "-ex 'quit !$_isvoid($_exitcode) ? $_exitcode : 128 + (!$_isvoid($_exitsignal) ? $_exitsignal : "
    "$_siginfo.si_signo)' --args";
static const char gdb_prompt[] = "gdb -q --args";
static const char valgrind[] =
    "valgrind --error-exitcode=" RUN_VALGRIND_STATUS " --leak-check=full --show-leak-kinds=definite "
    "--errors-for-leak-kinds=definite --num-callers=30 --log-file=" RUN_VALGRIND_LOG;

/* Choose how gdb runs: at the terminal, in windows, or without a terminal. */
static bool choose_gdb(struct run_config *config, char *why, size_t size)
{
    int count = run_wrap_count(config->gdb, config->ranks, why, size);

    if (count == 0)
        return false;
    config->tool_ranks = config->gdb;
    config->tool = gdb_batch;
    if (config->host != NULL || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return true;
    if (count == 1) {
        config->tool = gdb_prompt;
        config->tool_has_terminal = true;
        if (strcmp(config->gdb, "all") == 0)
            config->tool_ranks = "0";
        return true;
    }
    config->tool = run_window_tool(gdb_prompt);
    if (config->tool != NULL)
        return true;
    snprintf(why, size,
             "several ranks need a window each: start ternrun inside tmux, or where DISPLAY is set and xterm is "
             "installed; or list one rank; or add '< /dev/null' to print only backtraces");
    return false;
}

bool run_debug_choose(struct run_config *config, char *why, size_t size)
{
    size_t len;

    if (config->gdb != NULL && config->valgrind) {
        snprintf(why, size, "--gdb and --valgrind exclude each other");
        return false;
    }
    if (config->valgrind) {
        config->tool = valgrind; /* Tern needs no suppressions */
        config->tool_ranks = "all";
    }
    if (config->prefix != NULL) {
        len = (size_t)snprintf(why, size, "--prefix '%.100s': ", config->prefix);
        if (!run_wrap_check(config->prefix, why + len, size - len))
            return false;
    }
    if (config->gdb == NULL)
        return true;
    setenv("TERN_STALL_REPORT", "0", 0); /* the other ranks wait while the user examines one */
    len = (size_t)snprintf(why, size, "--gdb %.100s: ", config->gdb);
    return choose_gdb(config, why + len, size - len);
}
