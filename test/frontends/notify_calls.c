/* notify_calls.c: every notified access moves and combines the right bytes, and notifies its target after the data.
 *
 * Each case is a call, a pair of datatypes (origin and target), a communicator and a kind of window. Every rank
 * accesses its right neighbour, waits for the notification of its left neighbour, and compares its memory at once with
 * what MPI itself packs, combines (MPI_Reduce_local) and unpacks. Without an argument, the cases are a sample that
 * contains every pair of values; with the argument "all", they are the product.
 */
#include "notify_test.h"

#define BYTES 4096 /* of a window */

enum { PUT, GET, RPUT, RGET, ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, CALLS };
static const char *const call_names[CALLS] = {
    "put", "get", "rput", "rget", "accumulate", "fetch_and_op", "compare_and_swap"
};

/* The datatypes of a case. */
struct pair {
    const char  *name;
    MPI_Datatype basic, here, there;
    int          here_count, there_count;
};

#define PAIRS 12
static struct pair pairs[PAIRS];

static void derive(struct pair *pair, const char *name, MPI_Datatype basic, MPI_Datatype here, int here_count,
                   MPI_Datatype there, int there_count)
{
    *pair = (struct pair){ name, basic, here, there, here_count, there_count };
}

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype vector(int count, int length, int stride, MPI_Datatype old)
{
    MPI_Datatype type;

    MPI(MPI_Type_vector(count, length, stride, old, &type));
    return committed(type);
}

static MPI_Datatype indexed(int count, const int *lengths, const int *places, MPI_Datatype old)
{
    MPI_Datatype type;

    MPI(MPI_Type_indexed(count, lengths, places, old, &type));
    return committed(type);
}

static MPI_Datatype subarray(int order)
{
    int          size[3] = { 4, 5, 6 }, part[3] = { 2, 3, 4 }, start[3] = { 1, 2, 1 };
    MPI_Datatype type;

    MPI(MPI_Type_create_subarray(3, size, part, start, order, MPI_INT, &type));
    return committed(type);
}

static MPI_Datatype backwards(void)
{
    int          lengths[3] = { 2, 2, 2 };
    MPI_Aint     places[3] = { 320, 160, 8 };
    MPI_Datatype type;

    MPI(MPI_Type_create_hindexed(3, lengths, places, MPI_DOUBLE, &type));
    return committed(type);
}

static MPI_Datatype mixed(int gap)
{
    int          lengths[3] = { 1, 3, 2 };
    MPI_Aint     places[3] = { 0, 8 + gap, 40 + gap };
    MPI_Datatype types[3] = { MPI_INT, MPI_DOUBLE, MPI_SHORT }, type;

    MPI(MPI_Type_create_struct(3, lengths, places, types, &type));
    return committed(type);
}

static MPI_Datatype resized(void)
{
    MPI_Datatype type;

    MPI(MPI_Type_create_resized(MPI_LONG, 0, 24, &type));
    return committed(type);
}

static void make_pairs(void)
{
    const int lengths[4] = { 3, 1, 0, 4 }, places[4] = { 7, 0, 2, 12 };

    derive(&pairs[0], "int", MPI_INT, MPI_INT, 11, MPI_INT, 11);
    derive(&pairs[1], "one double", MPI_DOUBLE, MPI_DOUBLE, 1, MPI_DOUBLE, 1);
    derive(&pairs[2], "no element", MPI_INT, MPI_INT, 0, MPI_INT, 0);
    derive(&pairs[3], "column to column", MPI_DOUBLE, vector(8, 1, 5, MPI_DOUBLE), 1, vector(8, 1, 5, MPI_DOUBLE), 1);
    derive(&pairs[4], "array to blocks", MPI_DOUBLE, MPI_DOUBLE, 12, vector(4, 3, 7, MPI_DOUBLE), 1);
    derive(&pairs[5], "blocks to other blocks", MPI_LONG, vector(6, 2, 3, MPI_LONG), 1, vector(3, 4, 6, MPI_LONG), 1);
    derive(&pairs[6], "indexed to array", MPI_INT, indexed(4, lengths, places, MPI_INT), 2, MPI_INT, 16);
    derive(&pairs[7], "subarrays of both orders", MPI_INT, subarray(MPI_ORDER_C), 1, subarray(MPI_ORDER_FORTRAN), 1);
    derive(&pairs[8], "backwards", MPI_DOUBLE, backwards(), 1, MPI_DOUBLE, 6);
    derive(&pairs[9], "struct to struct", MPI_DATATYPE_NULL, mixed(0), 3, mixed(16), 3);
    derive(&pairs[10], "resized to vector", MPI_LONG, resized(), 10, vector(5, 2, 4, MPI_LONG), 1);
    derive(&pairs[11], "short", MPI_SHORT, MPI_SHORT, 100, vector(10, 10, 11, MPI_SHORT), 1);
}

/* The values of a type, small enough that sums and products are exact. */
static void fill(void *memory, MPI_Datatype basic, int seed)
{
    for (int i = 0; i < BYTES; i++)
        ((unsigned char *)memory)[i] = (unsigned char)(i * 7 + seed * 31);
    if (basic == MPI_DOUBLE) {
        for (int i = 0; i < BYTES / 8; i++)
            ((double *)memory)[i] = (i * 7 + seed * 3) % 100;
    }
}

/* A window and its communicator. */
struct place {
    MPI_Comm       comm;
    int            rank, size, left, right, unit;
    unsigned char *memory;
    MPI_Win        win;
};

static void open_place(struct place *p, int comm, int kind)
{
    p->comm = make_comm(comm);
    MPI(MPI_Comm_rank(p->comm, &p->rank));
    MPI(MPI_Comm_size(p->comm, &p->size));
    p->right = (p->rank + 1) % p->size;
    p->left = (p->rank + p->size - 1) % p->size;
    p->unit = 1 << p->rank % 3; /* it differs from rank to rank */
    if (kind == 0) {
        MPI(MPIX_Win_allocate_notify(BYTES, p->unit, MPI_INFO_NULL, p->comm, &p->memory, &p->win));
    } else {
        p->memory = malloc(BYTES);
        MPI(MPIX_Win_create_notify(p->memory, BYTES, p->unit, MPI_INFO_NULL, p->comm, &p->win));
    }
}

static void close_place(struct place *p, int kind)
{
    MPI(MPIX_Win_free(&p->win));
    if (kind == 1)
        free(p->memory);
    MPI(MPI_Comm_free(&p->comm));
}

/* Copy typed data: from one layout to another, through a packed buffer, which is combined with the target first. */
static void combine(void *to, MPI_Datatype to_type, int to_count, const void *from, MPI_Datatype from_type,
                    int from_count, MPI_Datatype basic, MPI_Op op)
{
    static unsigned char packed[BYTES], old[BYTES];
    int                  length = 0, at = 0, size = 1;

    MPI(MPI_Pack(from, from_count, from_type, packed, BYTES, &length, MPI_COMM_SELF));
    if (op != MPI_REPLACE) {
        MPI(MPI_Pack(to, to_count, to_type, old, BYTES, &at, MPI_COMM_SELF));
        MPI(MPI_Type_size(basic, &size));
        if (op != MPI_NO_OP && length > 0)
            MPI(MPI_Reduce_local(packed, old, length / size, basic, op));
        memcpy(packed, old, (size_t)length);
    }
    at = 0;
    MPI(MPI_Unpack(packed, length, &at, to, to_count, to_type, MPI_COMM_SELF));
}

static MPI_Op choose_op(MPI_Datatype basic, int which)
{
    const MPI_Op ops[] = { MPI_SUM, MPI_MIN, MPI_REPLACE, MPI_MAX, MPI_PROD, MPI_NO_OP, MPI_BAND, MPI_BOR, MPI_BXOR };

    return ops[which % (basic == MPI_DOUBLE ? 6 : 9)];
}

/* One element of a datatype, at the origin and at the target. */
struct element {
    unsigned char operand[16], compare[16], result[16];
};

/* Access the right neighbour. origin is filled with this rank's values. */
static void make_access(const struct place *p, int call, const struct pair *pair, MPI_Op op, int tag,
                        unsigned char *origin, struct element *e)
{
    MPI_Aint    disp = 64 >> p->right % 3; /* 64 bytes, in units of the target */
    MPI_Request request;

    switch (call) {
    case PUT:
        MPI(MPIX_Put_notify(origin, pair->here_count, pair->here, p->right, disp, pair->there_count, pair->there,
                            p->win, tag));
        break;
    case GET:
        MPI(MPIX_Get_notify(origin, pair->here_count, pair->here, p->right, disp, pair->there_count, pair->there,
                            p->win, tag));
        break;
    case RPUT:
        MPI(MPIX_Rput_notify(origin, pair->here_count, pair->here, p->right, disp, pair->there_count, pair->there,
                             p->win, tag, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
        break;
    case RGET:
        MPI(MPIX_Rget_notify(origin, pair->here_count, pair->here, p->right, disp, pair->there_count, pair->there,
                             p->win, tag, &request));
        MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
        break;
    case ACCUMULATE:
        MPI(MPIX_Accumulate_notify(origin, pair->here_count, pair->here, p->right, disp, pair->there_count, pair->there,
                                   op, p->win, tag));
        break;
    case FETCH_AND_OP:
        MPI(MPIX_Fetch_and_op_notify(e->operand, e->result, pair->basic, p->right, disp, op, p->win, tag));
        break;
    default:
        MPI(MPIX_Compare_and_swap_notify(e->operand, e->compare, e->result, pair->basic, p->right, disp, p->win, tag));
    }
}

/* Wait for the notification of the left neighbour. */
static void await_left(const struct place *p, int tag, int how)
{
    MPI_Request request;
    MPI_Status  status;
    int         flag = 0, count;

    MPI(MPIX_Notify_init(p->win, how & 1 ? MPI_ANY_SOURCE : p->left, how & 2 ? MPI_ANY_TAG : tag, 1, &request));
    MPI(MPIX_Start(&request));
    if (how & 4) {
        while (!flag)
            MPI(MPIX_Test(&request, &flag, &status));
    } else {
        MPI(MPIX_Wait(&request, &status));
    }
    CHECK(status.MPI_SOURCE == p->left && status.MPI_TAG == tag);
    MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == 1);
    MPI(MPIX_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
}

static int seed_of(const struct place *p, int rank, int which)
{
    return rank + 11 * p->size + which;
}

/* Run a case of puts, gets or accumulates. */
static void run_array(const struct place *p, int call, const struct pair *pair, int which)
{
    static unsigned char origin[BYTES], expected[BYTES], there[BYTES];
    MPI_Op               op = call == ACCUMULATE ? choose_op(pair->basic, which) : MPI_REPLACE;
    int                  tag = 1 + which % 1000;

    fill(p->memory, pair->basic, seed_of(p, p->rank, which));
    fill(origin, pair->basic, seed_of(p, p->rank, which) + 50);
    MPI(MPI_Barrier(p->comm));
    make_access(p, call, pair, op, tag, origin, NULL);
    await_left(p, tag, which);
    fill(expected, pair->basic, seed_of(p, p->rank, which));
    if (call == PUT || call == RPUT || call == ACCUMULATE) { /* what the left neighbour has done */
        fill(there, pair->basic, seed_of(p, p->left, which) + 50);
        combine(expected + 64, pair->there, pair->there_count, there, pair->here, pair->here_count, pair->basic, op);
    }
    CHECK(memcmp(expected, p->memory, BYTES) == 0);
    MPI(MPIX_Win_flush(p->right, p->win));
    if (call == GET || call == RGET) {
        fill(expected, pair->basic, seed_of(p, p->rank, which) + 50);
        fill(there, pair->basic, seed_of(p, p->right, which));
        combine(expected, pair->here, pair->here_count, there + 64, pair->there, pair->there_count, pair->basic,
                MPI_REPLACE);
        CHECK(memcmp(expected, origin, BYTES) == 0);
    }
}

/* Run a case with a single element. */
static void run_element(const struct place *p, int call, const struct pair *pair, int which)
{
    static unsigned char memory[BYTES], operand[BYTES];
    struct element       e;
    MPI_Op               op = choose_op(pair->basic, which);
    int                  tag = 1 + which % 1000, size, equal = which % 2;

    if (pair->basic == MPI_DATATYPE_NULL || (call == COMPARE_AND_SWAP && pair->basic == MPI_DOUBLE))
        return;
    MPI(MPI_Type_size(pair->basic, &size));
    fill(p->memory, pair->basic, seed_of(p, p->rank, which));
    fill(memory, pair->basic, seed_of(p, p->right, which));
    fill(operand, pair->basic, seed_of(p, p->rank, which) + 50);
    memcpy(e.operand, operand, sizeof e.operand);
    memcpy(e.compare, memory + 64, sizeof e.compare);
    e.compare[0] ^= !equal;
    MPI(MPI_Barrier(p->comm));
    make_access(p, call, pair, op, tag, NULL, &e);
    await_left(p, tag, which);
    MPI(MPIX_Win_flush_local(p->right, p->win));
    CHECK(memcmp(e.result, memory + 64, (size_t)size) == 0);
    fill(memory, pair->basic, seed_of(p, p->rank, which));
    fill(operand, pair->basic, seed_of(p, p->left, which) + 50);
    if (call == FETCH_AND_OP)
        combine(memory + 64, pair->basic, 1, operand, pair->basic, 1, pair->basic, op);
    else if (equal)
        memcpy(memory + 64, operand, (size_t)size);
    CHECK(memcmp(memory, p->memory, BYTES) == 0);
    MPI(MPIX_Win_flush_all(p->win));
}

static void run_comm(int comm, int kind, int all)
{
    struct place p;
    char         name[128];
    int          which = 0;

    open_place(&p, comm, kind);
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < PAIRS; i++, which++) {
            if (!all && ((call + i) % COMMS != comm || (call + i / 2) % 2 != kind))
                continue;
            if (call == ACCUMULATE && pairs[i].basic == MPI_DATATYPE_NULL)
                continue;
            snprintf(name, sizeof name, "%s, %s, %s, %s", call_names[call], pairs[i].name, comm_names[comm],
                     kind == 0 ? "allocated" : "created");
            notify_case = name;
            if (call < FETCH_AND_OP)
                run_array(&p, call, &pairs[i], which);
            else
                run_element(&p, call, &pairs[i], which);
            MPI(MPI_Barrier(p.comm));
        }
    }
    notify_case = "end";
    close_place(&p, kind);
}

int main(int argc, char **argv)
{
    notify_begin(&argc, &argv);
    MPI(MPIX_Notify_start());
    make_pairs();
    for (int comm = 0; comm < COMMS; comm++) {
        for (int kind = 0; kind < 2; kind++)
            run_comm(comm, kind, argc > 1 && strcmp(argv[1], "all") == 0);
    }
    for (int i = 3; i < PAIRS; i++) {
        if (pairs[i].here != pairs[i].basic && pairs[i].here != MPI_INT && pairs[i].here != MPI_DOUBLE)
            MPI(MPI_Type_free(&pairs[i].here));
        if (pairs[i].there != pairs[i].basic)
            MPI(MPI_Type_free(&pairs[i].there));
    }
    MPI(MPI_Finalize());
    return 0;
}
