/* group_stream.c: streams of messages that carry the contributions of a Bruck group's members.
 *
 * A message is as long as the link permits and holds complete fragments. Each fragment names its place, so that every
 * message can be decoded and validated by itself. Links keep messages in order, so the last message arrives last.
 * Streams use the reply channel, on which no message of the program stays open, and are sent by the thread that holds
 * the delivery of messages, like replies. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "core/group_bruck.h"
#include "core/job.h"

/* ---- contributions ---- */

static __attribute__((cold, noreturn)) void no_memory(size_t bytes)
{
    tern_base_log(TERN_LOG_ERROR,
                  "no memory for %zu bytes of what other ranks say in a collective call; ending the job", bytes);
    _Exit(1); /* the other ranks wait for the data that this rank would forward */
}

static void contribution_grow(struct bruck_contribution *contribution, uint32_t size)
{
    unsigned char *bytes;

    if (contribution->capacity >= size)
        return;
    bytes = realloc(contribution->bytes, size);
    if (!bytes)
        no_memory(size);
    memset(bytes + contribution->capacity, 0, size - contribution->capacity);
    contribution->bytes = bytes;
    contribution->capacity = size;
}

unsigned char *tern_core_stream_contribution(struct bruck *bruck, uint32_t barrier, uint32_t member, uint32_t len)
{
    struct bruck_contribution *contribution = &bruck->contributions[barrier & 1][member];

    contribution_grow(contribution, len);
    contribution->len = len;
    contribution->barrier = barrier;
    /* relaxed: published with the stream, in tern_core_stream_receive() */
    atomic_store_explicit(&bruck->contributed[barrier & 1], barrier, memory_order_relaxed);
    return contribution->bytes;
}

void tern_core_stream_pad(struct bruck *bruck, uint32_t barrier, uint32_t bytes)
{
    for (uint32_t i = 0; i < bruck->base.size; i++)
        contribution_grow(&bruck->contributions[barrier & 1][i], bytes);
}

/* ---- sending ---- */

/* Return the contribution of the next member of the stream that has bytes left to send; NULL: none. */
static const struct bruck_contribution *next_contribution(const struct bruck *bruck, struct bruck_stream_out *out,
                                                          uint32_t *member)
{
    uint32_t barrier = tern_core_bruck_barrier(bruck);

    for (; out->done < out->count; out->done++) {
        const struct bruck_contribution *contribution;

        *member = bruck->order[(out->first + out->done) % bruck->base.size];
        contribution = &bruck->contributions[barrier & 1][*member];
        if (contribution->barrier == barrier && contribution->len > out->at)
            return contribution;
        out->at = 0;
    }
    return NULL;
}

/* Return the number of data bytes that the rest of the stream needs, but not more than `most`. */
static size_t bytes_left(const struct bruck *bruck, const struct bruck_stream_out *out, size_t most)
{
    struct bruck_stream_out          rest = *out;
    const struct bruck_contribution *contribution;
    uint32_t                         member;
    size_t                           bytes = 0;

    while (bytes < most && (contribution = next_contribution(bruck, &rest, &member)) != NULL) {
        bytes += core_fragment_bytes(contribution->len - rest.at);
        rest.done++;
        rest.at = 0;
    }
    return bytes < most ? bytes : most;
}

/* Write fragments while they fit. Returns the number of bytes written. */
static size_t write_fragments(const struct bruck *bruck, struct bruck_stream_out *out, unsigned char *data, size_t size)
{
    const struct bruck_contribution *contribution;
    struct core_fragment             fragment = { 0 };
    size_t                           used = 0;

    while (size - used > sizeof(fragment) + 3 &&
           (contribution = next_contribution(bruck, out, &fragment.member)) != NULL) {
        size_t most = (size - used - sizeof(fragment)) & ~(size_t)3, left = contribution->len - out->at;

        fragment.whole = (uint16_t)contribution->len;
        fragment.at = (uint16_t)out->at;
        fragment.len = (uint16_t)(left < most ? left : most);
        memcpy(data + used, &fragment, sizeof(fragment));
        memcpy(data + used + sizeof(fragment), contribution->bytes + out->at, fragment.len);
        used += core_fragment_bytes(fragment.len);
        out->at += fragment.len;
    }
    return used;
}

static __attribute__((cold, noreturn)) void cannot_send(int peer)
{
    tern_base_log(TERN_LOG_ERROR, "cannot send what a collective call needs to rank %d: %s; ending the job", peer,
                  tern_base_detail());
    _Exit(1);
}

/* Send a message with the given number of data bytes. Returns TERN_AGAIN if there is no space. */
static tern_status send_bytes(struct bruck *bruck, struct bruck_stream_out *out, struct core_wire *head, size_t bytes)
{
    const struct tern_msg_ops *ops = tern_core_ops_to(out->peer)->msg;
    struct tern_link          *link = tern_core_link_to(out->peer);
    struct tern_link_msg       msg = { .peer = out->peer, .channel = TERN_CHANNEL_REPLY };
    uint32_t                   words[sizeof(*head) / sizeof(uint32_t)], member;
    uint64_t                   first;
    tern_status                st;

    if (bytes == 0) {
        head->last = 1;
        memcpy(words, head, sizeof(words));
        memcpy(&first, words, sizeof(first));
        return ops->send_short(link, out->peer, TERN_CHANNEL_REPLY, first, words + 2, 2);
    }
    if ((st = ops->open(link, &msg, bytes, bytes)) != TERN_OK)
        return st;
    bytes = write_fragments(bruck, out, msg.data, bytes);
    head->last = next_contribution(bruck, out, &member) == NULL;
    memcpy(msg.head, head, sizeof(*head));
    ops->send(link, &msg, bytes);
    return TERN_OK;
}

/* Send one message. Returns false if there is no space now. */
static bool send_one(struct bruck *bruck, struct bruck_stream_out *out)
{
    size_t longest =
        tern_core_ops_to(out->peer)->msg->max_data(tern_core_link_to(out->peer), out->peer, TERN_CHANNEL_REQUEST) &
        ~(size_t)3;
    struct core_wire head = { .whose = CORE_WIRE_OWN,
                              .way = (uint8_t)out->way,
                              .mark = CORE_WIRE_MARK,
                              .group = bruck->base.id,
                              .barrier = tern_core_bruck_barrier(bruck),
                              .round = (uint16_t)out->round };
    tern_status      st = send_bytes(bruck, out, &head, bytes_left(bruck, out, longest));

    if (st == TERN_AGAIN || st == TERN_ERR_PEER) /* a death ends the job soon */
        return false;
    if (st < 0)
        cannot_send(out->peer);
    out->over = head.last;
    return true;
}

bool tern_core_stream_send(struct bruck *bruck, struct bruck_stream_out *out)
{
    while (!out->over)
        if (!send_one(bruck, out))
            return false;
    return true;
}

/* ---- receiving ---- */

static bool read_fragments(struct bruck *bruck, uint32_t barrier, const unsigned char *data, size_t len)
{
    struct core_fragment fragment;

    while (len > 0) {
        if (len < sizeof(fragment))
            return false;
        memcpy(&fragment, data, sizeof(fragment));
        if (fragment.member >= bruck->base.size || fragment.member == bruck->base.me ||
            fragment.whole > TERN_LINK_CONTRIBUTION || fragment.len == 0 ||
            !tern_base_covers(fragment.whole, fragment.at, fragment.len) || core_fragment_bytes(fragment.len) > len)
            return false;
        memcpy(tern_core_stream_contribution(bruck, barrier, fragment.member, fragment.whole) + fragment.at,
               data + sizeof(fragment), fragment.len);
        data += core_fragment_bytes(fragment.len);
        len -= core_fragment_bytes(fragment.len);
    }
    return true;
}

bool tern_core_stream_receive(struct bruck *bruck, struct bruck_stream_in *in, const struct core_wire *head,
                              const unsigned char *data, size_t len)
{
    if (!read_fragments(bruck, head->barrier, data, len))
        return false;
    if (head->last)
        /* release: the contributions of the stream. Pairs with the acquire in group_bruck.c. */
        atomic_store_explicit(&in->whole, head->barrier, memory_order_release);
    return true;
}
