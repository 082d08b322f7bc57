/* pmi1.c: a line from a launcher that uses PMI-1. The first bytes of the input are the key to find.
 *
 * Promise: a value that is found is a part of the line without blanks, and it is terminated within its buffer. */
#include "fuzz/fuzz.h"

#include "boot/pmi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = { "cmd", "rc", "value", "kvsname", "a", "" };
    uint8_t                  which, space;
    char                    *line, *value;

    fuzz_take(&data, &size, &which, sizeof(which));
    fuzz_take(&data, &size, &space, sizeof(space));
    line = fuzz_copy(data, size);
    MUST((value = malloc(space > 0 ? space : 1)) != NULL);
    memset(value, 0x77, space > 0 ? space : 1);
    if (space > 0 && tern_boot_pmi1_field(line, size, keys[which % 6], value, space)) {
        MUST(strnlen(value, space) < space);
        MUST(strpbrk(value, " \n") == NULL && strlen(value) <= size);
    }
    free(line);
    free(value);
    return 0;
}
