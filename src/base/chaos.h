/* chaos.h: what the option TERN_CHAOS says: how the link chaos is to delay, reorder, refuse and kill.
 *
 * The text is a list such as seed=7,delay=64,kill=2@1000, or the word "on" for all defaults. The launcher reads it to
 * refuse mistakes before anything is started, and the link to do it.
 */
#ifndef TERN_BASE_CHAOS_H
#define TERN_BASE_CHAOS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define TERN_CHAOS_LOOKS 1000000 /* the most that delay and stall may be */
#define TERN_CHAOS_AGAIN 90      /* the most that again may be: an operation gets through in the end */

struct tern_chaos {
    bool    seeded;    /* the text has a seed */
    int64_t seed;      /* all decisions follow from it, the rank and the calls that are made */
    int64_t delay;     /* looks that a transfer, a message or the end of a barrier is held back at most */
    int64_t again;     /* of 100 operations, how many are answered with TERN_AGAIN first */
    int64_t stall;     /* looks that progress stands still at most, now and then; 0: never */
    int64_t reorder;   /* of 100 operations, how many may overtake others where that is permitted */
    int64_t kill_rank; /* the rank that is killed; -1: none */
    int64_t kill_at;   /* at which of its operations, counted from 1 */
};

/* Read the text. TERN_ERR_ARG, with a detail that names the mistake and what is allowed: *out is as it was. */
tern_status tern_base_chaos_parse(const char *text, struct tern_chaos *out);

#endif
