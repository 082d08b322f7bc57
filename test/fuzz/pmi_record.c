/* foreign_card.c: what a rank has published with a foreign launcher, as another reads it.
 *
 * Promise: what is accepted has a name of a node that ends; everything else is refused. */
#include "fuzz/fuzz.h"

#include "boot/pmi_join.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char                  *text = fuzz_text(data, size);
    struct tern_pmi_record card;

    memset(&card, 0x77, sizeof(card));
    if (tern_boot_pmi_record_decode(text, &card)) {
        MUST(strnlen(card.node, sizeof(card.node)) < sizeof(card.node));
        MUST(card.node[0] != '\0' && strchr(card.node, ',') == NULL);
    }
    free(text);
    return 0;
}
