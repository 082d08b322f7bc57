/* options.c: one environment variable. The first byte of the input selects the option, and the rest is its value.
 *
 * Promise: a value is accepted or refused as a whole. If it is refused, the option keeps its default. Numbers are
 * within their ranges. */
#include "fuzz/fuzz.h"

#include "base/options.h"

#define LONGEST 40 /* values are kept until the process ends */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char             quiet[] = "TERN_BOOT=fuzz"; /* print no warnings about unknown names */
    char                    entry[128];
    char                   *environment[] = { entry, quiet, NULL };
    uint8_t                 which;
    struct tern_option_info row;

    fuzz_take(&data, &size, &which, sizeof(which));
    row = tern_base_options_row(which % tern_base_options_count());
    snprintf(entry, sizeof(entry), "%s=%.*s", row.name, (int)(size < LONGEST ? size : LONGEST), (const char *)data);
    if (tern_base_options_load(environment) != TERN_OK) {
        row = tern_base_options_row(which % tern_base_options_count());
        MUST(strcmp(row.source, "default") == 0 && strcmp(row.value, row.fallback) == 0);
        MUST(strstr(tern_base_detail(), row.name) != NULL);
    }
    MUST(tern_opt.timeout >= 0 && tern_opt.timeout <= 1e9 && tern_opt.stall_report >= 0);
    MUST(tern_opt.spin >= -1 && tern_opt.bounce_chunks >= 1 && tern_opt.bounce_chunks <= 32);
    MUST(tern_opt.bounce_chunk >= 4096 && tern_opt.bounce_chunk <= 1u << 20);
    MUST(tern_opt.am_queue >= 64u << 10 && tern_opt.am_queue <= 1u << 30);
    MUST(tern_opt.on_failure == TERN_ON_FAILURE_ABORT || tern_opt.on_failure == TERN_ON_FAILURE_RETURN);
    return 0;
}
