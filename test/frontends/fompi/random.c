/* random.c: random accesses with random datatypes in random epochs, compared with a model.
 *
 * The memory of each process has a block for each process, which is the only one that accesses it. So each process has
 * a model of its blocks everywhere, and knows what a get must return. One more block is for sums of all processes.
 */
#include "check.h"

#define BLOCK 48 /* elements of a block */
#define MOST 12  /* elements of an access */
#define ROUNDS 12
#define STEPS 10

/* A datatype of count elements, and where they are. */
struct shape {
    MPI_Datatype type;
    int          count; /* of the datatype in a call */
    bool         free;
    int          at[MOST];
};

/* The state of the test at this process. */
struct state {
    struct window w;
    uint64_t      common, own; /* seeds: the same at all processes, and this process's */
    int64_t      *model;       /* [n][BLOCK] this process's block at each process */
    int64_t       added;       /* to the last block of each process */
    int64_t       next;        /* a value that was never used before */
};

static struct shape make_shape(uint64_t *seed, int elements)
{
    struct shape shape = { .type = MPI_INT64_T, .count = elements };
    int          lengths[MOST], kind = (int)draw(seed, 6), step = BLOCK / elements;
    MPI_Aint     places[MOST];
    MPI_Datatype types[MOST], inner;

    for (int i = 0; i < elements; i++) {
        shape.at[i] = kind == 0 ? i : kind == 1 ? step * i : kind == 2 ? BLOCK - 1 - step * i : 0;
        if (kind >= 3)
            shape.at[i] = step * i + (int)draw(seed, (unsigned)step);
        lengths[i] = 1;
        places[i] = (MPI_Aint)shape.at[i] * 8;
        types[i] = MPI_INT64_T;
    }
    if (kind == 0)
        return shape;
    shape.count = 1;
    shape.free = true;
    switch (kind) {
    case 1: MPI_Type_vector(elements, 1, step, MPI_INT64_T, &shape.type); break;
    case 2: MPI_Type_indexed(elements, lengths, shape.at, MPI_INT64_T, &shape.type); break;
    case 3: MPI_Type_create_hindexed(elements, lengths, places, MPI_INT64_T, &shape.type); break;
    case 4: MPI_Type_create_struct(elements, lengths, places, types, &shape.type); break;
    default: /* several elements of a resized datatype */
        MPI_Type_create_resized(MPI_INT64_T, 0, step * 8, &inner);
        MPI_Type_dup(inner, &shape.type);
        MPI_Type_free(&inner);
        shape.count = elements;
        for (int i = 0; i < elements; i++)
            shape.at[i] = step * i;
    }
    MPI_Type_commit(&shape.type);
    return shape;
}

static void free_shape(struct shape *shape)
{
    if (shape->free)
        OK(foMPI_Type_free(&shape->type));
}

static MPI_Aint place(const struct state *s, int target)
{
    return s->w.at[target] + (MPI_Aint)s->w.me * BLOCK * 8;
}

/* Complete the access in one of several ways. */
static void complete(struct state *s, int target, foMPI_Request *request)
{
    int flag = 0;

    if (*request == foMPI_REQUEST_NULL || draw(&s->own, 4) == 0) {
        if (draw(&s->own, 2) == 0)
            OK(foMPI_Win_flush(target, s->w.win));
        else
            OK(foMPI_Win_flush_all(s->w.win));
    }
    if (draw(&s->own, 2) == 0)
        OK(foMPI_Wait(request, MPI_STATUS_IGNORE));
    while (!flag)
        OK(foMPI_Test(request, &flag, MPI_STATUS_IGNORE));
    MUST(*request == foMPI_REQUEST_NULL);
}

static void step_put(struct state *s, int target)
{
    int           elements = 1 + (int)draw(&s->own, MOST);
    struct shape  here = make_shape(&s->own, elements), there = make_shape(&s->own, elements);
    int64_t       from[BLOCK], *model = s->model + (size_t)target * BLOCK;
    foMPI_Request request = foMPI_REQUEST_NULL;

    for (int i = 0; i < BLOCK; i++)
        from[i] = s->next++;
    if (draw(&s->own, 2) == 0)
        OK(foMPI_Rput(from, here.count, here.type, target, place(s, target), there.count, there.type, s->w.win,
                      &request));
    else
        OK(foMPI_Put(from, here.count, here.type, target, place(s, target), there.count, there.type, s->w.win));
    for (int i = 0; i < elements; i++)
        model[there.at[i]] = from[here.at[i]];
    complete(s, target, &request);
    OK(foMPI_Win_flush(target, s->w.win)); /* the next access may touch the same elements */
    free_shape(&here);
    free_shape(&there);
}

static void step_get(struct state *s, int target)
{
    int           elements = 1 + (int)draw(&s->own, MOST);
    struct shape  here = make_shape(&s->own, elements), there = make_shape(&s->own, elements);
    int64_t       to[BLOCK], *model = s->model + (size_t)target * BLOCK;
    foMPI_Request request = foMPI_REQUEST_NULL;

    memset(to, 0x55, sizeof to);
    if (draw(&s->own, 2) == 0)
        OK(foMPI_Rget(to, here.count, here.type, target, place(s, target), there.count, there.type, s->w.win,
                      &request));
    else
        OK(foMPI_Get(to, here.count, here.type, target, place(s, target), there.count, there.type, s->w.win));
    complete(s, target, &request);
    for (int i = 0; i < elements; i++)
        MUST(to[here.at[i]] == model[there.at[i]]);
    free_shape(&here);
    free_shape(&there);
}

static int64_t apply(foMPI_Op op, int64_t a, int64_t b)
{
    switch (op) {
    case foMPI_SUM: return a + b;
    case foMPI_MAX: return a > b ? a : b;
    case foMPI_BXOR: return a ^ b;
    case foMPI_LOR: return a || b;
    case foMPI_REPLACE: return b;
    default: return a;
    }
}

static void step_acc(struct state *s, int target)
{
    static const foMPI_Op ops[] = { foMPI_SUM, foMPI_MAX, foMPI_BXOR, foMPI_LOR, foMPI_REPLACE, foMPI_NO_OP };
    foMPI_Op              op = ops[draw(&s->own, 6)];
    int                   elements = 1 + (int)draw(&s->own, MOST), how = (int)draw(&s->own, 4);
    struct shape          here = make_shape(&s->own, elements), there = make_shape(&s->own, elements);
    struct shape          old = make_shape(&s->own, elements);
    int64_t               from[BLOCK], result[BLOCK], *model = s->model + (size_t)target * BLOCK;
    foMPI_Request         request = foMPI_REQUEST_NULL;
    foMPI_Win             win = s->w.win;

    for (int i = 0; i < BLOCK; i++)
        from[i] = s->next++;
    if (how == 0)
        OK(foMPI_Accumulate(from, here.count, here.type, target, place(s, target), there.count, there.type, op, win));
    else if (how == 1)
        OK(foMPI_Raccumulate(from, here.count, here.type, target, place(s, target), there.count, there.type, op, win,
                             &request));
    else if (how == 2)
        OK(foMPI_Get_accumulate(from, here.count, here.type, result, old.count, old.type, target, place(s, target),
                                there.count, there.type, op, win));
    else
        OK(foMPI_Rget_accumulate(from, here.count, here.type, result, old.count, old.type, target, place(s, target),
                                 there.count, there.type, op, win, &request));
    complete(s, target, &request);
    OK(foMPI_Win_flush(target, win));
    for (int i = 0; i < elements; i++) {
        MUST(how < 2 || result[old.at[i]] == model[there.at[i]]);
        model[there.at[i]] = apply(op, model[there.at[i]], from[here.at[i]]);
    }
    free_shape(&here);
    free_shape(&there);
    free_shape(&old);
}

static void step_single(struct state *s, int target)
{
    static const int64_t one = 1; /* it is read until the end of the epoch */
    int                  at = (int)draw(&s->own, BLOCK);
    int64_t             *model = s->model + (size_t)target * BLOCK + at, value = s->next++, old = -1, expect = *model;

    if (draw(&s->own, 2) == 0)
        expect += (int64_t)draw(&s->own, 2);
    switch (draw(&s->own, 4)) {
    case 0:
        OK(foMPI_Compare_and_swap(&value, &expect, &old, MPI_INT64_T, target, place(s, target) + at * 8, s->w.win));
        OK(foMPI_Win_flush(target, s->w.win));
        MUST(old == *model);
        *model = expect == *model ? value : *model;
        return;
    case 1:
        OK(foMPI_Fetch_and_op(&value, &old, MPI_INT64_T, target, place(s, target) + at * 8, foMPI_SUM, s->w.win));
        OK(foMPI_Win_flush(target, s->w.win));
        MUST(old == *model);
        *model += value;
        return;
    case 2:
        OK(foMPI_Fetch_and_op(&value, &old, MPI_INT64_T, target, place(s, target) + at * 8, foMPI_REPLACE, s->w.win));
        OK(foMPI_Win_flush(target, s->w.win));
        MUST(old == *model);
        *model = value;
        return;
    default: /* every process adds to the last block */
        OK(foMPI_Accumulate(&one, 1, MPI_INT64_T, target, s->w.at[target] + (MPI_Aint)s->w.n * BLOCK * 8, 1,
                            MPI_INT64_T, foMPI_SUM, s->w.win));
        s->added++;
    }
}

static void one_step(struct state *s, int target)
{
    switch (draw(&s->own, 4)) {
    case 0: step_put(s, target); break;
    case 1: step_get(s, target); break;
    case 2: step_acc(s, target); break;
    default: step_single(s, target);
    }
}

/* Make steps in an epoch; all processes have drawn the same kind. */
static void one_epoch(struct state *s, unsigned kind, MPI_Group all)
{
    for (int i = 0; i < (kind == 2 || kind == 3 ? STEPS / 2 : 1); i++) {
        int target = (int)draw(&s->own, (unsigned)s->w.n);

        switch (kind) {
        case 0: OK(foMPI_Win_fence(0, s->w.win)); break;
        case 1: OK(foMPI_Win_lock_all(0, s->w.win)); break;
        case 2: OK(foMPI_Win_lock(foMPI_LOCK_SHARED, target, 0, s->w.win)); break;
        case 3: OK(foMPI_Win_lock(foMPI_LOCK_EXCLUSIVE, target, 0, s->w.win)); break;
        default: OK(foMPI_Win_post(all, 0, s->w.win)); OK(foMPI_Win_start(all, 0, s->w.win));
        }
        for (int step = 0; step < (kind == 2 || kind == 3 ? 2 : STEPS); step++)
            one_step(s, kind == 2 || kind == 3 ? target : (int)draw(&s->own, (unsigned)s->w.n));
        switch (kind) {
        case 0: OK(foMPI_Win_fence(MPI_MODE_NOSUCCEED, s->w.win)); break;
        case 1: OK(foMPI_Win_unlock_all(s->w.win)); break;
        case 2:
        case 3: OK(foMPI_Win_unlock(target, s->w.win)); break;
        default: OK(foMPI_Win_complete(s->w.win)); OK(foMPI_Win_wait(s->w.win));
        }
    }
}

/* Compare the memory of all processes with the models. */
static void compare(struct state *s, MPI_Comm comm)
{
    size_t   n = (size_t)s->w.n;
    int64_t *truth = malloc(n * BLOCK * 8), *memory = s->w.base, added;

    MUST(truth != NULL);
    MPI_Alltoall(s->model, BLOCK, MPI_INT64_T, truth, BLOCK, MPI_INT64_T, comm);
    MPI_Barrier(comm); /* the accesses of all processes are over */
    OK(foMPI_Win_sync(s->w.win));
    MUST(memcmp(memory, truth, n * BLOCK * 8) == 0);
    MPI_Allreduce(&s->added, &added, 1, MPI_INT64_T, MPI_SUM, comm);
    MPI_Allreduce(memory + n * BLOCK, truth, 1, MPI_INT64_T, MPI_SUM, comm);
    MUST(added == truth[0]);
    free(truth);
    MPI_Barrier(comm);
}

void test_random(MPI_Comm comm)
{
    MPI_Group   all;
    const char *seed = getenv("FOMPI_SEED");

    MPI_Comm_group(comm, &all);
    for (int kind = 0; kind < KINDS; kind++) {
        struct state s = { .common = (seed != NULL ? strtoull(seed, NULL, 10) : 1) + (uint64_t)kind, .next = 1 };
        unsigned     last = 9;

        MPI_Comm_size(comm, &s.w.n);
        s.w = open_window((enum kind)kind, ((size_t)s.w.n * BLOCK + 1) * 8, comm);
        s.own = s.common * 1000 + (uint64_t)s.w.me;
        s.next += (int64_t)s.w.me << 40;
        s.model = calloc((size_t)s.w.n * BLOCK, 8);
        MUST(s.model != NULL);
        for (int round = 0; round < ROUNDS; round++) {
            unsigned epoch = draw(&s.common, 5);

            if (epoch != last)
                MPI_Barrier(comm); /* the kind of synchronization changes */
            last = epoch;
            one_epoch(&s, epoch, all);
            compare(&s, comm);
        }
        free(s.model);
        close_window(&s.w);
    }
    MPI_Group_free(&all);
}
