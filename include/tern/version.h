/* version.h: the version of Tern, and the macros with which all public headers declare functions. */
#ifndef TERN_VERSION_H
#define TERN_VERSION_H

#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 1
#define TERN_VERSION_PATCH 0
#define TERN_VERSION "0.1.0"

#ifdef __cplusplus
#define TERN_BEGIN_DECLS extern "C" {
#define TERN_END_DECLS }
#else
#define TERN_BEGIN_DECLS
#define TERN_END_DECLS
#endif

/* Marks a function or variable that the library exports. */
#define TERN_API __attribute__((visibility("default")))

/* Marks a function that the compiler of the user may inline, and that the library exports as well. Calls that are not
 * inlined (without optimization, through a function pointer, from another language) go to the exported copy. The
 * library defines TERN_INLINE as TERN_API in the one source file that contains this copy. */
#ifndef TERN_INLINE
#define TERN_INLINE extern inline __attribute__((gnu_inline))
#endif

#define TERN_LIKELY(x) __builtin_expect(!!(x), 1)
#define TERN_UNLIKELY(x) __builtin_expect(!!(x), 0)

TERN_BEGIN_DECLS

/* Get the version of the running library. TERN_VERSION is the version of the headers with which the program was
 * compiled.
 * Returns  A static string "major.minor.patch".
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_API const char *tern_version(void);

TERN_END_DECLS

#endif
