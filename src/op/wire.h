/* wire.h: the format of all bytes that operations send in messages. All fields have fixed widths. The receiver checks
 * them before use. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/wire.h"
#include "link/link.h"
#include "op/atomic/acc_kernels.h"

/* ---- active messages ---- */

/* The head of an active message, at the beginning of the 48 bytes of a link message's head. The first arguments follow.
 * The payload comes next if it fits into the rest of the head; otherwise it is in the message's data. */
struct wire_am {
    uint16_t handler; /* id, and above it the number of the team in which ranks are counted: WIRE_TEAM */
    uint8_t  nargs;
    uint8_t  shape; /* tern_am_kind, and the location of the payload: wire_shape() */
    uint32_t len;   /* length of the payload; for a long message: of the wire_long */
};
_Static_assert(sizeof(struct wire_am) == 8, "the head of an active message has no padding");

/* Reserved handlers, of messages of clients: op/am/client.h. The first argument names the client and its handler. The
 * messages of clients whose handlers the helper thread may run travel on channels of their own. */
#define WIRE_AM_CLIENT 258u
#define WIRE_AM_HELPED 259u
#define WIRE_AM_ARGS 17u /* arguments of such a message, at most */

/* The number of a team in the upper bits of a handler; 0: all ranks of the job. */
#define WIRE_TEAM_SHIFT CORE_WIRE_TEAM_SHIFT
#define WIRE_TEAMS 63u /* the last of 64 is not used, because it would look like CORE_WIRE_OWN */
#define WIRE_TEAM_NAMED CORE_WIRE_TEAM_NAMED
#define WIRE_TEAM(number) ((unsigned)(number) << WIRE_TEAM_SHIFT)

/* The destination of the payload of a long message at the target. */
struct wire_long {
    uint64_t region, offset, len;
};
_Static_assert(sizeof(struct wire_long) == 24, "a wire_long has no padding");

/* A kind beside the public ones: a long message that carries its payload in the data, behind its wire_long. The target
 * copies the payload to its destination. */
#define WIRE_CARRIED 3

#define WIRE_ARGS ((TERN_LINK_HEAD - sizeof(struct wire_am)) / sizeof(uint32_t)) /* arguments in the head */
_Static_assert(WIRE_ARGS == TERN_LINK_SHORT_ARGS, "a short message fits into the head");
#define WIRE_SPILL 32 /* bytes of data for the arguments that do not fit into the head */
#define WIRE_STAGE 64 /* bytes of data before a carried payload: spilled arguments and a wire_long */
_Static_assert(WIRE_ARGS * sizeof(uint32_t) + WIRE_SPILL >= WIRE_AM_ARGS * sizeof(uint32_t), "all arguments fit");

/* The location of a payload: a multiple of 4 in the head, or in the data with or without arguments before it. */
enum { WIRE_IN_DATA = 62, WIRE_BEHIND_SPILL = 63 };

/* Return the location for a payload of up to len bytes next to nargs arguments. */
static inline unsigned wire_location(unsigned nargs, size_t len)
{
    size_t at = sizeof(struct wire_am) + (nargs + (nargs & 1)) * sizeof(uint32_t); /* a multiple of 8 */

    if (at <= TERN_LINK_HEAD && len <= TERN_LINK_HEAD - at)
        return (unsigned)(at / sizeof(uint32_t));
    return nargs <= WIRE_ARGS ? WIRE_IN_DATA : WIRE_BEHIND_SPILL;
}

/* wire_before returns the number of bytes of data before a payload at that location. wire_in_head returns whether the
 * location is in the head. */
static inline size_t wire_before(unsigned location)
{
    return location == WIRE_BEHIND_SPILL ? WIRE_SPILL : 0;
}

static inline bool wire_in_head(unsigned location)
{
    return location < WIRE_IN_DATA;
}

static inline uint8_t wire_shape(unsigned kind, unsigned location)
{
    return (uint8_t)(kind | location << 2);
}

/* The head as one word, and accessors for the fields that the hot paths need. */
union wire_word {
    struct wire_am am;
    uint64_t       word;
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the fields of a word are extracted by shifts");

static inline uint64_t wire_first(unsigned handler, unsigned nargs)
{
    return handler | (uint64_t)nargs << 16 | (uint64_t)wire_shape(0, WIRE_IN_DATA) << 24;
}

static inline uint64_t wire_word(struct wire_am head)
{
    return (union wire_word){ .am = head }.word;
}

static inline struct wire_am wire_head(uint64_t first)
{
    return (union wire_word){ .word = first }.am;
}

static inline unsigned wire_handler(uint64_t first)
{
    return (uint16_t)first;
}

static inline unsigned wire_nargs(uint64_t first)
{
    return (uint8_t)(first >> 16);
}

/* Return whether the message has no payload and all of its arguments are in the head. */
static inline bool wire_is_short(uint64_t first)
{
    return (first & 0xffffffff03000000) == 0 && wire_nargs(first) <= WIRE_ARGS;
}

/* ---- notifications ---- */

/* WIRE_NOTIFY_INLINE carries the data of a put, which the target copies to its destination. */
enum wire_notify_kind { WIRE_NOTIFY, WIRE_NOTIFY_INLINE, WIRE_NOTIFY_KINDS };

/* The head of a message on the notification channel. */
struct wire_notify {
    uint32_t      tag;
    uint8_t       kind; /* enum wire_notify_kind */
    uint8_t       len;  /* INLINE: bytes of data; otherwise 0 */
    uint16_t      zero;
    uint64_t      scope; /* the region, as identified by the target for its own part */
    uint64_t      bytes; /* bytes that the access moved. INLINE: the destination of the data, as an offset in the
                          * part */
    unsigned char data[TERN_LINK_HEAD - 3 * 8];
};
_Static_assert(sizeof(struct wire_notify) == TERN_LINK_HEAD, "a notification fills the head of a message");

static inline uint64_t wire_notify_first(uint32_t tag, enum wire_notify_kind kind, size_t len)
{
    return tag | (uint64_t)kind << 32 | (uint64_t)len << 40;
}

/* ---- tagged messages ---- */

/* INLINE: the data is in the head. EAGER: the data is the message's data. RTS: the message's data is a memory handle of
 * the sender's buffer and the first bytes of that buffer; the receiver fetches the rest. */
enum wire_tagged_kind { WIRE_TAGGED_INLINE, WIRE_TAGGED_EAGER, WIRE_TAGGED_RTS, WIRE_TAGGED_KINDS };

/* The head of a message on the channel of tagged messages. */
struct wire_tagged {
    uint8_t       kind; /* enum wire_tagged_kind */
    uint8_t       len;  /* INLINE: bytes of data */
    uint8_t       sync; /* 1: the sender wants a FIN, as it does for every RTS */
    uint8_t       zero;
    uint32_t      scope; /* the team */
    uint64_t      tag;
    uint64_t      id;      /* id of the send, for its FIN. INLINE: the data begins here without sync, and after id with
                            * sync */
    uint64_t      len_all; /* RTS: total length of the message */
    unsigned char more[TERN_LINK_HEAD - 4 * 8];
};
_Static_assert(sizeof(struct wire_tagged) == TERN_LINK_HEAD, "a tagged message fills the head of a message");

/* Set in the region of an RTS's memory handle if the memory is exposed for this message alone. Otherwise the handle
 * names a part of a region that both ranks have, and the offset of the message in that part. */
#define WIRE_TAGGED_OWN (1ull << 63)

/* wire_tagged_at returns the offset of inline data in the head. wire_tagged_room returns how many bytes of data fit
 * into the head. */
static inline size_t wire_tagged_at(bool sync)
{
    return sync ? offsetof(struct wire_tagged, len_all) : offsetof(struct wire_tagged, id);
}

static inline size_t wire_tagged_room(bool sync)
{
    return TERN_LINK_HEAD - wire_tagged_at(sync);
}

/* Return the first word of the head of a tagged message. */
static inline uint64_t wire_tagged_first(enum wire_tagged_kind kind, size_t len, bool sync, uint32_t scope)
{
    return (uint64_t)kind | (uint64_t)len << 8 | (uint64_t)sync << 16 | (uint64_t)scope << 32;
}

/* Accessors for that word: whether all of the message is in the head and the sender wants no FIN; the scope; the number
 * of bytes in the head. */
static inline bool wire_tagged_is_plain(uint64_t first)
{
    return (first & 0xff00ff) == WIRE_TAGGED_INLINE;
}

static inline uint32_t wire_tagged_scope(uint64_t first)
{
    return (uint32_t)(first >> 32);
}

static inline size_t wire_tagged_len(uint64_t first)
{
    return first >> 8 & 0xff;
}

/* ---- RPC requests ---- */

/* The first byte of every RPC request: the operation, which determines the format of the rest. rpc_serve.c lists the
 * handlers. */
enum wire_verb {
    WIRE_PUT, /* WIRE_PUT and WIRE_GET: struct wire_request */
    WIRE_GET,
    WIRE_ATOMIC, /* struct wire_atomic */
    WIRE_ACC,    /* struct wire_acc */
    WIRE_MUTEX,  /* struct wire_mutex */
    WIRE_SIGNAL, /* struct wire_signal */
    WIRE_VERBS
};

/* The RPC request of a put or get: a section of a byte stream over a layout (op/shape/layout.h). dims dimensions or
 * count list entries follow; then, at the next multiple of WIRE_PAYLOAD, the len bytes of a put. */
struct wire_request {
    uint8_t  verb;  /* WIRE_PUT, WIRE_GET */
    uint8_t  kind;  /* enum tern_layout_kind */
    uint16_t dims;  /* STRIDED */
    uint32_t count; /* number of list entries */
    uint64_t run;   /* STRIDED: bytes per run. INDEXED: bytes per entry */
    uint64_t first; /* STRIDED: offset of the first run */
    uint64_t total; /* STRIDED: length of the whole stream */
    uint64_t at;    /* STRIDED: position of the section in the stream. Lists: its position in the first entry */
    uint64_t len;   /* length of the section */
};
_Static_assert(sizeof(struct wire_request) == 48, "a request has no padding");

/* The RPC request of an atomic operation. The response is the previous value, in the size of the type, or empty if the
 * previous value is not wanted. */
struct wire_atomic {
    uint8_t  verb; /* WIRE_ATOMIC */
    uint8_t  type; /* tern_type */
    uint16_t zero;
    uint32_t op; /* tern_atomic_op */
    uint64_t offset;
    uint64_t operand, compare; /* bit patterns, zero-extended */
};
_Static_assert(sizeof(struct wire_atomic) == 32, "a request has no padding");

/* The RPC request of a put with a signal. The bytes of the put follow. The response is empty. */
struct wire_signal {
    uint8_t  verb;  /* WIRE_SIGNAL */
    uint8_t  add;   /* 1: add the value to the word. 0: store it */
    uint8_t  bytes; /* size of the word: 4 or 8 */
    uint8_t  zero;
    uint32_t len;    /* length of the put */
    uint64_t offset; /* destination of the put */
    uint64_t word;   /* offset of the word */
    uint64_t value;
};
_Static_assert(sizeof(struct wire_signal) == 32, "a request has no padding");

/* The RPC request of one step of a mutex, and its response: op/atomic/mutex.h. */
struct wire_mutex {
    uint8_t  verb; /* WIRE_MUTEX */
    uint8_t  step; /* enum tern_mutex_step */
    uint8_t  log;  /* log2 of the number of slots of the mutex */
    uint8_t  zero;
    uint32_t ticket;
    uint64_t offset;
    uint64_t name; /* name of the context on whose behalf the step is made */
};
_Static_assert(sizeof(struct wire_mutex) == 24, "a request has no padding");

struct wire_mutex_response {
    uint32_t state; /* enum tern_qlock_state */
    uint32_t ticket;
    uint32_t wake;   /* the rank to wake, + 1; 0: none */
    uint32_t holder; /* the rank that holds the mutex now, + 1; 0: nobody */
};
_Static_assert(sizeof(struct wire_mutex_response) == 16, "a response has no padding");

#define WIRE_PAYLOAD 64

/* The RPC request of an accumulate: the operation, followed by a WIRE_PUT request whose payload is the operands. The
 * response is as long as the payload, or empty. */
struct wire_acc {
    uint8_t            verb; /* WIRE_ACC */
    uint8_t            zero[7];
    struct tern_acc_op sum;
    uint8_t            reserved[WIRE_PAYLOAD - 8 - sizeof(struct tern_acc_op)];
};
_Static_assert(sizeof(struct wire_acc) == WIRE_PAYLOAD, "the operands are aligned like the payload of a put");

/* Return the number of bytes of a request before the payload of a put, if its list entries or dimensions take `list`
 * bytes. */
static inline size_t wire_payload_at(size_t list)
{
    return (sizeof(struct wire_request) + list + (WIRE_PAYLOAD - 1)) & ~(size_t)(WIRE_PAYLOAD - 1);
}
