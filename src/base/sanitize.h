/* sanitize.h: order that the thread sanitizer cannot see by itself.
 *
 * It watches one process. Where two threads of a process are ordered through another process (a service thread copies,
 * a peer learns of it, a barrier with that peer brings the news to the program's thread), these calls tell it so. In
 * any other build they are nothing.
 */
#ifndef TERN_BASE_SANITIZE_H
#define TERN_BASE_SANITIZE_H

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

/* What this thread did before is seen by threads that call tern_base_order_after on the same address later. */
static inline void tern_base_order_before(void *address)
{
#ifdef TERN_BASE_TSAN
    __tsan_release(address);
#else
    (void)address;
#endif
}

static inline void tern_base_order_after(void *address)
{
#ifdef TERN_BASE_TSAN
    __tsan_acquire(address);
#else
    (void)address;
#endif
}

/* The same where the order comes through other ranks: a barrier, a message or a notification, over whatever link, lets
 * a peer start what the thread of another link then carries out. */
extern char tern_base_peers;

static inline void tern_base_order_before_peers(void)
{
    tern_base_order_before(&tern_base_peers);
}

static inline void tern_base_order_after_peers(void)
{
    tern_base_order_after(&tern_base_peers);
}

/* Between the two calls the calling thread copies bytes of the program on behalf of a peer. Whether the program's own
 * accesses to these bytes are ordered with the copy is a matter between the program and the peer, who may agree on it
 * by any means, such as a word that the program polls. The sanitizer therefore does not look at the copy. */
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

#endif
