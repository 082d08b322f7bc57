/* check.h: calls of Tern that must succeed, and a wait that polls memory because no notification arrives. */
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

/* Poll a word of this rank's memory until it has reached a value that another rank puts there. A plain put does not
 * notify its target, so the target must poll. The loop yields the core now and then. */
static inline void await_word(const uint64_t *word, uint64_t value)
{
    /* acquire: the data that was put before the word is visible. Pairs with the fence between the two puts. */
    for (unsigned looks = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; looks++) {
        if (looks % 64 == 0) {
            CHECK(tern_progress(TERN_WORLD));
            sched_yield();
        }
    }
}

#endif
