/* coll_trial.h: collective calls with all values of their factors, for coll_product.c: the factors, the teams, the
 * memory and the data of a call. */
#ifndef TERN_COLL_TRIAL_H
#define TERN_COLL_TRIAL_H

#include "covering.h"
#include "reduce_model.h"

/* ---- the factors ---- */

enum { CALL, TYPE, OP, LENGTH, TEAM, ROOT, FORM, PLACE, FLAGS, WAY, FACTORS };

#define CALLS(X)      \
    X(sync)           \
    X(broadcast)      \
    X(reduce)         \
    X(allreduce)      \
    X(reduce_scatter) \
    X(gather)         \
    X(scatter)        \
    X(allgather)      \
    X(alltoall)       \
    X(scan) X(exscan) X(reduce_scatterv) X(gatherv) X(scatterv) X(allgatherv) X(alltoallv) X(alltoalls) X(barrier)
#define AS_ENUM(name) CALL_##name,
#define AS_NAME(name) #name,
enum call { CALLS(AS_ENUM) CALL_COUNT };
static const char *const call_names[] = { CALLS(AS_NAME) };

enum { FORM_BLOCKING, FORM_EVENT, FORM_COUNTER, FORM_TRIGGERED, FORMS };
enum { PLACE_APART, PLACE_IN_PLACE, PLACE_REGION, PLACE_ODD, PLACES };
enum { TEAM_WORLD, TEAM_HALVES, TEAM_REVERSED, TEAM_ROTATED, TEAM_SELF, TEAM_FEW, TEAMS };
enum { ROOTS = 3, WAYS = 9 };

/* Lengths of a block in bytes, around the limits between the ways in which a call travels; -1: one element. */
static const long lengths[] = { 0,    -1,   40,   48,    256,   272,   512,   1024,   1040,  4096,
                                4112, 8192, 8208, 16384, 16400, 40000, 65552, 131088, 262160 };
#define LENGTHS ((int)(sizeof(lengths) / sizeof(lengths[0])))

static bool reduces(int call)
{
    return call == CALL_reduce || call == CALL_allreduce || call == CALL_reduce_scatter || call == CALL_scan ||
           call == CALL_exscan || call == CALL_reduce_scatterv;
}

static bool has_root(int call)
{
    return call == CALL_broadcast || call == CALL_reduce || call == CALL_gather || call == CALL_scatter ||
           call == CALL_gatherv || call == CALL_scatterv;
}

static bool has_data(int call)
{
    return call != CALL_sync && call != CALL_barrier;
}

static bool is_valid(const int *row)
{
    return row[TYPE] < 0 || row[OP] < 0 || model_has(row[TYPE], row[OP]);
}

static bool matters(const int *row, int factor)
{
    switch (factor) {
    case TYPE:
    case OP:
    case FLAGS: return reduces(row[CALL]);
    case LENGTH:
    case PLACE: return has_data(row[CALL]);
    case ROOT: return has_root(row[CALL]);
    default: return true;
    }
}

/* ---- teams ---- */

static int me;

static struct stage {
    tern_ctx     *ctx; /* NULL: this rank is not a member */
    tern_team    *team;
    tern_counter *ended, *start;
    uint64_t      ends, starts;
    int           rank, size;
} stages[TEAMS];

static void open_stage(struct stage *s, tern_team *team, uint32_t flags)
{
    s->team = team;
    if (!team)
        return;
    OK(tern_ctx_create(team, flags, &s->ctx));
    OK(tern_counter_create(s->ctx, &s->ended));
    OK(tern_counter_create(s->ctx, &s->start));
    s->rank = tern_team_rank(team);
    s->size = tern_team_size(team);
}

static void open_stages(void)
{
    int        n = tern_size(), list[16];
    tern_team *team[TEAMS] = { NULL };

    OK(tern_team_dup(TERN_WORLD, &team[TEAM_WORLD]));
    OK(tern_team_split(TERN_WORLD, me % 2, 0, &team[TEAM_HALVES]));
    OK(tern_team_strided(tern_team_world(), n - 1, n > 1 ? -1 : 1, n, 5, &team[TEAM_REVERSED]));
    OK(tern_team_split(TERN_WORLD, 0, (me + 1) % n, &team[TEAM_ROTATED]));
    list[0] = me;
    OK(tern_team_create(tern_team_world(), list, 1, 6, &team[TEAM_SELF]));
    for (int i = 0; i < n; i++) /* all but the first rank, in another order */
        list[i] = 1 + (i + 1) % (n > 1 ? n - 1 : 1);
    if (me > 0)
        OK(tern_team_create(tern_team_world(), list, n - 1, 7, &team[TEAM_FEW]));
    for (int i = 0; i < TEAMS; i++)
        open_stage(&stages[i], team[i], TERN_RELAXED | (i == TEAM_ROTATED ? TERN_SHARED : 0));
}

static void close_stages(void)
{
    for (int i = 0; i < TEAMS; i++) {
        if (!stages[i].team)
            continue;
        OK(tern_counter_free(stages[i].ended));
        OK(tern_counter_free(stages[i].start));
        OK(tern_ctx_free(stages[i].ctx));
        OK(tern_team_free(stages[i].team));
    }
}

/* ---- algorithms ---- */

/* The functions that set the option TERN_COLL, and tell of errors; both are hidden in the library. */
extern tern_status tern_op_coll_options(const char *text);
extern const char *tern_base_detail(void);

/* Force the algorithm with this number for a call; 0, or a number that the call does not have: none. The names are in
 * the text of the error that an unknown name causes. Returns the name. */
static const char *force(int call, int number)
{
    static char text[64];
    char        names[512];
    const char *name;

    snprintf(text, sizeof(text), "%s=?", call_names[call]);
    RETURNS(TERN_ERR_ARG, tern_op_coll_options(text));
    CHECK(strstr(tern_base_detail(), "it has ") != NULL);
    snprintf(names, sizeof(names), "%s", strstr(tern_base_detail(), "it has ") + strlen("it has "));
    name = strtok(names, ", ");
    for (int i = 1; i < number && name; i++)
        name = strtok(NULL, ", ");
    text[0] = '\0';
    if (number > 0 && name)
        snprintf(text, sizeof(text), "%s=%s", call_names[call], name);
    OK(tern_op_coll_options(text));
    return text;
}

/* ---- one call ---- */

#define GUARD 64 /* bytes around a result that must not change */
#define MARK 0xee

#define MOST ((size_t)16 * 280000) /* bytes of a source or a result with its guards */

static unsigned char *memory[2], *regions[2]; /* for a source and a result */
static tern_region   *region;
static uint64_t       salt;

static void open_memory(void)
{
    OK(tern_region_create(TERN_WORLD, 2 * MOST, NULL, &region));
    for (size_t i = 0; i < 2; i++) {
        memory[i] = job_new(MOST);
        regions[i] = (unsigned char *)tern_region_ptr(region, me) + i * MOST;
    }
}

static void close_memory(void)
{
    OK(tern_region_free(region));
    free(memory[0]);
    free(memory[1]);
}

/* A call and its arguments. */
struct trial {
    const int     *row;
    struct stage  *s;
    int            root;
    size_t         elem, count; /* of a block; bytes are elements of one byte */
    unsigned char *src, *dst;
    bool           in_place;
    size_t         len[16], at[16]; /* blocks of this rank's lists, in bytes */
    tern_event     event;
    tern_opts      opts;
};

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = (salt + a * 0x9e3779b97f4a7c15ull + b * 0xc2b2ae3d27d4eb4full + c * 0x165667b19e3779f9ull);

    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

static struct model_value value_of(const struct trial *t, int rank, size_t i)
{
    const struct model_type *type = &model_types[t->row[TYPE]];
    uint64_t                 x = mix((uint64_t)rank, i, 1);
    struct model_value       v = { .bits = x };
    unsigned char            rounded[32];

    if (t->row[OP] >= MODEL_USER)
        return v;
    v.bits = type->is_real || x % 5 == 0 ? 0 : model_narrow(type, x);
    v.re = type->is_real ? (long double)(int)(x % 5) - 2 : 0;
    v.im = type->is_complex ? (long double)(int)(x >> 8 & 3) - 1 : 0;
    v.at = model_is_loc(t->row[OP]) ? (int64_t)(x >> 20 & 3) : 0;
    if (t->row[FLAGS] && type->is_real) { /* fractions, rounded to the type */
        v.re += (long double)(x >> 10 & 0xffff) / 70000;
        v.im += type->is_complex ? (long double)(x >> 30 & 0xffff) / 70000 : 0;
        model_store(t->row[TYPE], t->row[OP], rounded, &v);
        v = model_load(t->row[TYPE], t->row[OP], rounded);
    }
    return v;
}

static unsigned char byte_of(int from, int to, size_t i)
{
    return (unsigned char)mix((uint64_t)from * 16 + (uint64_t)to, i >> 3, 2) + (unsigned char)(i * 29);
}

/* The element after i that is compared: all of short arrays, and some of long ones. */
static size_t after(size_t i, size_t n)
{
    return n < 600 || i < 40 || i + 40 >= n ? i + 1 : i + 1 + mix(i, 0, 3) % 37;
}

static void fill(unsigned char *to, int from, int rank, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = byte_of(from, rank, i);
}

static void check_bytes(const unsigned char *at, int from, int to, size_t n)
{
    for (size_t i = 0; i < n; i = after(i, n))
        CHECK(at[i] == byte_of(from, to, i));
}

static void fill_elements(const struct trial *t, size_t n)
{
    memset(t->src, 0, n * t->elem); /* padding */
    for (size_t i = 0; i < n; i++) {
        struct model_value v = value_of(t, t->s->rank, i);

        model_store(t->row[TYPE], t->row[OP], t->src + i * t->elem, &v);
    }
}

/* Check elements of a result: element i is the combination of the elements first + i of the ranks before end. */
static void check_elements(const struct trial *t, const unsigned char *at, int end, size_t first, size_t n)
{
    for (size_t i = 0; i < n && end > 0; i = after(i, n)) {
        struct model_value all = value_of(t, 0, first + i), got;

        for (int rank = 1; rank < end; rank++)
            all = model_combine(t->row[TYPE], t->row[OP], all, value_of(t, rank, first + i));
        got = model_load(t->row[TYPE], t->row[OP], at + i * t->elem);
        CHECK(model_same(&all, &got));
    }
}

static void user_fn(const void *in, void *inout, size_t count, void *user)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t a, b;

        memcpy(&a, (const char *)in + 8 * i, 8);
        memcpy(&b, (char *)inout + 8 * i, 8);
        b = model_user(*(const int *)user, a, b);
        memcpy((char *)inout + 8 * i, &b, 8);
    }
}

/* How the reduction of the trial combines. */
static tern_reduce_args how_of(const struct trial *t)
{
    static int number;
    bool       user = t->row[OP] >= MODEL_USER;
    uint32_t flags = (t->row[FLAGS] ? TERN_REPRODUCIBLE : 0u) | (t->row[OP] == MODEL_COMMUTES ? TERN_COMMUTATIVE : 0u);

    number = t->row[OP];
    return TERN_REDUCE_ARGS(.type = model_types[t->row[TYPE]].type, .op = model_ops[t->row[OP]], .flags = flags,
                            .fn = user ? user_fn : NULL, .elem = user ? t->elem : 0, .user = user ? &number : NULL);
}

/* Find memory and options for the call. */
static void place(struct trial *t)
{
    unsigned char **from = t->row[PLACE] == PLACE_REGION ? regions : memory;
    size_t          odd = t->row[PLACE] == PLACE_ODD ? 1 : 0;
    long            length = lengths[t->row[LENGTH]];

    t->elem = reduces(t->row[CALL]) ? model_elem(t->row[TYPE], t->row[OP]) : 1;
    t->count = length < 0 ? 1 : (size_t)length / t->elem;
    t->in_place = t->row[PLACE] == PLACE_IN_PLACE;
    t->src = from[0] + GUARD + odd;
    t->dst = from[1] + GUARD + odd;
    memset(from[1], MARK, 2 * GUARD + (t->count * t->elem + 64) * (size_t)(t->s->size + 1));
    t->opts = TERN_OPTS_INIT;
    if (t->row[FORM] == FORM_COUNTER)
        t->opts.counter = t->s->ended;
    else
        t->opts.event = &t->event;
    if (t->row[FORM] == FORM_TRIGGERED) {
        t->opts.when = t->s->start;
        t->opts.threshold = t->s->starts + 1;
    }
}

/* Check that nothing around a result of so many bytes has changed. */
static void check_guards(const struct trial *t, size_t bytes)
{
    for (size_t i = 1; i <= GUARD && !t->in_place; i++)
        CHECK(t->dst[-(ptrdiff_t)i] == MARK && t->dst[bytes + i - 1] == MARK);
}

/* Check that the elements of the source have not changed. */
static void check_sources(const struct trial *t, size_t n)
{
    for (size_t i = 0; i < n; i = after(i, n)) {
        struct model_value want = value_of(t, t->s->rank, i);
        struct model_value got = model_load(t->row[TYPE], t->row[OP], t->src + i * t->elem);

        CHECK(model_same(&want, &got));
    }
}

/* Complete a call of any form. */
static tern_status finish(struct trial *t, tern_status st)
{
    if (st < 0 || t->row[FORM] == FORM_BLOCKING)
        return st;
    if (t->row[FORM] == FORM_COUNTER)
        return tern_counter_wait(t->s->ended, ++t->s->ends, TERN_FOREVER);
    if (t->row[FORM] == FORM_TRIGGERED) {
        OK(tern_counter_add(t->s->start, 1));
        t->s->starts++;
    }
    return tern_event_wait(&t->event, TERN_FOREVER);
}
#define MAKE(t, name, ...)                                                               \
    OK(finish(t, (t)->row[FORM] == FORM_BLOCKING ? tern_##name((t)->s->ctx, __VA_ARGS__) \
                                                 : tern_##name##_with((t)->s->ctx, __VA_ARGS__, &(t)->opts)))

#endif
