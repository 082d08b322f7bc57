/* boot_node.c: processes of a node have the same identity, unless they are told otherwise or run in containers. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "boot/node.h"

static void the_same_everywhere(void **state)
{
    char  mine[TERN_NODE_TEXT], other[TERN_NODE_TEXT];
    int   status;
    pid_t child;

    (void)state;
    assert_int_equal(tern_boot_node_identity(mine), TERN_OK);
    assert_true(strlen(mine) > 16);
    assert_int_equal(strspn(mine, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"), strlen(mine));
    child = fork();
    if (child == 0)
        _exit(tern_boot_node_identity(other) == TERN_OK && strcmp(mine, other) == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_name_decides(void **state)
{
    char mine[TERN_NODE_TEXT], named[TERN_NODE_TEXT];

    (void)state;
    assert_int_equal(tern_boot_node_identity(mine), TERN_OK);
    tern_opt.node = "left-1";
    assert_int_equal(tern_boot_node_identity(named), TERN_OK);
    assert_non_null(strstr(named, "left-1"));
    assert_string_not_equal(mine, named);
    for (size_t i = 0; i < 4; i++) {
        tern_opt.node = (const char *[]){ "a b", "a,b", "a=b",
                                          "x23456789012345678901234567890123456789012345678901234567890123456" }[i];
        assert_int_equal(tern_boot_node_identity(named), TERN_ERR_ARG);
        assert_non_null(strstr(tern_base_detail(), "TERN_NODE"));
    }
    tern_opt.node = "";
}

/* A separate network namespace keeps sockets apart. */
static void a_container_is_a_node(void **state)
{
    char  mine[TERN_NODE_TEXT], other[TERN_NODE_TEXT];
    int   status;
    pid_t child;

    (void)state;
    assert_int_equal(tern_boot_node_identity(mine), TERN_OK);
    child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
            _exit(77);
        _exit(tern_boot_node_identity(other) == TERN_OK && strcmp(mine, other) != 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* Promise: TERN_NODE does not change which network interfaces a process has, and a network namespace does. */
static void names_do_not_change_the_network(void **state)
{
    char  mine[TERN_NODE_TEXT], other[TERN_NODE_TEXT];
    int   status;
    pid_t child;

    (void)state;
    assert_true(tern_boot_node_network(mine));
    tern_opt.node = "left-1";
    assert_true(tern_boot_node_network(other));
    tern_opt.node = "";
    assert_string_equal(mine, other);
    child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
            _exit(77);
        _exit(tern_boot_node_network(other) && strcmp(mine, other) != 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static void processors_add_up(void **state)
{
    struct tern_cpus cpus = { { 0 } };

    (void)state;
    assert_int_equal(tern_boot_cpus_count(&cpus), 1); /* there is always one */
    assert_int_equal(tern_boot_cpus_length(&cpus), 0);
    tern_boot_cpus_add(&cpus, (const uint8_t[]){ 0x03, 0, 0x80 }, 3);
    tern_boot_cpus_add(&cpus, (const uint8_t[]){ 0x06 }, 1);
    assert_int_equal(tern_boot_cpus_count(&cpus), 4);
    assert_int_equal(tern_boot_cpus_length(&cpus), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_everywhere),   cmocka_unit_test(a_name_decides),
        cmocka_unit_test(a_container_is_a_node), cmocka_unit_test(names_do_not_change_the_network),
        cmocka_unit_test(processors_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
