/* debug.h: whether this is a debug build, as a constant: what only those do is compiled, and checked, in all. */
#ifndef TERN_BASE_DEBUG_H
#define TERN_BASE_DEBUG_H

#ifdef NDEBUG
#define TERN_BASE_DEBUG 0
#else
#define TERN_BASE_DEBUG 1
#endif

#endif
