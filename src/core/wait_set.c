/* wait_set.c: see wait_set.h. */
#include "core/wait_set.h"

#include <stdio.h>

void tern_core_waitables_describe(void *arg, char *text, size_t size)
{
    const struct tern_waitables *of = arg;
    char                         one[200] = "for nothing", others[64] = "";
    size_t                       pending = 0;

    for (size_t i = 0; i < of->n; i++)
        if (of->kind->state(tern_core_waitables_at(of, i)) == TERN_WAITABLE_PENDING && pending++ == 0)
            of->kind->describe(tern_core_waitables_at(of, i), one, sizeof(one));
    if (pending > 1)
        snprintf(others, sizeof(others), "; %zu in all are not complete", pending);
    snprintf(text, size, "%s waits %s%s", of->what, one, others);
}

__attribute__((cold)) tern_status tern_core_wait_set_idle(const struct tern_wait_set *set)
{
    tern_status st = tern_core_job_running(set->of.what);

    return st < 0 ? st : tern_base_fail(TERN_ERR_STATE, "%s: none of the requests is started", set->of.what);
}

__attribute__((cold)) tern_status tern_core_waitables_invalid(const struct tern_waitables *of, const char *name)
{
    tern_status st = tern_core_job_running(of->what);

    if (st < 0)
        return st;
    if (of->n == 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: n is 0; a wait for any of nothing would never end", of->what);
    if (!of->objects)
        return tern_base_fail(TERN_ERR_ARG, "%s: the array is NULL, but n is %zu", of->what, of->n);
    return tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL", of->what, name);
}

tern_status tern_core_wait_set_await(struct tern_wait_set *set, const tern_deadline *deadline)
{
    struct tern_wait wait = { .poll = set->of.kind->poll, .describe = tern_core_waitables_describe, .arg = set };

    set->index = set->of.n;
    if (!deadline)
        return wait.poll(set);
    wait.deadline = *deadline;
    return tern_core_wait(&wait);
}

tern_status tern_core_wait_any(const struct tern_waitables *of, const tern_deadline *deadline, size_t *index,
                               void *info)
{
    struct tern_wait_set set = { .of = *of };
    tern_status          st;

    if (!of->objects || !index || of->n == 0)
        return tern_core_waitables_invalid(of, "index");
    st = tern_core_wait_set_await(&set, deadline);
    if (set.index < of->n)
        *index = set.index;
    return st == TERN_OK ? tern_core_waitables_take(of, of->kind, set.index, info) : st;
}

tern_status tern_core_wait_some(const struct tern_waitables *of, tern_deadline deadline, size_t *count, size_t *indices,
                                void *infos, tern_status *statuses)
{
    struct tern_wait_set set = { .of = *of };
    tern_status          st, one;

    if (!of->objects || !count || !indices || of->n == 0)
        return tern_core_waitables_invalid(of, count ? "indices" : "count");
    *count = 0;
    if ((st = tern_core_wait_set_await(&set, &deadline)) != TERN_OK)
        return st;
    for (size_t i = set.index; i < of->n; i++) {
        if (of->kind->state(tern_core_waitables_at(of, i)) < TERN_WAITABLE_DONE)
            continue;
        one = tern_core_waitables_take(of, of->kind, i, infos ? (char *)infos + *count * of->kind->info_size : NULL);
        if (statuses)
            statuses[*count] = one;
        indices[(*count)++] = i;
        st = st == TERN_OK ? one : st;
    }
    return st;
}
