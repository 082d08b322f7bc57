/* two_step.h: memory that a peer changes while it is read.
 *
 * The pages with the bytes are protected against accesses of the reader. Each instruction that accesses them causes a
 * fault, whose handler makes the pages accessible and lets the processor execute a single instruction; then the pages
 * are protected again. After the number of instructions that the input gives, the second step of the peer is executed
 * through another mapping, and the reader continues without interruption. A decoder that reads the same bytes twice can
 * therefore see two different values, at every place where this is possible, without hooks in the decoder and
 * reproducibly.
 *
 * If the processor does not support single steps, the second step is never executed.
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
    unsigned       left; /* instructions before the second step; 0: nothing is protected */
    void (*step)(void);  /* the second step */
    struct sigaction before;
} meddle;

#ifdef __x86_64__
#define MEDDLE_STOP 0x100 /* the flag of the processor that stops it behind the next instruction */

static void meddle_close(bool closed)
{
    MUST(mprotect(meddle.pages, meddle.bytes, closed ? PROT_NONE : PROT_READ | PROT_WRITE) == 0);
}

/* The reader accesses the pages. Any other fault is an error of the decoder. */
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

/* The instruction has been executed. */
static void meddle_stopped(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~MEDDLE_STOP;
    if (meddle.left > 0 && --meddle.left == 0)
        meddle.step();
    else if (meddle.left > 0)
        meddle_close(true);
}

/* Start: execute step after this many accesses. If the number is 0, do nothing. */
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

/* Stop. Returns whether the second step was executed. */
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
