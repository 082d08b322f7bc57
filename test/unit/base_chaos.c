/* base_chaos.c: chaos settings are accepted as written or refused with a reason, and a refusal changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/chaos.h"

static struct tern_chaos parsed(const char *text)
{
    struct tern_chaos chaos;

    memset(&chaos, 0x55, sizeof(chaos));
    assert_int_equal(tern_base_chaos_parse(text, &chaos), TERN_OK);
    return chaos;
}

static void defaults(void **state)
{
    struct tern_chaos on = parsed("on"), seeded = parsed("seed=0");

    (void)state;
    assert_false(on.seeded);
    assert_true(seeded.seeded && seeded.seed == 0);
    assert_true(on.delay > 0 && on.stall > 0 && on.again > 0 && on.reorder == 100 && on.kill_rank == -1);
    assert_true(seeded.delay == on.delay && seeded.again == on.again && seeded.kill_rank == -1);
}

static void all_settings(void **state)
{
    struct tern_chaos c = parsed("kill=2@1000,seed=9223372036854775807,delay=1000000,again=90,stall=0,reorder=0");

    (void)state;
    assert_true(c.seeded && c.seed == INT64_MAX && c.delay == TERN_CHAOS_LOOKS && c.again == TERN_CHAOS_AGAIN);
    assert_true(c.stall == 0 && c.reorder == 0 && c.kill_rank == 2 && c.kill_at == 1000);
    c = parsed("kill=0@1");
    assert_true(!c.seeded && c.kill_rank == 0 && c.kill_at == 1);
}

/* Promise: the text names the wrong setting and the allowed values. */
static void mistakes(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "no setting" },
        { ",", "no setting" },
        { "seed", "no setting" },
        { "seed=7,", "no setting" },
        { ",seed=7", "no setting" },
        { "seed=7,,delay=1", "no setting" },
        { "on,seed=7", "no setting" },
        { "seed=7,on", "no setting" },
        { "ON", "no setting" },
        { "deley=7", "'deley'" },
        { "deley=7", "delay=" },
        { "Seed=7", "no setting" },
        { " seed=7", "no setting" },
        { "=7", "no setting" },
        { "seed=", "seed takes a whole number" },
        { "seed=-1", "seed takes a whole number" },
        { "seed=7x", "'7x'" },
        { "seed=7=8", "seed takes a whole number" },
        { "seed=9223372036854775808", "seed takes a whole number" },
        { "delay=1000001", "0 to 1000000" },
        { "delay=1ms", "delay takes a whole number" },
        { "again=91", "0 to 90" },
        { "stall=1000001", "stall takes" },
        { "reorder=101", "0 to 100" },
        { "reorder=50%", "reorder takes" },
        { "seed=1,seed=1", "seed is given twice" },
        { "kill=1@1,kill=1@1", "kill is given twice" },
        { "kill=1", "RANK@K" },
        { "kill=", "RANK@K" },
        { "kill=@", "RANK@K" },
        { "kill=1@", "RANK@K" },
        { "kill=@1", "RANK@K" },
        { "kill=1@0", "'1@0'" },
        { "kill=-1@1", "RANK@K" },
        { "kill=1@1@1", "RANK@K" },
        { "kill=4294967296@1", "RANK@K" },
        { "seed=0000000000000000000000000000000000000000000000000000000000000000007", "too long" },
        { "\xff\xfe=1", "no setting" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tern_chaos chaos = { .delay = 77 };

        assert_int_equal(tern_base_chaos_parse(bad[i].text, &chaos), TERN_ERR_ARG);
        if (!strstr(tern_base_detail(), bad[i].says) || !strstr(tern_base_detail(), "TERN_CHAOS"))
            fail_msg("\"%s\" is answered with \"%s\", without \"%s\"", bad[i].text, tern_base_detail(), bad[i].says);
        assert_true(chaos.delay == 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(all_settings),
        cmocka_unit_test(mistakes),
    };

    return cmocka_run_group_tests_name("base chaos", tests, NULL, NULL);
}
