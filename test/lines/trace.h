/* trace.h: records which cache lines the program accesses.
 *
 * Files that are compiled with the compiler's hooks for data races (-fsanitize=thread) call a function at every load
 * and store. trace.c provides these functions in place of the sanitizer, and they record the line. Copies by the C
 * library, and files that are compiled without the hooks, are not recorded.
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
