/* siphash.h: a keyed hash (SipHash-2-4). Without the key, the hash value can neither be computed nor predicted. */
#ifndef TERN_BASE_SIPHASH_H
#define TERN_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define TERN_SIPHASH_KEY 16

uint64_t tern_base_siphash(const uint8_t key[TERN_SIPHASH_KEY], const void *data, size_t len);

#endif
