/* version.h: the version of Tern, and the definitions that all headers use.
 *
 * The headers need gcc or clang, or a compiler with the same extensions (inline functions with the attribute
 * gnu_inline, vector types, atomic builtins), on 64-bit Linux with little-endian byte order. The language is C99 or a
 * later version of C, or C++11 or a later version of C++. Calls that accept several types (tern_put_value,
 * tern_get_value, tern_atomic_add, tern_fadd and their relatives) need C11 or C++11; C99 programs use tern_put_u64,
 * tern_get_u64, tern_atomic and so on. Initializers that name fields, such as TERN_OPTS, need C; C++ programs
 * initialize a variable with TERN_OPTS_INIT and then assign the fields.
 *
 * Names that begin with tern_inline_ or TERN_INLINE, and the headers tern/inline.h, tern/inline_value.h and
 * tern/inline_atomic.h, are not part of the interface, although programs contain code from them: they may change in any
 * version. TERN_VERSION is the version of the headers, and tern_version returns the version of the library. A program
 * works with every later library of the same major version; before 1.0, of the same minor version.
 */
#ifndef TERN_VERSION_H
#define TERN_VERSION_H

#if !defined(__GNUC__)
#error "tern.h needs gcc, clang, or a compiler that is compatible with them"
#endif
#if !defined(__linux__) || !defined(__LP64__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tern.h needs 64-bit Linux on a little-endian processor"
#endif
#if defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#error "tern.h needs C99 or C++11, or a later version: compile with -std=c99 or -std=c++11"
#endif

/* The version of the headers. */
#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 1
#define TERN_VERSION_PATCH 0
#define TERN_VERSION "0.1.0"

/* Linkage of declarations. Not part of the interface. */
#ifdef __cplusplus
#define TERN_BEGIN_DECLS extern "C" {
#define TERN_END_DECLS }
#else
#define TERN_BEGIN_DECLS
#define TERN_END_DECLS
#endif

/* Marks a function or variable that the library exports. Not part of the interface. */
#define TERN_API __attribute__((visibility("default")))

/* Marks a function that the compiler of the user may inline, and that the library exports as well. Not part of the
 * interface. Calls that are not inlined (without optimization, through a function pointer, from another language) go to
 * the exported copy. The library defines TERN_INLINE as TERN_API in the one source file that contains this copy. */
#ifndef TERN_INLINE
#define TERN_INLINE extern inline __attribute__((gnu_inline))
#endif

/* Hints for the compiler. Not part of the interface. */
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
