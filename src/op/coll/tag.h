/* tag.h: the tags of the messages of collective operations: 32 bits for the number of the call on the team, 8 for the
 * call, and 22 for the digest of its arguments. */
#pragma once

#include <stdint.h>

#define TAG_NUMBER 0xffffffffull

static inline uint64_t tag_make(uint32_t number, unsigned call, uint64_t digest)
{
    digest ^= digest >> 32;
    digest ^= digest >> 16;
    return number | (uint64_t)call << 32 | (digest & 0x3fffff) << 40;
}

static inline unsigned tag_call(uint64_t tag)
{
    return (tag >> 32) & 0xff;
}
