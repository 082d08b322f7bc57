/* chaos.h: the settings of the option TERN_CHAOS, which tells the chaos link how to delay, reorder, refuse and kill.
 *
 * The text is a list such as seed=7,delay=64,kill=2@1000, or the word "on" for all defaults. The launcher reads the
 * text to report mistakes before it starts any rank; the chaos link reads it to apply the settings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define TERN_CHAOS_LOOKS 1000000 /* maximum value of delay and stall */
#define TERN_CHAOS_AGAIN 90      /* maximum value of again: every operation succeeds eventually */

struct tern_chaos {
    bool    seeded;    /* the text contains a seed */
    int64_t seed;      /* all decisions depend only on the seed, the rank and the sequence of calls */
    int64_t delay;     /* maximum number of polls by which a transfer, a message or the end of a barrier is delayed */
    int64_t again;     /* percentage of operations that first return TERN_AGAIN */
    int64_t stall;     /* maximum number of polls for which progress occasionally stops; 0: never */
    int64_t reorder;   /* percentage of operations that may overtake others where reordering is permitted */
    int64_t kill_rank; /* the rank that is killed; -1: none */
    int64_t kill_at;   /* the operation of that rank, counted from 1, at which it is killed */
};

/* Parse the text into *out. Returns TERN_OK, or TERN_ERR_ARG with a detail that names the mistake and the allowed
 * values; *out is then unchanged. */
tern_status tern_base_chaos_parse(const char *text, struct tern_chaos *out);
