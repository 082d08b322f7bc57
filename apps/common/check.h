/* check.h: calls of Tern that must succeed, and a wait for plain puts to this rank's memory. */
#ifndef APPS_CHECK_H
#define APPS_CHECK_H

#include <stdint.h>
#include <tern.h>

#define CHECK(call)                                 \
    do {                                            \
        if (__builtin_expect((call) != TERN_OK, 0)) \
            tern_abort(1, tern_error_detail());     \
    } while (0)

/* Wait until a word of this rank's memory has reached a value that another rank puts there. Every put wakes a rank that
 * waits for its memory. */
static inline void await_word(const uint64_t *word, uint64_t value)
{
    const tern_word reached = TERN_WORD(word, TERN_GE, value);

    /* acquire: the data that was put before the word is visible. Pairs with the fence between the two puts. */
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
        CHECK(tern_word_wait(TERN_WORLD, &reached, TERN_FOREVER));
}

#endif
