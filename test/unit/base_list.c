/* base_list.c: intrusive doubly linked lists.
 *
 * Promise: a list yields its items in the order in which they were pushed and appended; an item can be removed from any
 * position, also while the list is iterated, and removing it twice is harmless.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
    int              number;
    struct tern_list node;
};

/* The numbers of the items on the list, as decimal digits, first item first. Checks the links in both directions. */
static int digits(struct tern_list *list)
{
    int forward = 0, backward = 0, scale = 1;

    TERN_LIST_EACH(struct item, item, list, node)
        forward = forward * 10 + item->number;
    for (struct tern_list *node = list->prev; node != list; node = node->prev, scale *= 10)
        backward += TERN_LIST_ITEM(node, struct item, node)->number * scale;
    assert_int_equal(forward, backward);
    return forward;
}

static void order_is_kept(void **state)
{
    struct item      item[4] = { { .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4 } };
    struct tern_list list = TERN_LIST_INIT(list);

    (void)state;
    assert_true(tern_base_list_empty(&list));
    assert_null(tern_base_list_pop(&list));
    tern_base_list_append(&list, &item[2].node);
    tern_base_list_append(&list, &item[3].node);
    tern_base_list_push(&list, &item[1].node);
    tern_base_list_push(&list, &item[0].node);
    assert_false(tern_base_list_empty(&list));
    assert_int_equal(digits(&list), 1234);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(tern_base_list_pop(&list), &item[i].node);
    assert_true(tern_base_list_empty(&list));
}

static void items_can_be_removed(void **state)
{
    struct item      item[5];
    struct tern_list list;

    (void)state;
    for (int first = 0; first < 5; first++)
        for (int second = 0; second < 5; second++) {
            int left = 0;

            tern_base_list_init(&list);
            for (int i = 0; i < 5; i++) {
                item[i].number = i + 1;
                tern_base_list_append(&list, &item[i].node);
            }
            tern_base_list_remove(&item[first].node);
            tern_base_list_remove(&item[second].node); /* perhaps for the second time */
            for (int i = 0; i < 5; i++)
                if (i != first && i != second)
                    left = left * 10 + i + 1;
            assert_int_equal(digits(&list), left);
            assert_true(tern_base_list_empty(&item[first].node));
        }
}

static void iteration_may_remove_its_item(void **state)
{
    struct item      item[6];
    struct tern_list list, odd;

    (void)state;
    tern_base_list_init(&list);
    tern_base_list_init(&odd);
    for (int i = 0; i < 6; i++) {
        item[i].number = i + 1;
        tern_base_list_append(&list, &item[i].node);
    }
    TERN_LIST_EACH(struct item, one, &list, node)
        if (one->number % 2 != 0) {
            tern_base_list_remove(&one->node);
            tern_base_list_push(&odd, &one->node);
        }
    assert_int_equal(digits(&list), 246);
    assert_int_equal(digits(&odd), 531);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_kept),
        cmocka_unit_test(items_can_be_removed),
        cmocka_unit_test(iteration_may_remove_its_item),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
