/* word.h: conditions on words in memory, for the waits for words and for signals. */
#pragma once

#include <tern/wait.h>

/* Load a word of 1, 2, 4 or 8 bytes. acquire: the word before the data behind it. Pairs with the release of a put, an
 * atomic operation or a signal. */
static inline uint64_t tern_api_word_load(const void *word, unsigned bytes)
{
    switch (bytes) {
    case 1: return __atomic_load_n((const uint8_t *)word, __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n((const uint16_t *)word, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const uint32_t *)word, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE);
    }
}

/* Return whether the comparison of two unsigned numbers holds. compare is valid. */
static inline bool tern_api_word_holds(uint64_t word, tern_compare compare, uint64_t value)
{
    switch (compare) {
    case TERN_EQ: return word == value;
    case TERN_NE: return word != value;
    case TERN_GT: return word > value;
    case TERN_GE: return word >= value;
    case TERN_LT: return word < value;
    default: return word <= value;
    }
}

/* Return the operator of a valid comparison, for reports. */
static inline const char *tern_api_word_sign(tern_compare compare)
{
    static const char *const sign[] = { "==", "!=", ">", ">=", "<", "<=" };

    return sign[compare];
}
