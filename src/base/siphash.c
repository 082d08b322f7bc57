/* siphash.c: SipHash-2-4 as its authors define it: two rounds for each word of the message, four at the end. Random
 * bytes come from the kernel. */
#include "base/siphash.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/bits.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void rounds(struct state *s, int count)
{
    for (int i = 0; i < count; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static void absorb(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

uint64_t tern_base_siphash(const uint8_t key[TERN_SIPHASH_KEY], const void *data, size_t len)
{
    const uint8_t *bytes = data;
    uint64_t       k0 = tern_base_get_le(key, 8), k1 = tern_base_get_le(key + 8, 8);
    struct state   s = { k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                         k1 ^ 0x7465646279746573u };
    size_t         whole = len - len % 8;

    for (size_t i = 0; i < whole; i += 8)
        absorb(&s, tern_base_get_le(bytes + i, 8));
    absorb(&s, tern_base_get_le(bytes + whole, len % 8) | (uint64_t)len << 56);
    s.v2 ^= 0xff;
    rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

tern_status tern_base_random(void *bytes, size_t len)
{
    ssize_t got;

    do
        got = getrandom(bytes, len, 0);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)len)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_SYSTEM, "cannot draw random bytes (getrandom): %s",
                          got < 0 ? strerror(errno) : "too few");
}
