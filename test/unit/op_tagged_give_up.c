/* op_tagged_give_up.c: receives of long messages for whose fetch there is no memory.
 *
 * Promise: the receiver sends the sender of such a message a FIN with an error, and retries as long as there is no room
 * for the FIN; until then the receive stays active, and its context asks for progress. The receive completes once, with
 * the error in the FIN. The file under test is included, so that the test can refuse memory and room to it.
 */
/* clang-format off: the file under test comes before cmocka.h, which takes one of its names */
#define tern_op_engine_open refuse_engine
#define tern_op_tagged_send_fin hear_of
#include "op/tagged/rndv.c"
#undef tern_op_engine_open
#undef tern_op_tagged_send_fin

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#define SENDER 1
#define ID 77u
#define SIZE 1000u

static struct scene {
    struct tern_ctx      ctx, engine_ctx;
    struct tern_engine   engine;
    struct tern_request *request;
    unsigned char        buffer[SIZE];
    unsigned             refusals; /* number of next FINs that are refused for lack of room */
    unsigned             told;     /* number of FINs that have reached the sender, */
    tern_status          word;     /* and the status in the last of them */
} s;

tern_status refuse_engine(struct tern_ctx *ctx)
{
    assert_ptr_equal(ctx, &s.ctx);
    return TERN_ERR_NOMEM;
}

tern_status hear_of(const struct tern_request *request, uint64_t id, tern_status status)
{
    assert_int_equal(request->source, SENDER);
    assert_int_equal(id, ID);
    if (s.refusals > 0) {
        s.refusals--;
        return TERN_AGAIN;
    }
    s.told++;
    s.word = status;
    return TERN_OK;
}

/* Make a receive whose message has arrived: only the FIN to its sender is missing. */
static int begin(void **state)
{
    static uint8_t links[SENDER + 1];

    (void)state;
    memset((void *)&s, 0, sizeof(s));
    tern_job.boot.ranks = SENDER + 1;
    tern_job.peer_link = links;
    pthread_mutex_init(&s.engine.lock, NULL);
    s.engine.ctx = &s.engine_ctx;
    tern_base_list_init(&s.engine_ctx.outstanding);
    if (!tern_op_request_make(&s.ctx) || !(s.request = tern_op_request_new(&s.ctx, TERN_REQUEST_RECV)))
        return -1;
    atomic_store(&s.request->state, TERN_REQUEST_ACTIVE);
    s.request->source = SENDER;
    s.request->buffer = s.buffer;
    s.request->size = s.request->len = SIZE;
    if (!tern_op_tagged_op_new(s.request, false))
        return -1;
    s.request->op->id = ID;
    s.request->op->fetched = SIZE;
    tern_op_tagged_matched(s.request->op);
    return 0;
}

static int end_scene(void **state)
{
    (void)state;
    if (s.request->op)
        s.request->op->id = 0; /* a receive that has not completed would be reported once more */
    tern_op_tagged_release(&s.ctx);
    tern_op_tagged_forget_requests(&s.ctx);
    pthread_mutex_destroy(&s.engine.lock);
    return 0;
}

/* Make progress for the context. Returns whether the context asks for more. */
static bool move_on(void)
{
    tern_op_tagged_advance(&s.ctx);
    return atomic_load(&s.ctx.attention);
}

static void expect_active(void)
{
    assert_int_equal(tern_op_request_state(s.request), TERN_REQUEST_ACTIVE);
    assert_int_equal(s.request->op->id, ID);
    assert_int_equal(s.told, 0);
}

static void expect_ended(tern_status status)
{
    assert_int_equal(tern_op_request_state(s.request), TERN_REQUEST_DONE);
    assert_int_equal(s.request->status, status);
    assert_null(s.request->op);
    assert_int_equal(s.told, 1);
    assert_int_equal(s.word, status);
    assert_false(move_on()); /* and the FIN is not sent again */
    assert_int_equal(s.told, 1);
}

static void the_word_goes_at_once(void **state)
{
    (void)state;
    assert_false(move_on());
    expect_ended(TERN_ERR_NOMEM);
}

static void the_word_is_tried_again(void **state)
{
    (void)state;
    s.refusals = 5;
    for (unsigned i = 5; i > 0; i--) {
        assert_true(move_on());
        assert_int_equal(s.refusals, i - 1);
        expect_active();
    }
    assert_false(move_on());
    expect_ended(TERN_ERR_NOMEM);
}

/* A receive that was given up does not start when there is an engine later. */
static void the_word_is_tried_again_with_an_engine(void **state)
{
    (void)state;
    s.refusals = 2;
    assert_true(move_on());
    expect_active();
    s.ctx.engine = &s.engine;
    assert_true(move_on());
    expect_active();
    assert_true(tern_base_list_empty(&s.engine_ctx.outstanding));
    assert_false(move_on());
    expect_ended(TERN_ERR_NOMEM);
}

/* A message that is longer than the buffer is truncated, but its sender must still learn that it was not received. */
static void a_truncated_message(void **state)
{
    (void)state;
    s.request->status = TERN_ERR_TRUNCATED;
    s.request->len = 2 * SIZE;
    s.refusals = 1;
    assert_true(move_on());
    expect_active();
    assert_false(move_on());
    expect_ended(TERN_ERR_NOMEM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_word_goes_at_once),
        TEST(the_word_is_tried_again),
        TEST(the_word_is_tried_again_with_an_engine),
        TEST(a_truncated_message),
    };

    return cmocka_run_group_tests_name("tagged messages that are given up", tests, NULL, NULL);
}
