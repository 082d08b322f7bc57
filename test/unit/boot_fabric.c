/* boot_fabric.c: the list of libfabric's providers. The choice of a provider is tested with real jobs. */
#include "boot/fabric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Guarantee: the list has providers, and not the layers over them; without libfabric the list is empty. */
static void providers_are_listed(void **state)
{
    char        text[512] = "x";
    tern_status st = tern_boot_fabric_providers(text, sizeof(text));

    (void)state;
    if (st == TERN_ERR_LINK) {
        assert_string_equal(text, "");
        return;
    }
    assert_int_equal(st, TERN_OK);
    assert_non_null(strstr(text, "tcp"));
    assert_null(strstr(text, "ofi_"));
    assert_true(text[0] != ',' && text[strlen(text) - 1] != ',');
}

/* Guarantee: a list that does not fit is truncated within the buffer. */
static void short_buffer(void **state)
{
    char text[8];

    (void)state;
    memset(text, '#', sizeof(text));
    tern_boot_fabric_providers(text, 4);
    assert_non_null(memchr(text, '\0', 4));
    assert_memory_equal(text + 4, "####", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(providers_are_listed),
        cmocka_unit_test(short_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
