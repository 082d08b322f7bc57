/* net_failures.c: the status that a failure of the network gets.
 *
 * Promise: a failure that affects all peers is TERN_ERR_NOMEM if memory is lacking, and otherwise TERN_ERR_LINK. A
 * transfer that fails in the network may have had a part of its effect, and gets TERN_ERR_LINK, or TERN_ERR_PEER if its
 * connection broke; the text names the transfer, the peer and the reason. The file under test is included, because the
 * function is private.
 */
/* clang-format off: the file under test comes before cmocka.h, which takes one of its names */
#include "link/net/lane.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

static const char *say_error(const struct net_link *net, int error)
{
    (void)net;
    return strerror(error);
}

static const struct net_verbs verbs = { .why = say_error };

static const struct {
    int         error;
    tern_status status;
} failures[] = { { ENOMEM, TERN_ERR_NOMEM }, { EIO, TERN_ERR_LINK }, { EPROTO, TERN_ERR_LINK } };

#define FAILURES (sizeof(failures) / sizeof(failures[0]))

static void make_boot(struct tern_boot *boot)
{
    memset((void *)boot, 0, sizeof(*boot));
    assert_int_equal(tern_boot_arena_make(2, 1, &boot->arena, &boot->huge, &boot->segment), TERN_OK);
    boot->segment->on_failure = TERN_ON_FAILURE_RETURN;
    boot->relay_fd = -1;
    tern_boot_place(boot, 0);
    boot->ranks = 2;
}

static void operations(void **state)
{
    struct tern_boot      boot;
    struct tern_link_part part = { .rank = 1 };
    struct net_peer       peer = { .rank = 1 };
    struct net_link       net = { .verbs = &verbs, .name = "x", .boot = &boot };
    struct tern_link_op   op = { .xfer = { .part = &part, .len = 8 }, .net = { .peer = &peer } };

    (void)state;
    make_boot(&boot);
    for (size_t i = 0; i < FAILURES; i++) {
        op.net.error = failures[i].error;
        op.net.give_up_at = 1; /* the launcher had its time to report a death */
        assert_int_equal(judge(&net, &op), TERN_ERR_LINK);
        assert_non_null(strstr(tern_base_detail(), "a put of 8 bytes to rank 1 failed: "));
        assert_non_null(strstr(tern_base_detail(), strerror(failures[i].error)));
    }
    op.net.error = ECONNRESET;
    assert_int_equal(judge(&net, &op), TERN_ERR_PEER);
    tern_boot_leave(&boot);
}

static void receiving(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAILURES; i++) {
        struct tern_boot boot;
        struct net_link  net;

        make_boot(&boot);
        memset((void *)&net, 0, sizeof(net));
        assert_int_equal(tern_net_open(&net, &verbs, &boot, NULL), TERN_OK);
        tern_net_rx_fail(&net, tern_net_status(failures[i].error), "the queue cannot be read", "because");
        assert_int_equal(net.msg.damage, failures[i].status);
        assert_non_null(strstr(net.msg.why, "the queue cannot be read: because"));
        free((void *)net.peer);
        tern_boot_leave(&boot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(operations), cmocka_unit_test(receiving) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
