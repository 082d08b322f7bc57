/* ternrun_signals.c: the order to send a signal, which the head sends its nodes.
 *
 * Promise: only signals that ternrun passes on are accepted, each only with its own body. The files under test are
 * included, because they belong to a tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../tools/ternrun/order.c"
#include "../tools/ternrun/wrap.c"

static bool takes(uint32_t value, uint32_t len)
{
    static const unsigned char body[8] = { 24, 0, 0x50, 1 };
    struct tern_frame          frame = { .kind = TERN_FRAME_SIGNAL, .value = value, .len = len, .body = body };
    struct winsize             window = { 0 };
    int                        signal = 0;
    bool                       taken = run_order_read_signal(&frame, &signal, &window);

    assert_true(!taken || (uint32_t)signal == value);
    if (taken && value == SIGWINCH)
        assert_true(window.ws_row == 24 && window.ws_col == 0x150);
    else
        assert_true(window.ws_row == 0 && window.ws_col == 0);
    return taken;
}

static void signals_are_checked(void **state)
{
    (void)state;
    for (uint32_t value = 0; value < 200; value++) {
        bool plain = value == SIGUSR1 || value == SIGUSR2 || value == SIGTSTP || value == SIGCONT;

        assert_int_equal(takes(value, 0), plain);
        assert_int_equal(takes(value, 4), value == SIGWINCH);
        assert_false(takes(value, 3));
        assert_false(takes(value, 5));
    }
    assert_false(takes(UINT32_MAX, 0));
    assert_false(takes(0x80000000u | SIGUSR1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(signals_are_checked) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
