/* blob.h: a list of short blobs in an array of bytes, at most one for each number.
 *
 * In such a list, a rank publishes the data with which its peers reach it through each of its links; the number of a
 * blob is the number of the link. A list is a sequence of blobs, each with a head of four bytes: the number and the
 * length. Blobs are only ever appended, so a reader that has loaded the length of the list may read that many bytes
 * while the writer appends. The reader trusts nothing in a list that another process has written. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TERN_BLOB_HEAD 4 /* bytes that a list needs for a blob beside its contents */

/* Append a blob to a list that has used bytes of the given size. Returns the number of bytes that the list uses
 * afterwards; 0: there is not enough space, len is 0, or the list is malformed or has a blob with this number. */
size_t tern_base_blob_add(unsigned char *list, size_t size, size_t used, uint16_t number, const void *bytes,
                          size_t len);

/* Return the blob with the number in a list of used bytes, and its length; NULL: there is none, or the list is
 * malformed. */
const unsigned char *tern_base_blob_find(const unsigned char *list, size_t used, uint16_t number, size_t *len);
