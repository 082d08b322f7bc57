/* app.h: what every application is to app.c, which reads the options, times the runs, and prints rate, efficiency and
 * verdict.
 *
 * Efficiency is the time that the computation takes with all communication left out, over the time that it took: 1
 * means that communicating and waiting cost nothing. Both are medians of several runs, by the same ranks on the same
 * cores.
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
    const char              *name, *unit; /* unit: of the rate, after "million" */
    const char *const       *styles;      /* their names; the first is the default; NULL after the last */
    const struct app_option *options;     /* name NULL after the last */

    void (*open)(int style); /* collective, as all that follow */
    void (*prepare)(void);   /* back to the beginning, before each run; a barrier follows */
    void (*run)(void);       /* what is timed */
    void (*alone)(void);     /* the same without communication; its results do not matter */
    void (*close)(void);

    void (*describe)(char *text, size_t size);
    double (*work)(void);                      /* of one run, in millions */
    bool (*check)(char *verdict, size_t size); /* the same on all ranks */
    double *(*witness)(void);                  /* a result that check() looks at, for --spoil */
};

/* All of main(). Returns 0: all runs were correct; 1: one was not; 2: the command line is wrong. */
int app_main(const struct app *app, int argc, char **argv);

/* Zeroed memory on a page boundary, or the job ends. */
void *app_memory(size_t bytes);

#endif
