/* check.h: calls of Tern that must succeed, and the wait of a program that is told nothing. */
#ifndef APPS_CHECK_H
#define APPS_CHECK_H

#include <sched.h>
#include <stdint.h>
#include <tern.h>

#define CHECK(call)                                 \
    do {                                            \
        if (__builtin_expect((call) != TERN_OK, 0)) \
            tern_abort(1, tern_error_detail());     \
    } while (0)

/* Wait until a word of this rank's memory has reached a value that another rank puts there. A plain put tells nobody:
 * all that is left is to look again and again, and to let others have the core now and then. */
static inline void await_word(const uint64_t *word, uint64_t value)
{
    /* acquire: what was put before the word. Pairs with the fence between the two puts. */
    for (unsigned looks = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; looks++) {
        if (looks % 64 == 0) {
            CHECK(tern_progress(TERN_WORLD));
            sched_yield();
        }
    }
}

#endif
