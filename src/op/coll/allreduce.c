/* allreduce.c: the algorithms of tern_allreduce.
 *
 * Recursive doubling and Rabenseifner's algorithm work on a number of ranks that is a power of two. Before they begin,
 * the surplus ranks give their arrays to neighbours, from which they receive the result in the end: of the first 2 *
 * extra ranks, each odd rank combines the array of its even neighbour with its own, so that neighbours in the order of
 * the ranks are combined first. */
#include "base/bits.h"
#include "op/coll/coll.h"

/* The part of a rank in a team that is reduced to a power of two. */
struct core {
    int power; /* ranks that take part */
    int extra; /* ranks that do not take part */
    int me;    /* number of this rank among those that take part; -1: it does not take part */
};

static struct core core_of(const struct tern_coll *c)
{
    struct core core = { .power = 1 };

    while (2 * core.power <= c->size)
        core.power *= 2;
    core.extra = c->size - core.power;
    if (c->rank >= 2 * core.extra)
        core.me = c->rank - core.extra;
    else
        core.me = c->rank % 2 ? c->rank / 2 : -1;
    return core;
}

static int rank_in(const struct core *core, int number)
{
    return number < core->extra ? 2 * number + 1 : number + core->extra;
}

/* Give this rank's array to its neighbour, or combine the array of the neighbour with that of this rank. Afterwards dst
 * contains the contribution of this rank. */
static void fold_in(struct tern_coll *c, const struct tern_coll_args *args, const struct core *core, unsigned char *in)
{
    if (c->rank >= 2 * core->extra) {
        tern_coll_copy(c, args->dst, args->src, args->len);
    } else if (c->rank % 2 == 0) {
        tern_coll_send(c, c->rank + 1, args->src, args->len);
    } else {
        tern_coll_recv(c, c->rank - 1, in, args->len);
        tern_coll_wait(c);
        tern_coll_combine(c, args->dst, in, args->src, args->len);
    }
}

static void fold_out(struct tern_coll *c, const struct tern_coll_args *args, const struct core *core)
{
    if (c->rank >= 2 * core->extra)
        return;
    if (c->rank % 2) {
        tern_coll_send(c, c->rank - 1, args->dst, args->len);
    } else {
        tern_coll_wait(c); /* dst may be the buffer that is sent */
        tern_coll_recv(c, c->rank + 1, args->dst, args->len);
    }
}

/* In round k, exchange the whole array with the rank that differs in bit k. */
static void recursive_doubling(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct core    core = core_of(c);
    unsigned char *in = tern_coll_temp(c, args->len);

    fold_in(c, args, &core, in);
    for (int bit = 1; core.me >= 0 && bit < core.power; bit *= 2) {
        int peer = rank_in(&core, core.me ^ bit);

        tern_coll_recv(c, peer, in, args->len);
        tern_coll_send(c, peer, args->dst, args->len);
        tern_coll_wait(c);
        if (peer < c->rank)
            tern_coll_combine(c, args->dst, in, args->dst, args->len);
        else
            tern_coll_combine(c, args->dst, args->dst, in, args->len);
    }
    fold_out(c, args, &core);
}

/* The pieces of an array for n ranks: whole elements, as equal as possible. */
static size_t piece_at(const struct tern_coll_args *args, int n, int i)
{
    size_t count = args->len / args->how.elem, each = count / (size_t)n, more = count % (size_t)n;

    return ((size_t)i * each + ((size_t)i < more ? (size_t)i : more)) * args->how.elem;
}

/* Halve the part of the array that a rank reduces in each round, then gather the parts in the opposite order. */
static void rabenseifner(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct core    core = core_of(c);
    unsigned char *in = tern_coll_temp(c, args->len);
    int            low = 0, high = core.power;

#define AT(i) piece_at(args, core.power, i)
    fold_in(c, args, &core, in);
    for (int bit = core.power / 2; core.me >= 0 && bit > 0; bit /= 2) {
        int peer = rank_in(&core, core.me ^ bit), middle = (low + high) / 2;
        int keep = core.me & bit ? middle : low, keep_end = core.me & bit ? high : middle;
        int give = core.me & bit ? low : middle, give_end = core.me & bit ? middle : high;

        tern_coll_recv(c, peer, in + AT(keep), AT(keep_end) - AT(keep));
        tern_coll_send(c, peer, args->dst + AT(give), AT(give_end) - AT(give));
        tern_coll_wait(c);
        if (peer < c->rank)
            tern_coll_combine(c, args->dst + AT(keep), in + AT(keep), args->dst + AT(keep), AT(keep_end) - AT(keep));
        else
            tern_coll_combine(c, args->dst + AT(keep), args->dst + AT(keep), in + AT(keep), AT(keep_end) - AT(keep));
        low = keep;
        high = keep_end;
    }
    for (int bit = 1; core.me >= 0 && bit < core.power; bit *= 2) {
        int peer = rank_in(&core, core.me ^ bit), begin = core.me & ~(2 * bit - 1), middle = begin + bit;
        int mine = core.me & bit ? middle : begin, theirs = core.me & bit ? begin : middle;

        tern_coll_recv(c, peer, args->dst + AT(theirs), AT(theirs + bit) - AT(theirs));
        tern_coll_send(c, peer, args->dst + AT(mine), AT(mine + bit) - AT(mine));
        tern_coll_wait(c);
    }
#undef AT
    fold_out(c, args, &core);
}

/* Let pieces travel around the ring twice: in the first round they are combined, in the second one they are
 * distributed.
 */
static void ring(struct tern_coll *c, const struct tern_coll_args *args)
{
    unsigned char *in = tern_coll_temp(c, piece_at(args, c->size, 1) + args->how.elem);
    int            ahead = (c->rank + 1) % c->size, behind = (c->rank + c->size - 1) % c->size;

    tern_coll_copy(c, args->dst, args->src, args->len);
    for (int i = 0; i < 2 * (c->size - 1); i++) {
        int    out = (c->rank - i + 2 * c->size) % c->size, next = (out + c->size - 1) % c->size;
        size_t out_at = piece_at(args, c->size, out), at = piece_at(args, c->size, next);
        size_t out_len = piece_at(args, c->size, out + 1) - out_at, len = piece_at(args, c->size, next + 1) - at;
        bool   combines = i < c->size - 1;

        tern_coll_recv(c, behind, combines ? in : args->dst + at, len);
        tern_coll_send(c, ahead, args->dst + out_at, out_len);
        tern_coll_wait(c);
        if (combines)
            tern_coll_combine(c, args->dst + at, in, args->dst + at, len);
    }
}

/* Each rank receives its piece from all ranks and combines these pieces in the order of the ranks. Then a ring gathers
 * the results. */
static void pieces(struct tern_coll *c, const struct tern_coll_args *args)
{
    size_t         mine = piece_at(args, c->size, c->rank), len = piece_at(args, c->size, c->rank + 1) - mine;
    unsigned char *in = tern_coll_temp(c, (size_t)c->size * len), *sum = tern_coll_temp(c, len);

    for (int i = 1; i < c->size; i++) {
        int    peer = (c->rank + i) % c->size;
        size_t at = piece_at(args, c->size, peer);

        tern_coll_recv(c, peer, in + (size_t)peer * len, len);
        tern_coll_send(c, peer, args->src + at, piece_at(args, c->size, peer + 1) - at);
    }
    tern_coll_wait(c);
    for (int rank = 0; rank < c->size; rank++) {
        const unsigned char *theirs = rank == c->rank ? args->src + mine : in + (size_t)rank * len;

        if (rank == 0)
            tern_coll_copy(c, sum, theirs, len);
        else
            tern_coll_combine(c, sum, sum, theirs, len);
    }
    tern_coll_copy(c, args->dst + mine, sum, len);
    for (int i = 1; i < c->size; i++) {
        int    peer = (c->rank + i) % c->size;
        size_t at = piece_at(args, c->size, peer);

        tern_coll_recv(c, peer, args->dst + at, piece_at(args, c->size, peer + 1) - at);
        tern_coll_send(c, peer, sum, len);
    }
}

const struct tern_coll_algorithm tern_coll_allreduce[] = {
    { .name = "recursive_doubling", .write = recursive_doubling, .order = TERN_COLL_RANKS },
    { .name = "rabenseifner", .write = rabenseifner, .order = TERN_COLL_ANY },
    { .name = "ring", .write = ring, .order = TERN_COLL_ANY },
    { .name = "pieces", .write = pieces, .order = TERN_COLL_FOLDED },
    { .name = "hierarchical",
      .write = tern_coll_hierarchy_allreduce,
      .order = TERN_COLL_ANY,
      .teams = TERN_COLL_HIERARCHY },
    { .name = NULL },
};
