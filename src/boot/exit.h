/* exit.h: the quiet end of the whole job with any exit status (tern_exit).
 *
 * The rank that calls tern_exit writes its output and sets the word ending of the segment. The relay sets the word on
 * the other nodes. Ranks that wait in Tern see the word, write their output too, and wait until the launcher ends them.
 * The first rank gives them a moment for this, and then ends: ternrun sees the word and ends the job, and other
 * launchers are asked to end it. srun prints a complaint when it ends a job. There, every rank disconnects from the
 * launcher and ends by itself; a rank that computes is ended by its helper threads, which learn of the end of another
 * rank (death_watch.h) or of the word (relay_thread.h). */
#pragma once

#include <stdbool.h>

#include "boot/boot.h"

/* Announce that the process has joined the job, or that it leaves the job. Between these two calls, the functions below
 * use *boot. */
void tern_boot_exit_open(const struct tern_boot *boot);
void tern_boot_exit_close(void);

/* End the job: the implementation of tern_exit. Any thread may call this. */
void tern_boot_exit(int code) __attribute__((noreturn));

/* End this process with the code because another rank ends the job. waits: the process is given time to wait for the
 * output of the other ranks of its node. If another thread is ending the process, the call waits for that thread. Any
 * thread may call this. */
void tern_boot_exit_follow(int code, bool waits) __attribute__((noreturn));

/* End this process without the launcher, but write its output: for a child that fork created. */
void tern_boot_exit_alone(int code) __attribute__((noreturn));

/* Return whether the ranks end by themselves, because the launcher cannot end them quietly. */
bool tern_boot_exit_by_rank(const struct tern_boot *boot);

/* Return whether a rank has called tern_exit. relaxed: the word announces no other data. */
static inline bool tern_boot_is_ending(const struct tern_segment *segment)
{
    return atomic_load_explicit(&segment->ending, memory_order_relaxed) != 0;
}

/* Return the exit status of the job, if a rank has called tern_exit. */
static inline int tern_boot_exit_code(const struct tern_segment *segment)
{
    return (int)(atomic_load_explicit(&segment->ending, memory_order_relaxed) & 0xff);
}
