/* sanitize.h: annotations for ordering that ThreadSanitizer (TSan) cannot see.
 *
 * TSan observes a single process. Two threads of a process may be ordered through another process: for example, a
 * helper thread copies data, a peer learns of the copy, and a barrier with that peer orders the program's thread after
 * it. These functions tell TSan about such ordering. In builds without TSan they do nothing.
 */
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TERN_BASE_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define TERN_BASE_TSAN 1
#endif

#ifdef TERN_BASE_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

/* Order the preceding accesses of this thread before a later tern_base_order_after() on the same address. */
static inline void tern_base_order_before(void *address)
{
#ifdef TERN_BASE_TSAN
    __tsan_release(address);
#else
    (void)address;
#endif
}

/* Order the following accesses of this thread after an earlier tern_base_order_before() on the same address. */
static inline void tern_base_order_after(void *address)
{
#ifdef TERN_BASE_TSAN
    __tsan_acquire(address);
#else
    (void)address;
#endif
}

/* Annotations for ordering through other ranks: after a barrier, a message or a notification over any link, a peer may
 * start an operation that a thread of another link then executes in this process. */
extern char tern_base_peers;

static inline void tern_base_order_before_peers(void)
{
    tern_base_order_before(&tern_base_peers);
}

static inline void tern_base_order_after_peers(void)
{
    tern_base_order_after(&tern_base_peers);
}

/* Between these two calls, the calling thread copies the program's data on behalf of a peer. The program and the peer
 * are responsible for ordering the program's own accesses with the copy, by any means, such as a word that the program
 * polls. TSan therefore ignores the copy. */
static inline void tern_base_copy_for_peer_begin(void)
{
#ifdef TERN_BASE_TSAN
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

static inline void tern_base_copy_for_peer_end(void)
{
#ifdef TERN_BASE_TSAN
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}
