/* trace.c: see trace.h. The compiler prescribes the names of the hooks. */
#include "lines/trace.h"

#include <stdatomic.h>

static _Thread_local struct trace *current;

void trace_begin(struct trace *trace)
{
    current = trace;
}

void trace_end(void)
{
    current = NULL;
}

static void touch_line(uintptr_t at, bool write)
{
    struct trace *t = current;
    unsigned      i = 0;

    while (i < t->lines && t->line[i].at != at)
        i++;
    if (i == TRACE_MOST)
        return;
    if (i == t->lines)
        t->line[t->lines++] = (struct trace_line){ .at = at };
    t->line[i].reads += !write;
    t->line[i].writes += write;
}

static void touch(const volatile void *address, size_t len, bool write)
{
    uintptr_t first = (uintptr_t)address / TRACE_LINE, last = ((uintptr_t)address + len - 1) / TRACE_LINE;

    for (uintptr_t line = first; current && len > 0 && line <= last; line++)
        touch_line(line * TRACE_LINE, write);
}

/* ---- what the compiler calls ---- */

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *address, size_t len);
void __tsan_read_range(void *address, size_t len)
{
    touch(address, len, false);
}

void __tsan_write_range(void *address, size_t len);
void __tsan_write_range(void *address, size_t len)
{
    touch(address, len, true);
}

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    atomic_thread_fence(memory_order_seq_cst);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    atomic_signal_fence(memory_order_seq_cst);
}

#define ACCESS(name, bytes, write)     \
    void __tsan_##name(void *address); \
    void __tsan_##name(void *address)  \
    {                                  \
        touch(address, bytes, write);  \
    }

#define ACCESSES(bytes)                                  \
    ACCESS(read##bytes, bytes, false)                    \
    ACCESS(write##bytes, bytes, true)                    \
    ACCESS(volatile_read##bytes, bytes, false)           \
    ACCESS(volatile_write##bytes, bytes, true)           \
    ACCESS(unaligned_read##bytes, bytes, false)          \
    ACCESS(unaligned_write##bytes, bytes, true)          \
    ACCESS(unaligned_volatile_read##bytes, bytes, false) \
    ACCESS(unaligned_volatile_write##bytes, bytes, true)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

/* Atomic operations are calls too, and are done here; no weaker than asked for. */
#define CHANGE(type, bits, name)                                                      \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order); \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order)  \
    {                                                                                 \
        (void)order;                                                                  \
        touch(address, sizeof(type), true);                                           \
        return __atomic_##name(address, value, __ATOMIC_SEQ_CST);                     \
    }

#define COMPARE(type, bits, name, weak)                                                                            \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected, type value, int yes, \
                                                      int no);                                                     \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected, type value, int yes, \
                                                      int no)                                                      \
    {                                                                                                              \
        (void)yes, (void)no;                                                                                       \
        touch(address, sizeof(type), true);                                                                        \
        return __atomic_compare_exchange_n(address, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
    }

#define ATOMICS(type, bits)                                                             \
    type __tsan_atomic##bits##_load(const volatile type *address, int order);           \
    type __tsan_atomic##bits##_load(const volatile type *address, int order)            \
    {                                                                                   \
        (void)order;                                                                    \
        touch(address, sizeof(type), false);                                            \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                              \
    }                                                                                   \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order);    \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order)     \
    {                                                                                   \
        (void)order;                                                                    \
        touch(address, sizeof(type), true);                                             \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                             \
    }                                                                                   \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order); \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order)  \
    {                                                                                   \
        (void)order;                                                                    \
        touch(address, sizeof(type), true);                                             \
        return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                   \
    }                                                                                   \
    CHANGE(type, bits, fetch_add)                                                       \
    CHANGE(type, bits, fetch_sub)                                                       \
    CHANGE(type, bits, fetch_and)                                                       \
    CHANGE(type, bits, fetch_or)                                                        \
    COMPARE(type, bits, strong, 0)                                                      \
    COMPARE(type, bits, weak, 1)

ATOMICS(uint8_t, 8)
ATOMICS(uint16_t, 16)
ATOMICS(uint32_t, 32)
ATOMICS(uint64_t, 64)
