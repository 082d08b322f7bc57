/* op_meeting.c: promise: a member of a team overwrites its cell and its page only when the other members have read the
 * previous contents, and it waits for nothing else, however many calls the team has made before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "op/coll/meeting.h"

/* A page that was used long ago, even before the numbers of the meetings wrapped around, is not waited for. */
static void old_page(void **state)
{
    static const uint32_t ages[] = { TERN_BOARD_CELLS + 4, 1000, 0x7ffffff0u, 0x80000000u, 0x80000100u, 0xfffffff0u };
    static const uint32_t meetings[] = { 70, 5000, 0x80000104u, 0xfffffffcu };

    (void)state;
    for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++)
        for (size_t k = 0; k < sizeof(meetings) / sizeof(meetings[0]); k++)
            assert_int_equal(tern_meeting_awaited(meetings[k], meetings[k] - ages[i], true),
                             tern_meeting_awaited(meetings[k], 0, false));
}

/* The meeting that used the page last is waited for, unless the cell is waited for anyway. */
static void page(void **state)
{
    (void)state;
    for (uint32_t meeting = 100; meeting < 200; meeting++) {
        assert_int_equal(tern_meeting_awaited(meeting, meeting - TERN_BOARD_PAGES, true), meeting - TERN_BOARD_PAGES);
        assert_int_equal(tern_meeting_awaited(meeting, meeting - 40, true), meeting - 40);
        assert_true(tern_meeting_awaited(meeting, meeting - 40, false) <= meeting - 40);
    }
    assert_int_equal(tern_meeting_awaited(2, 0xfffffffeu, true), 0xfffffffeu);
}

/* The meeting of the cell is rounded up to a step, which the others reach without this member. */
static void cell(void **state)
{
    (void)state;
    for (uint32_t meeting = TERN_BOARD_CELLS; meeting < 300; meeting++) {
        uint32_t awaited = tern_meeting_awaited(meeting, 0, false);

        assert_int_equal(awaited % TERN_MEETING_STEP, 0);
        assert_true(awaited >= meeting - TERN_BOARD_CELLS && awaited < meeting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(old_page), cmocka_unit_test(page), cmocka_unit_test(cell) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
