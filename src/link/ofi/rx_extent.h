/* rx_extent.h: whether all messages that a provider placed into a receive buffer have arrived.
 *
 * A provider places messages one behind the other into a buffer (FI_MULTI_RECV), but their completions come in any
 * order. A buffer is covered when the messages that have arrived fill it up to the end of the last one. Providers may
 * align the beginning of each message (fi_msg(3)), and do not say how. So the sums are kept for each alignment up to
 * RX_ALIGN_MAX, and the alignment is the largest that all messages of the link have had so far: a message is expected
 * to take up its length, rounded up to this alignment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RX_ALIGNMENTS 9 /* 1, 2, 4 to RX_ALIGN_MAX */
#define RX_ALIGN_MAX (1u << (RX_ALIGNMENTS - 1))

struct ofi_rx_extent {
    size_t landed[RX_ALIGNMENTS]; /* bytes that the messages take up, for each alignment */
    size_t reached;               /* end of the last message in the buffer */
};

static inline size_t tern_ofi_rx_round(size_t len, unsigned power)
{
    return (len + ((size_t)1 << power) - 1) >> power << power;
}

/* Add a message of len bytes that begins at offset in the buffer. *offsets has all bits of the offsets of the link's
 * messages. */
static inline void tern_ofi_rx_add(struct ofi_rx_extent *extent, size_t *offsets, size_t offset, size_t len)
{
    *offsets |= offset;
    for (unsigned i = 0; i < RX_ALIGNMENTS; i++)
        extent->landed[i] += tern_ofi_rx_round(len, i);
    if (extent->reached < offset + len)
        extent->reached = offset + len;
}

/* Returns whether no message is missing before the last one. */
static inline bool tern_ofi_rx_is_covered(const struct ofi_rx_extent *extent, size_t offsets)
{
    unsigned power = (unsigned)__builtin_ctzl(offsets | RX_ALIGN_MAX);

    return extent->landed[power] == tern_ofi_rx_round(extent->reached, power);
}
