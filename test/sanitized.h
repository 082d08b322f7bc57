/* sanitized.h: the sanitizer with which the program is compiled. gcc defines macros for this, and clang has
 * features. */
#ifndef TERN_SANITIZED_H
#define TERN_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define JOB_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define JOB_ASAN 1
#endif
#endif
#ifndef JOB_ASAN
#define JOB_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define JOB_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define JOB_TSAN 1
#endif
#endif
#ifndef JOB_TSAN
#define JOB_TSAN 0
#endif

#define JOB_SANITIZED (JOB_ASAN || JOB_TSAN)

#endif
