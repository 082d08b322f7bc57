/* pmi_record.c: the record that a rank has published through a foreign launcher, as another rank reads it.
 *
 * Promise: the node name of an accepted record is terminated. Everything else is refused. */
#include "fuzz/fuzz.h"

#include "boot/pmi_join.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char                  *text = fuzz_text(data, size);
    struct tern_pmi_record record;

    memset(&record, 0x77, sizeof(record));
    if (tern_boot_pmi_record_decode(text, &record)) {
        MUST(strnlen(record.node, sizeof(record.node)) < sizeof(record.node));
        MUST(record.node[0] != '\0' && strchr(record.node, ',') == NULL);
    }
    free(text);
    return 0;
}
