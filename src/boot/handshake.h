/* handshake.h: the messages by which both sides of a connection between nodes prove that they belong to the same job.
 *
 *     node      HELLO      mark 4, layout 4, node 4, 0 4, the node's random bytes 16, tag 8
 *     rank 0    WELCOME    rank 0's random bytes 16, tag 8
 *     node      CONFIRM    tag 8
 *     rank 0    ACCEPTED   tag 8
 *
 * Numbers are in little endian. Each tag is the 64-bit SipHash-2-4, under the job's key, of everything that both sides
 * know at that step: which of the four messages it is, the layout, the node, both random parts (that of rank 0 is zero
 * in HELLO), and the address and port of rank 0's side of the connection, which each side reads from its own socket. A
 * tag is therefore useless in another connection, in the other direction or at another step. If a node was redirected,
 * so that it connected to an address other than the one at which rank 0 accepted the connection, its tags are refused.
 * The address of the node's side is not included, because networks may translate it.
 *
 * HELLO rejects peers without the key. HELLO can be replayed, so it proves nothing more: rank 0 considers a node
 * authenticated after CONFIRM; a node considers rank 0 authenticated after WELCOME and itself accepted after ACCEPTED.
 * Both sides derive a key for each direction of the connection from the same facts (frame.h). Decoding is a pure
 * function of the bytes and these facts.
 * */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/siphash.h"
#include "boot/frame_io.h"

#define TERN_HANDSHAKE_RANDOM 16
#define TERN_HANDSHAKE_HELLO (16 + TERN_HANDSHAKE_RANDOM + 8)
#define TERN_HANDSHAKE_WELCOME (TERN_HANDSHAKE_RANDOM + 8)
#define TERN_HANDSHAKE_TAG 8 /* size of CONFIRM and of ACCEPTED */

/* One side of a connection: the facts that the tags cover, and an incomplete message. */
struct tern_handshake {
    uint8_t  key[TERN_SIPHASH_KEY]; /* the job's key */
    uint32_t node;
    uint32_t port;        /* port of rank 0's side */
    uint8_t  address[16]; /* IPv6 address of rank 0's side; an IPv4 address is mapped to IPv6 */
    uint8_t  node_random[TERN_HANDSHAKE_RANDOM], hub_random[TERN_HANDSHAKE_RANDOM];
    uint8_t  buf[TERN_HANDSHAKE_HELLO]; /* the first len bytes of the message that is being received */
    size_t   len;
};

enum tern_handshake_step {
    TERN_HANDSHAKE_IS_HELLO = 1,
    TERN_HANDSHAKE_IS_WELCOME,
    TERN_HANDSHAKE_IS_CONFIRM,
    TERN_HANDSHAKE_IS_ACCEPTED,
    TERN_HANDSHAKE_IS_UP,       /* derives the key for frames from the node; two values, one for each half */
    TERN_HANDSHAKE_IS_DOWN = 7, /* derives the key for frames from rank 0, likewise */
};

/* Set the address and port of rank 0's side. Returns false if hub is neither an IPv4 nor an IPv6 address. */
bool tern_boot_handshake_place(struct tern_handshake *hs, const struct sockaddr *hub);

/* Return the port to which a socket is bound; 0: the socket has no port. */
uint32_t tern_boot_handshake_port(int fd);

/* Compute the keyed hash of all values of the handshake for a step: the tag of a message, or half of a session key. */
uint64_t tern_boot_handshake_tag(const struct tern_handshake *hs, enum tern_handshake_step step);

/* Encode the message of a step into out, which must have TERN_HANDSHAKE_HELLO bytes, the size of the longest message.
 * Returns its size. */
size_t tern_boot_handshake_write(const struct tern_handshake *hs, enum tern_handshake_step step, uint8_t *out);

/* Decode the message of a step. HELLO sets node and node_random and zeroes hub_random; WELCOME sets hub_random. Returns
 * false if the bytes are not a valid message of that step. */
bool tern_boot_handshake_read(struct tern_handshake *hs, enum tern_handshake_step step, const uint8_t *bytes);

/* Send the message of a step over a nonblocking socket. Returns whether the whole message was sent. */
bool tern_boot_handshake_send(const struct tern_handshake *hs, enum tern_handshake_step step, int fd);

enum tern_handshake_result {
    TERN_HANDSHAKE_PENDING, /* the message is not complete yet */
    TERN_HANDSHAKE_VALID,
    TERN_HANDSHAKE_INVALID,
    TERN_HANDSHAKE_CLOSED /* the connection has ended */
};

/* Receive the message of a step without blocking. */
enum tern_handshake_result tern_boot_handshake_receive(struct tern_handshake *hs, enum tern_handshake_step step,
                                                       int fd);

/* Derive the keys of the connection for the side of rank 0 (is_hub) or of the node. */
void tern_boot_handshake_keys(const struct tern_handshake *hs, bool is_hub, struct tern_frame_io_keys *keys);
