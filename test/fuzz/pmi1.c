/* pmi1.c: a line from a launcher that uses PMI-1. The first bytes of the input are the key to find.
 *
 * Promise: a value that is found is a part of the line without blanks, and it is terminated within its buffer. */
#include "fuzz/fuzz.h"

#include "boot/pmi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = { "cmd", "rc", "value", "kvsname", "a", "" };
    uint8_t                  which, room;
    char                    *line, *value;

    fuzz_take(&data, &size, &which, sizeof(which));
    fuzz_take(&data, &size, &room, sizeof(room));
    line = fuzz_copy(data, size);
    MUST((value = malloc(room > 0 ? room : 1)) != NULL);
    memset(value, 0x77, room > 0 ? room : 1);
    if (room > 0 && tern_boot_pmi1_field(line, size, keys[which % 6], value, room)) {
        MUST(strnlen(value, room) < room);
        MUST(strpbrk(value, " \n") == NULL && strlen(value) <= size);
    }
    free(line);
    free(value);
    return 0;
}
