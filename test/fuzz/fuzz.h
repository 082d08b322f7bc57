/* fuzz.h: functions shared by the fuzz targets. A target is one function that gets bytes from libFuzzer, passes them to
 * one decoder of Tern, and checks the promises of the decoder. The sanitizers detect invalid accesses. */
#ifndef TERN_FUZZ_H
#define TERN_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Check a promise of the decoder. */
#define MUST(condition) ((condition) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #condition))
__attribute__((noreturn, unused)) static void fuzz_broken(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s is false\n", file, line, what);
    abort();
}

/* Remove len bytes from the front of the input. If it is shorter, the missing bytes are zero. */
__attribute__((unused)) static void fuzz_take(const uint8_t **data, size_t *size, void *out, size_t len)
{
    size_t there = len < *size ? len : *size;

    memset(out, 0, len);
    if (there > 0)
        memcpy(out, *data, there);
    *data += there;
    *size -= there;
}

/* Copy the rest of the input to memory of exactly its size, so that an access beyond the end is detected. */
__attribute__((unused)) static void *fuzz_copy(const uint8_t *data, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);

    MUST(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* Return the input as text. */
__attribute__((unused)) static char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    MUST(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* Read every byte. */
__attribute__((unused)) static void fuzz_touch(const void *bytes, size_t len)
{
    const unsigned char   *at = bytes;
    volatile unsigned char seen = 0;

    for (size_t i = 0; i < len; i++)
        seen = (unsigned char)(seen + at[i]);
    (void)seen;
}

#endif
