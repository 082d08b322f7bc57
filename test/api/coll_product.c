/* coll_product.c: every collective call, type, reduction, length, team, root, form, place and algorithm.
 *
 * Promise: each collective call computes what its contract says, on teams of every shape, for every root, length, type
 * and reduction, blocking, with an event, with a counter and triggered, apart, in place, in a region and at odd
 * addresses, with every algorithm, and writes nothing else. The ranks compute the data of all ranks by a simple model
 * (reduce_model.h), and compare. With TERN_REPRODUCIBLE, the numbers are fractions, and sums and products have the bits
 * that result from combining one rank after the other.
 *
 * The test makes a sample of the product in which each pair of values occurs (covering.h). With
 * COLL_PRODUCT=PART/PARTS, it makes the product of calls, types, reductions, lengths, teams and roots, or the part of
 * it with this number; the other values are random. JOB_SEED sets the seed.
 *
 * ranks: 1 2 3 4 8
 * env: TERN_MSG_EAGER=256 TERN_TEST=net=off
 * sanitized: 3
 * hosts: a:2,b:2 a:1,b:2
 * long: COLL_PRODUCT=0/1
 * long: COLL_PRODUCT=0/4 TERN_LINKS=ofi
 * long: COLL_PRODUCT=1/4 TERN_LINKS=ofi
 * long: COLL_PRODUCT=2/4 TERN_LINKS=ofi
 * long: COLL_PRODUCT=3/4 TERN_LINKS=ofi
 * long: COLL_PRODUCT=0/4 TERN_LINKS=tcp
 * long: COLL_PRODUCT=1/4 TERN_LINKS=tcp
 * long: COLL_PRODUCT=2/4 TERN_LINKS=tcp
 * long: COLL_PRODUCT=3/4 TERN_LINKS=tcp
 * long: COLL_PRODUCT=0/1 TERN_CHAOS=seed=7
 * long: COLL_PRODUCT=0/16 TERN_LINKS=tcp TERN_CHAOS=seed=7
 * long: hosts=a:2,b:2 COLL_PRODUCT=1/16 TERN_LINKS=shm,tcp
 * timeout: 600
 */
#include "coll_trial.h"

/* ---- reductions ---- */

static void reduction(struct trial *t)
{
    tern_reduce_args how = how_of(t);
    int              call = t->row[CALL], rank = t->s->rank, size = t->s->size;
    size_t           mine = call == CALL_reduce_scatter ? (size_t)rank * t->count : 0;
    size_t           n = call == CALL_reduce_scatter ? (size_t)size * t->count : t->count;
    int              end = call == CALL_scan ? rank + 1 : call == CALL_exscan ? rank : size;

    fill_elements(t, n);
    if (t->in_place)
        t->dst = t->src + mine * t->elem;
    switch (call) {
    case CALL_reduce: MAKE(t, reduce, t->root, t->src, t->dst, t->count, &how); break;
    case CALL_allreduce: MAKE(t, allreduce, t->src, t->dst, t->count, &how); break;
    case CALL_reduce_scatter: MAKE(t, reduce_scatter, t->src, t->dst, t->count, &how); break;
    case CALL_scan: MAKE(t, scan, t->src, t->dst, t->count, &how); break;
    default: MAKE(t, exscan, t->src, t->dst, t->count, &how);
    }
    if (call != CALL_reduce || rank == t->root)
        check_elements(t, t->dst, end, mine, t->count);
    check_guards(t, call == CALL_reduce && rank != t->root ? 0 : end == 0 ? 0 : t->count * t->elem);
    if (!t->in_place)
        check_sources(t, n);
}

/* Elements of the block of a rank. */
static size_t listed(const struct trial *t, int from, int to)
{
    return mix((uint64_t)from, (uint64_t)to, 4) % (t->count + 1);
}

/* Lay out a list, with gaps or without. */
static tern_blocks layout(struct trial *t, bool out, bool by_owner)
{
    size_t at = 0, gap = salt % 3 * t->elem;
    int    rank = t->s->rank;

    for (int i = 0; i < t->s->size; i++) {
        t->len[i] = t->elem * (by_owner ? listed(t, i, 0) : out ? listed(t, rank, i) : listed(t, i, rank));
        t->at[i] = at += gap;
        at += t->len[i];
    }
    return TERN_BLOCKS(.len = t->len, .offset = gap ? t->at : NULL);
}

static void reduction_of_lists(struct trial *t)
{
    tern_reduce_args how = how_of(t);
    tern_blocks      blocks = layout(t, true, true);
    int              rank = t->s->rank;
    size_t           n = (t->at[t->s->size - 1] + t->len[t->s->size - 1]) / t->elem;

    fill_elements(t, n);
    if (t->in_place)
        t->dst = t->src + t->at[rank];
    MAKE(t, reduce_scatterv, t->src, t->dst, &blocks, &how);
    check_elements(t, t->dst, t->s->size, t->at[rank] / t->elem, t->len[rank] / t->elem);
    check_guards(t, t->len[rank]);
    if (!t->in_place)
        check_sources(t, n);
}

/* ---- blocks ---- */

static void broadcast(struct trial *t)
{
    fill(t->dst, t->s->rank, 0, t->count);
    MAKE(t, broadcast, t->root, t->dst, t->count);
    check_bytes(t->dst, t->root, 0, t->count);
    check_guards(t, t->count);
}

/* Gather and allgather. */
static void gathering(struct trial *t)
{
    bool           whole = t->row[CALL] == CALL_allgather || t->s->rank == t->root;
    size_t         n = t->count;
    unsigned char *own = t->in_place ? t->dst + (size_t)t->s->rank * n : t->src;

    fill(own, t->s->rank, 0, n);
    if (t->row[CALL] == CALL_allgather)
        MAKE(t, allgather, own, n, t->dst);
    else
        MAKE(t, gather, t->root, own, n, t->dst);
    for (int i = 0; whole && i < t->s->size; i++)
        check_bytes(t->dst + (size_t)i * n, i, 0, n);
    if (whole || !t->in_place)
        check_guards(t, whole ? n * (size_t)t->s->size : 0);
}

static void scatter(struct trial *t)
{
    size_t n = t->count;

    for (int i = 0; t->s->rank == t->root && i < t->s->size; i++)
        fill(t->src + (size_t)i * n, t->s->rank, i, n);
    if (t->in_place)
        t->dst = t->src + (size_t)t->s->rank * n;
    MAKE(t, scatter, t->root, t->src, t->dst, n);
    check_bytes(t->dst, t->root, t->s->rank, n);
    check_guards(t, n);
}

static void alltoall(struct trial *t)
{
    size_t n = t->count;

    for (int i = 0; i < t->s->size; i++)
        fill(t->src + (size_t)i * n, t->s->rank, i, n);
    MAKE(t, alltoall, t->src, t->dst, n);
    for (int i = 0; i < t->s->size; i++)
        check_bytes(t->dst + (size_t)i * n, i, t->s->rank, n);
    check_guards(t, n * (size_t)t->s->size);
}

static void strided(struct trial *t)
{
    tern_alltoalls_args args =
        TERN_ALLTOALLS_ARGS(.elem = 1 + salt % 5, .src_stride = 1 + salt % 3, .dst_stride = 1 + salt / 3 % 3);
    size_t elem = args.elem, n;

    args.count = n = t->count / 15;
    for (int r = 0; r < t->s->size; r++)
        for (size_t i = 0; i < n * elem; i++)
            t->src[((size_t)r * n + i / elem) * args.src_stride * elem + i % elem] = byte_of(t->s->rank, r, i);
    MAKE(t, alltoalls, t->src, t->dst, &args);
    for (int r = 0; r < t->s->size; r++)
        for (size_t i = 0; i < n * elem; i = after(i, n * elem))
            CHECK(t->dst[((size_t)r * n + i / elem) * args.dst_stride * elem + i % elem] == byte_of(r, t->s->rank, i));
    check_guards(t, (size_t)t->s->size * n * elem * args.dst_stride);
}

/* ---- lists ---- */

static size_t end_of(const struct trial *t)
{
    return t->at[t->s->size - 1] + t->len[t->s->size - 1];
}

/* Gatherv and allgatherv. */
static void gathering_lists(struct trial *t)
{
    tern_blocks    blocks = layout(t, false, true);
    int            rank = t->s->rank;
    bool           whole = t->row[CALL] == CALL_allgatherv || rank == t->root;
    unsigned char *own = t->in_place && whole ? t->dst + t->at[rank] : t->src;

    fill(own, rank, 0, t->len[rank]);
    if (t->row[CALL] == CALL_allgatherv)
        MAKE(t, allgatherv, own, t->len[rank], t->dst, &blocks);
    else
        MAKE(t, gatherv, t->root, own, t->len[rank], t->dst, whole ? &blocks : NULL);
    for (int i = 0; whole && i < t->s->size; i++)
        check_bytes(t->dst + t->at[i], i, 0, t->len[i]);
    check_guards(t, whole ? end_of(t) : 0);
}

static void scatter_lists(struct trial *t)
{
    tern_blocks blocks = layout(t, false, true);
    int         rank = t->s->rank;

    for (int i = 0; rank == t->root && i < t->s->size; i++)
        fill(t->src + t->at[i], rank, i, t->len[i]);
    if (t->in_place)
        t->dst = t->src + t->at[rank];
    MAKE(t, scatterv, t->root, t->src, rank == t->root ? &blocks : NULL, t->dst, t->len[rank]);
    check_bytes(t->dst, t->root, rank, t->len[rank]);
    check_guards(t, t->len[rank]);
}

static void exchange_lists(struct trial *t)
{
    struct trial out = *t;
    tern_blocks  from = layout(&out, true, false), to = layout(t, false, false);
    int          rank = t->s->rank;

    for (int i = 0; i < t->s->size; i++)
        fill(t->src + out.at[i], rank, i, out.len[i]);
    MAKE(t, alltoallv, t->src, &from, t->dst, &to);
    for (int i = 0; i < t->s->size; i++)
        check_bytes(t->dst + t->at[i], i, rank, t->len[i]);
    check_guards(t, end_of(t));
}

static void meet(struct trial *t)
{
    if (t->row[CALL] == CALL_sync)
        OK(finish(t, t->row[FORM] == FORM_BLOCKING ? tern_sync(t->s->ctx) : tern_sync_with(t->s->ctx, &t->opts)));
    else
        OK(finish(t, t->row[FORM] == FORM_BLOCKING ? tern_barrier(t->s->ctx) : tern_barrier_with(t->s->ctx, &t->opts)));
}

static void (*const makers[])(struct trial *) = {
    [CALL_sync] = meet,
    [CALL_broadcast] = broadcast,
    [CALL_reduce] = reduction,
    [CALL_allreduce] = reduction,
    [CALL_reduce_scatter] = reduction,
    [CALL_gather] = gathering,
    [CALL_scatter] = scatter,
    [CALL_allgather] = gathering,
    [CALL_alltoall] = alltoall,
    [CALL_scan] = reduction,
    [CALL_exscan] = reduction,
    [CALL_reduce_scatterv] = reduction_of_lists,
    [CALL_gatherv] = gathering_lists,
    [CALL_scatterv] = scatter_lists,
    [CALL_allgatherv] = gathering_lists,
    [CALL_alltoallv] = exchange_lists,
    [CALL_alltoalls] = strided,
    [CALL_barrier] = meet,
};

/* ---- rows ---- */

static void make_row(const int *row)
{
    static char   note[300];
    struct stage *s = &stages[row[TEAM]];
    struct trial  t = { .row = row, .s = s, .root = row[ROOT] == 0 ? 0 : row[ROOT] == 1 ? s->size - 1 : s->size / 2 };

    salt = salt * 6364136223846793005ull + 1442695040888963407ull;
    if (!s->ctx)
        return;
    snprintf(note, sizeof(note),
             "(%s, type %s, op %d, length %ld, team %d of %d, root %d, form %d, place %d, flags %d, way %s, salt %llu)",
             call_names[row[CALL]], model_types[row[TYPE]].name, row[OP], lengths[row[LENGTH]], row[TEAM], s->size,
             t.root, row[FORM], row[PLACE], row[FLAGS], force(row[CALL], row[WAY]), (unsigned long long)salt);
    job_note = note;
    place(&t);
    makers[row[CALL]](&t);
    job_note = "";
}

static void sample(uint64_t seed)
{
    static struct cover c = { .factors = FACTORS,
                              .values = { CALL_COUNT, MODEL_TYPES, MODEL_OPS, LENGTHS, TEAMS, ROOTS, FORMS, PLACES, 2,
                                          WAYS },
                              .is_valid = is_valid,
                              .matters = matters };
    int                 row[FACTORS], n = 0;

    c.seed = seed;
    for (; cover_next(&c, row); n++)
        if (!JOB_SANITIZED || n % 3 == 0)
            make_row(row);
    if (me == 0)
        printf("%d combinations have all pairs\n", n);
}

/* The product of the first six factors; each part has the combinations whose number has the same remainder. */
static void product(uint64_t part, uint64_t parts, uint64_t seed)
{
    static const int sizes[] = { CALL_COUNT, MODEL_TYPES, MODEL_OPS, LENGTHS, TEAMS, ROOTS };
    struct cover     c = { .seed = seed };
    int              row[FACTORS];
    uint64_t         made = 0, number = 0, all = 1;

    for (int f = 0; f <= ROOT; f++)
        all *= (uint64_t)sizes[f];
    for (uint64_t i = 0; i < all; i++) {
        uint64_t rest = i;

        for (int f = ROOT; f >= 0; f--) {
            row[f] = (int)(rest % (uint64_t)sizes[f]);
            rest /= (uint64_t)sizes[f];
        }
        for (int f = TYPE; f <= ROOT; f++)
            if (!matters(row, f) && row[f] > 0)
                row[CALL] = -1; /* the same as another combination */
        if (row[CALL] < 0 || !is_valid(row) || number++ % parts != part)
            continue;
        row[FORM] = (int)cover_draw(&c, FORMS);
        row[PLACE] = (int)cover_draw(&c, PLACES);
        row[FLAGS] = (int)cover_draw(&c, 2);
        row[WAY] = (int)cover_draw(&c, WAYS);
        make_row(row);
        made++;
    }
    if (me == 0)
        printf("%llu of %llu combinations\n", (unsigned long long)made, (unsigned long long)number);
}

int main(void)
{
    const char        *wish = getenv("COLL_PRODUCT"), *given = getenv("JOB_SEED");
    unsigned long long part = 0, parts = 1, seed = given ? strtoull(given, NULL, 0) : 11;

    OK(tern_init());
    me = tern_rank();
    open_memory();
    open_stages();
    if (!wish)
        sample(seed);
    else if (sscanf(wish, "%llu/%llu", &part, &parts) == 2 && part < parts)
        product(part, parts, seed);
    else
        job_fail(__FILE__, __LINE__, "COLL_PRODUCT", "is not PART/PARTS, such as 0/1");
    close_stages();
    close_memory();
    OK(tern_finalize());
    return 0;
}
