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

/* The facts that the tags cover. */
struct tern_handshake {
    uint8_t  key[TERN_SIPHASH_KEY]; /* the job's key */
    uint32_t node;
    uint32_t port;        /* port of rank 0's side */
    uint8_t  address[16]; /* IPv6 address of rank 0's side; an IPv4 address is mapped to IPv6 */
    uint8_t  node_random[TERN_HANDSHAKE_RANDOM], hub_random[TERN_HANDSHAKE_RANDOM];
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

/* Compute the keyed hash of all values of the handshake for a step: the tag of a message, or half of a session key. */
uint64_t tern_boot_handshake_tag(const struct tern_handshake *hs, enum tern_handshake_step step);

/* Encode and decode HELLO. Decoding sets node and node_random and zeroes hub_random; it returns false if the bytes are
 * not a valid HELLO. */
void tern_boot_handshake_hello(const struct tern_handshake *hs, uint8_t out[TERN_HANDSHAKE_HELLO]);
bool tern_boot_handshake_read_hello(struct tern_handshake *hs, const uint8_t bytes[TERN_HANDSHAKE_HELLO]);

/* Encode and decode WELCOME. Decoding sets hub_random; it returns false if the bytes are not a valid WELCOME. */
void tern_boot_handshake_welcome(const struct tern_handshake *hs, uint8_t out[TERN_HANDSHAKE_WELCOME]);
bool tern_boot_handshake_read_welcome(struct tern_handshake *hs, const uint8_t bytes[TERN_HANDSHAKE_WELCOME]);

/* Encode CONFIRM or ACCEPTED; and return whether bytes are the valid message of that step. */
void tern_boot_handshake_say(const struct tern_handshake *hs, enum tern_handshake_step step,
                             uint8_t out[TERN_HANDSHAKE_TAG]);
bool tern_boot_handshake_is(const struct tern_handshake *hs, enum tern_handshake_step step,
                            const uint8_t bytes[TERN_HANDSHAKE_TAG]);

/* Derive the keys of the connection for the side of rank 0 (is_hub) or of the node. */
void tern_boot_handshake_keys(const struct tern_handshake *hs, bool is_hub, struct tern_frame_io_keys *keys);
