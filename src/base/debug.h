/* debug.h: a constant that tells whether this is a debug build. Code that only debug builds execute is still compiled
 * and checked in all builds. */
#pragma once

#ifdef NDEBUG
#define TERN_BASE_DEBUG 0
#else
#define TERN_BASE_DEBUG 1
#endif
