/* shapes.c: vector, indexed and strided transfers by example, and every refusal.
 *
 * Promise: sections of arrays are copied, transposed and reflected as the strides say; an empty box completes at once;
 * an invalid call is refused with the documented status, and no byte has moved: neither at the target, nor locally, nor
 * in an event. The results of overlaps are those that the header documents.
 *
 * env: TERN_CMA=off
 */
#include "job_test.h"

#define N 40 /* of a square matrix */
#define SIZE (N * N * sizeof(double))
#define NOT_AN_EVENT ((struct tern_pending *)(uintptr_t)0xabcd0)

static double            matrix[N][N], result[N][N];
static struct job_region area;
static int               right; /* the target */

static double value(int who, int i, int j)
{
    return 1000000.0 * who + 1000.0 * i + j;
}

static void matrix_fill(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            matrix[i][j] = value(tern_rank(), i, j);
}

/* Returns the value that the left neighbour has put here. A helper thread may have written it: see job_differ(). */
static double mine(int i, int j)
{
    double number;

    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    memcpy(&number, area.mine + (size_t)(i * N + j) * sizeof(number), sizeof(number));
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return number;
}

/* Overwrite memory that a helper thread may have written. */
static void mine_set(int byte)
{
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    memset(area.mine, byte, SIZE);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
}

static int left(void)
{
    return (tern_rank() + tern_size() - 1) % tern_size();
}

/* ---- arrays ---- */

#define ROW ((int64_t)(N * sizeof(double)))
#define ONE ((int64_t)sizeof(double))

static void transpose(void)
{
    tern_strided s =
        TERN_STRIDED(.dims = 2, .element = sizeof(double), .count = (size_t[]){ N, N }, .local = matrix,
                     .local_stride = (ptrdiff_t[]){ ROW, ONE }, .remote = 0, .remote_stride = (int64_t[]){ ONE, ROW });

    matrix_fill();
    OK(tern_put_strided(TERN_WORLD, area.region, right, &s));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK(mine(i, j) == value(left(), j, i));
    s.local = result; /* and back again */
    OK(tern_get_strided(TERN_WORLD, area.region, right, &s));
    CHECK(memcmp(matrix, result, sizeof(matrix)) == 0);
    OK(tern_barrier(TERN_WORLD));
}

/* The rows upside down and the columns from right to left: a reflection in both axes. */
static void reflection(void)
{
    tern_strided s = TERN_STRIDED(.dims = 2, .element = sizeof(double), .count = (size_t[]){ N, N },
                                  .local = &matrix[N - 1][N - 1], .local_stride = (ptrdiff_t[]){ -ROW, -ONE },
                                  .remote = 0, .remote_stride = (int64_t[]){ ROW, ONE });

    matrix_fill();
    OK(tern_put_strided(TERN_WORLD, area.region, right, &s));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK(mine(i, j) == value(left(), N - 1 - i, N - 1 - j));
    OK(tern_barrier(TERN_WORLD));
}

/* A block of columns, in the middle of a matrix of zeros. */
static void column_block(void)
{
    const int    from = 7, columns = 5;
    tern_strided s = TERN_STRIDED(.dims = 1, .element = 5 * sizeof(double), .count = (size_t[]){ N },
                                  .local = &matrix[0][from], .local_stride = (ptrdiff_t[]){ ROW },
                                  .remote = (uint64_t)from * sizeof(double), .remote_stride = (int64_t[]){ ROW });

    matrix_fill();
    mine_set(0);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_put_strided(TERN_WORLD, area.region, right, &s));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK(mine(i, j) == (j >= from && j < from + columns ? value(left(), i, j) : 0.0));
    OK(tern_barrier(TERN_WORLD));
}

/* A stride of 0 at the source: the same element everywhere. */
static void fill(void)
{
    double       one = 4711.0;
    tern_strided s = TERN_STRIDED(.dims = 1, .element = sizeof(double), .count = (size_t[]){ N * N }, .local = &one,
                                  .local_stride = (ptrdiff_t[]){ 0 }, .remote = 0, .remote_stride = (int64_t[]){ ONE });

    OK(tern_put_strided(TERN_WORLD, area.region, right, &s));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < N * N; i++)
        CHECK(mine(0, i) == 4711.0);
    s.local = result; /* one remote element into all local ones */
    s.local_stride = (ptrdiff_t[]){ ONE };
    s.remote_stride = (int64_t[]){ 0 };
    OK(tern_get_strided(TERN_WORLD, area.region, right, &s));
    for (int i = 0; i < N; i++)
        CHECK(result[i][i] == 4711.0);
    OK(tern_barrier(TERN_WORLD));
}

/* All 64 dimensions: a row of 64 bits is a number. */
static void all_dimensions(void)
{
    size_t       count[TERN_STRIDED_DIMS];
    ptrdiff_t    near[TERN_STRIDED_DIMS];
    int64_t      far[TERN_STRIDED_DIMS];
    tern_strided s = TERN_STRIDED(.dims = TERN_STRIDED_DIMS, .element = 1, .count = count, .local = matrix,
                                  .local_stride = near, .remote = 0, .remote_stride = far);

    for (int i = 0; i < TERN_STRIDED_DIMS; i++) {
        count[i] = i % 6 == 0 ? 2 : 1;
        near[i] = i % 6 == 0 ? (ptrdiff_t)1 << (10 - i / 6) : PTRDIFF_MIN; /* ignored: there is one element */
        far[i] = i % 6 == 0 ? (int64_t)1 << (i / 6) : INT64_MAX;
    }
    job_fill((unsigned char *)matrix, 2048, (unsigned)tern_rank(), 3);
    OK(tern_put_strided(TERN_WORLD, area.region, right, &s));
    OK(tern_barrier(TERN_WORLD));
    for (uint64_t i = 0; i < 2048; i++) {
        uint64_t reversed = 0;

        for (int bit = 0; bit < 11; bit++)
            reversed |= (i >> bit & 1) << (10 - bit);
        CHECK(job_differ(area.mine + i, &(unsigned char){ job_byte((unsigned)left(), 3, reversed) }, 1) == 0);
    }
    OK(tern_barrier(TERN_WORLD));
}

/* ---- empty transfers ---- */

static void nothing_is_done_at_once(void)
{
    tern_event   event = { NOT_AN_EVENT }, near = { NOT_AN_EVENT };
    tern_opts    opts = TERN_OPTS(.flags = TERN_IMMEDIATE | TERN_WANT_EVENT, .local = &near, .event = &event);
    tern_strided s = TERN_STRIDED(.dims = 2, .element = 8, .count = (size_t[]){ SIZE_MAX, 0 },
                                  .local_stride = (ptrdiff_t[]){ PTRDIFF_MIN, 1 }, .remote = UINT64_MAX,
                                  .remote_stride = (int64_t[]){ INT64_MAX, 1 });
    tern_vector  v = TERN_VECTOR(.local_count = 0, .remote_count = 0);
    tern_indexed x = TERN_INDEXED(.local_count = 0, .local_len = 17, .remote_count = 5, .remote_len = 0);

    OK(tern_put_strided_with(TERN_WORLD, area.region, right, &s, &opts));
    CHECK(!event.pending && !near.pending);
    OK(tern_get_strided(TERN_WORLD, area.region, right, &s));
    s.element = 0, s.count = (size_t[]){ 3, 3 };
    OK(tern_put_strided(TERN_WORLD, area.region, right, &s));
    OK(tern_put_vector(TERN_WORLD, area.region, right, &v));
    OK(tern_get_vector_nb(TERN_WORLD, area.region, right, &v, &event));
    OK(tern_put_indexed(TERN_WORLD, area.region, right, &x));
    OK(tern_get_indexed_nbi(TERN_WORLD, area.region, right, &x));
}

/* ---- refusals ---- */

/* Make a wrong call in all forms: each must return the status want, and fill no event. */
#define REFUSED(shape, want, rank, description)                                                        \
    do {                                                                                               \
        tern_event done_event = { NOT_AN_EVENT }, done_near = { NOT_AN_EVENT };                        \
        tern_opts  opts = TERN_OPTS(.flags = 0, .local = &done_near, .event = &done_event);            \
        RETURNS(want, tern_put_##shape(TERN_WORLD, area.region, rank, description));                   \
        CHECK(tern_error_detail()[0] != '\0');                                                         \
        RETURNS(want, tern_get_##shape(TERN_WORLD, area.region, rank, description));                   \
        RETURNS(want, tern_put_##shape##_nb(TERN_WORLD, area.region, rank, description, &done_event)); \
        RETURNS(want, tern_get_##shape##_nb(TERN_WORLD, area.region, rank, description, &done_event)); \
        RETURNS(want, tern_put_##shape##_nbi(TERN_WORLD, area.region, rank, description));             \
        RETURNS(want, tern_get_##shape##_nbi(TERN_WORLD, area.region, rank, description));             \
        RETURNS(want, tern_put_##shape##_with(TERN_WORLD, area.region, rank, description, &opts));     \
        RETURNS(want, tern_get_##shape##_with(TERN_WORLD, area.region, rank, description, &opts));     \
        CHECK(done_event.pending == NOT_AN_EVENT && done_near.pending == NOT_AN_EVENT);                \
    } while (0)

static void vectors_refused(void)
{
    unsigned char           *l = (unsigned char *)matrix;
    tern_piece               local[3] = { { l, 8 }, { l + 100, 8 }, { l + 200, 8 } };
    tern_extent              remote[3] = { { 0, 8 }, { 100, 8 }, { 200, 8 } };
    tern_vector              v = TERN_VECTOR(.local_count = 3, .local = local, .remote_count = 3, .remote = remote);
    static const tern_extent bad[] = { { SIZE - 7, 8 },          { SIZE, 8 },           { UINT64_MAX, 8 },
                                       { UINT64_MAX - 7, 8 },    { 1ull << 63, 8 },     { 0, SIZE + 1 },
                                       { 0, UINT64_MAX },        { 8, UINT64_MAX - 7 }, { 8, UINT64_MAX - 8 },
                                       { INT64_MAX, INT64_MAX }, { INT64_MAX, 1 } };

    for (int at = 0; at < 3; at++) { /* the first, one in the middle, the last */
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            tern_extent good = remote[at];
            remote[at] = bad[i];
            REFUSED(vector, TERN_ERR_RANGE, right, &v);
            remote[at] = good;
        }
    }
    local[1].len = 9;
    REFUSED(vector, TERN_ERR_ARG, right, &v);
    SAYS("25");
    local[1].len = 7;
    REFUSED(vector, TERN_ERR_ARG, right, &v);
    local[1].len = SIZE_MAX - 100; /* wraps, and so would the sum */
    REFUSED(vector, TERN_ERR_RANGE, right, &v);
    local[1] = (tern_piece){ NULL, 8 };
    REFUSED(vector, TERN_ERR_ARG, right, &v);
    local[1] = (tern_piece){ l + 100, 8 };
    v.remote_count = 2;
    REFUSED(vector, TERN_ERR_ARG, right, &v);
    v = TERN_VECTOR(.local_count = 3, .remote_count = 3, .remote = remote);
    REFUSED(vector, TERN_ERR_ARG, right, &v);
    v = TERN_VECTOR(.local_count = 3, .local = local, .remote_count = 3);
    REFUSED(vector, TERN_ERR_ARG, right, &v);
    REFUSED(vector, TERN_ERR_ARG, right, (const tern_vector *)NULL);
    v.remote = remote;
    REFUSED(vector, TERN_ERR_RANGE, tern_size(), &v);
    REFUSED(vector, TERN_ERR_RANGE, -1, &v);
}

static void indexed_refused(void)
{
    unsigned char *l = (unsigned char *)matrix;
    void          *local[3] = { l, l + 100, l + 200 };
    uint64_t       remote[3] = { 0, 100, 200 };
    tern_indexed x = TERN_INDEXED(.local_count = 3, .local_len = 8, .local = local, .remote_count = 3, .remote_len = 8,
                                  .remote = remote);
    static const uint64_t bad[] = { SIZE - 7,       SIZE,      INT64_MAX, 1ull << 63, (1ull << 63) + SIZE,
                                    UINT64_MAX - 7, UINT64_MAX };

    for (int at = 0; at < 3; at++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            uint64_t good = remote[at];
            remote[at] = bad[i];
            REFUSED(indexed, TERN_ERR_RANGE, right, &x);
            remote[at] = good;
        }
        void *good = local[at];
        local[at] = NULL;
        REFUSED(indexed, TERN_ERR_ARG, right, &x);
        local[at] = (void *)(UINTPTR_MAX - 3);
        REFUSED(indexed, TERN_ERR_RANGE, right, &x);
        local[at] = good;
    }
    x.local_len = 9;
    REFUSED(indexed, TERN_ERR_ARG, right, &x);
    x = TERN_INDEXED(.local_count = 3, .local_len = 8, .local = local, .remote_count = 2, .remote_len = 8,
                     .remote = remote);
    REFUSED(indexed, TERN_ERR_ARG, right, &x);
    x = TERN_INDEXED(.local_count = SIZE_MAX / 2, .local_len = 3, .local = local, .remote_count = SIZE_MAX / 2,
                     .remote_len = 3, .remote = remote);
    REFUSED(indexed, TERN_ERR_RANGE, right, &x);
    for (uint64_t len = SIZE_MAX, i = 0; i < 3; i++, len = i == 1 ? 1ull << 63 : (1ull << 63) - 1) {
        x = TERN_INDEXED(.local_count = 1, .local_len = len, .local = local, .remote_count = 1, .remote_len = len,
                         .remote = remote);
        REFUSED(indexed, TERN_ERR_RANGE, right, &x);
    }
    x = TERN_INDEXED(.local_count = 3, .local_len = 8, .remote_count = 3, .remote_len = 8, .remote = remote);
    REFUSED(indexed, TERN_ERR_ARG, right, &x);
    x = TERN_INDEXED(.local_count = 3, .local_len = 8, .local = local, .remote_count = 3, .remote_len = 8);
    REFUSED(indexed, TERN_ERR_ARG, right, &x);
    x.remote = remote;
    REFUSED(indexed, TERN_ERR_RANGE, tern_size(), &x);
}

static void strided_refused(void)
{
    size_t       count[65];
    ptrdiff_t    near[65];
    int64_t      far[65];
    tern_strided s =
        TERN_STRIDED(.element = 8, .count = count, .local = matrix, .local_stride = near, .remote_stride = far);
    static const struct {
        size_t   count;
        int64_t  far;
        uint64_t first;
    } bad[] = { { 2, SIZE - 7, 0 },        { 2, -1, 0 },       { 2, 1, SIZE - 8 },        { 1, 0, SIZE - 7 },
                { 1, 0, UINT64_MAX },      { 3, SIZE / 2, 0 }, { 2, INT64_MAX, 0 },       { 2, INT64_MIN, 0 },
                { SIZE_MAX, 8, 0 },        { 2, -8, 7 },       { 1ull << 61, 1 << 3, 0 }, { 1ull << 62, -8, SIZE - 8 },
                { (1ull << 61) + 1, 8, 0 } };

    for (int i = 0; i < 65; i++)
        count[i] = 1, near[i] = 0, far[i] = 0;
    for (s.dims = 1; s.dims <= 64; s.dims += 21) { /* the bad one is the last */
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            count[s.dims - 1] = bad[i].count, far[s.dims - 1] = bad[i].far, s.remote = bad[i].first;
            REFUSED(strided, TERN_ERR_RANGE, right, &s);
        }
        count[s.dims - 1] = 1, far[s.dims - 1] = 0, s.remote = 0;
    }
    s.dims = 65;
    REFUSED(strided, TERN_ERR_ARG, right, &s);
    s.dims = UINT_MAX;
    REFUSED(strided, TERN_ERR_ARG, right, &s);
    s.dims = 1, count[0] = 2, far[0] = 8, near[0] = PTRDIFF_MAX;
    REFUSED(strided, TERN_ERR_RANGE, right, &s);
    near[0] = -(ptrdiff_t)(uintptr_t)matrix - 1;
    REFUSED(strided, TERN_ERR_RANGE, right, &s);
    near[0] = 8, s.local = NULL;
    REFUSED(strided, TERN_ERR_ARG, right, &s);
    s.local = matrix, s.count = NULL;
    REFUSED(strided, TERN_ERR_ARG, right, &s);
    s.count = count, s.local_stride = NULL;
    REFUSED(strided, TERN_ERR_ARG, right, &s);
    s.local_stride = near, s.remote_stride = NULL;
    REFUSED(strided, TERN_ERR_ARG, right, &s);
    s.remote_stride = far;
    REFUSED(strided, TERN_ERR_ARG, right, (const tern_strided *)NULL);
    REFUSED(strided, TERN_ERR_RANGE, tern_size(), &s);
}

static void options_refused(void)
{
    tern_strided s = TERN_STRIDED(.element = 8, .local = matrix);
    tern_event   event = { NOT_AN_EVENT };

    RETURNS(TERN_ERR_ARG, tern_put_strided_nb(TERN_WORLD, area.region, right, &s, NULL));
    RETURNS(TERN_ERR_ARG, tern_put_strided_with(TERN_WORLD, area.region, right, &s,
                                                &TERN_OPTS(.flags = 64, .local = NULL, .event = &event)));
    RETURNS(TERN_ERR_ARG, tern_put_strided(NULL, area.region, right, &s));
    RETURNS(TERN_ERR_ARG, tern_get_strided(TERN_WORLD, NULL, right, &s));
    CHECK(event.pending == NOT_AN_EVENT);
}

static void refusals_change_nothing(void)
{
    memset(matrix, 0x33, sizeof(matrix));
    mine_set(0x44);
    OK(tern_barrier(TERN_WORLD));
    vectors_refused();
    indexed_refused();
    strided_refused();
    options_refused();
    OK(tern_quiet(TERN_WORLD));
    OK(tern_barrier(TERN_WORLD));
    ALL_ARE((const unsigned char *)matrix, sizeof(matrix), 0x33);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    ALL_ARE(area.mine, SIZE, 0x44);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    OK(tern_barrier(TERN_WORLD));
}

/* ---- overlap ---- */

/* Extents of the destination overlap: a debug build refuses the call; otherwise each byte is one of those sent to
 * it. */
static void overlapping_destination(void)
{
    unsigned char local[64], got[48];
    int64_t       half[] = { 16 };
    tern_strided  s = TERN_STRIDED(.dims = 1, .element = 32, .count = (size_t[]){ 2 }, .local = local,
                                   .local_stride = (ptrdiff_t[]){ 32 }, .remote = 8, .remote_stride = half);
    tern_status   st;

    memset(local, 1, 32);
    memset(local + 32, 2, 32);
    mine_set(0);
    OK(tern_barrier(TERN_WORLD));
    st = tern_put_strided(TERN_WORLD, area.region, right, &s);
    CHECK(st == (TEST_DEBUG_LIBRARY ? TERN_ERR_ARG : TERN_OK));
    OK(tern_get(TERN_WORLD, area.region, right, 8, got, sizeof(got)));
    for (int i = 0; i < 48 && st == TERN_OK; i++)
        CHECK(got[i] == (i < 16 ? 1 : i >= 32 ? 2 : got[i]) && (got[i] == 1 || got[i] == 2));
    if (st == TERN_ERR_ARG)
        ALL_ARE(got, sizeof(got), 0);
    s.remote_stride = (int64_t[]){ 16 }; /* a source may overlap */
    OK(tern_get_strided(TERN_WORLD, area.region, right, &s));
    OK(tern_barrier(TERN_WORLD));
}

/* ---- handlers ---- */

static uint64_t    handled;
static tern_status handler_status;

static void handler(const tern_am_event *event, void *user)
{
    tern_strided s =
        TERN_STRIDED(.dims = 1, .element = 8, .count = (size_t[]){ N }, .local = matrix,
                     .local_stride = (ptrdiff_t[]){ ROW }, .remote = 0, .remote_stride = (int64_t[]){ 16 });

    (void)event, (void)user;
    handler_status = tern_put_strided(TERN_WORLD, area.region, right, &s);
    handled++;
}

/* A handler may use shapes where it may use contiguous data. */
static void in_a_handler(void)
{
    const char *path = tern_region_path(area.region, right);

    matrix_fill();
    mine_set(0);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_am_short(TERN_WORLD, left(), 1, NULL, 0));
    OK(job_await(&handled, 1, TERN_FOREVER));
    handled = 0;
    CHECK(handler_status == (strcmp(path, "bounce") == 0 ? TERN_ERR_STATE : TERN_OK));
    OK(tern_quiet(TERN_WORLD));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < N && handler_status == TERN_OK; i++)
        CHECK(mine(0, 2 * i) == value(left(), i, 0) && mine(0, 2 * i + 1) == 0);
    OK(tern_barrier(TERN_WORLD));
}

/* ---- more than the caches hold ---- */

#define PIECES 24000u
#define PIECE 64u
#define APART 80u /* on both sides; the last extent here is the first one there */

static uint64_t word(int who, unsigned i)
{
    return (uint64_t)who << 32 | i;
}

static uint64_t *word_at(unsigned char *memory, unsigned i)
{
    return (uint64_t *)(void *)(memory + (size_t)i * APART + PIECE - sizeof(uint64_t));
}

/* Check that the data of the left neighbour's put is here, and that a get from the right neighbour returns the data
 * that was put there. */
static void long_check(unsigned char *here, unsigned char *source)
{
    OK(tern_barrier(TERN_WORLD));
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__); /* a helper thread writes it: see job_differ() */
    for (unsigned i = 0; i < PIECES; i++) {
        CHECK(*word_at(here, PIECES - 1 - i) == word(left(), i));
        CHECK(*word_at(source, i) == word(tern_rank(), i));
    }
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    OK(tern_barrier(TERN_WORLD));
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    memset(here, 0, (size_t)PIECES * APART);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    OK(tern_barrier(TERN_WORLD));
}

/* Put, get into cleared memory, and check. */
#define LONG(shape, description)                                           \
    do {                                                                   \
        OK(tern_put_##shape(TERN_WORLD, area.region, right, description)); \
        memset(source, 0, (size_t)PIECES *APART);                          \
        OK(tern_get_##shape(TERN_WORLD, area.region, right, description)); \
        long_check(area.mine, source);                                     \
    } while (0)

static void long_transfers(void)
{
    unsigned char *source = job_new((size_t)PIECES * APART);
    void         **local = job_new(PIECES * sizeof(*local));
    uint64_t      *remote = job_new(PIECES * sizeof(*remote));
    tern_piece    *pieces = job_new(PIECES * sizeof(*pieces));
    tern_extent   *extents = job_new(PIECES * sizeof(*extents));
    tern_strided   s = TERN_STRIDED(.dims = 1, .element = PIECE, .count = (size_t[]){ PIECES }, .local = source,
                                    .local_stride = (ptrdiff_t[]){ APART }, .remote = (uint64_t)(PIECES - 1) * APART,
                                    .remote_stride = (int64_t[]){ -(int64_t)APART });

    memset(source, 0, (size_t)PIECES * APART);
    for (unsigned i = 0; i < PIECES; i++) {
        *word_at(source, i) = word(tern_rank(), i);
        local[i] = source + (size_t)i * APART;
        remote[i] = (uint64_t)(PIECES - 1 - i) * APART;
        pieces[i] = (tern_piece){ source + (size_t)i * APART, PIECE };
        extents[i] = (tern_extent){ remote[i], PIECE };
    }
    LONG(strided, &s);
    LONG(indexed, (&TERN_INDEXED(.local_count = PIECES, .local_len = PIECE, .local = local, .remote_count = PIECES,
                                 .remote_len = PIECE, .remote = remote)));
    LONG(vector, (&TERN_VECTOR(.local_count = PIECES, .local = pieces, .remote_count = PIECES, .remote = extents)));
    free(source);
    free(local);
    free(remote);
    free(pieces);
    free(extents);
}

int main(void)
{
    OK(tern_am_register(1, handler, NULL));
    OK(tern_init());
    right = (tern_rank() + 1) % tern_size();
    for (int kind = 0; kind < JOB_KINDS; kind++) {
        job_region_make(&area, (enum job_kind)kind, SIZE);
        transpose();
        reflection();
        column_block();
        fill();
        all_dimensions();
        nothing_is_done_at_once();
        refusals_change_nothing();
        overlapping_destination();
        in_a_handler();
        job_region_drop(&area);
    }
    job_region_make(&area, JOB_HOST, (uint64_t)PIECES * APART);
    long_transfers();
    job_region_drop(&area);
    OK(tern_finalize());
    return 0;
}
