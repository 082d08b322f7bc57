/* op_tagged_split.c: the chunks of a long message that its receiver copies when the sender has written the shared
 * words.
 *
 * Promise: whatever numbers the work split has, the receiver writes only places of the buffer that are still to be
 * filled; impossible numbers are an error, and every loop ends. The file under test is included, because it tests
 * private functions.
 */
/* clang-format off: the file under test comes before cmocka.h, which takes one of its names */
#include "op/tagged/rndv_assist.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#define CHUNK 4096u
#define WANT (10u * CHUNK + 100)
#define FETCHED 5000u /* arrived with the RTS */

static struct scene {
    struct tern_ctx        ctx, engine_ctx;
    struct tern_engine     engine;
    struct tern_request    request;
    struct tern_tagged_op  op;
    struct tern_work_split share;
    unsigned char          buffer[WANT];
    unsigned               gets;
} s;

static tern_status get(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    const unsigned char *to = xfer->local;

    (void)lane, (void)op;
    assert_true(xfer->get && to >= s.buffer + FETCHED && to < s.buffer + WANT);
    assert_true(xfer->len > 0 && xfer->len <= CHUNK && xfer->len <= (size_t)(s.buffer + WANT - to));
    s.gets++;
    return TERN_OK;
}

static const struct tern_link_path path = { .name = "none", .instant = true, .start = get };

static int begin(void **state)
{
    (void)state;
    memset((void *)&s, 0, sizeof(s));
    s.engine.ctx = &s.engine_ctx;
    s.ctx.engine = &s.engine;
    s.request.ctx = &s.ctx;
    s.request.buffer = s.buffer;
    s.request.size = WANT;
    s.op.request = &s.request;
    s.op.want = WANT;
    s.op.fetched = FETCHED;
    s.op.chunk = CHUNK;
    s.op.opened = s.op.taken = FETCHED / CHUNK;
    s.op.part.path = &path;
    s.op.split = &s.share;
    return 0;
}

static void sound_pieces(void **state)
{
    (void)state;
    for (uint64_t piece = FETCHED / CHUNK; piece < 11; piece++)
        split_copy(&s.op, piece);
    assert_int_equal(s.gets, 10);
    assert_int_equal(s.request.status, TERN_OK);
}

static void pieces_that_are_none(void **state)
{
    static const uint64_t bad[] = { 0, 11, 12, 1ull << 20, 1ull << 52, UINT64_MAX / CHUNK, UINT64_MAX };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin(state);
        split_copy(&s.op, bad[i]);
        assert_int_equal(s.gets, 0);
        assert_int_equal(s.request.status, TERN_ERR_LINK);
    }
}

/* A sender that opens the same chunk for ever. */
static void pieces_without_end(void **state)
{
    unsigned n = 0;

    (void)state;
    while (!tern_op_tagged_has_failed(&s.op) && n++ < 1000)
        split_copy(&s.op, 5);
    assert_true(n < 20);
    assert_int_equal(s.request.status, TERN_ERR_LINK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sound_pieces, begin),
        cmocka_unit_test_setup(pieces_that_are_none, begin),
        cmocka_unit_test_setup(pieces_without_end, begin),
    };

    return cmocka_run_group_tests_name("shares of tagged messages", tests, NULL, NULL);
}
