/* inline.c: exported copies of all functions that the public headers define inline. They serve calls that are not
 * inlined: without optimization, through a function pointer, or from another language. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the header's definition is the declaration */
#define TERN_INLINE TERN_API
#include <tern.h>
