/* op_meeting.c: promise: a member of a team overwrites its cell and its page only when the other members have read the
 * previous contents, and it waits for nothing else, however many calls the team has made before. A member detects that
 * another one passed another length, root or size of elements, even if the digests of their arguments are equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "op/coll/check.h"
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

/* Before all pages are written, the meeting that used one of them last is waited for, unless all of them were used long
 * ago, or never. */
static void old_pages(void **state)
{
    static const uint32_t meetings[] = { 70, 5000, 0x7fffffffu, 0x80000104u, 0xfffffffcu };

    (void)state;
    for (size_t k = 0; k < sizeof(meetings) / sizeof(meetings[0]); k++) {
        uint32_t meeting = meetings[k], cell = tern_meeting_awaited(meeting, 0, false);
        uint32_t never[TERN_BOARD_PAGES] = { 0 };

        assert_int_equal(tern_meeting_awaited_for_pages(meeting, never), cell);
        for (unsigned i = 0; i < TERN_BOARD_PAGES; i++) {
            uint32_t used[TERN_BOARD_PAGES] = { 0, meeting - 100, meeting - 0x80000000u, meeting - 0x7ffffff0u };

            assert_int_equal(tern_meeting_awaited_for_pages(meeting, used), cell);
            used[i] = meeting - 1;
            assert_int_equal(tern_meeting_awaited_for_pages(meeting, used), meeting - 1);
            used[(i + 1) % TERN_BOARD_PAGES] = meeting - 2;
            assert_int_equal(tern_meeting_awaited_for_pages(meeting, used), meeting - 1);
        }
    }
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

/* The calls of two members with the same digest: `theirs` is the call of member 1. */
static void compare(const struct tern_coll_args *theirs, bool equal)
{
    static _Alignas(64) unsigned char boards[2 * TERN_LINK_BOARD];
    const struct tern_coll_args       mine = { .amount = 7, .root = 1, .how = { .elem = 8 } };
    struct tern_team                  team[2] = { { .size = 2, .rank = 0 }, { .size = 2, .rank = 1 } };
    struct tern_station               station[2];
    struct tern_meeting               m[2];

    memset(boards, 0, sizeof(boards));
    for (int i = 0; i < 2; i++) {
        memset(&station[i], 0, sizeof(station[i]));
        station[i].team = &team[i];
        station[i].board = (struct tern_board *)(void *)boards;
        m[i] = tern_meeting_begin(&station[i], NULL, i == 0 ? &mine : theirs);
        m[i].end = 2;
        tern_meeting_publish(&m[i]);
    }
    assert_true(m[0].word == m[1].word);
    for (int i = 0; i < 2; i++) {
        assert_true(tern_meeting_all_written(&m[i]));
        assert_int_equal(m[i].odd, equal ? -1 : 1 - i);
    }
}

static void arguments_with_one_digest(void **state)
{
    (void)state;
    compare(&(struct tern_coll_args){ .amount = 7, .root = 1, .how = { .elem = 8 } }, true);
    compare(&(struct tern_coll_args){ .amount = 8, .root = 1, .how = { .elem = 8 } }, false);
    compare(&(struct tern_coll_args){ .amount = 7, .root = 0, .how = { .elem = 8 } }, false);
    compare(&(struct tern_coll_args){ .amount = 7, .root = 1, .how = { .elem = 16 } }, false);
}

static enum tern_member_doing nothing(const struct tern_link_group *group, uint32_t member, uint64_t *what)
{
    (void)group;
    (void)member;
    (void)what;
    return TERN_MEMBER_ELSEWHERE;
}

/* The same for calls that send messages: the status of a call of member 0 that compares the words. */
static tern_status compared(const struct tern_coll_args *theirs)
{
    static _Alignas(64) unsigned char boards[2 * TERN_LINK_BOARD];
    static struct tern_coll           c;
    const struct tern_group_ops       ops = { .doing = nothing };
    const struct tern_coll_args       mine = { .what = "mine", .amount = 7, .root = 1, .how = { .elem = 8 } };
    struct tern_link_group            group = { .ops = &ops };
    struct tern_team    team[2] = { { .size = 2, .group = &group }, { .size = 2, .rank = 1, .group = &group } };
    struct tern_station station[2];

    memset(boards, 0, sizeof(boards));
    memset(station, 0, sizeof(station));
    for (int i = 0; i < 2; i++) {
        station[i].team = &team[i];
        station[i].board = (struct tern_board *)(void *)boards;
        tern_op_board_enter(&station[i], i == 0 ? &mine : theirs);
    }
    memset(&c, 0, sizeof(c));
    c.op.call = mine.what;
    c.station = &station[0];
    c.size = 2;
    c.blocks = true;
    c.says = tern_op_coll_says(&mine);
    tern_op_board_compare(&c);
    return c.status;
}

static void messages_with_one_digest(void **state)
{
    (void)state;
    assert_int_equal(compared(&(struct tern_coll_args){ .amount = 7, .root = 1, .how = { .elem = 8 } }), TERN_OK);
    assert_int_equal(compared(&(struct tern_coll_args){ .amount = 8, .root = 1, .how = { .elem = 8 } }), TERN_ERR_ARG);
    assert_int_equal(compared(&(struct tern_coll_args){ .amount = 7, .root = 0, .how = { .elem = 8 } }), TERN_ERR_ARG);
    assert_int_equal(compared(&(struct tern_coll_args){ .amount = 7, .root = 1, .how = { .elem = 16 } }), TERN_ERR_ARG);
    assert_int_equal(compared(&(struct tern_coll_args){ .amount = 7, .root = 1, .how = { .elem = 8 }, .digest = 1 }),
                     TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(old_page),
                                        cmocka_unit_test(old_pages),
                                        cmocka_unit_test(page),
                                        cmocka_unit_test(cell),
                                        cmocka_unit_test(arguments_with_one_digest),
                                        cmocka_unit_test(messages_with_one_digest) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
