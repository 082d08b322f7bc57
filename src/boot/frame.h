/* frame.h: the wire format of the control messages (frames) between the nodes of a job, and the message authentication
 * codes (tags) that protect the frames of a connection and their order.
 *
 * A frame consists of a head of fixed size and a body. The fields of the head are in little endian:
 *
 *     mark 4   kind 4   rank 4   value 4   length of the body 4
 *
 * Decoding is a pure function of the bytes and trusts none of them: it reports a frame, an incomplete frame, or an
 * invalid one. The users of a frame must check that its rank, value and body make sense.
 *
 * Each direction of a connection has its own key, which both sides derive during the handshake (handshake.h). The tag
 * of a frame is the 64-bit SipHash-2-4 of the frame and its sequence number. The number is not sent: both sides count.
 * A frame that was modified, forged, replayed, reordered or dropped in transit thus causes a wrong tag, except
 * with probability 2^-64. The receiver closes the connection at the first wrong tag, so an attacker has only one
 * attempt. Tags do not encrypt the frames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/siphash.h"

#define TERN_FRAME_HEAD 20
#define TERN_FRAME_MAC_BYTES 8           /* size of a tag */
#define TERN_FRAME_BODY 65536u           /* maximum size of a body in bytes, except for START and BRANCH */
#define TERN_FRAME_BODY_START 0x1000000u /* maximum size of the body of START and BRANCH */

/* The kinds of frames. Frames go from a node to the hub (up), from the hub to the nodes (down), or are relayed: up, and
 * then down to all other nodes.
 *
 *   HELLO    up     value: the layout of the segment; body: the version, as text
 *   START    down   value: index of the receiving node; body: what to start there
 *   LIFE     relay  value: enum tern_life
 *   ADDRESS  relay  value: bytes of the rank's list of net addresses that were sent before; body: the next bytes
 *   ARRIVED  relay  value: number of the barrier; body: number of the collective call, TERN_FRAME_CALL bytes, and the
 *                   rank's contribution to the barrier
 *   DEPARTED relay  value: number of the departure; body: the object, 8 bytes
 *   SEAT     relay  value: number of the seat; body: the contents of the seat (relay.c)
 *   FATE     relay  value: enum tern_fate; up: the body tells how the rank ended; down: also sent to the rank's node
 *   OUTPUT   up     value: 1 or 2, the stream of the rank; body: data; empty: end of file
 *   INPUT    down   body: data for the standard input of rank 0; empty: end of file
 *   CREDIT   both   value: additional bytes of OUTPUT (of the rank and the stream in the body) or INPUT that the
 *                   receiver of this frame may send
 *   SIGNAL   down   value: send this signal to the ranks; SIGWINCH: the body contains the rows and the columns of the
 *                   terminal, 2 bytes each
 *   END      down   value: end the ranks, with this signal first
 *   FAILED   up     value: exit status; body: why the ranks could not be started
 *   SAY      up     body: a line for the user
 *   DONE     up     nothing of the job is left on this node
 *   TRACE    down   print a backtrace of the rank, which crashed
 *   EXIT     relay  value: the word ending of the segment; a rank of the node of the given rank has called tern_exit
 *
 * ternrun on many hosts is a tree (tools/ternrun/tree.c), in which a node passes on the frames of the nodes behind it:
 *
 *   HOST     both   value: the host that the next frame is for (down) or comes from (up). Without HOST, a frame is for
 *                   the receiver and all hosts behind it, or comes from the sender
 *   BRANCH   down   body: the hosts behind the receiver, which it is to start
 *   CUT      down   value: the host whose connection the receiver is to close
 *   LINE     up     body: a line on the standard error of the agent that started the host
 *   LOST     up     the connection to the host ended before DONE; value: enum run_loss of tools/ternrun; rank: an exit
 *                   status; body: why */
#define TERN_FRAME_KINDS(X) \
    X(HELLO)                \
    X(START)                \
    X(LIFE)                 \
    X(ADDRESS)              \
    X(ARRIVED)              \
    X(DEPARTED)             \
    X(SEAT)                 \
    X(FATE)                 \
    X(OUTPUT)               \
    X(INPUT)                \
    X(CREDIT) X(SIGNAL) X(END) X(FAILED) X(SAY) X(DONE) X(TRACE) X(EXIT) X(HOST) X(BRANCH) X(CUT) X(LINE) X(LOST)

#define TERN_FRAME_CALL 4 /* bytes of the collective call in the body of ARRIVED */

#define TERN_FRAME_ENUM(name) TERN_FRAME_##name,
enum tern_frame_kind { TERN_FRAME_NONE, TERN_FRAME_KINDS(TERN_FRAME_ENUM) TERN_FRAME_KIND_COUNT };

struct tern_frame {
    uint32_t             kind; /* enum tern_frame_kind */
    uint32_t             rank;
    uint32_t             value;
    uint32_t             len;
    const unsigned char *body; /* [len] */
};

#define TERN_FRAME_SHORT ((size_t)0) /* the bytes are an incomplete frame */
#define TERN_FRAME_BAD SIZE_MAX      /* the bytes are not a frame */

/* Return the maximum size of the body of a kind; 0 also if there is no such kind. */
uint32_t tern_boot_frame_longest(uint32_t kind);

/* Write the head of a frame. The body must not be longer than its kind permits. */
void tern_boot_frame_encode(const struct tern_frame *frame, unsigned char head[TERN_FRAME_HEAD]);

/* Decode the frame at the front of the bytes. takes_start tells whether START and BRANCH, whose bodies are long, are
 * allowed. Returns the size of the frame and fills *out, whose body points into bytes. Returns TERN_FRAME_SHORT if more
 * bytes are needed, and TERN_FRAME_BAD if the bytes are not a frame. */
size_t tern_boot_frame_decode(const unsigned char *bytes, size_t len, bool takes_start, struct tern_frame *out);

/* The state of one direction of a connection on one of its sides. */
struct tern_frame_mac {
    uint8_t  key[TERN_SIPHASH_KEY];
    uint64_t number; /* sequence number of the next frame; the first frame has 0 */
};

/* Write the tag of the next frame, which has len bytes, into the TERN_FRAME_MAC_BYTES bytes behind it. */
void tern_boot_frame_mac_write(struct tern_frame_mac *mac, unsigned char *frame, size_t len);

/* Return whether the next frame, which has len bytes, is followed by its tag. The tag is overwritten in any case. */
bool tern_boot_frame_mac_check(struct tern_frame_mac *mac, unsigned char *frame, size_t len);
