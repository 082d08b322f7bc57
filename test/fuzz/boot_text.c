/* boot_text.c: the value of TERN_BOOT.
 *
 * Promise: an accepted value is exactly the text that ternrun would write, except for leading zeros, and every number
 * in it is within its range. */
#include "fuzz/fuzz.h"

#include <limits.h>

#include "boot/boot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char                  *text = fuzz_text(data, size), again[256];
    struct tern_boot_words words = { .layout = -77 }, same;

    if (tern_boot_text_read(text, &words) == TERN_OK) {
        MUST(words.layout == TERN_SEGMENT_LAYOUT && words.rank >= 0 && words.rank < words.ranks);
        MUST(words.ranks <= TERN_MAX_RANKS && words.arena >= 0 && words.arena <= INT_MAX);
        MUST(words.huge >= -1 && words.huge <= INT_MAX && words.tell >= -1 && words.tell <= INT_MAX);
        MUST(words.launcher >= 1 && words.launcher <= INT_MAX && words.mark >= 0);
        tern_boot_text(again, sizeof(again), (int)words.rank,
                       &(struct tern_boot_given){ .ranks = (int)words.ranks,
                                                  .arena = (int)words.arena,
                                                  .huge = (int)words.huge,
                                                  .relay_fd = (int)words.tell,
                                                  .launcher = (int)words.launcher,
                                                  .mark = words.mark });
        MUST(tern_boot_text_read(again, &same) == TERN_OK && memcmp(&same, &words, sizeof(same)) == 0);
    } else {
        MUST(words.layout == -77);
    }
    free(text);
    return 0;
}
