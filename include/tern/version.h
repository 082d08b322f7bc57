/* version.h: what this copy of Tern is, and the words that every other public header uses to declare things. */
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

/* A symbol of the library. */
#define TERN_API __attribute__((visibility("default")))

/* A function whose body the user's compiler may inline, and which the library exports as well: where it is not
 * inlined (no optimisation, a function pointer, another language) the call goes to the exported copy. The library
 * defines TERN_INLINE as TERN_API in the one file that holds that copy. */
#ifndef TERN_INLINE
#define TERN_INLINE extern inline __attribute__((gnu_inline))
#endif

#define TERN_LIKELY(x) __builtin_expect(!!(x), 1)
#define TERN_UNLIKELY(x) __builtin_expect(!!(x), 0)

TERN_BEGIN_DECLS

/* The version of the library that is running, as "major.minor.patch"; TERN_VERSION is the one compiled against.
 * Returns  a static string.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_API const char *tern_version(void);

TERN_END_DECLS

#endif
