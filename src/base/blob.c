/* blob.c: appending a blob to a list, and finding a blob in a list. See blob.h. */
#include "base/blob.h"

#include <string.h>

/* Find the blob with the number. Returns its position, or the end of the list; SIZE_MAX: the list is malformed. */
static size_t position(const unsigned char *list, size_t used, uint16_t number, uint16_t head[2])
{
    size_t at = 0;

    while (at < used) {
        if (used - at < TERN_BLOB_HEAD)
            return SIZE_MAX;
        memcpy(head, list + at, TERN_BLOB_HEAD);
        if (head[1] == 0 || head[1] > used - at - TERN_BLOB_HEAD)
            return SIZE_MAX;
        if (head[0] == number)
            return at;
        at += TERN_BLOB_HEAD + head[1];
    }
    return at;
}

size_t tern_base_blob_add(unsigned char *list, size_t size, size_t used, uint16_t number, const void *bytes, size_t len)
{
    uint16_t head[2];

    if (used > size || len == 0 || len > UINT16_MAX || size - used < TERN_BLOB_HEAD + len ||
        position(list, used, number, head) != used)
        return 0;
    head[0] = number;
    head[1] = (uint16_t)len;
    memcpy(list + used, head, TERN_BLOB_HEAD);
    memcpy(list + used + TERN_BLOB_HEAD, bytes, len);
    return used + TERN_BLOB_HEAD + len;
}

const unsigned char *tern_base_blob_find(const unsigned char *list, size_t used, uint16_t number, size_t *len)
{
    uint16_t head[2];
    size_t   at = position(list, used, number, head);

    if (at >= used)
        return NULL;
    *len = head[1];
    return list + at + TERN_BLOB_HEAD;
}
