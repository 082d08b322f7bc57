/* wire.h: every byte that operations send in messages. Fixed widths; checked by the receiver before use. */
#ifndef TERN_OP_WIRE_H
#define TERN_OP_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "link/link.h"
#include "op/atomic/acc_kernels.h"

/* ---- active messages ---- */

/* The head of an active message: it begins the 48 bytes of a message that come first. The first arguments follow; then
 * the payload, if all of it fits there, else it lies in the message's data. */
struct wire_am {
    uint16_t handler;
    uint8_t  nargs;
    uint8_t  shape; /* tern_am_kind, and where the payload begins: wire_shape() */
    uint32_t len;   /* of the payload; of a long message: of its wire_long */
};
_Static_assert(sizeof(struct wire_am) == 8, "the head of an active message has no padding");

/* Where the payload of a long message lies at its target. */
struct wire_long {
    uint64_t region, offset, len;
};
_Static_assert(sizeof(struct wire_long) == 24, "a wire_long has no padding");

/* A long message whose payload comes along in the data, behind its wire_long: the target puts it in its place. Beside
 * the public kinds. */
#define WIRE_CARRIED 3

#define WIRE_ARGS ((TERN_LINK_HEAD - sizeof(struct wire_am)) / sizeof(uint32_t)) /* arguments in the head */
_Static_assert(WIRE_ARGS == TERN_LINK_SHORT_ARGS, "a short message is a brief one");
#define WIRE_SPILL 32 /* bytes of data that further arguments take */
#define WIRE_STAGE 64 /* bytes of data before a payload that is carried: spilt arguments, a wire_long */
_Static_assert(WIRE_ARGS * sizeof(uint32_t) + WIRE_SPILL >= 16 * sizeof(uint32_t), "16 arguments find room");

/* Where a payload begins: at a multiple of 4 of the head, or in the data, with or without arguments before it. */
enum { WIRE_IN_DATA = 62, WIRE_BEHIND_SPILL = 63 };

/* The place for a payload of up to len bytes beside nargs arguments. */
static inline unsigned wire_place(unsigned nargs, size_t len)
{
    size_t at = sizeof(struct wire_am) + (nargs + (nargs & 1)) * sizeof(uint32_t); /* a multiple of 8 */

    if (at <= TERN_LINK_HEAD && len <= TERN_LINK_HEAD - at)
        return (unsigned)(at / sizeof(uint32_t));
    return nargs <= WIRE_ARGS ? WIRE_IN_DATA : WIRE_BEHIND_SPILL;
}

/* Bytes of data before a payload at that place, and whether it lies in the data at all. */
static inline size_t wire_before(unsigned place)
{
    return place == WIRE_BEHIND_SPILL ? WIRE_SPILL : 0;
}

static inline bool wire_in_head(unsigned place)
{
    return place < WIRE_IN_DATA;
}

static inline uint8_t wire_shape(unsigned kind, unsigned place)
{
    return (uint8_t)(kind | place << 2);
}

/* The head as one word, and what the hot paths need of it without taking it apart. */
union wire_word {
    struct wire_am am;
    uint64_t       word;
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are taken apart by shifts");

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

/* Whether it is a message without payload whose arguments all lie in the head. */
static inline bool wire_is_short(uint64_t first)
{
    return (first & 0xffffffff03000000) == 0 && wire_nargs(first) <= WIRE_ARGS;
}

/* ---- notifications ---- */

/* A CARRY has the data of a put with it, which the target puts in its place. */
enum wire_notify_kind { WIRE_NOTIFY, WIRE_NOTIFY_INLINE, WIRE_NOTIFY_KINDS };

/* The head of a message on the channel of notes. */
struct wire_notify {
    uint32_t      tag;
    uint8_t       kind; /* enum wire_notify_kind */
    uint8_t       len;  /* CARRY: bytes of data; otherwise 0 */
    uint16_t      zero;
    uint64_t      scope; /* the region, by the name that its owner, the target, gave to its part */
    uint64_t      bytes; /* that the access moved. CARRY: where the data goes, from the part's begin */
    unsigned char data[TERN_LINK_HEAD - 3 * 8];
};
_Static_assert(sizeof(struct wire_notify) == TERN_LINK_HEAD, "a note fills the head of a message");

/* Its words: all that is not data. */
#define WIRE_NOTIFY_WORDS 3u

static inline uint64_t wire_notify_first(uint32_t tag, enum wire_notify_kind kind, size_t len)
{
    return tag | (uint64_t)kind << 32 | (uint64_t)len << 40;
}

/* ---- tagged messages ---- */

/* INLINE: the data is in the head. EAGER: it is the message's data. OFFER: the data is a card of the sender's memory
 * and the first bytes that lie there; the receiver fetches the others. */
enum wire_tagged_kind { WIRE_TAGGED_INLINE, WIRE_TAGGED_EAGER, WIRE_TAGGED_RTS, WIRE_TAGGED_KINDS };

/* The head of a message on the channel of tagged messages. */
struct wire_tagged {
    uint8_t  kind; /* enum wire_tagged_kind */
    uint8_t  len;  /* INLINE: bytes of data */
    uint8_t  sync; /* 1: the sender wants to know that it was taken, as it does of every offer */
    uint8_t  zero;
    uint32_t scope; /* the team */
    uint64_t tag;
    uint64_t id; /* of the send, by its sender, who is told. INLINE without sync: data begins here, else behind it */
    uint64_t len_all; /* OFFER: bytes of the message */
    unsigned char more[TERN_LINK_HEAD - 4 * 8];
};
_Static_assert(sizeof(struct wire_tagged) == TERN_LINK_HEAD, "it fills the head of a message");

/* The card of an offer is of memory that is exposed for it alone, if its name has this bit. Otherwise it names a
 * part of a region that both ranks have, and where in it the message begins. */
#define WIRE_TAGGED_OWN (1ull << 63)

/* Bytes that fit into the head, and where they begin. */
static inline size_t wire_tagged_at(bool sync)
{
    return sync ? offsetof(struct wire_tagged, len_all) : offsetof(struct wire_tagged, id);
}

static inline size_t wire_tagged_room(bool sync)
{
    return TERN_LINK_HEAD - wire_tagged_at(sync);
}

/* The first word of it. */
static inline uint64_t wire_tagged_first(enum wire_tagged_kind kind, size_t len, bool sync, uint32_t scope)
{
    return (uint64_t)kind | (uint64_t)len << 8 | (uint64_t)sync << 16 | (uint64_t)scope << 32;
}

/* Of it: whether all of the message is in the head, and its sender wants no word; its scope; and its bytes. */
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

/* ---- errands ---- */

/* The first byte of every request: what is to be done, and therefore how the rest is read. Who serves each:
 * rpc_serve.c. */
enum wire_verb {
    WIRE_PUT, /* these two: struct wire_request */
    WIRE_GET,
    WIRE_ATOMIC, /* struct wire_atomic */
    WIRE_ACC,    /* struct wire_acc */
    WIRE_MUTEX,  /* struct wire_mutex */
    WIRE_SIGNAL, /* struct wire_signal */
    WIRE_VERBS
};

/* The request of a put or get: a part of a stream, as op/shape/layout.h has them. dims dimensions or count entries
 * follow; then, at the next multiple of WIRE_PAYLOAD, the len bytes of a put. */
struct wire_request {
    uint8_t  verb;  /* WIRE_PUT, WIRE_GET */
    uint8_t  kind;  /* enum tern_layout_kind */
    uint16_t dims;  /* STRIDED */
    uint32_t count; /* lists */
    uint64_t run;   /* STRIDED: bytes of a run. INDEXED: of an entry */
    uint64_t first; /* STRIDED: where the first run is */
    uint64_t total; /* STRIDED: bytes of the whole stream */
    uint64_t at;    /* STRIDED: where in it the part begins. Lists: the same, in the first entry */
    uint64_t len;   /* bytes of the part */
};
_Static_assert(sizeof(struct wire_request) == 48, "a request has no padding");

/* The request of an atomic operation. The answer is what was there before, in as many bytes as the type has; there is
 * none where it is not wanted. */
struct wire_atomic {
    uint8_t  verb; /* WIRE_ATOMIC */
    uint8_t  type; /* tern_type */
    uint16_t zero;
    uint32_t op; /* tern_atomic_op */
    uint64_t offset;
    uint64_t operand, compare; /* of 4 bytes: the upper half is 0 */
};
_Static_assert(sizeof(struct wire_atomic) == 32, "a request has no padding");

/* The request of a put with its signal: the bytes of the put follow. There is no answer. */
struct wire_signal {
    uint8_t  verb; /* WIRE_SIGNAL */
    uint8_t  add;  /* 1: the value is added to the word. 0: it is set */
    uint16_t zero;
    uint32_t len;    /* of the put */
    uint64_t offset; /* and where it goes */
    uint64_t word;   /* where the word is */
    uint64_t value;
};
_Static_assert(sizeof(struct wire_signal) == 32, "a request has no padding");

/* The request of a step of a mutex, and its answer: op/atomic/mutex_step.h. */
struct wire_mutex {
    uint8_t  verb; /* WIRE_MUTEX */
    uint8_t  step; /* enum tern_mutex_step */
    uint8_t  log;  /* of the mutex's places */
    uint8_t  zero;
    uint32_t ticket;
    uint64_t offset;
    uint64_t name; /* for whom */
};
_Static_assert(sizeof(struct wire_mutex) == 24, "a request has no padding");

struct wire_mutex_response {
    uint32_t state; /* enum tern_qlock_state */
    uint32_t ticket;
    uint32_t wake;   /* the rank that is to be woken, + 1; 0: none */
    uint32_t holder; /* the rank that has the mutex now, + 1; 0: none */
};
_Static_assert(sizeof(struct wire_mutex_response) == 16, "an answer has no padding");

#define WIRE_PAYLOAD 64

/* The request of an accumulate: what is added, and then a request of WIRE_PUT, whose payload are the summands. The
 * answer is as long as these, or empty. */
struct wire_acc {
    uint8_t            verb; /* WIRE_ACC */
    uint8_t            zero[7];
    struct tern_acc_op sum;
    uint8_t            reserved[WIRE_PAYLOAD - 8 - sizeof(struct tern_acc_op)];
};
_Static_assert(sizeof(struct wire_acc) == WIRE_PAYLOAD, "summands are aligned as the payload of a put");

/* Bytes of a request before the payload of a put, if lists and dimensions take so many. */
static inline size_t wire_payload_at(size_t list)
{
    return (sizeof(struct wire_request) + list + (WIRE_PAYLOAD - 1)) & ~(size_t)(WIRE_PAYLOAD - 1);
}

#endif
