/* link_messages.h: messages whose every byte is known, and a receiver that checks them and their order. */
#ifndef TERN_LINK_MESSAGES_H
#define TERN_LINK_MESSAGES_H

#include "link_test.h"

/* The messages that have arrived, by sender and channel. */
static struct {
    uint64_t count[MAX_RANKS][TERN_CHANNELS];
    uint64_t next[MAX_RANKS][TERN_CHANNELS];
} got;

static struct rank *current; /* the rank that receives */

static inline unsigned char byte_of(uint64_t number, int from, unsigned channel, size_t at)
{
    return (unsigned char)(1 + (number * 7 + (uint64_t)from * 31 + channel * 11 + at * 3 + at / 64) % 255);
}

/* The contents of a message head. The rest of the head and the data are derived from them. */
struct says {
    uint64_t number, len;
};

static inline void take_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data,
                                size_t len)
{
    struct says says;

    EXPECT(from >= 0 && from < current->ranks && channel < TERN_CHANNELS_PAIR);
    memcpy(&says, head, sizeof(says));
    EXPECT(says.number == got.next[from][channel] && says.len == len && (data != NULL) == (len > 0));
    for (size_t i = sizeof(says); i < TERN_LINK_HEAD; i++)
        EXPECT(head[i] == byte_of(says.number, from, channel, i));
    for (size_t i = 0; i < len; i++)
        EXPECT(data[i] == byte_of(says.number + 1, from, channel, i));
    got.next[from][channel]++;
    got.count[from][channel]++;
}

/* Whether notifications and tagged messages are pushed back. */
static bool full;

static inline bool take_if_not_full(int from, unsigned channel, const unsigned char *head, const unsigned char *data,
                                    size_t len)
{
    struct says says;

    EXPECT(from >= 0 && from < current->ranks);
    memcpy(&says, head, sizeof(says));
    EXPECT(says.number == got.next[from][channel] && says.len == len && (data != NULL) == (len > 0));
    if (full)
        return false;
    for (size_t i = sizeof(says); i < TERN_LINK_HEAD; i++)
        EXPECT(head[i] == byte_of(says.number, from, channel, i));
    for (size_t i = 0; i < len; i++)
        EXPECT(data[i] == byte_of(says.number + 1, from, channel, i));
    got.next[from][channel]++;
    got.count[from][channel]++;
    return true;
}

static inline enum tern_link_delivered take_note(int from, const unsigned char *head, bool copy)
{
    EXPECT(!copy);
    if (!take_if_not_full(from, TERN_CHANNEL_NOTIFY, head, NULL, 0))
        return TERN_LINK_REFUSED;
    return got.count[from][TERN_CHANNEL_NOTIFY] % 3 ? TERN_LINK_TAKEN
                                                    : TERN_LINK_TAKEN_LAST; /* links deliver the rest after either */
}

static inline enum tern_link_delivered take_tagged(int from, const unsigned char *head, const unsigned char *data,
                                                   size_t len)
{
    return take_if_not_full(from, TERN_CHANNEL_TAGGED, head, data, len) ? TERN_LINK_TAKEN : TERN_LINK_REFUSED;
}

static const struct tern_link_up message_up = {
    .done = count_done, .message = take_message, .notify = take_note, .tagged = take_tagged, .watch = add_watch
};

static inline void write_message(const struct tern_link_msg *msg, uint64_t number, int me, size_t len)
{
    struct says says = { number, len };

    memcpy(msg->head, &says, sizeof(says));
    for (size_t i = sizeof(says); i < TERN_LINK_HEAD; i++)
        msg->head[i] = byte_of(number, me, msg->channel, i);
    for (size_t i = 0; i < len; i++)
        msg->data[i] = byte_of(number + 1, me, msg->channel, i);
}

/* Set the smallest possible queue sizes. */
static inline int tiny_queues(void **state)
{
    char *tiny[] = { (char *)(uintptr_t) "TERN_AM_QUEUE=64K", NULL };

    (void)state;
    return tern_base_options_load(tiny) == TERN_OK ? 0 : -1;
}

#endif
