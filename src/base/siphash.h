/* siphash.h: a keyed hash (SipHash-2-4), and the random bytes that its keys consist of. Without the key, the hash value
 * can neither be computed nor predicted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define TERN_SIPHASH_KEY 16

uint64_t tern_base_siphash(const uint8_t key[TERN_SIPHASH_KEY], const void *data, size_t len);

/* Draw random bytes that nobody can predict. Returns TERN_OK. TERN_ERR_SYSTEM: the kernel provides none. */
tern_status tern_base_random(void *bytes, size_t len);
