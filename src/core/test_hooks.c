/* test_hooks.c: the option TERN_TEST. */
#include "core/test_hooks.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "core/group_bruck.h"
#include "core/wait.h"

static tern_status apply(const char *word)
{
    int64_t ranks;

    if (strcmp(word, "net=off") == 0) {
        tern_core_wait_longest_sleep = INT64_MAX;
        return TERN_OK;
    }
    if (strncmp(word, "apart=", 6) == 0 && tern_base_parse_count(word + 6, &ranks) && ranks >= 0 &&
        ranks <= INT32_MAX) {
        tern_core_group_apart = (unsigned)ranks;
        return TERN_OK;
    }
    return tern_base_fail(TERN_ERR_ARG, "TERN_TEST: \"%s\" is not known; use net=off or apart=RANKS, or a list of them",
                          word);
}

tern_status tern_core_test_hooks_apply(const char *list)
{
    tern_status st = TERN_OK;

    while (*list && st == TERN_OK) {
        size_t len = strcspn(list, ",");
        char   word[64];

        snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word) - 1), list);
        st = apply(word);
        list += len + (list[len] == ',');
    }
    return st;
}
