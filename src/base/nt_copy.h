/* nt_copy.h: a copy with non-temporal stores, which bypass the caches.
 *
 * A full line that is written with non-temporal stores is not read from memory first and evicts nothing from the
 * caches. This pays off for data that is too large to be still cached when it is used. For other data this copy is
 * slower than memcpy().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>

/* Copy len bytes. Source and destination must not overlap. The stores are ordered before later stores, as those of
 * memcpy() are. */
static inline void tern_base_nt_copy(unsigned char *to, const unsigned char *from, size_t len)
{
    size_t head = -(uintptr_t)to & 63, lines;

    head = head < len ? head : len;
    memcpy(to, from, head);
    to += head;
    from += head;
    lines = (len - head) / 64;
    for (size_t i = 0; i < lines; i++, to += 64, from += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));

        _mm_stream_si128((__m128i *)(void *)to, a);
        _mm_stream_si128((__m128i *)(void *)(to + 16), b);
        _mm_stream_si128((__m128i *)(void *)(to + 32), c);
        _mm_stream_si128((__m128i *)(void *)(to + 48), d);
    }
    memcpy(to, from, (len - head) % 64);
    _mm_sfence(); /* nothing else orders non-temporal stores */
}

#else

static inline void tern_base_nt_copy(unsigned char *to, const unsigned char *from, size_t len)
{
    memcpy(to, from, len);
}

#endif
