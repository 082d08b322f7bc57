/* msg.h: messages: active messages and their replies, notifications, and tagged messages.
 *
 * A sender writes a message where its target will read it, or pushes short messages through an injection handle without
 * calling the link. A receiver finds messages by watches: words in memory that change when messages arrive. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/notify_queue.h"
#include "base/spsc_ring.h"
#include "base/status.h"
#include "base/work_split.h"

struct tern_link;
struct tern_inject_notify;
struct tern_slot;

/* Messages travel on six channels, so that a reply never waits behind a request, and neither waits behind
 * notifications or tagged messages that the target cannot accept yet. Notifications have no data and are delivered by
 * up->notify; tagged messages are delivered by up->tagged. The last two channels are for the requests and replies that
 * the helper thread of the target may take, and are delivered by up->helped. */
enum tern_channel {
    TERN_CHANNEL_REQUEST,
    TERN_CHANNEL_REPLY,
    TERN_CHANNEL_NOTIFY,
    TERN_CHANNEL_TAGGED,
    TERN_CHANNEL_HELPER_REQUEST,
    TERN_CHANNEL_HELPER_REPLY,
    TERN_CHANNELS
};
#define TERN_CHANNEL_DIRECTORY \
    TERN_CHANNELS /* channel of a watch that announces new queues instead of messages: every poll checks it */
/* Number of channels in a pair of requests and replies. Link shm creates the queues of a pair together. */
#define TERN_CHANNELS_PAIR 2

/* Return whether messages on the channel are requests or replies, which are never refused. */
static inline bool tern_channel_is_pair(unsigned channel)
{
    return channel < TERN_CHANNELS_PAIR || channel >= TERN_CHANNEL_HELPER_REQUEST;
}

#define TERN_LINK_HEAD 48
#define TERN_LINK_DATA_MIN 1024 /* data bytes that a message to any peer may have: max_data never returns less */
#define TERN_LINK_INLINE (TERN_LINK_HEAD - 3 * sizeof(uint64_t)) /* inline payload of a notification, at most */
#define TERN_LINK_SHORT_ARGS ((TERN_LINK_HEAD - sizeof(uint64_t)) / sizeof(uint32_t))

/* A message that is being written in place, where its target will read it. */
struct tern_link_msg {
    unsigned char *head;     /* TERN_LINK_HEAD bytes, which arrive first and fastest */
    unsigned char *data;     /* NULL if no data was requested */
    size_t         data_max; /* bytes that fit into data */
    int32_t        peer;
    uint32_t       channel; /* enum tern_channel */
    union {                 /* for links that keep messages in rings, or notifications in cells */
        struct tern_ring_claim claim;
        struct tern_nq_claim   cell;
    };
};

/* The only notification for which a thread waits. */
struct tern_link_expected {
    /* Expected first two words of the head; only the bits in mask of the first word are compared. */
    uint64_t       first, region;
    uint64_t       mask; /* bits outside it: in: as in the previous notification; out: as in the accepted one */
    /* Address to which the offset in the third word of the head is added to place the inline payload. */
    unsigned char *base;
    uint64_t       max_offset; /* largest permitted offset */
    uint32_t       len;        /* bytes of inline payload; 0: the notification carries none */
    int32_t        from;       /* sender's rank in the job */
    uint64_t       third;      /* in: the previous third word; out: the actual one */
    unsigned char *to;         /* address that corresponds to third */
};

/* A word by which the core sees that messages have arrived, and the function that delivers them. The link keeps the
 * watch at a fixed address while the link is open. Any thread may read the word, as a hint; the core lets one thread at
 * a time deliver. */
struct tern_link_watch {
    const _Atomic uint32_t *word;
    uint32_t                idle;    /* value of the word while no message is waiting */
    uint32_t                channel; /* on which the messages arrive: enum tern_channel, or TERN_CHANNEL_DIRECTORY */
    tern_status (*deliver)(struct tern_link_watch *watch); /* delivers at most a few messages, by upcalls */
    /* Poll for a notification the given number of times, and accept it if it is the expected one. Called by the thread
     * that may deliver. Returns false if no notification was accepted; then deliver must be called. */
    bool (*expect)(struct tern_link_watch *watch, struct tern_link_expected *want, unsigned looks);
    struct tern_link *link;
    /* For notifications: after a delivery that accepted nothing, the target has refused the notification that the word
     * shows, and word and idle do not change until that notification is accepted. Written by the delivering thread. */
    bool              lasts;
    _Atomic uint32_t  refused; /* used by the core */
};

static inline bool tern_link_watch_ready(const struct tern_link_watch *w)
{
    return atomic_load_explicit(__atomic_load_n(&w->word, __ATOMIC_RELAXED), memory_order_relaxed) !=
           __atomic_load_n(&w->idle, __ATOMIC_RELAXED);
}

static inline void tern_link_watch_move(struct tern_link_watch *w, const _Atomic uint32_t *word, uint32_t idle)
{
    __atomic_store_n(&w->word, word, __ATOMIC_RELAXED); /* both are read by tern_link_watch_ready() */
    __atomic_store_n(&w->idle, idle, __ATOMIC_RELAXED);
}

/* What the target does with a notification or a tagged message. REFUSED: the target cannot accept it now; the link
 * keeps it, and everything behind it, for the next delivery. TAKEN_LAST: the target accepted the last notification that
 * a thread waits for, or the last tagged message for which a receive was posted, so those behind it may be delivered
 * later: the program may ask for them first, which spares a copy. */
enum tern_link_delivered { TERN_LINK_REFUSED, TERN_LINK_TAKEN, TERN_LINK_TAKEN_LAST };

/* Injection handle: short tagged messages to a rank are sent through it without a call to the link. */
struct tern_inject_tagged {
    struct tern_ring_mp_producer *producer;
    struct tern_slot             *slot; /* the rank's slot, whose bell the sender rings */
};

/* Injection handle: short requests and replies to a rank are sent through it without a call to the link. */
struct tern_inject_pair {
    struct tern_ring_mp_producer producer[TERN_CHANNELS_PAIR]; /* by channel */
    struct tern_slot            *slot;                         /* the rank's slot, whose bell the sender rings */
};

#define TERN_LINK_SPLITS 32 /* number of work splits of a rank; at most the bits of a word */

/* The messages of a link. Any thread may call these functions.
 *
 * max_data returns the length up to which the data of a message on a channel with data are certain to fit eventually.
 * open reserves space for a head and min to max bytes of data (TERN_AGAIN: there is no space now); the caller writes
 * head and data, and sends or drops the message. Messages to one peer arrive in the order in which they were opened; an
 * open message delays those behind it. send_short does all of this for a message whose head is one word and up to
 * TERN_LINK_SHORT_ARGS half words.
 *
 * Only the delivering thread sends replies. */
struct tern_msg_ops {
    bool polled; /* messages do not arrive in memory by themselves: poll must be called */

    size_t (*max_data)(struct tern_link *link, int peer, unsigned channel);
    tern_status (*open)(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
    void (*send)(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
    void (*drop)(struct tern_link *link, const struct tern_link_msg *msg);
    tern_status (*send_short)(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                              unsigned count);

    /* Poll for messages, so that watches show them. */
    void (*poll)(struct tern_link *link);
    /* Returns whether everything that was sent to live ranks has arrived: they deliver it at their next poll. */
    bool (*flushed)(struct tern_link *link);
    /* Returns whether messages of the peer on a channel have arrived and are still in a queue that a watch shows.
     * Called by the thread that may deliver. */
    bool (*pending)(struct tern_link *link, int peer, unsigned channel);
};

/* The functions of a link that shares memory with the ranks that it reaches. Any thread may call these functions. */
struct tern_inject_ops {
    /* Return the injection handle (inject.h) of notifications with inline payload, for parts with inline_notify. The
     * handle remains valid until the link is closed. */
    tern_status (*notify)(struct tern_link *link, int peer, struct tern_inject_notify **out);
    /* Returns whether all payload that was sent to live ranks is in its destination; help: copy it there on behalf of a
     * target that has not polled. */
    bool (*notify_flushed)(struct tern_link *link, bool help);
    /* Return the injection handle of tagged messages to a peer, which remains valid until the link is closed. */
    tern_status (*tagged)(struct tern_link *link, int peer, struct tern_inject_tagged *out);
    /* Return the injection handle of requests and replies to a peer, which remains valid until the link is closed. */
    tern_status (*pair)(struct tern_link *link, int peer, struct tern_inject_pair **out);
    /* Return the TERN_LINK_SPLITS work splits that the rank shares with the ranks that the link reaches, for messages
     * to the rank that both sides copy. The rank uses them as it likes. */
    struct tern_work_split *(*work_splits)(struct tern_link *link, int rank);
};
