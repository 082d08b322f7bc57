/* limits.c: the limits of the machine, measured without Tern's operations: the transfer of a cache line between two
 * cores, memcpy, the kernel's copy between processes, the CPU's atomics, a plain store and a plain load.
 *
 * Tests compare themselves with these kernels in the same job (--vs-limit); the test "limits" prints them. All
 * kernels work on the same memory as the tests, through the pointer that tern_region_ptr returns. If ranks 0 and 1
 * share only a network, the limit is TCP (tcp.c).
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "perf.h"

#define COUNTER_AT 1024 /* offset in the page of each rank, apart from the ping-pong's line */

/* A value travels from rank 0 to rank 1 and back. Each rank polls its own line and writes the peer's line. */
void perf_line_pingpong(struct perf_case *c, uint64_t iters)
{
    struct perf           *p = c->p;
    _Atomic unsigned char *theirs = (_Atomic unsigned char *)p->their_line;
    unsigned               turn = p->line_turn;

    for (uint64_t i = 0; i < iters; i++) {
        turn++;
        if (p->rank != 0)
            perf_await(p, p->my_line, (unsigned char)turn);
        atomic_store_explicit(theirs, (unsigned char)turn, memory_order_release); /* pairs with the peer's perf_await */
        if (p->rank == 0)
            perf_await(p, p->my_line, (unsigned char)turn);
    }
    p->line_turn = turn;
}

void perf_plain_store(struct perf_case *c, uint64_t iters)
{
    unsigned char *base = c->p->theirs;

    for (uint64_t i = 0; i < iters; i++)
        *(volatile uint64_t *)(void *)(base + perf_spot(i, sizeof(uint64_t))) = i;
}

void perf_plain_load(struct perf_case *c, uint64_t iters)
{
    const unsigned char *base = c->p->theirs;
    uint64_t             value;

    for (uint64_t i = 0; i < iters; i++) {
        value = *(const volatile uint64_t *)(const void *)(base + perf_spot(i, sizeof(value)));
        __asm__ volatile("" ::"r"(value));
    }
}

/* Copy c->size bytes between processes with the kernel's system call, repeated until all bytes are transferred. */
static void raw_copy(const struct perf_case *c, uint64_t at, bool write)
{
    struct iovec here = { c->p->local + at, c->size };
    struct iovec there = { (void *)(uintptr_t)(c->p->peer_place.address + at), c->size };
    pid_t        pid = (pid_t)c->p->peer_place.pid;
    ssize_t      done;
    char         text[200];

    while (here.iov_len > 0) {
        done = write ? process_vm_writev(pid, &here, 1, &there, 1, 0) : process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (TERN_UNLIKELY(done <= 0)) {
            snprintf(text, sizeof(text), "tern-perf: the limit (%s) failed: %s",
                     write ? "process_vm_writev" : "process_vm_readv", strerror(errno));
            tern_abort(1, text);
        }
        here = (struct iovec){ (char *)here.iov_base + done, here.iov_len - (size_t)done };
        there = (struct iovec){ (char *)there.iov_base + done, there.iov_len - (size_t)done };
    }
}

/* Return the remote end of the limit's copies: the peer's part, or this rank's own part if the peer's
 * cannot be reached. */
static unsigned char *far_side(const struct perf *p)
{
    return p->theirs != NULL ? p->theirs : p->mine;
}

static bool by_kernel(const struct perf *p)
{
    return strcmp(p->link, "cma") == 0;
}

/* Copies one at a time, in the tightest possible loop, so that the result is a true limit. */
static inline __attribute__((always_inline)) void copy_loop(unsigned char *to, const unsigned char *from,
                                                            uint64_t iters, size_t len)
{
    for (uint64_t i = 0; i < iters; i++) {
        memcpy(to, from, len);
        perf_keep();
    }
}

static inline __attribute__((always_inline)) void copy_to_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    copy_loop(far_side(c->p), c->p->local, iters, len);
}

static inline __attribute__((always_inline)) void copy_from_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    copy_loop(c->p->local, far_side(c->p), iters, len);
}

/* The same copies as those of a window of transfers. */
static inline __attribute__((always_inline)) void windows_loop(unsigned char *to, const unsigned char *from,
                                                               const struct perf_case *c, uint64_t iters, size_t len)
{
    uint64_t stride = c->stride, window = c->window;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++) {
            memcpy(to + w * stride, from + w * stride, len);
            perf_keep();
        }
    }
}

static inline __attribute__((always_inline)) void windows_to_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    windows_loop(far_side(c->p), perf_window_buffer(c, len), c, iters, len);
}

static inline __attribute__((always_inline)) void windows_from_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    windows_loop(perf_window_buffer(c, len), far_side(c->p), c, iters, len);
}

PERF_BY_LENGTH(static void single_to, copy_to_loop)

PERF_BY_LENGTH(static void single_from, copy_from_loop)

PERF_BY_LENGTH(static void windows_to, windows_to_loop)

PERF_BY_LENGTH(static void windows_from, windows_from_loop)

static void raw_loop(struct perf_case *c, uint64_t iters, bool write)
{
    uint64_t window = c->window > 0 ? c->window : 1;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            raw_copy(c, w * c->stride, write);
    }
}

void perf_copy_to(struct perf_case *c, uint64_t iters)
{
    if (by_kernel(c->p))
        raw_loop(c, iters, true);
    else if (c->window == 0)
        single_to(c, iters);
    else
        windows_to(c, iters);
}

void perf_copy_from(struct perf_case *c, uint64_t iters)
{
    if (by_kernel(c->p))
        raw_loop(c, iters, false);
    else if (c->window == 0)
        single_from(c, iters);
    else
        windows_from(c, iters);
}

struct perf_kernel perf_limit_trip(const struct perf *p)
{
    return (struct perf_kernel){ PERF_PAIR, p->network ? perf_tcp_pingpong : perf_line_pingpong };
}

const char *perf_limit_trip_name(const struct perf *p)
{
    return p->network ? "tcp_half_rtt" : "cacheline_half_rtt";
}

struct perf_kernel perf_limit_to(const struct perf *p)
{
    return p->network ? (struct perf_kernel){ PERF_PAIR, perf_tcp_to }
                      : (struct perf_kernel){ PERF_FIRST, perf_copy_to };
}

struct perf_kernel perf_limit_from(const struct perf *p)
{
    return p->network ? (struct perf_kernel){ PERF_PAIR, perf_tcp_from }
                      : (struct perf_kernel){ PERF_FIRST, perf_copy_from };
}

/* Only rank 0 adds, to a word of the peer. */
static void fetch_add_alone(struct perf_case *c, uint64_t iters)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(c->p->their_line + COUNTER_AT);

    for (uint64_t i = 0; i < iters; i++)
        perf_use(atomic_fetch_add_explicit(word, 1, memory_order_seq_cst));
}

/* All ranks add to one word of rank 0. */
static void fetch_add_contended(struct perf_case *c, uint64_t iters)
{
    unsigned char    *page = tern_region_ptr(c->p->lines, 0);
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(page + COUNTER_AT + 2 * (size_t)PERF_LINE);

    for (uint64_t i = 0; i < iters; i++)
        perf_use(atomic_fetch_add_explicit(word, 1, memory_order_seq_cst));
}

/* Measure the limits that do not depend on a size, and print them with size 0. */
static void sizeless(struct perf_case *c)
{
    const struct perf_kernel two[] = { { PERF_FIRST, fetch_add_alone },
                                       { PERF_ALL, fetch_add_contended },
                                       { PERF_PAIR, perf_line_pingpong } };
    const struct perf_kernel words[] = { { PERF_FIRST, perf_plain_store }, { PERF_FIRST, perf_plain_load } };

    perf_measure(c, two, c->p->ranks > 1 ? 3 : 2);
    perf_figure_time(c, 0, 1, "fetch_add");
    perf_figure_time(c, 1, 1, "fetch_add_contended");
    if (c->p->ranks > 1)
        perf_figure_time(c, 2, 2, "cacheline_half_rtt");
    if (c->p->theirs != NULL) {
        perf_measure(c, words, 2);
        perf_figure_time(c, 0, 1, "plain_store");
        perf_figure_time(c, 1, 1, "plain_load");
    }
}

/* TCP between ranks 0 and 1: round trips, and one stream in each direction. */
static void network_limits(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, perf_tcp_pingpong },
                                            { PERF_PAIR, perf_tcp_to },
                                            { PERF_PAIR, perf_tcp_from } };

    perf_measure(c, k, 3);
    perf_figure_time(c, 0, 1, "tcp_rtt");
    perf_figure_time(c, 0, 2, "tcp_half_rtt");
    perf_figure_bandwidth(c, 1, (double)c->size, "tcp_to");
    perf_figure_bandwidth(c, 2, (double)c->size, "tcp_from");
}

void perf_limits(struct perf_case *c)
{
    const struct perf_kernel copies[] = { { PERF_FIRST, perf_copy_to }, { PERF_FIRST, perf_copy_from } };
    const char              *to = by_kernel(c->p) ? "process_vm_writev" : "memcpy";
    const char              *from = by_kernel(c->p) ? "process_vm_readv" : "memcpy_from";

    if (c->p->network) {
        network_limits(c);
        return;
    }
    if (!c->p->sizeless_done) {
        struct perf_case none = *c;

        none.size = 0;
        sizeless(&none);
        c->p->sizeless_done = true;
    }
    perf_measure(c, copies, 2);
    perf_figure_bandwidth(c, 0, (double)c->size, to);
    perf_figure_bandwidth(c, 1, (double)c->size, from);
}
