/* tree.c: the shape of the tree, the additions, and the expected sums. See tree.h. */
#include "tree/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/app.h"
#include "common/job.h"

static int arity = 16, values = 1, rounds = 10000;

static const struct app_option options[] = {
    { "arity", &arity, 1, "children of a rank" },
    { "values", &values, 1, "doubles in the vector of each rank" },
    { "rounds", &rounds, 1, "reductions in one run" },
    { NULL, NULL, 0, NULL },
};

#ifdef APP_MPI
static const char *const              names[] = { "message", "notified", NULL };
static const struct tree_style *const styles[] = { &tree_message, &tree_notified };
#else
static const char *const              names[] = { "notified", "onesided", "message", NULL };
static const struct tree_style *const styles[] = { &tree_notified, &tree_onesided, &tree_message };
#endif

static struct tree              t;
static const struct tree_style *style;

double *tree_add(const struct tree *tree, int rank, int round)
{
    double *sum = tree_vector(tree, tree->parent < 0 ? tree_result(tree) : tree_sum(tree));

    for (size_t i = 0; i < tree->values; i++)
        sum[i] = tree_own(rank, round, i);
    for (int child = 0; child < tree->children; child++) {
        const double *vector = tree_vector(tree, child);

        for (size_t i = 0; i < tree->values; i++)
            sum[i] += vector[i];
    }
    return sum;
}

void tree_use(const struct tree *tree)
{
    const double *result = tree_vector(tree, tree_result(tree));

    for (size_t i = 0; i < tree->values; i++)
        tree->totals[i] += result[i];
}

static void open(int number)
{
    long first = (long)arity * job_rank + 1;

    t = (struct tree){ .arity = arity, .rounds = rounds, .values = (size_t)values, .parent = -1 };
    t.pitch = (t.values + 7) / 8 * 8; /* whole cache lines */
    if (job_rank > 0)
        t.parent = (job_rank - 1) / arity;
    if (first < job_size) {
        t.child = (int)first;
        t.children = job_size - t.child < arity ? job_size - t.child : arity;
    }
    t.totals = app_memory(t.values * sizeof(double));
    style = styles[number];
    t.vectors = style->open(&t, tree_offset(&t, tree_sum(&t) + 1));
}

static void prepare(void)
{
    memset(t.totals, 0, t.values * sizeof(double));
}

static void run(void)
{
    style->run(&t, job_rank);
}

static void alone(void)
{
    for (int round = 0; round < rounds; round++) {
        tree_add(&t, job_rank, round);
        tree_use(&t);
    }
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "%d double%s, up to %d children each, %d rounds", values, values > 1 ? "s" : "", arity,
             rounds);
}

static double work(void)
{
    return 1e-6 * rounds;
}

static double *witness(void)
{
    return job_rank == job_size - 1 ? &t.totals[t.values - 1] : NULL;
}

/* Check the sums of each rank's results of all rounds. */
static bool check(char *verdict, size_t size)
{
    double wrong = 0, n = job_size, all;

    for (size_t i = 0; i < t.values; i++)
        wrong += t.totals[i] != n * (n + 1) / 2 * (double)(i + 1) * rounds + n * rounds * (rounds - 1.0) / 2;
    all = job_max(wrong);
    snprintf(verdict, size, "at most %.0f of %d sums are wrong on a rank", all, values);
    return all == 0;
}

static void end(void)
{
    style->close(t.vectors);
    free(t.totals);
}

int main(int argc, char **argv)
{
    static const struct app app = { .name = "tree",
                                    .unit = "reductions/s",
                                    .styles = names,
                                    .options = options,
                                    .open = open,
                                    .prepare = prepare,
                                    .run = run,
                                    .alone = alone,
                                    .close = end,
                                    .describe = describe,
                                    .work = work,
                                    .check = check,
                                    .witness = witness };

    return app_main(&app, argc, argv);
}
