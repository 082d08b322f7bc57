/* meddle.h: memory that a peer changes while it is read.
 *
 * The pages that the reader looks at are closed to it. Each instruction that touches them is let through alone: a fault
 * opens them, the processor stops behind the instruction, and they are closed again. After as many instructions as the
 * input says, the peer's second step is made, through a mapping of its own, and the rest goes on undisturbed. So a
 * decoder that looks twice at the same bytes sees first one thing and then another, at every place where that can be,
 * without a hook in the decoder and without chance.
 *
 * Where the processor cannot be stopped like that the second step is never made.
 */
#ifndef TERN_FUZZ_MEDDLE_H
#define TERN_FUZZ_MEDDLE_H

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fuzz/fuzz.h"

static struct {
    unsigned char *pages;
    size_t         bytes;
    unsigned       left; /* instructions before the second step; 0: nothing is closed */
    void (*step)(void);  /* the second step */
    struct sigaction before;
} meddle;

#ifdef __x86_64__
#define MEDDLE_STOP 0x100 /* the flag of the processor that stops it behind the next instruction */

static void meddle_close(bool closed)
{
    MUST(mprotect(meddle.pages, meddle.bytes, closed ? PROT_NONE : PROT_READ | PROT_WRITE) == 0);
}

/* The reader touches the pages. Any other fault is the decoder's own. */
static void meddle_fault(int signal, siginfo_t *info, void *context)
{
    unsigned char *at = info->si_addr;

    if (meddle.left == 0 || at < meddle.pages || at >= meddle.pages + meddle.bytes) {
        sigaction(signal, &meddle.before, NULL);
        return;
    }
    meddle_close(false);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= MEDDLE_STOP;
}

/* It has touched them. */
static void meddle_stopped(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~MEDDLE_STOP;
    if (meddle.left > 0 && --meddle.left == 0)
        meddle.step();
    else if (meddle.left > 0)
        meddle_close(true);
}

/* From now on; after so many instructions step is made. Of 0, nothing is done. */
__attribute__((unused)) static void meddle_begin(void *pages, size_t bytes, unsigned after, void (*step)(void))
{
    static bool      ready;
    struct sigaction fault = { .sa_sigaction = meddle_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
    struct sigaction stopped = { .sa_sigaction = meddle_stopped, .sa_flags = SA_SIGINFO };

    if (!ready)
        MUST(sigaction(SIGSEGV, &fault, &meddle.before) == 0 && sigaction(SIGTRAP, &stopped, NULL) == 0);
    ready = true;
    meddle.pages = pages;
    meddle.bytes = bytes;
    meddle.step = step;
    meddle.left = after;
    if (after > 0)
        meddle_close(true);
}

/* No more. Returns whether the second step was made. */
__attribute__((unused)) static bool meddle_end(void)
{
    bool made = meddle.left == 0;

    meddle.left = 0;
    meddle_close(false);
    return made;
}
#else
__attribute__((unused)) static void meddle_begin(void *pages, size_t bytes, unsigned after, void (*step)(void))
{
    (void)pages, (void)bytes, (void)after, (void)step;
}

__attribute__((unused)) static bool meddle_end(void)
{
    return false;
}
#endif

#endif
