/* op_tagged_assist.c: the sender's records of ASSISTs.
 *
 * Promise: a sender copies only for a rendezvous, records one ASSIST for each message, whatever the receiver sends, and
 * forgets the record when the send ends, so that no record refers to a send that has ended. The file under test is
 * included, because it tests private functions.
 */
/* clang-format off: the file under test comes before cmocka.h, which takes one of its names */
#include "op/tagged/rndv_assist_send.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#define SIZE 100000u
#define KEY 7u

static struct scene {
    struct tern_ctx        ctx;
    struct tern_request    request;
    struct tern_tagged_op  op;
    struct tern_work_split split;
} s;

static int begin(void **state)
{
    (void)state;
    memset((void *)&s, 0, sizeof(s));
    s.ctx.tagged = calloc(1, sizeof(*s.ctx.tagged));
    s.request.ctx = &s.ctx;
    s.request.size = SIZE;
    s.op.request = &s.request;
    s.op.protocol = &tern_op_protocol_rndv;
    atomic_store(&s.split.args[TERN_SPLIT_SIZE], SIZE);
    atomic_store(&s.split.args[TERN_SPLIT_PIECE], 4096);
    return s.ctx.tagged ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    free(s.ctx.tagged);
    return 0;
}

static void one_assist_per_message(void **state)
{
    (void)state;
    accept(&s.op, &s.split, KEY);
    assert_int_equal(assists_of(s.ctx.tagged), 1);
    assert_ptr_equal(s.ctx.tagged->assist[0].request, &s.request);
    assert_ptr_equal(s.op.protocol, &tern_op_protocol_rndv_assist);
    accept(&s.op, &s.split, KEY + 1);
    assert_int_equal(assists_of(s.ctx.tagged), 1);
    assert_int_equal(s.ctx.tagged->assist[0].key, KEY);
}

/* The buffer of an inline or eager message is the program's again when the message was sent. */
static void only_a_rendezvous_is_assisted(void **state)
{
    const struct tern_tagged_protocol *const others[] = { &tern_op_protocol_inline, &tern_op_protocol_eager };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        s.op.protocol = others[i];
        accept(&s.op, &s.split, KEY);
        assert_int_equal(assists_of(s.ctx.tagged), 0);
        assert_ptr_equal(s.op.protocol, others[i]);
    }
}

static void implausible_values_are_ignored(void **state)
{
    (void)state;
    atomic_store(&s.split.args[TERN_SPLIT_SIZE], SIZE + 1);
    accept(&s.op, &s.split, KEY);
    atomic_store(&s.split.args[TERN_SPLIT_SIZE], SIZE);
    atomic_store(&s.split.args[TERN_SPLIT_PIECE], 0);
    accept(&s.op, &s.split, KEY);
    assert_int_equal(assists_of(s.ctx.tagged), 0);
    assert_ptr_equal(s.op.protocol, &tern_op_protocol_rndv);
}

static void the_end_of_a_send_ends_its_assist(void **state)
{
    (void)state;
    accept(&s.op, &s.split, KEY);
    s.op.protocol->unsend(&s.op);
    assert_int_equal(assists_of(s.ctx.tagged), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_assist_per_message),
        TEST(only_a_rendezvous_is_assisted),
        TEST(implausible_values_are_ignored),
        TEST(the_end_of_a_send_ends_its_assist),
    };

    return cmocka_run_group_tests_name("assists of tagged messages", tests, NULL, NULL);
}
