/* app.c: see app.h. */
#include "common/app.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/job.h"

#define MAX_RUNS 1000

static int runs = 5, spoil, style;

static const struct app_option common_options[] = {
    { "runs", &runs, 1, "number of timed runs, after one untimed run; the median counts" },
    { "spoil", &spoil, 0, "1: change a result before the check, which must find that" },
    { NULL, NULL, 0, NULL },
};

void *app_memory(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    if (!memory)
        job_fail("no memory");
    return memset(memory, 0, bytes);
}

/* ---- the command line ---- */

/* Print what is wrong with the command line, on rank 0 only. */
static __attribute__((format(printf, 1, 2))) void complain(const char *format, ...)
{
    va_list args;

    if (job_rank != 0)
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static void usage(const struct app *app)
{
    const struct app_option *lists[] = { app->options, common_options };

    fprintf(stderr, "usage: %s [--style", app->name);
    for (int i = 0; app->styles[i]; i++)
        fprintf(stderr, "%c%s", i > 0 ? '|' : ' ', app->styles[i]);
    fprintf(stderr, "] [--name number]...\n");
    for (int list = 0; list < 2; list++)
        for (const struct app_option *o = lists[list]; o->name; o++)
            fprintf(stderr, "  --%-12s %s; default %d\n", o->name, o->help, *o->value);
}

static const struct app_option *find(const struct app *app, const char *name)
{
    const struct app_option *lists[] = { app->options, common_options };

    for (int list = 0; list < 2; list++)
        for (const struct app_option *o = lists[list]; o->name; o++)
            if (strcmp(name, o->name) == 0)
                return o;
    return NULL;
}

static bool set_number(const struct app_option *o, const char *text)
{
    char *end;
    long  value = strtol(text, &end, 10);
    long  most = o->value == &runs ? MAX_RUNS : INT_MAX;

    if (end == text || *end || value < o->least || value > most) {
        complain("--%s needs a whole number from %d to %ld, not \"%s\"", o->name, o->least, most, text);
        return false;
    }
    *o->value = (int)value;
    return true;
}

static bool set_style(const struct app *app, const char *name)
{
    for (style = 0; app->styles[style]; style++)
        if (strcmp(name, app->styles[style]) == 0)
            return true;
    complain("there is no style \"%s\"", name);
    return false;
}

static bool read_options(const struct app *app, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char              *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";
        const char              *value = i + 1 < argc ? argv[i + 1] : "";
        const struct app_option *o = find(app, name);

        if (strcmp(name, "style") == 0 ? !set_style(app, value) : o && !set_number(o, value))
            return false;
        if (!o && strcmp(name, "style") != 0) {
            complain("there is no option \"%s\"", argv[i]);
            return false;
        }
    }
    return true;
}

/* ---- measuring ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double timed(const struct app *app, void (*run)(void))
{
    double begin;

    app->prepare();
    job_barrier();
    begin = now();
    run();
    job_barrier();
    return now() - begin;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof(*times), by_size);
    return (times[n / 2] + times[(n - 1) / 2]) / 2;
}

/* Run and check repeatedly. Stops at the first incorrect run and returns false. */
static bool run_all(const struct app *app, double *times, char *verdict, size_t size)
{
    bool correct = true;

    for (int i = -1; i < runs && correct; i++) {
        double spent = timed(app, app->run);

        if (i >= 0)
            times[i] = spent;
        if (spoil && app->witness())
            *app->witness() += 1;
        correct = app->check(verdict, size);
    }
    return correct;
}

static void measure_alone(const struct app *app, double *times)
{
    for (int i = 0; i < runs; i++)
        times[i] = timed(app, app->alone);
}

int app_main(const struct app *app, int argc, char **argv)
{
    static double times[MAX_RUNS], alone[MAX_RUNS];
    char          verdict[128], what[128];
    bool          correct;

    job_begin();
    if (!read_options(app, argc, argv)) {
        if (job_rank == 0)
            usage(app);
        job_end();
        return 2;
    }
    app->open(style);
    app->describe(what, sizeof(what));
    if (job_rank == 0)
        printf("%s, %s, %d rank%s: %s\n", app->name, app->styles[style], job_size, job_size > 1 ? "s" : "", what);
    correct = run_all(app, times, verdict, sizeof(verdict));
    if (correct)
        measure_alone(app, alone);
    if (job_rank == 0 && correct)
        printf("rate        %.6g million %s\nefficiency  %.3g\n", app->work() / median(times, runs), app->unit,
               median(alone, runs) / median(times, runs));
    if (job_rank == 0)
        printf("verdict     %s: %s\n", correct ? "correct" : "WRONG", verdict);
    fflush(stdout); /* before a rank exits with an error, upon which the launcher may end the others */
    app->close();
    job_end();
    return correct ? 0 : 1;
}
