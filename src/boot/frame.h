/* frame.h: what the nodes of a job say to each other besides data, as bytes.
 *
 * A frame is a head of fixed size and a body. The head, in little endian:
 *
 *     mark 4   kind 4   rank 4   value 4   length of the body 4
 *
 * Decoding is a pure function of the bytes and trusts none of them: whatever comes, it says that it is a frame, that it
 * is the beginning of one, or that it is none. What rank, value and body mean, and whether they make sense, is for
 * those who use the frame.
 */
#ifndef TERN_BOOT_FRAME_H
#define TERN_BOOT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN_FRAME_HEAD 20
#define TERN_FRAME_BODY 65536u           /* the longest body, */
#define TERN_FRAME_BODY_START 0x1000000u /* and that of START */

/* The kinds. From a node to the hub (up), from the hub to nodes (down), or relayed: up, and then down to all others.
 *
 *   HELLO    up     value: the layout of the segment; body: the version, as text
 *   START    down   value: which node this is; body: what to start there
 *   LIFE     relay  value: enum tern_life
 *   CARD     relay  body: the rank's card
 *   ARRIVED  relay  value: number of the barrier; body: the note for it
 *   DEPARTED relay  value: number of the departure; body: the object, 8 bytes
 *   FATE     relay  value: enum tern_fate; up: body tells how the rank ended; down: goes to its own node too
 *   OUTPUT   up     value: 1 or 2, the file of the rank; body: bytes; empty: the end of the file
 *   INPUT    down   body: bytes for rank 0; empty: the end
 *   CREDIT   both   value: so many more bytes of OUTPUT (rank and, in the body, file) or INPUT may be sent
 *   SIGNAL   down   value: send this signal to the ranks
 *   END      down   value: end the ranks, by this signal first
 *   FAILED   up     value: exit status; body: why the ranks could not be started
 *   SAY      up     body: a line for the user
 *   DONE     up     nothing of the job is left on this node */
#define TERN_FRAME_KINDS(X) \
    X(HELLO)                \
    X(START)                \
    X(LIFE)                 \
    X(ADDRESS) X(ARRIVED) X(DEPARTED) X(FATE) X(OUTPUT) X(INPUT) X(CREDIT) X(SIGNAL) X(END) X(FAILED) X(SAY) X(DONE)

#define TERN_FRAME_ENUM(name) TERN_FRAME_##name,
enum tern_frame_kind { TERN_FRAME_NONE, TERN_FRAME_KINDS(TERN_FRAME_ENUM) TERN_FRAME_KIND_COUNT };

struct tern_frame {
    uint32_t             kind; /* enum tern_frame_kind */
    uint32_t             rank;
    uint32_t             value;
    uint32_t             len;
    const unsigned char *body; /* [len] */
};

#define TERN_FRAME_SHORT ((size_t)0) /* the beginning of a frame */
#define TERN_FRAME_BAD SIZE_MAX      /* no frame */

/* The longest body of a kind; 0 also where there is no such kind. */
uint32_t tern_boot_frame_longest(uint32_t kind);

/* Write the head of a frame whose body is not longer than its kind permits. */
void tern_boot_frame_encode(const struct tern_frame *frame, unsigned char head[TERN_FRAME_HEAD]);

/* Take a frame off the front of the bytes; takes_start tells whether START, whose body is long, is expected. Returns
 * the number of bytes that it takes, with *out filled (its body points into bytes); TERN_FRAME_SHORT: more bytes are
 * needed; TERN_FRAME_BAD. */
size_t tern_boot_frame_decode(const unsigned char *bytes, size_t len, bool takes_start, struct tern_frame *out);

/* Numbers in little endian, as in heads. */
void     tern_boot_frame_put(unsigned char *at, uint64_t value, unsigned bytes);
uint64_t tern_boot_frame_get(const unsigned char *at, unsigned bytes);

#endif
