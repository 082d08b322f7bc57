/* inline.c: the exported copies of every function that the public headers define inline, for calls that are not
 * inlined: without optimisation, through a function pointer, from another language. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the header's definition is the declaration */
#define TERN_INLINE TERN_API
#include <tern.h>
