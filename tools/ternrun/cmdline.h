/* cmdline.h: reads a command line by a table of options, for ternrun.
 *
 * The table describes each option: its name, its value, its effect, and its help. For an option of another launcher,
 * the error gives the name of ternrun's corresponding option (foreign.c). For a misspelt name, it gives the nearest
 * right name.
 */
#ifndef TERNRUN_CMDLINE_H
#define TERNRUN_CMDLINE_H

#include "ternrun.h"

/* One option, or a heading of the help if take is NULL. */
struct run_option {
    const char *name;   /* without the dashes; in a heading, its text */
    char        letter; /* short form, such as the n of -n; 0: none */
    const char *value;  /* what the help calls the value; NULL: the option takes no value */
    void (*take)(struct run_config *config, const char *value); /* reports a wrong value with run_usage */
    const char *help;                                           /* whole phrases on one line; NULL: not shown */
};

/* Read the options of the last program of config at the start of words, which NULL terminates. option is the table,
 * which an entry without a name terminates. Returns the first word that is not part of an option. A mistake ends
 * ternrun with a message. */
char **run_cmdline_read(struct run_config *config, const struct run_option *option, char **words);

/* Write the lines of the help for all options of the table, as an allocated text; NULL if there is no memory. */
char *run_cmdline_help(const struct run_option *option);

/* Report a mistake of the command line and exit with status 2. */
__attribute__((noreturn, format(printf, 1, 2))) void run_usage(const char *format, ...);

/* foreign.c: what to say about an option of another launcher, without its dashes; NULL: no launcher has it. */
const char *run_foreign_answer(const char *name);

#endif
