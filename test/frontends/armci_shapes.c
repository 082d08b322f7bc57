/* armci_shapes.c: boxes of random shapes, with 0 to 8 levels, counts of 0 and strides of both signs, put, fetched and
 * accumulated by all calls, and compared with a model of the memory.
 *
 * Each rank has a slice for every rank, so that ranks do not disturb each other. A round starts several operations,
 * each in its own window of the slice, with handles of all kinds, and then completes them.
 *
 * ranks: 1 2 3 4 8
 * hosts: a:2,b:2 a:1,b:1 a:2,b:1
 */
#include "armci_test.h"

enum { WINDOW = 4096, WINDOWS = 6, SLICE = WINDOW * WINDOWS, ROUNDS = 60, LEVELS = 8 };

static unsigned char **memory;
static unsigned char  *model;                     /* [n][SLICE] what this rank has written to each rank */
static unsigned char   source[WINDOWS][WINDOW];   /* the local side of each operation */
static unsigned char   fetched[WINDOWS][WINDOW];  /* what a get has brought */
static unsigned char   expected[WINDOWS][WINDOW]; /* what a get must bring */
static unsigned        state = 12345;

static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* A box on both sides. The bases are offsets in a window. */
struct box {
    int levels, count[LEVELS + 1], near[LEVELS], far[LEVELS], near_base, far_base;
};

/* Spread the segments of a box over a window: the strides of one side, and the offset of its first segment. */
static int spread(const struct box *box, int stride[LEVELS])
{
    int extent = box->count[0] > 0 ? box->count[0] : 8, base = 0;

    for (int i = 0; i < box->levels; i++) {
        int gap = (int)draw(2) * 8, times = box->count[i + 1] > 0 ? box->count[i + 1] : 1;

        if ((extent + gap) * times > WINDOW)
            gap = 0;
        stride[i] = extent + gap;
        extent = stride[i] * times;
        if (draw(4) == 0) { /* backwards */
            base += stride[i] * (times - 1);
            stride[i] = -stride[i];
        }
    }
    return base;
}

/* Choose a box whose segments are whole doubles. It fits into a window also with the gaps of spread. */
static struct box choose(void)
{
    struct box box = { .levels = (int)draw(LEVELS + 1) };
    int        cells = 1;

    box.count[0] = 8 * (int)(1 + draw(3));
    for (int i = 1; i <= box.levels; i++) {
        int most = cells * (box.count[0] + 8) * 3 <= WINDOW / 8 ? 3 : 1;

        box.count[i] = (int)(1 + draw((unsigned)most));
        cells *= box.count[i];
    }
    if (draw(10) == 0)
        box.count[draw((unsigned)box.levels + 1)] = 0;
    box.near_base = spread(&box, box.near);
    box.far_base = spread(&box, box.far);
    return box;
}

/* Call a function for each segment of a box: with its offsets on both sides. */
static void each_segment(const struct box *box, void (*visit)(int near, int far, int bytes, void *arg), void *arg)
{
    int total = 1;

    for (int i = 1; i <= box->levels; i++)
        total *= box->count[i];
    for (int s = 0; s < total && box->count[0] > 0; s++) {
        int near = box->near_base, far = box->far_base, rest = s;

        for (int i = 0; i < box->levels; i++) {
            near += rest % box->count[i + 1] * box->near[i];
            far += rest % box->count[i + 1] * box->far[i];
            rest /= box->count[i + 1];
        }
        visit(near, far, box->count[0], arg);
    }
}

/* What an operation does to the model: the window of the model, and the local side. */
struct effect {
    unsigned char *far, *near;
    double         scale;
};

static void model_put(int near, int far, int bytes, void *arg)
{
    struct effect *effect = arg;

    memcpy(effect->far + far, effect->near + near, (size_t)bytes);
}

static void model_get(int near, int far, int bytes, void *arg)
{
    struct effect *effect = arg;

    memcpy(effect->near + near, effect->far + far, (size_t)bytes);
}

static void model_acc(int near, int far, int bytes, void *arg)
{
    struct effect *effect = arg;

    for (int i = 0; i < bytes; i += 8) {
        double a, b;

        memcpy(&a, effect->far + far + i, 8);
        memcpy(&b, effect->near + near + i, 8);
        a += effect->scale * b;
        memcpy(effect->far + far + i, &a, 8);
    }
}

/* Start one operation on a box in window w of the rank's slice, and apply it to the model. */
static void operate(int w, int rank, armci_hdl_t *handle, int blocking)
{
    struct box     box = choose();
    unsigned char *there = memory[rank] + (size_t)me * SLICE + (size_t)w * WINDOW + box.far_base;
    unsigned char *here = source[w] + box.near_base;
    double         scale = (double)draw(3);
    struct effect  effect = { model + (size_t)rank * SLICE + (size_t)w * WINDOW, source[w], scale };
    int            result = -1;

    for (int i = 0; i < WINDOW; i += 8) {
        double value = draw(1000);

        memcpy(source[w] + i, &value, 8);
    }
    memset(fetched[w], 0, WINDOW);
    memset(expected[w], 0, WINDOW);
    switch (draw(3)) {
    case 0:
        each_segment(&box, model_put, &effect);
        result = blocking ? ARMCI_PutS(here, box.near, there, box.far, box.count, box.levels, rank)
                          : ARMCI_NbPutS(here, box.near, there, box.far, box.count, box.levels, rank, handle);
        break;
    case 1:
        effect.near = expected[w];
        each_segment(&box, model_get, &effect);
        here = fetched[w] + box.near_base;
        result = blocking ? ARMCI_GetS(there, box.far, here, box.near, box.count, box.levels, rank)
                          : ARMCI_NbGetS(there, box.far, here, box.near, box.count, box.levels, rank, handle);
        break;
    default:
        each_segment(&box, model_acc, &effect);
        result = blocking
                     ? ARMCI_AccS(ARMCI_ACC_DBL, &scale, here, box.near, there, box.far, box.count, box.levels, rank)
                     : ARMCI_NbAccS(ARMCI_ACC_DBL, &scale, here, box.near, there, box.far, box.count, box.levels, rank,
                                    handle);
        memset(box.count, 0, sizeof box.count); /* the call has read its lists and its scale */
        scale = -1;
        break;
    }
    MUST(result == 0);
}

/* A round: blocking operations, or nonblocking ones with an aggregate handle, a handle each, or none. */
static void operate_all(unsigned how, int rank)
{
    armci_hdl_t all, each[WINDOWS];

    ARMCI_INIT_HANDLE(&all);
    ARMCI_SET_AGGREGATE_HANDLE(&all);
    for (int w = 0; w < WINDOWS; w++) {
        ARMCI_INIT_HANDLE(&each[w]);
        operate(w, rank, how == 1 ? &all : how == 2 ? &each[w] : NULL, how == 0);
    }
    for (int w = 0; how == 2 && w < WINDOWS; w++)
        MUST(ARMCI_Wait(&each[WINDOWS - 1 - w]) == 0);
    if (how == 1)
        MUST(ARMCI_Wait(&all) == 0 && ARMCI_Test(&all) == 0);
    if (how == 3)
        MUST(draw(2) ? ARMCI_WaitProc(rank) == 0 : ARMCI_WaitAll() == 0);
    for (int w = 0; w < WINDOWS; w++)
        MUST(memcmp(fetched[w], expected[w], WINDOW) == 0);
}

/* Packing a box into a buffer, unpacking it, and the iterator over its segments agree. */
struct packed {
    unsigned char *buffer;
    stride_info_t  info;
    int            at;
};

static void compare_packed(int near, int far, int bytes, void *arg)
{
    struct packed *packed = arg;

    (void)far;
    MUST(memcmp(packed->buffer + packed->at, source[0] + near, (size_t)bytes) == 0);
    MUST(memcmp(packed->buffer + packed->at, fetched[0] + near, (size_t)bytes) == 0);
    MUST(armci_stride_info_has_more(&packed->info) && armci_stride_info_seg_size(&packed->info) == bytes);
    MUST(armci_stride_info_seg_ptr(&packed->info) == source[0] + near);
    armci_stride_info_next(&packed->info);
    packed->at += bytes;
}

static void check_packing(void)
{
    static unsigned char buffer[WINDOW];
    struct box           box = choose();
    struct packed        packed = { .buffer = buffer };

    for (int i = 0; i < WINDOW; i++)
        source[0][i] = (unsigned char)draw(256);
    armci_write_strided(source[0] + box.near_base, box.levels, box.near, box.count, (char *)buffer);
    armci_read_strided(fetched[0] + box.near_base, box.levels, box.near, box.count, (char *)buffer);
    armci_stride_info_init(&packed.info, source[0] + box.near_base, box.levels, box.near, box.count);
    each_segment(&box, compare_packed, &packed);
    MUST(!armci_stride_info_has_more(&packed.info));
    armci_stride_info_destroy(&packed.info);
}

int main(void)
{
    unsigned char *back;

    start();
    state += (unsigned)me;
    memory = (unsigned char **)allocate((long)n * SLICE);
    model = calloc((size_t)n, SLICE);
    back = malloc(SLICE);
    MUST(model != NULL && back != NULL);
    memset(memory[me], 0, (size_t)n * SLICE);
    ARMCI_Barrier();
    for (unsigned round = 0; round < ROUNDS; round++) {
        operate_all(round % 4, (int)draw((unsigned)n));
        check_packing();
    }
    ARMCI_Barrier();
    for (int rank = 0; rank < n; rank++) {
        MUST(ARMCI_Get(memory[rank] + (size_t)me * SLICE, back, SLICE, rank) == 0);
        MUST(memcmp(back, model + (size_t)rank * SLICE, SLICE) == 0);
    }
    free(back);
    free(model);
    release((void **)memory);
    finish();
    return 0;
}
