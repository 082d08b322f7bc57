/* app.h: the interface of an application to app.c, which parses the options, times the runs, and prints rate,
 * efficiency and verdict.
 *
 * Efficiency is the time of the computation without any communication, divided by the time of the whole run. An
 * efficiency of 1 means that communicating and waiting cost nothing. Both times are medians of several runs, by the
 * same ranks on the same cores.
 */
#ifndef APPS_APP_H
#define APPS_APP_H

#include <stdbool.h>
#include <stddef.h>

/* A number that the command line may change: --name value. */
struct app_option {
    const char *name;
    int        *value, least;
    const char *help;
};

struct app {
    const char              *name, *unit; /* unit: unit of the rate, printed after "million" */
    const char *const       *styles;      /* names of the styles; the first is the default; NULL-terminated */
    const struct app_option *options;     /* terminated by an option whose name is NULL */

    void (*open)(int style); /* collective, as are all functions below */
    void (*prepare)(void);   /* resets the data before each run; a barrier follows */
    void (*run)(void);       /* the timed part */
    void (*alone)(void);     /* the computation without communication; its results are not checked */
    void (*close)(void);

    void (*describe)(char *text, size_t size);
    double (*work)(void);                      /* amount of work in one run, in millions */
    bool (*check)(char *verdict, size_t size); /* returns the same value on all ranks */
    double *(*witness)(void);                  /* a result that check() examines, for --spoil */
};

/* The whole of main(). Returns 0 if all runs were correct, 1 if a run was incorrect, and 2 if the command line is
 * invalid. */
int app_main(const struct app *app, int argc, char **argv);

/* Return zeroed memory that starts at a page boundary. Ends the job if there is no memory. */
void *app_memory(size_t bytes);

#endif
