/* chaos.c: the value of TERN_CHAOS.
 *
 * Promise: accepted settings are within their ranges. A text that is refused changes nothing, and the error says
 * why. */
#include "fuzz/fuzz.h"

#include "base/chaos.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char             *text = fuzz_text(data, size);
    struct tern_chaos chaos = { .delay = -77 };

    if (tern_base_chaos_parse(text, &chaos) == TERN_OK) {
        MUST(chaos.seed >= 0 && chaos.delay >= 0 && chaos.delay <= TERN_CHAOS_LOOKS);
        MUST(chaos.again >= 0 && chaos.again <= TERN_CHAOS_AGAIN && chaos.reorder >= 0 && chaos.reorder <= 100);
        MUST(chaos.stall >= 0 && chaos.stall <= TERN_CHAOS_LOOKS);
        MUST(chaos.kill_rank >= -1 && chaos.kill_rank <= INT32_MAX && (chaos.kill_rank < 0 || chaos.kill_at >= 1));
    } else {
        MUST(chaos.delay == -77 && strstr(tern_base_detail(), "TERN_CHAOS") != NULL);
    }
    free(text);
    return 0;
}
