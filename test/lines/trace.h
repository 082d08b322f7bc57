/* trace.h: which cache lines the program touches.
 *
 * Files that are compiled with the compiler's hooks for data races (-fsanitize=thread) call a function at every load
 * and store. The functions here are ours, not those of the sanitizer: they write down the line. What the C library
 * copies is not seen, nor are files that are compiled without.
 */
#ifndef TERN_TEST_TRACE_H
#define TERN_TEST_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_LINE 64u
#define TRACE_MOST 256u

struct trace_line {
    uintptr_t at; /* address of the line */
    unsigned  reads, writes;
};

struct trace {
    struct trace_line line[TRACE_MOST];
    unsigned          lines; /* TRACE_MOST: there may have been more */
};

/* From begin to end what the calling thread touches is added to the trace. */
void trace_begin(struct trace *trace);
void trace_end(void);

#endif
