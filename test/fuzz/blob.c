/* blob.c: a list of blobs that another process has written: the net addresses of a rank, or the keys of a memory
 * handle.
 *
 * Promise: a blob that is found lies in the list, and appending to a list changes nothing before its end. */
#include "fuzz/fuzz.h"

#include "base/blob.h"

#define SIZE 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t       number;
    unsigned char *list;
    size_t         len = 0, now;

    fuzz_take(&data, &size, &number, sizeof(number));
    list = fuzz_copy(data, size);
    const unsigned char *found = tern_base_blob_find(list, size, number, &len);
    if (found) {
        MUST(len > 0 && found >= list + TERN_BLOB_HEAD && len <= size && found <= list + size - len);
        fuzz_touch(found, len);
    }
    if (size <= SIZE) {
        unsigned char more[SIZE];

        if (size > 0)
            memcpy(more, list, size);
        now = tern_base_blob_add(more, SIZE, size, number, "key", 3);
        MUST(!found || now == 0);
        MUST(size == 0 || memcmp(more, list, size) == 0);
        if (now != 0)
            MUST(now == size + TERN_BLOB_HEAD + 3 &&
                 memcmp(tern_base_blob_find(more, now, number, &len), "key", 3) == 0);
    }
    free(list);
    return 0;
}
